"""The trainers: each library's training, and its learned tokens. A library is imported by its own functions only.

A trainer takes a `Job` and the documents (none if it reads a file), and returns its result in its own form. After the
clock has stopped, `tokens` converts it to the rank of each token's bytes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..adapters import OURS, Unsupported
from ..tokenizer_json import byte_alphabet
from ..vocabularies import REGEXES, TOKENIZER_JSON_REGEXES
from .cases import COUNTING, JSONL, UNSPLIT
from .job import Job

Ranks = dict[bytes, int]
WHOLE = r"(?s:.+)"
LONGEST = 1 << 16


@dataclass(frozen=True)
class Trainer:
    """One library: its training, and the reader of its result."""

    distribution: str
    train: Callable[[Job, list[str]], Any]
    tokens: Callable[[Any], Ranks]

    def load(self) -> None:
        """Import the library, including the parts that it imports only for training."""
        module = import_library(self.distribution)
        for name in ("train", "count_pieces"):
            getattr(module, name, None)


def import_library(name: str) -> Any:
    """An installed library, or `Unsupported`."""
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise Unsupported(f"{name} is not installed") from missing


def regex(job: Job) -> str:
    """The split as a regex in the dialect of most engines; without a split, one match for everything."""
    return WHOLE if job.split == UNSPLIT else REGEXES[job.split]


def toksmith_train(job: Job, texts: list[str]) -> Any:
    """Through the public calls, with all defaults but the progress bar; counting is a separate call."""
    toksmith = import_library("toksmith")
    corpus = Path(job.source.file) if job.source.form == JSONL else texts
    pattern = None if job.split == UNSPLIT else job.split
    if job.size == COUNTING:
        return toksmith.corpus.count(corpus, pattern=pattern, threads=job.threads, progress=False)
    return toksmith.train(corpus, job.size, pattern=pattern, threads=job.threads, progress=False)


def toksmith_tokens(tok: Any) -> Ranks:
    """The tokens in the order of their ids; only the bytes if it only counted."""
    if not hasattr(tok, "token_bytes"):
        return {bytes([byte]): byte for byte in range(COUNTING)}
    return {tok.token_bytes(id): id for id in range(len(tok))}


def rustbpe_train(job: Job, texts: list[str]) -> Any:
    """From an iterator."""
    tok = import_library("rustbpe").Tokenizer()
    tok.train_from_iterator(iter(texts), job.size, pattern=regex(job))
    return tok


def rustbpe_tokens(tok: Any) -> Ranks:
    """The ranks in the form for tiktoken."""
    return {bytes(token): rank for token, rank in tok.get_mergeable_ranks()}


def tokenizers_train(job: Job, texts: list[str]) -> Any:
    """Byte-level, with the split of its own files."""
    hf = import_library("tokenizers")
    in_bytes = hf.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    spelled = WHOLE if job.split == UNSPLIT else TOKENIZER_JSON_REGEXES[job.split] or REGEXES[job.split]
    split = hf.pre_tokenizers.Split(hf.Regex(spelled), "isolated")
    tok = hf.Tokenizer(hf.models.BPE())
    tok.pre_tokenizer = hf.pre_tokenizers.Sequence([split, in_bytes])
    alphabet = hf.pre_tokenizers.ByteLevel.alphabet()
    trainer = hf.trainers.BpeTrainer(vocab_size=job.size, initial_alphabet=alphabet, show_progress=False)
    tok.train_from_iterator(texts, trainer)
    return tok


def tokenizers_tokens(tok: Any) -> Ranks:
    """The vocabulary with its characters converted back to bytes."""
    byte_of = {char: byte for byte, char in enumerate(byte_alphabet())}
    return {bytes(byte_of[char] for char in token): id for token, id in tok.get_vocab().items()}


def bpeasy_train(job: Job, texts: list[str]) -> Any:
    """From an iterator, with a limit on tokens that never applies."""
    return import_library("bpeasy.bpeasy").train_bpe_stream(iter(texts), regex(job), LONGEST, job.size, 1000)


def gigatoken_train(job: Job, texts: list[str]) -> Any:
    """From a file of JSON lines; it supports only GPT-2's split."""
    gigatoken = import_library("gigatoken")
    if job.split != "gpt2" or job.source.form != JSONL:
        raise Unsupported("it trains with GPT-2's split, from files")
    return gigatoken.train_bpe(gigatoken.JsonlFileSource([job.source.file]), job.size, [])


def gigatoken_tokens(tok: Any) -> Ranks:
    """The first of its two results, inverted."""
    return {bytes(token): id for id, token in tok[0].items()}


TRAINERS = {
    OURS: Trainer("toksmith", toksmith_train, toksmith_tokens),
    "rustbpe": Trainer("rustbpe", rustbpe_train, rustbpe_tokens),
    "tokenizers": Trainer("tokenizers", tokenizers_train, tokenizers_tokens),
    "bpeasy": Trainer("bpeasy", bpeasy_train, dict),
    "gigatoken": Trainer("gigatoken", gigatoken_train, gigatoken_tokens),
}
