"""`Tokenizer.session`: an editable text with its ids.

The rule: after each edit the ids are those of the whole new text. The text is stored in blocks that end at places where it can
be cut for any text before and after (`encode/boundaries.rs`). Such a place depends on a few bytes around it, so an edit does
not affect places far enough away, and only the text between the nearest two is encoded again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base.threads import one_call_at_a_time
from .._base.wording import number_of, preview_items
from ..errors import OF_A_PLACE, InvalidOption
from .boundaries import to_type_of, utf8_or_none
from .stream import CONTEXT, Special, check_text

__all__ = ["IdEdit", "TextSession"]

Text = str | bytes
BLOCK = 1 << 11  # characters (or bytes) of a block; more if the text cannot be cut that often


@dataclass(frozen=True, eq=False, repr=False)
class IdEdit:
    """The change of a text's ids by an edit: `ids` replace `removed` ids from
    number `first` on. All others stay.

    Attributes:
        first: The number of unchanged ids before the change.
        removed: The number of removed ids.
        ids: uint32, shape (n,), the new ids.
        encoded: The length of the text that was encoded again, in characters
            (for `bytes`, in bytes). It is the whole text if the text cannot be
            cut anywhere.
    """

    first: int
    removed: int
    ids: NDArray[np.uint32]
    encoded: int

    def __repr__(self) -> str:
        return f"<IdEdit {number_of(self.removed, 'id')} from {self.first} on become {preview_items(self.ids)}>"


class SessionState(NamedTuple):
    """The state of a session, replaced as a whole: the blocks of its text, the ids of each, and the lengths of both."""

    blocks: list[Any]
    ids: list[NDArray[np.uint32]]
    sizes: NDArray[np.int64]
    counts: NDArray[np.int64]


class TextSession:
    """An editable text with its ids; made by `Tokenizer.session`.

    An edit encodes its own text and the text up to the nearest places where
    the text can be cut, plus some microseconds per MB for the sizes of the
    blocks. With normalizers, or with a custom pattern, such places may not
    exist: then each edit encodes the whole text. One edit at a time can change
    it: a concurrent edit raises RuntimeError. A concurrent reader gets the
    text and the ids from before the edit, or from after it.
    """

    def __init__(self, engine: _core.Engine, text: Text, special: Special, added: int) -> None:
        check_text(text)
        self._engine, self._special = engine, special
        self._margin = added + CONTEXT
        self._empty: Any = text[:0]
        nothing = np.zeros(0, np.int64)
        self._held = SessionState([], [], nothing, nothing)
        self._free, self._what = Lock(), "session"
        self._splice(0, 0, text, 0)

    @property
    def text(self) -> Any:
        """The whole text."""
        return self._empty.join(self._held.blocks)

    @property
    def ids(self) -> NDArray[np.uint32]:
        """The ids of the text: uint32, shape (n,)."""
        return np.concatenate([np.zeros(0, np.uint32), *self._held.ids])

    def __len__(self) -> int:
        """The number of ids."""
        return int(self._held.counts.sum())

    def __repr__(self) -> str:
        unit = "byte" if isinstance(self._empty, bytes) else "character"
        state = self._held
        size, count = int(state.sizes.sum()), int(state.counts.sum())
        return f"<TextSession {number_of(size, unit)}, {number_of(count, 'id')}>"

    @one_call_at_a_time
    def replace(self, start: int, end: int, text: Text) -> IdEdit:
        """Puts `text` in the place of `text[start:end]`.

        Args:
            start: In characters (in bytes, if the session's text is `bytes`).
            end: At least `start`.
            text: Of the same type as the session's text.
        Returns: the change of the ids.
        Raises: as `Tokenizer.encode`, with the session unchanged;
            InvalidOption for places outside the text.
        """
        return self._replace_range(start, end, text)

    @one_call_at_a_time
    def update(self, text: Text) -> IdEdit:
        """Replaces the text by another, which usually differs little from it.
        Comparing them takes time that grows with the text.

        Returns: the change of the ids.
        Raises: as `replace`.
        """
        self._check_type(text)
        state = self._held
        size = int(state.sizes.sum())
        before = common_length(text, state.blocks)
        most = min(size, len(text)) - before
        after = min(common_length(text, state.blocks, from_end=True), most)
        return self._replace_range(before, size - after, text[before : len(text) - after])

    def _replace_range(self, start: int, end: int, text: Text) -> IdEdit:
        self._check_type(text)
        state = self._held
        size = int(state.sizes.sum())
        if not 0 <= start <= size:
            raise InvalidOption("start", start, f"0 to {size}, the length of the text")
        if not start <= end <= size:
            raise InvalidOption("end", end, f"{start} (start) to {size}, the length of the text")
        ends = np.cumsum(state.sizes)
        # Block `first` begins far enough before the edit, and block `last - 1` ends far enough after it, or at a text end.
        first = int(np.searchsorted(ends, start - self._margin, "right")) if start >= self._margin else 0
        last = min(int(np.searchsorted(ends, end + self._margin, "left")) + 1, len(ends))
        base = int(ends[first - 1]) if first else 0
        old = self._empty.join(state.blocks[first:last])
        return self._splice(first, last, old[: start - base] + text + old[end - base :], base)

    def _check_type(self, text: Text) -> None:
        check_text(text)
        if isinstance(text, bytes) != isinstance(self._empty, bytes):
            kind = type(self._empty).__name__
            raise TypeError(f"text: expected {kind}, as the session's text is, not {type(text).__name__}")

    def _splice(self, first: int, last: int, text: Any, base: int) -> IdEdit:
        """Replaces blocks by a text that begins at `base`."""
        blocks = list(blocks_of(self._engine, text)) if text else []
        ids = self._encoded(blocks, base)
        state = self._held
        old = np.concatenate([np.zeros(0, np.uint32), *state.ids[first:last]])
        new = np.concatenate([np.zeros(0, np.uint32), *ids])
        before = int(state.counts[:first].sum())
        self._held = SessionState(
            [*state.blocks[:first], *blocks, *state.blocks[last:]],
            [*state.ids[:first], *ids, *state.ids[last:]],
            splice_lengths(state.sizes, first, last, blocks),
            splice_lengths(state.counts, first, last, ids),
        )
        head = common_prefix(old, new)
        tail = common_prefix(old[head:][::-1], new[head:][::-1])
        return IdEdit(before + head, len(old) - head - tail, new[head : len(new) - tail].copy(), len(text))

    def _encoded(self, blocks: Sequence[Any], base: int) -> list[NDArray[np.uint32]]:
        """The ids of each block."""
        try:
            ids, ends = self._engine.encode_ragged(blocks, self._special, "replace", 1)
        except OF_A_PLACE as error:
            starts = [0, *accumulate(map(len, blocks))]
            if error.offset is None or error.index is None:
                raise
            raise error.at(base + starts[error.index] + error.offset, None) from None
        return [ids[int(start) : int(end)] for start, end in zip([0, *ends[:-1]], ends, strict=True)] if blocks else []


def blocks_of(engine: _core.Engine, text: Any) -> Iterator[Any]:
    """The text in blocks, cut at places that are safe for any text before and after."""
    start, size = 0, BLOCK
    while start + size < len(text):
        data = utf8_or_none(text[start : start + size])
        cut = None if data is None else _core.find_cut(engine, data, 0, last=True)
        if data is None or cut is None:
            size *= 2
            continue
        yield (block := to_type_of(text, data[:cut]))
        start, size = start + len(block), BLOCK
    yield text[start:]


def splice_lengths(sizes: NDArray[np.int64], first: int, last: int, items: Sequence[Any]) -> NDArray[np.int64]:
    """The sizes, with those from `first` to `last` replaced by the lengths of `items`."""
    return np.concatenate([sizes[:first], np.array([len(item) for item in items], np.int64), sizes[last:]])


def common_prefix(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> int:
    """The length of the common prefix of two arrays of ids."""
    size = min(len(one), len(other))
    different = np.flatnonzero(one[:size] != other[:size])
    return int(different[0]) if len(different) else size


def common_length(text: Any, blocks: Sequence[Any], from_end: bool = False) -> int:
    """The length of the common prefix of a text and blocks, or of their common suffix."""
    place = 0
    for block in reversed(blocks) if from_end else blocks:
        stretch = slice_from(text, place, len(block), from_end)
        if stretch != block:
            return place + bisect_left(
                range(len(block)), True, key=lambda size: not share_end(stretch, block, size + 1, from_end)
            )
        place += len(block)
    return place


def slice_from(text: Any, place: int, size: int, from_end: bool) -> Any:
    """`size` characters after a place counted from the start, or before a place counted from the end."""
    if not from_end:
        return text[place : place + size]
    end = max(0, len(text) - place)
    return text[max(0, end - size) : end]


def share_end(one: Any, other: Any, size: int, from_end: bool) -> bool:
    """Whether both share their first, or last, `size` characters."""
    if size > min(len(one), len(other)):
        return False
    return bool(one[len(one) - size :] == other[len(other) - size :]) if from_end else bool(one[:size] == other[:size])
