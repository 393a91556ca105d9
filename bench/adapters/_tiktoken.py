"""tiktoken: the reference for rank vocabularies, and the baseline of the tables."""

from __future__ import annotations

from collections.abc import Sequence

from ._engine import Encoding, Engine, Ids, as_ids, import_peer

tiktoken = import_peer("tiktoken")


def load(encoding: Encoding) -> Engine:
    """From a local rank file and the published regex."""
    ranks = import_peer("tiktoken.load").load_tiktoken_bpe(str(encoding.ranks()))
    return Tiktoken(tiktoken.Encoding(encoding.name, pat_str=encoding.regex, mergeable_ranks=ranks, special_tokens={}))


class Tiktoken(Engine):
    """Calls of `tiktoken.Encoding`."""

    def ids(self, text: str) -> Ids:
        return as_ids(self.tok.encode_to_numpy(text, disallowed_special=()))

    def arrays(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode_to_numpy
        return [len(encode(text, disallowed_special=())) for text in texts]

    def lists(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode_ordinary
        return [len(encode(text)) for text in texts]

    def batch_arrays(self, texts: list[str], threads: int) -> list[list[int]]:
        return self.batch_lists(texts, threads)

    def batch_lists(self, texts: list[str], threads: int) -> list[list[int]]:
        lists: list[list[int]] = self.tok.encode_ordinary_batch(texts, num_threads=threads)
        return lists

    def flatten(self, batch: list[list[int]]) -> Ids:
        return as_ids([id for ids in batch for id in ids])

    def piece(self, text: str) -> Ids:
        return as_ids(self.tok._encode_single_piece(text))
