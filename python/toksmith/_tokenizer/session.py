"""`Tokenizer.session`: a text that changes, and its ids.

The rule: after each edit the ids are those of the whole new text. The text is kept in blocks that end at places where it can be
cut, whatever comes before and after (`encode/boundaries.rs`). Such a place depends on a few bytes around it, so an edit leaves
those that are far enough away as they are, and only the text between the nearest two is encoded again.
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
from .._base.errors import OF_A_PLACE, InvalidOption, first_of, number_of
from .._base.threads import alone
from .boundaries import like, plain
from .stream import CONTEXT, Special

__all__ = ["IdEdit", "TextSession"]

Text = str | bytes
BLOCK = 1 << 11  # characters, or bytes, of a block where the text can be cut that often


@dataclass(frozen=True, eq=False, repr=False)
class IdEdit:
    """What an edit of a text changed in its ids: `ids` take the place of
    `removed` ids from number `first` on. All others stay.

    Attributes:
        first: How many ids before the change stay.
        removed: How many ids are gone.
        ids: uint32, shape (n,), the new ids.
        encoded: How much text was encoded for it, in characters (for `bytes`,
            in bytes). Without places where the text can be cut it is the whole
            text.
    """

    first: int
    removed: int
    ids: NDArray[np.uint32]
    encoded: int

    def __repr__(self) -> str:
        return f"<IdEdit {number_of(self.removed, 'id')} from {self.first} on become {first_of(self.ids)}>"


class SessionState(NamedTuple):
    """What a session holds, replaced as a whole: the blocks of its text, the ids of each, and how many each has of both."""

    blocks: list[Any]
    ids: list[NDArray[np.uint32]]
    sizes: NDArray[np.int64]
    counts: NDArray[np.int64]


class TextSession:
    """A text that changes, and its ids; made by `Tokenizer.session`.

    An edit costs what the edit and the text to the nearest places around it
    cost where the text can be cut, plus some microseconds per MB for the
    numbers of the blocks. With normalizers, or with a pattern of your own,
    there may be no such places: then each edit encodes the whole text.
    One edit at a time may change it: another raises RuntimeError. Whoever
    reads meanwhile sees the text and the ids before the edit, or after it.
    """

    def __init__(self, engine: _core.Engine, text: Text, special: Special, added: int) -> None:
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
        held = self._held
        size, count = int(held.sizes.sum()), int(held.counts.sum())
        return f"<TextSession {number_of(size, unit)}, {number_of(count, 'id')}>"

    @alone
    def replace(self, start: int, end: int, text: Text) -> IdEdit:
        """Puts `text` in the place of `text[start:end]`.

        Args:
            start: In characters (in bytes, if the session's text is `bytes`).
            end: At least `start`.
            text: Of the same type as the session's text.
        Returns: what changed in the ids.
        Raises: as `Tokenizer.encode`, with the session as it was;
            InvalidOption for places outside the text.
        """
        return self._replaced(start, end, text)

    @alone
    def update(self, text: Text) -> IdEdit:
        """Replaces the text by another, which usually differs little from it.
        Comparing them takes time that grows with the text.

        Returns: what changed in the ids.
        Raises: as `replace`.
        """
        self._same_type(text)
        held = self._held
        size = int(held.sizes.sum())
        before = common(text, held.blocks)
        most = min(size, len(text)) - before
        after = min(common(text, held.blocks, from_end=True), most)
        return self._replaced(before, size - after, text[before : len(text) - after])

    def _replaced(self, start: int, end: int, text: Text) -> IdEdit:
        self._same_type(text)
        held = self._held
        size = int(held.sizes.sum())
        if not 0 <= start <= size:
            raise InvalidOption("start", start, f"0 to {size}, the length of the text")
        if not start <= end <= size:
            raise InvalidOption("end", end, f"{start} (start) to {size}, the length of the text")
        ends = np.cumsum(held.sizes)
        # Block `first` begins far enough before the edit, and block `last - 1` ends far enough behind it, or it is an end.
        first = int(np.searchsorted(ends, start - self._margin, "right")) if start >= self._margin else 0
        last = min(int(np.searchsorted(ends, end + self._margin, "left")) + 1, len(ends))
        base = int(ends[first - 1]) if first else 0
        old = self._empty.join(held.blocks[first:last])
        return self._splice(first, last, old[: start - base] + text + old[end - base :], base)

    def _same_type(self, text: Text) -> None:
        if isinstance(text, bytes) != isinstance(self._empty, bytes):
            kind = type(self._empty).__name__
            raise TypeError(f"text: expected {kind}, as the session's text is, not {type(text).__name__}")

    def _splice(self, first: int, last: int, text: Any, base: int) -> IdEdit:
        """Replaces blocks by a text that begins at `base`."""
        blocks = list(blocks_of(self._engine, text)) if text else []
        ids = self._encoded(blocks, base)
        held = self._held
        old = np.concatenate([np.zeros(0, np.uint32), *held.ids[first:last]])
        new = np.concatenate([np.zeros(0, np.uint32), *ids])
        before = int(held.counts[:first].sum())
        self._held = SessionState(
            [*held.blocks[:first], *blocks, *held.blocks[last:]],
            [*held.ids[:first], *ids, *held.ids[last:]],
            spliced(held.sizes, first, last, blocks),
            spliced(held.counts, first, last, ids),
        )
        same = prefix(old, new)
        behind = prefix(old[same:][::-1], new[same:][::-1])
        return IdEdit(before + same, len(old) - same - behind, new[same : len(new) - behind].copy(), len(text))

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
    """The text in blocks, cut where it can be cut whatever comes before and after."""
    start, size = 0, BLOCK
    while start + size < len(text):
        data = plain(text[start : start + size])
        cut = None if data is None else _core.find_cut(engine, data, 0, last=True)
        if data is None or cut is None:
            size *= 2
            continue
        yield (block := like(text, data[:cut]))
        start, size = start + len(block), BLOCK
    yield text[start:]


def spliced(sizes: NDArray[np.int64], first: int, last: int, items: Sequence[Any]) -> NDArray[np.int64]:
    """The sizes, with those of other items in the place of some."""
    return np.concatenate([sizes[:first], np.array([len(item) for item in items], np.int64), sizes[last:]])


def prefix(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> int:
    """How many ids two arrays have in common at their beginnings."""
    size = min(len(one), len(other))
    different = np.flatnonzero(one[:size] != other[:size])
    return int(different[0]) if len(different) else size


def common(text: Any, blocks: Sequence[Any], from_end: bool = False) -> int:
    """How many characters a text and blocks have in common at their beginnings, or at their ends."""
    place = 0
    for block in reversed(blocks) if from_end else blocks:
        part = part_of(text, place, len(block), from_end)
        if part != block:
            return place + bisect_left(
                range(len(block)), True, key=lambda size: not same(part, block, size + 1, from_end)
            )
        place += len(block)
    return place


def part_of(text: Any, place: int, size: int, from_end: bool) -> Any:
    """`size` characters behind a place, counted from the beginning, or before it, counted from the end."""
    if not from_end:
        return text[place : place + size]
    end = max(0, len(text) - place)
    return text[max(0, end - size) : end]


def same(one: Any, other: Any, size: int, from_end: bool) -> bool:
    """Whether both have so many characters in common."""
    if size > min(len(one), len(other)):
        return False
    return bool(one[len(one) - size :] == other[len(other) - size :]) if from_end else bool(one[:size] == other[:size])
