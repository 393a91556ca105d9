"""The content of the rows of a text, so that the page can draw any window of a long text alone.

A character that several tokens share is drawn once, with the number of its bytes in each token. The byte at which a token
begins determines its colour, so that equal tokens of several tokenizers have one colour. A row has the direction of its line; a
row with right-to-left letters also has its whole text, so that the page can draw the letters joined. Left out: the starts of
rows (`layout`), and the cuts, which the library makes and `texts` stores.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from toksmith import _render

from .texts import Cut

# Flags of a run: it begins its token; not all tokenizers cut at its start; all tokenizers have this token.
STARTS, ALONE, AGREES = 1, 2, 4
UNMARKED = str.maketrans("·→↵", "   ")
LINE = 2000  # bytes of a line, before a row and in it, that decide its direction
LOOK_BACK = 32  # tokens that the colour of a token depends on
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")


class Window(TypedDict):
    """Some rows: the total number, the numbers of these rows, and their tokens and drawn parts by tokenizer.

    `right` is 1 for a right-to-left row; `lines` has the text of a row with right-to-left letters, else None.
    """

    rows: int
    first: int
    starts: list[int]
    right: list[int]
    lines: list[str | None]
    cuts: list[dict[str, Any]]


class Rows:
    """The tokens of a text, laid out in rows.

    Attributes:
        data: The bytes of the text.
        starts: The byte offset at which each row starts; then the end of the text.
        cuts: The tokens of each tokenizer.
        marks: Whether spaces, tabs and newlines are drawn as marks, or as a space each.
    """

    def __init__(self, data: bytes, starts: NDArray[np.uint32], cuts: Sequence[Cut], *, marks: bool = True) -> None:
        self.data, self.starts, self.cuts, self.marks = data, starts, cuts, marks

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row_of(self, byte: int) -> int:
        """The row that contains a byte of the text; the last row for the end of the text."""
        return max(0, min(place_of(self.starts, byte, "right") - 1, len(self) - 1))

    def span(self, tokenizer: int, place: int) -> tuple[int, int]:
        ends = self.cuts[tokenizer].ends
        return int(ends[place - 1]) if place else 0, int(ends[place])

    def window(self, first: int, last: int) -> Window:
        """The content of rows `first` to `last` (excluded), as far as these exist."""
        first = max(0, min(first, len(self)))
        last = max(first, min(last, len(self)))
        starts = self.starts[first : last + 1].tolist()
        cuts = [self.cut_window(tokenizer, starts) for tokenizer in range(len(self.cuts))]
        lines = [*map(self.line, *zip(*pairwise(starts), strict=True))] if len(starts) > 1 else []
        right = [int(self.runs_left(start, end)) for start, end in pairwise(starts)]
        return {"rows": len(self), "first": first, "starts": starts, "right": right, "lines": lines, "cuts": cuts}

    def line(self, start: int, end: int) -> str | None:
        """The text of a row with right-to-left letters; None for any other row."""
        text = self.data[start:end].decode()
        return _render.plain(text).replace("\n", "") if RIGHT_TO_LEFT.search(text) else None

    def runs_left(self, start: int, end: int) -> bool:
        """Whether the first letter of the row's line within `LINE` bytes is a right-to-left letter."""
        line = max(self.data.rfind(b"\n", 0, start) + 1, start - LINE)
        for char in self.data[line : min(end, line + LINE)].decode("utf-8", "ignore"):
            if (kind := unicodedata.bidirectional(char)) in ("L", "R", "AL"):
                return kind != "L"
        return False

    def cut_window(self, tokenizer: int, starts: list[int]) -> dict[str, Any]:
        """The tokens of one tokenizer in some rows, and their drawn parts in each row."""
        cut = self.cuts[tokenizer]
        first, last = self.tokens_in(tokenizer, starts[0], starts[-1]) if len(starts) > 1 else (0, 0)
        begins, ends = self.spans(tokenizer, first, last)
        flags = ALONE * self.alone(tokenizer, begins) + AGREES * self.agrees(tokenizer, begins, ends)
        drawn = [self.row(tokenizer, start, end, first, flags) for start, end in pairwise(starts)]
        tokens = []
        columns = zip(
            cut.ids[first:last].tolist(), begins.tolist(), ends.tolist(), colours(cut.ends, first, last), strict=True
        )
        for id, begin, end, colour in columns:
            text, special = cut.look(id)
            tokens.append([id, text, begin, end, int(special), colour])
        return {"total": len(cut.ids), "first": first, "tokens": tokens, "rows": drawn}

    def spans(self, tokenizer: int, first: int, last: int) -> tuple[NDArray[Any], NDArray[Any]]:
        ends = self.cuts[tokenizer].ends
        return token_starts(ends, first, last), ends[first:last]

    def agrees(self, tokenizer: int, begins: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.bool_]:
        """For each of these tokens, whether all tokenizers have it."""
        agreed = np.full(len(begins), len(self.cuts) > 1)
        for other, cut in enumerate(self.cuts):
            if other == tokenizer:
                continue
            at = np.searchsorted(cut.ends, ends)
            known = np.minimum(at, max(0, len(cut.ends) - 1))
            before = np.where(at > 0, cut.ends[np.maximum(known, 1) - 1], 0) if len(cut.ends) else begins + 1
            agreed &= (cut.ends[known] == ends) & (before == begins) if len(cut.ends) else False
        return agreed

    def alone(self, tokenizer: int, begins: NDArray[Any]) -> NDArray[np.bool_]:
        """For each of these tokens, whether some tokenizer does not cut at its start."""
        unshared = np.zeros(len(begins), bool)
        for other, cut in enumerate(self.cuts):
            if other != tokenizer and len(cut.ends):
                at = np.minimum(np.searchsorted(cut.ends, begins), len(cut.ends) - 1)
                unshared |= cut.ends[at] != begins
        return unshared & (begins > 0)

    def tokens_in(self, tokenizer: int, start: int, end: int) -> tuple[int, int]:
        """The tokens with bytes in a range of the text; a token without bytes belongs to the range that starts at it."""
        ends = self.cuts[tokenizer].ends
        first = place_of(ends, start, "right")
        while first and (int(ends[first - 2]) if first > 1 else 0) == start:
            first -= 1
        # A token begins where the one before it ends.
        last = 1 + place_of(ends, end, "left") if end else 0
        return first, max(first, min(last, len(ends)))

    def row(self, tokenizer: int, start: int, end: int, base: int, flagged: NDArray[np.int_]) -> list[Any]:
        """The content of one row: runs of a token `[place, text, flags]`, and characters that tokens share.

        Such a character is `[character, [[place, bytes, flags], …]]`, with its number of bytes in each token.

        Args:
            flagged: The flags of the tokens from number `base` on.
        """
        first, last = self.tokens_in(tokenizer, start, end)
        begins, ends = self.spans(tokenizer, first, last)
        flags = (flagged[first - base : last - base] + STARTS * (begins >= start)).tolist()
        bounds = zip(begins.tolist(), ends.tolist(), strict=True)
        stretches = [self.data[max(at, start) : min(to, end)] for at, to in bounds]

        def run(at: int, what: str | int) -> list[Any]:
            own, flags[at] = flags[at], flags[at] & AGREES  # the other flags belong to the first run only
            return [first + at, what, own]

        drawn: list[Any] = []
        for each in chain.from_iterable(_render.clusters(stretches)):
            if isinstance(each, _render.TokenRun):
                drawn.append(run(each.place, "".join(map(self.drawn, each.parts)).replace("\n", "")))
            else:
                drawn.append([each.part.text, [run(at, count) for at, count in each.shares]])
        return drawn

    def drawn(self, part: _render.DrawnPart) -> str:
        return part.text if self.marks or part.kind != "mark" else part.text.translate(UNMARKED)


