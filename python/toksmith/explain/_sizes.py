"""How large a text is: characters, bytes in UTF-8, UTF-16 and UTF-32, and ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import _render
from .._base.errors import number_of
from .._render import Bars, Block, View
from .._tokenizer.tokenizer import Text
from ..reference import utf8
from ._asked import Tokenizers, named_tokenizers

__all__ = ["Sizes", "sizes"]

ENCODINGS = {"UTF-8": "utf-8", "UTF-16": "utf-16-le", "UTF-32": "utf-32-le"}


@dataclass(frozen=True, repr=False)
class Sizes(_render.Shown):
    """The sizes of one text.

    Attributes:
        characters: Code points.
        encoded: Bytes by encoding, without a mark of the byte order.
        tokens: Ids by tokenizer.
    """

    characters: int
    encoded: Mapping[str, int]
    tokens: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """The sizes as JSON values."""
        return {"characters": self.characters, "encoded": {**self.encoded}, "tokens": {**self.tokens}}

    def view(self) -> View:
        """What is to be seen."""
        return View(f"the sizes of a text of {number_of(self.characters, 'character')}", tuple(self.blocks()))

    def blocks(self) -> Iterator[Block]:
        """The parts of the view."""
        yield Bars([(name, size, number_of(size, "byte")) for name, size in self.encoded.items()], "encoded")
        if self.tokens:
            yield Bars([(name, size, number_of(size, "token")) for name, size in self.tokens.items()], "tokenized")

    def __repr__(self) -> str:
        return f"<Sizes of {number_of(self.characters, 'character')}>"


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
    named = {} if isinstance(toks, (tuple, list, dict)) and not toks else named_tokenizers(toks)
    encoded = {name: len(plain.encode(codec)) for name, codec in ENCODINGS.items()}
    return Sizes(len(plain), encoded, {name: tok.count(text) for name, tok in named.items()})
