"""`Tokenizer.encode_with_offsets` and its like for many texts: the ids, and where in the text each comes from.

The rule: ranges of bytes partition a text. Left out: how they are found, which is the core's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from .._base.arguments import as_sequence
from .._base.threads import thread_count
from . import boundaries

if TYPE_CHECKING:
    from .results import Encoding, RaggedEncoding

__all__ = ["encode_ragged_with_offsets", "encode_with_offsets"]

Text = str | bytes
Special = str | Collection[str]


def encode_with_offsets(
    self: Any, text: Text, *, unit: str = "char", special: Special = "raise", errors: str = "replace"
) -> Encoding:
    """The ids of a text, and where in the text each comes from.

    Args:
        unit: "char": characters of the text (for `bytes`, of
            `text.decode(errors="replace")`); "byte": bytes of the text as
            UTF-8.
    Returns: `.ids`, `.starts`, `.ends`; see `Encoding`. A stretch that a
        normalizer rewrites as a whole belongs to the id in which the
        rewritten stretch ends (in characters: to each id with a part of
        it). Removed text belongs to the next id, and at the end of the
        text to the last.
    Raises: as `encode`; InvalidOption for another `unit`.
    """
    return boundaries.encoding(self._engine, text, unit=unit, special=special, errors=errors)


def encode_ragged_with_offsets(
    self: Any,
    texts: Iterable[Text],
    *,
    unit: str = "char",
    special: Special = "raise",
    errors: str = "replace",
    threads: int | None = None,
) -> RaggedEncoding:
    """The same for many texts, in one array each; see `RaggedEncoding`.

    Raises: as `encode_batch`; InvalidOption for another `unit`.
    """
    batch, count = as_sequence(texts), thread_count(threads)
    return boundaries.encodings(self._engine, batch, unit=unit, special=special, errors=errors, threads=count)
