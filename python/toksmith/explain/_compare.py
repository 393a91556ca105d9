"""Two or more tokenizers on one text, aligned on its bytes: where all cut, and where only some do.

A text has millions of tokens and differences: columns hold them as arrays. Reading one gives the same as a tuple of the same
values; a slice is a tuple.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from .._base.errors import number_of
from .._render import Block, Line, Shown, Table, TokenText, TokenView, json_of
from .._tokenizer.tokenizer import Special, Text
from ..reference import utf8
from ._asked import Tokenizers, drawn, named_tokenizers, token_ends, views_of

__all__ = ["Comparison", "Cuts", "Difference", "compare"]

MOST_DIFFERENCES = 50
MOST_SHOWN = 100  # items in a `repr`
AT_ONCE = 1 << 12  # values made at a time
T = TypeVar("T")


@dataclass(frozen=True)
class Cuts:
    """What one tokenizer makes of the text: the ids, the bytes of each, and where
    in the text each ends (in bytes)."""

    ids: Sequence[int]
    tokens: Sequence[TokenView]
    ends: Sequence[int]


@dataclass(frozen=True)
class Difference:
    """A stretch of the text, in bytes, at whose ends all tokenizers cut, and
    inside which at least one cuts alone.

    Attributes: `start`, `end`; `places`, the range of each tokenizer's tokens
        in the stretch.
    """

    start: int
    end: int
    places: tuple[range, ...]


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Several tokenizers on one text.

    Attributes:
        text: Its bytes.
        cuts: The tokens of each tokenizer, by name.
        shared: Where all of them cut, in bytes; the end of the text is the
            last.
        differences: The stretches between two shared cuts that the tokenizers
            cut differently, in order.
    """

    text: bytes
    cuts: dict[str, Cuts]
    shared: Sequence[int]
    differences: Sequence[Difference]

    @property
    def first_difference(self) -> int | None:
        """The byte at which the first differing stretch begins; None where all
        cut alike."""
        return self.differences[0].start if self.differences else None

    def to_dict(self) -> dict[str, Any]:
        """Cuts and differences as JSON values; bytes are hex, places are of
        bytes."""
        return {
            "bytes": len(self.text),
            "chars": len(self.text.decode("utf-8", "replace")),
            "tokenizers": {
                name: {
                    "count": len(cuts.ids),
                    "tokens": [json_of(view) | {"end": end} for view, end in zip(cuts.tokens, cuts.ends, strict=True)],
                }
                for name, cuts in self.cuts.items()
            },
            "shared": list(self.shared),
            "differences": [
                vars(found) | {"places": [[place.start, place.stop] for place in found.places]}
                for found in self.differences
            ],
            "first_difference": self.first_difference,
        }

    def _parts(self) -> Iterator[str | Block]:
        yield f"{number_of(len(self.cuts), 'tokenizer')} on {number_of(len(self.text), 'byte')}"
        fewest = min(len(cuts.ids) for cuts in self.cuts.values())
        rows = []
        for name, cuts in self.cuts.items():
            count = len(cuts.ids)
            alone = len({*cuts.ends} - {*self.shared})
            per = f"{len(self.text) / count:.2f}" if count else ""
            more = f"{count / fewest:.2f}" if fewest else ""
            rows.append([name, f"{count:,}", per, more, f"{alone:,}"])
        yield Table(["tokenizer", "tokens", "bytes per token", "times the fewest", "cuts not shared"], rows)
        shared = frozenset(self.shared)
        for name, cuts in self.cuts.items():
            starts = (0, *cuts.ends[:-1])
            marked = frozenset(place for place, start in enumerate(starts) if start and start not in shared)
            yield TokenText(cuts.tokens, f"{name} (▏▏: a cut that not all of them make)", marked=marked)
        if not self.differences:
            yield Line("all cut alike")
            return
        rows = [self.row(found) for found in self.differences[:MOST_DIFFERENCES]]
        count = len(self.differences)
        more = f" (the first {MOST_DIFFERENCES} of {count:,})" if len(rows) < count else ""
        heads = ["byte", *self.cuts]
        yield Table(heads, rows, f"where they differ{more}", left=range(1, len(heads)))

    def row(self, found: Difference) -> list[str]:
        """One difference in a table."""
        pairs = zip(self.cuts.values(), found.places, strict=True)
        return [str(found.start), *(drawn(cuts.tokens[at].token for at in place) for cuts, place in pairs)]


