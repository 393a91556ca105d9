"""Where the rows of a text begin, for rows of a given width.

The rules: rows of all tokenizers contain the same text; a row ends behind a newline, else before a space near its end, else
where it is full, and never inside a character. A character is as wide as the page drew it when it measured it; one that tokens
share, or a mark that a token begins with, needs room for what is drawn beside it. An edit lays out only its neighbourhood, and
the rows are those that the new text has. Left out: what is drawn in a row, which `rows` says.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

import toksmith
from toksmith import _render

from .texts import Cut

__all__ = ["Frame", "Widths", "moved_starts", "row_starts"]

UNIT = 10  # of a cell, the width of a digit, in which widths are counted
BREAK_WITHIN = 24  # characters from the end of a row in which a space is looked for
MARGIN = BREAK_WITHIN + 8  # rows: what the end of a row depends on is less than so many rows further
NEAR = 20_000  # bytes behind an edit in which rows are looked for that start as before
NOTHING = 255  # the width of a character without one, where 0 is that of a character that nobody asked for
WIDEST = 250
MOST_ASKED = 1000  # characters that the page is asked to measure at once
CIRCLE = 12  # units: the circle under a mark that begins a token


class Widths:
    """How wide each character is drawn, as the page measured it; before that, as a terminal draws it.

    Attributes:
        version: Changes with the widths.
        asked: Characters whose widths nobody measured yet.
    """

    def __init__(self) -> None:
        self.units = np.zeros(0x110000, np.uint8)
        self.marks = np.zeros(0x110000, bool)
        self.version = 0
        self.asked: set[str] = set()
        self.seen: set[str] = set()

    def of(self, text: str, points: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """The units that each character takes; marks take none beside the character that they belong to."""
        if (self.units[points] == 0).any():
            for char in {*text}:
                if self.units[ord(char)] == 0:
                    drawn = _render.token_text(f"a{char}".encode("utf-8", "replace"))
                    self.units[ord(char)] = min(WIDEST, UNIT * (cell_len(drawn) - 1)) or NOTHING
                    self.marks[ord(char)] = unicodedata.category(char).startswith("M")
                    if char > "~" and drawn == f"a{char}" and char not in self.seen:
                        self.asked.add(char)
        found = self.units[points]
        found[found == NOTHING] = 0
        return found

    def wanted(self) -> str:
        """Characters that the page should measure."""
        return "".join(sorted(self.asked)[:MOST_ASKED])

    def take(self, measured: Mapping[Any, Any]) -> None:
        """Takes the widths that the page measured, in units.

        Raises:
            InvalidOption: They are not widths of characters.
        """
        for char, units in measured.items():
            if len(char) != 1 or type(units) is not int or not 0 <= units <= WIDEST:
                raise toksmith.InvalidOption("widths", char, f"a width from 0 to {WIDEST} for each character")
        for char, units in measured.items():
            self.units[ord(char)] = units or NOTHING
            self.asked.discard(char)
            self.seen.add(char)
        self.version += 1


class Frame(NamedTuple):
    """What rows depend on beside the text: the cells of a row, the widths of characters, and where tokens end."""

    cells: int
    widths: Widths
    cuts: Sequence[Cut] = ()


def row_starts(text: str, frame: Frame, base: int = 0) -> NDArray[np.int64]:
    r"""Where each row of a text starts, in its bytes, and where the text ends.

    Args:
        base: Where the text begins in that of the cuts, in bytes; it is added.

    >>> row_starts("one two\n\nthree", Frame(5, Widths())).tolist()
    [0, 3, 8, 9, 14]
    """
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    bytes_of = 1 + (points >= 0x80) + (points >= 0x800).astype(np.int64) + (points >= 0x10000)
    places = base + np.concatenate([[0], np.cumsum(bytes_of)])
    units = frame.widths.of(text, points).astype(np.int64)
    for cut in frame.cuts:
        widen(units, frame.widths.marks[points], places, cut)
    reach = np.concatenate([[0], np.cumsum(units)])
    line_ends = np.concatenate([np.flatnonzero(points == 10) + 1, [len(text)]])
    line_starts = np.concatenate([[0], line_ends[:-1]])
    room = frame.cells * UNIT
    long = reach[line_ends] - reach[line_starts] > room
    found: list[int] = []
    for at, line_end in zip(line_starts[long].tolist(), line_ends[long].tolist(), strict=True):
        while at < line_end:
            found.append(at)
            if reach[line_end] - reach[at] <= room:
                break
            full = max(at + 1, int(np.searchsorted(reach, reach[at] + room, "right")) - 1)
            space = text.rfind(" ", max(at + 1, full - BREAK_WITHIN), full + 1)
            at = space if space > at else full
    # A line that fits is a row; the text behind the last newline is a row only if it is not empty.
    short = line_starts[~long & (line_ends > line_starts)]
    starts: NDArray[np.int64] = places[np.sort(np.concatenate([short, found, [len(text)]]).astype(np.int64))]
    return starts


def widen(units: NDArray[np.int64], marks: NDArray[np.bool_], places: NDArray[np.int64], cut: Cut) -> None:
    """Gives characters room for what a tokenizer adds to them: the numbers of shared bytes, the circles under marks."""
    first, last = np.searchsorted(cut.ends, [places[0], places[-1]])
    ends = cut.ends[int(first) : int(last)]
    chars = np.searchsorted(places, ends, "right") - 1
    inside = places[chars] != ends
    shared = chars[inside]
    units[shared] = np.maximum(units[shared], UNIT * (places[shared + 1] - places[shared]))
    begun = chars[~inside]
    marked = begun[marks[begun]]
    units[marked] = np.maximum(units[marked], CIRCLE)


def moved_starts(old: NDArray[np.int64], data: bytes, frame: Frame, at: int, until: int) -> NDArray[np.int64]:
    """The starts of the rows of an edited text, from those of the text before it.

    Args:
        at: Where the text or its tokens begin to differ, in bytes; `until`: from where on they do not.
    """
    by = len(data) - int(old[-1])
    line = data.rfind(b"\n", 0, at) + 1
    row = int(np.searchsorted(old, at, "right")) - 1 - MARGIN
    begin = max(line, int(old[row]) if row > 0 else 0)
    line_end = data.find(b"\n", until) + 1 or len(data)
    end = min(line_end, until + NEAR)
    while end < line_end and 0x80 <= data[end] < 0xC0:
        end += 1
    kept = old[: int(np.searchsorted(old, begin))]
    if end < line_end:  # a long line: from where a row starts as one did before, all do
        near = row_starts(data[begin:end].decode(), frame, begin)[:-MARGIN]
        behind = near[near >= until]
        same = np.flatnonzero(np.isin(behind - by, old, assume_unique=True))
        if len(same):
            first = int(behind[same[0]])
            return np.concatenate([kept, near[near < first], old[int(np.searchsorted(old, first - by)) :] + by])
    laid = row_starts(data[begin:line_end].decode(), frame, begin)
    return np.concatenate([kept, laid[:-1], old[int(np.searchsorted(old, line_end - by)) :] + by])
