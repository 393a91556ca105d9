"""Registers a drop-in under the name of the library that it replaces, for this process."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from ..errors import InvalidOption

# The drop-ins, each with its modules by the library's names.
MODULES: dict[str, tuple[str, ...]] = {
    "minbpe": (),
    "rustbpe": (),
    "sentencepiece": ("sentencepiece_model_pb2", "sentencepiece_pb2"),
    "tiktoken": ("_educational", "core", "load", "model", "registry"),
    "tokenizers": ("decoders", "implementations", "models", "normalizers", "pre_tokenizers", "processors", "trainers"),
}


def install(name: str) -> ModuleType:
    """Make `import NAME` return the drop-in, from now on and in this process.

    Args:
        name: "minbpe", "rustbpe", "sentencepiece", "tiktoken" or
            "tokenizers".
    Returns: the drop-in.
    Raises:
        InvalidOption: The drop-in does not exist, or the library itself is
            already imported and in use by a part of the program.

    >>> from toksmith import compat
    >>> ours = compat.install("minbpe")
    >>> import minbpe
    >>> minbpe is ours
    True
    """
    if name not in MODULES:
        raise InvalidOption("name", name, f"one of {', '.join(MODULES)}")
    whole = [name, *(f"{name}.{part}" for part in MODULES[name])]
    ours = [import_module(f"{__package__}.{each}") for each in whole]
    for module, our_module in zip(whole, ours, strict=True):
        imported = sys.modules.get(module)
        if imported is not None and imported is not our_module:
            allowed = f"a library that is not imported yet: {name} is; call install before the first import of it"
            raise InvalidOption("name", name, allowed)
    sys.modules.update(zip(whole, ours, strict=True))
    return ours[0]
