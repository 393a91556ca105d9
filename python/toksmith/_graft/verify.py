"""Compares a grafted folder with the checkpoint, by numpy alone, and without what wrote it.

Untouched tensors have equal sums (sha256). Kept rows have equal bits. Every other row is computed again, row by row. The
tokenizer is loaded from the folder, and its tokens must be those that the rows were made for.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._base.errors import ToksmithError
from .._sources.load import load
from .model_folder import ModelFolder, opened
from .plan import GraftPlan
from .report import GraftProof
from .rows import OldRows
from .tokens import keys_of
from .vocab_tensors import VocabTensor, with_place
from .weights import Tensor, doubles, rounded

__all__ = ["verified"]

BLOCK_BYTES = 256 << 10
MOST_DIFFERENCES = 100


class ProofTally:
    """What was compared so far."""

    def __init__(self) -> None:
        self.untouched = self.kept = self.made = self.files = 0
        self.differences: list[str] = []

    def differs(self, said: str) -> None:
        """Notes a difference; the first ones are enough."""
        if len(self.differences) < MOST_DIFFERENCES:
            self.differences.append(said)


def verified(plan: GraftPlan, place: Path) -> GraftProof:
    """What a comparison of the folder with the plan finds."""
    tally = ProofTally()
    try:
        found = opened(place)
        check_tokens(plan, place, tally)
        check_files(plan, place, tally)
        check_tensors(plan, found, tally)
    except (ToksmithError, OSError) as error:
        tally.differs(str(error))
    return GraftProof(tally.untouched, tally.kept, tally.made, tally.files, tuple(tally.differences))


def check_tokens(plan: GraftPlan, place: Path, tally: ProofTally) -> None:
    """Whether the tokenizer in the folder has the tokens that the rows are for."""
    found = keys_of(load(place / "tokenizer.json"))
    wrong = [id for id in {*found, *plan.found.new} if found.get(id) != plan.found.new.get(id)]
    if wrong:
        id = min(wrong)
        tally.differs(f"tokenizer.json: the id {id} is {found.get(id)}; expected {plan.found.new.get(id)}")


def check_files(plan: GraftPlan, place: Path, tally: ProofTally) -> None:
    """Whether the small files are as planned, and no stale file of a tokenizer is left."""
    for name, data in plan.files.items():
        tally.files += 1
        if not is_file_of(place / name, data):
            tally.differs(f"{name}: is not what was planned")
    for name in plan.folder.copied:
        tally.files += 1
        if not (place / name).is_file() or sum_of(place / name) != sum_of(plan.folder.place / name):
            tally.differs(f"{name}: differs from the checkpoint's")
    for name in plan.folder.stale:
        if name not in plan.files and (place / name).exists():
            tally.differs(f"{name}: belongs to the old tokenizer")


def is_file_of(path: Path, data: bytes) -> bool:
    """Whether there is a file with these bytes; one of another size is not read."""
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def check_tensors(plan: GraftPlan, found: ModelFolder, tally: ProofTally) -> None:
    new = {(tensor.path.name, tensor.name): tensor for tensor in found.tensors()}
    changed = {each.tensor.name: each for each in plan.tensors}
    for old in plan.folder.tensors():
        tensor = new.pop((old.path.name, old.name), None)
        if tensor is None:
            tally.differs(f"{old.path.name}: {old.name} is missing")
        elif old.name in changed:
            check_rows(plan, changed[old.name], tensor, tally)
        elif (old.dtype, old.shape) != (tensor.dtype, tensor.shape) or sum_of(old.path, old) != sum_of(
            tensor.path, tensor
        ):
            tally.differs(f"{old.path.name}: {old.name} differs from the checkpoint's")
        else:
            tally.untouched += 1
    for file, name in new:
        tally.differs(f"{file}: {name} is not in the checkpoint")


def check_rows(plan: GraftPlan, each: VocabTensor, tensor: Tensor, tally: ProofTally) -> None:
    expected = each.shape(plan.rows[1])
    if (tensor.dtype, tensor.shape) != (each.tensor.dtype, expected):
        tally.differs(f"{tensor.name}: is {tensor.dtype} {[*tensor.shape]}; expected {each.tensor.dtype} {[*expected]}")
        return
    recipe, now = plan.recipe(each), with_place(each, tensor).matrix
    mean_row = rounded(plan.means[each.tensor.name], each.matrix.dtype)
    with open(each.matrix.path, "rb") as stream:
        old = OldRows(each.matrix, stream)
        for start, rows in now.raw_blocks():
            copies = recipe.copies[start : start + len(rows)]
            kept = np.flatnonzero(copies >= 0)
            wrong = [*kept[different(rows[kept], old.rows(copies[kept]))].tolist()]
            tally.kept += len(kept) - len(wrong)
            for row in np.flatnonzero(copies < 0).tolist():
                if bytes(rows[row]) == bytes(row_of(old, recipe.sources(start + row), mean_row)):
                    tally.made += 1
                else:
                    wrong.append(row)
            for row in wrong:
                tally.differs(f"{tensor.name}: row {start + row:,} is not what was planned")


def different(one: NDArray[np.generic], two: NDArray[np.generic]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (one.view(np.uint8) != two.view(np.uint8)).any(axis=1)
    return found


def row_of(
    old: OldRows, sources: tuple[NDArray[np.int64], NDArray[np.float64]], mean_row: NDArray[np.generic]
) -> NDArray[np.generic]:
    """One new row, from the old rows one after another."""
    ids, weights = sources
    if not len(ids):
        return mean_row
    total = np.zeros(old.matrix.shape[1])
    for id, weight in zip(ids.tolist(), weights.tolist(), strict=True):
        total += weight * doubles(old.run(id, 1))[0]
    return rounded(total, old.matrix.dtype)


def sum_of(path: Path, part: Tensor | None = None) -> str:
    """The sha256 of a file, or of the numbers of one of its tensors."""
    found, left = hashlib.sha256(), sys.maxsize if part is None else len(part)
    with open(path, "rb") as stream:
        stream.seek(0 if part is None else part.begin)
        while block := stream.read(min(left, BLOCK_BYTES)):
            found.update(block)
            left -= len(block)
    return found.hexdigest()
