"""Long rows of numbers, tokens and differences, held as arrays and read as tuples: a text has millions of them.

Reading gives the same as a tuple of the same values; a slice is a tuple. Left out: the meaning of the values.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from .._render import TokenView

__all__ = ["Column", "Numbers", "TokenColumn", "compact"]

MOST_SHOWN = 100  # items in a `repr`
AT_ONCE = 1 << 12  # values made at a time
T = TypeVar("T")


def compact(numbers: Any) -> NDArray[Any]:
    """Whole numbers, none negative, in as few bytes as hold them; nobody can write to them."""
    wide = np.asarray(numbers)
    narrow = wide.astype(np.uint32 if len(wide) == 0 or int(wide.max()) < 1 << 32 else np.int64)
    narrow.setflags(write=False)
    return narrow


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
    """Whole numbers, none negative.

    >>> numbers = Numbers([3, 1, 4])
    >>> numbers[1], numbers[1:], numbers == (3, 1, 4), len(numbers)
    (1, (1, 4), True, 3)
    """

    __slots__ = ("array",)

    def __init__(self, numbers: Any) -> None:
        self.array = compact(numbers)

    def __len__(self) -> int:
        return len(self.array)

    def made(self, places: range) -> list[int]:
        """The numbers at some places."""
        step = places.step
        last = places.stop if places.stop >= 0 else None
        found: list[int] = self.array[places.start : last : step].tolist() if len(places) else []
        return found

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
        """The views at some places."""
        return [self.views[id] for id in self.ids.made(places)]
