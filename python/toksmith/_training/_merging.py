"""Merges and unigram tokens from counts of pieces, for callers that have their own counts and their own model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core
from ._characters import joined_characters
from ._checkpoint import Checkpoint
from ._merge_loop import Merge, MergeRules, Phase, Start, learn

__all__ = ["joined_characters", "learned_merges", "unigram_tokens"]


def learned_merges(
    counts: _core.CountedPieces, given: Sequence[Merge], most: int, rules: Mapping[str, Any]
) -> list[list[int]]:
    """Up to `most` learned merges of bytes, after the given ones."""
    start, phase = Start(tuple(range(256)), 256), Phase(1, given, len(given) + most)
    merge_rules = MergeRules(whole_characters=False, **rules)
    learned = learn(counts, start, merge_rules, phase, checkpoint=Checkpoint(None, {}), report=lambda done: None)
    if learned.stopped == "interrupted":
        raise KeyboardInterrupt
    merges: list[list[int]] = learned.merges.tolist()
    return merges


def unigram_tokens(
    counts: _core.CountedPieces, alphabet: Sequence[str], wanted: Mapping[str, Any]
) -> list[tuple[str, float]]:
    """The tokens of a unigram model with their scores."""
    tokens, scores = _core.train_unigram(counts, list(alphabet), wanted, lambda left: None)
    return [(token.decode(), score) for token, score in zip(tokens, scores.tolist(), strict=True)]