def compare(toks: Tokenizers, text: Text, *, special: Special = "text") -> Comparison:
    """The tokens of several tokenizers on one text, aligned by its bytes.

    Args:
        toks: Tokenizers by name, or in order.
        special: As in `Tokenizer.encode`, but by default plain text.
    Raises:
        InvalidOption: No tokenizer was given.

    >>> import toksmith
    >>> small, large = (toksmith.train("low lower lowest", merges=n, pattern=None) for n in (1, 3))
    >>> print(toksmith.explain.compare({"small": small, "large": large}, "a low"))
    2 tokenizers on 5 bytes
    tokenizer  tokens  bytes per token  times the fewest  cuts not shared
    small           4             1.25              2.00                2
    large           2             2.50              1.00                0
    <BLANKLINE>
    small (▏▏: a cut that not all of them make)
    ▏a▏·▏▏lo▏▏w
    <BLANKLINE>
    large (▏▏: a cut that not all of them make)
    ▏a▏·low
    <BLANKLINE>
    where they differ
    byte  small    large
       1  ▏·▏lo▏w  ▏·low
    """
    named = named_tokenizers(toks)
    data = utf8(text)
    cuts = {}
    for name, tok in named.items():
        ids, token_end = token_ends(tok, text, special)
        views = {view.id: view for view in views_of(tok, np.unique(ids).tolist())}
        numbers = Numbers(ids)
        cuts[name] = Cuts(numbers, TokenColumn(numbers, views), Numbers(token_end))
    ends = [np.asarray(found.ends) for found in cuts.values()]
    shared = shared_ends(ends, len(data))
    return Comparison(data, cuts, Numbers(shared), differences(shared, ends))


def shared_ends(ends: Sequence[np.ndarray[Any, Any]], size: int) -> np.ndarray[Any, Any]:
    """The numbers up to `size` that are among all of the ends."""
    if len(ends) == 1:
        return ends[0]
    marks = np.ones(size + 1, bool)
    for own in ends:
        mark = np.zeros(size + 1, bool)
        mark[own] = True
        marks &= mark
    return np.flatnonzero(marks).astype(np.uint32)


class Column(Sequence[T]):
    """Values that are made when they are read."""

    __slots__ = ()

    @abstractmethod
    def made(self, places: range) -> Sequence[T]:
        """The values at some places."""

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        places = range(len(self))[index]
        return tuple(self.made(places)) if isinstance(places, range) else self.made(range(places, places + 1))[0]

    def __iter__(self) -> Iterator[T]:
        for start in range(0, len(self), AT_ONCE):
            yield from self.made(range(start, min(start + AT_ONCE, len(self))))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Column, tuple)):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        if len(self) <= MOST_SHOWN:
            return repr(tuple(self))
        return f"({', '.join(map(repr, self[:MOST_SHOWN]))}, … {len(self):,} in all)"


class Numbers(Column[int]):
    """Whole numbers, none negative, in as few bytes as hold them.

    >>> numbers = Numbers([3, 1, 4])
    >>> numbers[1], numbers[1:], numbers == (3, 1, 4), len(numbers)
    (1, (1, 4), True, 3)
    """

    __slots__ = ("array",)

    def __init__(self, numbers: Any) -> None:
        wide = np.asarray(numbers)
        self.array: NDArray[Any] = wide.astype(np.uint32 if not len(wide) or int(wide.max()) < 1 << 32 else np.int64)
        self.array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.array)

    def made(self, places: range) -> list[int]:
        last = places.stop if places.stop >= 0 else None
        return [*self.array[places.start : last : places.step].tolist()] if len(places) else []

    def __contains__(self, value: object) -> bool:
        return isinstance(value, (int, np.integer)) and bool((self.array == value).any())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.array if dtype in (None, self.array.dtype) and not copy else self.array.astype(dtype)


class TokenColumn(Column[TokenView]):
    """The views of tokens by their ids, each of which is held once."""

    __slots__ = ("ids", "views")

    def __init__(self, ids: Numbers, views: Mapping[int, TokenView]) -> None:
        self.ids, self.views = ids, views

    def __len__(self) -> int:
        return len(self.ids)

    def made(self, places: range) -> list[TokenView]:
        return [self.views[id] for id in self.ids.made(places)]


class Differences(Column[Difference]):
    """Differences as columns: the start and the end of each, and for each tokenizer where its tokens begin and end."""

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Numbers]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def made(self, places: range) -> list[Difference]:
        rows = zip(*(column.made(places) for column in self.columns), strict=True)
        return [Difference(start, end, tuple(map(range, each[::2], each[1::2]))) for start, end, *each in rows]


def differences(shared: np.ndarray[Any, Any], ends: list[np.ndarray[Any, Any]]) -> Differences:
    """The stretches between neighbouring shared cuts that hold another cut."""
    # How many tokens of each tokenizer end at or before each shared cut.
    counts = [np.searchsorted(own, shared, "right") for own in ends]
    before = [np.concatenate([[0], own[:-1]]) for own in counts]
    several = np.any([own - last > 1 for own, last in zip(counts, before, strict=True)], axis=0)
    columns = [np.concatenate([np.zeros(1, shared.dtype), shared[:-1]])[several], shared[several]]
    for last, own in zip(before, counts, strict=True):
        columns += [last[several], own[several]]
    return Differences([Numbers(column) for column in columns])
