"""The number of Parquet rows to read at a time, so that their unpacked pages fit into memory.

The footer of a file is not trusted. The page headers decide, because pyarrow allocates what they declare. A dictionary value
is stored once and can be in every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import SEEK_END
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .encode_files import refuse_unpacked

ROWS_IN_A_BATCH = 1 << 13
BYTES_IN_A_BATCH = 1 << 23
# The most bytes of a batch where rows differ much; a batch of one row can have more.
LARGEST_BATCH = 1 << 26
# Bytes of a file that pyarrow reads at a time; otherwise it holds a whole column of a row group in memory.
BYTES_READ = 1 << 20
HEADER_BYTES, LONGEST_HEADER = 1 << 8, 1 << 24
DICTIONARY_PAGE = 2
# For each kind of page: the header field that holds the number of values (its field 1), and the field of the encoding in it.
ABOUT = {0: (5, 2), DICTIONARY_PAGE: (7, 2), 3: (8, 4)}
BY_DICTIONARY = (2, 8)  # encodings: the old name and the new one
BY_PREFIX = 7  # an encoding: a value shares a prefix with the value before
Struct = dict[int, Any]
Chunk = tuple[int, int]  # the numbers of a row group and of a column


class Page(NamedTuple):
    """A page: its kind, the number of its values, their encoding, and its unpacked bytes."""

    kind: int
    values: int
    encoding: int
    unpacked: int


def rows_at_once(source: BinaryIO, file: Any, group: int, columns: Sequence[int], arrow: Any) -> int:
    """The number of rows of a row group to read at a time; none of the `columns` has lists."""
    row_group, size = file.metadata.row_group(group), source.seek(0, SEEK_END)
    column_pages = []
    for column in columns:
        pages = [*pages_of(source, row_group.column(column))]
        refuse_unpacked(max((page.unpacked for page in pages), default=0), size, "a page", "smaller pages")
        if file.schema.column(column).physical_type != "BYTE_ARRAY":  # a null takes as many bytes as a value
            pages = [page._replace(encoding=BY_DICTIONARY[0]) for page in pages]
        column_pages.append((pages, longest_value(source, file, (group, column), pages, arrow)))
    unpacked = sum(page.unpacked for pages, _ in column_pages for page in pages)
    rows: int = max(1, min(ROWS_IN_A_BATCH, BYTES_IN_A_BATCH * row_group.num_rows // max(unpacked, 1)))
    while rows > 1 and sum(most_bytes(pages, rows, longest) for pages, longest in column_pages) > LARGEST_BATCH:
        rows //= 2
    return rows


def most_bytes(pages: Sequence[Page], rows: int, longest: int) -> int:
    """The most bytes that `rows` consecutive rows unpack to; `longest`: bytes of the longest value that a page can repeat."""
    data = [page for page in pages if page.kind != DICTIONARY_PAGE]
    most = total = values = first = 0
    sizes = [
        min(page.values, rows) * longest if page.encoding in (*BY_DICTIONARY, BY_PREFIX) else page.unpacked
        for page in data
    ]
    for page, size in zip(data, sizes, strict=True):
        values, total = values + page.values, total + size
        # Drop the first page once the rows after it suffice without any of its values.
        while values - data[first].values >= rows + page.values:
            values, total, first = values - data[first].values, total - sizes[first], first + 1
        most = max(most, total)
    return most


def longest_value(source: BinaryIO, file: Any, chunk: Chunk, pages: Sequence[Page], arrow: Any) -> int:
    """An upper bound for the bytes of the longest value that the pages of a column of a row group repeat."""
    group, column = chunk
    kind = file.schema.column(column)
    if arrow.types.is_dictionary(file.schema_arrow.field(kind.path.partition(".")[0]).type):
        return 4  # each row is an index
    if kind.physical_type != "BYTE_ARRAY":
        return max(int(kind.length), 16)
    if any(page.encoding == BY_PREFIX for page in pages):
        return sum(page.unpacked for page in pages)
    longest = max((page.unpacked for page in pages if page.kind == DICTIONARY_PAGE), default=0)
    if longest * ROWS_IN_A_BATCH <= LARGEST_BATCH or all(page.encoding not in BY_DICTIONARY for page in pages[1:2]):
        return longest
    with arrow.parquet.ParquetFile(
        source, metadata=file.metadata, read_dictionary=[kind.path], buffer_size=BYTES_READ, pre_buffer=False
    ) as dictionary_file:
        batch = next(dictionary_file.iter_batches(1, row_groups=[group], columns=[kind.path]))
        values = batch.column(0).dictionary
        is_whole = len(values) == pages[0].values
        return int(value_sizes(values, arrow).max(initial=0)) if is_whole else longest


def value_sizes(values: Any, arrow: Any) -> NDArray[np.int64]:
    """The bytes of each text of a column that stores its texts contiguously."""
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
        detail_field, encoding = ABOUT.get(header[1], (0, 0))
        details = header.get(detail_field, {})
        page = Page(header[1], details.get(1, 0), details.get(encoding, 0), header[2])
        if min(page.values, page.unpacked, header[3]) < 0:
            raise OSError(f"the header of the page at byte {at:,} has a number below 0")
        values += page.values if page.kind != DICTIONARY_PAGE else 0
        at += length + header[3]
        yield page


def header_at(source: BinaryIO, at: int) -> tuple[Struct, int]:
    """The header of a page, and its length in bytes."""
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
    """The fields of a structure by their numbers, and the place of its end."""
    fields: Struct = {}
    number = 0
    while data[at]:
        step, kind = data[at] >> 4, data[at] & 15
        at += 1
        if step:
            number += step
        else:
            number, at = zigzag_at(data, at)
        fields[number], at = (kind == 1, at) if kind in (1, 2) else value_at(data, at, kind)
    return fields, at + 1


def value_at(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    """A value of a kind, and the place of its end; None for kinds that are not needed from page headers."""
    if kind in (1, 2, 3):
        return data[at], at + 1
    if kind in (4, 5, 6):
        return zigzag_at(data, at)
    if kind == 7:
        return None, at + 8
    if kind == 8:
        length, at = varint_at(data, at)
        return None, at + length
    if kind == 12:
        return struct_at(data, at)
    if kind in (9, 10):
        count, kind = data[at] >> 4, data[at] & 15
        count, at = (count, at + 1) if count < 15 else varint_at(data, at + 1)
        for _ in range(count):
            _, at = value_at(data, at, kind)
        return None, at
    raise OSError("the header of a page holds a value of an unknown kind")


def varint_at(data: bytes, at: int) -> tuple[int, int]:
    """Reads an unsigned varint of 32 bits: groups of seven bits, the lowest first."""
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number & 0xFFFFFFFF, at
        if shift > 63:
            raise OSError("the header of a page has a number that is too long")


def zigzag_at(data: bytes, at: int) -> tuple[int, int]:
    """Reads a zigzag integer, with its sign in the lowest bit."""
    number, at = varint_at(data, at)
    return (number >> 1) ^ -(number & 1), at
