"""The distribution of a vocabulary: the lengths of its tokens, and their frequencies in a text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _render
from .._base.wording import number_of
from .._render import Bars, Block, Line, Plot, Shown, Table
from .._sources.named import Tokenizers, name_tokenizers
from .._tokenizer.tokenizer import Special, Text

LONGEST = 24  # lengths with their own bar; all longer ones share one
DECADES = (1, 10, 100, 1000, 10_000, 100_000)


@dataclass(frozen=True, repr=False)
class Lengths(Shown):
    """The number of tokens of each length.

    Attributes:
        counts: By tokenizer, the number of entries by their length in bytes.
    """

    counts: dict[str, dict[int, int]]

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON values: pairs of length and count, ascending."""
        return {"tokenizers": {name: [list(pair) for pair in own.items()] for name, own in self.counts.items()}}

    def rows(self) -> list[tuple[str, list[int]]]:
        """The labels of the bars, each with the count of every tokenizer."""
        most = max((length for own in self.counts.values() for length in own), default=0)
        labelled = [(str(n), [own.get(n, 0) for own in self.counts.values()]) for n in range(1, min(most, LONGEST) + 1)]
        if most > LONGEST:
            more = [sum(n for length, n in own.items() if length > LONGEST) for own in self.counts.values()]
            labelled.append((f"> {LONGEST}", more))
        return labelled

    def plot(self) -> Plot:
        """The chart, as plain data."""
        rows = self.rows()
        series = {name: [counts[place] for _, counts in rows] for place, name in enumerate(self.counts)}
        return Plot("Tokens by length", "bytes", "tokens", series, [name for name, _ in rows])

    def _parts(self) -> Iterator[str | Block]:
        yield "tokens by length in bytes"
        for place, (name, own) in enumerate(self.counts.items()):
            total = sum(own.values())
            mean = sum(length * count for length, count in own.items()) / total if total else 0.0
            yield Line(
                f"{name}: {number_of(total, 'token')}, {mean:.2f} bytes on average, the longest {max(own, default=0):,}"
            )
            yield Bars([(length, counts[place], f"{counts[place]:,}") for length, counts in self.rows()])

    to_chart = _render.to_chart


@dataclass(frozen=True, repr=False)
class Ranks(Shown):
    """The frequency of each token in a text.

    Attributes:
        counts: By tokenizer, the counts of its tokens, the most frequent
            first.
    """

    counts: dict[str, tuple[int, ...]]

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return {"tokenizers": {name: list(counts) for name, counts in self.counts.items()}}

    def plot(self) -> Plot:
        """The chart, as plain data: both scales are logarithmic, and the long
        tail has few points."""
        series = {name: sample_ranks(counts) for name, counts in self.counts.items()}
        return Plot("Tokens by frequency", "rank", "times", series, kind="curves")

    def _parts(self) -> Iterator[str | Block]:
        yield "frequency of tokens, the most frequent first"
        most = max(map(len, self.counts.values()), default=0)
        decades = [rank for rank in DECADES if rank <= most]
        rows = []
        for name, counts in self.counts.items():
            once = sum(1 for times in counts if times == 1)
            at = [f"{counts[rank - 1]:,}" if rank <= len(counts) else "" for rank in decades]
            rows.append([name, f"{sum(counts):,}", f"{len(counts):,}", f"{once:,}", *at])
        heads = ["tokenizer", "tokens", "different", "once", *(f"rank {rank:,}" for rank in decades)]
        yield Table(heads, rows)

    to_chart = _render.to_chart


def lengths(toks: Tokenizers) -> Lengths:
    """The number of tokens of each length in bytes, without special tokens.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> toksmith.explain.lengths({"low": tok}).counts
    {'low': {1: 256, 2: 1, 3: 1, 4: 1}}
    """
    counts = {}
    for name, tok in name_tokenizers(toks).items():
        sizes, times = np.unique(np.diff(tok.model.tokens.ends, prepend=np.uint32(0)), return_counts=True)
        counts[name] = dict(zip(sizes.tolist(), times.tolist(), strict=True))
    return Lengths(counts)


def ranks(toks: Tokenizers, text: Text, *, special: Special = "text") -> Ranks:
    """The frequency of each token in a text, the most frequent first: the curve of
    Zipf's law.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> print(toksmith.explain.ranks({"low": tok}, "low lower lowest"))
    frequency of tokens, the most frequent first
    tokenizer  tokens  different  once  rank 1
    low             8          6     4       2
    """
    counts = {}
    for name, tok in name_tokenizers(toks).items():
        _, times = np.unique(tok.encode_array(text, special=special), return_counts=True)
        counts[name] = tuple(np.sort(times)[::-1].tolist())
    return Ranks(counts)


def sample_ranks(counts: tuple[int, ...]) -> list[tuple[int, int]]:
    """Rank and count at evenly spaced ranks on a logarithmic scale, including the first and the last."""
    if not counts:
        return []
    places = np.unique(np.geomspace(1, len(counts), 200).round().astype(int)).tolist()
    return [(place, counts[place - 1]) for place in places]
