"""Rows of new tokens from another model that knows them: orthogonal matching pursuit over shared tokens.

A donor's row is rebuilt from the rows of at most 64 tokens that both models have; the same weights on the rows of the old
model make the new row. The tokens are chosen one by one: the one whose row is most like what is left, in angle; then what
is left is what no sum of the chosen rows gives. The donor's matrix is read once for each choice, so memory is some blocks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InvalidOption
from .._tokenizer.tokenizer import Tokenizer
from .model_folder import opened
from .rows import sound_mean
from .tokenizer_files import own_tokenizer
from .tokens import Origins, TokenKey, keys_of
from .vocab_tensors import check_size, vocab_tensors
from .weights import Matrix, floats

__all__ = ["MOST_SOURCES", "Donor", "opened_donor"]

MOST_SOURCES = 64
ROOM_BYTES = 64 << 20  # for the chosen rows of the tokens that are worked on together
SETTLED = 1e-6  # of a row: what is left is rounding

Sums = dict[int, tuple[Sequence[int], NDArray[np.float64]]]


class Donor(NamedTuple):
    """A model that knows the new tokens: its tokens by id, and its matrices for input and output."""

    keys: Mapping[int, TokenKey]
    input: Matrix
    output: Matrix

    def made(self, found: Origins) -> dict[int, int]:
        """The donor's id of each new ordinary token that it has."""
        place = {key: id for id, key in self.keys.items() if not key.special}
        return {id: place[found.new[id]] for id in found.pieces if found.new[id] in place}

    def sums(self, found: Origins, side: str) -> Sums:
        """For each new ordinary token that the donor has, the old rows and the weights that make its row."""
        place = {key: id for id, key in self.keys.items() if not key.special}
        shared = sorted((place[key], id) for id, key in found.old.items() if key in place)
        if not shared:
            raise InvalidOption("donor", None, "a model that has tokens of the checkpoint, too; these share none")
        theirs, ours = (np.array(ids, np.int64) for ids in zip(*shared, strict=True))
        matrix = self.output if side == "output" else self.input
        sums: Sums = {}
        for part in chunks([*self.made(found).items()], matrix.shape[1]):
            rows = rows_of(matrix, np.array([id for _, id in part], np.int64))
            for (id, _), (places, weights) in zip(part, pursued(matrix, theirs, rows), strict=True):
                sums[id] = (ours[places].tolist(), weights)
        return sums


def opened_donor(place: str | os.PathLike[str], tok: Tokenizer | None) -> Donor:
    """The donor in a folder; `tok` is its tokenizer where it is not that of the folder."""
    folder = opened(place)
    matrices = [each for each in vocab_tensors(folder, {}) if each.role != "bias"]
    own = tok or own_tokenizer(folder, "donor_tokenizer=")
    check_size(matrices[0], own)
    keys = keys_of(own)
    for each in matrices:
        sound_mean(each.matrix, keys)  # refuses NaN
    heads = [each.matrix for each in matrices if each.role == "output"]
    return Donor(keys, matrices[0].matrix, (heads or [matrices[0].matrix])[0])


def chunks(made: list[tuple[int, int]], width: int) -> Iterator[list[tuple[int, int]]]:
    """The tokens in parts whose chosen rows fit into memory."""
    most = max(1, ROOM_BYTES // (4 * MOST_SOURCES * width))
    return (made[start : start + most] for start in range(0, len(made), most))


def rows_of(matrix: Matrix, ids: NDArray[np.int64]) -> NDArray[np.float32]:
    """Some rows in any order."""
    wanted, places = np.unique(ids, return_inverse=True)
    return matrix.rows(wanted)[places]


def pursued(
    matrix: Matrix, shared: NDArray[np.int64], targets: NDArray[np.float32]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """For each target the places of the rows that rebuild it in `shared`, which ascends, and their weights."""
    count, width = targets.shape
    most = min(MOST_SOURCES, len(shared), width)
    chosen = np.full((count, most), -1, np.int64)
    atoms = np.zeros((count, most, width), np.float32)
    left = targets.copy()
    goal = SETTLED * np.linalg.norm(targets, axis=1)
    basis = np.zeros_like(atoms)
    for step in range(most):
        open_ones = np.flatnonzero(np.linalg.norm(left, axis=1) > goal)
        if not len(open_ones):
            break
        places, rows = nearest(matrix, shared, left[open_ones], chosen[open_ones, :step])
        chosen[open_ones, step], atoms[open_ones, step] = places, rows
        fresh = rows.copy()
        for _ in range(2):  # once more, for what rounding left
            fresh -= np.einsum(
                "nk,nkd->nd", np.einsum("nkd,nd->nk", basis[open_ones, :step], fresh), basis[open_ones, :step]
            )
        sizes = np.linalg.norm(fresh, axis=1, keepdims=True)
        fresh = np.divide(fresh, sizes, out=np.zeros_like(fresh), where=sizes > SETTLED)
        basis[open_ones, step] = fresh
        left[open_ones] -= np.einsum("nd,nd->n", left[open_ones], fresh)[:, None] * fresh
    for row in range(count):
        places = chosen[row][chosen[row] >= 0]
        own = atoms[row, : len(places)].astype(np.float64)
        weights = np.linalg.lstsq(own.T, targets[row].astype(np.float64), rcond=None)[0] if len(places) else np.zeros(0)
        yield places, weights


def nearest(
    matrix: Matrix, shared: NDArray[np.int64], left: NDArray[np.float32], taken: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each row the place in `shared`, not yet taken, of the row that is most like it in angle; and that row."""
    count = len(left)
    best, places = np.full(count, -1.0, np.float32), np.zeros(count, np.int64)
    found = np.zeros_like(left)
    for start, raw in matrix.raw_blocks():
        first, last = np.searchsorted(shared, [start, start + len(raw)])
        rows = floats(raw[shared[first:last] - start])
        if not len(rows):
            continue
        sizes = np.linalg.norm(rows, axis=1)
        alike = np.abs(rows @ left.T) / np.where(sizes > 0, sizes, np.inf)[:, None]
        for column in range(taken.shape[1]):
            inside = np.flatnonzero((taken[:, column] >= first) & (taken[:, column] < last))
            alike[taken[inside, column] - first, inside] = -1
        at = alike.argmax(axis=0)
        value = alike[at, np.arange(count)]
        better = value > best
        best[better], places[better] = value[better], at[better] + first
        found[better] = rows[at[better]]
    return places, found
