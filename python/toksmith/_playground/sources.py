"""The tokenizers that a page is about: their names, and what was loaded for each.

The rules: a name is the caller's, else that of the file, numbered where it is not the only one; what cannot be loaded
is told beside those that can. Left out: what the page does with them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import toksmith

__all__ = ["Source", "Sources", "loaded"]

EXPECTED = "a Tokenizer or what toksmith.load takes, several by name or several in order"
Source = Any  # a Tokenizer, or what `toksmith.load` takes
Sources = Source | Mapping[str, Source] | Sequence[Source]


def loaded(toks: Sources) -> tuple[dict[str, Any], dict[str, str]]:
    """The tokenizers by name, and what could not be loaded with the reason."""
    found: dict[str, toksmith.Tokenizer] = {}
    failed: dict[str, str] = {}
    first: Exception | None = None
    for name, source in named(toks):
        try:
            found[name] = source if isinstance(source, toksmith.Tokenizer) else toksmith.load(source)
        except TypeError:
            raise TypeError(f"toks: expected {EXPECTED}, not {type(source).__name__}") from None
        except (toksmith.ToksmithError, OSError) as error:
            failed[name] = str(error)
            first = first or error
    if not found:
        raise (first or toksmith.InvalidOption("toks", toks, "at least one tokenizer")).with_traceback(None)
    return found, failed


def named(toks: Sources) -> Iterator[tuple[str, Source]]:
    """The tokenizers or their sources by name: a file's own name, numbered where it is not the only one."""
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
        sources = [source for source in several]  # noqa: C416 - so no length is asked for that may be a lie
    seen: set[str] = set()
    for place, source in enumerate(sources, 1):
        name = f"tokenizer {place}" if isinstance(source, toksmith.Tokenizer) else file_name(source)
        name = f"{name} ({place})" if name in seen else name
        seen.add(name)
        yield name, source


def file_name(source: object) -> str:
    try:
        plain = os.fspath(source)  # type: ignore[call-overload]
    except TypeError:
        raise TypeError(f"toks: expected {EXPECTED}, not {type(source).__name__}") from None
    return Path(os.fsdecode(plain)).name or os.fsdecode(plain)
