"""Plans a graft: determines and checks all changes before `graft` writes anything."""

from __future__ import annotations

import os
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
from .vocab_tensors import VocabTensor, check_size, vocab_tensors
from .weights import INDEX
from .write import NewTensor

__all__ = ["GraftPlan", "GraftRequest", "make_plan"]

TIED = "tie_word_embeddings"
# Multiples of rows, the usual one first, and the settings that name one.
MULTIPLES = (64, 128, 256, 512, 32, 16, 8)
MULTIPLE_NAMES = ("pad_vocab_size_multiple", "make_vocab_size_divisible_by")
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
    before_rows = (len(first.matrix), old.vocab_size)
    rows = (before_rows[0], count_new_rows(before_rows, new.vocab_size, request.pad_to, folder.config))
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
    before = {CONFIG: folder.config, GENERATION: folder.generation}
    files = {name: dump_settings(value) for name, value in settings.items() if value != before[name]}
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


def count_new_rows(before: tuple[int, int], size: int, pad_to: int | None, config: Mapping[str, Any]) -> int:
    """The number of rows of the new matrices.

    It stays the same if the new ids fit and the vocabulary did not shrink. Otherwise padded rows stay padded: to the multiple
    that `config` names, or that leads from the old ids to the old rows, or to 64. `before` is (old rows, old ids).
    """
    rows, old_size = before
    if pad_to is not None:
        if not 1 <= pad_to <= MOST_PAD:
            raise InvalidOption("pad_to", pad_to, f"a multiple from 1 to {MOST_PAD}, such as 64 or 128")
        return -(-size // pad_to) * pad_to
    if rows == old_size:
        return size
    if old_size <= size <= rows:
        return rows
    named = [config[name] for name in MULTIPLE_NAMES if type(config.get(name)) is int and config[name] > 0]
    fitting = [each for each in (*named, *MULTIPLES) if -(-old_size // each) * each == rows]
    multiple = fitting[0] if fitting else MULTIPLES[0] if rows % MULTIPLES[0] == 0 else 1
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
    heads = [each for each in tensors if each.role == "output"]
    tied = all(same_numbers(first.matrix, head.matrix) for head in heads)
    if tied and heads:
        return True, []  # both are stored, so the flag decides nothing
    inner = config.get("text_config")
    parts = [config, *([inner] if isinstance(inner, dict) else [])]
    wrong = (
        [part for part in parts if part.get(TIED) is not True]
        if tied
        else [part for part in parts if part.get(TIED) is True]
    )
    for part in wrong:
        part[TIED] = tied
    cause = (
        f"no output matrix is stored, so {first.tensor.name} is also the head"
        if tied
        else f"{heads[0].tensor.name} differs from {first.tensor.name}"
    )
    return tied, [f"{cause}: {TIED} is now {str(tied).lower()}"] if wrong else []


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
