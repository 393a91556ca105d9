"""Exactness of training against others: HF tokenizers' trainer, rustbpe, the loop of minbpe and the tutorials.

Each learns from the same pieces as ours, and must make the same merges in the same order: on an article, and on the
first documents of an English and a Chinese corpus. A run takes a part of them to 2,048 tokens, `TOKSMITH_EXHAUSTIVE=1` a
larger part to 8,192. The loop recounts everything before each merge, which takes minutes.
"""

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from peers import documents

import toksmith
from toksmith import Tokenizer

EXHAUSTIVE = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
SIZE = 8_192 if EXHAUSTIVE else 2_048
LOOP_SIZE = SIZE if EXHAUSTIVE else 768
SAMPLES = {
    "article": 200_000,
    "english": 2_000_000 if EXHAUSTIVE else 500_000,
    "chinese": 1_000_000 if EXHAUSTIVE else 250_000,
}
LOOP_BYTES = 200_000
FIRST_OF_HF = 0x4E00  # characters that stand for the bytes in their order, so that HF gives them ids in that order
SEPARATOR = 1 << 31

Pairs = list[tuple[bytes, bytes]]


def merges(tok: Tokenizer) -> Pairs:
    """The bytes of both sides of each merge."""
    return [(tok.token_bytes(left), tok.token_bytes(right)) for left, right, _ in tok.model.merges.tolist()]


def first_documents(path: Path, limit: int) -> list[str]:
    """The first documents of a corpus, to `limit` bytes; all of a text file."""
    if path.suffix == ".txt":
        return [path.read_bytes().decode()]
    found: list[str] = []
    size = 0
    for text in documents(path):
        size += len(text.encode())
        if size > limit and found:
            break
        found.append(text)
    return found


@pytest.fixture(scope="module", params=SAMPLES)
def sample(request: pytest.FixtureRequest, corpora_dir: Path) -> list[str]:
    """The documents of a sample."""
    path = corpora_dir / ("taylorswift.txt" if request.param == "article" else f"{request.param}.jsonl.gz")
    if not path.is_file():
        pytest.skip(f"lacks {path}")
    return first_documents(path, SAMPLES[request.param])


def pieces(texts: list[str], pattern: str) -> Iterator[bytes]:
    """The pieces of all documents in order, as the words of a tokenizer that knows each of them."""
    words = toksmith.train(texts, kind="words", pattern=pattern)
    for ids in words.encode_batch(texts):
        for id in ids:
            yield words.token_bytes(id)


def first_difference(found: Pairs, due: Pairs) -> str:
    """The first difference of two lists of merges, for the message of an assertion."""
    place = next((n for n, (one, other) in enumerate(zip(found, due, strict=False)) if one != other), None)
    if place is None:
        return f"{len(found)} merges for {len(due)}"
    return f"merge {place} of {len(due)} is {found[place]}, should be {due[place]}"


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
def test_merges_equal_hf_for_the_same_initial_ids(sample: list[str], pattern: str) -> None:
    tokenizers: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
    stand_in = [chr(FIRST_OF_HF + byte) for byte in range(256)]
    words = ("".join(stand_in[byte] for byte in piece) for piece in pieces(sample, pattern))
    hf = tokenizers.Tokenizer(tokenizers.models.BPE())
    hf.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=SIZE, initial_alphabet=stand_in, show_progress=False)
    hf.train_from_iterator(words, trainer)
    spelled = json.loads(hf.to_str())["model"]["merges"]
    due = [tuple(bytes(ord(char) - FIRST_OF_HF for char in side) for side in pair) for pair in spelled]
    found = merges(toksmith.train(sample, SIZE, pattern=pattern))
    assert len(found) == SIZE - 256
    assert found == due, first_difference(found, due)


@pytest.mark.proof
@pytest.mark.short
def test_tokens_equal_hf_in_its_own_order(sample: list[str]) -> None:
    tokenizers: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
    level = tokenizers.pre_tokenizers.ByteLevel
    hf = tokenizers.Tokenizer(tokenizers.models.BPE())
    hf.pre_tokenizer = level(add_prefix_space=False, use_regex=True)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=SIZE, initial_alphabet=level.alphabet(), special_tokens=[], show_progress=False
    )
    hf.train_from_iterator(iter(sample), trainer)
    tok = toksmith.train(sample, SIZE, pattern="gpt2_original", alphabet="gpt2")
    shown = {byte: chr(byte) if chr(byte) in level.alphabet() else "" for byte in range(256)}
    hidden = iter(range(256, 512))
    shown |= {byte: chr(next(hidden)) for byte in range(256) if not shown[byte]}
    found = {"".join(shown[byte] for byte in tok.token_bytes(id)): id for id in range(len(tok))}
    assert found == hf.get_vocab()


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
def test_tokens_equal_rustbpe(sample: list[str], pattern: str) -> None:
    rustbpe: Any = pytest.importorskip("rustbpe", reason="lacks rustbpe==0.1.0")
    (regex,) = toksmith.patterns()[pattern].regexes
    peer = rustbpe.Tokenizer()
    peer.train_from_iterator(iter(sample), SIZE, pattern=regex)
    due = [bytes(token) for token, _ in sorted(peer.get_mergeable_ranks(), key=lambda entry: entry[1])]
    tok = toksmith.train(sample, SIZE, pattern=pattern)
    found = [tok.token_bytes(id) for id in range(len(tok))]
    assert found == due, first_difference([*pairwise(found)], [*pairwise(due)])


