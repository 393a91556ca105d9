"""Unigram tokens from counts of pieces, for callers that have their own counts and their own model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core

__all__ = ["unigram_tokens"]


def unigram_tokens(
    counts: _core.CountedPieces, alphabet: Sequence[str], wanted: Mapping[str, Any]
) -> list[tuple[str, float]]:
    """The tokens of a unigram model with their scores."""
    tokens, scores = _core.train_unigram(counts, list(alphabet), wanted, lambda left: None)
    return [(token.decode(), score) for token, score in zip(tokens, scores.tolist(), strict=True)]
