"""Counts how often each id of a tokenizer occurs in a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from ..._corpus import Corpus, documents
from ..._tokenizer.tokenizer import Tokenizer

__all__ = ["batches", "used"]

BATCH_DOCUMENTS = 10_000


def batches(corpus: Corpus) -> Iterator[list[str | bytes]]:
    """The documents of a corpus in batches."""
    batch: list[str | bytes] = []
    for document in documents(corpus):
        batch.append(document)
        if len(batch) == BATCH_DOCUMENTS:
            yield batch
            batch = []
    yield batch


def used(tok: Tokenizer, corpus: Corpus, threads: int) -> dict[int, int]:
    """The count of each id in a corpus, 0 for unused ids."""
    counts: Counter[int] = Counter()
    for batch in batches(corpus):
        ids, often = np.unique(tok.encode_ragged(batch, special="text", threads=threads).ids, return_counts=True)
        counts.update(dict(zip(ids.tolist(), often.tolist(), strict=True)))
    return counts
