"""Finds the tensors that follow a checkpoint's vocabulary, and checks them against each other and the tokenizer.

A tensor follows the vocabulary if an axis is as long as the input matrix has rows. A tensor whose name is in no family is
refused unless the caller gives its role. The tensors, not the settings, decide whether a checkpoint is tied.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, get_args

from .._base.paths import printable_path
from .._base.wording import number_of
from .._tokenizer.tokenizer import Tokenizer
from ..errors import FormatError, InvalidOption
from .model_folder import ModelFolder
from .tensor_names import FAMILIES, Role, predicts_further, role_of
from .weights import TYPES, Matrix, Tensor

OTHER = "other"
ROLES: tuple[str, ...] = (*get_args(Role), OTHER)
NAMES = ("weight", "bias")
# Parts of names of tensors that quantising or an adapter adds to a matrix.
PARTS = (
    *("scale", "qweight", "qzeros", "g_idx", "zero_point", "absmax", "quant_map", "quant_state", "nested_", "lora_"),
    *("packed", "SCB", "original_module", "modules_to_save", "codebook"),
)
FEW = 0.75  # a tokenizer with fewer ids than this share of the rows is probably another model's


class VocabTensor(NamedTuple):
    """One tensor that follows the vocabulary, and its numbers as a matrix with a row for each id."""

    tensor: Tensor
    matrix: Matrix

    @property
    def role(self) -> Role:
        return self.matrix.role

    def shape(self, rows: int) -> tuple[int, ...]:
        shape = [*self.tensor.shape]
        shape[shape.index(len(self.matrix))] = rows
        return tuple(shape)


def vocab_tensors(folder: ModelFolder, patterns: Mapping[str, str]) -> list[VocabTensor]:
    """The tensors that follow the vocabulary, the input matrix first; `patterns`: roles by name or pattern of names."""
    roles = find_roles(folder, patterns)
    with_role = [tensor for tensor in folder.tensors() if roles.get(tensor.name) not in (None, OTHER)]
    inputs = [each for each in with_role if roles[each.name] == "input" and not predicts_further(each.name)]
    refuse_quantised(folder, [tensor.name for tensor in with_role])
    if not inputs:
        names = ", ".join(sorted(tensor.name for tensor in folder.tensors() if len(tensor.shape) == 2)[:6])
        problem = (
            f"has no tensor with the name of an input matrix, such as {FAMILIES[0].input[0]}; its matrices: {names}. "
            "Say which it is with tensors={'NAME': 'input'}"
        )
        raise FormatError(folder.place, None, problem)
    rows = inputs[0].shape[0] if inputs[0].shape else 0
    results = [VocabTensor(tensor, as_matrix(tensor, roles[tensor.name], inputs[0])) for tensor in with_role]
    refuse_unknown(folder, roles, rows, inputs[0].name)
    return sorted(
        results, key=lambda each: (each.role != "input", each.role != "output", predicts_further(each.tensor.name))
    )


def stored_heads(tensors: Sequence[VocabTensor]) -> list[VocabTensor]:
    """The output matrices of the model itself, without those of multi-token prediction."""
    return [each for each in tensors if each.role == "output" and not predicts_further(each.tensor.name)]


def find_roles(folder: ModelFolder, patterns: Mapping[str, str]) -> dict[str, str]:
    """The role of each tensor by name: the caller's role, otherwise the role in the table."""
    names = [tensor.name for tensor in folder.tensors()]
    roles: dict[str, str] = {name: own_role for name in names if (own_role := role_of(name)) is not None}
    for pattern, role in patterns.items():
        matching = [name for name in names if name == pattern] or fnmatch.filter(names, pattern)
        if role not in ROLES:
            raise InvalidOption("tensors", f"{pattern}={role}", f"one of the roles {', '.join(ROLES)}")
        if not matching:
            raise InvalidOption(
                "tensors", pattern, f"the name of a tensor of {printable_path(folder.place)}, or a pattern"
            )
        roles |= dict.fromkeys(matching, role)
    return roles


