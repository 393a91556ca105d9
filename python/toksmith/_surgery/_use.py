"""How often each id of a tokenizer stands in a corpus."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._corpus import Corpus, documents
from .._tokenizer import Tokenizer

__all__ = ["batches", "used"]

BATCH_DOCUMENTS = 10_000


def batches(corpus: Corpus) -> Iterator[list[str | bytes]]:
    """The documents of a corpus, some at a time."""
    batch: list[str | bytes] = []
    for document in documents(corpus):
        batch.append(document)
        if len(batch) == BATCH_DOCUMENTS:
            yield batch
            batch = []
    yield batch


def used(tok: Tokenizer, corpus: Corpus, threads: int) -> dict[int, int]:
    """How often each id stands in a corpus."""
    counts = np.zeros(tok.vocab_size, np.int64)
    for batch in batches(corpus):
        counts += np.bincount(tok.encode_ragged(batch, special="text", threads=threads).ids, minlength=len(counts))
    return dict(enumerate(counts.tolist()))
