"""Counts how often each id of a tokenizer occurs in a corpus."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..._corpus import Corpus, batches, documents
from ..._tokenizer.tokenizer import Tokenizer

__all__ = ["used"]


def used(tok: Tokenizer, corpus: Corpus, threads: int) -> dict[int, int]:
    """The count of each id in a corpus, 0 for unused ids."""
    counts: Counter[int] = Counter()
    for batch in batches(documents(corpus)):
        ids, often = np.unique(tok.encode_ragged(batch, special="text", threads=threads).ids, return_counts=True)
        counts.update(dict(zip(ids.tolist(), often.tolist(), strict=True)))
    return counts
