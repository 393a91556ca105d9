"""Plans a graft: determines and checks all changes before `graft` writes anything."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.paths import printable_path
from .._tokenizer.tokenizer import Tokenizer
from .._training.surgery import IdMap
from ..errors import InvalidOption
from .donor import open_donor
from .model_folder import CONFIG, GENERATION, ModelFolder, open_folder
from .recipes import InitRule, Recipe, Recipes, find_id, parse_init, recipes
from .rows import mean_of_rows, new_blocks, same_numbers
from .settings import Rewriting, dump_settings, rewrite_settings, set_vocab_size
from .tokenizer_files import own_tokenizer, tokenizer_files
from .tokens import Origins, find_origins
from .vocab_tensors import VocabTensor, check_size, stored_heads, vocab_tensors
from .weights import INDEX
from .write import NewTensor

TIED = "tie_word_embeddings"
# The classes of models that compute logits of ids. Others need no head, and their flag stays.
HEADED = re.compile(r"LM$|LMHead|(ConditionalGeneration|PreTraining)$")
MULTIPLE_KEYS = ("pad_vocab_size_multiple", "make_vocab_size_divisible_by")
# In the order of trial: tensor cores want 64, and smaller ones are for rows that 64 does not divide.
MULTIPLES = (64, 128, 256, 512, 32, 16, 8)
MOST_PAD = 1 << 16


@dataclass(frozen=True)
class GraftRequest:
    """The arguments of `graft` other than the checkpoint, the tokenizer and the output."""

    old: Tokenizer | None
    id_map: IdMap | None
    init: str | Sequence[str]
    pad_to: int | None
    tensors: Mapping[str, str]
    tokens: Mapping[str, str]
    allow_loss: Collection[str]
    donor: str | os.PathLike[str] | None
    donor_tokenizer: Tokenizer | None


@dataclass(frozen=True, eq=False)
class GraftPlan:
    """The content of the new folder, and its sources."""

    folder: ModelFolder
    new: Tokenizer
    origins: Origins
    rows: tuple[int, int]  # the number of rows of the old and of the new matrices
    tied: bool  # whether one matrix is for input and output
    tensors: tuple[VocabTensor, ...]  # the tensors that follow the vocabulary
    init: InitRule
    recipes: Recipes
    means: Mapping[str, NDArray[np.float64]]  # the mean row of each tensor, in float64
    files: Mapping[str, bytes]  # the content of each new small file
    notes: tuple[str, ...]
    donated: int = 0  # the number of new tokens that the donor has

    def recipe(self, each: VocabTensor) -> Recipe:
        return self.recipes.input if each.role == "input" else self.recipes.output

    def new_tensors(self) -> dict[str, NewTensor]:
        new = (
            NewTensor(
                each, self.rows[1], partial(new_blocks, each.matrix, self.recipe(each), self.means[each.tensor.name])
            )
            for each in self.tensors
        )
        return {each.before.tensor.name: each for each in new}

    def size(self) -> int:
        size_of = {name: tensor.size for name, tensor in self.new_tensors().items()}
        return sum(size_of.get(tensor.name, len(tensor)) for tensor in self.folder.tensors())


def make_plan(place: str | os.PathLike[str], new: Tokenizer, request: GraftRequest) -> GraftPlan:
    folder = open_folder(place)
    tensors = vocab_tensors(folder, request.tensors)
    first = tensors[0]
    old = request.old or own_tokenizer(folder, "old=")
    notes = check_size(first, old)
    source = find_origins(old, new, request.id_map)
    before = (len(first.matrix), old.vocab_size)
    multiple = next((folder.config[key] for key in MULTIPLE_KEYS if key in folder.config), None)
    rows = (before[0], count_new_rows(before, new.vocab_size, request.pad_to, multiple))
    role_ids = choose_tokens(request.tokens, source)
    config = set_vocab_size(folder.config, printable_path(folder.place / CONFIG), rows, first.tensor.name)
    how = Rewriting(source, rows, role_ids)
    settings = {CONFIG: rewrite_settings(config, CONFIG, how)}
    if folder.generation is not None:
        used = {name: id for name, id in role_ids.items() if f"{name}_id" in folder.generation}
        settings[GENERATION] = rewrite_settings(folder.generation, GENERATION, Rewriting(source, rows, used, how.notes))
    of_tokenizer, file_notes = tokenizer_files(folder, old.model, new, request.tokens, request.allow_loss)
    init = parse_init(request.init, source)
    tied, tying_notes = check_tying(tensors, settings[CONFIG])
    donor = None if request.donor is None else open_donor(request.donor, request.donor_tokenizer)
    means = {each.tensor.name: mean_of_rows(each.matrix, source.old) for each in tensors}
    settings_before = {CONFIG: folder.config, GENERATION: folder.generation}
    files = {name: dump_settings(value) for name, value in settings.items() if value != settings_before[name]}
    if folder.index is not None:
        files[INDEX] = dump_settings(new_index(folder, tensors, rows))
    return GraftPlan(
        folder,
        new,
        source,
        rows,
        tied,
        tuple(tensors),
        init,
        recipes(source, rows, init, tied=tied, donor=None if donor is None else donor.sums),
        means,
        {**files, **of_tokenizer},
        tuple(dict.fromkeys([*notes, *tying_notes, *how.notes, *file_notes])),
        0 if donor is None else len(donor.made(source)),
    )


def count_new_rows(before: tuple[int, int], size: int, pad_to: int | None, config_multiple: object = None) -> int:
    """The number of rows of the new matrices.

    It stays the same if the new ids fit and the vocabulary did not shrink. Otherwise padded rows stay padded: to the
    multiple in the settings, otherwise to the least from 64 that pads the old ids to the old rows, otherwise to 64. Rows
    that 64 does not divide follow 32, 16 or 8, or get no padding. `before` is (old rows, old ids).
    """
    rows, old_size = before
    if pad_to is not None:
        if not 1 <= pad_to <= MOST_PAD:
            raise InvalidOption("pad_to", pad_to, f"a multiple from 1 to {MOST_PAD}, such as 64 or 128")
        return pad_size(size, pad_to)
    if rows != old_size and old_size <= size <= rows:
        return rows
    if type(config_multiple) is int and 1 <= config_multiple <= MOST_PAD and rows % config_multiple == 0:
        return pad_size(size, config_multiple)
    if rows == old_size:
        return size
    fallback = MULTIPLES[0] if rows % MULTIPLES[0] == 0 else 1
    return pad_size(size, next((each for each in MULTIPLES if pad_size(old_size, each) == rows), fallback))


def pad_size(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def choose_tokens(tokens: Mapping[Any, Any], origins: Origins) -> dict[str, int]:
    ids = {}
    for name, token in tokens.items():
        if not isinstance(name, str) or not name.endswith("_token"):
            raise InvalidOption("tokens", name, "names such as eos_token")
        id = find_id(token, origins.new) if isinstance(token, str) else None
        if id is None:
            raise InvalidOption("tokens", token, f"a token of the new tokenizer for {name}")
        ids[name] = id
    return ids


def check_tying(tensors: Sequence[VocabTensor], config: dict[str, Any]) -> tuple[bool, list[str]]:
    """Whether the checkpoint is tied, and notes for the report. Corrects a flag of `config` that contradicts the tensors."""
    first = tensors[0]
    heads = stored_heads(tensors)
    inner = config.get("text_config")
    parts = [config, *([inner] if isinstance(inner, dict) else [])]
    if not heads:
        return True, write_tied(parts, first.tensor.name)
    if all(same_numbers(first.matrix, head.matrix) for head in heads):
        return True, []
    notes = []
    for part in parts:
        if part.get(TIED) is True:
            part[TIED] = False
            notes.append(f"{heads[0].tensor.name} differs from {first.tensor.name}: {TIED} was true, and is now false")
    return False, notes


def write_tied(parts: Sequence[dict[str, Any]], input_name: str) -> list[str]:
    """Writes the flag of a checkpoint without a head; without it, transformers 5 makes a head of random numbers."""
    models = parts[0].get("architectures") or ["LM"]
    if all(part.get(TIED) is True for part in parts) or not any(HEADED.search(str(model)) for model in models):
        return []
    for part in parts:
        part[TIED] = True
    return [f"no head is stored, so the model's is {input_name}: {TIED} was not true in {CONFIG}, and is now"]


def new_index(folder: ModelFolder, tensors: Sequence[VocabTensor], rows: tuple[int, int]) -> dict[str, Any]:
    index = dict(folder.index or {})
    metadata = dict(index.get("metadata") or {})
    widths = [(each.matrix.shape[1], each.matrix.dtype.itemsize) for each in tensors]
    new_rows_count = rows[1] - rows[0]
    total = sum(len(tensor) for tensor in folder.tensors())
    metadata["total_size"] = total + new_rows_count * sum(width * size for width, size in widths)
    if type(metadata.get("total_parameters")) is int:
        metadata["total_parameters"] += new_rows_count * sum(width for width, _ in widths)
    index["metadata"] = metadata
    return index
