"""snaptokens, from a `tokenizer.json`: packed ids of a batch, or an object whose `ids` attribute makes a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._engine import Encoding, Engine, Ids, Unsupported, as_ids, import_peer
from ._shared import Objects

snaptokens = import_peer("snaptokens")


def load(encoding: Encoding) -> Engine:
    """From the converted file. It lacks a normalizer that adds a space in front, which SentencePiece's models need."""
    if encoding.kind == "sentencepiece":
        raise Unsupported("no normalizer `Prepend`")
    return Snaptokens(snaptokens.Tokenizer.from_file(encoding.json()))


class Snaptokens(Objects):
    """Calls of `snaptokens.Tokenizer`. A batch of one text is faster than `encode`, except for short texts."""

    def arrays(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode_batch_flat
        return [len(np.frombuffer(encode([text])[0], np.uint32)) for text in texts]

    def batch_arrays(self, texts: list[str], threads: int) -> Any:
        ids, ends = self.tok.encode_batch_flat(texts)
        return np.frombuffer(ids, np.uint32), np.frombuffer(ends, np.uint64)

    def batch_lists(self, texts: list[str], threads: int) -> list[list[int]]:
        return [encoding.ids for encoding in self.tok.encode_batch(texts)]

    def flatten(self, batch: Any) -> Ids:
        return as_ids(batch[0])
