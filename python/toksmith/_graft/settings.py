"""Rewrites `config.json` and `generation_config.json` for the new ids: sizes, every `*_token_id`, and lists of ids.

The name of a key decides its rewriting, at any depth. An id whose token the new tokenizer lacks becomes null, or leaves its
list, and gets a note; but an end token and a decoder's first token must exist, because nothing else would end a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .._base.wording import quote_value
from ..errors import FormatError, InvalidOption
from .tokens import Origins

SIZES = ("vocab_size", "padded_vocab_size", "n_vocab")
TEXT = "text_config"
ENDS = ("_token_id", "_token_ids", "_token_index")
# Ids, lists of them, or lists of lists.
LISTS = ("suppress_tokens", "begin_suppress_tokens", "bad_words_ids", "force_words_ids")
NEEDED = ("eos_token_id", "decoder_start_token_id")


@dataclass
class Rewriting:
    """The changes of ids, and the notes about ids without a successor."""

    origins: Origins
    rows: tuple[int, int]  # the number of rows of the old and of the new matrices
    tokens: Mapping[str, int]  # the caller's ids, by name (`eos_token`)
    notes: list[str] = field(default_factory=list)

    def id(self, old: object, path: str) -> object:
        """The new id for an old id; None, with a note, if the new tokenizer lacks its token."""
        if type(old) is not int or old < 0:
            return old
        if old in self.origins.moved:
            return self.origins.moved[old]
        if old not in self.origins.old and old not in self.origins.new and old < self.rows[1]:
            return old  # padding in both matrices
        key = self.origins.old.get(old)
        self.notes.append(f"{path}: {key or f'the id {old}'} is not in the new tokenizer, and is left out")
        return None


def rewrite_settings(settings: Mapping[str, Any], file: str, how: Rewriting) -> dict[str, Any]:
    new = dict(rewrite_items(settings, file, how))
    inside = [part for part in (new, new.get(TEXT)) if isinstance(part, dict)]
    for name, id in how.tokens.items():
        for target in [part for part in inside if f"{name}_id" in part] or [new]:
            target[f"{name}_id"] = id
    return new


def rewrite_items(part: Mapping[str, Any], path: str, how: Rewriting) -> Iterator[tuple[str, Any]]:
    for key, value in part.items():
        key_path = f"{path}: {key}"
        new = partial(how.id, path=key_path)
        if key in SIZES and value == how.rows[0]:
            yield key, how.rows[1]
        elif key in NEEDED:
            yield key, rewrite_needed(key, value, key_path, how)
        elif key.endswith(ENDS) or key in LISTS:
            yield key, rewrite_ids(value, new)
        elif key == "forced_decoder_ids" and isinstance(value, list):
            yield key, [[pair[0], new(pair[1])] for pair in value if isinstance(pair, list) and len(pair) == 2]
        elif key == "sequence_bias" and isinstance(value, list):
            biased = [(rewrite_ids(pair[0], new), pair[1]) for pair in value]
            yield key, [[ids, bias] for ids, bias in biased if ids]
        elif key in ("lang_to_id", "task_to_id") and isinstance(value, dict):
            yield key, {name: id for name, old in value.items() if (id := new(old)) is not None}
        elif isinstance(value, dict):
            yield key, dict(rewrite_items(value, key_path, how))
        else:
            yield key, value


def rewrite_ids(value: object, new: Callable[[object], object]) -> object:
    """The new id, or the lists of new ids; a list of lists loses each list with a missing id."""
    if not isinstance(value, list):
        return new(value)
    if any(isinstance(each, list) for each in value):
        inner = [(each, rewrite_ids(each, new)) for each in value]
        return [after for old_list, after in inner if not isinstance(old_list, list) or len(old_list) == len(after)]  # type: ignore[arg-type]
    return [id for old in value if (id := new(old)) is not None]


def rewrite_needed(key: str, value: object, path: str, how: Rewriting) -> object:
    """The caller's id, or the new id or ids; raises InvalidOption if none has a successor."""
    name = key.removesuffix("_id")
    if name in how.tokens:
        return how.tokens[name]
    before = len(how.notes)
    new = rewrite_ids(value, lambda id: how.id(id, path))
    if value is not None and new in (None, []):
        del how.notes[before:]
        missing: list[Any] = [
            how.origins.old.get(id) for id in (value if isinstance(value, list) else [value]) if type(id) is int
        ]
        description = " and ".join(str(key) for key in missing if key) or quote_value(value)
        raise InvalidOption(
            "tokens", None, f"the token that follows {description} in {path}; pass tokens={{'{name}': 'TOKEN'}}"
        )
    return new


def set_vocab_size(config: Mapping[str, Any], file: str, rows: tuple[int, int], name: str) -> dict[str, Any]:
    """The settings with a vocabulary size, added if they lack it; raises FormatError if it is not the number of rows."""
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


def dump_settings(value: Mapping[str, Any]) -> bytes:
    """The settings as JSON, in the layout of transformers."""
    return (json.dumps(value, indent=2) + "\n").encode()
