"""Where a chat template is: the text itself, a file of a model, or its folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..._base.errors import FormatError
from ..._base.paths import read_file

__all__ = ["template_of"]

CONFIG, MAP, TEMPLATE_FILE = "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"


def template_of(template: str | os.PathLike[str]) -> tuple[str, dict[str, str]]:
    """The template's source, and the special tokens by the names that templates know them by (`bos_token`).

    Raises:
        FormatError: The file cannot be read, or holds no template.
    """
    if isinstance(template, str) and ("{" in template or "\n" in template):
        return template, {}
    path = Path(template)
    folder = path if path.is_dir() else path.parent
    config = settings(folder / CONFIG) | settings(folder / MAP)
    names = {name: content_of(value) for name, value in config.items() if name.endswith("_token")}
    if path.name == CONFIG or (path.is_dir() and not (path / TEMPLATE_FILE).exists()):
        source = only(config.get("chat_template"), folder / CONFIG)
    else:
        source = read_file(path / TEMPLATE_FILE if path.is_dir() else path).decode("utf-8", "replace")
    return source, {name: value for name, value in names.items() if value is not None}


def settings(path: Path) -> dict[str, Any]:
    """A file of settings; empty if there is none."""
    if not path.exists():
        return {}
    try:
        found = json.loads(read_file(path))
    except ValueError as error:
        raise FormatError(path, None, f"is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise FormatError(path, None, f"expected an object, found {type(found).__name__}")
    return found


def content_of(token: object) -> str | None:
    """The text of a special token, which is a string or an object."""
    content = token.get("content") if isinstance(token, Mapping) else token
    return content if isinstance(content, str) else None


def only(template: object, path: Path) -> str:
    """The template of a configuration; of several, the one called "default"."""
    if isinstance(template, list):
        named = {each.get("name"): each.get("template") for each in template if isinstance(each, Mapping)}
        template = named.get("default")
    if not isinstance(template, str):
        problem = "has no template; pass the template itself, or the path of a chat_template.jinja"
        raise FormatError(path, "chat_template", problem)
    return template
