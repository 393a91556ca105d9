"""gigatoken: arrays are its own type; lists are made from them in Rust."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._engine import Encoding, Engine, Ids, as_ids, import_peer

gigatoken = import_peer("gigatoken")

# Names of its split schemes.
SCHEMES = {"gpt2": "gpt2", "cl100k": "gpt4", "o200k": "o200k"}


def load(encoding: Encoding) -> Engine:
    """From the published ranks, else from a `tokenizer.json`, always without special tokens.

    It refuses Llama 3's ranks; with a SentencePiece model it treats `<s>` in a text as the special token.
    """
    if encoding.pattern in SCHEMES:
        return Gigatoken(gigatoken.Tokenizer.from_tiktoken(encoding.ranks(), SCHEMES[encoding.pattern], {}))
    return Gigatoken(gigatoken.Tokenizer(encoding.json()))


class Gigatoken(Engine):
    """Calls of `gigatoken.Tokenizer`, below its Python layer where that only forwards."""

    def __init__(self, tok: Any) -> None:
        self.tok = tok
        self.backend = tok.backend

    def ids(self, text: str) -> Ids:
        return as_ids(self.backend.encode(text))

    def arrays(self, texts: Sequence[str]) -> list[int]:
        encode = self.backend.encode
        return [len(encode(text)) for text in texts]

    def lists(self, texts: Sequence[str]) -> list[int]:
        encode = self.backend.encode_batch_list  # faster than a list from the array, except for short texts
        return [len(encode([text], parallel=False)[0]) for text in texts]

    def calls(self, texts: Sequence[str]) -> list[int]:
        encode = self.backend.encode
        return [len(encode(text).tolist()) for text in texts]

    def batch_arrays(self, texts: list[str], threads: int) -> Any:
        return self.backend.encode_batch(texts, parallel=threads > 1)

    def batch_lists(self, texts: list[str], threads: int) -> list[list[int]]:
        lists: list[list[int]] = self.backend.encode_batch_list(texts, parallel=threads > 1)
        return lists

    def flatten(self, batch: Any) -> Ids:
        awkward = import_peer("awkward")
        return as_ids(awkward.to_numpy(awkward.flatten(batch)))

    def decode_lists(self, batch: Sequence[list[int]]) -> list[int]:
        decode = self.backend.decode
        return [len(decode(ids).decode("utf-8", "replace")) for ids in batch]

    def text(self, ids: list[int]) -> str:
        data: bytes = self.backend.decode(ids)
        return data.decode("utf-8", "replace")

    def decode_arrays(self, batch: Sequence[Ids]) -> list[int]:
        decode = self.backend.decode
        return [len(decode(ids)) for ids in batch]

    def data(self, ids: Ids) -> bytes:
        data: bytes = self.backend.decode(np.asarray(ids))
        return data
