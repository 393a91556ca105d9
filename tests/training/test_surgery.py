"""Surgery: unaffected ids stay, added tokens are reached, and remaining tokens work as before."""

import gzip
import itertools
import json
import os
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import toksmith
from toksmith import Tokenizer
from toksmith._model.model import Step
from toksmith.errors import CorpusError, InvalidOption, ModelError

CASES = 1000 if os.environ.get("TOKSMITH_EXHAUSTIVE") else 60
HINDI = 2000 if os.environ.get("TOKSMITH_EXHAUSTIVE") else 150
LETTERS = "aab bcé日 \n"


def draw_text(random: Random, most: int = 60) -> str:
    return "".join(random.choice(LETTERS) for _ in range(random.randrange(1, most)))


def draw_tokenizer(random: Random) -> Tokenizer:
    """A tokenizer with few merges, by pairs or by bytes, with or without whole pieces, pattern and special token."""
    special = ["<|x|>"] if random.random() < 0.5 else []
    pattern = random.choice(["gpt2", None, "[a-z]+| "])
    texts = [draw_text(random) for _ in range(5)]
    tok = toksmith.train(texts, merges=random.randrange(12), pattern=pattern, special_tokens=special)
    fields: dict[str, Any] = {"whole_piece": random.random() < 0.5}
    if random.random() < 0.5:
        fields |= {"merge_rule": "bytes", "merges": np.empty((0, 3), np.uint32)}
    return Tokenizer(replace(tok.model, **fields))


def has_no_new_pair(tok: Tokenizer, ids: list[int], added: set[bytes]) -> bool:
    """Whether no two neighbours of some ids join to an added token."""
    tokens = [tok.token_bytes(id) for id in ids]
    return not any(left + right in added for left, right in itertools.pairwise(tokens))


@pytest.mark.proof
@pytest.mark.short
def test_extended_tokenizers_keep_the_ids_of_texts_without_a_new_pair_and_reach_every_token() -> None:
    random = Random(5)
    kept = 0
    for _ in range(CASES):
        tok = draw_tokenizer(random)
        corpus = [draw_text(random) for _ in range(4)]
        try:
            more, map = toksmith.extend(tok, corpus, random.randrange(1, 9), min_count=random.choice([1, 2]))
        except CorpusError:
            continue
        added = range(tok.vocab_size, more.vocab_size)
        assert list(map.sources)[-len(added) :] == list(added) and len(more) == len(tok) + len(added)
        plain = Tokenizer(replace(more.model, splitters=()))
        for id in added:
            token = more.token_bytes(id)
            assert b"".join(tok.token_bytes(old) for old in map.sources[id]) == token
            if token.decode("utf-8", "ignore").encode() == token:
                assert plain.encode(token) == [id]
        whole = {more.token_bytes(id) for id in added}
        for text in [*corpus, *(draw_text(random) for _ in range(4))]:
            before, after = tok.encode(text), more.encode(text)
            assert more.decode_bytes(after) == text.encode()
            pieces = set(tok._engine.split(text)) if tok.model.whole_piece else set()
            if has_no_new_pair(tok, before, whole) and not pieces & whole:
                assert before == after
                kept += 1
    assert kept > CASES


def character_model(random: Random) -> Tokenizer:
    """A model of characters, with scores or with merges, with words or without, or with marks at ends of words."""
    texts = [draw_text(random) for _ in range(5)]
    kind = random.randrange(3)
    if kind == 0:
        return toksmith.train(texts, merges=random.randrange(8), end_of_word_suffix="</w>", character_coverage=1.0)
    words: dict[str, Any] = {} if random.random() < 0.5 else {"pattern": None}
    coverage, symbols = random.choice([0.8, 1.0]), ["bc"] if random.random() < 0.5 else []
    options = {"byte_fallback": random.random() < 0.5, "user_symbols": symbols, "character_coverage": coverage}
    return toksmith.train(texts, unit="char", merges=random.randrange(8), **options, **words)


