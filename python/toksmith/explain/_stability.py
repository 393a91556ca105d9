"""The ids that a keystroke changes: at one place, and over all places of a text.

The ids before and after an edit are those of the whole texts. A cache of keys and values can reuse their common prefix; their
common suffix is the same tokens at other positions. `Tokenizer.session` computes both without encoding the whole text again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _render
from .._base.arguments import check_int
from .._base.wording import number_of
from .._render import (
    Bars,
    Block,
    Cell,
    Line,
    Plot,
    Shown,
    Table,
    TokenText,
    TokenView,
    json_of,
    one_line,
    token_text,
)
from .._sources.named import Tokenizers, name_tokenizers
from .._tokenizer.session import IdEdit, TextSession, common_prefix
from .._tokenizer.tokenizer import Special, Text, Tokenizer
from ..errors import InvalidOption
from ..reference import utf8
from ._inputs import token_ends, view_tokens

AROUND = 6  # unchanged tokens that are drawn on each side of an edit
MOST_DRAWN = 400  # changed tokens that are drawn
MOST_ENCODED = 50_000_000  # characters that all keystrokes of a tokenizer together can encode
Change = tuple[int, int, Any]  # start, end, and the text that replaces this range
BINS = 12  # bars of a drawing


class Keystroke(NamedTuple):
    """The ids that one insertion changes.

    Attributes:
        place: Offset of the insertion, in characters (of `bytes`: in bytes).
        before: Number of leading ids that both texts share, which a cache can
            reuse.
        removed, new: Number of removed ids, and of ids in their place.
        lost: Number of removed ids that end before the place: changed ids in
            front of the cursor.
    """

    place: int
    before: int
    removed: int
    new: int
    lost: int


@dataclass(frozen=True)
class StabilityRow:
    """One tokenizer.

    Attributes:
        tokenizer, tokens: Its name, and the number of ids of the text.
        keystrokes: One for each place.
    """

    tokenizer: str
    tokens: int
    keystrokes: tuple[Keystroke, ...]

    @property
    def new(self) -> float:
        """New ids of a keystroke on average; with fewer, a cache can reuse more."""
        return mean([each.new for each in self.keystrokes])

    @property
    def lost(self) -> float:
        """Ids in front of the cursor that change, on average."""
        return mean([each.lost for each in self.keystrokes])

    @property
    def losing(self) -> float:
        """The share of the places where an id in front of the cursor changes."""
        return mean([float(each.lost > 0) for each in self.keystrokes])

    @property
    def worst(self) -> Keystroke | None:
        """The first of the keystrokes with the most new ids; None without places."""
        return max(self.keystrokes, key=lambda each: each.new, default=None)


@dataclass(frozen=True, repr=False)
class Edits(Shown):
    """The ids that typing changes, by tokenizer.

    Attributes:
        typed: The text that is inserted at each place, one place at a time.
        size: Size of the text, in characters (of `bytes`: in bytes).
        places: The offsets of the insertions; all of a short text, else some
            at equal distances.
        rows: The tokenizers.
    """

    typed: str
    size: int
    places: tuple[int, ...]
    rows: tuple[StabilityRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Rows and keystrokes as JSON values."""
        rows = [
            {"tokenizer": row.tokenizer, "tokens": row.tokens, "new": row.new, "lost": row.lost, "losing": row.losing}
            | {"worst": json_of(row.worst), "keystrokes": json_of(row.keystrokes)}
            for row in self.rows
        ]
        return {"typed": self.typed, "size": self.size, "places": len(self.places), "rows": rows}

    def _parts(self) -> Iterator[str | Block]:
        typed = token_text(utf8(self.typed))
        at = number_of(len(self.places), "place")
        yield f"typing {typed} at {at} of {number_of(self.size, 'character')}"
        heads = ["tokenizer", "tokens", "new ids", "most", "changed in front", "at places"]
        rows: list[list[str | Cell]] = []
        for row in self.rows:
            worst = row.worst
            most = "–" if worst is None else f"{worst.new:,} at {worst.place:,}"
            new = Cell(f"{row.new:.2f}", "strong")
            rows.append([row.tokenizer, f"{row.tokens:,}", new, most, f"{row.lost:.2f}", f"{row.losing:.1%}"])
        yield Table(heads, rows, "Ids that a keystroke changes, on average")
        if self.places and self.size:
            for row in self.rows:
                yield Bars(
                    [*mean_by_bin(row.keystrokes, self.size)], f"New ids along the text: {one_line(row.tokenizer)}"
                )
        note = "A cache of keys and values reuses the ids in front of the first change; each keystroke is typed alone."
        yield Line(note, "dim")

    def plot(self) -> Plot:
        """The mean of new ids as bars."""
        series = {"new ids": [row.new for row in self.rows], "changed in front": [row.lost for row in self.rows]}
        names = [row.tokenizer for row in self.rows]
        return Plot("What a keystroke changes", "ids on average", "", series, names, "across")

    to_chart = _render.to_chart


