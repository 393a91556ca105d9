"""`merge_dict.json`: the merges of the tutorials, `{"256": [105, 110], …}`: an id and the two ids that merge into it.

The file contains neither tokens nor alphabet. If ids start at 256, the bytes have the ids 0 to 255; if ids start at 128,
the ASCII characters have the ids 0 to 127. Text is not split unless `load()` gets a pattern, so saving refuses a model that
splits, unless `allow_loss` names `splitters`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Literal

from .._base import lazy_numpy as np
from .._model.model import Model, TokenTable
from .._model.patterns import UNSET, PatternArgument, splitters
from ..errors import CannotRepresent, FormatError
from .arguments import added_tokens, refuse_losses
from .json import parse_object
from .recovered_merges import pair_merges

NAME = "merge_dict"
SUFFIXES = ("merge_dict*.json",)
ARGUMENTS = ("pattern", "special_tokens")
DOC = 'the tutorials\' merges, {"256": [left, right], …}; load() takes the pattern and the special tokens as arguments'

FIRST_ENTRY = re.compile(rb'\s*\{\s*("[0-9]+"\s*:\s*\[\s*[0-9]+\s*,|\}\s*$)')
BYTES_LIMIT = 1 << 26
ALPHABETS = {"byte": 256, "char": 128}


def sniff(data: bytes, path: str) -> bool:
    """Whether the data are a JSON object that is empty or starts with a number and a list of numbers."""
    return FIRST_ENTRY.match(data) is not None


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    steps = () if pattern is UNSET else splitters(pattern)
    pairs = parse_pairs(parse_object(data, path), path)
    first = min(pairs, default=256)
    tokens = TokenTable.of(build_tokens(pairs, first, path))
    ids = np.arange(len(tokens), dtype=np.uint32)
    merges = np.array([(left, right, id) for id, (left, right) in pairs.items()], np.uint32)
    unit: Literal["byte", "char"] = "byte" if first == ALPHABETS["byte"] else "char"
    added = added_tokens(special_tokens, tokens, ids)
    return Model(tokens, ids, unit=unit, merges=merges, splitters=steps, added_tokens=added)


def parse_pairs(value: Mapping[str, Any], path: str) -> dict[int, tuple[int, int]]:
    """The two ids that merge into each id, in id order; raises unless ids are consecutive and merge lower ids."""
    pairs = {}
    for name, pair in value.items():
        if not re.fullmatch("0|[1-9][0-9]{0,7}", name):
            raise FormatError(path, repr(name[:40]), "expected an id in decimal digits")
        two = isinstance(pair, list) and len(pair) == 2 and all(type(id) is int for id in pair)
        if not two or not all(0 <= id < int(name) for id in pair):
            raise FormatError(path, name, f"expected two ids below {name}, not {str(pair)[:40]}")
        pairs[int(name)] = (pair[0], pair[1])
    ordered = dict(sorted(pairs.items()))
    first = min(ordered, default=256)
    if first not in ALPHABETS.values():
        raise FormatError(path, str(first), "the first id must be 256 (after the bytes) or 128 (after ASCII)")
    for place, id in enumerate(ordered):
        if id != first + place:
            raise FormatError(path, str(first + place), f"is missing; ids must be consecutive from {first}")
    return ordered


def build_tokens(pairs: Mapping[int, tuple[int, int]], first: int, path: str) -> list[bytes]:
    """The bytes of each token, in id order: the alphabet, then the merge results."""
    tokens = [bytes([id]) for id in range(first)]
    size = 0
    for id, (left, right) in pairs.items():
        # Each merge can double the length, so the size of the file does not limit it.
        size += len(tokens[left]) + len(tokens[right])
        if size > BYTES_LIMIT:
            raise FormatError(path, str(id), f"the tokens together have more than {BYTES_LIMIT} bytes")
        tokens.append(tokens[left] + tokens[right])
    return tokens


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    refuse_losses(model, NAME, allow_loss)
    if model.splitters and "splitters" not in allow_loss:
        problem = (
            "readers of these merges do not split texts, but this model does, so they would give other ids; save the native "
            "format, which holds the pattern, or pass allow_loss=['splitters'] and give the pattern to toksmith.load()"
        )
        raise CannotRepresent(NAME, "splitters", problem)
    first = ALPHABETS[model.unit]
    merges = pair_merges(model, NAME).tolist()
    by_id = dict(zip(model.ids.tolist(), model.tokens, strict=True))
    if [by_id.get(id) for id in range(first)] != [bytes([id]) for id in range(first)]:
        raise CannotRepresent(
            NAME, "ids", f"the symbols of the alphabet must have their own values, 0 to {first - 1}, as ids"
        )
    if [id for _, _, id in merges] != list(range(first, len(by_id))) or any(id >= len(by_id) for id in by_id):
        raise CannotRepresent(NAME, "ids", f"the results of merges must have consecutive ids from {first}")
    if not merges and model.unit == "char":
        raise CannotRepresent(NAME, "unit", "without merges, the format cannot distinguish characters from bytes")
    return json.dumps({str(id): [left, right] for left, right, id in merges}).encode()
