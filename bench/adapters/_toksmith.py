"""toksmith, through its public calls only."""

from __future__ import annotations

from collections.abc import Sequence

import toksmith
from toksmith import load as load_tokenizer  # imported here, as other engines import their loading code

from ._engine import Encoding, Engine, Ids, Unsupported, as_ids


def load(encoding: Encoding) -> Engine:
    """The tokenizer of a published file, or of a file in toksmith's own format."""
    if encoding.native:
        return Toksmith(load_tokenizer(encoding.native))
    if encoding.kind == "ranks":
        return Toksmith(load_tokenizer(encoding.source, pattern=encoding.pattern))
    try:
        return Toksmith(load_tokenizer(encoding.source))
    except ImportError as missing:
        raise Unsupported(str(missing)) from missing


class Toksmith(Engine):
    """Calls of `toksmith.Tokenizer`."""

    tok: toksmith.Tokenizer

    def ids(self, text: str) -> Ids:
        return self.tok.encode_array(text, special="text")

    def arrays(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode_array
        return [len(encode(text, special="text")) for text in texts]

    def lists(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode
        return [len(encode(text, special="text")) for text in texts]

    def calls(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode
        return [len(encode(text)) for text in texts]

    def batch_arrays(self, texts: list[str], threads: int) -> toksmith.types.Ragged:
        return self.tok.encode_ragged(texts, special="text", threads=threads)

    def batch_lists(self, texts: list[str], threads: int) -> list[list[int]]:
        return self.tok.encode_batch(texts, special="text", threads=threads)

    def flatten(self, batch: toksmith.types.Ragged) -> Ids:
        return as_ids(batch.ids)
