"""`stoi.json`: the tutorials' character vocabulary, a JSON object of ids by character.

Each character is a token, and a text is split into its characters. `load()` accepts special tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping

from .._base import lazy_numpy as np
from .._model.model import ID_LIMIT, Model, TokenTable
from .._model.patterns import UNSET, PatternArgument
from ..errors import CannotRepresent, FormatError, InvalidOption
from .arguments import added_tokens, refuse_losses
from .json import parse_object

NAME = "stoi"
SUFFIXES = ("stoi.json",)
ARGUMENTS = ("special_tokens",)
DOC = 'a character vocabulary, {"a": 0, …}; load() takes the special tokens as an argument'

CHARACTER = r'"(?:[^"\\]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[^u])"'
ENTRIES = re.compile(rf"\s*\{{\s*({CHARACTER}\s*:\s*[0-9]+\s*(,\s*|(?=\}})))+\}}\s*")


def sniff(data: bytes, path: str) -> bool:
    """Whether the data are a JSON object of numbers by single characters, and nothing else."""
    if not data[:64].lstrip().startswith(b"{"):
        return False
    return ENTRIES.fullmatch(data.decode("utf-8", "replace")) is not None


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    if pattern is not UNSET:
        raise InvalidOption(
            "pattern", pattern, f"no value: {path} is a character vocabulary, which splits every text into characters"
        )
    value = parse_object(data, path)
    for char, id in value.items():
        if len(char) != 1:
            raise FormatError(path, repr(char[:40]), "expected one character")
        if type(id) is not int or not 0 <= id < ID_LIMIT:
            raise FormatError(path, repr(char), f"expected an id below {ID_LIMIT}, not {str(id)[:40]}")
    tokens = TokenTable.of(char.encode() for char in value)
    ids = np.array(list(value.values()), np.uint32)
    added = added_tokens(special_tokens, tokens, ids)
    return Model(tokens, ids, kind="chars", unit="char", added_tokens=added)


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    if model.kind != "chars":
        raise CannotRepresent(NAME, "kind", "the format supports only character vocabularies")
    refuse_losses(model, NAME, allow_loss, holds=("kind",))
    if model.splitters:
        raise CannotRepresent(NAME, "splitters", "the format always splits texts into characters")
    return json.dumps(
        dict(zip([token.decode() for token in model.tokens], model.ids.tolist(), strict=True)), ensure_ascii=False
    ).encode()
