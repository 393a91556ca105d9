"""The names of documents in columns, so that a name becomes a Python string only on access."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .parquet import flatten_column

LONGEST_NUMBER = 4000  # digits; below the 4300 that Python converts to an integer


class RowNames(Sequence["str | None"]):
    """Names of documents, None for a document without a name.

    Attributes: `blob`, the concatenated names in UTF-8; `ends`, the end of each; `known`, whether each document has a name.
    """

    def __init__(self, blob: bytes, ends: NDArray[np.uint64], known: NDArray[np.bool_]) -> None:
        self.blob, self.ends, self.known = blob, ends, known

    @staticmethod
    def of(names: Iterable[str | None]) -> RowNames:
        encoded = [None if name is None else name.encode("utf-8", "replace") for name in names]
        ends = np.cumsum([len(name or b"") for name in encoded], dtype=np.uint64)
        known = np.array([name is not None for name in encoded], np.bool_)
        return RowNames(b"".join(name or b"" for name in encoded), ends, known)

    @staticmethod
    def none(count: int) -> RowNames:
        return RowNames(b"", np.zeros(count, np.uint64), np.zeros(count, np.bool_))

    @staticmethod
    def joined(several: Sequence[RowNames]) -> RowNames:
        before = np.cumsum([0, *(len(part.blob) for part in several)], dtype=np.uint64)
        ends = [part.ends + start for part, start in zip(several, before, strict=False)]
        known = [part.known for part in several]
        blob = b"".join(part.blob for part in several)
        return RowNames(
            blob, np.concatenate([np.empty(0, np.uint64), *ends]), np.concatenate([np.empty(0, np.bool_), *known])
        )

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[str | None]:
        start = 0
        for end, known in zip(self.ends.tolist(), self.known.tolist(), strict=True):
            yield self.blob[start:end].decode("utf-8", "replace") if known else None
            start = end

    @overload
    def __getitem__(self, place: int) -> str | None: ...
    @overload
    def __getitem__(self, place: slice) -> RowNames: ...
    def __getitem__(self, place: int | slice) -> str | RowNames | None:
        if isinstance(place, slice):
            first, last, step = place.indices(len(self))
            if step != 1:
                return RowNames.of([self[index] for index in range(first, last, step)])
            start = int(self.ends[first - 1]) if first else 0
            ends = self.ends[first:last]
            stop = int(ends[-1]) if len(ends) else start
            return RowNames(self.blob[start:stop], ends - np.uint64(start), self.known[first:last])
        row = range(len(self))[place]
        start = int(self.ends[row - 1]) if row else 0
        return self.blob[start : int(self.ends[row])].decode("utf-8", "replace") if self.known[row] else None

    def kept(self, which: NDArray[np.bool_]) -> RowNames:
        """The names at which `which` is true."""
        if which.all():
            return self
        return RowNames.of(name for name, is_kept in zip(self, which.tolist(), strict=True) if is_kept)


def names_of_rows(texts: _core.TextBlock, block: bytes, field: str, name: str | None) -> RowNames | None:
    """The names, from the field `name`, that the core read in a block of rows with texts in `field`, and the names that it
    left to Python; None if they were not requested."""
    if name is None or (columns := texts.names) is None:
        return None
    blob, ends, known, unread = columns
    names = RowNames(blob, ends, known)
    if not len(unread):
        return names
    all_names, starts = [*names], texts.starts
    for place in unread.tolist():
        start = int(starts[place])
        all_names[place] = name_in_row(block[start : block.find(b"\n", start) + 1 or None], field, name)
    return RowNames.of(all_names)


def name_in_row(line: bytes, field: str, name: str) -> str | None:
    """The value of the field `name`, as text, of a row with a text in `field`; None if the row does not have it."""
    try:
        value = json.loads(line.removeprefix(b"\xef\xbb\xbf"), parse_int=parse_integer).get(name)
    except ValueError:
        return None
    except RecursionError:  # the row is nested too deeply for Python; the core reads its strings and integers
        columns = _core.TextBlock.from_rows(line, field, name, 1).names
        return None if columns is None else RowNames(*columns[:3])[0]
    if isinstance(value, str):  # JSON can hold a lone UTF-16 surrogate, which is not a character
        return value.encode("utf-8", "replace").decode()
    return None if value is None else json.dumps(value)


def parse_integer(digits: str) -> int | None:
    """An integer; None if it has too many digits for Python."""
    return int(digits) if len(digits) <= LONGEST_NUMBER else None


def names_of_column(column: Any, arrow: Any) -> RowNames:
    """The names in an Arrow column: texts and integers unchanged, other values as `str` formats them."""
    types = arrow.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    is_text = any(
        test(column.type) for test in (types.is_string, types.is_large_string, types.is_string_view, types.is_integer)
    )
    if not is_text:
        return RowNames.of(None if value is None else str(value) for value in column.to_pylist())
    known = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    values = column.cast(arrow.large_string()).fill_null("") if column.null_count else column.cast(arrow.large_string())
    return RowNames(*flatten_column(values), known)
