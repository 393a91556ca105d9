"""The advice of a study: a range of sizes with its reasons, and cautions about the figures.

The range is that of the published laws, cut at the size above which the corpus has too few examples of a token or the planned
training would hardly meet it. Compute and compression decide which end to prefer. Rényi efficiency decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .measure import SELDOM, StudyRow
from .scaling import ModelPlan, ScalingRow, amount, rounded_up
from .split import Split

MULTIPLE = 128
MOST_TOKENS = 1 << 60  # no limit
FEWEST_LAST = 10  # occurrences; a last pair with fewer is an accident of the sample: a convention
MOST_SELDOM = 0.05  # maximum share of hardly seen tokens for a size in the range: a convention
ALIKE = 0.01  # relative differences of lengths and of compute up to this decide nothing
RENYI = (
    "Rényi efficiency is shown and ranks nothing: it followed translation scores in one study (r = 0.78), and changes that "
    "raise it while translations get worse are known (2402.14614)."
)


@dataclass(frozen=True)
class Advice:
    """The recommended sizes and tokenizers.

    Attributes:
        low, high: The range of sizes, multiples of 128 if the text supports
            some. `low` is 0 if even the smallest measured size is too large.
        reasons: The reasons for the range, in words.
        tokenizers: The candidates whose texts are within 1 % of the shortest.
        compared_at: The size at which they were compared.
        cautions: The limits of the figures, in words.
    """

    low: int
    high: int
    reasons: tuple[str, ...]
    tokenizers: tuple[str, ...]
    compared_at: int
    cautions: tuple[str, ...]

    @property
    def headline(self) -> str:
        """The range, in words."""
        return f"{self.low:,} to {self.high:,} tokens" if self.low else f"fewer than {self.high + 1:,} tokens"


def advice_of(
    rows: Sequence[StudyRow], laws: Sequence[ScalingRow], plan: ModelPlan, split: Split, ends: Mapping[str, int]
) -> Advice:
    """The advice; `ends` has the size at which the corpus had no more tokens for a candidate."""
    sizes = [law.vocab_size for law in laws]
    low, high = rounded_up(min(sizes), MULTIPLE), rounded_up(max(sizes), MULTIPLE)
    names = list(dict.fromkeys(row.tokenizer for row in rows))
    at, best = best_candidates(rows, names, (low * high) ** 0.5)
    own = [row for row in rows if row.tokenizer == best[0]]
    outside = ", an extrapolation" if any(law.beyond for law in laws) else ""
    shape = f"{amount(plan.params)} parameters and rows of {plan.width:,}"
    reasons = [f"The scaling laws give {min(sizes):,} to {max(sizes):,} tokens for {shape}{outside}."]
    if len(names) > 1:
        reasons.append(alike_reason(at, best, own, rows))
        reasons += fair_reason(at, rows)
    limit, why = largest_supported(own, ends.get(best[0], MOST_TOKENS))
    if limit < high:
        reasons.append(why)
        smallest, least = own[0].vocab_size, own[0].vocab_size - own[0].learned + 1
        rounded = limit // MULTIPLE * MULTIPLE
        high = limit if limit < smallest or rounded < least else rounded
        low = 0 if limit < smallest else min(low, max(least, high // 2 // MULTIPLE * MULTIPLE))
    reasons += compute_reason(own, low, high)
    reasons += length_reason(own, low, high)
    return Advice(low, high, tuple(reasons), best, at, tuple(cautions(rows, laws, split)))


def best_candidates(rows: Sequence[StudyRow], names: Sequence[str], middle: float) -> tuple[int, tuple[str, ...]]:
    """The size nearest to the middle with the most candidates, and the best candidates there, the best first."""
    of_size: dict[int, list[StudyRow]] = {}
    for row in rows:
        of_size.setdefault(row.vocab_size, []).append(row)
    most = max(map(len, of_size.values()))
    at = min((size for size, own in of_size.items() if len(own) == most), key=lambda size: abs(size - middle))
    shortest = min(row.tokens for row in of_size[at])
    alike = [row for row in of_size[at] if row.tokens <= shortest * (1 + ALIKE)]
    return at, tuple(row.tokenizer for row in sorted(alike, key=lambda row: (row.tokens, names.index(row.tokenizer))))


def alike_reason(at: int, best: Sequence[str], own: Sequence[StudyRow], rows: Sequence[StudyRow]) -> str:
    """A sentence on the candidates with the shortest text, and the distance of the others."""
    here = {row.tokenizer: row.tokens for row in rows if row.vocab_size == at}
    others = [f"{name} {tokens / max(1, here[best[0]]) - 1:+.1%}" for name, tokens in here.items() if name not in best]
    more = f" ({', '.join(others)})" if others else ""
    also = f", and {', '.join(best[1:])} within 1 %" if best[1:] else ""
    return f"At {at:,} tokens, {best[0]} makes the shortest text{also}{more}. What follows is about {own[0].tokenizer}."


def fair_reason(at: int, rows: Sequence[StudyRow]) -> Iterator[str]:
    """A sentence on the candidate with the most equal cost of languages, if these were compared."""
    ranking = sorted((row.gini, row.tokenizer) for row in rows if row.vocab_size == at and row.gini is not None)
    if ranking:
        others = ", ".join(f"{name} {gini:.3f}" for gini, name in ranking[1:])
        yield f"Languages pay most equally with {ranking[0][1]}: Gini {ranking[0][0]:.3f} ({others})."


def largest_supported(rows: Sequence[StudyRow], end: int) -> tuple[int, str]:
    """The largest size that the corpus and the planned training support, and the reason for this limit."""
    for before, row in zip([None, *rows], rows, strict=False):
        if row.last_count is not None and row.last_count < FEWEST_LAST:
            reason = (
                f"At {row.vocab_size:,} tokens the last pair occurs {row.last_count} times in the training text: such tokens are "
                "accidents of this sample."
            )
        elif row.seldom > MOST_SELDOM * max(1, row.learned):
            reason = (
                f"At {row.vocab_size:,} tokens, {row.seldom:,} of them are hardly seen (never in the sample, or expected fewer than "
                f"{SELDOM} times), so their rows would hardly be trained."
            )
        else:
            continue
        if before is None:
            return (
                row.vocab_size - 1,
                f"{reason} Train on more text, or measure smaller sizes: this is the smallest here.",
            )
        return before.vocab_size, f"{reason} Train on more text before you go beyond {before.vocab_size:,}."
    return end, f"The training text has no pairs for more than {end:,} tokens. Train on more text for a larger size."


def compute_reason(rows: Sequence[StudyRow], low: int, high: int) -> Iterator[str]:
    """A sentence on the sizes with the least training compute for this text, if several were measured."""
    if len(rows) < 2:
        return
    least = min(rows, key=lambda row: row.training_flops)
    flat = [row.vocab_size for row in rows if row.training_flops <= least.training_flops * (1 + ALIKE)]
    edge = least in (rows[0], rows[-1])
    where = f"{flat[0]:,} to {flat[-1]:,} tokens (within 1 %)" if len(flat) > 1 else f"{least.vocab_size:,} tokens"
    # Beyond an edge of the measured sizes, compute can fall further.
    is_below, is_above = flat[-1] < low and least is not rows[-1], flat[0] > high and least is not rows[0]
    end = "lower" if is_below else "upper" if is_above and low else ""
    sentence = f"This text costs least compute at {where}" + (", the end of the measured range" if edge else "")
    yield f"{sentence}: prefer the {end} end." if end else f"{sentence}."


def length_reason(rows: Sequence[StudyRow], low: int, high: int) -> Iterator[str]:
    """A sentence on the shortening of the text from half of `low` to twice `high`."""
    inside = [row for row in rows if low / 2 <= row.vocab_size <= high * 2]
    if len(inside) > 1:
        first, last = inside[0], inside[-1]
        saved = 1 - last.tokens / max(1, first.tokens)
        change = f"{abs(saved):.1%} {'longer' if saved < 0 else 'shorter'}"
        yield f"From {first.vocab_size:,} to {last.vocab_size:,} tokens, the text becomes {change}."


def cautions(rows: Sequence[StudyRow], laws: Sequence[ScalingRow], split: Split) -> Iterator[str]:
    for reason in dict.fromkeys(part for law in laws for part in law.beyond.split("; ") if part):
        yield f"The laws were {reason}: their sizes here are an extrapolation."
    if split.held_out_bytes < 1 << 17:
        yield f"The held-out text has only {split.held_out_bytes:,} bytes: small differences mean nothing."
    changed = {row.tokenizer for row in rows if row.changed}
    if changed:
        yield f"{', '.join(sorted(changed))}: decoding does not restore all texts, and the loss makes them look shorter."
    yield "Fewer tokens are not always better for a model: 64 models with different cuts did not follow the count (PathPiece)."
    yield RENYI
