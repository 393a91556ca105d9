"""Drop-in adapters: the interfaces of other libraries, run by the engine of
this one.

`toksmith.compat.tiktoken`, `toksmith.compat.minbpe`,
`toksmith.compat.tutorial` and `toksmith.compat.transformers`: each is
imported when it is first asked for. None needs the library whose interface
it has, except `transformers`, whose classes it extends.
"""

from importlib import import_module as _import_module
from pkgutil import iter_modules as _iter_modules

__all__ = sorted(module.name for module in _iter_modules(__path__) if not module.name.startswith("_"))  # noqa: PLE0605


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return _import_module(f".{name}", __name__)


def __dir__() -> list[str]:
    return [*__all__]
