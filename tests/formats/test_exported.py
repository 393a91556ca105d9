"""Trained here, exported, and run elsewhere: each tokenizer equals itself in HF tokenizers, tiktoken and transformers.

Byte-level encodings with three patterns, trained on all nine corpora. As it stands a few documents of each corpus are
compared; TOKSMITH_EXHAUSTIVE=1 takes all of them.
"""

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from peers import CORPORA, batches, documents, imported_transformers, scalar

import toksmith
from toksmith import Tokenizer

EVERYTHING = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
DOCUMENTS = None if EVERYTHING else 15
BATCH_CHARS = 1 << 20
PATTERNS = ("gpt2", "llama3", "o200k")
SPECIAL = "<|endoftext|>"
PUBLISHED = {"cl100k_base": "cl100k", "o200k_base": "o200k", "llama3": "llama3", "r50k_base": "gpt2"}

Encode = Callable[[list[str]], list[list[int]]]


def by_tokenizers(tok: Tokenizer, folder: Path) -> Encode:
    tokenizers: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
    tok.save(folder / "tokenizer.json")
    peer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    return lambda texts: [each.ids for each in peer.encode_batch_fast(texts, add_special_tokens=False)]


def by_tiktoken(tok: Tokenizer, folder: Path) -> Encode:
    tiktoken: Any = pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0")
    load: Any = pytest.importorskip("tiktoken.load").load_tiktoken_bpe
    tok.save(folder / "own.tiktoken")
    peer = tiktoken.Encoding(
        folder.name,
        pat_str=tok.model.splitters[0]["pattern"],
        mergeable_ranks=load(str(folder / "own.tiktoken")),
        special_tokens=tok.special_tokens,
    )
    return lambda texts: peer.encode_batch(texts, allowed_special="all", num_threads=2)


def by_transformers(tok: Tokenizer, folder: Path) -> Encode:
    transformers = imported_transformers()
    tok.save(f"{folder}/exported/")
    peer = transformers.AutoTokenizer.from_pretrained(str(folder / "exported"))
    return lambda texts: peer(texts, add_special_tokens=False)["input_ids"]


LIBRARIES = {"tokenizers": by_tokenizers, "tiktoken": by_tiktoken, "transformers": by_transformers}


@pytest.fixture(scope="module", params=PATTERNS)
def tok(request: pytest.FixtureRequest, corpora_dir: Path) -> Tokenizer:
    """Trained on the first documents of each corpus."""
    corpus = [text for name in CORPORA for text in itertools.islice(documents(corpora_dir / f"{name}.jsonl.gz"), 60)]
    return toksmith.train(corpus, 4000, pattern=request.param, special_tokens=[SPECIAL], progress=False)


@pytest.mark.proof
@pytest.mark.parametrize("library", LIBRARIES)
def test_an_exported_tokenizer_gives_equal_ids(tok: Tokenizer, library: str, corpora_dir: Path, tmp_path: Path) -> None:
    encode = LIBRARIES[library](tok, tmp_path)
    compared = 0
    for name in CORPORA:
        found = itertools.islice(documents(corpora_dir / f"{name}.jsonl.gz"), DOCUMENTS)
        for batch in batches(map(scalar, found), BATCH_CHARS):
            ids = tok.encode_batch(batch, special="allow")
            for text, own, theirs in zip(batch, ids, encode(batch), strict=True):
                assert own == theirs, (name, text[:200])
            compared += len(batch)
    print(
        f"{library}, {tok.model.splitters[0]['pattern'][:20]}…: {compared} documents of {len(CORPORA)} corpora, all ids equal"
    )
    assert compared >= 9 * 15


@pytest.mark.proof
@pytest.mark.parametrize("name", PUBLISHED if EVERYTHING else ("r50k_base",))
def test_published_vocabularies_equal_themselves_in_hf(
    name: str, vocab_dir: Path, corpora_dir: Path, tmp_path: Path
) -> None:
    pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
    corpus = [text for each in CORPORA for text in itertools.islice(documents(corpora_dir / f"{each}.jsonl.gz"), 6)]
    tok = toksmith.load(vocab_dir / f"{name}.tiktoken", pattern=PUBLISHED[name], special_tokens={})
    report = toksmith.convert(tok, tmp_path / "tokenizer.json", verify=corpus)
    assert report.equal and report.peer.problem is None, str(report)
