"""The vocabularies of the test data in pairs: in toksmith, and in the library that defines their ids.

`PAIRS` is the table: a name, and the function that makes the pair if its file exists. A vocabulary that is added to the
test data, or whose reader is added to the package, gets a row here, and with it every test of exactness.
"""

import gzip
import importlib.metadata
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import toksmith
from toksmith import Model
from toksmith._formats import FORMATS, UNSET
from toksmith.types import TokenTable

CORPORA = ["arabic", "chinese", "code", "english", "european", "hindi", "japanese", "korean", "russian"]
# Meta's spelling; not read from toksmith's table, which is under test.
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
# tiktoken 0.14.0's spelling.
SPELLINGS = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "llama3": LLAMA3,
}

Ids = list[np.ndarray]
IdsOf = Callable[[list[str]], Ids]


class Twin(NamedTuple):
    """One vocabulary twice: toksmith's model, and the peer's function from texts to ids."""

    model: Model
    ids_of: IdsOf


def scalar(text: str) -> str:
    """The text without lone surrogates, replaced as in tiktoken."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def imported_transformers() -> Any:
    """transformers, or a skip. It requires a newer `regex` than the pinned one, but runs with it."""
    real = importlib.metadata.version
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.metadata, "version", lambda name: "9999.1" if name == "regex" else real(name))
        return pytest.importorskip("transformers", "5", reason="lacks transformers>=5 (tests/requirements-alone.txt)")


def by_tiktoken(file: str, pattern: str) -> Callable[[Path], Twin]:
    """A file of ranks, and tiktoken."""

    def twin(folder: Path) -> Twin:
        tiktoken: Any = pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0")
        load: Any = pytest.importorskip("tiktoken.load").load_tiktoken_bpe
        public: Any = pytest.importorskip("tiktoken_ext.openai_public")
        spelling = SPELLINGS.get(pattern) or public_spelling(public, pattern)
        peer = tiktoken.Encoding(
            name=file, pat_str=spelling, mergeable_ranks=load(str(folder / file)), special_tokens={}
        )

        def ids_of(texts: list[str]) -> Ids:
            return [np.array(ids, np.uint32) for ids in peer.encode_ordinary_batch(texts, num_threads=2)]

        return Twin(toksmith.load(folder / file, pattern=pattern, special_tokens={}).model, ids_of)

    return twin


def public_spelling(public: Any, pattern: str) -> str:
    """The regex of an encoding of tiktoken, without its file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(public, "load_tiktoken_bpe", lambda *_, **__: {})
        return getattr(public, f"{pattern}_base")()["pat_str"]


def by_tokenizers(file: str) -> Callable[[Path], Twin]:
    """A `tokenizer.json`, and HF's library."""

    def twin(folder: Path) -> Twin:
        tokenizers: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
        # Without its special tokens, which HF recognizes in any text.
        content = json.dumps(json.loads((folder / file).read_text(encoding="utf-8")) | {"added_tokens": []})
        peer = tokenizers.Tokenizer.from_str(content)

        def ids_of(texts: list[str]) -> Ids:
            found = peer.encode_batch_fast([scalar(text) for text in texts], add_special_tokens=False)
            return [np.array(each.ids, np.uint32) for each in found]

        row = FORMATS["tokenizer_json"]
        return Twin(row.load(content.encode(), file, pattern=UNSET, special_tokens=None), ids_of)

    return twin


def by_sentencepiece(file: str) -> Callable[[Path], Twin]:
    """A SentencePiece model, and its own library."""

    def twin(folder: Path) -> Twin:
        sentencepiece: Any = pytest.importorskip("sentencepiece", "0.2.3", reason="lacks sentencepiece==0.2.3")
        try:
            model = toksmith.load(folder / file).model
        except toksmith.ToksmithError as error:
            pytest.skip(f"lacks a reader that runs {file}: {error}")
        peer = sentencepiece.SentencePieceProcessor(model_file=str(folder / file))

        def ids_of(texts: list[str]) -> Ids:
            return [np.array(ids, np.uint32) for ids in peer.encode([scalar(text) for text in texts])]

        return Twin(model, ids_of)

    return twin


def by_passes(file: str) -> Callable[[Path], Twin]:
    """Merges of a tutorial, applied as in the tutorials: one pass over the whole text for each, in order."""

    def twin(folder: Path) -> Twin:
        pairs = json.loads((folder / file).read_text(encoding="utf-8"))
        merges = [[left, right, id] for id, (left, right) in enumerate(pairs, 256)]
        tokens = [bytes([byte]) for byte in range(256)]
        for left, right, _ in merges:
            tokens.append(tokens[left] + tokens[right])
        ids = np.arange(len(tokens), dtype=np.uint32)
        model = Model(TokenTable.of(tokens), ids, merges=np.array(merges, np.uint32), whole_piece=False)

        def ids_of(texts: list[str]) -> Ids:
            return [passes(scalar(text).encode(), merges) for text in texts]

        return Twin(model, ids_of)

    return twin


def passes(text: bytes, merges: list[list[int]]) -> np.ndarray:
    """The ids after one pass for each merge; in a run of one id, every second place from its start is merged."""
    ids = np.frombuffer(text, np.uint8).astype(np.uint32)
    for left, right, result in merges:
        found = np.flatnonzero((ids[:-1] == left) & (ids[1:] == right))
        if not len(found):
            continue
        if left == right:
            first = np.concatenate([[True], np.diff(found) != 1])
            since = np.arange(len(found)) - np.maximum.accumulate(np.where(first, np.arange(len(found)), 0))
            found = found[since % 2 == 0]
        ids[found] = result
        ids = np.delete(ids, found + 1)
    return ids


PAIRS: dict[str, Callable[[Path], Twin]] = {
    "r50k_base": by_tiktoken("r50k_base.tiktoken", "gpt2"),
    "p50k_base": by_tiktoken("p50k_base.tiktoken", "gpt2"),
    "cl100k_base": by_tiktoken("cl100k_base.tiktoken", "cl100k"),
    "o200k_base": by_tiktoken("o200k_base.tiktoken", "o200k"),
    "llama3": by_tiktoken("llama3.tiktoken", "llama3"),
    "gpt2_tokenizer": by_tokenizers("gpt2_tokenizer.json"),
    "mistral_v1": by_sentencepiece("mistral_v1.model"),
    "sp_unigram_en": by_sentencepiece("sp_unigram_en.model"),
    "seed_1000": by_passes("seed_taylorswift_merges_1000.json"),
    "seed_2000": by_passes("seed_taylorswift_merges_2000.json"),
}


def documents(path: Path) -> Iterator[str]:
    """The documents of a corpus."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def batches(texts: Iterator[str], size_chars: int) -> Iterator[list[str]]:
    """The texts in batches of about `size_chars` characters; the last is smaller."""
    batch: list[str] = []
    size = 0
    for text in itertools.chain(texts):
        batch.append(text)
        size += len(text)
        if size >= size_chars:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
