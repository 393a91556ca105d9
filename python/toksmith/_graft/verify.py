"""Compares a grafted folder with the checkpoint, with numpy and without the code that wrote it.

Untouched tensors must have equal SHA-256 sums, and kept rows equal bits. The comparison computes every other row again.
It loads the tokenizer from the folder, whose tokens must be the tokens of the plan.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._sources.load import load
from ..errors import ToksmithError
from .model_folder import ModelFolder, open_folder
from .plan import GraftPlan
from .report import GraftProof
from .rows import OldRows
from .tokens import token_keys
from .vocab_tensors import VocabTensor, in_other_file
from .weights import Tensor, round_to, to_float64

BLOCK_BYTES = 256 << 10
MOST_DIFFERENCES = 100


class ProofTally:
    """The counts of compared parts, and the differences."""

    def __init__(self) -> None:
        self.untouched = self.kept = self.made = self.files = 0
        self.differences: list[str] = []

    def differs(self, difference: str) -> None:
        """Adds a difference, up to MOST_DIFFERENCES."""
        if len(self.differences) < MOST_DIFFERENCES:
            self.differences.append(difference)


def verify_folder(plan: GraftPlan, place: Path) -> GraftProof:
    tally = ProofTally()
    try:
        folder = open_folder(place)
        check_tokens(plan, place, tally)
        check_files(plan, place, tally)
        check_tensors(plan, folder, tally)
    except (ToksmithError, OSError) as error:
        tally.differs(str(error))
    return GraftProof(tally.untouched, tally.kept, tally.made, tally.files, tuple(tally.differences))


def check_tokens(plan: GraftPlan, place: Path, tally: ProofTally) -> None:
    """Compares the tokens of the tokenizer in the folder with the plan's."""
    keys = token_keys(load(place / "tokenizer.json"))
    wrong = [id for id in {*keys, *plan.origins.new} if keys.get(id) != plan.origins.new.get(id)]
    if wrong:
        id = min(wrong)
        tally.differs(f"tokenizer.json: the id {id} is {keys.get(id)}; expected {plan.origins.new.get(id)}")


def check_files(plan: GraftPlan, place: Path, tally: ProofTally) -> None:
    """Compares the small files with the plan and the checkpoint; no stale tokenizer file may remain."""
    for name, data in plan.files.items():
        tally.files += 1
        if not is_file_of(place / name, data):
            tally.differs(f"{name}: differs from the plan")
    for name in plan.folder.copied:
        tally.files += 1
        if not (place / name).is_file() or sha256_of(place / name) != sha256_of(plan.folder.place / name):
            tally.differs(f"{name}: differs from the checkpoint's")
    for name in plan.folder.stale:
        if name not in plan.files and (place / name).exists():
            tally.differs(f"{name}: belongs to the old tokenizer")
    for name in plan.folder.left_out:
        if (place / name).is_file():
            tally.differs(f"{name}: belongs to the old weights")


def is_file_of(path: Path, data: bytes) -> bool:
    """Whether the file exists with these bytes; a file of another size is not read."""
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def check_tensors(plan: GraftPlan, folder: ModelFolder, tally: ProofTally) -> None:
    new = {(folder.name_of(tensor.path), tensor.name): tensor for tensor in folder.tensors()}
    vocab_tensors = {each.tensor.name: each for each in plan.tensors}
    for old in plan.folder.tensors():
        file_name = plan.folder.name_of(old.path)
        tensor = new.pop((file_name, old.name), None)
        if tensor is None:
            tally.differs(f"{file_name}: {old.name} is missing")
        elif old.name in vocab_tensors:
            check_rows(plan, vocab_tensors[old.name], tensor, tally)
        elif (old.dtype, old.shape) != (tensor.dtype, tensor.shape) or sha256_of(old.path, old) != sha256_of(
            tensor.path, tensor
        ):
            tally.differs(f"{file_name}: {old.name} differs from the checkpoint's")
        else:
            tally.untouched += 1
    for file, name in new:
        tally.differs(f"{file}: {name} is not in the checkpoint")


def check_rows(plan: GraftPlan, each: VocabTensor, tensor: Tensor, tally: ProofTally) -> None:
    expected = each.shape(plan.rows[1])
    if (tensor.dtype, tensor.shape) != (each.tensor.dtype, expected):
        tally.differs(f"{tensor.name}: is {tensor.dtype} {[*tensor.shape]}; expected {each.tensor.dtype} {[*expected]}")
        return
    recipe, new_matrix = plan.recipe(each), in_other_file(each, tensor).matrix
    mean_row = round_to(plan.means[each.tensor.name], each.matrix.dtype)
    with open(each.matrix.path, "rb") as stream:
        old = OldRows(each.matrix, stream)
        for start, rows in new_matrix.raw_blocks():
            copies = recipe.copies[start : start + len(rows)]
            kept = np.flatnonzero(copies >= 0)
            wrong = [*kept[rows_differ(rows[kept], old.rows(copies[kept]))].tolist()]
            tally.kept += len(kept) - len(wrong)
            for row in np.flatnonzero(copies < 0).tolist():
                if bytes(rows[row]) == bytes(compute_row(old, recipe.sources(start + row), mean_row)):
                    tally.made += 1
                else:
                    wrong.append(row)
            for row in wrong:
                tally.differs(f"{tensor.name}: row {start + row:,} differs from the plan")


def rows_differ(one: NDArray[np.generic], two: NDArray[np.generic]) -> NDArray[np.bool_]:
    differs: NDArray[np.bool_] = (one.view(np.uint8) != two.view(np.uint8)).any(axis=1)
    return differs


def compute_row(
    old: OldRows, sources: tuple[NDArray[np.int64], NDArray[np.float64]], mean_row: NDArray[np.generic]
) -> NDArray[np.generic]:
    """One new row, computed from its old rows one after another."""
    ids, weights = sources
    if not len(ids):
        return mean_row
    total = np.zeros(old.matrix.shape[1])
    for id, weight in zip(ids.tolist(), weights.tolist(), strict=True):
        total += weight * to_float64(old.run(id, 1))[0]
    return round_to(total, old.matrix.dtype)


def sha256_of(path: Path, part: Tensor | None = None) -> str:
    digest, remaining = hashlib.sha256(), sys.maxsize if part is None else len(part)
    with open(path, "rb") as stream:
        stream.seek(0 if part is None else part.begin)
        while block := stream.read(min(remaining, BLOCK_BYTES)):
            digest.update(block)
            remaining -= len(block)
    return digest.hexdigest()
