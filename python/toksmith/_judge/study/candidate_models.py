"""The candidates of a study: kinds of tokenizers, each with the split patterns that it takes. A row is a kind.

Byte-pair encoding of bytes is trained once, at its largest size, and rewound; other kinds are trained for each size.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..._base.arguments import check_items, check_text
from ..._base.wording import close_names
from ..._model.patterns import patterns as known_patterns
from ..._model.patterns import splitters
from ...errors import InvalidOption, UnknownName

TAKEN = "a list of str, or None for no split"


@dataclass(frozen=True)
class Kind:
    """One kind: its name, its arguments of `train`, whether it takes a split pattern, whether one training gives all sizes,
    and the number of tokens before training (None: the corpus decides)."""

    name: str
    arguments: Mapping[str, Any]
    patterned: bool = False
    rewinds: bool = False
    alphabet: int | None = None


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        row.name: row
        for row in (
            Kind("bpe", {"min_count": 2}, patterned=True, rewinds=True, alphabet=256),
            Kind("bpe-characters", {"unit": "char", "byte_fallback": True}),
            Kind("unigram", {"kind": "unigram", "byte_fallback": True}),
            Kind("wordpiece", {"kind": "wordpiece", "lowercase": False}),
        )
    }
)


@dataclass(frozen=True)
class StudyCandidate:
    """One tokenizer of a study, at any size: its name, its kind, and its pattern if the kind takes one."""

    name: str
    kind: Kind = field(repr=False)
    pattern: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `train`, without corpus and size."""
        return {**self.kind.arguments, **({"pattern": self.pattern} if self.kind.patterned else {})}

    def file(self, vocab_size: int) -> str:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.name).strip("-")
        if plain != self.name.replace(" ", "-") or len(plain) > 60:
            plain = f"{plain[:40]}-{hashlib.sha256(self.name.encode()).hexdigest()[:8]}"
        return f"{plain}-{vocab_size}.toksmith"


def candidates(kinds: Sequence[str], patterns: Sequence[str | None]) -> list[StudyCandidate]:
    """Each kind with each pattern that it takes, in order."""
    patterns = [
        None if each is None else check_text(each, "patterns") for each in check_items(patterns, "patterns", TAKEN)
    ]
    for name, values in (("kinds", kinds), ("patterns", patterns)):
        if not values or len({*values}) < len(values):
            raise InvalidOption(name, list(values), "at least one, each once")
    models = []
    for kind in kinds:
        if kind not in KINDS:
            raise UnknownName("kind", kind, close_names(kind, KINDS) or list(KINDS))
        row = KINDS[kind]
        if row.patterned:
            models += [StudyCandidate(f"{kind} {pattern_name(each)}", row, each) for each in patterns]
        else:
            models.append(StudyCandidate(kind, row))
    for pattern in patterns:
        splitters(pattern)
    return models


def pattern_name(pattern: str | None) -> str:
    if pattern is None:
        return "none"
    return pattern if pattern in known_patterns() else f"/{pattern}/"