def as_matrix(tensor: Tensor, role: str, first: Tensor) -> Matrix:
    """The tensor as a matrix with a row for each id; a bias has rows of one number."""
    path, rows = printable_path(tensor.path), first.shape[0] if first.shape else 0
    if tensor.dtype not in TYPES:
        problem = f"has the dtype {tensor.dtype}: it is quantised; graft the checkpoint in {', '.join(TYPES)} and quantise the result"
        raise FormatError(path, tensor.name, problem)
    dimensions = 2 if role != "bias" else 1
    sizes = tensor.shape if role != "bias" else tuple(size for size in tensor.shape if size != 1)
    if len(sizes) != dimensions or 0 in sizes:
        expected = "rows and columns" if dimensions == 2 else "a number for each id"
        raise FormatError(path, tensor.name, f"has the shape {[*tensor.shape]}; expected {expected}")
    if sizes[0] != rows:
        problem = f"has {number_of(sizes[0], 'row')}, but {first.name} has {rows:,}; expected equally many. Is the checkpoint whole?"
        raise FormatError(path, tensor.name, problem)
    width = sizes[1] if dimensions == 2 else 1
    matrix_role: Role = "input" if role == "input" else "output" if role == "output" else "bias"
    return Matrix(Path(tensor.path), tensor.name, matrix_role, (rows, width), TYPES[tensor.dtype], tensor.begin)


def refuse_quantised(folder: ModelFolder, names: list[str]) -> None:
    """Raises FormatError for scales, zeros, packed numbers and adapters, which belong to a quantised or adapted matrix."""
    modules = {name.rpartition(".")[0] for name in names if "." in name}
    modules |= {name.rpartition(".")[0] for family in FAMILIES for name in (*family.input, *family.output)}
    for tensor in folder.tensors():
        module = next((each for each in modules if each and tensor.name.startswith(f"{each}.")), None)
        rest = "" if module is None else tensor.name.removeprefix(f"{module}.")
        if module is not None and rest not in NAMES and any(part in rest for part in PARTS):
            problem = f"belongs to a quantised or adapted {module}; graft the checkpoint that it was made from, and quantise the result"
            raise FormatError(tensor.path, tensor.name, problem)


def refuse_unknown(folder: ModelFolder, roles: Mapping[str, str], rows: int, first: str) -> None:
    """Raises FormatError for a tensor that can follow the vocabulary and has no role."""
    unknown = [tensor for tensor in folder.tensors() if rows in tensor.shape and tensor.name not in roles]
    if unknown:
        names = [f"{tensor.name} {[*tensor.shape]}" for tensor in unknown]
        rest = f" and {len(names) - 4} more" if len(names) > 4 else ""
        problem = (
            f"has an axis of {rows:,}, as many as {first} has rows, and no known name: {', '.join(names[:4])}{rest}. Say what it "
            f"is with tensors={{'{unknown[0].name}': 'other'}}, which copies it unchanged, or 'input', 'output' or 'bias'"
        )
        raise FormatError(unknown[0].path, None, problem)


def check_size(first: VocabTensor, old: Tokenizer) -> list[str]:
    rows, size = len(first.matrix), old.vocab_size
    if size > rows:
        problem = (
            f"has {number_of(rows, 'row')}, but the old tokenizer has ids up to {size - 1:,}; it belongs to another model. "
            "Name the tokenizer of this checkpoint with old="
        )
        raise FormatError(first.tensor.path, first.tensor.name, problem)
    if size < FEW * rows:
        return [f"the old tokenizer has {size:,} ids for {rows:,} rows; make sure that it is the checkpoint's"]
    return []


def in_other_file(each: VocabTensor, tensor: Tensor) -> VocabTensor:
    """The same tensor in another file, with that file's number of rows."""
    rows = tensor.shape[[*each.tensor.shape].index(len(each.matrix))]
    matrix = replace(each.matrix, path=tensor.path, shape=(rows, each.matrix.shape[1]), begin=tensor.begin)
    return VocabTensor(tensor, matrix)
