"""Documents from the rows of Parquet and Arrow files, read in batches by pyarrow.

The texts of a batch are copied as one block of bytes; no row becomes a Python object.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._base.paths import check_regular, path_or_url, url_of
from .._storage.remote import open_remote, read_range
from ..errors import CorpusError
from .encode_files import refuse_long
from .messages import checked_batches
from .pages import BYTES_IN_A_BATCH, BYTES_READ, ROWS_IN_A_BATCH, rows_at_once, value_sizes

FOOTER_BYTES = 1 << 16  # that are read at once from the end of a file at a URL
ARROW, ARROW_MAGIC = ".arrow", b"ARROW1"
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


def import_pyarrow(path: str) -> Any:
    """The module `pyarrow`, with its reader of Parquet loaded."""
    try:
        import pyarrow.parquet
    except ImportError as missing:
        problem = "Parquet and Arrow files need the library pyarrow: pip install 'toksmith[parquet]'"
        raise CorpusError(path, None, problem) from missing
    return pyarrow


def table_batches(
    path: Path, fields: Sequence[str], groups: tuple[int, int] | None = None, longest: int | None = None
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Columns in blocks of rows: the number of the first row, the texts, and the other columns unchanged.

    `fields`: the column of the texts, then others; `groups`: the range of row groups of a Parquet file, None for all;
    `longest`: the most bytes of the texts of a row group, or of a batch of an Arrow file.
    """
    arrow = import_pyarrow(path_or_url(path))
    with wrap_table_errors(path, arrow):
        if path.suffix == ARROW:
            file_batches = arrow_batches(path, fields, arrow)
        else:
            if longest is not None:
                sizes = row_group_sizes(path, fields[0])[slice(*(groups or (None,)))]
                refuse_long(max(sizes, default=0), longest, "the text of a row group")
            file_batches = parquet_batches(path, fields, groups, arrow)
        for first, batch in file_batches:
            refuse_long(batch.column(fields[0]).nbytes if path.suffix == ARROW else 0, longest, "the text of a batch")
            for part in split_rows(batch, fields, arrow):
                texts = part.column(fields[0]).cast(arrow.large_binary())
                yield first, (texts, *(part.column(name) for name in fields[1:]))
                first += len(part)


def parquet_batches(
    path: Path, fields: Sequence[str], groups: tuple[int, int] | None, arrow: Any
) -> Iterator[tuple[int, Any]]:
    """The batches of a Parquet file, each with the number of its first row."""
    with parquet_file(path, arrow) as file, bytes_at(path) as source:
        check_columns(file.schema_arrow, path, fields, arrow)
        check_groups(file, groups)
        group_numbers = range(*(groups or (file.num_row_groups,)))
        first = sum(file.metadata.row_group(group).num_rows for group in range(group_numbers.start))
        for batch in bounded_batches(source, file, fields, group_numbers, arrow):
            yield first, batch
            first += len(batch)


def bounded_batches(
    source: BinaryIO,
    file: Any,
    fields: Sequence[str],
    groups: Iterable[int],
    arrow: Any,
    *,
    most: int = ROWS_IN_A_BATCH,
) -> Iterator[Any]:
    """The batches of these row groups, of at most `most` rows, within the memory limits of `pages.py`."""
    columns = [number_of_column(file, field) for field in fields]
    for group in groups:
        rows = min(most, rows_at_once(source, file, group, columns, arrow))
        yield from file.iter_batches(rows, row_groups=[group], columns=list(fields))


def arrow_batches(path: Path, fields: Sequence[str], arrow: Any) -> Iterator[tuple[int, Any]]:
    """The batches of an Arrow file, or of an Arrow stream in a file, each with the number of its first row."""
    with open(path, "rb", buffering=0) as file:
        is_stream = file.read(len(ARROW_MAGIC)) != ARROW_MAGIC
        file.seek(0)
        source = arrow.PythonFile(file, mode="r")
        with arrow.ipc.open_stream(source) if is_stream else arrow.ipc.open_file(source) as reader:
            check_columns(reader.schema, path, fields, arrow)
            first = 0
            record_batches = reader if is_stream else map(reader.get_batch, range(reader.num_record_batches))
            # Each check comes before its batch.
            for _, batch in zip(checked_batches(path, is_stream), record_batches, strict=False):
                for name in fields:
                    check_memory(batch.column(name), arrow)
                yield first, batch
                first += len(batch)
        if is_stream:
            check_end(file)


