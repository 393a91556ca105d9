"""The interface of adapters: a loaded engine with the measured operations.

The timed operations take many texts and loop themselves, so no engine pays for a wrapper at each call. They drop each
result and return its size; `ids` returns the results for the untimed check. If a peer lacks an operation, its cells are
shown as missing. Code of several peers is here: decoding (`Engine`), and encoding to lists only (`ListEngine`).
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.uint32]


class Unsupported(Exception):
    """The peer cannot do this, cannot load this encoding, or is not installed."""


def import_peer(name: str) -> Any:
    """Import a peer's module by name, so that the project's checks need no peer."""
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise Unsupported(f"not installed ({problem})") from problem


@dataclass(frozen=True)
class Encoding:
    """A vocabulary in the file formats that the engines need.

    Attributes:
        kind: "ranks" (byte-level, with a split regex) or "sentencepiece".
        source: The published file: `.tiktoken` ranks, or a SentencePiece `.model`.
        pattern: The split pattern's name in toksmith's table; "" without a split.
        regex: The split regex as its publisher spells it; "" without a split.
        tokenizer_json: The same vocabulary in Hugging Face's format, if it was converted.
        native: The same vocabulary in toksmith's own format, if it was converted.
    """

    name: str
    kind: str
    source: str
    pattern: str
    regex: str
    tokenizer_json: str = ""
    native: str = ""

    def ranks(self) -> Path:
        """The `.tiktoken` file, for engines that read only ranks."""
        if self.kind != "ranks":
            raise Unsupported(f"{self.name} is not a rank vocabulary")
        return Path(self.source)

    def json(self) -> str:
        """The `tokenizer.json` file."""
        if not self.tokenizer_json:
            raise Unsupported(f"{self.name} has no tokenizer.json")
        return self.tokenizer_json


class Engine:
    """One peer's loaded tokenizer. Special tokens in texts are ordinary text."""

    def __init__(self, tok: Any) -> None:
        self.tok = tok

    def ids(self, text: str) -> Ids:
        """The ids of one text, for the check."""
        raise Unsupported

    def arrays(self, texts: Sequence[str]) -> list[int]:
        """Encodes each text into an array or the engine's nearest equivalent; returns the sizes."""
        raise Unsupported

    def lists(self, texts: Sequence[str]) -> list[int]:
        """Encodes each text into a list of int; returns the sizes."""
        raise Unsupported

    def calls(self, texts: Sequence[str]) -> list[int]:
        """As `lists`, by the call for one short string."""
        return self.lists(texts)

    def batch_arrays(self, texts: list[str], threads: int) -> Any:
        """Encodes a batch at once into arrays, in any form that `flatten` accepts."""
        raise Unsupported

    def batch_lists(self, texts: list[str], threads: int) -> list[list[int]]:
        """Encodes a batch at once into lists of int."""
        raise Unsupported

    def flatten(self, batch: Any) -> Ids:
        """The ids of a result of `batch_arrays`, one text after another."""
        raise Unsupported

    def decode_lists(self, batch: Sequence[list[int]]) -> list[int]:
        """Decodes each list into a str; returns the sizes."""
        decode = self.tok.decode
        return [len(decode(ids)) for ids in batch]

    def text(self, ids: list[int]) -> str:
        """The text of one list, by the call of `decode_lists`, for the check."""
        text: str = self.tok.decode(ids)
        return text

    def decode_arrays(self, batch: Sequence[Ids]) -> list[int]:
        """Decodes each array into bytes; returns the sizes."""
        decode = self.tok.decode_bytes
        return [len(decode(ids)) for ids in batch]

    def data(self, ids: Ids) -> bytes:
        """The bytes of one array, by the call of `decode_arrays`, for the check."""
        data: bytes = self.tok.decode_bytes(ids)
        return data

    def piece(self, text: str) -> Ids:
        """The ids of a text that the pattern keeps in one piece; for a reference whose split gives up on the text."""
        raise Unsupported


class ListEngine(Engine):
    """A peer whose `encode` takes a text and nothing else, and returns a list."""

    def ids(self, text: str) -> Ids:
        return as_ids(self.tok.encode(text))

    def arrays(self, texts: Sequence[str]) -> list[int]:
        return self.lists(texts)

    def lists(self, texts: Sequence[str]) -> list[int]:
        encode = self.tok.encode
        return [len(encode(text)) for text in texts]


def as_ids(ids: Any) -> Ids:
    """An array of any sequence of ids."""
    return np.asarray(ids, dtype=np.uint32)
