"""The n-grams of a text: how often each run of n neighbours occurs. Byte-pair encoding merges the most frequent 2-gram."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import regex

from .. import _render
from .._base.errors import InvalidOption, number_of
from .._render import Bars, Block, Line, View, token_text
from .._tokenizer.tokenizer import Text
from ..reference import utf8
from ._asked import token_json

__all__ = ["Ngrams", "ngrams"]

MOST_BARS = 12
UNITS = {"char": "character", "byte": "byte", "word": "word"}
WORDS = regex.compile(r"\s*\S+")


@dataclass(frozen=True, repr=False)
class Ngrams(_render.Shown):
    """The n-grams of one text.

    Attributes:
        n: How many neighbours.
        unit: "char", "byte" or "word"; the space before a word belongs to it.
        counts: The bytes of each n-gram and how often it occurs, the most
            frequent first, equals as they come.
        total: How many there are in all.
    """

    n: int
    unit: str
    counts: tuple[tuple[bytes, int], ...]
    total: int

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON values."""
        counts = [token_json(ngram) | {"count": count} for ngram, count in self.counts]
        return {"n": self.n, "unit": self.unit, "total": self.total, "counts": counts}

    def view(self) -> View:
        """What is to be seen."""
        title = f"{self.n}-grams of {UNITS[self.unit]}s: {self.total:,} in all, {len(self.counts):,} different"
        return View(title, tuple(self.blocks()))

    def blocks(self) -> Iterator[Block]:
        """The parts of the view."""
        bars = [(token_text(ngram), count, f"{count:,}") for ngram, count in self.counts[:MOST_BARS]]
        if bars:
            yield Bars(bars, "the most frequent")
        else:
            yield Line(f"the text has fewer than {number_of(self.n, UNITS[self.unit])}", "warn")

    def __repr__(self) -> str:
        return f"<Ngrams: {len(self.counts):,} different of {self.total:,}>"


def ngrams(text: Text, n: int = 2, *, unit: Literal["char", "byte", "word"] = "char") -> Ngrams:
    """How often each run of n neighbours occurs in a text.

    A text of m units has m - n + 1 n-grams, which overlap.

    Args:
        n: At least 1.
        unit: Characters, bytes of UTF-8, or words with the space before them.
    Raises:
        InvalidOption: `n` is below 1, or there is no such unit.
    Cost: one pass over the text.

    >>> import toksmith
    >>> toksmith.explain.ngrams("aaabdaaabac", 2).counts[:2]
    ((b'aa', 4), (b'ab', 2))
    """
    if n < 1:
        raise InvalidOption("n", n, "at least 1")
    if unit not in UNITS:
        raise InvalidOption("unit", unit, "'char', 'byte' or 'word'")
    data = utf8(text)
    decoded = data.decode("utf-8", "surrogateescape")
    if unit == "byte":
        units = [bytes([byte]) for byte in data]
    else:
        parts = list(decoded) if unit == "char" else WORDS.findall(decoded)
        units = [part.encode("utf-8", "surrogateescape") for part in parts]
    counts = Counter(b"".join(units[at : at + n]) for at in range(len(units) - n + 1))
    return Ngrams(n, unit, tuple(counts.most_common()), max(0, len(units) - n + 1))
