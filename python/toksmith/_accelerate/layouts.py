"""The columns of a call's result: ids, masks and types of each text, cut, framed and padded; as lists, or as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..compat.tokenizers._encoding import Encoding, Fixed, Run

__all__ = ["NO_FRAME", "Arrays", "Frame", "Lists", "TextOptions", "make_tensor"]


class TextOptions(NamedTuple):
    """What a call does with texts: the library's truncation and padding, or None; whether special tokens are text."""

    truncation: Mapping[str, Any] | None
    padding: Mapping[str, Any] | None
    as_text: bool


class Frame(NamedTuple):
    """The ids around one text, with the type of each part."""

    before: list[int]
    after: list[int]
    types: tuple[int, int, int]

    @staticmethod
    def find(processor: Any, put: bool) -> Frame | None:
        """The frame that a post-processor makes; None if it does more than put ids around a text."""
        if processor is None:
            return NO_FRAME
        text = [-1, -2, -3]  # no token has such an id
        whole = processor.process(Encoding([Run(Fixed.from_ids(text), 0, 3, 0)]), None, put)
        ids, types = whole.ids, whole.type_ids
        if -1 not in ids:
            return None
        start = ids.index(-1)
        stop = start + 3
        parts = [types[:start] or [0], types[start:stop], types[stop:] or [0]]
        mask = [1] * start + [0] * 3 + [1] * (len(ids) - stop)
        if ids[start:stop] != text or ids.count(-1) > 1 or whole.special_tokens_mask != mask:
            return None
        if any(len(set(each)) > 1 for each in parts):
            return None
        return Frame(ids[:start], ids[stop:], (parts[0][0], parts[1][0], parts[2][0]))


NO_FRAME = Frame([], [], (0, 0, 0))


class Lists:
    """Columns as a list for each text.

    Args:
        rows: The ids of each text.
        more: The number of ids that truncation leaves room for.
        extra: The number of ids around each text.
    """

    def __init__(self, rows: list[list[int]], options: TextOptions, more: int, extra: int) -> None:
        most, side = find_limit(options.truncation, more)
        padding = options.padding
        if most is not None:
            rows = [
                row if len(row) <= most else row[:most] if side == "right" else row[len(row) - most :] for row in rows
            ]
        self.rows, self.extra = rows, extra
        self.sizes = [*map(len, rows)]
        self.width = None if padding is None else find_width(max(self.sizes) + extra, padding)
        self.is_left = padding is not None and padding["direction"] == "left"

    def column(self, before: list[int], inner: int | None, after: list[int], fill: int) -> list[list[int]]:
        """The values before each text, of its ids (None for the ids themselves), after it, and of padding."""
        rows = self.rows if inner is None else [[inner] * size for size in self.sizes]
        if before or after:
            rows = [[*before, *row, *after] for row in rows]
        if self.width is None:
            return rows
        if self.is_left:
            return [[fill] * (self.width - len(row)) + row for row in rows]
        return [row + [fill] * (self.width - len(row)) for row in rows]

    def lengths(self) -> list[int]:
        return [max(size + self.extra, self.width or 0) for size in self.sizes]


class Arrays:
    """The same as arrays, int64, shape (texts, width), from all ids and the end of each text.

    Raises ValueError where the texts have different lengths.
    """

    def __init__(self, encoded: tuple[Any, Any], options: TextOptions, more: int, extra: int) -> None:
        self.ids, ends = encoded
        most, side = find_limit(options.truncation, more)
        padding = options.padding
        stops = ends.astype(np.int64)
        starts = np.concatenate([[0], stops[:-1]])
        if most is not None:
            kept = np.minimum(stops - starts, most)
            starts, stops = (starts, starts + kept) if side == "right" else (stops - kept, stops)
        self.starts, self.stops, self.sizes = starts.tolist(), stops.tolist(), stops - starts
        longest = int(self.sizes.max()) + extra
        self.width = longest if padding is None else find_width(longest, padding)
        if int(self.sizes.min()) + extra < self.width and padding is None:
            raise ValueError("the texts have different lengths")
        if longest > self.width:
            raise ValueError("a text is longer than the padding")
        gaps = self.width - extra - self.sizes
        self.firsts = gaps.tolist() if padding is not None and padding["direction"] == "left" else [0] * len(gaps)

    def column(self, before: list[int], inner: int | None, after: list[int], fill: int) -> Any:
        """As `Lists.column`."""
        rows = np.full((len(self.firsts), self.width), fill, np.int64)
        for row, first, start, stop in zip(rows, self.firsts, self.starts, self.stops, strict=True):
            here = first + len(before)
            end = here + stop - start
            row[here:end] = self.ids[start:stop] if inner is None else inner
            if before:
                row[first:here] = before
            if after:
                row[end : end + len(after)] = after
        return rows

    def lengths(self) -> Any:
        return np.full(len(self.firsts), self.width, np.int64)


def find_limit(truncation: Any, more: int) -> tuple[int | None, str]:
    """How many ids of each text stay, and the side where the others are cut off."""
    if truncation is None or truncation["max_length"] < more:
        return None, ""  # as in the library: no truncation where special tokens alone are too many
    return truncation["max_length"] - more, truncation["direction"]


def find_width(longest: int, padding: Any) -> int:
    """The width that rows are padded to."""
    width = longest if padding["length"] is None else padding["length"]
    multiple = padding["pad_to_multiple_of"]
    return int(width + -width % multiple if multiple else width)


def make_tensor(values: Any, kind: str) -> Any:
    """A column as an array of numpy, or a tensor of torch; ValueError where the texts have different lengths."""
    array = np.asarray(values, np.int64)
    return import_module("torch").from_numpy(array) if kind == "pt" else array
