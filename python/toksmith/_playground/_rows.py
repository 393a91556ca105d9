"""Lays a text out in rows of a given width, so that the page can draw any window of a long text on its own.

The rules: the text decides where a row begins, not the tokenizer, so the rows of several tokenizers contain
the same text; a row ends behind a newline, else before a space near its end, else where it is full, and never inside a
character. A character that several tokens share is drawn once, with the number of its bytes that each has. Left out:
what the cuts are, which is `toksmith.explain.compare`'s.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

import toksmith
from toksmith import _render

__all__ = ["Rows", "Window"]

BREAK_WITHIN = 24  # cells from the end of a row in which a space is looked for
STARTS, ALONE = 1, 2  # a run begins where its token begins; that cut is not made by all tokenizers
CELLS = np.zeros(0x110000, np.uint8)  # cells that each character takes; 0 where nobody asked yet
NOTHING = 255  # the value in CELLS of a character without a width


class Window(TypedDict):
    """Some rows: the total number, the numbers of these rows, and their tokens and drawn parts by tokenizer."""

    rows: int
    first: int
    starts: list[int]
    cuts: list[dict[str, Any]]


class Rows:
    """A comparison laid out in rows.

    Attributes:
        found: The comparison.
        starts: Where each row starts, in bytes; then the end of the text.
    """

    def __init__(self, found: toksmith.explain.Comparison, cells: int) -> None:
        self.found = found
        self.starts = row_starts(found.text.decode(), cells)
        self.ends = [np.asarray(cuts.ends) for cuts in found.cuts.values()]
        self.begins = [np.concatenate([np.zeros(min(1, len(ends)), ends.dtype), ends[:-1]]) for ends in self.ends]
        shared = np.asarray(found.shared)
        self.alone = [(begins > 0) & (shared[np.searchsorted(shared, begins)] != begins) for begins in self.begins]
        self.differing = np.fromiter((each.start for each in found.differences), np.uint32)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row_of(self, byte: int) -> int:
        """The row that contains a byte of the text; the last row for the end of the text."""
        return max(0, min(int(np.searchsorted(self.starts, byte, "right")) - 1, len(self) - 1))

    def row_of_token(self, tokenizer: int, place: int) -> int:
        """The row in which a token begins."""
        return self.row_of(int(self.begins[tokenizer][place])) if len(self.begins[tokenizer]) else 0

    def window(self, first: int, last: int) -> Window:
        """What is drawn from row `first` to before row `last`, as far as there are rows."""
        first = max(0, min(first, len(self)))
        last = max(first, min(last, len(self)))
        starts = self.starts[first : last + 1].tolist()
        cuts = [self.cut_window(tokenizer, starts) for tokenizer in range(len(self.ends))]
        return {"rows": len(self), "first": first, "starts": starts, "cuts": cuts}

    def cut_window(self, tokenizer: int, starts: list[int]) -> dict[str, Any]:
        """The tokens of one tokenizer in some rows, and their drawn parts in each row."""
        cuts = [*self.found.cuts.values()][tokenizer]
        drawn = [self.row(tokenizer, start, end) for start, end in pairwise(starts)]
        first, last = self.tokens_in(tokenizer, starts[0], starts[-1]) if len(starts) > 1 else (0, 0)
        tokens = []
        for place in range(first, last):
            view = cuts.tokens[place]
            span = int(self.begins[tokenizer][place]), int(self.ends[tokenizer][place])
            tokens.append([view.id, token_text(view.token), *span, int(view.special)])
        return {"total": len(cuts.ids), "first": first, "tokens": tokens, "rows": drawn}

    def tokens_in(self, tokenizer: int, start: int, end: int) -> tuple[int, int]:
        """The tokens with bytes in a stretch of the text; tokens without bytes belong to the stretch that they begin."""
        begins, ends = self.begins[tokenizer], self.ends[tokenizer]
        first = int(np.searchsorted(ends, start, "right"))
        while first and begins[first - 1] == start:
            first -= 1
        return first, max(first, int(np.searchsorted(begins, end, "left")))

    def row(self, tokenizer: int, start: int, end: int) -> list[Any]:
        """What is drawn in one row: runs of a token `[place, text, flags]`, and characters that tokens share.

        Such a character is `[character, [[place, bytes, flags], …]]`, with the number of bytes that each token has.
        """
        first, last = self.tokens_in(tokenizer, start, end)
        begins, ends = self.begins[tokenizer][first:last].tolist(), self.ends[tokenizer][first:last].tolist()
        flags = (
            ALONE * self.alone[tokenizer][first:last] + STARTS * (self.begins[tokenizer][first:last] >= start)
        ).tolist()
        stretches = [self.found.text[max(at, start) : min(to, end)] for at, to in zip(begins, ends, strict=True)]

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


token_text = lru_cache(maxsize=1 << 16)(_render.token_text)


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
