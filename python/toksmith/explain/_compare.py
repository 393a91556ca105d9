"""Several tokenizers on one text, aligned on its bytes: the cuts that all make, and the cuts that only some make.

A text can have millions of tokens and differences, so columns hold them as arrays. A column reads like a tuple of its values;
a slice of it is a tuple.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from .._base.wording import number_of
from .._render import Block, Line, Shown, Table, TokenText, TokenView, json_of
from .._sources.named import Tokenizers, name_tokenizers
from .._tokenizer.tokenizer import Special, Text
from ..reference import utf8
from ._inputs import format_tokens, token_ends, view_tokens

MOST_DIFFERENCES = 50
MOST_SHOWN = 100  # items in a `repr`
AT_ONCE = 1 << 12  # values that an iteration makes at a time
T = TypeVar("T")


@dataclass(frozen=True)
class Cuts:
    """The tokens of one tokenizer: their ids, their bytes, and the byte offset in
    the text at which each ends."""

    ids: Sequence[int]
    tokens: Sequence[TokenView]
    ends: Sequence[int]


@dataclass(frozen=True)
class Difference:
    """A byte range of the text: all tokenizers cut at its ends, and at least one
    cuts inside it.

    Attributes: `start`, `end`; `places`, the range of each tokenizer's tokens
        in the stretch.
    """

    start: int
    end: int
    places: tuple[range, ...]


@dataclass(frozen=True, repr=False)
class Differences(Shown):
    """Several tokenizers on one text.

    Attributes:
        text: Its bytes.
        cuts: The tokens of each tokenizer, by name.
        shared: The byte offsets at which all of them cut; the last is the end
            of the text.
        differences: The ranges between two shared cuts that the tokenizers cut
            differently, in order.
    """

    text: bytes
    cuts: dict[str, Cuts]
    shared: Sequence[int]
    differences: Sequence[Difference]

    @property
    def first_difference(self) -> int | None:
        """The byte offset of the first difference; None if all tokenizers cut
        alike."""
        return self.differences[0].start if self.differences else None

    def to_dict(self) -> dict[str, Any]:
        """Cuts and differences as JSON values; bytes are hex, offsets are in
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
                vars(difference) | {"places": [[place.start, place.stop] for place in difference.places]}
                for difference in self.differences
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
        rows = [self.row(difference) for difference in self.differences[:MOST_DIFFERENCES]]
        count = len(self.differences)
        more = f" (the first {MOST_DIFFERENCES} of {count:,})" if len(rows) < count else ""
        heads = ["byte", *self.cuts]
        yield Table(heads, rows, f"where they differ{more}", left=range(1, len(heads)))

    def row(self, found: Difference) -> list[str]:
        """One difference as a row of the table."""
        pairs = zip(self.cuts.values(), found.places, strict=True)
        return [str(found.start), *(format_tokens(cuts.tokens[at].token for at in place) for cuts, place in pairs)]


def differences(toks: Tokenizers, text: Text, *, special: Special = "text") -> Differences:
    """The tokens of several tokenizers on one text, aligned by its bytes.

    Args:
        toks: Tokenizers by name, or in order.
        special: As in `Tokenizer.encode`, but by default plain text.
    Raises:
        InvalidOption: No tokenizer was given.

    >>> import toksmith
    >>> small, large = (toksmith.train("low lower lowest", merges=n, pattern=None) for n in (1, 3))
    >>> print(toksmith.explain.differences({"small": small, "large": large}, "a low"))
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
    tokenizers = name_tokenizers(toks)
    data = utf8(text)
    cuts = {}
    for name, tok in tokenizers.items():
        ids, token_end = token_ends(tok, text, special)
        views = {view.id: view for view in view_tokens(tok, np.unique(ids).tolist())}
        numbers = Numbers(ids)
        cuts[name] = Cuts(numbers, TokenColumn(numbers, views), Numbers(token_end))
    ends = [np.asarray(each.ends) for each in cuts.values()]
    shared = shared_ends(ends, len(data))
    return Differences(data, cuts, Numbers(shared), find_differences(shared, ends))


def shared_ends(ends: Sequence[np.ndarray[Any, Any]], size: int) -> np.ndarray[Any, Any]:
    """The offsets up to `size` that every tokenizer has among its ends."""
    if len(ends) == 1:
        return ends[0]
    marks = np.ones(size + 1, bool)
    for own in ends:
        mark = np.zeros(size + 1, bool)
        mark[own] = True
        marks &= mark
    return np.flatnonzero(marks).astype(np.uint32)


class Column(Sequence[T]):
    """A sequence that makes its values when they are read."""

    __slots__ = ()

    @abstractmethod
    def made(self, places: range) -> Sequence[T]:
        """The values at these indices."""

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
    """Non-negative integers, as uint32 if they fit.

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
    """The views of tokens; each distinct view is held once."""

    __slots__ = ("ids", "views")

    def __init__(self, ids: Numbers, views: Mapping[int, TokenView]) -> None:
        self.ids, self.views = ids, views

    def __len__(self) -> int:
        return len(self.ids)

    def made(self, places: range) -> list[TokenView]:
        return [self.views[id] for id in self.ids.made(places)]


class DifferenceColumn(Column[Difference]):
    """Differences as columns: start, end, and for each tokenizer the range of its tokens."""

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Numbers]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def made(self, places: range) -> list[Difference]:
        rows = zip(*(column.made(places) for column in self.columns), strict=True)
        return [Difference(start, end, tuple(map(range, each[::2], each[1::2]))) for start, end, *each in rows]


def find_differences(shared: np.ndarray[Any, Any], ends: list[np.ndarray[Any, Any]]) -> DifferenceColumn:
    """The ranges between neighbouring shared cuts that hold another cut."""
    # For each tokenizer, the number of tokens that end at or before each shared cut.
    counts = [np.searchsorted(own, shared, "right") for own in ends]
    before = [np.concatenate([[0], own[:-1]]) for own in counts]
    several = np.any([own - last > 1 for own, last in zip(counts, before, strict=True)], axis=0)
    columns = [np.concatenate([np.zeros(1, shared.dtype), shared[:-1]])[several], shared[several]]
    for last, own in zip(before, counts, strict=True):
        columns += [last[several], own[several]]
    return DifferenceColumn([Numbers(column) for column in columns])
