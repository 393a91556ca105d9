"""Calls `accelerate` as soon as transformers is imported, in a process that asks for it by `TOKSMITH_ACCELERATE=1`."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

__all__ = ["accelerate_if_asked", "accelerate_or_log"]

VARIABLE = "TOKSMITH_ACCELERATE"
MODULE = "transformers.tokenization_utils_tokenizers"


def accelerate_or_log() -> None:
    """`accelerate`; where that fails the program goes on without it, and the log says why."""
    from .._render.streams import LOG
    from .switch import accelerate

    try:
        accelerate()
    except Exception as error:  # noqa: BLE001 - a server must start
        LOG.warning("accelerate: all tokenizers stay on the library: %s", error)


def accelerate_if_asked() -> None:
    """Accelerate if the environment asks for it: now if transformers is imported, and otherwise when it is."""
    if os.environ.get(VARIABLE, "") in ("", "0"):
        return
    if MODULE in sys.modules:
        accelerate_or_log()
    elif not any(isinstance(each, Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, Finder())


class Finder:
    """Finds the module of fast tokenizers, and calls `accelerate` when it has run."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            run = loader.exec_module

            def run_and_accelerate(module: ModuleType) -> None:
                run(module)
                accelerate_or_log()

            loader.exec_module = run_and_accelerate
        return spec
