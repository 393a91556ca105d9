"""Matrices with a row for each id, read some rows at a time.

A file is not mapped, because a file that shrinks while it is mapped ends the process. Left out: every tensor that has no
row for each id.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import FormatError, number_of
from ..._base.paths import shown
from .folder import files, index_of
from .header import Tensor, header
from .names import INPUT, OUTPUT, Role
from .numbers import TYPES, floats

__all__ = ["BLOCK_BYTES", "Matrix", "matrices", "matrix_of"]

BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class Matrix:
    """One embedding matrix, a row for each id.

    Attributes:
        path: The file.
        name: The tensor's name.
        role: "input" or "output".
        shape: Rows, and numbers in each.
        dtype: Of the numbers in the file; BF16 is read as its 16 bits.
        begin: The byte of the file at which they begin.
    """

    path: Path
    name: str
    role: Role
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    begin: int

    def __len__(self) -> int:
        return self.shape[0]

    def raw_blocks(self) -> Generator[tuple[int, NDArray[Any]], None, None]:
        """The rows as they are in the file, some at a time, each time with the number of the first.

        Raises:
            FormatError: The file became shorter meanwhile.
        """
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
        """As `raw_blocks`, as float32."""
        return ((start, floats(rows)) for start, rows in self.raw_blocks())

    def rows(self, ids: NDArray[np.intp]) -> NDArray[np.float32]:
        """Some rows as float32; the ids ascend."""
        found = [block[ids[(ids >= start) & (ids < start + len(block))] - start] for start, block in self.blocks()]
        return np.concatenate(found)

    def shrank(self) -> FormatError:
        """The error for a file that became shorter."""
        problem = "the file shrank while it was read; use a copy that nobody writes to"
        return FormatError(self.path, self.name, problem)


def matrices(path: str | os.PathLike[str], vocab_size: int) -> list[Matrix]:
    """The embedding matrices of a model: of a file, or of a folder with one file or an index of several.

    Returns:
        The input matrix, then the output matrix where it is another.
    Raises:
        FormatError: The file is not a safetensors file, contains no embeddings, or its embeddings do not fit the
            vocabulary.
    """
    found = []
    roles: tuple[tuple[Role, tuple[str, ...]], ...] = (("input", INPUT), ("output", OUTPUT))
    for role, names in roles:
        for tensor in tensors(Path(path), names):
            found.append(matrix_of(tensor, role, vocab_size))
            break
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
    """The matrix that a tensor is, checked against the vocabulary.

    Raises:
        FormatError: Its type, its shape or its number of rows cannot be.
    """
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