@pytest.mark.proof
@pytest.mark.short
def test_models_of_characters_are_extended() -> None:
    random = Random(9)
    kept = 0
    for _ in range(CASES):
        tok, corpus = character_model(random), [draw_text(random) for _ in range(4)]
        try:
            more, map = toksmith.extend(tok, corpus, random.randrange(1, 6), min_count=random.choice([1, 2]))
        except CorpusError:
            continue
        whole = {more.token_bytes(id) for id in range(tok.vocab_size, more.vocab_size)}
        assert all(map.sources[id] for id in range(more.vocab_size))
        for text in [*corpus, *(draw_text(random) for _ in range(4))]:
            before, after = tok.encode(text, special="text"), more.encode(text, special="text")
            assert more.decode(after) == tok.decode(before)
            if has_no_new_pair(tok, before, whole):
                assert before == after
                kept += 1
        used = {id for text in corpus for id in more.encode(text, special="text") if id >= tok.vocab_size}
        assert used or all(has_no_new_pair(tok, tok.encode(text, special="text"), whole) for text in corpus)
    assert kept > CASES


@pytest.mark.slow
def test_sentencepiece_reads_an_extended_model(vocab_dir: Path, corpora_dir: Path, tmp_path: Path) -> None:
    sentencepiece: Any = pytest.importorskip("sentencepiece", reason="lacks sentencepiece")
    with gzip.open(corpora_dir / "hindi.jsonl.gz", "rt", encoding="utf-8") as lines:
        hindi = [json.loads(line)["text"] for line in itertools.islice(lines, 60)]
    tok = toksmith.load(vocab_dir / "mistral_v1.model")
    more, _ = toksmith.extend(tok, hindi[:50], 200)
    more.save(tmp_path / "more.model", format="sentencepiece")
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "more.model"))
    assert sum(map(len, more.encode_batch(hindi[50:]))) < 0.95 * sum(map(len, tok.encode_batch(hindi[50:])))
    for text in hindi:
        assert more.encode(text, special="text") == theirs.encode(text)


def test_normalized_texts_are_extended() -> None:
    plain = toksmith.train("e\u0301", merges=0, pattern="gpt2")
    tok = Tokenizer(replace(plain.model, normalizers=(Step("nfc"),)))
    more, _ = toksmith.extend(tok, ["cafe\u0301", "caf\u00e9"], 4)
    assert more.encode("cafe\u0301") == more.encode("caf\u00e9") == [259]


def test_extending_continues_the_training() -> None:
    random = Random(8)
    for _ in range(15):
        texts = [draw_text(random, 90) for _ in range(6)]
        whole = toksmith.train(texts, merges=14, min_count=2)
        half = toksmith.train(texts, merges=7, min_count=2)
        added = len(whole.model.merges) - len(half.model.merges)
        if added:
            more, _ = toksmith.extend(half, texts, added)
            assert more == whole


@pytest.mark.proof
@pytest.mark.short
def test_pruned_tokenizers_keep_the_tokens_of_texts_without_removed_tokens() -> None:
    random = Random(6)
    kept = 0
    for _ in range(CASES):
        tok = draw_tokenizer(random)
        removable = len(tok.model.tokens) - 256
        corpus = [draw_text(random) for _ in range(3)] if random.random() < 0.5 else None
        n = random.randrange(removable + 1)
        fewer, map = toksmith.prune(tok, n, corpus=corpus)
        assert len(fewer) == len(tok) - n == fewer.vocab_size == map.new_size
        gone = {id for id in range(tok.vocab_size) if map[id] is None}
        assert len(gone) == n and all(len(tok.token_bytes(id)) > 1 for id in gone)
        for old, new in map.old_to_new.items():
            assert fewer.token_bytes(new) == tok.token_bytes(old)
        for text in (draw_text(random) for _ in range(4)):
            before, after = tok.encode(text), fewer.encode(text)
            assert fewer.decode_bytes(after) == text.encode()
            if not any(id in gone for id in before):
                assert [map[id] for id in before] == after
                kept += 1
    assert kept > CASES


def test_pruning_by_a_corpus_removes_only_unused_tokens() -> None:
    tok = toksmith.train("low lower lowest newer newest", merges=12, pattern=None)
    fewer, map = toksmith.prune(tok, corpus="lower lower")
    used = {tok.token_bytes(id) for id in tok.encode("lower lower")}
    assert used <= set(fewer.model.tokens) and len(fewer) < len(tok)
    assert toksmith.prune(fewer, corpus="lower lower")[0] == fewer
    assert [map[id] for id in tok.encode("lower lower")] == fewer.encode("lower lower")


