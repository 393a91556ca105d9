"""What a graft will do, found and checked before anything is written."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InvalidOption
from .._base.paths import shown
from .._tokenizer.tokenizer import Tokenizer
from .._training.surgery import IdMap
from .donor import opened_donor
from .model_folder import CONFIG, GENERATION, ModelFolder, opened
from .recipes import InitRule, Recipe, Recipes, chosen_init, id_of, recipes
from .rows import new_blocks, same_numbers, sound_mean
from .settings import Rewriting, json_bytes, rewritten, sized
from .tokenizer_files import own_tokenizer, tokenizer_files
from .tokens import Origins, origins
from .vocab_tensors import VocabTensor, check_size, vocab_tensors
from .weights import INDEX
from .write import NewTensor

__all__ = ["GraftPlan", "GraftRequest", "planned"]

TIED = "tie_word_embeddings"
MOST_MULTIPLE, LEAST_MULTIPLE = 512, 8
MOST_PAD = 1 << 16


@dataclass(frozen=True)
class GraftRequest:
    """What the caller asks for beside the checkpoint and the tokenizer; as the arguments of `graft`."""

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
    """What is to be written, and from what."""

    folder: ModelFolder
    new: Tokenizer
    found: Origins
    rows: tuple[int, int]  # how many the matrices had, and how many they get
    tied: bool  # one matrix is for input and output
    tensors: tuple[VocabTensor, ...]  # those that follow the vocabulary
    init: InitRule
    recipes: Recipes
    means: Mapping[str, NDArray[np.float64]]  # the mean row of each tensor, in float64
    files: Mapping[str, bytes]  # every small file
    notes: tuple[str, ...]
    donated: int = 0  # new tokens that a donor knows

    def recipe(self, each: VocabTensor) -> Recipe:
        return self.recipes.input if each.role == "input" else self.recipes.output

    def new_tensors(self) -> dict[str, NewTensor]:
        made = (
            NewTensor(
                each, self.rows[1], partial(new_blocks, each.matrix, self.recipe(each), self.means[each.tensor.name])
            )
            for each in self.tensors
        )
        return {each.was.tensor.name: each for each in made}

    def size(self) -> int:
        changed = {name: tensor.size for name, tensor in self.new_tensors().items()}
        return sum(changed.get(tensor.name, len(tensor)) for tensor in self.folder.tensors())


def planned(place: str | os.PathLike[str], new: Tokenizer, asked: GraftRequest) -> GraftPlan:
    folder = opened(place)
    tensors = vocab_tensors(folder, asked.tensors)
    first = tensors[0]
    old = asked.old or own_tokenizer(folder, "old=")
    notes = check_size(first, old)
    found = origins(old, new, asked.id_map)
    rows = (len(first.matrix), new_rows((len(first.matrix), old.vocab_size), new.vocab_size, asked.pad_to))
    chosen = chosen_tokens(asked.tokens, found)
    config = sized(folder.config, shown(folder.place / CONFIG), rows, first.tensor.name)
    how = Rewriting(found, rows, chosen)
    settings = {CONFIG: rewritten(config, CONFIG, how)}
    if folder.generation is not None:
        known = {name: id for name, id in chosen.items() if f"{name}_id" in folder.generation}
        settings[GENERATION] = rewritten(folder.generation, GENERATION, Rewriting(found, rows, known, how.notes))
    of_tokenizer, more = tokenizer_files(folder, old.model, new, asked.tokens, asked.allow_loss)
    init = chosen_init(asked.init, found)
    tied, said = tying(tensors, settings[CONFIG])
    donor = None if asked.donor is None else opened_donor(asked.donor, asked.donor_tokenizer)
    means = {each.tensor.name: sound_mean(each.matrix, found.old) for each in tensors}
    before = {CONFIG: folder.config, GENERATION: folder.generation}
    files = {name: json_bytes(value) for name, value in settings.items() if value != before[name]}
    if folder.index is not None:
        files[INDEX] = json_bytes(new_index(folder, tensors, rows))
    return GraftPlan(
        folder,
        new,
        found,
        rows,
        tied,
        tuple(tensors),
        init,
        recipes(found, rows, init, tied=tied, donor=None if donor is None else donor.sums),
        means,
        {**files, **of_tokenizer},
        tuple(dict.fromkeys([*notes, *said, *how.notes, *more])),
        0 if donor is None else len(donor.made(found)),
    )


def new_rows(before: tuple[int, int], size: int, pad_to: int | None) -> int:
    """How many rows the new matrices get.

    The number stays where the new ids fit and the vocabulary did not shrink. Else rows that were padded are padded to the
    same multiple: the largest power of two that divides their number. `before` is how many rows there were, and how many ids.
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
    multiple = min(rows & -rows, MOST_MULTIPLE)
    return size if multiple < LEAST_MULTIPLE else -(-size // multiple) * multiple


def chosen_tokens(tokens: Mapping[Any, Any], found: Origins) -> dict[str, int]:
    chosen = {}
    for name, token in tokens.items():
        if not isinstance(name, str) or not name.endswith("_token"):
            raise InvalidOption("tokens", name, "names such as eos_token")
        id = id_of(token, found.new) if isinstance(token, str) else None
        if id is None:
            raise InvalidOption("tokens", token, f"a token of the new tokenizer for {name}")
        chosen[name] = id
    return chosen


def tying(tensors: Sequence[VocabTensor], config: dict[str, Any]) -> tuple[bool, list[str]]:
    """Whether the checkpoint is tied, and what to know about it. A flag that contradicts the tensors is corrected."""
    first = tensors[0]
    heads = [each for each in tensors if each.role == "output"]
    if not heads:
        return True, []
    if all(same_numbers(first.matrix, head.matrix) for head in heads):
        return True, []
    inner = config.get("text_config")
    said = []
    for part in (config, inner if isinstance(inner, dict) else {}):
        if part.get(TIED) is True:
            part[TIED] = False
            said.append(f"{heads[0].tensor.name} differs from {first.tensor.name}: {TIED} was true, and is now false")
    return False, said


def new_index(folder: ModelFolder, tensors: Sequence[VocabTensor], rows: tuple[int, int]) -> dict[str, Any]:
    index = dict(folder.index or {})
    metadata = dict(index.get("metadata") or {})
    widths = [(each.matrix.shape[1], each.matrix.dtype.itemsize) for each in tensors]
    more = rows[1] - rows[0]
    total = sum(len(tensor) for tensor in folder.tensors())
    metadata["total_size"] = total + more * sum(width * size for width, size in widths)
    if type(metadata.get("total_parameters")) is int:
        metadata["total_parameters"] += more * sum(width for width, _ in widths)
    index["metadata"] = metadata
    return index
