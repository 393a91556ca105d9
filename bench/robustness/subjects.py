"""Calls each library: one small vocabulary in its file format, and the same few calls.

The vocabulary is trained by toksmith on a few modules of Python's library, once, into the scratch folder.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import textwrap
from pathlib import Path
from typing import Any

from ..adapters._engine import import_peer
from ..places import write_whole

OURS, TIKTOKEN, TOKENIZERS, SENTENCEPIECE = LIBRARIES = ("toksmith", "tiktoken", "tokenizers", "sentencepiece")
END = "<|end|>"
SOURCES = (argparse, contextlib, textwrap, os)


def corpus() -> str:
    """The training text of the vocabularies."""
    return "\n".join(Path(module.__file__ or "").read_text(encoding="utf-8") for module in SOURCES)


def write_vocabularies(folder: Path) -> None:
    """Write the vocabulary in every format that an attack needs."""
    toksmith = import_peer(OURS)
    folder.mkdir(parents=True, exist_ok=True)
    tok = toksmith.train(corpus(), 1000, pattern="cl100k", special_tokens=[END], progress=False)
    for name in ("small.toksmith", "tokenizer.json"):
        tok.save(folder / name, allow_loss=("metadata",))
    (folder / "pattern").write_text(toksmith.patterns()["cl100k"].regexes[0], encoding="utf-8")
    loss = ("splitters", "metadata", "added_tokens")
    tok.save(folder / "small.tiktoken", allow_loss=loss)
    characters = toksmith.train(
        corpus(), 800, unit="char", character_coverage=0.9999, special_tokens=["</s>"], progress=False
    )
    characters.save(folder / "small.model", format="sentencepiece", allow_loss=("metadata",))


class Subject:
    """One library with the small vocabulary, or with a file of an attack."""

    def __init__(self, library: str, path: Path) -> None:
        self.library = library
        self.tok = load(library, path)

    def encode(self, text: Any) -> list[int]:
        """The ids of a text, in which special tokens are ordinary text."""
        if self.library == OURS:
            return list(self.tok.encode(text, special="text"))
        if self.library == TIKTOKEN:
            return list(self.tok.encode_ordinary(text))
        if self.library == TOKENIZERS:
            return list(self.tok.encode(text, add_special_tokens=False).ids)
        return list(self.tok.encode(text))

    def usual(self, text: Any) -> list[int]:
        """The ids of a text by the library's most common call and its default options."""
        if self.library in (OURS, TIKTOKEN, SENTENCEPIECE):
            return list(self.tok.encode(text))
        return list(self.tok.encode(text).ids)

    def decode(self, ids: Any) -> Any:
        """The text of ids."""
        return self.tok.decode(ids, skip_special_tokens=False) if self.library == TOKENIZERS else self.tok.decode(ids)

    def batch(self, texts: Any) -> Any:
        """The ids of many texts."""
        name = {OURS: "encode_batch", TIKTOKEN: "encode_ordinary_batch", TOKENIZERS: "encode_batch"}
        return getattr(self.tok, name.get(self.library, "encode"))(texts)


def load(library: str, path: Path) -> Any:
    """A library's tokenizer from a file."""
    module = import_peer(library)
    if library == OURS:
        options = {"pattern": "cl100k", "special_tokens": {END: 999}} if path.suffix == ".tiktoken" else {}
        return module.load(path, **options)
    if library == TIKTOKEN:
        pattern = next(folder / "pattern" for folder in path.parents if (folder / "pattern").is_file())
        return encoding(ranks(path), pattern.read_text(encoding="utf-8"))
    if library == TOKENIZERS:
        return module.Tokenizer.from_file(str(path))
    return module.SentencePieceProcessor(model_file=str(path))


def ranks(path: Path) -> dict[bytes, int]:
    """The ranks of a file, read by tiktoken."""
    table: dict[bytes, int] = import_peer("tiktoken.load").load_tiktoken_bpe(str(path))
    return table


def encoding(mergeable_ranks: dict[bytes, int], pattern: str, special: dict[str, int] | None = None) -> Any:
    """tiktoken's encoding from ranks."""
    specials = {END: 999} if special is None else special
    return import_peer(TIKTOKEN).Encoding(
        name="small", pat_str=pattern, mergeable_ranks=mergeable_ranks, special_tokens=specials
    )


def small_subject(library: str, folder: Path) -> Subject:
    """The library with the small vocabulary."""
    names = {OURS: "small.toksmith", TIKTOKEN: "small.tiktoken", TOKENIZERS: "tokenizer.json"}
    return Subject(library, folder / names.get(library, "small.model"))


def write_file(path: Path, content: bytes | dict[str, Any]) -> Path:
    """Write the content to a file, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    write_whole(path, data)
    return path
