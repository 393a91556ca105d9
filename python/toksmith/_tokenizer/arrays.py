"""Texts from columns of Arrow, and ids in arrays for models: one type for all of them, padded to one length.

Columns (pyarrow, polars, pandas; whatever has `__arrow_c_stream__`) are read from their buffers, without a Python object for
each text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._base.arguments import as_sequence, items
from .._base.errors import OF_A_PLACE, InvalidOption, UnknownName, number_of
from .._model.model import Model

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["Padded", "encode_padded", "fitting", "is_column", "ragged_ids", "without_special"]

Text = str | bytes
Special = Any
SIDES = ("left", "right")
LONGEST = 1 << 24  # ids of a row that is padded


@dataclass(frozen=True, eq=False, repr=False)
class Padded:
    """The ids of many texts as one matrix, with a mask.

    Attributes:
        ids: Shape (texts, length).
        mask: uint8, shape (texts, length): 1 for ids of the text, 0 for
            padding.

    Both are arrays of numpy: `torch.from_dlpack(padded.ids)` and
    `jax.dlpack.from_dlpack(padded.ids)` take them without copying. The names
    of transformers work too: `padded["input_ids"]`, `["attention_mask"]`.
    """

    ids: NDArray[Any]
    mask: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.ids)

    def keys(self) -> tuple[str, ...]:
        """The names that `padded[name]` takes, so that `dict(padded)` works."""
        return ("input_ids", "attention_mask")

    def __getitem__(self, name: str) -> NDArray[Any]:
        found = {"input_ids": self.ids, "attention_mask": self.mask}.get(name)
        if found is None:
            raise UnknownName("field of a Padded", name, self.keys())
        return found

    def __repr__(self) -> str:
        rows, length = self.ids.shape
        return f"<Padded {number_of(rows, 'text')} of {number_of(length, 'id')}, {self.ids.dtype}>"


def encode_padded(
    self: Any,
    texts: Iterable[Text],
    *,
    pad: int | str,
    length: int | None = None,
    multiple: int = 1,
    side: str = "right",
    truncate: bool = False,
    dtype: DTypeLike = np.int64,
    special: Special = "raise",
    threads: int | None = None,
    add_special_tokens: bool = False,
) -> Padded:
    """The ids of many texts as one matrix, each row padded to the same
    length.

    Args:
        texts: A list, or a column of Arrow.
        pad: The id of the padding, or the special token that it is.
        length: Of each row; None for the longest text.
        multiple: The length is rounded up to a multiple of it.
        side: "right" or "left": where the padding is.
        truncate: Whether a text with more ids than `length` loses its end.
            Otherwise it is refused.
        dtype: An integer type that holds every id.
    Returns: `.ids` and `.mask`, shape (texts, length).
    Raises: as `encode_batch`; InvalidOption for a text with too many ids,
        a type that does not hold an id, or a padding that is no id.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", 262, special_tokens=["<pad>"])
    >>> padded = tok.encode_padded(["low", "low lower"], pad="<pad>")
    >>> padded, padded.mask.tolist()
    (<Padded 2 texts of 3 ids, int64>, [[1, 0, 0], [1, 1, 1]])
    """
    if side not in SIDES:
        raise InvalidOption("side", side, "'left' or 'right'")
    if not 1 <= multiple <= LONGEST:
        raise InvalidOption("multiple", multiple, f"1 to {LONGEST:,}")
    if length is not None and not 0 <= length <= LONGEST:
        raise InvalidOption("length", length, f"0 to {LONGEST:,}, or None")
    padding = padding_of(self, pad)
    ragged = self.encode_ragged(texts, special=special, threads=threads, add_special_tokens=add_special_tokens)
    sizes = np.diff(ragged.ends.astype(np.int64), prepend=0)
    longest = int(sizes.max(initial=0))
    width = longest if length is None else length
    if longest > width and not truncate:
        place = int(np.argmax(sizes > width))
        allowed = f"at least {longest}, or truncate=True: text {place} has {sizes[place]} ids"
        raise InvalidOption("length", length, allowed)
    width = -(-width // multiple) * multiple
    kept = np.minimum(sizes, width)
    mask = np.arange(width) < kept[:, None]
    inside = np.arange(len(ragged.ids)) - np.repeat(ragged.ends.astype(np.int64) - sizes, sizes)
    ids = np.full(mask.shape, padding, fitting(dtype, np.append(ragged.ids, np.uint32(padding))))
    found = ragged.ids[inside < width]
    if side == "left":
        mask = mask[:, ::-1]
    ids[mask] = found
    return Padded(ids, np.ascontiguousarray(mask, np.uint8))


def padding_of(tok: Any, pad: int | str) -> int:
    """The id of the padding."""
    if isinstance(pad, str):
        return int(tok.token_id(pad))
    if not 0 <= pad < 1 << 32:
        raise InvalidOption("pad", pad, "an id, or a special token")
    return pad


def fitting(dtype: DTypeLike, ids: NDArray[np.uint32]) -> np.dtype[Any]:
    """The type, if it holds all these ids.

    Raises:
        InvalidOption: It is no integer type, or is too small.
    """
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        raise InvalidOption("dtype", dtype, "an integer type of numpy, such as 'uint16' or 'int64'") from None
    if found.kind not in "iu":
        raise InvalidOption("dtype", dtype, "an integer type of numpy, such as 'uint16' or 'int64'")
    if (largest := int(ids.max(initial=0))) > np.iinfo(found).max:
        raise InvalidOption("dtype", dtype, f"a type that holds the id {largest}, such as 'uint32' or 'int64'")
    return found


def is_column(texts: object) -> bool:
    """Whether it shares its memory through Arrow's interface."""
    return any(hasattr(type(texts), name) for name in ("__arrow_c_stream__", "__arrow_c_array__"))


def block_of(texts: Any) -> _core.TextBlock | None:
    """The texts of a column of Arrow; None for what is none, or where pyarrow is not installed.

    Raises:
        TypeError: It is a table, or not of texts, or one of them is null.
    """
    if not is_column(texts):
        return None
    try:
        import pyarrow as arrow
    except ImportError:
        return None
    from .._corpus.parquet import flat

    try:
        column = arrow.chunked_array(texts if hasattr(type(texts), "__arrow_c_stream__") else [arrow.array(texts)])
    except (TypeError, ValueError, arrow.ArrowException):
        return None  # a column of Python objects, for example: its items are looked at one by one
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
    blob, ends = flat(column.combine_chunks() if column.num_chunks != 1 else column.chunk(0))
    return _core.TextBlock.of_values(blob, ends)


def without_special(model: Model, ids: Iterable[int]) -> list[int]:
    """The ids that are no special tokens."""
    special = {token.id for token in model.added_tokens if token.special}
    try:
        return [id for id in items(ids, "ids", "ids (integers)") if id not in special]
    except TypeError as error:
        raise TypeError(f"ids: expected ids (integers): {error}") from None


def ragged_ids(
    engine: _core.Engine, texts: Any, special: Special, errors: str, threads: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """The ids of the texts of a batch or of a column, and where those of each end."""
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
