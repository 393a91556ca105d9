"""Writes a folder for transformers with its settings: those beside the source, and the caller's."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from .. import _formats
from .._formats.transformers import FILES, ROLES, display_vocabulary
from .._model.model import Model
from .._tokenizer.chat.conversation import (
    CONFIG,
    MAP,
    TEMPLATE_FILE,
    read_settings,
    read_template,
    special_token_text,
)
from .._tokenizer.tokenizer import Tokenizer

# The settings that mean the same in every class of transformers, besides the roles.
CARRIED = (
    *("model_max_length", "chat_template", "padding_side", "truncation_side", "model_input_names"),
    *("clean_up_tokenization_spaces", "split_special_tokens"),
)
USUAL = ("bos_token", "eos_token", "pad_token", "model_max_length", "chat_template")


def write_folder(
    source: str | os.PathLike[str] | Tokenizer,
    model: Model,
    target: str | os.PathLike[str],
    allow_loss: Collection[str],
    chosen: Mapping[str, Any],
) -> tuple[list[str], list[str]]:
    """Writes a folder with the settings of a source that is a folder or a tokenizer.json, and with the caller's above them.

    Returns: the files; and notes about tokens left out, the roles, missing settings and replaced files.
    """
    found, settings, notes, vocab = dict[str, Any](), dict[str, Any](), list[str](), display_vocabulary(model)
    if not isinstance(source, Tokenizer) and (os.path.isdir(source) or os.path.basename(source) == "tokenizer.json"):
        folder = Path(source) if os.path.isdir(source) else Path(source).parent
        found = read_settings(folder / CONFIG) | read_settings(folder / MAP)
        if (folder / TEMPLATE_FILE).exists():
            found["chat_template"] = read_template(folder / TEMPLATE_FILE)[0]
    for name in (name for name in (*ROLES, *CARRIED) if name in found):
        settings[name] = special_token_text(found[name]) if name in ROLES else found[name]
        if name in ROLES and settings[name] is not None and settings[name] not in vocab:
            notes.append(f"{name}: {settings.pop(name)!r} is not in the vocabulary, and is left out")
    settings |= chosen
    if chosen.get("chat_template") is not None:
        settings["chat_template"] = read_template(chosen["chat_template"])[0]
    old = [name for name in FILES[0] if os.path.lexists(os.path.join(target, name))]
    files = _formats.write_model(model, target, "transformers", allow_loss, settings)
    written = read_settings(Path(files[1]))
    roles = [f"{role} {written[role]!r}" for role in ROLES if written.get(role) is not None]
    missing = [name for name in USUAL if written.get(name) is None]
    notes.append("; ".join([", ".join(roles)] * bool(roles) + [f"no {', '.join(missing)}"] * bool(missing)))
    return files, notes + [f"replaced {' and '.join(old)}"] * bool(old)
