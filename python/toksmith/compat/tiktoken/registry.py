"""`tiktoken.registry`: encodings by name, those that are published and those of plug-ins.

A plug-in is a module of the namespace package `tiktoken_ext` that has `ENCODING_CONSTRUCTORS`. The one that comes with
tiktoken itself, `openai_public`, is left out: its encodings are ours.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._sources.encodings import encodings, published
from ..._tokenizer.tokenizer import Tokenizer
from .core import Encoding

__all__ = ["ENCODINGS", "get_encoding", "list_encoding_names"]

PLUGINS = "tiktoken_ext"
ENCODINGS: dict[str, Encoding] = {}
LOCK = threading.RLock()
Constructor = Callable[[], dict[str, Any]]


def _available_plugin_modules() -> Sequence[str]:
    """The modules of plug-ins."""
    found = importlib.util.find_spec(PLUGINS)
    paths = [] if found is None or found.submodule_search_locations is None else found.submodule_search_locations
    names = [name for _, name, _ in pkgutil.iter_modules(list(paths), f"{PLUGINS}.")]
    return [name for name in names if name != f"{PLUGINS}.openai_public"]


@functools.lru_cache(maxsize=1)
def _plugin_constructors() -> Mapping[str, Constructor]:
    """What the plug-ins have, by name."""
    found: dict[str, Constructor] = {}
    for module in _available_plugin_modules():
        try:
            constructors = importlib.import_module(module).ENCODING_CONSTRUCTORS
        except AttributeError as error:
            raise ValueError(f"tiktoken plugin {module} does not define ENCODING_CONSTRUCTORS") from error
        for name, constructor in constructors.items():
            if name in found or name in encodings():
                raise ValueError(f"Duplicate encoding name {name} in tiktoken plugin {module}")
            found[name] = constructor
    return found


def get_encoding(encoding_name: str) -> Encoding:
    """The encoding of this name, published or of a plug-in, made once.

    Raises:
        ValueError: There is no such encoding.
    """
    if not isinstance(encoding_name, str):
        raise ValueError(f"expected the name of an encoding, not {type(encoding_name).__name__}")  # noqa: TRY004 - as there
    with LOCK:
        if encoding_name not in ENCODINGS:
            ENCODINGS[encoding_name] = made(encoding_name)
            ENCODINGS[encoding_name]._by_name = get_encoding
        return ENCODINGS[encoding_name]


def made(name: str) -> Encoding:
    """The encoding of a name."""
    if name in encodings():
        return Encoding.of(name, Tokenizer(published(name)))
    constructors = _plugin_constructors()
    if name not in constructors:
        known = ", ".join(list_encoding_names())
        plugins = ", ".join(_available_plugin_modules()) or "none"
        raise ValueError(f"Unknown encoding {name}; the known ones are {known}. Plugins found: {plugins}")
    return Encoding(**constructors[name]())


def list_encoding_names() -> list[str]:
    """The names that `get_encoding` knows."""
    return [*encodings(), *_plugin_constructors()]
