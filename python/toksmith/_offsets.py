"""Ids with their places in the text: the calls of the core behind `Tokenizer.encode_with_offsets`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from . import _core
from ._errors import InvalidOption
from ._results import Encoding, RaggedEncoding

__all__ = ["encoding", "encodings"]


def encoding(
    engine: _core.Engine, text: str | bytes, *, unit: str, special: str | Collection[str], errors: str
) -> Encoding:
    """The ids of one text with their ranges."""
    return Encoding(*_core.encode_with_offsets(engine, text, special, errors, in_characters(unit)), unit)


def encodings(
    engine: _core.Engine,
    batch: Sequence[str | bytes],
    *,
    unit: str,
    special: str | Collection[str],
    errors: str,
    threads: int,
) -> RaggedEncoding:
    """The ids of each text with their ranges."""
    characters = in_characters(unit)
    ranges, text_ends = _core.encode_ragged_with_offsets(engine, batch, special, errors, threads, characters)
    return RaggedEncoding(*ranges, text_ends, unit)


def in_characters(unit: str) -> bool:
    """Whether offsets count characters, not bytes."""
    if unit not in ("char", "byte"):
        raise InvalidOption("unit", unit, "'char' or 'byte'")
    return unit == "char"
