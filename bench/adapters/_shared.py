"""The common part of peers whose result is an object with an `ids` attribute that makes a list."""

from __future__ import annotations

from collections.abc import Sequence

from ._engine import Engine, Ids, as_ids


class Objects(Engine):
    """`encode(text, add_special_tokens=False)`, as in Hugging Face's library."""

    def ids(self, text: str) -> Ids:
        return as_ids(self.tok.encode(text, add_special_tokens=False).ids)

    def arrays(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode
        return [len(encode(text, add_special_tokens=False)) for text in texts]

    def lists(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode
        return [len(encode(text, add_special_tokens=False).ids) for text in texts]
