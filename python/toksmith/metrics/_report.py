"""Report: the values of all metrics for one tokenizer and corpus; `measure` makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._base.wording import close_names, number_of
from .._corpus import Corpus
from .._render import Block, Cell, Line, Shown, Table
from .._sources.named import TokenizerSource, resolve_tokenizer
from .._tokenizer.tokenizer import Special
from ..errors import UnknownName
from ._rows import METRICS, TABLES, Metric, Parts
from ._sample import Sample, count_sample

ARROWS = {"higher": "↑", "lower": "↓", "": ""}


class Report(Shown, Mapping[str, float | None]):
    """The metrics of one tokenizer on one corpus: a mapping of names to values;
    undefined values are None.

    Reports of parts of a corpus add up (`a + b`, or `sum(parts, start)`) to
    the report of the whole, because they keep the counts and compute every
    ratio from them.

    Attributes:
        sample: The exact counts.
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._figures = {name: row.function(sample) for name, row in METRICS.items()}

    def __getitem__(self, name: str) -> float | None:
        numerator, denominator = self.parts(name)
        return numerator / denominator if denominator else None

    def parts(self, name: str) -> Parts:
        """The numerator and the denominator of a metric.

        Raises:
            UnknownName: There is no such metric.
        """
        if name not in self._figures:
            raise UnknownName("metric", name, close_names(name, METRICS))
        return self._figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(METRICS)

    def __len__(self) -> int:
        return len(METRICS)

    def __add__(self, other: Report) -> Report:
        return Report(self.sample + other.sample)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self.sample == other.sample

    def __hash__(self) -> int:
        return hash(self.sample)

    def __repr__(self) -> str:
        return f"<Report {number_of(self.sample.tokens, 'token')} of {number_of(self.sample.bytes, 'byte')}, {self.sample.tokenizer[:12]}>"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each metric, with its `metric` and `value`."""
        return [{"metric": name, "value": value} for name, value in self.items()]

    def _parts(self) -> Iterator[str | Block]:
        yield "Metrics"
        sample = self.sample
        size = ", ".join(
            number_of(count, unit)
            for count, unit in ((sample.documents, "document"), (sample.bytes, "byte"), (sample.tokens, "token"))
        )
        rows = [self._shown(row) for row in METRICS.values()]
        yield Line(f"{size}; tokenizer {sample.tokenizer[:12]}")
        yield Table(("metric", "value", "unit", "numerator", "denominator"), rows, left=(0, 2))
        yield Line("↑ higher is better, ↓ lower is better, all else equal; – undefined", "dim")
        if sample.unplaced:
            warning = f"{number_of(sample.unplaced, 'document')} not equal to the bytes of the tokens; words and numbers leave them out"
            yield Line(warning, "warn")
        for table in TABLES:
            cells = [[_figure(cell) for cell in row] for row in table.rows(sample)]
            if cells:
                yield Table(table.heads, cells, table.says)
        hidden = [[row.name, row.hides] for row in METRICS.values()]
        yield Table(("metric", "what it does not show"), hidden, left=(0, 1))

    def _shown(self, row: Metric) -> list[str | Cell]:
        value, (numerator, denominator) = self[row.name], self.parts(row.name)
        figure = "–" if value is None else f"{value:.4f}{ARROWS[row.better]}"
        return [row.name, Cell(figure, "strong"), row.unit, _figure(numerator), _figure(denominator)]

    def to_dict(self) -> dict[str, Any]:
        """The content of the view as JSON values; undefined values are None."""
        sample = self.sample
        names = ("documents", "bytes", "chars", "tokens", "unplaced")
        return {
            "tokenizer": sample.tokenizer,
            **{name: getattr(sample, name) for name in names},
            "metrics": {row.name: self._as_dict(row) for row in METRICS.values()},
            "tables": {table.name: {"heads": [*table.heads], "rows": table.rows(sample)} for table in TABLES},
        }

    def _as_dict(self, row: Metric) -> dict[str, Any]:
        numerator, denominator = self.parts(row.name)
        return {
            "value": self[row.name],
            "unit": row.unit,
            "better": row.better or None,
            "numerator": numerator,
            "counted": row.counted,
            "denominator": denominator,
            "over": row.over,
            "does_not_show": row.hides,
        }


def _figure(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def names() -> list[str]:
    """The names of the metrics, in the order of the report.

    >>> import toksmith
    >>> toksmith.metrics.names()[:3]
    ['bytes_per_token', 'chars_per_token', 'fertility']
    """
    return list(METRICS)


def measure(tok: TokenizerSource, corpus: Corpus, *, special: Special = "text", threads: int | None = None) -> Report:
    """All metrics of a tokenizer on a corpus, from one encoding pass with exact
    counts.

    Args:
        corpus: Documents as for `train`: texts, paths, `files(…)`.
        special: The treatment of special tokens in the text, as for `encode`.
        threads: At least 1; None for all processors. The result does not depend
            on it.
    Returns:
        The values by name, None if undefined on this corpus (no words, no
        numbers, no text), with their counts. `measure(tok, a) +
        measure(tok, b)` is `measure(tok, [*a, *b])`.
    Raises:
        CorpusError: A file cannot be read.
        SpecialTokenInText, NotInVocabulary, PatternError, TextTooLong: as
            `Tokenizer.encode_batch`.
    Cost: one encoding, and a few operations for each token and each 64 bytes.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> report = toksmith.metrics.measure(tok, ["low lower"])
    >>> report["bytes_per_token"], report.parts("fertility")
    (2.25, Parts(numerator=4, denominator=2))
    >>> print(report["digit_alignment"])
    None
    """
    tok = resolve_tokenizer(tok)
    return Report(count_sample(tok, corpus, special=special, threads=threads))