def split_rows(batch: Any, fields: Sequence[str], arrow: Any) -> Iterator[Any]:
    """Splits a batch so that its values fit into memory: a batch can store one value for many rows."""
    ends = np.cumsum(sum(repeated_bytes(batch.column(name), arrow) for name in fields))
    start = 0
    while start < len(batch):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + BYTES_IN_A_BATCH, side="right")))
        yield batch.slice(start, stop - start)
        start = stop


def repeated_bytes(column: Any, arrow: Any) -> NDArray[np.int64]:
    """The bytes of each row's value if a batch can store it once for many rows (dictionary, view); otherwise 0."""
    types, kind = arrow.types, column.type
    if types.is_dictionary(kind):
        values = column.dictionary
        lengths = repeated_bytes(values, arrow)
        if is_text(values.type, arrow) and not is_view(values.type, arrow):
            lengths = value_sizes(values, arrow)
        places = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return lengths[places] if len(lengths) else np.zeros(len(column), np.int64)
    if is_view(kind, arrow):
        views: Any = np.frombuffer(column.buffers()[1], np.int32).reshape(-1, 4)
        has_value = column.is_valid().to_numpy(zero_copy_only=False)
        return np.where(has_value, views[column.offset : column.offset + len(column), 0], 0).astype(np.int64)
    return np.zeros(len(column), np.int64)


def is_text(kind: Any, arrow: Any) -> bool:
    """Whether a type is a plain type of texts."""
    types = arrow.types
    plain = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return is_view(kind, arrow) or any(is_type(kind) for is_type in plain)


def is_view(kind: Any, arrow: Any) -> bool:
    """Whether a type is a type of texts that can share their bytes."""
    return bool(arrow.types.is_string_view(kind) or arrow.types.is_binary_view(kind))


def check_end(file: FileIO) -> None:
    """Raises OSError if an Arrow stream, read to its end, does not end at the end of its file."""
    size, position = os.fstat(file.fileno()).st_size, file.tell()
    file.seek(max(0, size - len(END_OF_STREAM)))
    if position != size or file.read() != END_OF_STREAM:
        raise OSError("the Arrow stream does not end where the file ends; the file is cut short, or several are joined")


def check_memory(column: Any, arrow: Any) -> None:
    """Raises an error of Arrow or OSError if an offset in a column points outside its buffers.

    Texts can be any bytes, so `validate(full=True)`, which requires UTF-8, is only for columns of other types.
    """
    types, kind = arrow.types, column.type
    is_wide = types.is_large_string(kind) or types.is_large_binary(kind)
    if not (is_wide or types.is_string(kind) or types.is_binary(kind)):
        column.validate(full=True)
        return
    column.validate()
    _, offsets, data = column.buffers()
    if not len(column):
        return
    kind_of_offset: Any = np.int64 if is_wide else np.int32
    places: Any = np.frombuffer(offsets, kind_of_offset)[column.offset : column.offset + len(column) + 1]
    if places[0] < 0 or (places[1:] < places[:-1]).any() or places[-1] > (0 if data is None else data.size):
        raise OSError("an offset of its texts is outside of the texts")


