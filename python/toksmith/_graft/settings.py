"""`config.json` and `generation_config.json` with the new ids: sizes, every `*_token_id`, and lists of ids.

A key is rewritten by its name, wherever it is. An id whose token the new tokenizer lacks becomes null, or leaves its list,
and is listed; but an end token and the first token of a decoder must exist, because nothing else would end a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .._base.errors import FormatError, InvalidOption, quoted
from .tokens import Origins

__all__ = ["Rewriting", "json_bytes", "rewritten", "sized"]

SIZES = ("vocab_size", "padded_vocab_size", "n_vocab")
TEXT = "text_config"
ENDS = ("_token_id", "_token_ids", "_token_index")
# Ids, lists of them, or lists of lists.
LISTS = ("suppress_tokens", "begin_suppress_tokens", "bad_words_ids", "force_words_ids")
NEEDED = ("eos_token_id", "decoder_start_token_id")


@dataclass
class Rewriting:
    """How ids change, and what was changed."""

    found: Origins
    rows: tuple[int, int]  # how many the matrices had, and how many they get
    tokens: Mapping[str, int]  # by name (`eos_token`), the id that the caller chose
    notes: list[str] = field(default_factory=list)  # what has no successor

    def id(self, old: object, path: str) -> object:
        """The new id for an old one; None where its token is gone."""
        if type(old) is not int or old < 0:
            return old
        if old in self.found.moved:
            return self.found.moved[old]
        if old not in self.found.old and old not in self.found.new and old < self.rows[1]:
            return old  # padding before and after
        key = self.found.old.get(old)
        self.notes.append(f"{path}: {key or f'the id {old}'} is not in the new tokenizer, and is left out")
        return None


def rewritten(settings: Mapping[str, Any], file: str, how: Rewriting) -> dict[str, Any]:
    new = dict(walked(settings, file, how))
    inside = [part for part in (new, new.get(TEXT)) if isinstance(part, dict)]
    for name, id in how.tokens.items():
        for home in [part for part in inside if f"{name}_id" in part] or [new]:
            home[f"{name}_id"] = id
    return new


def walked(part: Mapping[str, Any], path: str, how: Rewriting) -> Iterator[tuple[str, Any]]:
    for key, value in part.items():
        here = f"{path}: {key}"
        new = partial(how.id, path=here)
        if key in SIZES and value == how.rows[0]:
            yield key, how.rows[1]
        elif key in NEEDED:
            yield key, needed(key, value, here, how)
        elif key.endswith(ENDS) or key in LISTS:
            yield key, ids_of(value, new)
        elif key == "forced_decoder_ids" and isinstance(value, list):
            yield key, [[pair[0], new(pair[1])] for pair in value if isinstance(pair, list) and len(pair) == 2]
        elif key == "sequence_bias" and isinstance(value, list):
            biased = [(ids_of(pair[0], new), pair[1]) for pair in value]
            yield key, [[ids, bias] for ids, bias in biased if ids]
        elif key in ("lang_to_id", "task_to_id") and isinstance(value, dict):
            yield key, {name: id for name, old in value.items() if (id := new(old)) is not None}
        elif isinstance(value, dict):
            yield key, dict(walked(value, here, how))
        else:
            yield key, value


def ids_of(value: object, new: Callable[[object], object]) -> object:
    """An id, or ids in lists; a list of ids of which one is gone is left out of a list of lists."""
    if not isinstance(value, list):
        return new(value)
    if any(isinstance(each, list) for each in value):
        inner = [(each, ids_of(each, new)) for each in value]
        return [now for was, now in inner if not isinstance(was, list) or len(was) == len(now)]  # type: ignore[arg-type]
    return [id for old in value if (id := new(old)) is not None]


def needed(key: str, value: object, path: str, how: Rewriting) -> object:
    """An id, or a list of ids, of which one must stay; the caller may choose another."""
    name = key.removesuffix("_id")
    if name in how.tokens:
        return how.tokens[name]
    before = len(how.notes)
    new = ids_of(value, lambda id: how.id(id, path))
    if value is not None and new in (None, []):
        del how.notes[before:]
        gone: list[Any] = [
            how.found.old.get(id) for id in (value if isinstance(value, list) else [value]) if type(id) is int
        ]
        said = " and ".join(str(key) for key in gone if key) or quoted(value)
        raise InvalidOption(
            "tokens", None, f"the token that follows {said} in {path}; pass tokens={{'{name}': 'TOKEN'}}"
        )
    return new


def sized(config: Mapping[str, Any], file: str, rows: tuple[int, int], name: str) -> dict[str, Any]:
    """The settings with a vocabulary size, which they may leave to transformers."""
    inner = config.get(TEXT)
    home = inner if isinstance(inner, dict) else config
    sizes = [part[key] for part in (home, config) for key in SIZES if key in part]
    if sizes and rows[0] not in sizes:
        problem = (
            f"is {sizes[0]!r}, but {name} has {rows[0]:,} rows; expected the same. Correct the file, or the checkpoint"
        )
        raise FormatError(file, "vocab_size", problem)
    if sizes:
        return {**config}
    sized = {**home, SIZES[0]: rows[0]}
    return {**config, TEXT: sized} if home is inner else sized


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """Settings as transformers writes them."""
    return (json.dumps(value, indent=2) + "\n").encode()
