"""The tensors of a model's checkpoint: which files it has, what their headers say, their numbers, and rows of matrices.

A safetensors file is the length of its header (8 bytes, little-endian), the header (JSON), and the raw numbers of all
tensors without holes. Nothing in it is believed before it is checked. The library safetensors maps a file, and a file
that shrinks while it is mapped ends the process; so rows are read here, some at a time. Left out: writing, which
`write.py` does, and which tensor has a row for each id, which `tensor_names.py` says.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import FormatError, number_of
from .._base.paths import Room, read_file, reason, regular, shown
from .._formats.json import parse_json
from .tensor_names import INPUT, OUTPUT, Role

__all__ = [
    "BLOCK_BYTES",
    "INDEX",
    "TYPES",
    "WHOLE",
    "Header",
    "Matrix",
    "Tensor",
    "bad_rows",
    "check_whole",
    "doubles",
    "floats",
    "header",
    "index_of",
    "matrices",
    "rounded",
]

INDEX, WHOLE = "model.safetensors.index.json", "model.safetensors"
MOST_INDEX = 1 << 26


def files(path: Path) -> Iterator[Path]:
    """The safetensors files of a path, where no index lists them."""
    if not path.is_dir():
        yield path
    elif (path / WHOLE).is_file():
        yield path / WHOLE
    else:
        inside = sorted(path.glob("*.safetensors"))
        if not inside:
            raise FormatError(path, None, "the folder contains no .safetensors file")
        yield from inside


def index_of(path: Path) -> dict[str, Path] | None:
    """The file of each tensor, as the index of a folder says; None without an index. `path` may be the index itself."""
    index = path if path.name.endswith(".index.json") else path / INDEX
    if not index.is_file():
        return None
    try:
        data = read_file(index, lambda ends: Room(MOST_INDEX, "the index of a model"))
        places = parse_json(data, MOST_INDEX)["weight_map"]
        return {str(name): index.parent / str(file) for name, file in places.items()}
    except FormatError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise FormatError(index, None, f"is not an index of safetensors files: {problem!r}") from None


# Headers

MOST_HEADER = 1 << 24
# Bytes of a number. A type that is not here is copied, and its size is not checked.
SIZES: Mapping[str, int] = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 1),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 2),
    **dict.fromkeys(("U32", "I32", "F32"), 4),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 8),
}


@dataclass(frozen=True)
class Tensor:
    """One tensor of a file: its numbers are the bytes from `begin` to `end`, of a type as the header spells it."""

    path: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True)
class Header:
    """What a file says of itself. Its first numbers must begin at the byte `start`; `size` is that of the file."""

    path: Path
    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]
    start: int
    size: int


def header(path: Path) -> Header:
    name = shown(path)
    try:
        regular(path)
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            length = int.from_bytes(stream.read(8), "little")
            if size < 8 or not 2 <= length <= min(size - 8, MOST_HEADER):
                raise FormatError(name, "byte 0", "is not a safetensors file: its header does not fit into the file")
            entries = parse_json(stream.read(length))
    except OSError as problem:
        raise FormatError(name, None, f"cannot be read: {reason(problem, path)}") from problem
    except ValueError as problem:
        if isinstance(problem, FormatError):
            raise
        raise FormatError(name, "byte 8", f"is not a safetensors file: its header is not JSON ({problem})") from None
    if not isinstance(entries, dict):
        raise FormatError(name, "byte 8", "is not a safetensors file: its header is not a JSON object")
    metadata = entries.pop("__metadata__", None) or {}
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise FormatError(name, "__metadata__", "expected an object of texts")
    start = 8 + length
    tensors = {each: tensor_of(path, each, entry, start, size - start) for each, entry in entries.items()}
    return Header(path, tensors, metadata, start, size)


def tensor_of(path: Path, name: str, entry: object, start: int, room: int) -> Tensor:
    """The tensor of an entry, whose shape and place can be."""
    fields = entry if isinstance(entry, dict) else {}
    shape, offsets, dtype = fields.get("shape"), fields.get("data_offsets"), fields.get("dtype")
    sound = all(isinstance(each, list) and all(type(n) is int and n >= 0 for n in each) for each in (shape, offsets))
    if not sound or not isinstance(dtype, str) or len(offsets or ()) != 2:
        raise FormatError(path, name, "expected dtype, shape and data_offsets")
    first, last = offsets or (0, 0)
    if not first <= last <= room:
        problem = f"its bytes {first} to {last} are outside the {room} bytes of the file"
        raise FormatError(path, name, problem)
    return Tensor(path, name, dtype, tuple(shape or ()), start + first, start + last)


def check_whole(found: Header) -> None:
    """Refuses a file whose tensors overlap, leave holes, or do not have the size of their shape."""
    name = shown(found.path)
    ordered = sorted(found.tensors.values(), key=lambda each: (each.begin, each.end))
    at = found.start
    for each in ordered:
        size = SIZES.get(each.dtype)
        if size is not None and prod(each.shape) * size != len(each):
            shape = list(each.shape)
            raise FormatError(name, each.name, f"has the shape {shape} of {each.dtype}, but {len(each):,} bytes")
        if each.begin != at:
            problem = f"its numbers begin at byte {each.begin:,}; expected {at:,}, where those before it end"
            raise FormatError(name, each.name, problem)
        at = each.end
    if at != found.size:
        problem = (
            f"its tensors end at byte {at:,}, but the file has {found.size:,} bytes; is it cut or damaged? copy it anew"
        )
        raise FormatError(name, None, problem)


# Numbers. BF16 is the upper half of a float32. numpy does not know it, so it is read and written as its 16 bits. ml_dtypes
# knows it, but rounds a float64 to float32 first: two roundings, and not the nearest number.

TYPES: Mapping[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
}
# The bits of the exponent, which are all set in NaN and infinity, by the size of a number and whether it is BF16. With them
# `bad_rows` takes a tenth of the time of `np.isfinite` for F16.
HALF, BRAIN, SINGLE = np.uint16(0x7C00), np.uint16(0x7F80), np.uint32(0x7F800000)
TIE = np.uint32(0x8000)


def floats(rows: NDArray[Any]) -> NDArray[np.float32]:
    if rows.dtype == np.uint16:
        return (rows.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return rows.astype(np.float32)


def doubles(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers of a file as float64, which holds each of them exactly."""
    return (floats(rows) if rows.dtype == np.uint16 else rows).astype(np.float64)