def test_embeddings_follow_the_ids() -> None:
    tok = toksmith.train("low lower lowest", merges=4, pattern=None, special_tokens=["<|x|>"])
    rows = np.arange(tok.vocab_size * 2, dtype=np.float32).reshape(-1, 2)
    more, map = toksmith.extend(tok, "lowest lowest", 1)
    new = map.apply(rows)
    assert new.dtype == np.float32 and new.shape == (more.vocab_size, 2) and np.array_equal(new[:-1], rows)
    assert np.allclose(new[-1], rows[list(map.sources[tok.vocab_size])].mean(axis=0))
    fewer, map = toksmith.prune(tok, 1)
    assert np.array_equal(map.apply(rows)[fewer.special_tokens["<|x|>"]], rows[tok.special_tokens["<|x|>"]])
    both, map = toksmith.add_special(tok, ["<|y|>"])
    assert both.special_tokens == {"<|x|>": 260, "<|y|>": 261}
    assert np.allclose(map.apply(rows)[261], rows[tok.encode("<|y|>")].mean(axis=0))
    assert map.apply(np.arange(300)).shape == (262,)
    with pytest.raises(InvalidOption, match="at least 261 rows"):
        map.apply(rows[:5])


def test_impossible_surgery_is_refused() -> None:
    tok = toksmith.train("low lower", merges=2, special_tokens=["<|x|>"])
    with pytest.raises(CorpusError, match="adds no token: no pair of tokens occurs 2 times"):
        toksmith.extend(tok, "z", 3)
    with pytest.raises(CorpusError, match="empty"):
        toksmith.extend(tok, "", 3)
    with pytest.raises(InvalidOption, match="at least 1"):
        toksmith.extend(tok, "low", 0)
    with pytest.raises(InvalidOption, match="at most 2: the other 257 tokens are"):
        toksmith.prune(tok, 3)
    with pytest.raises(InvalidOption, match="or a corpus that shows"):
        toksmith.prune(tok)
    with pytest.raises(InvalidOption, match="not added tokens yet"):
        toksmith.add_special(tok, ["<|x|>"])
    for content in ("", "x|"):
        with pytest.raises(InvalidOption, match=r"^tokens=.*expected contents"):
            toksmith.add_special(tok, [content])
    words = toksmith.train("low lower", kind="words")
    with pytest.raises(ModelError, match="its kind is 'words'"):
        toksmith.extend(words, "low", 1)
    assert len(toksmith.prune(words, 1)[0]) == 1


@pytest.mark.proof
@pytest.mark.short
def test_cl100k_learns_hindi(vocab_dir: Path, corpora_dir: Path) -> None:
    with gzip.open(corpora_dir / "hindi.jsonl.gz", "rt", encoding="utf-8") as lines:
        hindi = [json.loads(line)["text"] for line in itertools.islice(lines, HINDI)]
    with gzip.open(corpora_dir / "english.jsonl.gz", "rt", encoding="utf-8") as lines:
        english = [json.loads(line)["text"] for line in itertools.islice(lines, 100)]
    unseen = hindi[::10]
    tok = toksmith.load(vocab_dir / "cl100k_base.tiktoken", pattern="cl100k")
    more, map = toksmith.extend(tok, [text for place, text in enumerate(hindi) if place % 10], 200)
    assert more.count_batch(unseen).sum() < 0.93 * tok.count_batch(unseen).sum()
    assert len(more) == len(tok) + 200 and len(map.sources) == len(more)
    for text in [*unseen, *english]:
        before, after = tok.encode(text, special="text"), more.encode(text, special="text")
        assert more.decode(after) == text
        assert before == after or max(after) >= tok.vocab_size
    fewer, map = toksmith.prune(tok, 20_000, corpus=english)
    gone = {id for id in range(tok.vocab_size) if map[id] is None}
    for text in english:
        before = tok.encode(text, special="text")
        if not gone & set(before):
            assert fewer.encode(text, special="text") == [map[id] for id in before]
