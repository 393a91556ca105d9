"""Study: the result of `study`, for people and programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ... import _render
from ..._base.errors import number_of
from ..._render import Block, Line, Shown, Table, one_line
from .advice import Advice
from .measure import RAREST, SELDOM, StudyRow
from .scaling import ModelPlan, ScalingRow, amount
from .split import Split

__all__ = ["Study"]


@dataclass(frozen=True, repr=False)
class Study(Shown):
    """Which vocabulary size, pattern and kind suit some texts and a planned
    model.

    Attributes:
        plan: The model.
        split: What was trained on, and what was measured.
        rows: Each candidate at each size.
        scaling: The published laws, applied to the plan.
        advice: The range with its reasons.
        notes: What differs from what was asked for.
        languages: Their names, if texts were given.
        keep: The folder of the trained tokenizers.
    """

    plan: ModelPlan
    split: Split
    rows: tuple[StudyRow, ...]
    scaling: tuple[ScalingRow, ...]
    advice: Advice
    notes: tuple[str, ...]
    languages: tuple[str, ...]
    keep: str | None

    def to_dict(self) -> dict[str, Any]:
        """The study as JSON values."""
        split = self.split
        return {
            "plan": asdict(self.plan),
            "corpus": {
                "texts": split.texts,
                "bytes": split.all_bytes,
                "trained_bytes": split.trained_bytes,
                "held_out_texts": len(split.held_out),
                "held_out_bytes": split.held_out_bytes,
                "held_out": split.rule,
            },
            "advice": {
                name: [*value] if isinstance(value, tuple) else value for name, value in asdict(self.advice).items()
            },
            "scaling": [asdict(row) for row in self.scaling],
            "rows": [asdict(row) for row in self.rows],
            "languages": [*self.languages],
            "notes": [*self.notes],
            "keep": self.keep,
        }

    def _parts(self) -> Iterator[str | Block]:
        yield "Study of vocabulary sizes"
        for part in (summary, sizes_table, model_table, rare_table, languages_table, laws):
            yield from part(self)

    def to_html(self) -> str:
        """The study as one self-contained HTML page with charts."""
        return _render.report(self.view(), [*curves(self)])

    def plot(self) -> _render.Plot:
        """The bytes of a token by size, as plain data for `to_chart`."""
        series = by_tokenizer(self, lambda row: row.bytes_per_token)
        return _render.Plot("How long tokens are", "vocabulary size", "bytes a token", series, kind="curves")

    to_chart = _render.to_chart

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(one_line(row.tokenizer) for row in self.rows))
        return f"<Study of {names[:80]}: {self.advice.low:,} to {self.advice.high:,} tokens>"


def by_tokenizer(study: Study, value: Callable[[StudyRow], float]) -> dict[str, list[tuple[float, float]]]:
    """A figure of each row, by tokenizer and size."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in study.rows:
        found.setdefault(row.tokenizer, []).append((row.vocab_size, value(row)))
    return found


def curves(study: Study) -> Iterator[_render.Curves]:
    """The charts of the page."""
    least = min(row.training_flops for row in study.rows)
    figures: list[tuple[str, Callable[[StudyRow], float], bool]] = [
        ("Bytes of held-out text for a token (higher: shorter)", lambda row: row.bytes_per_token, False),
        ("Training compute for this text, above the least", lambda row: row.training_flops / (least or 1) - 1, True),
        (
            "Learned tokens that training would hardly see",
            lambda row: row.seldom / max(1, row.learned),
            True,
        ),
        ("Unigram bits for a byte (lower: better compressed)", lambda row: row.unigram_bits_per_byte, False),
    ]
    if study.languages:
        figures.append(("Gini of the languages (0: all pay the same)", lambda row: row.gini or 0, False))
    band = (study.advice.low, study.advice.high)
    for title, value, percent in figures:
        yield _render.Curves(title, "vocabulary size (shaded: the range)", by_tokenizer(study, value), percent, band)


