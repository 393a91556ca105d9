"""Text that records the origin of each character, through the operations of a chat template.

A template mixes its own text with that of messages: `"<|user|>" + message["content"] | trim`. `Marked` is a `str` that keeps
an `Origin` for each run of characters. An operation without an implementation here gives a plain `str`, whose origin is
`UNKNOWN` from then on. No operation makes text trusted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, SupportsIndex

from .budget import RUN, pay_text, spend

__all__ = [
    "ENDS",
    "TEMPLATE",
    "UNKNOWN",
    "Ends",
    "Joined",
    "Marked",
    "Origin",
    "concat",
    "join_parts",
    "map_texts",
    "mark_text",
]


class Origin(NamedTuple):
    """The origin of a run of characters."""

    trusted: bool = False  # the template wrote it
    message: int = -1  # the number of the message that holds it
    content: bool = False  # it is in the message's "content", not in its role or name
    generated: bool = False  # it is within {% generation %}


Run = tuple[str, Origin]
Ends = tuple[tuple[int, Origin], ...]
TEMPLATE = Origin(trusted=True)
UNKNOWN = Origin()
ENDS = attrgetter("ends")


class Marked(str):
    """A text with the end and the origin of each of its runs."""

    __slots__ = ("ends",)
    ends: Ends

    def __new__(cls, text: object = "") -> Marked:  # noqa: PYI034 - `Self` came with Python 3.11
        """The text, of unknown origin; Jinja's `format` calls this."""
        new = super().__new__(cls, text)
        new.ends = ((len(new), UNKNOWN),) if new else ()
        return new

    @staticmethod
    def of(runs: Iterable[Run]) -> Marked:
        """The text of these runs."""
        return concat([mark_text(text, origin) for text, origin in runs])

    def runs(self) -> list[Run]:
        """The parts of the text with their origins, in order."""
        parts, start = [], 0
        for end, origin in self.ends:
            parts.append((str.__getitem__(self, slice(start, end)), origin))
            start = end
        return parts

    def part(self, start: int, end: int) -> Marked:
        """`self[start:end]` for places in the text."""
        if start <= 0 and end >= len(self):
            return self
        if len(self.ends) == 1:
            spend(0, RUN)
            return mark_text(str.__getitem__(self, slice(max(start, 0), end)), self.ends[0][1])
        return Marked.of(self.runs_within(start, end))

    def runs_within(self, start: int, end: int) -> list[Run]:
        """The runs of a part."""
        parts: list[Run] = []
        first = bisect_right(self.ends, start, key=itemgetter(0))
        for stop, origin in islice(self.ends, first, None):
            if start >= end:
                break
            parts.append((str.__getitem__(self, slice(start, min(stop, end))), origin))
            start = stop
        return parts

    def changed(self, text: str) -> str:
        """The result of an operation on the whole text: it keeps origins if the length is unchanged or the origin is single."""
        origins = {origin for _, origin in self.ends}
        if len(origins) == 1:
            return mark_text(text, *origins)
        if len(text) != len(self):
            return text
        starts = [0, *(end for end, _ in self.ends)]
        return Marked.of((text[start:end], origin) for start, (end, origin) in zip(starts, self.ends, strict=False))

    def __str__(self) -> str:
        return self

    def __add__(self, other: object) -> Any:
        return concat([self, other]) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: object) -> Any:
        return concat([other, self]) if isinstance(other, str) else NotImplemented

    def __mul__(self, count: SupportsIndex) -> Any:
        if len(self.ends) > 1:
            return concat([self] * count.__index__())
        return Marked.of((str.__mul__(self, count), origin) for _, origin in self.ends)

    __rmul__ = __mul__

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, slice):
            index = range(len(self))[place]
            return self.part(index, index + 1)
        start, end, step = place.indices(len(self))
        return self.part(start, end) if step == 1 else concat([self[index] for index in range(start, end, step)])

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def strip(self, chars: str | None = None, /) -> Any:
        size = len(str.strip(self, chars))
        start = 0 if size == len(self) else len(self) - len(str.lstrip(self, chars))
        return self.part(start, start + size)

    def lstrip(self, chars: str | None = None, /) -> Any:
        return self.part(len(self) - len(str.lstrip(self, chars)), len(self))

    def rstrip(self, chars: str | None = None, /) -> Any:
        return self.part(0, len(str.rstrip(self, chars)))

    def removeprefix(self, prefix: str, /) -> Any:
        return self.part(len(prefix) if self.startswith(prefix) else 0, len(self))

    def removesuffix(self, suffix: str, /) -> Any:
        return self.part(0, len(self) - (len(suffix) if self.endswith(suffix) else 0))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> Any:
        return self.pieces(str.split(self, sep, maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> Any:
        return self.pieces(str.rsplit(self, sep, maxsplit), sep)

    def splitlines(self, keepends: bool = False) -> Any:
        return self.pieces(str.splitlines(self, keepends))

    def partition(self, sep: str, /) -> Any:
        return tuple(self.pieces(str.partition(self, sep), ""))

    def rpartition(self, sep: str, /) -> Any:
        return tuple(self.pieces(str.rpartition(self, sep), ""))

    def pieces(self, texts: Iterable[str], between: str | None = None) -> list[Marked]:
        """Consecutive parts of the text, with `between` separating them; None for white space, with which no part begins."""
        return [Marked.of(runs) for runs in self.runs_of_pieces(texts, between)]

    def runs_of_pieces(self, texts: Iterable[str], between: str | None) -> Iterator[list[Run]]:
        """The runs of each of these parts."""
        if len(self.ends) == 1:
            yield from ([(text, self.ends[0][1])] for text in texts)
            return
        place = 0
        for number, text in enumerate(texts):
            if between is None:
                place = str.index(self, text, place)
            elif number:
                place += len(between)
            yield self.runs_within(place, place + len(text))
            place += len(text)

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> Any:
        most = count.__index__()
        if old:
            between, runs = concat([new]).runs(), list[Run]()
            for number, part in enumerate(self.runs_of_pieces(str.split(self, old, most), old)):
                runs += [*between, *part] if number else part
            return Marked.of(runs)
        parts: list[object] = []  # an empty `old` matches before each character and at the end
        place = len(self) + 1 if most < 0 else min(most, len(self) + 1)
        for index in range(place):
            parts += [new, self.part(index, index + 1)]
        return concat([*parts, self.part(place, len(self))])

    def join(self, texts: Iterable[str], /) -> Any:
        parts: list[object] = []
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"sequence item {number}: expected str instance, {type(text).__name__} found")
            parts += [self, text] if number else [text]
        return concat(parts)

    def upper(self) -> Any:
        return self.changed(str.upper(self))

    def lower(self) -> Any:
        return self.changed(str.lower(self))

    def title(self) -> Any:
        return self.changed(str.title(self))

    def capitalize(self) -> Any:
        return self.changed(str.capitalize(self))


def mark_text(text: str, origin: Origin) -> Marked:
    """A text of one origin."""
    new = str.__new__(Marked, text if type(text) is str else str.__str__(text))
    new.ends = ((len(new), origin),) if text else ()
    spend(0, len(new))
    return new


class Joined(Marked):
    """A text in parts, whose runs are joined when they are read.

    Attributes:
        plain: The text as a `str`.
        parts: Texts with runs.
        known_ends: `ends`, once they were read.
    """

    __slots__ = ("known_ends", "parts", "plain")
    plain: str
    parts: list[Marked]
    known_ends: Ends | None

    @property
    def ends(self) -> Ends:  # type: ignore[override]
        if self.known_ends is None:
            self.known_ends = concat(self.parts).ends
        return self.known_ends


def concat(parts: Iterable[object]) -> Marked:
    """The parts as one text; a part that is not `Marked` is of unknown origin."""
    if type(parts) is list and len(parts) == 1 and type(parts[0]) is Marked:
        return parts[0]
    texts: list[Marked] = []
    ends: list[tuple[int, Origin]] = []
    start, last = 0, None
    for part in parts:
        text = part if type(part) is Marked else as_unknown(part)
        texts.append(text)
        if len(text.ends) > 1:
            spend(0, RUN * len(text.ends))
        for end, origin in text.ends:
            if origin is last or origin == last:
                ends[-1] = (start + end, origin)
            else:
                ends.append((start + end, origin))
                last = origin
        start += len(text)
    spend(0, start + RUN * len(texts))
    new = str.__new__(Marked, "".join(texts))
    new.ends = tuple(ends)
    return new


def join_parts(parts: Iterable[object]) -> Joined:
    """`concat` for many parts, sooner if the runs are not read."""
    texts = [part if type(part) is Marked else as_unknown(part) for part in parts]
    spend(0, sum(map(len, texts)) + RUN * (len(texts) + sum(map(len, map(ENDS, texts)))))
    plain = "".join(texts)
    new = str.__new__(Joined, plain)
    new.plain, new.parts, new.known_ends = plain, texts, None
    return new


def as_unknown(part: object) -> Marked:
    """A value as text of unknown origin, after paying for it."""
    if isinstance(part, Marked):
        return part
    pay_text(part)
    return Marked(part)


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with `change` applied to each text in it, including keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {map_texts(key, change): map_texts(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [map_texts(item, change) for item in value]
    return value
