"""wordchipper: knows vocabularies by name only, so the published file is copied into its cache under that name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._engine import Encoding, Engine, Ids, Unsupported, as_ids, import_peer

wordchipper = import_peer("wordchipper")

NAMES = {"r50k": "r50k_base", "cl100k": "cl100k_base", "o200k": "o200k_base"}


def load(encoding: Encoding) -> Engine:
    """From its cache. It treats a missing file as an empty vocabulary, so the file is copied there first."""
    if encoding.name not in NAMES:
        raise Unsupported(f"no name for {encoding.name}")
    name = NAMES[encoding.name]
    cached = Path(os.environ["WORDCHIPPER_CACHE_DIR"]) / "openai" / name / f"{name}.tiktoken"
    if cached.resolve() != encoding.ranks():
        cached.parent.mkdir(parents=True, exist_ok=True)
        cached.unlink(missing_ok=True)
        cached.symlink_to(encoding.ranks())
    return Wordchipper(wordchipper.Tokenizer.from_pretrained(name, wordchipper.TokenizerOptions.default()))


class Wordchipper(Engine):
    """Calls of the inner tokenizer, below a Python layer that only forwards."""

    def __init__(self, tok: Any) -> None:
        self.tok = tok._tok
        self.ordinary = wordchipper.SpecialFilter.include_none()

    def ids(self, text: str) -> Ids:
        return as_ids(self.tok.encode(text, self.ordinary))

    def arrays(self, texts: Sequence[str]) -> list[int]:
        return self.lists(texts)

    def lists(self, texts: Sequence[str]) -> list[int]:
        encode, ordinary = self.tok.encode, self.ordinary
        return [len(encode(text, ordinary)) for text in texts]

    def batch_lists(self, texts: list[str], threads: int) -> list[list[int]]:
        lists: list[list[int]] = self.tok.encode_batch(texts, self.ordinary)
        return lists
