"""`tiktoken.registry`: published encodings and encodings of plug-ins, by name.

A plug-in is a module of the namespace package `tiktoken_ext` that has `ENCODING_CONSTRUCTORS`. tiktoken's own plug-in,
`openai_public`, is left out: its encodings are built in here.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._sources.encodings import encodings, load_published
from ..._tokenizer.tokenizer import Tokenizer
from .core import Encoding

__all__ = ["ENCODINGS", "get_encoding", "list_encoding_names"]

PLUGINS = "tiktoken_ext"
ENCODINGS: dict[str, Encoding] = {}
LOCK = threading.RLock()
Constructor = Callable[[], dict[str, Any]]


def _available_plugin_modules() -> Sequence[str]:
    """The modules of plug-ins."""
    spec = importlib.util.find_spec(PLUGINS)
    paths = [] if spec is None or spec.submodule_search_locations is None else spec.submodule_search_locations
    names = [name for _, name, _ in pkgutil.iter_modules(list(paths), f"{PLUGINS}.")]
    return [name for name in names if name != f"{PLUGINS}.openai_public"]


@functools.lru_cache(maxsize=1)
def _plugin_constructors() -> Mapping[str, Constructor]:
    """The constructors of all plug-ins, by encoding name."""
    by_name: dict[str, Constructor] = {}
    for module in _available_plugin_modules():
        try:
            constructors = importlib.import_module(module).ENCODING_CONSTRUCTORS
        except AttributeError as error:
            raise ValueError(f"tiktoken plugin {module} does not define ENCODING_CONSTRUCTORS") from error
        for name, constructor in constructors.items():
            if name in by_name or name in encodings():
                raise ValueError(f"Duplicate encoding name {name} in tiktoken plugin {module}")
            by_name[name] = constructor
    return by_name


def get_encoding(encoding_name: str) -> Encoding:
    """The encoding with this name, published or from a plug-in; made once.

    Raises:
        ValueError: The name is unknown.
    """
    if not isinstance(encoding_name, str):
        raise ValueError(f"expected the name of an encoding, not {type(encoding_name).__name__}")  # noqa: TRY004
    with LOCK:
        if encoding_name not in ENCODINGS:
            ENCODINGS[encoding_name] = build_encoding(encoding_name)
            ENCODINGS[encoding_name]._by_name = get_encoding
        return ENCODINGS[encoding_name]


def build_encoding(name: str) -> Encoding:
    """The encoding with a name."""
    if name in encodings():
        return Encoding.of(name, Tokenizer(load_published(name)))
    constructors = _plugin_constructors()
    if name not in constructors:
        names = ", ".join(list_encoding_names())
        plugins = ", ".join(_available_plugin_modules()) or "none"
        raise ValueError(f"Unknown encoding {name}; the known ones are {names}. Plugins found: {plugins}")
    return Encoding(**constructors[name]())


def list_encoding_names() -> list[str]:
    """The names that `get_encoding` knows."""
    return [*encodings(), *_plugin_constructors()]
