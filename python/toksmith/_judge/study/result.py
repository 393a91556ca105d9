"""Study: the result of `study`, for people and programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ... import _render
from ..._base.wording import number_of
from ..._render import Block, Line, Shown, Table, json_of, one_line
from .advice import Advice
from .measure import RAREST, SELDOM, StudyRow
from .scaling import ModelPlan, ScalingRow, amount
from .split import Split

Columns = dict[str, Callable[[StudyRow], str]]  # by head
PAYS = "pays most"  # the one head of texts


@dataclass(frozen=True, repr=False)
class Study(Shown):
    """The vocabulary size, pattern and kind that suit some texts and a planned
    model.

    Attributes:
        plan: The model.
        split: The texts for training, and the texts for measuring.
        rows: Each candidate at each size.
        scaling: The published laws, applied to the plan.
        advice: The range with its reasons.
        notes: Deviations from the request.
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
        corpus = {
            "texts": split.texts,
            "bytes": split.all_bytes,
            "trained_bytes": split.trained_bytes,
            "held_out_texts": len(split.held_out),
            "held_out_bytes": split.held_out_bytes,
            "held_out": split.rule,
        }
        others = {name: json_of(value) for name, value in vars(self).items() if name != "split"}
        return {**others, "corpus": corpus}

    def _parts(self) -> Iterator[str | Block]:
        yield "Study of vocabulary sizes"
        for part in (summary, tables, laws):
            yield from part(self)

    def to_html(self) -> str:
        """The study as one self-contained HTML page with charts."""
        return _render.report(self.view(), [*curves(self)])

    def plot(self) -> _render.Plot:
        """The mean bytes of a token by size, as plain data for `to_chart`."""
        series = by_tokenizer(self, lambda row: row.bytes_per_token)
        return _render.Plot("How long tokens are", "vocabulary size", "bytes a token", series, kind="curves")

    to_chart = _render.to_chart

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(one_line(row.tokenizer) for row in self.rows))
        return f"<Study of {names[:80]}: {self.advice.headline}>"


def by_tokenizer(study: Study, value: Callable[[StudyRow], float]) -> dict[str, list[tuple[float, float]]]:
    """A figure of each row, by tokenizer and size."""
    series: dict[str, list[tuple[float, float]]] = {}
    for row in study.rows:
        series.setdefault(row.tokenizer, []).append((row.vocab_size, value(row)))
    return series


def curves(study: Study) -> Iterator[_render.Curves]:
    least = min(row.training_flops for row in study.rows)
    figures: list[tuple[str, Callable[[StudyRow], float], bool]] = [
        ("Bytes of held-out text for a token (higher: shorter)", lambda row: row.bytes_per_token, False),
        ("Training compute for this text, above the least", lambda row: row.training_flops / (least or 1) - 1, True),
        ("Learned tokens that training would hardly see", lambda row: row.seldom / max(1, row.learned), True),
        ("Unigram bits for a byte (lower: better compressed)", lambda row: row.unigram_bits_per_byte, False),
    ]
    if study.languages:
        figures.append(("Gini of the languages (0: all pay the same)", lambda row: row.gini or 0, False))
    band = (study.advice.low, study.advice.high)
    for title, value, percent in figures:
        yield _render.Curves(title, "vocabulary size (shaded: the range)", by_tokenizer(study, value), percent, band)


def summary(study: Study) -> Iterator[Block]:
    advice, plan, split = study.advice, study.plan, study.split
    yield Line(advice.headline, "strong")
    for reason in advice.reasons:
        yield Line(f"- {reason}")
    yield from (Line(f"note: {note}", "warn") for note in study.notes)
    tied = "one matrix for input and output" if plan.tied else "two matrices"
    source = "as given" if plan.width_given else "the usual width of this size"
    yield Line(
        f"Model: {amount(plan.params)} parameters outside the vocabulary, {tied}, rows of {plan.width:,} numbers ({source}), "
        f"{amount(plan.tokens)} tokens of training."
    )
    yield Line(f"Corpus: {number_of(split.texts, 'text')}, {split.all_bytes:,} bytes. Held out: {split.rule}.")


def tables(study: Study) -> Iterator[Block]:
    """The figures of each candidate and size: the held-out text, the model, rare tokens, and languages."""
    least = min(row.training_flops for row in study.rows) or 1
    changes = {
        row: row.tokens / max(1, old.tokens) - 1 for old, row in pairwise(study.rows) if old.tokenizer == row.tokenizer
    }
    text: Columns = {
        "tokens": lambda row: f"{row.tokens:,}",
        "change": lambda row: f"{changes[row]:+.1%}" if row in changes else "",
        "bytes a token": lambda row: f"{row.bytes_per_token:.3f}",
        "unigram bits a byte": lambda row: f"{row.unigram_bits_per_byte:.3f}",
        "Rényi 2.5": lambda row: f"{row.renyi_efficiency:.3f}",
    }
    yield table(study, "The held-out text", text)
    model: Columns = {
        "training compute": lambda row: f"{more:+.1%}" if (more := row.training_flops / least - 1) else "least",
        "operations a byte": lambda row: amount(row.inference_flops_per_byte),
        "embedding share": lambda row: f"{row.embedding_share:.1%}",
        "to 64": lambda row: f"{row.padded_64:,}",
        "to 128": lambda row: f"{row.padded_128:,}",
    }
    yield table(study, "The model", model)
    rare: Columns = {
        # A token that is not in the sample is rarer than one occurrence in it.
        f"rarest {100 // RAREST} %": lambda row: f"{row.rarest:,.0f}" if row.rarest else f"< {row.resolution:,.0f}",
        "hardly seen": lambda row: f"{row.seldom:,}",
        "share": lambda row: f"{row.seldom / max(1, row.learned):.1%}",
        "last pair": lambda row: "" if row.last_count is None else f"{row.last_count:,}",
    }
    yield table(study, "Rare tokens, as expected in the planned corpus", rare)
    yield Line(f"hardly seen: never in the sample, or expected fewer than {SELDOM} times", "dim")
    if study.languages:
        fair: Columns = {
            "Gini": lambda row: "–" if row.gini is None else f"{row.gini:.3f}",
            PAYS: lambda row: row.worst or "",
            "premium": lambda row: "–" if row.worst_premium is None else f"{row.worst_premium:.3f}",
        }
        yield table(study, f"Parity with {study.languages[0]}", fair)


def table(study: Study, caption: str, figures: Columns) -> Table:
    """A table with a row for each candidate and size."""
    columns: Columns = {"tokenizer": lambda row: row.tokenizer, "size": lambda row: f"{row.vocab_size:,}", **figures}
    if len({row.tokenizer for row in study.rows}) == 1:
        del columns["tokenizer"]
    rows = [[cell(row) for cell in columns.values()] for row in study.rows]
    return Table([*columns], rows, caption, left=[0, *(at for at, head in enumerate(columns) if head == PAYS)])


def laws(study: Study) -> Iterator[Block]:
    """The scaling laws, and the cautions."""
    rows = [
        [row.name, f"{row.vocab_size:,}", row.says, f"extrapolation: {row.beyond}" if row.beyond else "fitted here"]
        for row in study.scaling
    ]
    yield Table(("law", "tokens", "assumes", "validity"), rows, "Scaling laws (2407.13623)", left=(0, 2, 3))
    for each in study.advice.cautions:
        yield Line(each, "dim")