def summary(study: Study) -> Iterator[Block]:
    """The range, and why."""
    advice, plan, split = study.advice, study.plan, study.split
    yield Line(f"{advice.low:,} to {advice.high:,} tokens", "strong")
    for reason in advice.reasons:
        yield Line(f"- {reason}")
    yield from (Line(f"note: {note}", "warn") for note in study.notes)
    tied = "one matrix for input and output" if plan.tied else "two matrices"
    given = "as given" if plan.width_given else "the usual one of so many parameters"
    yield Line(
        f"Model: {amount(plan.params)} parameters beside the vocabulary, {tied}, rows of {plan.width:,} numbers ({given}), "
        f"{amount(plan.tokens)} tokens of training."
    )
    yield Line(f"Corpus: {number_of(split.texts, 'text')}, {split.all_bytes:,} bytes. Held out: {split.rule}.")


def label(study: Study, row: StudyRow) -> list[str]:
    """The first cells of a row."""
    several = len({each.tokenizer for each in study.rows}) > 1
    return [*([row.tokenizer] if several else []), f"{row.vocab_size:,}"]


def heads(study: Study, *names: str) -> list[str]:
    """The heads of a table."""
    several = len({each.tokenizer for each in study.rows}) > 1
    return [*(["tokenizer"] if several else []), "size", *names]


def sizes_table(study: Study) -> Iterator[Block]:
    """What the held-out text becomes."""
    rows = []
    before: StudyRow | None = None
    for row in study.rows:
        same = before is not None and before.tokenizer == row.tokenizer
        change = f"{row.tokens / max(1, before.tokens) - 1:+.1%}" if before is not None and same else ""
        figures = [f"{row.tokens:,}", change, f"{row.bytes_per_token:.3f}"]
        rows.append([*label(study, row), *figures, f"{row.unigram_bits_per_byte:.3f}", f"{row.renyi_efficiency:.3f}"])
        before = row
    names = heads(study, "tokens", "change", "bytes a token", "unigram bits a byte", "Rényi 2.5")
    yield Table(names, rows, "The held-out text")


def model_table(study: Study) -> Iterator[Block]:
    """What the model pays."""
    least = min(row.training_flops for row in study.rows)
    rows = []
    for row in study.rows:
        compute = row.training_flops / (least or 1) - 1
        cells = ["least" if not compute else f"{compute:+.1%}", amount(row.inference_flops_per_byte)]
        rows.append(
            [*label(study, row), *cells, f"{row.embedding_share:.1%}", f"{row.padded_64:,}", f"{row.padded_128:,}"]
        )
    names = heads(study, "training compute", "operations a byte", "embedding share", "to 64", "to 128")
    yield Table(names, rows, "The model")


def rare_table(study: Study) -> Iterator[Block]:
    """Which tokens training will hardly see."""
    rows = []
    for row in study.rows:
        share = row.seldom / row.learned if row.learned else 0
        last = "" if row.last_count is None else f"{row.last_count:,}"
        rows.append([*label(study, row), rarest(row), f"{row.seldom:,}", f"{share:.1%}", last])
    names = heads(study, f"rarest {100 // RAREST} %", "hardly seen", "share", "last pair")
    yield Table(names, rows, "Rare tokens, as expected in the planned corpus")
    yield Line(f"hardly seen: never in the sample, or expected fewer than {SELDOM} times", "dim")


def rarest(row: StudyRow) -> str:
    """How often the rarest tokens are expected; what the sample does not have is rarer than one occurrence there."""
    return f"{row.rarest:,.0f}" if row.rarest else f"< {row.resolution:,.0f}"


def languages_table(study: Study) -> Iterator[Block]:
    """How equal the languages are."""
    if study.languages:
        rows = [[*label(study, row), shown(row.gini), row.worst or "", shown(row.worst_premium)] for row in study.rows]
        names = heads(study, "Gini", "pays most", "premium")
        yield Table(names, rows, f"Parity with {study.languages[0]}", left=(0, len(names) - 2))


def shown(value: float | None) -> str:
    """A figure, which may be undefined."""
    return "–" if value is None else f"{value:.3f}"


def laws(study: Study) -> Iterator[Block]:
    """The scaling laws, and what no figure shows."""
    rows = [
        [row.name, f"{row.vocab_size:,}", row.says, f"extrapolation: {row.beyond}" if row.beyond else "fitted here"]
        for row in study.scaling
    ]
    yield Table(("law", "tokens", "assumes", "validity"), rows, "Scaling laws (2407.13623)", left=(0, 2, 3))
    for each in study.advice.cautions:
        yield Line(each, "dim")
