"""Reads the safetensors files of a checkpoint: their index, headers and numbers, and rows of matrices.

A safetensors file is the length of its header (8 bytes, little-endian), the header (JSON), and the raw numbers of all
tensors without holes. This module checks every value before using it. The library safetensors maps a file, and a file
that shrinks while it is mapped ends the process; so this module reads rows block by block. Left out: writing
(`write.py`), and the names of tensors with a row for each id (`tensor_names.py`).
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

from .._base.paths import Room, check_regular, describe_error, printable_path, read_file
from .._base.wording import number_of
from .._formats.json import parse_json
from ..errors import FormatError
from .tensor_names import INPUT, OUTPUT, Role

INDEX, WHOLE = "model.safetensors.index.json", "model.safetensors"
MOST_INDEX = 1 << 26


def safetensors_files(path: Path) -> Iterator[Path]:
    """The safetensors files of a path without an index."""
    if not path.is_dir():
        yield path
    elif (path / WHOLE).is_file():
        yield path / WHOLE
    else:
        inside = sorted(path.glob("*.safetensors"))
        if not inside:
            raise FormatError(path, None, "the folder contains no .safetensors file")
        yield from inside


def read_index(path: Path) -> dict[str, Path] | None:
    """The file of each tensor in the index of a folder; None without an index. `path` can be the index itself."""
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
# The bytes of a number, by type. Tensors of other types are copied without a check of their size.
SIZES: Mapping[str, int] = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 1),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 2),
    **dict.fromkeys(("U32", "I32", "F32"), 4),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 8),
}


@dataclass(frozen=True)
class Tensor:
    """One tensor of a file: its numbers are the bytes from `begin` to `end`; `dtype` has the header's spelling."""

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
    """The header of a file. The first tensor must begin at the byte `start`; `size` is the file's size in bytes."""

    path: Path
    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]
    start: int
    size: int


def read_header(path: Path) -> Header:
    name = printable_path(path)
    try:
        check_regular(path)
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            length = int.from_bytes(stream.read(8), "little")
            if size < 8 or not 2 <= length <= min(size - 8, MOST_HEADER):
                raise FormatError(name, "byte 0", "is not a safetensors file: its header does not fit into the file")
            entries = parse_json(stream.read(length))
    except OSError as problem:
        raise FormatError(name, None, f"cannot be read: {describe_error(problem, path)}") from problem
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
    tensors = {each: parse_tensor(path, each, entry, start, size - start) for each, entry in entries.items()}
    return Header(path, tensors, metadata, start, size)


def parse_tensor(path: Path, name: str, entry: object, start: int, room: int) -> Tensor:
    """The tensor of a header's entry; raises FormatError for invalid fields, or a place outside the file."""
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


def check_whole(header: Header) -> None:
    """Raises FormatError if tensors overlap, leave holes, or do not have the size of their shape."""
    name = printable_path(header.path)
    ordered = sorted(header.tensors.values(), key=lambda each: (each.begin, each.end))
    at = header.start
    for each in ordered:
        size = SIZES.get(each.dtype)
        if size is not None and prod(each.shape) * size != len(each):
            shape = list(each.shape)
            raise FormatError(name, each.name, f"has the shape {shape} of {each.dtype}, but {len(each):,} bytes")
        if each.begin != at:
            problem = f"its numbers begin at byte {each.begin:,}; expected {at:,}, where those before it end"
            raise FormatError(name, each.name, problem)
        at = each.end
    if at != header.size:
        problem = f"its tensors end at byte {at:,}, but the file has {header.size:,} bytes; is it cut or damaged? copy it anew"
        raise FormatError(name, None, problem)


# Numbers. BF16 is the upper half of a float32. numpy lacks the type, so this module reads and writes its 16 bits. ml_dtypes
# has it, but rounds a float64 to float32 first: two roundings do not always give the nearest number.

TYPES: Mapping[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
}
# The exponent bits of F16, BF16 and F32, which are all set in NaN and infinity. With them `bad_rows` takes a tenth of the
# time of `np.isfinite` for F16.
HALF, BRAIN, SINGLE = np.uint16(0x7C00), np.uint16(0x7F80), np.uint32(0x7F800000)
TIE = np.uint32(0x8000)


