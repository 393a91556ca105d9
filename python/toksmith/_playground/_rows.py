"""Lays a text out in rows of a given width, so that the page can draw any window of a long text on its own.

The rules: the text decides where a row begins, not the tokenizer, so the rows of several tokenizers contain
the same text; a row ends behind a newline, else before a space near its end, else where it is full, and never inside a
character. A character that several tokens share is drawn once, with the number of its bytes that each has. Left out:
what the cuts are, which is the library's; `_texts` keeps them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from toksmith import _render

from ._texts import Cut

__all__ = ["Rows", "Window", "moved_starts", "row_starts"]

BREAK_WITHIN = 24  # cells from the end of a row in which a space is looked for
STARTS, ALONE = 1, 2  # a run begins where its token begins; that cut is not made by all tokenizers
NEAR = 20_000  # bytes behind an edit in which rows are looked for that start as before
CELLS = np.zeros(0x110000, np.uint8)  # cells that each character takes; 0 where nobody asked yet
NOTHING = 255  # the value in CELLS of a character without a width


class Window(TypedDict):
    """Some rows: the total number, the numbers of these rows, and their tokens and drawn parts by tokenizer."""

    rows: int
    first: int
    starts: list[int]
    cuts: list[dict[str, Any]]


class Rows:
    """What tokenizers make of a text, laid out in rows.

    Attributes:
        data: The bytes of the text.
        starts: Where each row starts, in bytes; then the end of the text.
        cuts: The tokens of each tokenizer.
    """

    def __init__(self, data: bytes, starts: NDArray[np.uint32], cuts: Sequence[Cut]) -> None:
        self.data, self.starts, self.cuts = data, starts, cuts

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row_of(self, byte: int) -> int:
        """The row that contains a byte of the text; the last row for the end of the text."""
        return max(0, min(int(np.searchsorted(self.starts, byte, "right")) - 1, len(self) - 1))

    def span(self, tokenizer: int, place: int) -> tuple[int, int]:
        """Where a token begins and ends, in bytes."""
        ends = self.cuts[tokenizer].ends
        return int(ends[place - 1]) if place else 0, int(ends[place])

    def window(self, first: int, last: int) -> Window:
        """What is drawn from row `first` to before row `last`, as far as there are rows."""
        first = max(0, min(first, len(self)))
        last = max(first, min(last, len(self)))
        starts = self.starts[first : last + 1].tolist()
        cuts = [self.cut_window(tokenizer, starts) for tokenizer in range(len(self.cuts))]
        return {"rows": len(self), "first": first, "starts": starts, "cuts": cuts}

    def cut_window(self, tokenizer: int, starts: list[int]) -> dict[str, Any]:
        """The tokens of one tokenizer in some rows, and their drawn parts in each row."""
        cut = self.cuts[tokenizer]
        first, last = self.tokens_in(tokenizer, starts[0], starts[-1]) if len(starts) > 1 else (0, 0)
        begins, ends = self.spans(tokenizer, first, last)
        alone = self.alone(tokenizer, begins)
        drawn = [self.row(tokenizer, start, end, first, alone) for start, end in pairwise(starts)]
        tokens = []
        for id, begin, end in zip(cut.ids[first:last].tolist(), begins.tolist(), ends.tolist(), strict=True):
            shown, special = cut.look(id)
            tokens.append([id, shown, begin, end, int(special)])
        return {"total": len(cut.ids), "first": first, "tokens": tokens, "rows": drawn}

    def spans(self, tokenizer: int, first: int, last: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Where some tokens begin, and where they end."""
        ends = self.cuts[tokenizer].ends
        before = ends[first - 1 : last - 1] if first else np.concatenate([np.zeros(1, ends.dtype), ends[: last - 1]])
        return before[: last - first], ends[first:last]

    def alone(self, tokenizer: int, begins: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these tokens begin where not all tokenizers cut."""
        found = np.zeros(len(begins), bool)
        for other, cut in enumerate(self.cuts):
            if other != tokenizer and len(cut.ends):
                at = np.minimum(np.searchsorted(cut.ends, begins), len(cut.ends) - 1)
                found |= cut.ends[at] != begins
        return found & (begins > 0)

    def tokens_in(self, tokenizer: int, start: int, end: int) -> tuple[int, int]:
        """The tokens with bytes in a stretch of the text; tokens without bytes belong to the stretch that they begin."""
        ends = self.cuts[tokenizer].ends
        first = int(np.searchsorted(ends, start, "right"))
        while first and (int(ends[first - 2]) if first > 1 else 0) == start:
            first -= 1
        # A token begins where the one before it ends.
        last = 1 + int(np.searchsorted(ends, end, "left")) if end else 0
        return first, max(first, min(last, len(ends)))

    def row(self, tokenizer: int, start: int, end: int, base: int, alone: NDArray[np.bool_]) -> list[Any]:
        """What is drawn in one row: runs of a token `[place, text, flags]`, and characters that tokens share.

        Such a character is `[character, [[place, bytes, flags], …]]`, with the number of bytes that each token has.

        Args:
            alone: Which tokens, from number `base` on, begin where not all tokenizers cut.
        """
        first, last = self.tokens_in(tokenizer, start, end)
        begins, ends = self.spans(tokenizer, first, last)
        flags = (ALONE * alone[first - base : last - base] + STARTS * (begins >= start)).tolist()
        bounds = zip(begins.tolist(), ends.tolist(), strict=True)
        stretches = [self.data[max(at, start) : min(to, end)] for at, to in bounds]

        def run(at: int, what: str | int) -> list[Any]:
            own, flags[at] = flags[at], 0  # of its first run
            return [first + at, what, own]

        drawn: list[Any] = []
        for each in chain.from_iterable(_render.clusters(stretches)):
            if isinstance(each, _render.TokenRun):
                drawn.append(run(each.place, "".join(part.text for part in each.parts).replace("\n", "")))
            else:
                drawn.append([each.part.text, [run(at, count) for at, count in each.shares]])
        return drawn


def moved_starts(old: NDArray[np.uint32], data: bytes, cells: int, at: int, until: int) -> NDArray[np.uint32]:
    """The starts of the rows of an edited text, from those of the text before it.

    Args:
        at: Where the edit begins, in bytes; `until`: where what it put there ends.
    """
    by = len(data) - int(old[-1])
    line = data.rfind(b"\n", 0, at) + 1
    # What a row's end depends on is behind it by less than these rows.
    row = int(np.searchsorted(old, at, "right")) - 1 - BREAK_WITHIN - 8
    begin = max(line, int(old[row]) if row > 0 else 0)
    line_end = data.find(b"\n", until) + 1 or len(data)
    end = min(line_end, until + NEAR)
    while end < line_end and 0x80 <= data[end] < 0xC0:
        end += 1
    kept = old[: int(np.searchsorted(old, begin))]
    if end < line_end:  # a long line: from where a row starts as one did before, all do
        near = row_starts(data[begin:end].decode(), cells)[: -BREAK_WITHIN - 8].astype(np.int64) + begin
        behind = near[near >= until]
        same = np.flatnonzero(np.isin(behind - by, old.astype(np.int64), assume_unique=True))
        if len(same):
            first = int(behind[same[0]])
            return joined(kept, near[near < first], old[int(np.searchsorted(old, first - by)) :], by)
    laid = begin + row_starts(data[begin:line_end].decode(), cells)
    return joined(kept, laid[:-1], old[int(np.searchsorted(old, line_end - by)) :], by)


def joined(kept: NDArray[Any], laid: NDArray[Any], behind: NDArray[Any], by: int) -> NDArray[np.uint32]:
    """Rows before an edit, around it, and behind it, which are `by` bytes further."""
    return np.concatenate([kept, laid, behind.astype(np.int64) + by]).astype(np.uint32)


def row_starts(text: str, cells: int) -> NDArray[np.uint32]:
    r"""Where each row of a text starts, in its bytes, and where the text ends.

    >>> row_starts("one two\n\nthree", 5).tolist()
    [0, 3, 8, 9, 14]
    """
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    reach = np.concatenate([[0], np.cumsum(widths(text, points), dtype=np.int64)])
    line_ends = np.concatenate([np.flatnonzero(points == 10) + 1, [len(text)]])
    line_starts = np.concatenate([[0], line_ends[:-1]])
    long = reach[line_ends] - reach[line_starts] > cells
    found: list[int] = []
    for at, line_end in zip(line_starts[long].tolist(), line_ends[long].tolist(), strict=True):
        while at < line_end:
            found.append(at)
            if reach[line_end] - reach[at] <= cells:
                break
            full = max(at + 1, int(np.searchsorted(reach, reach[at] + cells, "right")) - 1)
            space = text.rfind(" ", max(at + 1, full - BREAK_WITHIN), full + 1)
            at = space if space > at else full
    bytes_of = 1 + (points >= 0x80) + (points >= 0x800).astype(np.int64) + (points >= 0x10000)
    places = np.concatenate([[0], np.cumsum(bytes_of)])
    # A line that fits is a row; the text behind the last newline is a row only if it is not empty.
    short = line_starts[~long & (line_ends > line_starts)]
    starts: NDArray[np.uint32] = places[np.sort(np.concatenate([short, found, [len(text)]]).astype(np.int64))]
    return starts.astype(np.uint32)


def widths(text: str, points: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The cells that each character takes as it is drawn; marks take none beside the character that they belong to."""
    if (CELLS[points] == 0).any():
        for char in {*text}:
            if CELLS[ord(char)] == 0:
                CELLS[ord(char)] = cell_len(_render.token_text(f"a{char}".encode())) - 1 or NOTHING
    found = CELLS[points]
    found[found == NOTHING] = 0
    return found
