"""Tokenizers by name, from one or several objects, names or files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache

from .._base.arguments import check_items
from .._base.paths import printable_path
from .._base.wording import number_of
from .._tokenizer.tokenizer import Tokenizer
from ..errors import InvalidOption
from .load import load

TokenizerSource = Tokenizer | str | os.PathLike[str]
Tokenizers = TokenizerSource | Mapping[str, TokenizerSource] | Sequence[TokenizerSource]
EXPECTED = "a Tokenizer, a name or a file, a dict of them by name, or a list of them"


@lru_cache(maxsize=64)
def describe_tokenizer(tok: Tokenizer) -> str:
    """The kind and size of a tokenizer, for one without a name."""
    return f"{tok.model.kind}, {number_of(len(tok), 'token')}"


def resolve_tokenizer(source: TokenizerSource, argument: str = "tok") -> Tokenizer:
    """The tokenizer itself, or the tokenizer that `load` returns for a name or a file."""
    if isinstance(source, Tokenizer):
        return source
    if isinstance(source, (str, os.PathLike)):
        return load(source)
    raise TypeError(f"{argument}: expected {EXPECTED}, not {type(source).__name__}")


def name_tokenizers(sources: Tokenizers, argument: str = "toks") -> dict[str, Tokenizer]:
    """Tokenizers by name: the key in a dict, the name or path as given, or a description of an object.

    In a list, a description has a number, and so has a name that occurs twice.
    """
    if isinstance(sources, (Tokenizer, str, os.PathLike)):
        tok = resolve_tokenizer(sources)
        return {describe_tokenizer(tok) if tok is sources else printable_path(sources): tok}  # type: ignore[arg-type]
    if not isinstance(sources, Mapping):
        by_name: dict[str, Tokenizer] = {}
        listed = check_items(sources, argument, EXPECTED)
        for place, source in enumerate(listed, 1):
            tok = resolve_tokenizer(source, argument)
            if source is tok or listed.count(source) > 1:
                by_name[f"{place}: {describe_tokenizer(tok) if source is tok else printable_path(source)}"] = tok
            else:
                by_name[printable_path(source)] = tok
        sources = by_name
    for name in sources:
        if not isinstance(name, str):
            raise TypeError(f"{argument}: expected str as names, not {type(name).__name__}")
    if not sources:
        raise InvalidOption(argument, sources, "at least one tokenizer")
    return {name: resolve_tokenizer(source, argument) for name, source in sources.items()}
