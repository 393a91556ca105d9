"""What a text is before its tokens: its size in each encoding, and its n-grams.

An n-gram is a run of n neighbours. Byte-pair encoding merges the most frequent 2-gram.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import regex

from .._base.wording import number_of
from .._render import Bars, Block, Line, Shown, json_of, token_text
from .._sources.named import Tokenizers, name_tokenizers
from .._tokenizer.tokenizer import Text
from ..errors import InvalidOption
from ..reference import utf8

ENCODINGS = {"UTF-8": "utf-8", "UTF-16": "utf-16-le", "UTF-32": "utf-32-le"}
MOST_BARS = 12
UNITS = {"char": "character", "byte": "byte", "word": "word"}
WORDS = regex.compile(r"\s*\S+")


@dataclass(frozen=True, repr=False)
class Sizes(Shown):
    """The sizes of one text.

    Attributes:
        characters: Code points.
        encoded: Bytes by encoding, without a mark of the byte order.
        tokens: Ids by tokenizer.
    """

    characters: int
    encoded: Mapping[str, int]
    tokens: Mapping[str, int]

    def _parts(self) -> Iterator[str | Block]:
        yield f"the sizes of a text of {number_of(self.characters, 'character')}"
        yield Bars([(name, size, number_of(size, "byte")) for name, size in self.encoded.items()], "encoded")
        if self.tokens:
            yield Bars([(name, size, number_of(size, "token")) for name, size in self.tokens.items()], "tokenized")


def sizes(text: Text, toks: Tokenizers = ()) -> Sizes:
    """How many bytes a text has in each encoding of Unicode, and how many tokens.

    Args:
        text: Bytes that are not UTF-8 count as U+FFFD.
        toks: A tokenizer, or several by name or in a list; none by default.
    Cost: one encoding for each tokenizer.

    >>> import toksmith
    >>> print(toksmith.explain.sizes("né 😄"))
    the sizes of a text of 4 characters
    <BLANKLINE>
    encoded
     UTF-8  ████████████████████                     8 bytes
    UTF-16  █████████████████████████                10 bytes
    UTF-32  ████████████████████████████████████████ 16 bytes
    """
    plain = utf8(text).decode(errors="replace")
    tokenizers = {} if isinstance(toks, (tuple, list, dict)) and not toks else name_tokenizers(toks)
    encoded = {name: len(plain.encode(codec)) for name, codec in ENCODINGS.items()}
    return Sizes(len(plain), encoded, {name: tok.count(text) for name, tok in tokenizers.items()})


@dataclass(frozen=True, repr=False)
class Ngrams(Shown):
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
        return vars(self) | {"counts": [json_of(ngram) | {"count": count} for ngram, count in self.counts]}

    def _parts(self) -> Iterator[str | Block]:
        title = f"{self.n}-grams of {UNITS[self.unit]}s: {self.total:,} in all, {len(self.counts):,} different"
        yield title
        bars = [(token_text(ngram), count, f"{count:,}") for ngram, count in self.counts[:MOST_BARS]]
        if bars:
            yield Bars(bars, "the most frequent")
        else:
            yield Line(f"the text has fewer than {number_of(self.n, UNITS[self.unit])}", "warn")


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
