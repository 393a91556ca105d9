"""Documents from Parquet files, a row each: read by pyarrow, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import CorpusError
from .._paths import regular

__all__ = ["columns", "pyarrow"]

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
    arrow = pyarrow(str(path))
    try:
        regular(path)
        with arrow.parquet.ParquetFile(path) as file:
            check_column(file.schema_arrow, path, field, arrow)
            first = 0
            for batch in file.iter_batches(ROWS_IN_A_BATCH, columns=[field]):
                column = batch.column(0).cast(arrow.large_binary())
                if column.null_count and not skip:
                    row = first + column.is_null().to_pylist().index(True)
                    raise CorpusError(
                        str(path), row, f"has no text in the column {field!r}; name the column with field="
                    )
                yield first, *flat(column.drop_null()), column.null_count
                first += len(column)
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
