"""Documents from Parquet files, a row each: read by pyarrow, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import CorpusError
from .._paths import regular

__all__ = ["batches", "columns", "flat", "pyarrow", "row_group_sizes"]

ROWS_IN_A_BATCH = 1 << 13


def pyarrow(path: str) -> Any:
    """The module `pyarrow`, with its reader of Parquet loaded.

    Raises:
        CorpusError: It is not installed.
    """
    try:
        import pyarrow.parquet
    except ImportError as missing:
        problem = "Parquet files need the library pyarrow: pip install 'toksmith[parquet]'"
        raise CorpusError(path, None, problem) from missing
    return pyarrow


def columns(path: Path, field: str, *, skip: bool) -> Iterator[tuple[int, bytes, NDArray[np.uint64], int]]:
    """The texts of a file in blocks: the first row's number, all texts as one, where each ends, and how many rows have none.

    Args:
        skip: Whether rows without a text are left out; else they are an error.
    Raises:
        CorpusError: The file is not Parquet, has no such column of texts, or a row has no text.
    """
    for first, (column,) in batches(path, (field,)):
        if column.null_count and not skip:
            row = first + column.is_null().to_pylist().index(True)
            raise CorpusError(str(path), row, f"has no text in the column {field!r}; name the column with field=")
        yield first, *flat(column.drop_null()), column.null_count


def batches(
    path: Path, fields: Sequence[str], groups: tuple[int, int] | None = None
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Columns in blocks of rows: the number of the first row, the texts, and the other columns as they are.

    Args:
        fields: The column of the texts, then others.
        groups: The first row group, and the one behind the last; None for all.
    Raises:
        CorpusError: The file is no Parquet, or has no such column of texts.
    """
    arrow = pyarrow(str(path))
    with parquet_file(path, arrow) as file:
        check_column(file.schema_arrow, path, fields[0], arrow)
        if missing := [name for name in fields if name not in file.schema_arrow.names]:
            raise CorpusError(str(path), None, f"has no column {missing[0]!r}; it has {file.schema_arrow.names}")
        first = sum(file.metadata.row_group(group).num_rows for group in range(groups[0])) if groups else 0
        own = list(range(*groups)) if groups else None
        for batch in file.iter_batches(ROWS_IN_A_BATCH, row_groups=own, columns=list(fields)):
            texts = batch.column(fields[0]).cast(arrow.large_binary())
            yield first, (texts, *(batch.column(name) for name in fields[1:]))
            first += len(batch)


def row_group_sizes(path: Path, field: str) -> list[int]:
    """The bytes of the texts in each row group.

    Raises:
        CorpusError: As of `batches`.
    """
    arrow = pyarrow(str(path))
    with parquet_file(path, arrow) as file:
        check_column(file.schema_arrow, path, field, arrow)
        names = [file.schema.column(number).path.partition(".")[0] for number in range(len(file.schema))]
        column = names.index(field)
        groups = (file.metadata.row_group(number).column(column) for number in range(file.num_row_groups))
        return [group.total_uncompressed_size for group in groups]


@contextmanager
def parquet_file(path: Path, arrow: Any) -> Iterator[Any]:
    """The open file; what goes wrong in reading it becomes CorpusError."""
    try:
        regular(path)
        with arrow.parquet.ParquetFile(path) as file:
            yield file
    except (arrow.ArrowException, OSError) as problem:
        raise CorpusError(str(path), None, f"cannot be read: {problem}") from problem
    except MemoryError as problem:
        raise CorpusError(str(path), None, "cannot be read: there is not enough memory for it") from problem


def check_column(schema: Any, path: Path, field: str, arrow: Any) -> None:
    """Raises CorpusError unless the file has the column and it holds texts."""
    types = arrow.types
    if field not in schema.names:
        raise CorpusError(
            str(path), None, f"has no column {field!r}; it has {schema.names}. Name the column with field="
        )
    kind = schema.field(field).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    is_text = (types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary)
    if not any(holds(kind) for holds in is_text):
        raise CorpusError(
            str(path), None, f"the column {field!r} holds {kind} instead of texts; name the column with field="
        )


def flat(column: Any) -> tuple[bytes, NDArray[np.uint64]]:
    """The bytes of a column without nulls, and where each value ends."""
    _, offsets, data = column.buffers()
    if not len(column):
        return b"", np.empty(0, np.uint64)
    starts = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    blob = data[starts[0] : starts[-1]].to_pybytes() if data is not None else b""
    return blob, (starts[1:] - starts[0]).astype(np.uint64)
