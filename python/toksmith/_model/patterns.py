"""The split patterns by name (a read-only view of the core's table), and the meaning of `pattern=` arguments."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Final

from .. import _core
from .._base.arguments import check_texts
from .._base.wording import close_names
from ..errors import InvalidOption, UnknownName
from .model import Step, regex_split


class Unset(enum.Enum):
    """The type of `UNSET`: "this argument was not given", for arguments where None has another meaning."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
PatternArgument = str | Sequence[str] | None | Unset


@dataclass(frozen=True)
class Pattern:
    """One row of the pattern table: regexes in the Rust dialect, each applied to
    the pieces of the previous regex.

    `hard_texts` distinguish the row from similar rows: why a text is hard, and
    its pieces.
    """

    name: str
    regexes: tuple[str, ...]
    source: str
    hard_texts: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), repr=False)


@cache
def patterns() -> Mapping[str, Pattern]:
    """The split patterns that `train` and `load` know by name.

    Returns: a read-only mapping of names to `Pattern`, sorted by name.

    >>> import toksmith
    >>> sorted(toksmith.patterns())[:3]
    ['cl100k', 'cl100k_minbpe', 'gpt2']
    """
    rows = {}
    for name, regexes, source, hard_texts in _core.patterns():
        hard = tuple((why, tuple(pieces)) for why, pieces in hard_texts)
        rows[name] = Pattern(name, tuple(regexes), source, hard)
    return MappingProxyType(rows)


def splitters(pattern: str | Sequence[str] | None) -> tuple[Step, ...]:
    """The splitter steps of a `pattern=` argument.

    A word is a name of the table; any other string is a regex; a list contains either, applied in order; None does not
    split.
    """
    if pattern is None:
        return ()
    if not isinstance(pattern, str):
        return tuple(
            step for part in check_texts(pattern, "pattern", "str or a list of str") for step in splitters(part)
        )
    if pattern in patterns():
        return tuple(regex_split(regex) for regex in patterns()[pattern].regexes)
    if not pattern:
        raise InvalidOption("pattern", pattern, "a name of toksmith.patterns(), a regex, a list of them, or None")
    if pattern.replace("-", "_").isidentifier():
        # No tokenizer splits at one fixed word, so the word is a misspelt name.
        raise UnknownName("pattern", pattern, close_names(pattern, patterns()) or patterns())
    return (regex_split(pattern),)
