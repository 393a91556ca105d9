"""fairness: what the same text costs in each language, with several tokenizers on one scale.

The figures of each tokenizer are those of `parity`. A cost is relative to the language that is dearest with the same tokenizer.
Left out: prices, and whether texts have the same meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import _render
from .._base.arguments import text as text_argument
from .._base.errors import InvalidOption, UnknownName, number_of, shortened
from .._render import Bars, Block, Cell, Line, Table, one_line
from .._tokenizer.tokenizer import Tokenizer
from ._languages import LANGUAGES
from ._parity import Parallel, Parity, parity

__all__ = ["Fairness", "fairness"]

TWICE = 2.0  # the premium from which a language is counted as one that pays much more
MOST_NAMED = 300  # characters of names in a `repr`


@dataclass(frozen=True, repr=False)
class Fairness(_render.Shown):
    """What the same text costs in each language, by tokenizer.

    Attributes:
        reference: The language that premiums are relative to.
        parities: The figures of each tokenizer, by its name.
    """

    reference: str
    parities: Mapping[str, Parity]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the figures doubtful, as for `parity`."""
        return next(iter(self.parities.values())).warnings

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in order of their mean premium, the cheapest first."""
        first = next(iter(self.parities.values()))
        sums = {each.name: sum(found[each.name] or 0.0 for found in self.parities.values()) for each in first.languages}
        return tuple(sorted(sums, key=lambda name: sums[name]))

    def costs(self, tokenizer: str) -> dict[str, float | None]:
        """The tokens of each language relative to those of the dearest, by
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
        for name, found in self.parities.items():
            costs, by_name = self.costs(name), {each.name: each for each in found.languages}
            languages = [
                {"name": each, "tokens": by_name[each].tokens, "bytes": by_name[each].bytes}
                | {"premium": by_name[each].premium, "cost": costs[each]}
                for each in self.languages
            ]
            rows.append({"tokenizer": name, "gini": found.gini, "languages": languages})
        return {"reference": self.reference, "warnings": [*self.warnings], "tokenizers": rows}

    def _parts(self) -> Iterator[str | Block]:
        said = f"{number_of(len(self.languages), 'language')} by {number_of(len(self.parities), 'tokenizer')}"
        yield f"What the same text costs: {said}"
        for warning in self.warnings:
            yield Line(f"warning: {warning}", "warn")
        rows = [self._summary(name) for name in self.parities]
        heads = ["tokenizer", "tokens", "Gini", "dearest", "times", f"over {TWICE:g} times"]
        yield Table(heads, rows, f"Tokens relative to {self.reference}", left=(0, 3))
        table = [[name, *(self._cell(name, tokenizer) for tokenizer in self.parities)] for name in self.languages]
        caption = f"Tokens relative to {self.reference}, and to the dearest language"
        yield Table(["language", *map(one_line, self.parities)], table, caption)
        for tokenizer, found in self.parities.items():
            premiums = [(name, found[name]) for name in self.languages]
            bars = [(name, value, f"{value:.2f}") for name, value in premiums if value is not None]
            yield Bars(bars, f"{one_line(tokenizer)}: tokens relative to {self.reference}")
        yield Line(
            "It does not show whether the texts have the same meaning, or how well a model does in a language.", "dim"
        )

    def _summary(self, tokenizer: str) -> list[str | Cell]:
        found = self.parities[tokenizer]
        dearest = max(found.languages, key=lambda each: each.tokens)
        many = sum((each.premium or 0.0) > TWICE for each in found.languages)
        tokens = f"{sum(each.tokens for each in found.languages):,}"
        gini = Cell("–" if found.gini is None else f"{found.gini:.3f}", "strong")
        times = "–" if dearest.premium is None else f"{dearest.premium:.2f}"
        return [tokenizer, tokens, gini, dearest.name, times, f"{many:,}"]

    def _cell(self, language: str, tokenizer: str) -> str:
        premium, cost = self.parities[tokenizer][language], self.costs(tokenizer)[language]
        return "–" if premium is None or cost is None else f"{premium:.2f} ({cost:.0%})"

    def plot(self) -> _render.Plot:
        """The premiums as bars, a series for each tokenizer."""
        names = self.languages
        series = {name: [found[each] or 0.0 for each in names] for name, found in self.parities.items()}
        label = f"tokens relative to {self.reference}"
        return _render.Plot("What the same text costs", label, "", series, [*names], "across", 1)

    to_chart = _render.to_chart

    def __repr__(self) -> str:
        said = (
            f"{one_line(name)} {'–' if found.gini is None else f'{found.gini:.3f}'}"
            for name, found in self.parities.items()
        )
        return f"<Fairness, Gini coefficients: {shortened(', '.join(said), MOST_NAMED)}>"


def fairness(
    toks: Mapping[str, Tokenizer],
    texts: Mapping[str, Parallel] | None = None,
    *,
    reference: str | None = None,
    threads: int | None = None,
) -> Fairness:
    """What the same text costs in each language, with several tokenizers: tokens
    relative to a reference language, and cost relative to the dearest.

    Args:
        toks: The tokenizers by name.
        texts: By language, as for `toksmith.parity`; None for the four
            sentences of `metrics.LANGUAGES`.
        reference, threads: As for `toksmith.parity`.
    Raises:
        InvalidOption: There is no tokenizer or no language, or `reference` is
            not one of the languages.
        CorpusError: A file cannot be read.
    Cost: that of encoding. Source: as for `toksmith.parity`.

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
    given = LANGUAGES if texts is None else texts
    parities = {name: parity(tok, given, reference=reference, threads=threads) for name, tok in toks.items()}
    return Fairness(next(iter(parities.values())).reference, parities)
