"""Computes the rows of a grafted matrix block by block, and the mean row of an old matrix in one pass.

It copies kept rows as bytes, and computes sums in float64, in the order of their pieces, rounded once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError
from .recipes import Recipe
from .weights import Matrix, bad_rows, round_to, to_float32, to_float64

BLOCK_BYTES = 256 << 10  # a larger block leaves the processor's cache between reading and writing
GAP_BYTES = 64 << 10  # reading up to this many unneeded bytes is cheaper than another call


def mean_of_rows(matrix: Matrix, tokens: Mapping[int, object]) -> NDArray[np.float64]:
    """The mean of the rows with a token, in float64; raises for NaN or infinity in one. All ids of `tokens` have a row."""
    used_rows = np.zeros(len(matrix), np.bool_)
    used_rows[[*tokens]] = True
    total = np.zeros(matrix.shape[1])
    for start, rows in matrix.raw_blocks():
        has_token = used_rows[start : start + len(rows)]
        wrong = bad_rows(rows) & has_token
        if wrong.any():
            bad = start + int(wrong.argmax())
            problem = f"row {bad:,} ({tokens[bad]}) holds NaN or infinity; the checkpoint is damaged, use another copy"
            raise FormatError(matrix.path, matrix.name, problem)
        total += np.add.reduce(exact_type(rows if has_token.all() else rows[has_token]), axis=0, dtype=np.float64)
    mean: NDArray[np.float64] = total / max(1, int(used_rows.sum()))
    return mean


def exact_type(rows: NDArray[Any]) -> NDArray[Any]:
    """The rows in a type that numpy adds in float64 without rounding their numbers."""
    return to_float32(rows) if rows.dtype in (np.uint16, np.float16) else rows


def same_numbers(one: Matrix, two: Matrix) -> bool:
    if (one.shape, one.dtype) != (two.shape, two.dtype):
        return False
    with contextlib.closing(one.raw_blocks()) as ones, contextlib.closing(two.raw_blocks()) as twos:
        pairs = zip(ones, twos, strict=True)
        return all(np.array_equal(a.view(np.uint8), b.view(np.uint8)) for (_, a), (_, b) in pairs)


class OldRows:
    """Rows of a matrix in any order, read from its open file."""

    def __init__(self, matrix: Matrix, stream: BinaryIO) -> None:
        self.matrix, self.stream = matrix, stream
        self.row_bytes = matrix.shape[1] * matrix.dtype.itemsize

    def rows(self, ids: NDArray[np.int64]) -> NDArray[Any]:
        """The rows of some ids, in the type of the file."""
        if len(ids) == 0 or (ids[-1] - ids[0] == len(ids) - 1 and bool((np.diff(ids) == 1).all())):
            return self.run(int(ids[0]) if len(ids) else 0, len(ids))
        unique_ids, places = np.unique(ids, return_inverse=True)
        unique_rows = np.empty((len(unique_ids), self.matrix.shape[1]), self.matrix.dtype)
        gap, most = max(1, GAP_BYTES // self.row_bytes), max(1, BLOCK_BYTES // self.row_bytes)
        breaks = np.flatnonzero(np.diff(unique_ids) > gap) + 1
        for first, last in zip([0, *breaks.tolist()], [*breaks.tolist(), len(unique_ids)], strict=True):
            at = first
            while at < last:
                end = min(last, int(np.searchsorted(unique_ids, unique_ids[at] + most)))
                block = self.run(int(unique_ids[at]), int(unique_ids[end - 1] - unique_ids[at]) + 1)
                unique_rows[at:end] = block[unique_ids[at:end] - unique_ids[at]]
                at = end
        return unique_rows[places]

    def run(self, first: int, count: int) -> NDArray[Any]:
        """`count` consecutive rows from row `first`."""
        data = bytearray(count * self.row_bytes)
        self.stream.seek(self.matrix.begin + first * self.row_bytes)
        if self.stream.readinto(data) != len(data):  # type: ignore[attr-defined]
            raise self.matrix.shrank_error()
        return np.frombuffer(data, self.matrix.dtype).reshape(count, self.matrix.shape[1])

    def sums(self, recipe: Recipe, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The weighted sums of some new rows, which all have sources; each sum adds its sources in their order."""
        starts, counts = recipe.starts[rows], recipe.starts[rows + 1] - recipe.starts[rows]
        places = np.concatenate([np.arange(start, start + count) for start, count in zip(starts, counts, strict=True)])
        needed = np.unique(recipe.ids[places])
        source_rows = to_float64(self.rows(needed))
        totals = np.zeros((len(rows), self.matrix.shape[1]))
        for turn in range(int(counts.max())):
            active = np.flatnonzero(counts > turn)
            place = starts[active] + turn
            addends = source_rows[np.searchsorted(needed, recipe.ids[place])]
            totals[active] += addends * recipe.weights[place][:, None]
        return totals


def new_blocks(matrix: Matrix, recipe: Recipe, mean: NDArray[np.float64]) -> Iterator[NDArray[Any]]:
    """The new rows in the type of the file, block by block."""
    width = matrix.shape[1]
    step = max(1, BLOCK_BYTES // (width * matrix.dtype.itemsize))
    counts = np.diff(recipe.starts)
    mean_row = round_to(mean, matrix.dtype)
    try:
        with open(matrix.path, "rb") as stream:
            old = OldRows(matrix, stream)
            for start in range(0, len(recipe), step):
                copies = recipe.copies[start : start + step]
                if (copies >= 0).all():
                    yield old.rows(copies)
                    continue
                block = np.empty((len(copies), width), matrix.dtype)
                block[copies >= 0] = old.rows(copies[copies >= 0])
                source_counts = counts[start : start + step]
                block[(copies < 0) & (source_counts == 0)] = mean_row
                for part in split_rows(np.flatnonzero((copies < 0) & (source_counts > 0)), source_counts, width):
                    block[part] = round_to(old.sums(recipe, part + start), matrix.dtype)
                yield block
    except OSError as problem:
        raise FormatError(matrix.path, None, f"cannot be read: {problem.strerror}") from problem


def split_rows(rows: NDArray[np.int64], counts: NDArray[np.int64], width: int) -> Iterator[NDArray[np.int64]]:
    """The rows in parts whose sources fit into BLOCK_BYTES as float64."""
    most = max(1, BLOCK_BYTES // (8 * width))
    before = np.cumsum(counts[rows]) - counts[rows]
    at = 0
    while at < len(rows):
        end = max(at + 1, int(np.searchsorted(before, before[at] + most)))
        yield rows[at:end]
        at = end
