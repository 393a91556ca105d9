"""Loads a checkpoint's old tokenizer, and writes the files of the new one.

The files are tokenizer.json, its settings, and the map of special tokens. Old settings stay; a note names each token left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from .._base.paths import printable_path
from .._base.wording import quote_value
from .._formats import FORMATS
from .._model.model import Model
from .._sources.hub import choose_files as tokenizer_names
from .._sources.load import load
from .._tokenizer.tokenizer import Tokenizer
from ..errors import FormatError
from .model_folder import ModelFolder, read_json_file

SETTINGS, SPECIALS = "tokenizer_config.json", "special_tokens_map.json"
FLAGS = ("lstrip", "normalized", "rstrip", "single_word", "special")
LISTS = ("additional_special_tokens", "extra_special_tokens")
PLAIN = "PreTrainedTokenizerFast"
ANY = (PLAIN, "TokenizersBackend")  # classes that accept every tokenizer.json
USUAL = {"clean_up_tokenization_spaces": False, "tokenizer_class": PLAIN}
TEMPLATES = ("chat_template.jinja", "chat_template.json")


def own_tokenizer(folder: ModelFolder, argument: str) -> Tokenizer:
    """The tokenizer in the checkpoint folder; errors name `argument`, with which the caller can pass another."""
    problem = "holds no file of a tokenizer; name the tokenizer of its rows"
    try:
        names = tokenizer_names([*folder.stale, *folder.copied], printable_path(folder.place))
    except FormatError:
        names = []
        problem = f"holds several files of tokenizers ({', '.join(folder.stale)}); name the old one"
    if not names:
        raise FormatError(folder.place, None, f"{problem} with {argument}")
    return load(folder.place / names[0])


def tokenizer_files(
    folder: ModelFolder, old: Model, tok: Tokenizer, chosen: Mapping[str, str], allow_loss: Collection[str]
) -> tuple[dict[str, bytes], list[str]]:
    """The bytes of each file by name, with the caller's tokens, and notes about tokens without a successor."""
    model, notes = tok.model, list[str]()
    data = cast("bytes", FORMATS["tokenizer_json"].save(model, allow_loss=allow_loss))
    contents = {token.content for token in model.added_tokens} | {
        token.decode("utf-8", "replace") for token in model.tokens
    }
    settings = read_json_file(folder.place / SETTINGS)
    files = {"tokenizer.json": data}
    new = dict(keep_known_tokens(settings or USUAL, SETTINGS, chosen, contents, notes))
    if settings is not None and "added_tokens_decoder" in settings:
        new["added_tokens_decoder"] = dump_added_tokens(model)
    if settings is not None and new.get("tokenizer_class") not in ANY and not same_steps(old, model):
        new["tokenizer_class"] = PLAIN
    files[SETTINGS] = (json.dumps(new, indent=2, ensure_ascii=False) + "\n").encode()
    if (specials := read_json_file(folder.place / SPECIALS)) is not None:
        special_map = dict(keep_known_tokens(specials, SPECIALS, chosen, contents, notes))
        files[SPECIALS] = (json.dumps(special_map, indent=2, ensure_ascii=False) + "\n").encode()
    notes += template_notes(folder, old, model, settings or {})
    return files, notes


def keep_known_tokens(
    settings: Mapping[str, Any], file: str, chosen: Mapping[str, str], contents: set[str], notes: list[str]
) -> Iterator[tuple[str, Any]]:
    """The settings with the caller's tokens, without tokens that the new tokenizer lacks."""
    for key, value in {**settings, **chosen}.items():
        if key in chosen:
            yield key, chosen[key]
        elif key in LISTS and isinstance(value, list):
            yield key, [each for each in value if is_known(key, each, file, contents, notes)]
        elif key.endswith("_token") and not isinstance(value, bool) and value is not None:
            if is_known(key, value, file, contents, notes):
                yield key, value
        else:
            yield key, value


def is_known(key: str, value: object, file: str, contents: set[str], notes: list[str]) -> bool:
    """Whether the new tokenizer has a token of the settings; if not, adds a note."""
    content = value.get("content") if isinstance(value, dict) else value
    if content in contents:
        return True
    notes.append(f"{file}: {key}: {quote_value(content)} is not in the new tokenizer, and is left out")
    return False


def dump_added_tokens(model: Model) -> dict[str, Any]:
    """The added tokens in the form of transformers' `added_tokens_decoder`."""
    ordered = sorted(model.added_tokens, key=lambda token: token.id)
    return {
        str(token.id): {"content": token.content, **{name: getattr(token, name) for name in FLAGS}} for token in ordered
    }


def same_steps(old: Model, new: Model) -> bool:
    """Whether two models split and decode texts identically, so that a class for one fits the other."""
    names = ("kind", "unit", "normalizers", "splitters", "decoders", "post")
    return all(getattr(old, name) == getattr(new, name) for name in names)


def template_notes(folder: ModelFolder, old: Model, new: Model, settings: Mapping[str, Any]) -> Iterator[str]:
    """A note for each special token in the chat template that the new tokenizer lacks."""
    texts = [(folder.place / name).read_text("utf-8", "replace") for name in TEMPLATES if folder.has(name)]
    texts.append(json.dumps(settings.get("chat_template") or "", ensure_ascii=False))
    for content in old.special_tokens.keys() - new.special_tokens.keys():
        if any(content in text for text in texts):
            yield f"the chat template writes {quote_value(content)}, which is not in the new tokenizer; change the template"