def place_of(numbers: NDArray[Any], value: int, side: Literal["left", "right"]) -> int:
    """The place of a value in ascending numbers; for a value of another type, numpy would convert all of them."""
    return int(numbers.searchsorted(numbers.dtype.type(value), side))


def token_starts(ends: NDArray[Any], first: int, last: int) -> NDArray[Any]:
    """The byte offsets at which the tokens `first` to `last` begin."""
    before = (
        ends[first - 1 : last - 1] if first else np.concatenate([np.zeros(1, ends.dtype), ends[: max(0, last - 1)]])
    )
    return before[: last - first]


def colours(ends: NDArray[Any], first: int, last: int) -> list[int]:
    """The colours of tokens `first` to `last`, 0 to 4, by the byte at which each begins; neighbours differ.

    >>> colours(np.array([1, 2, 4]), 0, 3) == [*colours(np.array([1, 2, 4]), 0, 1), *colours(np.array([1, 2, 4]), 1, 3)]
    True
    """
    from_ = max(0, first - LOOK_BACK)
    mixed = token_starts(ends, from_, last).astype(np.uint64) * np.uint64(0x9E3779B1) & np.uint64(0xFFFFFFFF)
    own = ((mixed ^ (mixed >> np.uint64(15))) * np.uint64(0x85EBCA77) >> np.uint64(30)) & np.uint64(3)
    places = np.arange(len(own))
    new = np.concatenate([[True], own[1:] != own[:-1]])[: len(own)]
    run = np.maximum.accumulate(np.where(new, places, 0))
    result: list[int] = np.where((places - run) % 2 == 0, own, 4)[first - from_ :].tolist()
    return result
