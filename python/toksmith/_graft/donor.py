"""Computes rows of new tokens from another model that has them: orthogonal matching pursuit over shared tokens.

The pursuit rebuilds a donor's row from the donor's rows of at most 64 shared tokens; the same weights on the old model's
rows give the new row. It chooses tokens one by one: the token whose row has the smallest angle to the residual, the part of
the target that no sum of the chosen rows gives. It reads the donor's matrix once for each choice, so memory is some blocks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._tokenizer.tokenizer import Tokenizer
from ..errors import InvalidOption
from .model_folder import open_folder
from .rows import mean_of_rows
from .tokenizer_files import own_tokenizer
from .tokens import Origins, TokenKey, token_keys
from .vocab_tensors import check_size, stored_heads, vocab_tensors
from .weights import Matrix, to_float32

MOST_SOURCES = 64
ROOM_BYTES = 64 << 20  # memory for the chosen rows of one chunk of tokens
ROUNDING = 1e-6  # a residual of this fraction of the row's length is rounding

Sums = dict[int, tuple[Sequence[int], NDArray[np.float64]]]


class Donor(NamedTuple):
    """A model with the new tokens: its tokens by id, and its matrices for input and output."""

    keys: Mapping[int, TokenKey]
    input: Matrix
    output: Matrix

    def made(self, origins: Origins) -> dict[int, int]:
        """The donor's id of each new ordinary token that it has."""
        place = {key: id for id, key in self.keys.items() if not key.special}
        return {id: place[origins.new[id]] for id in origins.pieces if origins.new[id] in place}

    def sums(self, origins: Origins, side: str) -> Sums:
        """For each new ordinary token that the donor has, the old rows and the weights of its new row."""
        place = {key: id for id, key in self.keys.items() if not key.special}
        shared = sorted((place[key], id) for id, key in origins.old.items() if key in place)
        if not shared:
            raise InvalidOption("donor", None, "a model that has tokens of the checkpoint, too; these share none")
        donor_ids, old_ids = (np.array(ids, np.int64) for ids in zip(*shared, strict=True))
        matrix = self.output if side == "output" else self.input
        sums: Sums = {}
        for part in chunks([*self.made(origins).items()], matrix.shape[1]):
            rows = read_rows(matrix, np.array([id for _, id in part], np.int64))
            for (id, _), (places, weights) in zip(part, pursue(matrix, donor_ids, rows), strict=True):
                sums[id] = (old_ids[places].tolist(), weights)
        return sums


def open_donor(place: str | os.PathLike[str], tok: Tokenizer | None) -> Donor:
    """The donor in a folder; `tok` is its tokenizer, or None for the tokenizer in the folder."""
    folder = open_folder(place)
    matrices = [each for each in vocab_tensors(folder, {}) if each.role != "bias"]
    tokenizer = tok or own_tokenizer(folder, "donor_tokenizer=")
    check_size(matrices[0], tokenizer)
    keys = token_keys(tokenizer)
    for each in matrices:
        mean_of_rows(each.matrix, keys)  # raises for NaN
    return Donor(keys, matrices[0].matrix, (stored_heads(matrices) or matrices)[0].matrix)


def chunks(new_rows: list[tuple[int, int]], width: int) -> Iterator[list[tuple[int, int]]]:
    """The tokens in parts whose chosen rows fit into ROOM_BYTES."""
    most = max(1, ROOM_BYTES // (4 * MOST_SOURCES * width))
    return (new_rows[start : start + most] for start in range(0, len(new_rows), most))


def read_rows(matrix: Matrix, ids: NDArray[np.int64]) -> NDArray[np.float32]:
    unique_ids, places = np.unique(ids, return_inverse=True)
    return matrix.rows(unique_ids)[places]


def pursue(
    matrix: Matrix, shared: NDArray[np.int64], targets: NDArray[np.float32]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """For each target, the indices in `shared` (ascending ids) of the rows that rebuild it, and their weights."""
    count, width = targets.shape
    most = min(MOST_SOURCES, len(shared), width)
    indices = np.full((count, most), -1, np.int64)
    atoms = np.zeros((count, most, width), np.float32)
    residuals = targets.copy()
    goal = ROUNDING * np.linalg.norm(targets, axis=1)
    basis = np.zeros_like(atoms)
    for step in range(most):
        active = np.flatnonzero(np.linalg.norm(residuals, axis=1) > goal)
        if not len(active):
            break
        places, rows = nearest(matrix, shared, residuals[active], indices[active, :step])
        indices[active, step], atoms[active, step] = places, rows
        direction = rows.copy()
        for _ in range(2):  # twice, to remove the rounding error of the first pass
            direction -= np.einsum(
                "nk,nkd->nd", np.einsum("nkd,nd->nk", basis[active, :step], direction), basis[active, :step]
            )
        sizes = np.linalg.norm(direction, axis=1, keepdims=True)
        direction = np.divide(direction, sizes, out=np.zeros_like(direction), where=sizes > ROUNDING)
        basis[active, step] = direction
        residuals[active] -= np.einsum("nd,nd->n", residuals[active], direction)[:, None] * direction
    for row in range(count):
        places = indices[row][indices[row] >= 0]
        base = atoms[row, : len(places)].astype(np.float64)
        weights = (
            np.linalg.lstsq(base.T, targets[row].astype(np.float64), rcond=None)[0] if len(places) else np.zeros(0)
        )
        yield places, weights


def nearest(
    matrix: Matrix, shared: NDArray[np.int64], left: NDArray[np.float32], taken: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each residual, the index in `shared`, not in `taken`, of the row with the smallest angle to it; and that row."""
    count = len(left)
    best, places = np.full(count, -1.0, np.float32), np.zeros(count, np.int64)
    best_rows = np.zeros_like(left)
    for start, raw in matrix.raw_blocks():
        first, last = np.searchsorted(shared, [start, start + len(raw)])
        rows = to_float32(raw[shared[first:last] - start])
        if not len(rows):
            continue
        sizes = np.linalg.norm(rows, axis=1)
        cosines = np.abs(rows @ left.T) / np.where(sizes > 0, sizes, np.inf)[:, None]
        for column in range(taken.shape[1]):
            inside = np.flatnonzero((taken[:, column] >= first) & (taken[:, column] < last))
            cosines[taken[inside, column] - first, inside] = -1
        at = cosines.argmax(axis=0)
        value = cosines[at, np.arange(count)]
        better = value > best
        best[better], places[better] = value[better], at[better] + first
        best_rows[better] = rows[at[better]]
    return places, best_rows
