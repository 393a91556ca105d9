"""The vocabulary sizes that published scaling laws give for a model, and the cost of a vocabulary for a model.

The constants are those of Tao et al. (2407.13623). They were fitted to six models; `beyond` marks extrapolations. Left out:
figures of texts, which `measure.py` computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...errors import InvalidOption

# The ranges of the fit: parameters outside the vocabulary, and sizes of vocabularies.
FITTED_PARAMS = (33e6, 1.2e9)
FITTED_SIZES = (4096, 96_256)
# The shapes of models in the paper: parameters outside the vocabulary, and width.
SHAPES = ((302e6, 1024), (1e9, 1536), (3e9, 3200), (7e9, 4096), (70e9, 8192))
WIDTH_STEP = 64
MOST_PARAMS, MOST_TOKENS, MOST_WIDTH = 1e15, 1e18, 1 << 20


@dataclass(frozen=True)
class ModelPlan:
    """The planned model of the tokenizer.

    Attributes: `params` outside the vocabulary's matrices; `tokens` of the
    planned corpus; `tied`, whether input and output share one matrix;
    `width` of a row; `width_given`, whether the caller chose it.
    """

    params: float
    tokens: float
    tied: bool
    width: int
    width_given: bool

    @staticmethod
    def of(params: float, tokens: float, *, tied: bool, width: int | None) -> ModelPlan:
        for name, value, most in (("params", params, MOST_PARAMS), ("tokens", tokens, MOST_TOKENS)):
            if not 1 <= value <= most:  # NaN fails too
                raise InvalidOption(name, value, f"a number from 1 to {most:g}")
        if width is not None and not 1 <= width <= MOST_WIDTH:
            raise InvalidOption("width", width, f"a number from 1 to {MOST_WIDTH:,}, or None for the rule")
        return ModelPlan(params, tokens, tied, width_of(params) if width is None else width, width is not None)

    @property
    def tables(self) -> int:
        """The number of matrices with a row for each token."""
        return 1 if self.tied else 2

    def embedding_share(self, vocab_size: int) -> float:
        """The share of the vocabulary's matrices in all parameters."""
        own = self.tables * vocab_size * self.width
        return own / (self.params + own)

    def training_flops(self, vocab_size: int, tokens: float) -> float:
        """Operations of training on `tokens` tokens: 6 for each parameter and token, the vocabulary counted once."""
        return 6 * (self.params + vocab_size * self.width) * tokens

    def inference_flops(self, vocab_size: int, tokens: float) -> float:
        """Operations of reading `tokens` tokens: 2 for each parameter and token."""
        return 2 * (self.params + vocab_size * self.width) * tokens


def width_of(params: float) -> int:
    """The usual width of a model: interpolated on logarithmic scales between the paper's shapes, the cube root outside.

    >>> [width_of(params) for params in (302e6, 1e9, 3e9, 7e9, 70e9)]
    [1024, 1536, 3200, 4096, 8192]
    """
    if params <= SHAPES[0][0] or params >= SHAPES[-1][0]:
        known, width = SHAPES[0] if params <= SHAPES[0][0] else SHAPES[-1]
        result = width * math.exp(math.log(params / known) / 3)
    else:
        place = next(place for place, (known, _) in enumerate(SHAPES) if params < known)
        (low, narrow), (high, wide) = SHAPES[place - 1 : place + 1]
        share = math.log(params / low) / math.log(high / low)
        result = narrow * math.exp(math.log(wide / narrow) * share)
    return max(WIDTH_STEP, round(result / WIDTH_STEP) * WIDTH_STEP)


@dataclass(frozen=True)
class ScalingRow:
    """One published law, applied to the plan.

    Attributes: `name`; `vocab_size`, its result; `says`, its assumption in
    words; `beyond`, the reason why the result is an extrapolation ("" if it
    is not).
    """

    name: str
    vocab_size: int
    says: str
    beyond: str


def by_compute(params: float) -> float:
    """Parameters of the vocabulary by law 1: equal compute, at the model's optimal number of tokens."""
    return float(0.204123 * optimal_compute(params) ** 0.416362)


def optimal_compute(params: float) -> float:
    """Optimal training operations for `params` parameters by law 1, about 24 tokens a parameter."""
    return (params / 0.083355) * (params / 0.083355)


def by_derivative(params: float) -> float:
    """Parameters of the vocabulary by law 2, the derivative of compute, starting from a fitted model of 33 million."""
    return float(3_145_728 * (params / 33e6) ** 0.835397)


def by_loss(params: float, compute: Callable[[float], float]) -> float:
    """Parameters of the vocabulary by law 3: least loss at equal cost.

    `compute` gives the operations, in 1e15, for a number of parameters of the vocabulary in millions.
    """
    millions = params / 1e6

    def slope(own: float) -> float:
        gain: float = 0.670737 * 0.195842 / own**1.670737
        data: float = 0.446606 * 2.12411 * 6**0.446606 * (millions + own) ** (0.446606 - 1)
        spent: float = compute(own) ** 0.446606
        return gain - data / spent

    low, high = 1e-6, max(1e3, millions * 10)
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low * 1e6


def scaling_rows(plan: ModelPlan) -> tuple[ScalingRow, ...]:
    best = optimal_compute(plan.params)
    per_param = plan.tokens / plan.params

    def planned(own: float) -> float:
        return 6 * (plan.params / 1e6 + own) * plan.tokens / 1e9

    assumption = f"least loss with the planned {amount(plan.tokens)} tokens ({per_param:,.3g} a parameter)"
    laws = (
        ("1 compute", by_compute(plan.params), "equal compute, trained with about 24 tokens a parameter"),
        ("2 derivative", by_derivative(plan.params), "derivative of compute, trained with about 24 tokens a parameter"),
        (
            "3 loss",
            by_loss(plan.params, lambda _: best / 1e15),
            "least loss, trained with about 24 tokens a parameter",
        ),
        ("3 loss, planned", by_loss(plan.params, planned), assumption),
    )
    rows = []
    for name, own, says in laws:
        size = max(1, round(own / plan.width))
        rows.append(ScalingRow(name, size, says, "; ".join(extrapolations(plan.params, size))))
    return tuple(rows)


def extrapolations(params: float, vocab_size: int) -> Iterator[str]:
    """The ranges of the fit that do not contain the plan or the size."""
    low, high = FITTED_PARAMS
    if not low <= params <= high:
        yield f"fitted on {low / 1e6:.0f}M to {high / 1e9:.1f}B parameters"
    least, most = FITTED_SIZES
    if not least <= vocab_size <= most:
        yield f"fitted on {least:,} to {most:,} tokens"


def published_ratio(vocab_size: int) -> float:
    """Tokens per character of the paper's text, by its fit for sizes up to 200,000."""
    log = math.log(vocab_size)
    return 0.00639222 * log**2 - 0.15811069 * log + 1.20470122


def rounded_up(vocab_size: int, multiple: int) -> int:
    """The size rounded up to a multiple, at which matrices are fast.

    >>> rounded_up(50_257, 64), rounded_up(50_257, 128)
    (50304, 50304)
    """
    return -(-vocab_size // multiple) * multiple


def amount(number: float) -> str:
    """A large number with three digits and a letter.

    >>> amount(8.6e7), amount(1e9), amount(2.5e13), amount(123.4)
    ('86M', '1B', '25T', '123')
    """
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= size * 0.9995:
            return f"{float(f'{number / size:.3g}'):,g}{letter}"
    return f"{number:.3g}"
