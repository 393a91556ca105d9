"""The tokenizer of a checkpoint: the old one as it lies there, and the files of the new one.

These are tokenizer.json, its settings, and the map of special tokens. The settings of the old tokenizer stay, except for what names tokens. A name of a token that is gone is left out and listed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from .._base.errors import FormatError, quoted
from .._base.paths import shown
from .._formats import FORMATS
from .._model.model import Model
from .._sources.hub import chosen as tokenizer_names
from .._sources.load import load
from .._tokenizer.tokenizer import Tokenizer
from .model_folder import ModelFolder, json_file

__all__ = ["own_tokenizer", "tokenizer_files"]

SETTINGS, SPECIALS = "tokenizer_config.json", "special_tokens_map.json"
FLAGS = ("lstrip", "normalized", "rstrip", "single_word", "special")
LISTS = ("additional_special_tokens", "extra_special_tokens")
PLAIN = "PreTrainedTokenizerFast"
ANY = (PLAIN, "TokenizersBackend")  # classes that take every tokenizer.json
USUAL = {"clean_up_tokenization_spaces": False, "tokenizer_class": PLAIN}
TEMPLATES = ("chat_template.jinja", "chat_template.json")


def own_tokenizer(folder: ModelFolder, argument: str) -> Tokenizer:
    """The tokenizer that lies in the checkpoint; `argument` is how the caller names another."""
    problem = "holds no file of a tokenizer; name the one that its rows belong to"
    try:
        found = tokenizer_names([*folder.stale, *folder.copied], shown(folder.place))
    except FormatError:
        found = []
        problem = f"holds several files of tokenizers ({', '.join(folder.stale)}); name the old one"
    if not found:
        raise FormatError(folder.place, None, f"{problem} with {argument}")
    return load(folder.place / found[0])


def tokenizer_files(
    folder: ModelFolder, old: Model, tok: Tokenizer, chosen: Mapping[str, str], allow_loss: Collection[str]
) -> tuple[dict[str, bytes], list[str]]:
    """The bytes of each file by its name, with the tokens that the caller chose, and what has no successor, in words."""
    model, notes = tok.model, list[str]()
    data = cast("bytes", FORMATS["tokenizer_json"].save(model, allow_loss=allow_loss))
    contents = {token.content for token in model.added_tokens} | {
        token.decode("utf-8", "replace") for token in model.tokens
    }
    settings = json_file(folder.place / SETTINGS)
    files = {"tokenizer.json": data}
    new = dict(named(settings or USUAL, SETTINGS, chosen, contents, notes))
    if settings is not None and "added_tokens_decoder" in settings:
        new["added_tokens_decoder"] = decoder_of(model)
    if settings is not None and new.get("tokenizer_class") not in ANY and not same_steps(old, model):
        new["tokenizer_class"] = PLAIN
    files[SETTINGS] = (json.dumps(new, indent=2, ensure_ascii=False) + "\n").encode()
    if (specials := json_file(folder.place / SPECIALS)) is not None:
        mapped = dict(named(specials, SPECIALS, chosen, contents, notes))
        files[SPECIALS] = (json.dumps(mapped, indent=2, ensure_ascii=False) + "\n").encode()
    notes += unknown_in_template(folder, old, model, settings or {})
    return files, notes


def named(
    settings: Mapping[str, Any], file: str, chosen: Mapping[str, str], contents: set[str], notes: list[str]
) -> Iterator[tuple[str, Any]]:
    """The settings, in which every token that is named exists."""
    for key, value in {**settings, **chosen}.items():
        if key in chosen:
            yield key, chosen[key]
        elif key in LISTS and isinstance(value, list):
            yield key, [each for each in value if kept(key, each, file, contents, notes)]
        elif key.endswith("_token") and not isinstance(value, bool) and value is not None:
            if kept(key, value, file, contents, notes):
                yield key, value
        else:
            yield key, value


def kept(key: str, value: object, file: str, contents: set[str], notes: list[str]) -> bool:
    """Whether a token that settings name is in the new tokenizer; else it is noted."""
    content = value.get("content") if isinstance(value, dict) else value
    if content in contents:
        return True
    notes.append(f"{file}: {key}: {quoted(content)} is not in the new tokenizer, and is left out")
    return False


def decoder_of(model: Model) -> dict[str, Any]:
    """The added tokens as transformers lists them."""
    listed = sorted(model.added_tokens, key=lambda token: token.id)
    return {
        str(token.id): {"content": token.content, **{name: getattr(token, name) for name in FLAGS}} for token in listed
    }


def same_steps(old: Model, new: Model) -> bool:
    """Whether two models split and decode texts alike, so that a class made for the one fits the other."""
    names = ("kind", "unit", "normalizers", "splitters", "decoders", "post")
    return all(getattr(old, name) == getattr(new, name) for name in names)


def unknown_in_template(folder: ModelFolder, old: Model, new: Model, settings: Mapping[str, Any]) -> Iterator[str]:
    """Special tokens that a template of conversations writes, and the new tokenizer lacks."""
    texts = [(folder.place / name).read_text("utf-8", "replace") for name in TEMPLATES if folder.has(name)]
    texts.append(json.dumps(settings.get("chat_template") or "", ensure_ascii=False))
    for content in old.special_tokens.keys() - new.special_tokens.keys():
        if any(content in text for text in texts):
            yield f"the chat template writes {quoted(content)}, which is not in the new tokenizer; change the template"
