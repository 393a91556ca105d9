"""The tokenizer that lies in a checkpoint's folder."""

from __future__ import annotations

from .._base.errors import FormatError
from .._base.paths import shown
from .._sources.hub import chosen as tokenizer_names
from .._sources.load import load
from .._tokenizer.tokenizer import Tokenizer
from .model_folder import ModelFolder

__all__ = ["own_tokenizer"]


def own_tokenizer(folder: ModelFolder, argument: str) -> Tokenizer:
    """The tokenizer that lies in the checkpoint; `argument` is how the caller names another."""
    names = [*folder.stale, *folder.copied]
    try:
        found = tokenizer_names(names, shown(folder.place))
    except FormatError:
        found = []
        problem = f"holds several files of tokenizers ({', '.join(folder.stale)}); name the old one"
    else:
        problem = "holds no file of a tokenizer; name the one that its rows belong to"
    if not found:
        raise FormatError(folder.place, None, f"{problem} with {argument}")
    return load(folder.place / found[0])