@pytest.mark.proof
@pytest.mark.parametrize("pattern", [None, "gpt2", "cl100k"])
@pytest.mark.parametrize("ties", ["first_seen", "lowest_ids"])
def test_merges_equal_the_loop_of_minbpe(sample: list[str], pattern: str | None, ties: Any) -> None:
    texts = [sample[0].encode()[:LOOP_BYTES].decode("utf-8", "ignore")] if pattern is None else cap_documents(sample)
    due = train_by_loop(
        [text.encode() for text in texts] if pattern is None else pieces(texts, pattern), LOOP_SIZE, ties
    )
    found = [
        (left, right)
        for left, right, _ in toksmith.train(texts, LOOP_SIZE, pattern=pattern, ties=ties).model.merges.tolist()
    ]
    assert found == due


def cap_documents(texts: list[str]) -> list[str]:
    """As many documents as the loop can take, and at least one."""
    sizes = np.cumsum([len(text.encode()) for text in texts])
    return texts[: max(1, int(np.searchsorted(sizes, LOOP_BYTES)))]


def train_by_loop(found: Any, size: int, ties: str) -> list[tuple[int, int]]:
    """Counts all pairs, merges the best and counts again: the rule of minbpe, on arrays.

    Every occurrence of a piece is in the array, with a separator between pieces that no pair contains. Of
    equal counts "first_seen" takes the pair that comes first in the text, as `max` over a dict of counts does, and
    "lowest_ids" the smallest ids.
    """
    ids = np.concatenate([np.append(np.frombuffer(piece, np.uint8), SEPARATOR).astype(np.uint64) for piece in found])
    learned: list[tuple[int, int]] = []
    for new in range(256, size):
        keys = ids[:-1] << np.uint64(32) | ids[1:]
        keys = keys[(ids[:-1] != SEPARATOR) & (ids[1:] != SEPARATOR)]
        if not len(keys):
            break
        each, first, counts = np.unique(keys, return_index=True, return_counts=True)
        best = np.flatnonzero(counts == counts.max())
        key = int(each[best[np.argmin(first[best])] if ties == "first_seen" else best[0]])
        learned.append((key >> 32, key & 0xFFFFFFFF))
        ids = replace_pair(ids, *learned[-1], new)
    return learned


def replace_pair(ids: np.ndarray, left: int, right: int, new: int) -> np.ndarray:
    """The ids with one pair replaced from left to right; of a run of one id every second place from its start."""
    found = np.flatnonzero((ids[:-1] == left) & (ids[1:] == right))
    if left == right:
        place = np.arange(len(found))
        starts = np.where(np.append(True, np.diff(found) != 1), place, 0)
        found = found[(place - np.maximum.accumulate(starts)) % 2 == 0]
    ids = ids.copy()
    ids[found] = new
    return np.delete(ids, found + 1)


def test_the_loop_equals_the_specification_on_small_texts() -> None:
    texts = [b"aaabdaaabac", b"aaaa aaa aa a", b"abababab", b"low lower lowest"]
    for ties in ("first_seen", "lowest_ids"):
        due = toksmith.reference.train(dict.fromkeys(texts, 1), 40, ties=ties)
        assert train_by_loop(texts, 256 + 40, ties) == [merge[:2] for merge in due]


@pytest.mark.parametrize("size, left", [(1000, 58_300), (2000, 45_722)])
def test_unsplit_trainings_equal_the_tutorials(size: int, left: int, corpora_dir: Path, vocab_dir: Path) -> None:
    article, seed = corpora_dir / "taylorswift.txt", vocab_dir / f"seed_taylorswift_merges_{size}.json"
    if not (article.is_file() and seed.is_file()):
        pytest.skip(f"lacks {article} or {seed}")
    due = [tuple(pair) for pair in json.loads(seed.read_text(encoding="utf-8"))]
    data = article.read_bytes()
    for corpus in (data.decode(), data, article, [data.decode()]):
        tok = toksmith.train(corpus, size, pattern=None, ties="first_seen")
        assert [(one, other) for one, other, _ in tok.model.merges.tolist()] == due
        assert tok.count(data) == left
        assert tok.decode_bytes(tok.encode(data)) == data
