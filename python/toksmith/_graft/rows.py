"""The rows of a grafted matrix, some at a time; and what one pass over an old matrix says of it.

Kept rows are copied as bytes. Sums are made in float64, in the order of their pieces, and rounded once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._base.errors import FormatError
from .recipes import Recipe
from .weights import Matrix, bad_rows, doubles, floats, rounded

__all__ = ["OldRows", "new_blocks", "same_numbers", "sound_mean"]

BLOCK_BYTES = 256 << 10  # what is larger leaves the cache of a processor between reading and writing
GAP_BYTES = 64 << 10  # reading so much that is not needed is cheaper than a call


def sound_mean(matrix: Matrix, tokens: Mapping[int, object]) -> NDArray[np.float64]:
    """The mean of the rows that have a token, in float64; all ids of `tokens` have a row."""
    used = np.zeros(len(matrix), np.bool_)
    used[[*tokens]] = True
    total = np.zeros(matrix.shape[1])
    for start, rows in matrix.raw_blocks():
        own = used[start : start + len(rows)]
        wrong = bad_rows(rows) & own
        if wrong.any():
            bad = start + int(wrong.argmax())
            problem = f"row {bad:,} ({tokens[bad]}) holds NaN or infinity; the checkpoint is damaged, use another copy"
            raise FormatError(matrix.path, matrix.name, problem)
        total += np.add.reduce(doubled(rows if own.all() else rows[own]), axis=0, dtype=np.float64)
    mean: NDArray[np.float64] = total / max(1, int(used.sum()))
    return mean


def doubled(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows as a type that numpy adds exactly in float64."""
    return floats(rows) if rows.dtype in (np.uint16, np.float16) else rows


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
        """The rows as they are in the file."""
        if len(ids) == 0 or (ids[-1] - ids[0] == len(ids) - 1 and bool((np.diff(ids) == 1).all())):
            return self.run(int(ids[0]) if len(ids) else 0, len(ids))
        wanted, places = np.unique(ids, return_inverse=True)
        found = np.empty((len(wanted), self.matrix.shape[1]), self.matrix.dtype)
        gap, most = max(1, GAP_BYTES // self.row_bytes), max(1, BLOCK_BYTES // self.row_bytes)
        breaks = np.flatnonzero(np.diff(wanted) > gap) + 1
        for first, last in zip([0, *breaks.tolist()], [*breaks.tolist(), len(wanted)], strict=True):
            at = first
            while at < last:
                end = min(last, int(np.searchsorted(wanted, wanted[at] + most)))
                run = self.run(int(wanted[at]), int(wanted[end - 1] - wanted[at]) + 1)
                found[at:end] = run[wanted[at:end] - wanted[at]]
                at = end
        return found[places]

    def run(self, first: int, count: int) -> NDArray[Any]:
        """Rows that follow each other."""
        data = bytearray(count * self.row_bytes)
        self.stream.seek(self.matrix.begin + first * self.row_bytes)
        if self.stream.readinto(data) != len(data):  # type: ignore[attr-defined]
            raise self.matrix.shrank()
        return np.frombuffer(data, self.matrix.dtype).reshape(count, self.matrix.shape[1])

    def sums(self, recipe: Recipe, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The weighted sums of some new rows, each of which has sources. They are added one after another, in their order."""
        starts, counts = recipe.starts[rows], recipe.starts[rows + 1] - recipe.starts[rows]
        places = np.concatenate([np.arange(start, start + count) for start, count in zip(starts, counts, strict=True)])
        needed = np.unique(recipe.ids[places])
        held = doubles(self.rows(needed))
        summed = np.zeros((len(rows), self.matrix.shape[1]))
        for turn in range(int(counts.max())):
            open_ones = np.flatnonzero(counts > turn)
            place = starts[open_ones] + turn
            own = held[np.searchsorted(needed, recipe.ids[place])]
            summed[open_ones] += own * recipe.weights[place][:, None]
        return summed


def new_blocks(matrix: Matrix, recipe: Recipe, mean: NDArray[np.float64]) -> Iterator[NDArray[Any]]:
    """The new rows as they are in a file, some at a time."""
    width = matrix.shape[1]
    step = max(1, BLOCK_BYTES // (width * matrix.dtype.itemsize))
    counts = np.diff(recipe.starts)
    mean_row = rounded(mean, matrix.dtype)
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
                own = counts[start : start + step]
                block[(copies < 0) & (own == 0)] = mean_row
                for part in parts(np.flatnonzero((copies < 0) & (own > 0)), own, width):
                    block[part] = rounded(old.sums(recipe, part + start), matrix.dtype)
                yield block
    except OSError as problem:
        raise FormatError(matrix.path, None, f"cannot be read: {problem.strerror}") from problem


def parts(rows: NDArray[np.int64], counts: NDArray[np.int64], width: int) -> Iterator[NDArray[np.int64]]:
    """Rows in parts whose sources fit into a block of float64."""
    most = max(1, BLOCK_BYTES // (8 * width))
    before = np.cumsum(counts[rows]) - counts[rows]
    at = 0
    while at < len(rows):
        end = max(at + 1, int(np.searchsorted(before, before[at] + most)))
        yield rows[at:end]
        at = end
