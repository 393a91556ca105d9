"""fairness: the cost of the same text in each language, with several tokenizers on one scale.

`parity` gives the figures of each tokenizer. A cost is relative to the language with the most tokens under the same tokenizer.
Left out: prices, and whether texts have the same meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import _render
from .._base.arguments import check_text as text_argument
from .._base.wording import number_of, shorten_middle
from .._render import Bars, Block, Cell, Line, Table, one_line
from .._tokenizer.tokenizer import Tokenizer
from ..errors import InvalidOption, UnknownName
from ._languages import LANGUAGES
from ._parity import Parallel, Parity, parity

TWICE = 2.0  # languages with a higher premium are counted in the summary
MOST_NAMED = 300  # characters of names in a `repr`


@dataclass(frozen=True, repr=False)
class Fairness(_render.Shown):
    """The cost of the same text in each language, by tokenizer.

    Attributes:
        reference: The language whose premium is 1.
        parities: The figures of each tokenizer, by its name.
    """

    reference: str
    parities: Mapping[str, Parity]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to doubt the figures, as for `parity`."""
        return next(iter(self.parities.values())).warnings

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in order of their mean premium, the cheapest first."""
        first = next(iter(self.parities.values()))
        sums = {each.name: sum(own[each.name] or 0.0 for own in self.parities.values()) for each in first.languages}
        return tuple(sorted(sums, key=lambda name: sums[name]))

    def costs(self, tokenizer: str) -> dict[str, float | None]:
        """The tokens of each language relative to the language with the most, by
        language; None if no language has any.

        Raises:
            UnknownName: The tokenizer was not compared.
        """
        if tokenizer not in self.parities:
            raise UnknownName("tokenizer", tokenizer, [*self.parities])
        languages = self.parities[tokenizer].languages
        most = max(each.tokens for each in languages)
        return {each.name: each.tokens / most if most else None for each in languages}

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON values, the languages in order of their premium."""
        rows = []
        for name, result in self.parities.items():
            costs, by_name = self.costs(name), {each.name: each for each in result.languages}
            languages = [
                {"name": each, "tokens": by_name[each].tokens, "bytes": by_name[each].bytes}
                | {"premium": by_name[each].premium, "cost": costs[each]}
                for each in self.languages
            ]
            rows.append({"tokenizer": name, "gini": result.gini, "languages": languages})
        return {"reference": self.reference, "warnings": [*self.warnings], "tokenizers": rows}

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each tokenizer and language, with the figures of
        `metrics.parity`."""
        return [{"tokenizer": name} | row for name, own in self.parities.items() for row in own.to_rows()]

    def _parts(self) -> Iterator[str | Block]:
        sizes = f"{number_of(len(self.languages), 'language')} by {number_of(len(self.parities), 'tokenizer')}"
        yield f"What the same text costs: {sizes}"
        for warning in self.warnings:
            yield Line(f"warning: {warning}", "warn")
        rows = [self._summary(name) for name in self.parities]
        heads = ["tokenizer", "tokens", "Gini", "dearest", "times", f"over {TWICE:g} times"]
        yield Table(heads, rows, f"Tokens relative to {self.reference}", left=(0, 3))
        table = [[name, *(self._cell(name, tokenizer) for tokenizer in self.parities)] for name in self.languages]
        caption = f"Tokens relative to {self.reference}, and to the dearest language"
        yield Table(["language", *map(one_line, self.parities)], table, caption)
        premiums = [
            (f"{name}, {one_line(tokenizer)}", result[name])
            for name in self.languages
            for tokenizer, result in self.parities.items()
        ]
        bars = [(name, value, f"{value:.2f}") for name, value in premiums if value is not None]
        yield Bars(bars, f"Tokens relative to {self.reference}")
        yield Line(
            "It does not show whether the texts have the same meaning, or how well a model does in a language.", "dim"
        )

    def _summary(self, tokenizer: str) -> list[str | Cell]:
        result = self.parities[tokenizer]
        dearest = max(result.languages, key=lambda each: each.tokens)
        many = sum((each.premium or 0.0) > TWICE for each in result.languages)
        tokens = f"{sum(each.tokens for each in result.languages):,}"
        gini = Cell("–" if result.gini is None else f"{result.gini:.3f}", "strong")
        times = "–" if dearest.premium is None else f"{dearest.premium:.2f}"
        return [tokenizer, tokens, gini, dearest.name, times, f"{many:,}"]

    def _cell(self, language: str, tokenizer: str) -> str:
        premium, cost = self.parities[tokenizer][language], self.costs(tokenizer)[language]
        return "–" if premium is None or cost is None else f"{premium:.2f} ({cost:.0%})"

    def plot(self) -> _render.Plot:
        """The premiums as bars, a series for each tokenizer."""
        names = self.languages
        series = {name: [own[each] or 0.0 for each in names] for name, own in self.parities.items()}
        label = f"tokens relative to {self.reference}"
        return _render.Plot("What the same text costs", label, "", series, [*names], "across", 1)

    to_chart = _render.to_chart

    def __repr__(self) -> str:
        figures = (
            f"{one_line(name)} {'–' if own.gini is None else f'{own.gini:.3f}'}" for name, own in self.parities.items()
        )
        return f"<Fairness, Gini coefficients: {shorten_middle(', '.join(figures), MOST_NAMED)}>"


def fairness(
    toks: Mapping[str, Tokenizer],
    texts: Mapping[str, Parallel] | None = None,
    *,
    reference: str | None = None,
    threads: int | None = None,
) -> Fairness:
    """The cost of the same text in each language, with several tokenizers: tokens
    relative to a reference language, and to the language with the most tokens.

    Args:
        toks: The tokenizers by name.
        texts: By language, as for `toksmith.metrics.parity`; None for the four
            sentences of `metrics.LANGUAGES`.
        reference, threads: As for `toksmith.metrics.parity`.
    Raises:
        InvalidOption: There is no tokenizer or no language, or `reference` is
            not one of the languages.
        CorpusError: A file cannot be read.
    Cost: one encoding for each tokenizer. Source: as for
        `toksmith.metrics.parity`.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> found = toksmith.metrics.fairness({"few": tok}, {"en": "low lowest", "ko": "낮은 가장"})
    >>> found.parities["few"]["ko"], found.costs("few")
    (2.6, {'en': 0.38461538461538464, 'ko': 1.0})
    """
    if not isinstance(toks, Mapping):
        raise TypeError(f"toks: expected a dict of tokenizers by name, not {type(toks).__name__}")
    if not toks:
        raise InvalidOption("toks", {}, "at least one tokenizer")
    for name, tok in toks.items():
        text_argument(name, "toks")
        if not isinstance(tok, Tokenizer):
            raise TypeError(f"toks: expected tokenizers by name, not {type(tok).__name__}")
    by_language = LANGUAGES if texts is None else texts
    parities = {name: parity(tok, by_language, reference=reference, threads=threads) for name, tok in toks.items()}
    return Fairness(next(iter(parities.values())).reference, parities)
