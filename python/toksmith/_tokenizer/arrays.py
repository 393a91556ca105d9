"""Encodes columns of Arrow, and checks the types of arrays of ids.

Columns (pyarrow, polars, pandas; any object with `__arrow_c_stream__`) are read from their buffers, without a Python object
for each text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core
from .._base import lazy_numpy as np
from .._base.arguments import as_sequence
from ..errors import OF_A_PLACE, InvalidOption

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


def check_id_type(dtype: DTypeLike, ids: NDArray[np.uint32]) -> np.dtype[Any]:
    """The type, if it holds all these ids.

    Raises:
        InvalidOption: It is not an integer type, or is too small.
    """
    try:
        id_type = np.dtype(dtype)
    except (TypeError, ValueError):
        raise InvalidOption("dtype", dtype, "an integer type of numpy, such as 'uint16' or 'int64'") from None
    if id_type.kind not in "iu":
        raise InvalidOption("dtype", dtype, "an integer type of numpy, such as 'uint16' or 'int64'")
    if (largest := int(ids.max(initial=0))) > np.iinfo(id_type).max:
        raise InvalidOption("dtype", dtype, f"a type that holds the id {largest}, such as 'uint32' or 'int64'")
    return id_type


def is_column(texts: object) -> bool:
    """Whether an object shares its memory through Arrow's interface."""
    return any(hasattr(type(texts), name) for name in ("__arrow_c_stream__", "__arrow_c_array__"))


def block_of(texts: Any) -> _core.TextBlock | None:
    """The texts of a column of Arrow; None for other objects, or if pyarrow is not installed.

    Raises:
        TypeError: It is a table, or its values are not texts, or one is null.
    """
    if not is_column(texts):
        return None
    try:
        import pyarrow as arrow
    except ImportError:
        return None
    from .._corpus.parquet import flatten_column

    try:
        column = arrow.chunked_array(texts if hasattr(type(texts), "__arrow_c_stream__") else [arrow.array(texts)])
    except (TypeError, ValueError, arrow.ArrowException):
        return None  # for example a column of Python objects, whose items are then read one by one
    kind = column.type.value_type if arrow.types.is_dictionary(column.type) else column.type
    if arrow.types.is_struct(kind):
        raise TypeError("texts: expected a column, not a table; pass one column of it")
    try:
        column = column.cast(kind).cast(arrow.large_binary())
    except arrow.ArrowException:
        raise TypeError(f"texts: expected a column of texts, not of {column.type}") from None
    if column.null_count:
        place = column.is_null().index(True).as_py()
        raise TypeError(f"texts: item {place}: expected str or bytes, not null; drop_null() drops such rows")
    blob, ends = flatten_column(column.combine_chunks() if column.num_chunks != 1 else column.chunk(0))
    return _core.TextBlock.from_values(blob, ends)


def ragged_ids(
    engine: _core.Engine, texts: Any, special: Any, errors: str, threads: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """The ids of the texts of a batch or a column, and the end of each text's ids."""
    block = block_of(texts)
    if block is None:
        return engine.encode_ragged(as_sequence(texts), special, errors, threads)
    try:
        return engine.encode_block(block, special, threads)
    except OF_A_PLACE as error:
        if error.index is None or error.offset is None:
            raise
        before = block.text(error.index)[: error.offset].decode(errors="replace")
        raise error.at(len(before), error.index) from None