def rounded(values: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The numbers of a file nearest to these; of two that are equally near, the one whose last bit is 0.

    >>> rounded(np.array([1.0, 1.00390625, 1.01171875]), TYPES["BF16"]).tolist() == [0x3F80, 0x3F80, 0x3F82]
    True
    """
    if dtype != np.uint16:
        stored: NDArray[Any] = values.astype(dtype)
        return stored
    near = values.astype(np.float32)
    # Where rounding to float32 made a tie, what it left out decides.
    left = np.abs(values) - np.abs(near.astype(np.float64))
    bits = near.view(np.uint32)
    high, low = bits >> np.uint32(16), bits & np.uint32(0xFFFF)
    up = (low > TIE) | ((low == TIE) & ((left > 0) | ((left == 0) & (high & np.uint32(1) == 1))))
    brain: NDArray[np.uint16] = (high + up).astype(np.uint16)
    return brain


def bad_rows(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """For each row whether it holds a number that is not finite."""
    if rows.dtype == np.uint16:
        wrong = rows & BRAIN == BRAIN
    elif rows.dtype == np.float16:
        wrong = rows.view(np.uint16) & HALF == HALF
    elif rows.dtype == np.float32:
        wrong = rows.view(np.uint32) & SINGLE == SINGLE
    else:
        wrong = ~np.isfinite(rows)
    found: NDArray[np.bool_] = wrong.any(axis=1)
    return found


# Matrices

BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class Matrix:
    """One embedding matrix, a row for each id, from the byte `begin` of a file on; BF16 is read as its 16 bits."""

    path: Path
    name: str
    role: Role
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    begin: int

    def __len__(self) -> int:
        return self.shape[0]

    def raw_blocks(self) -> Generator[tuple[int, NDArray[Any]], None, None]:
        """The rows as they are in the file, some at a time, each time with the number of the first."""
        width = self.shape[1]
        step = max(1, BLOCK_BYTES // (4 * width))
        try:
            with open(self.path, "rb") as stream:
                stream.seek(self.begin)
                for start in range(0, len(self), step):
                    rows = min(step, len(self) - start)
                    numbers = np.fromfile(stream, self.dtype, rows * width)
                    if len(numbers) < rows * width:
                        raise self.shrank()
                    yield start, numbers.reshape(rows, width)
        except OSError as problem:
            raise FormatError(self.path, None, f"cannot be read: {problem.strerror}") from problem

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        return ((start, floats(rows)) for start, rows in self.raw_blocks())

    def rows(self, ids: NDArray[np.intp]) -> NDArray[np.float32]:
        """Some rows as float32; the ids ascend."""
        found = [block[ids[(ids >= start) & (ids < start + len(block))] - start] for start, block in self.blocks()]
        return np.concatenate(found)

    def shrank(self) -> FormatError:
        problem = "the file shrank while it was read; use a copy that does not change"
        return FormatError(self.path, self.name, problem)


def matrices(path: str | os.PathLike[str], vocab_size: int) -> list[Matrix]:
    """The embedding matrices of a model: of a file, or of a folder with one file or an index of several.

    Returns:
        The input matrix, then the output matrix where it is another.
    """
    roles: tuple[tuple[Role, tuple[str, ...]], ...] = (("input", INPUT), ("output", OUTPUT))
    first = [(role, next(tensors(Path(path), names), None)) for role, names in roles]
    found = [matrix_of(tensor, role, vocab_size) for role, tensor in first if tensor is not None]
    if found:
        return found
    file = next(files(Path(path)))
    alone = [tensor for tensor in header(file).tensors.values() if len(tensor.shape) == 2]
    if len(alone) == 1:
        return [matrix_of(alone[0], "input", vocab_size)]
    listed = ", ".join(tensor.name for tensor in alone[:8])
    problem = f"contains no tensor with the name of an embedding (such as {INPUT[0]}); its matrices: {listed}"
    raise FormatError(file, None, problem)


def tensors(path: Path, names: tuple[str, ...]) -> Iterator[Tensor]:
    """Those tensors of `names` that are there; an index says which file has which."""
    if (listed := index_of(path)) is not None:
        for name in names:
            if name in listed:
                found = header(listed[name]).tensors
                if name not in found:
                    raise FormatError(listed[name], name, "is not in the file, although the index lists it")
                yield found[name]
        return
    for file in files(path):
        found = header(file).tensors
        yield from (found[name] for name in names if name in found)


def matrix_of(tensor: Tensor, role: Role, vocab_size: int) -> Matrix:
    """The matrix that a tensor is, checked against the vocabulary."""
    path, name, shape = shown(tensor.path), tensor.name, list(tensor.shape)
    if tensor.dtype not in TYPES:
        raise FormatError(path, name, f"has the dtype {tensor.dtype}; expected one of {', '.join(TYPES)}")
    dtype = TYPES[tensor.dtype]
    if len(shape) != 2 or not shape[1]:
        raise FormatError(path, name, f"has the shape {shape}; expected a row of numbers for each id")
    if shape[0] * shape[1] * dtype.itemsize != len(tensor):
        raise FormatError(path, name, f"has the shape {shape} of {tensor.dtype}, but {len(tensor)} bytes")
    if shape[0] < vocab_size:
        rows, last = number_of(shape[0], "row"), vocab_size - 1
        problem = f"has {rows}, so the id {last:,} has none; does it belong to another tokenizer?"
        raise FormatError(path, name, problem)
    return Matrix(tensor.path, name, role, (shape[0], shape[1]), dtype, tensor.begin)
