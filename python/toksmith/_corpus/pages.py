"""How many rows of a Parquet file are read at a time: so few that what their pages unpack to has room in memory.

The footer of a file may say anything. So the headers of the pages decide: pyarrow makes room for what they declare. A value
of a dictionary is in the file once and may be in every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import SEEK_END
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .encode_files import refuse_unpacked

__all__ = ["BYTES_IN_A_BATCH", "BYTES_READ", "ROWS_IN_A_BATCH", "lengths_of", "rows_at_once"]

ROWS_IN_A_BATCH = 1 << 13
BYTES_IN_A_BATCH = 1 << 23
# The largest batch, where rows differ much: if it has more, it has one row.
LARGEST_BATCH = 1 << 26
# Of a file, at a time: a whole column of a row group would be in memory.
BYTES_READ = 1 << 20
HEADER_BYTES, LONGEST_HEADER = 1 << 8, 1 << 24
DICTIONARY_PAGE = 2
# Where the header of a page of a kind says how many values it has and how they are encoded: its field, and that in there.
ABOUT = {0: (5, 2), DICTIONARY_PAGE: (7, 2), 3: (8, 4)}
BY_DICTIONARY = (2, 8)  # encodings: the old name and the new one
BY_PREFIX = 7  # an encoding: the beginning of a value is that of the value before
Struct = dict[int, Any]
Chunk = tuple[int, int]  # the numbers of a row group and of a column


class Page(NamedTuple):
    """A page: its kind, how many values it has, their encoding, and how many bytes it unpacks to."""

    kind: int
    values: int
    encoding: int
    unpacked: int


def rows_at_once(source: BinaryIO, file: Any, group: int, columns: Sequence[int], arrow: Any) -> int:
    """How many rows of a row group are read at a time.

    Args:
        source: The bytes of the file.
        file: The same, as pyarrow opened it.
        columns: The numbers of the columns that are read; none has lists.
    Raises:
        OSError: A page unpacks to too much, or the headers of the pages cannot be read.
    """
    about, size = file.metadata.row_group(group), source.seek(0, SEEK_END)
    each = []
    for column in columns:
        pages = [*pages_of(source, about.column(column))]
        refuse_unpacked(max((page.unpacked for page in pages), default=0), size, "a page", "smaller pages")
        if file.schema.column(column).physical_type != "BYTE_ARRAY":  # a null takes as much as a value
            pages = [page._replace(encoding=BY_DICTIONARY[0]) for page in pages]
        each.append((pages, longest_value(source, file, (group, column), pages, arrow)))
    unpacked = sum(page.unpacked for pages, _ in each for page in pages)
    rows: int = max(1, min(ROWS_IN_A_BATCH, BYTES_IN_A_BATCH * about.num_rows // max(unpacked, 1)))
    while rows > 1 and sum(most_bytes(pages, rows, longest) for pages, longest in each) > LARGEST_BATCH:
        rows //= 2
    return rows


def most_bytes(pages: Sequence[Page], rows: int, longest: int) -> int:
    """The most bytes that `rows` rows in a row unpack to; `longest` is the longest value that a page may repeat."""
    data = [page for page in pages if page.kind != DICTIONARY_PAGE]
    most = taken = inside = first = 0
    sizes = [
        min(page.values, rows) * longest if page.encoding in (*BY_DICTIONARY, BY_PREFIX) else page.unpacked
        for page in data
    ]
    for page, size in zip(data, sizes, strict=True):
        inside, taken = inside + page.values, taken + size
        # The first page goes once the rows behind it are enough without any of its values.
        while inside - data[first].values >= rows + page.values:
            inside, taken, first = inside - data[first].values, taken - sizes[first], first + 1
        most = max(most, taken)
    return most


def longest_value(source: BinaryIO, file: Any, chunk: Chunk, pages: Sequence[Page], arrow: Any) -> int:
    """The bytes of the longest value that the pages of a column of a row group repeat, or more."""
    group, column = chunk
    kind = file.schema.column(column)
    if arrow.types.is_dictionary(file.schema_arrow.field(kind.path.partition(".")[0]).type):
        return 4  # each row is the place of its value
    if kind.physical_type != "BYTE_ARRAY":
        return max(int(kind.length), 16)
    if any(page.encoding == BY_PREFIX for page in pages):
        return sum(page.unpacked for page in pages)
    whole = max((page.unpacked for page in pages if page.kind == DICTIONARY_PAGE), default=0)
    if whole * ROWS_IN_A_BATCH <= LARGEST_BATCH or all(page.encoding not in BY_DICTIONARY for page in pages[1:2]):
        return whole
    with arrow.parquet.ParquetFile(
        source, metadata=file.metadata, read_dictionary=[kind.path], buffer_size=BYTES_READ, pre_buffer=False
    ) as again:
        batch = next(again.iter_batches(1, row_groups=[group], columns=[kind.path]))
        values = batch.column(0).dictionary
        is_whole = len(values) == pages[0].values
        return int(lengths_of(values, arrow).max(initial=0)) if is_whole else whole


def lengths_of(values: Any, arrow: Any) -> NDArray[np.int64]:
    """The bytes of each text of a column that has all their bytes one after another."""
    wide = values.cast(arrow.large_binary())
    if not len(wide):
        return np.empty(0, np.int64)
    offsets: Any = np.frombuffer(wide.buffers()[1], np.int64)[wide.offset : wide.offset + len(wide) + 1]
    return np.asarray(np.diff(offsets), np.int64)


def pages_of(source: BinaryIO, chunk: Any) -> Iterator[Page]:
    """The pages of a column of a row group, the dictionary first."""
    starts = (chunk.dictionary_page_offset, chunk.data_page_offset) if chunk.has_dictionary_page else ()
    at = min((place for place in starts if place), default=chunk.data_page_offset)
    end = at + chunk.total_compressed_size
    values = 0
    while at < end and values < chunk.num_values:
        header, length = header_at(source, at)
        about_it, encoding = ABOUT.get(header[1], (0, 0))
        about = header.get(about_it, {})
        page = Page(header[1], about.get(1, 0), about.get(encoding, 0), header[2])
        if min(page.values, page.unpacked, header[3]) < 0:
            raise OSError(f"the header of the page at byte {at:,} has a number below 0")
        values += page.values if page.kind != DICTIONARY_PAGE else 0
        at += length + header[3]
        yield page


def header_at(source: BinaryIO, at: int) -> tuple[Struct, int]:
    """The header of a page, and how many bytes it has."""
    size = HEADER_BYTES
    while True:
        source.seek(at)
        data = source.read(size)
        try:
            header, length = struct_at(data, 0)
            if not {1, 2, 3} <= header.keys():
                raise OSError(f"there is no header of a page at byte {at:,}")
            return header, length
        except (IndexError, RecursionError):
            if len(data) < size or size >= LONGEST_HEADER:
                raise OSError(f"there is no header of a page at byte {at:,}") from None
            size *= 16


# Thrift's compact protocol


def struct_at(data: bytes, at: int) -> tuple[Struct, int]:
    """The fields of a structure by their numbers, and where it ends."""
    fields: Struct = {}
    number = 0
    while data[at]:
        step, kind = data[at] >> 4, data[at] & 15
        at += 1
        if step:
            number += step
        else:
            number, at = integer_at(data, at)
        fields[number], at = (kind == 1, at) if kind in (1, 2) else value_at(data, at, kind)
    return fields, at + 1


def value_at(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    """A value of a kind, and where it ends; None where no header of a page has a value that matters."""
    if kind in (1, 2, 3):
        return data[at], at + 1
    if kind in (4, 5, 6):
        return integer_at(data, at)
    if kind == 7:
        return None, at + 8
    if kind == 8:
        length, at = plain_at(data, at)
        return None, at + length
    if kind == 12:
        return struct_at(data, at)
    if kind in (9, 10):
        count, kind = data[at] >> 4, data[at] & 15
        count, at = (count, at + 1) if count < 15 else plain_at(data, at + 1)
        for _ in range(count):
            _, at = value_at(data, at, kind)
        return None, at
    raise OSError("the header of a page holds a value of an unknown kind")


def plain_at(data: bytes, at: int) -> tuple[int, int]:
    """A number of 32 bits in groups of seven, the lowest first."""
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number & 0xFFFFFFFF, at
        if shift > 63:
            raise OSError("the header of a page has a number that is too long")


def integer_at(data: bytes, at: int) -> tuple[int, int]:
    """A number with its sign in the lowest bit."""
    number, at = plain_at(data, at)
    return (number >> 1) ^ -(number & 1), at
