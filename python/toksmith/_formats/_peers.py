"""Runs the library that each format comes from on files that toksmith wrote: one row for each.

A row names the module to import and opens the files. The result turns a text into ids as the library does, with special
tokens as ordinary text. All modules are optional; the row of a missing module is skipped.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .._model import Model
from ._oniguruma import NotTranslatable, to_onig

__all__ = ["PEERS", "NotComparable", "Peer", "opened_by_peer"]

Encode = Callable[[str], list[int]]


class NotComparable(Exception):
    """The library cannot run a part of the model, or it is not installed."""


@dataclass(frozen=True)
class Peer:
    """One row: the package, the module to import, and the files (and the model that they hold) to a function."""

    package: str
    module: str
    open: Callable[[Any, Sequence[str], Model], Encode]


def opened_by_peer(format: str, paths: Sequence[str], model: Model) -> tuple[str, Encode]:
    """The name and version of a format's library, and what turns a text into ids with these files.

    Raises:
        NotComparable: No library reads the format, it is not installed, or it cannot run the model.
    """
    peer = PEERS.get(format)
    if peer is None:
        raise NotComparable(f"no other library reads {format!r} files")
    from importlib import metadata

    try:
        module = import_module(peer.module)
        version = metadata.version(peer.package)
    except ImportError:
        raise NotComparable(f"{peer.package} is not installed") from None
    return f"{peer.package} {version}", peer.open(module, paths, model)


def by_tiktoken(tiktoken: Any, paths: Sequence[str], model: Model) -> Encode:
    """Ranks in tiktoken. It drops what a pattern does not cover, which is kept here."""
    regexes = [step["pattern"] for step in model.splitters]
    if len(regexes) > 1:
        raise NotComparable("tiktoken supports only one regex")
    pattern = regexes[0] if regexes else r"[\s\S]+"
    # Not by its own loader, which keeps a copy of every file by its path and would give an older one of the same name.
    rows = (line.split() for line in import_module("tiktoken.load").read_file(paths[0]).splitlines())
    ranks = {base64.b64decode(row[0]): int(row[1]) for row in rows if row}
    encoding = tiktoken.Encoding(name="own", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    encode: Encode = encoding.encode_ordinary
    return encode


def by_tokenizers(tokenizers: Any, paths: Sequence[str], model: Model) -> Encode:
    """A tokenizer.json in HF tokenizers."""
    tokenizer = tokenizers.Tokenizer.from_file(paths[0])
    tokenizer.encode_special_tokens = True
    return of_tokenizers(tokenizer)


def of_tokenizers(tokenizer: Any) -> Encode:
    """The ids that a tokenizer of HF's gives."""

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    return encode


def by_two_files(tokenizers: Any, paths: Sequence[str], model: Model) -> Encode:
    """Vocabulary and merges in HF tokenizers, with the splitters of the model."""
    try:
        regexes = [tokenizers.Regex(to_onig(step["pattern"])) for step in model.splitters]
    except NotTranslatable as error:
        raise NotComparable(f"HF tokenizers: {error}") from error
    steps = [tokenizers.pre_tokenizers.Split(regex, "isolated") for regex in regexes]
    to_characters = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(*paths))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([*steps, to_characters])
    return of_tokenizers(tokenizer)


def by_sentencepiece(sentencepiece: Any, paths: Sequence[str], model: Model) -> Encode:
    """A model in SentencePiece."""
    processor = sentencepiece.SentencePieceProcessor(model_file=paths[0])
    encode: Encode = processor.encode
    return encode


def by_mistral(tekken: Any, paths: Sequence[str], model: Model) -> Encode:
    """A tekken.json in Mistral's library."""
    tokenizer = tekken.Tekkenizer.from_file(paths[0])

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, bos=False, eos=False)
        return ids

    return encode


def by_minbpe(minbpe: Any, paths: Sequence[str], model: Model) -> Encode:
    """A model in minbpe, which keeps the pattern that it was made with and not the one that it reads."""
    if model.splitters:
        tokenizer = minbpe.RegexTokenizer(pattern=model.splitters[0]["pattern"])
        tokenizer.load(paths[0])
        encode: Encode = tokenizer.encode_ordinary
        return encode
    basic = minbpe.BasicTokenizer()
    basic.load(paths[0])
    encode = basic.encode
    return encode


PEERS: Mapping[str, Peer] = {
    "gpt2": Peer("tokenizers", "tokenizers", by_two_files),
    "minbpe": Peer("minbpe", "minbpe", by_minbpe),
    "sentencepiece": Peer("sentencepiece", "sentencepiece", by_sentencepiece),
    "tekken": Peer("mistral-common", "mistral_common.tokens.tokenizers.tekken", by_mistral),
    "tiktoken": Peer("tiktoken", "tiktoken", by_tiktoken),
    "tokenizer_json": Peer("tokenizers", "tokenizers", by_tokenizers),
}
