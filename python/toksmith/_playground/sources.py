"""The tokenizers of a page: loads them and gives them names.

A name is the caller's, or else that of the file, with a number if it is not unique; sources that cannot be loaded are reported
with the reason. Left out: the page's use of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import toksmith

EXPECTED = "a Tokenizer or what toksmith.load takes, several by name or several in order"
Source = Any  # a Tokenizer, or what `toksmith.load` takes
Sources = Source | Mapping[str, Source] | Sequence[Source]


def load_sources(toks: Sources) -> tuple[dict[str, Any], dict[str, str]]:
    """The tokenizers by name, and the reason for each name that could not be loaded."""
    tokenizers: dict[str, toksmith.Tokenizer] = {}
    failed: dict[str, str] = {}
    first: Exception | None = None
    for name, source in name_sources(toks):
        try:
            tokenizers[name] = source if isinstance(source, toksmith.Tokenizer) else toksmith.load(source)
        except TypeError:
            raise TypeError(f"toks: expected {EXPECTED}, not {type(source).__name__}") from None
        except (toksmith.ToksmithError, OSError) as error:
            failed[name] = str(error)
            first = first or error
    if not tokenizers:
        raise (first or toksmith.errors.InvalidOption("toks", toks, "at least one tokenizer")).with_traceback(None)
    return tokenizers, failed


def name_sources(toks: Sources) -> Iterator[tuple[str, Source]]:
    """The tokenizers or their sources by name; a file has its own name, with a number if it is not unique."""
    if isinstance(toks, Mapping):
        yield from toks.items()
        return
    if isinstance(toks, (toksmith.Tokenizer, str, os.PathLike)):
        sources = [toks]
    else:
        try:
            several = iter(toks)
        except TypeError:
            raise TypeError(f"toks: expected {EXPECTED}, not {type(toks).__name__}") from None
        sources = [source for source in several]  # noqa: C416 - `list()` would trust `__len__`
    names: set[str] = set()
    for place, source in enumerate(sources, 1):
        name = f"tokenizer {place}" if isinstance(source, toksmith.Tokenizer) else file_name(source)
        name = f"{name} ({place})" if name in names else name
        names.add(name)
        yield name, source


def file_name(source: object) -> str:
    try:
        plain = os.fspath(source)  # type: ignore[call-overload]
    except TypeError:
        raise TypeError(f"toks: expected {EXPECTED}, not {type(source).__name__}") from None
    return Path(os.fsdecode(plain)).name or os.fsdecode(plain)