@dataclass(frozen=True)
class EditRow:
    """An edit by one tokenizer.

    Attributes:
        tokenizer: Its name.
        before: Number of leading ids that both texts share, which a cache can
            reuse.
        removed, new: The removed ids, and the ids in their place.
        after: Number of trailing ids that both texts share.
    """

    tokenizer: str
    before: int
    removed: tuple[int, ...]
    new: tuple[int, ...]
    after: int
    drawn: tuple[tuple[TokenView, ...], tuple[TokenView, ...]]

    @property
    def reused(self) -> float:
        """The share of the ids of the edited text that a cache can reuse."""
        total = self.before + len(self.new) + self.after
        return self.before / total if total else 1.0

    @property
    def kept(self) -> float:
        """The share of the ids of the edited text that the old text has too, at
        any position."""
        total = self.before + len(self.new) + self.after
        return (self.before + self.after) / total if total else 1.0


@dataclass(frozen=True, repr=False)
class Edit(Shown):
    """One edit of a text, by tokenizer.

    Attributes:
        start, end: The replaced range of the text, in characters (of `bytes`:
            in bytes).
        text: The text in its place.
        rows: The tokenizers.
    """

    start: int
    end: int
    text: str
    rows: tuple[EditRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """The rows as JSON values, with the tokens around the edit."""
        return {"start": self.start, "end": self.end, "text": self.text, "rows": [*map(row_json, self.rows)]}

    def _parts(self) -> Iterator[str | Block]:
        gone = number_of(self.end - self.start, "character")
        inserted = token_text(utf8(self.text)[:200]) or "nothing"
        yield f"at {self.start:,}, {inserted} in place of {gone}"
        rows = [
            [
                row.tokenizer,
                f"{row.before:,}",
                f"{len(row.removed):,}",
                f"{len(row.new):,}",
                f"{row.after:,}",
                f"{row.reused:.1%}",
            ]
            for row in self.rows
        ]
        yield Table(["tokenizer", "same in front", "gone", "new", "same after", "a cache reuses"], rows)
        for row in self.rows:
            first = min(row.before, AROUND)
            for caption, tokens, changed in zip(("before", "after"), row.drawn, (row.removed, row.new), strict=True):
                marked = frozenset(range(first, min(first + len(changed), len(tokens))))
                yield TokenText(tokens, f"{one_line(row.tokenizer)}, {caption}", ids=True, marked=marked)


def row_json(row: EditRow) -> dict[str, Any]:
    """A row as JSON values; `kept` of a token is true if both texts have it."""
    first = min(row.before, AROUND)
    figures = {"before": row.before, "removed": len(row.removed), "new": len(row.new), "after": row.after}
    views = {}
    for name, tokens, changed in zip(("old", "edited"), row.drawn, (row.removed, row.new), strict=True):
        views[name] = [
            json_of(view) | {"kept": not first <= place < first + len(changed)} for place, view in enumerate(tokens)
        ]
    return {"tokenizer": row.tokenizer, **figures, "reused": row.reused, "kept": row.kept, **views}


def edit(toks: Tokenizers, text: Text, start: int, end: int, new: Text, *, special: Special = "text") -> Edit:
    """The ids that survive an edit of a text, and the new ids.

    Args:
        toks: One tokenizer, a dict of them by name, or a list of them.
        start, end: The range of the text to replace, in characters (of
            `bytes`: in bytes); equal for an insertion.
        new: The text in its place, of the same type as `text`.
        special: As in `Tokenizer.encode`, but by default plain text.
    Raises: as `Tokenizer.encode`; InvalidOption for places outside the text.
    Cost: one encoding for each tokenizer, and one of the text around the edit.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> [row] = toksmith.explain.edit(tok, "low lower lowest", 4, 4, "s").rows
    >>> row.before, row.removed, row.new, row.after
    (1, (258,), (32, 115, 257), 6)
    """
    if isinstance(text, bytes) != isinstance(new, bytes):
        raise TypeError(f"new: expected {type(text).__name__}, as the text is, not {type(new).__name__}")
    for name, place, least in (("start", start, 0), ("end", end, start)):
        if not least <= place <= len(text):
            raise InvalidOption(name, place, f"from {least:,} to {len(text):,}, the length of the text")
    rows = tuple(
        edit_row(name, tok, tok.session(text, special=special), (start, end, new))
        for name, tok in name_tokenizers(toks).items()
    )
    return Edit(start, end, new if isinstance(new, str) else new.decode("utf-8", "replace"), rows)


def edit_row(name: str, tok: Tokenizer, held: TextSession, change: Change) -> EditRow:
    old = held.ids
    changed = held.replace(*change)
    before, removed, new = exact_change(held, old, changed)
    after = len(old) - before - removed
    ids = held.ids

    def views_around(ids: NDArray[np.uint32], amount: int) -> tuple[TokenView, ...]:
        last = before + min(amount, MOST_DRAWN) + (AROUND if amount <= MOST_DRAWN else 0)
        return view_tokens(tok, ids[max(0, before - AROUND) : last].tolist())

    gone, came = (tuple(each[before : before + size].tolist()) for each, size in ((old, removed), (ids, new)))
    return EditRow(name, before, gone, came, after, (views_around(old, removed), views_around(ids, new)))


def exact_change(held: TextSession, old: NDArray[np.uint32], changed: IdEdit) -> tuple[int, int, int]:
    """The number of leading ids that both texts share, then of removed ids and of new ids.

    If an edit only adds or only removes ids, as in a text that repeats itself, the ids after it can extend the common prefix;
    the whole texts are then compared.
    """
    if changed.removed and len(changed.ids):
        return changed.first, changed.removed, len(changed.ids)
    new = held.ids
    same = common_prefix(old, new)
    suffix = common_prefix(old[same:][::-1], new[same:][::-1])
    return same, len(old) - same - suffix, len(new) - same - suffix


def edits(toks: Tokenizers, text: Text, *, typed: str = "e", most: int = 500, special: Special = "text") -> Edits:
    """The ids that typing changes: at each place of a text, the number of ids that
    stay, and of new ids.

    Args:
        toks: One tokenizer, a dict of them by name, or a list of them.
        typed: The text to insert at each place, at least one character.
        most: The maximum number of places, at least 1. In a longer text the
            places have equal distances and include the first and the last.
        special: As for `Tokenizer.encode`; by default plain text.
    Raises: as `Tokenizer.encode`; InvalidOption if `typed` is empty, or `most`
        is below 1.
    Cost: one encoding for each tokenizer, and two of the text around each
        place. A tokenizer that rewrites texts encodes the whole text for each
        place; all tokenizers then get fewer places, for about 50 MB in all.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> found = toksmith.explain.edits(tok, "low", typed="s")
    >>> [(each.place, each.before, each.removed, each.new) for each in found.rows[0].keystrokes]
    [(0, 0, 0, 1), (1, 0, 1, 4), (2, 0, 1, 3), (3, 1, 0, 1)]
    """
    if not typed:
        raise InvalidOption("typed", typed, "at least one character")
    if check_int(most, "most") < 1:
        raise InvalidOption("most", most, "at least 1")
    new: Text = typed.encode() if isinstance(text, bytes) else typed
    tokenizers = name_tokenizers(toks)
    sessions = {name: tok.session(text, special=special) for name, tok in tokenizers.items()}
    middle = len(text) // 2
    cost = 0
    for each in sessions.values():
        with try_insertion(each, middle, new) as changed:
            cost = max(cost, changed.encoded)
    places = spread_places(len(text), max(1, min(most, MOST_ENCODED // (2 * cost or 1))))
    bytes_of = byte_places(text, places)
    rows = []
    for name, tok in tokenizers.items():
        ids, ends = token_ends(tok, text, special)
        fronts = np.searchsorted(ends, bytes_of, "right").tolist()
        strokes = [
            measure_keystroke(sessions[name], ids, at, new, front) for at, front in zip(places, fronts, strict=True)
        ]
        rows.append(StabilityRow(name, len(ids), tuple(strokes)))
    return Edits(typed, len(text), places, tuple(rows))


def spread_places(size: int, most: int) -> tuple[int, ...]:
    """The offsets in a text: all, or at most `most` at equal distances.

    >>> spread_places(3, 10), spread_places(100, 5)
    ((0, 1, 2, 3), (0, 25, 50, 75, 100))
    """
    if size < most:
        return tuple(range(size + 1))
    return (size // 2,) if most == 1 else tuple(size * each // (most - 1) for each in range(most))


def byte_places(text: Text, places: Sequence[int]) -> NDArray[np.int64]:
    if isinstance(text, bytes):
        return np.array(places, np.int64)
    sizes = [len(utf8(text[: places[0]])), *(len(utf8(text[one:other])) for one, other in pairwise(places))]
    return np.cumsum(np.array(sizes, np.int64))


@contextmanager
def try_insertion(held: TextSession, place: int, new: Text) -> Iterator[IdEdit]:
    """The change by an insertion, which is undone at the end of the block."""
    yield held.replace(place, place, new)
    held.replace(place, place + len(new), new[:0])


def measure_keystroke(held: TextSession, old: NDArray[np.uint32], place: int, new: Text, front: int) -> Keystroke:
    """The ids that an insertion changes; `front` of the old ids end at or before the place."""
    with try_insertion(held, place, new) as changed:
        before, removed, came = exact_change(held, old, changed)
    return Keystroke(place, before, removed, came, max(0, front - before))


def mean_by_bin(keystrokes: Sequence[Keystroke], size: int) -> Iterator[tuple[str, float, str]]:
    """The mean of new ids in equal ranges of the text, in order."""
    bins: dict[int, list[Keystroke]] = {}
    for number, each in enumerate(keystrokes):
        key = number if len(keystrokes) <= BINS else min(each.place * BINS // size, BINS - 1)
        bins.setdefault(key, []).append(each)
    for group in bins.values():
        average = mean([each.new for each in group])
        yield f"{group[0].place:,}", average, f"{average:.2f}"


def mean(amounts: Sequence[float]) -> float:
    return sum(amounts) / len(amounts) if amounts else 0.0