def to_float32(rows: NDArray[Any]) -> NDArray[np.float32]:
    if rows.dtype == np.uint16:
        return (rows.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return rows.astype(np.float32)


def to_float64(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers of a file as float64, which represents each exactly."""
    return (to_float32(rows) if rows.dtype == np.uint16 else rows).astype(np.float64)


def round_to(values: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The nearest numbers of a file's type; of two equally near numbers, the number whose last bit is 0.

    >>> round_to(np.array([1.0, 1.00390625, 1.01171875]), TYPES["BF16"]).tolist() == [0x3F80, 0x3F80, 0x3F82]
    True
    """
    if dtype != np.uint16:
        stored: NDArray[Any] = values.astype(dtype)
        return stored
    near = values.astype(np.float32)
    # If rounding to float32 made a tie, its rounding error decides.
    error = np.abs(values) - np.abs(near.astype(np.float64))
    bits = near.view(np.uint32)
    high, low = bits >> np.uint32(16), bits & np.uint32(0xFFFF)
    up = (low > TIE) | ((low == TIE) & ((error > 0) | ((error == 0) & (high & np.uint32(1) == 1))))
    brain: NDArray[np.uint16] = (high + up).astype(np.uint16)
    return brain


def bad_rows(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """For each row, whether it contains a number that is not finite."""
    if rows.dtype == np.uint16:
        wrong = rows & BRAIN == BRAIN
    elif rows.dtype == np.float16:
        wrong = rows.view(np.uint16) & HALF == HALF
    elif rows.dtype == np.float32:
        wrong = rows.view(np.uint32) & SINGLE == SINGLE
    else:
        wrong = ~np.isfinite(rows)
    bad: NDArray[np.bool_] = wrong.any(axis=1)
    return bad


# Matrices

BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class Matrix:
    """One embedding matrix with a row for each id, from the byte `begin` of a file on; BF16 has the type of its 16 bits."""

    path: Path
    name: str
    role: Role
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    begin: int

    def __len__(self) -> int:
        return self.shape[0]

    def raw_blocks(self) -> Generator[tuple[int, NDArray[Any]], None, None]:
        """Blocks of rows in the type of the file, each with the index of its first row."""
        width = self.shape[1]
        step = max(1, BLOCK_BYTES // (4 * width))
        try:
            with open(self.path, "rb") as stream:
                stream.seek(self.begin)
                for start in range(0, len(self), step):
                    rows = min(step, len(self) - start)
                    numbers = np.fromfile(stream, self.dtype, rows * width)
                    if len(numbers) < rows * width:
                        raise self.shrank_error()
                    yield start, numbers.reshape(rows, width)
        except OSError as problem:
            raise FormatError(self.path, None, f"cannot be read: {problem.strerror}") from problem

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        return ((start, to_float32(rows)) for start, rows in self.raw_blocks())

    def rows(self, ids: NDArray[np.intp]) -> NDArray[np.float32]:
        """The rows of some ids as float32; the ids ascend."""
        selected = [block[ids[(ids >= start) & (ids < start + len(block))] - start] for start, block in self.blocks()]
        return np.concatenate(selected)

    def shrank_error(self) -> FormatError:
        problem = "the file shrank while it was read; use a copy that does not change"
        return FormatError(self.path, self.name, problem)


def find_matrices(path: str | os.PathLike[str], vocab_size: int) -> list[Matrix]:
    """The input matrix of a model (a file, or a folder), then the output matrix if it is a separate tensor."""
    roles: tuple[tuple[Role, tuple[str, ...]], ...] = (("input", INPUT), ("output", OUTPUT))
    first = [(role, next(find_tensors(Path(path), names), None)) for role, names in roles]
    results = [to_matrix(tensor, role, vocab_size) for role, tensor in first if tensor is not None]
    if results:
        return results
    file = next(safetensors_files(Path(path)))
    candidates = [tensor for tensor in read_header(file).tensors.values() if len(tensor.shape) == 2]
    if len(candidates) == 1:
        return [to_matrix(candidates[0], "input", vocab_size)]
    name_list = ", ".join(tensor.name for tensor in candidates[:8])
    problem = f"contains no tensor with the name of an embedding (such as {INPUT[0]}); its matrices: {name_list}"
    raise FormatError(file, None, problem)


def find_tensors(path: Path, names: tuple[str, ...]) -> Iterator[Tensor]:
    """The existing tensors of `names`, found by the index, or in all files without one."""
    if (file_of := read_index(path)) is not None:
        for name in names:
            if name in file_of:
                file_tensors = read_header(file_of[name]).tensors
                if name not in file_tensors:
                    raise FormatError(file_of[name], name, "is not in the file, although the index lists it")
                yield file_tensors[name]
        return
    for file in safetensors_files(path):
        file_tensors = read_header(file).tensors
        yield from (file_tensors[name] for name in names if name in file_tensors)


def to_matrix(tensor: Tensor, role: Role, vocab_size: int) -> Matrix:
    """The tensor as a matrix; raises FormatError if its type, shape or number of rows does not fit the vocabulary."""
    path, name, shape = printable_path(tensor.path), tensor.name, list(tensor.shape)
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
