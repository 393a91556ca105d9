"""What peers have in common that return an object of their own, which makes a list when asked for `ids`."""

from __future__ import annotations

from collections.abc import Sequence

from ._engine import Engine, Ids, as_ids


class Objects(Engine):
    """`encode(text, add_special_tokens=False)`, as Hugging Face's library spells it."""

    def ids(self, text: str) -> Ids:
        return as_ids(self.tok.encode(text, add_special_tokens=False).ids)

    def arrays(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode
        return [len(encode(text, add_special_tokens=False)) for text in texts]

    def lists(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode
        return [len(encode(text, add_special_tokens=False).ids) for text in texts]
