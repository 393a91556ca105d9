"""fastokens: its result is an object with a length, and its `ids` attribute makes a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._engine import Encoding, Engine, Ids, as_ids, import_peer

fastokens = import_peer("fastokens._native")

# Its names of vocabularies: it takes its fast path by name only. Every other vocabulary is loaded from a
# `tokenizer.json`; it refuses ranks with tokens that no merge makes, such as Llama 3's.
NAMES = {"cl100k": "cl100k_base", "o200k": "o200k_base"}


def load(encoding: Encoding) -> Engine:
    """From ranks under the library's name for them, if it has one; else from the converted file."""
    if encoding.name in NAMES:
        return Fastokens(fastokens.Tokenizer.from_tiktoken(str(encoding.ranks()), encoding=NAMES[encoding.name]))
    return Fastokens(fastokens.Tokenizer.from_file(encoding.json()))


class Fastokens(Engine):
    """Calls of the native tokenizer, without the Python layer that imitates another library.

    No batch call takes ordinary text only: the second argument adds no special tokens around each text, the third
    treats special tokens in the text as text.
    """

    def ids(self, text: str) -> Ids:
        return as_ids(self.tok.encode_ordinary(text).ids)

    def arrays(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode_ordinary
        return [len(encode(text)) for text in texts]

    def lists(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode_ordinary
        return [len(encode(text).ids) for text in texts]

    def batch_arrays(self, texts: list[str], threads: int) -> Any:
        ids, ends = self.tok.encode_batch_flat(texts, False, True)
        return np.frombuffer(ids, np.uint32), np.frombuffer(ends, np.uint64)

    def batch_lists(self, texts: list[str], threads: int) -> list[list[int]]:
        return [encoding.ids for encoding in self.tok.encode_batch(texts, False, True)]

    def flatten(self, batch: Any) -> Ids:
        return as_ids(batch[0])