def row_ranges(texts: Any, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows with at most `most` bytes of texts; a longer text is a separate range."""
    if not len(texts):
        return
    offsets = offsets_of(texts)
    start = 0
    while start < len(texts):
        stop = int(np.searchsorted(offsets, offsets[start] + most, side="right")) - 1
        stop = min(max(stop, start + 1), len(texts))
        yield start, stop
        start = stop


def text_size(texts: Any, row: int) -> int:
    start, stop = offsets_of(texts)[row : row + 2].tolist()
    return int(stop - start)


def offsets_of(texts: Any) -> NDArray[np.int64]:
    """The starts of the texts of a column that is not empty, and the end of the last."""
    return np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]


def missing_text_problem(field: str) -> str:
    return f"has no text in the column {field!r}"


def row_group_sizes(path: Path, field: str, size: int = 0) -> list[int]:
    """The bytes of the texts in each row group. If the `size` of a file at a URL is known, its footer takes one request."""
    arrow = import_pyarrow(path_or_url(path))
    with wrap_table_errors(path, arrow), footer_file(path, size, arrow) as file:
        check_columns(file.schema_arrow, path, (field,), arrow)
        column = number_of_column(file, field)
        groups = map(file.metadata.row_group, range(file.num_row_groups))
        return [int(group.column(column).total_uncompressed_size) for group in groups]


def row_group_ranges(
    path: Path, fields: Sequence[str], groups: tuple[int, int] | None, size: int
) -> list[tuple[int, int]]:
    """The ranges of bytes of a file of `size` bytes that `table_batches` reads for these row groups."""
    arrow = import_pyarrow(path_or_url(path))
    with wrap_table_errors(path, arrow), parquet_file(path, arrow) as file:
        check_groups(file, groups)
        ranges = [(size - file.metadata.serialized_size - 8, size), (0, 4)]
        for group in map(file.metadata.row_group, range(*(groups or (file.num_row_groups,)))):
            for column in map(group.column, range(group.num_columns)):
                if column.path_in_schema.partition(".")[0] in fields:
                    starts = (column.dictionary_page_offset, column.data_page_offset)
                    start = min(place for place in starts if place)
                    ranges.append((start, start + column.total_compressed_size))
    return ranges


def check_groups(file: Any, groups: tuple[int, int] | None) -> None:
    if groups is not None and groups[1] > file.num_row_groups:
        raise OSError(f"it has {file.num_row_groups:,} row groups, not the {groups[1]:,} of the plan")


@contextmanager
def parquet_file(path: Path, arrow: Any) -> Iterator[Any]:
    """Opens a Parquet file, local or at a URL."""
    if url_of(path) is None:
        with arrow.parquet.ParquetFile(path, buffer_size=BYTES_READ, pre_buffer=False) as file:
            yield file
        return
    with bytes_at(path) as source, arrow.parquet.ParquetFile(source) as file:
        yield file


@contextmanager
def footer_file(path: Path, size: int, arrow: Any) -> Iterator[Any]:
    """Opens a Parquet file for its footer; of a file at a URL, only the end is read if its `size` in bytes is known."""
    url = url_of(path)
    if url is None or not size:
        with parquet_file(path, arrow) as file:
            yield file
        return
    end = read_range(url, max(size - FOOTER_BYTES, 0), size)
    footer = int.from_bytes(end[-8:-4], "little") + 8
    if len(end) < footer <= size:
        end = read_range(url, size - footer, size)
    with arrow.parquet.ParquetFile(arrow.BufferReader(end)) as file:
        yield file


@contextmanager
def bytes_at(path: Path) -> Iterator[BinaryIO]:
    """Opens a file, local or at a URL, for its bytes."""
    url = url_of(path)
    with open(path, "rb", buffering=0) if url is None else open_remote(url) as source:
        yield source


def number_of_column(file: Any, field: str) -> int:
    return [file.schema.column(number).path.partition(".")[0] for number in range(len(file.schema))].index(field)


@contextmanager
def wrap_table_errors(path: Path, arrow: Any) -> Iterator[None]:
    try:
        check_regular(path)
        yield
    except CorpusError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as problem:
        raise CorpusError(path_or_url(path), None, f"cannot be read: {problem}") from problem
    except MemoryError as problem:
        raise CorpusError(path_or_url(path), None, "cannot be read: there is not enough memory for it") from problem


def check_columns(schema: Any, path: Path, fields: Sequence[str], arrow: Any) -> None:
    """Raises CorpusError unless the file has the columns and the first holds texts."""
    check_column(schema, path, fields[0], arrow)
    if missing := [name for name in fields if name not in schema.names]:
        raise CorpusError(path_or_url(path), None, f"has no column {missing[0]!r}; it has {schema.names}")
    for name in fields[1:]:
        kind = schema.field(name).type
        kind = kind.value_type if arrow.types.is_dictionary(kind) else kind
        if getattr(kind, "storage_type", kind).num_fields:
            raise CorpusError(
                path_or_url(path), None, f"the column {name!r} holds {kind} instead of names; name another"
            )


def check_column(schema: Any, path: Path, field: str, arrow: Any) -> None:
    """Raises CorpusError unless the file has the column and it holds texts."""
    types = arrow.types
    if field not in schema.names:
        raise CorpusError(
            path_or_url(path), None, f"has no column {field!r}; it has {schema.names}. Name the column with field="
        )
    if schema.names.count(field) > 1:
        raise CorpusError(path_or_url(path), None, f"has several columns {field!r}; name another column with field=")
    kind = schema.field(field).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if not is_text(kind, arrow):
        raise CorpusError(
            path_or_url(path), None, f"the column {field!r} holds {kind} instead of texts; name the column with field="
        )


def flatten_column(column: Any) -> tuple[bytes, NDArray[np.uint64]]:
    """The bytes of a column without nulls, and the end of each value."""
    _, offsets, data = column.buffers()
    if not len(column):
        return b"", np.empty(0, np.uint64)
    starts = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    blob = data[starts[0] : starts[-1]].to_pybytes() if data is not None else b""
    return blob, (starts[1:] - starts[0]).astype(np.uint64)
