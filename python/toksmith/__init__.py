"""toksmith: train, run, inspect and convert the tokenizers of language models.

This file has only the public names; ARCHITECTURE.md maps the modules. A module is imported when one of its names is
first used, so a program loads only what it needs. `toksmith.reference` is the specification in plain Python, and can
be imported where the compiled core is missing.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from os import listdir as _listdir
from os.path import exists as _exists
from sys import modules as _modules

try:
    from . import _core

    _PLACE = f"{__path__[0]}/.."  # pip writes a folder there, whose name records the installed version
    if not _exists(f"{_PLACE}/toksmith-{_core.__version__}.dist-info") and (
        _installed := [name for name in _listdir(_PLACE) if name.startswith("toksmith-")]
    ):
        from ._base.core_missing import refuse_other_version as _refuse

        _refuse(_core.__version__, _installed)
except ImportError as _raised:  # only the reference can be imported
    from ._base.core_missing import explain_import_error as _explain

    globals().pop("_core", None)  # a core of another version: each module that imports it gets the reason
    _WHY, _CAUSE = _explain(_raised, __path__[0]), _raised

    def __getattr__(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "reference":
            return _import_module(f".{name}", __name__)
        raise ImportError(_WHY) from _CAUSE

else:
    # The public names of each module, in one text; `__init__.pyi` repeats them for type checkers.
    _HOMES = {
        "_accelerate.switch": "accelerate accelerated restore",
        "_corpus": "files",
        "_formats": "formats",
        "_graft": "graft",
        "_judge.compare": "compare",
        "_judge.doctor": "doctor",
        "_judge.study": "study",
        "_model.model": "Model",
        "_model.patterns": "patterns",
        "_playground": "play snapshot",
        "_sources.convert": "convert",
        "_sources.copies": "copy_encodings",
        "_sources.encodings": "encodings models",
        "_sources.load": "load",
        "_tokenizer.fim": "fim fim_marks",
        "_tokenizer.tokenizer": "Tokenizer",
        "_training": "train",
        "_training.kinds": "training_kinds",
        "_training.surgery": "add_special extend prune",
        "_training.sweep": "rewind sweep",
        "errors": "ToksmithError",
    }
    _MODULES = ("compat", "corpus", "errors", "explain", "metrics", "reference", "types")
    _HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

    __version__ = _core.__version__
    __all__ = sorted([*_HOME_OF, *_MODULES])  # noqa: PLE0605 - the stub lists them, for static tools

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return _import_module(f".{name}", __name__)
        if name.startswith("_"):  # `from . import _base` calls this before it imports the module
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name not in _HOME_OF:
            from ._base.suggestions import OF_THE_PACKAGE, missing_attribute

            homes = [
                each for each in ("corpus", "errors", "types") if name in _import_module(f".{each}", __name__).__all__
            ]
            ours = OF_THE_PACKAGE | dict.fromkeys([name] if homes else [], f"toksmith.{'.'.join(homes[:1])}.{name}")
            raise missing_attribute(_modules[__name__], "toksmith", name, ours)
        value = globals()[name] = getattr(_import_module(f".{_HOME_OF[name]}", __name__), name)
        return value

    def __dir__() -> list[str]:
        return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
