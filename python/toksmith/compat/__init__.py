"""Drop-in adapters: the interfaces of other libraries on toksmith's engine.

`toksmith.compat.tiktoken`, `toksmith.compat.tokenizers` and so on are
imported on first use. None needs the library that it replaces. `install`
registers a drop-in under the name of its library.
"""

from importlib import import_module as _import_module
from pkgutil import iter_modules as _iter_modules
from typing import Any as _Any

_MODULES = sorted(module.name for module in _iter_modules(__path__) if not module.name.startswith("_"))
__all__ = sorted([*_MODULES, "install"])  # noqa: PLE0605


def __getattr__(name: str) -> _Any:
    if name == "install":
        return _import_module("._install", __name__).install
    if name not in _MODULES:
        hint = f"it has {', '.join(__all__)}"
        if name == "transformers":
            hint = "toksmith.accelerate() runs transformers on the engine, and tok.save('folder/') writes what it loads"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {hint}")
    return _import_module(f".{name}", __name__)


def __dir__() -> list[str]:
    return [*__all__]
