"""compare: several tokenizers on the same texts, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _render
from .._base.wording import close_names, number_of
from .._corpus import Corpus
from .._render import Bars, Block, Cell, Line, Table, one_line
from .._sources.named import Tokenizers, name_tokenizers
from ..errors import InvalidOption, UnknownName
from ..metrics import LANGUAGES, METRICS, Fairness, Metric, Parallel, Report, fairness, measure
from ..metrics._parity import documents_of
from ..metrics._report import ARROWS

CORPUS = "corpus"  # the name of texts without names


@dataclass(frozen=True, repr=False)
class Comparison(_render.Shown):
    """Tokenizers on the same texts: a report of all metrics for each pair.

    Attributes:
        reports: The reports, by tokenizer and then by text; a corpus without
            names is the text `corpus`.
        languages: What the same text costs in each language; None for a
            corpus.
        metrics: The names of the metrics that the table shows.
    """

    reports: Mapping[str, Mapping[str, Report]]
    languages: Fairness | None
    metrics: Sequence[str]

    def to_rows(self) -> list[dict[str, Any]]:
        """One row for each tokenizer and text: their names, the sizes of the text,
        the tokens, and every metric; undefined values are None."""
        rows = []
        for tokenizer, reports in self.reports.items():
            for text, report in reports.items():
                sizes = {name: getattr(report.sample, name) for name in ("documents", "bytes", "chars", "tokens")}
                premium = {} if self.languages is None else {"premium": self.languages.parities[tokenizer][text]}
                rows.append({"tokenizer": tokenizer, "text": text, **sizes, **premium, **report})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The reports, and the costs of languages, as JSON values."""
        reports = {
            tokenizer: {text: report.to_dict() for text, report in by_text.items()}
            for tokenizer, by_text in self.reports.items()
        }
        languages = {} if self.languages is None else {"languages": self.languages.to_dict()}
        return {"metrics": [*self.metrics], "reports": reports, **languages}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the figures of languages doubtful, as for `metrics.parity`."""
        return () if self.languages is None else self.languages.warnings

    def _parts(self) -> Iterator[str | Block]:
        if self.languages is not None:
            parities = [*self.languages.parities.values()]
            yield from (parities[0] if len(parities) == 1 else self.languages)._parts()
            for metric in self.metrics:
                yield self._table_by_text(metric)
            return
        reports = {name: by_text[CORPUS] for name, by_text in self.reports.items()}
        if len(reports) == 1:
            [(name, report)] = reports.items()
            title, *blocks = report._parts()
            yield f"{title} of {name}"
            yield from blocks
            return
        sample = next(iter(reports.values())).sample
        size = f"{number_of(sample.documents, 'document')}, {number_of(sample.bytes, 'byte')}"
        yield f"{number_of(len(reports), 'tokenizer')} on {size}"
        yield self._table_by_metric(reports)
        bars = [(name, report.sample.tokens, f"{report.sample.tokens:,}") for name, report in reports.items()]
        yield Bars(bars, "Tokens for the same texts")
        yield Line("↑ higher is better, ↓ lower is better, all else equal; – undefined", "dim")
        hidden = [[name, METRICS[name].hides] for name in self.metrics]
        yield Table(("metric", "what it does not show"), hidden, left=(0, 1))

    def _table_by_metric(self, reports: Mapping[str, Report]) -> Table:
        """Metrics by tokenizer; the best value of a metric is strong."""
        rows: list[list[str | Cell]] = [["tokens", "", *(f"{report.sample.tokens:,}" for report in reports.values())]]
        for name in self.metrics:
            row, values = METRICS[name], [report[name] for report in reports.values()]
            defined = [value for value in values if value is not None]
            best = {"higher": max, "lower": min}[row.better](defined) if row.better and len({*defined}) > 1 else None
            cells = [format_value(value) if value != best else Cell(format_value(value), "strong") for value in values]
            rows.append([metric_title(row), row.unit, *cells])
        return Table(("metric", "unit", *map(one_line, reports)), rows, left=(0, 1))

    def _table_by_text(self, metric: str) -> Table:
        """One metric by text and tokenizer."""
        row = METRICS[metric]
        texts = next(iter(self.reports.values()))
        rows = [[text, *(format_value(reports[text][metric]) for reports in self.reports.values())] for text in texts]
        return Table(("text", *map(one_line, self.reports)), rows, f"{metric_title(row)}: {row.unit}")

    def plot(self) -> _render.Plot:
        """The premiums of languages, or the tokens of a corpus, as bars: a series for each tokenizer."""
        if self.languages is not None:
            return self.languages.plot()
        series = {name: [by_text[CORPUS].sample.tokens] for name, by_text in self.reports.items()}
        return _render.Plot("Tokens for the same texts", "tokens", "", series, [CORPUS], "across", 0)

    to_chart = _render.to_chart


def metric_title(row: Metric) -> str:
    """The name of a metric, with an arrow to the better direction."""
    return f"{row.name} {ARROWS[row.better]}".rstrip()


def format_value(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def compare(
    toks: Tokenizers,
    texts: Corpus | Mapping[str, Parallel] | None = None,
    *,
    metrics: Sequence[str] | None = None,
    reference: str | None = None,
    threads: int | None = None,
) -> Comparison:
    """Tokenizers on the same texts, in one table: tokens and the figures of
    `toksmith.metrics`.

    Special tokens in the texts are ordinary text. One tokenizer with one
    corpus gives the full report of `metrics.measure`.

    Args:
        toks: One tokenizer or several: objects, names or files, in a list or
            in a dict by name.
        texts: A corpus, with documents as for `train`; or a dict of the same
            text in several languages, as for `metrics.parity`; None for the
            sentences in 24 languages of `metrics.LANGUAGES`.
        metrics: Names of `metrics.METRICS` for the table; None for all, and
            for none with languages. `to_rows()` always has all of them.
        reference: The language that others are compared with; None for the
            first.
        threads: At least 1; None for all processors.
    Raises:
        UnknownName: There is no metric, encoding or file of this name.
        InvalidOption: There is no tokenizer or no text, `reference` is not
            one of the languages, or there are no languages.
        CorpusError: A file cannot be read.
    Cost: that of encoding, for languages twice. Source: the rows of
        `metrics.METRICS`.

    >>> import toksmith
    >>> toks = {name: toksmith.train("low lower lowest", merges=n) for name, n in {"small": 1, "large": 4}.items()}
    >>> found = toksmith.compare(toks, ["low lowest"], metrics=["bytes_per_token", "fertility"])
    >>> [(row["tokenizer"], row["tokens"], row["fertility"]) for row in found.to_rows()]
    [('small', 8, 4.0), ('large', 4, 2.0)]
    """
    tokenizers = name_tokenizers(toks)
    for name in metrics or ():
        if name not in METRICS:
            raise UnknownName("metric", name, close_names(name, METRICS))
    if texts is not None and not isinstance(texts, Mapping):
        if reference is not None:
            raise InvalidOption("reference", reference, "None: a corpus has no languages; give texts by language")
        several = len(tokenizers) > 1  # each of them reads the corpus
        corpus = list(texts) if several and isinstance(texts, Iterator) else texts
        reports = {name: {CORPUS: measure(tok, corpus, threads=threads)} for name, tok in tokenizers.items()}
        return Comparison(reports, None, tuple(METRICS if metrics is None else metrics))
    by_language = LANGUAGES if texts is None else texts
    lines = {name: documents_of(text) for name, text in by_language.items()}  # a file is read once
    costs = fairness(tokenizers, lines, reference=reference, threads=threads)
    reports = {
        name: {language: measure(tok, text, threads=threads) for language, text in lines.items()}
        for name, tok in tokenizers.items()
    }
    return Comparison(reports, costs, tuple(metrics or ()))
