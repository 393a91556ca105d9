"""The layout of a text in rows of a given width: the start of each row.

Rows of all tokenizers contain the same text. A row ends after a newline, else before a space near its end, else where it is
full, and never inside a character. The page measures the width of each character; a character that tokens share, or a mark at
the start of a token, also needs room for its digits or its circle. An edit lays out only its neighbourhood, with the same result
as a new layout. Left out: the content of a row, which `rows` makes.
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

UNIT = 10  # units of width in a cell, which is as wide as a digit
BREAK_WITHIN = 24  # characters before the end of a row among which a row can break at a space
MARGIN = BREAK_WITHIN + 8  # rows: the end of a row depends on fewer rows than this after it
NEAR = 20_000  # bytes after an edit to search for a row that starts as before
NOTHING = 255  # marks a character without width, because 0 marks an unmeasured character
WIDEST = 250  # units
MOST_ASKED = 1000  # characters that the page measures at once
CIRCLE = 12  # units: the circle under a mark that begins a token


class Widths:
    """The width of each character, as the page measured it, or as a terminal draws it until then.

    Attributes:
        version: A number that changes with the widths.
        missing: Characters to measure.
    """

    def __init__(self) -> None:
        self.units = np.zeros(0x110000, np.uint8)
        self.marks = np.zeros(0x110000, bool)
        self.version = 0
        self.missing: set[str] = set()
        self.seen: set[str] = set()

    def of(self, text: str, points: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """The units that each character takes; a mark takes none in addition to its character."""
        if (self.units[points] == 0).any():
            for char in {*text}:
                if self.units[ord(char)] == 0:
                    drawing = _render.token_text(f"a{char}".encode("utf-8", "replace"))
                    self.units[ord(char)] = min(WIDEST, UNIT * (cell_len(drawing) - 1)) or NOTHING
                    self.marks[ord(char)] = unicodedata.category(char).startswith("M")
                    if char > "~" and drawing == f"a{char}" and char not in self.seen:
                        self.missing.add(char)
        units = self.units[points]
        units[units == NOTHING] = 0
        return units

    def unmeasured_chars(self) -> str:
        """Characters that the page should measure."""
        return "".join(sorted(self.missing)[:MOST_ASKED])

    def take(self, measured: Mapping[Any, Any]) -> None:
        """Stores the measured widths, in units.

        Raises:
            InvalidOption: A key is not a character, or a value is not a width.
        """
        for char, units in measured.items():
            if len(char) != 1 or type(units) is not int or not 0 <= units <= WIDEST:
                raise toksmith.errors.InvalidOption("widths", char, f"a width from 0 to {WIDEST} for each character")
        for char, units in measured.items():
            self.units[ord(char)] = units or NOTHING
            self.missing.discard(char)
            self.seen.add(char)
        self.version += 1


class Frame(NamedTuple):
    """The inputs of a layout besides the text: the cells of a row, the widths of characters, and the cuts."""

    cells: int
    widths: Widths
    cuts: Sequence[Cut] = ()


def row_starts(text: str, frame: Frame, base: int = 0) -> NDArray[np.int64]:
    r"""The byte offset at which each row of a text starts, and the end of the text.

    Args:
        base: The byte offset of the text in the text of the cuts; it is added to all results.

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
    long_rows: list[int] = []
    for at, line_end in zip(line_starts[long].tolist(), line_ends[long].tolist(), strict=True):
        while at < line_end:
            long_rows.append(at)
            if reach[line_end] - reach[at] <= room:
                break
            full = max(at + 1, int(np.searchsorted(reach, reach[at] + room, "right")) - 1)
            space = text.rfind(" ", max(at + 1, full - BREAK_WITHIN), full + 1)
            at = space if space > at else full
    # A line that fits is a row; the text after the last newline is a row only if it is not empty.
    short = line_starts[~long & (line_ends > line_starts)]
    starts: NDArray[np.int64] = places[np.sort(np.concatenate([short, long_rows, [len(text)]]).astype(np.int64))]
    return starts


def widen(units: NDArray[np.int64], marks: NDArray[np.bool_], places: NDArray[np.int64], cut: Cut) -> None:
    """Widens characters for the additions of a tokenizer: the numbers of shared bytes, the circles under marks."""
    first, last = np.searchsorted(cut.ends, [places[0], places[-1]])
    ends = cut.ends[int(first) : int(last)]
    chars = np.searchsorted(places, ends, "right") - 1
    inside = places[chars] != ends
    shared = chars[inside]
    units[shared] = np.maximum(units[shared], UNIT * (places[shared + 1] - places[shared]))
    begun = chars[~inside]
    marked = begun[marks[begun]]
    units[marked] = np.maximum(units[marked], CIRCLE)


def update_starts(old: NDArray[np.int64], data: bytes, frame: Frame, at: int, until: int) -> NDArray[np.int64]:
    """Updates the row starts of the old text for an edited text.

    Args:
        at, until: The byte range of the new text in which the text or its tokens differ.
    """
    by = len(data) - int(old[-1])
    line = data.rfind(b"\n", 0, at) + 1
    row = int(np.searchsorted(old, at, "right")) - 1 - MARGIN
    begin = max(line, int(old[row]) if row > 0 else 0)
    line_end = data.find(b"\n", until) + 1 or len(data)
    end = min(line_end, until + NEAR)
    while end < line_end and 0x80 <= data[end] < 0xC0:
        end += 1
    before = old[: int(np.searchsorted(old, begin))]
    if end < line_end:  # a long line: once a row starts at an old start, all later rows do
        near = row_starts(data[begin:end].decode(), frame, begin)[:-MARGIN]
        later = near[near >= until]
        same = np.flatnonzero(np.isin(later - by, old, assume_unique=True))
        if len(same):
            first = int(later[same[0]])
            return np.concatenate([before, near[near < first], old[int(np.searchsorted(old, first - by)) :] + by])
    laid = row_starts(data[begin:line_end].decode(), frame, begin)
    return np.concatenate([before, laid[:-1], old[int(np.searchsorted(old, line_end - by)) :] + by])
