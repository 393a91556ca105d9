"""Training: the core equals the specification on drawn corpora and options, and the specification has every option."""

import inspect
from random import Random
from typing import Any

import numpy as np
import pytest

import toksmith
from toksmith import _core, reference
from toksmith.reference import character_training as characters
from toksmith.reference import parity_training as parity
from toksmith.reference import training
from toksmith.reference import unigram_training as unigram
from toksmith.reference.text_training import train_by_text

LETTERS = ["ab ", "abc 12", "aé☀ ", "a1 \n", "ab cd"]
PATTERNS = [[], [r" ?\p{L}+| ?\p{N}+"], ["[ab]+"], [r"\S+"]]
CASES = 150


def corpus_of(random: Random, most: int = 24) -> list[str]:
    letters = random.choice(LETTERS)
    return ["a", *("".join(random.choices(letters, k=random.randrange(1, most))) for _ in range(random.randint(1, 4)))]


def rules_of(random: Random) -> dict[str, Any]:
    """Drawn options that the specification also takes."""
    options = {
        "ties": random.choice(["lowest_ids", "first_seen"]),
        "min_count": random.choice([1, 1, 2, 3]),
        "max_token_bytes": random.choice([None, None, 2, 4]),
        "whole_characters": random.random() < 0.4,
        "digits": random.choice([*training.DIGITS]),
        "min_piece_count": random.choice([1, 1, 2]),
        "max_piece_bytes": random.choice([None, None, 6]),
    }
    return options


def compare(
    corpus: list[str], patterns: list[str], given: dict[str, Any], own: dict[str, Any]
) -> toksmith.Tokenizer | None:
    """The tokenizer of both, if there is any piece to learn from."""
    merges, counts, left = training.learn_merges(corpus, patterns, **own)
    try:
        tok = toksmith.train(corpus, pattern=patterns or None, threads=1, progress=False, **given)
    except toksmith.errors.CorpusError:
        assert not merges
        return None
    record = tok.model.training
    assert record is not None
    before = len(record.counts) - len(counts)
    assert record.counts[before:].tolist() == counts and record.left[before:].tolist() == left, (
        corpus,
        patterns,
        given,
    )
    if tok.model.merge_rule == "pair":
        assert [tuple(row) for row in tok.model.merges[before:].tolist()] == merges, (corpus, patterns, given)
    return tok


def seeds_of(random: Random, corpus: list[str], patterns: list[str], digits: str) -> list[bytes]:
    """Pieces of the corpus that are also a piece alone."""
    cuts = [*training.DIGITS[digits], *patterns]
    found = {piece for piece in reference.count(corpus, cuts) if reference.split(piece, cuts) == [piece]}
    return random.sample(sorted(found), min(len(found), random.randrange(3)))


@pytest.mark.slow
def test_merges_by_every_option_equal_the_specification() -> None:
    random, learned = Random(1), 0
    for _ in range(CASES):
        corpus, patterns, rules = corpus_of(random), random.choice(PATTERNS), rules_of(random)
        limit = random.randrange(12)
        more: dict[str, Any] = {"merges": limit}
        if random.random() < 0.5:
            more = {"vocab_size": 256 + limit + 1, "special_tokens": ["<|x|>"]}
        if random.random() < 0.4:
            more["superwords"] = random.randint(0, limit)
            more["superword_pattern"] = random.choice([[training.SUPERWORDS], [".+"], ["[ab ]+"]])
        more["alphabet"] = random.choice([None, "gpt2"])
        more["seed_tokens"] = seeds_of(random, corpus, patterns, rules["digits"])
        tok = compare(corpus, patterns, rules | more, rules | more)
        learned += 0 if tok is None else len(tok.model.merges)
    assert learned > 2 * CASES


@pytest.mark.slow
def test_merges_on_top_of_a_base_equal_the_specification() -> None:
    random, learned = Random(2), 0
    for _ in range(2 * CASES):
        corpus, patterns = corpus_of(random), random.choice(PATTERNS)
        model = toksmith.train(corpus, merges=random.randrange(6), pattern=patterns or None, progress=False).model
        by_bytes = random.random() < 0.5
        tokens, merges = [*model.tokens], model.merges
        if by_bytes:
            more = [
                token
                for token in (b"abab", b"bab a", b"b ab", "a☀a".encode())
                if token not in tokens and random.random() < 0.5
            ]
            tokens, merges = [*tokens, *more], merges[:0]
        fields: dict[str, Any] = {"merge_rule": "bytes" if by_bytes else "pair", "whole_piece": random.random() < 0.5}
        special = [toksmith.types.AddedToken("<|y|>", len(tokens) + 2)] if random.random() < 0.5 else []
        base = toksmith.Model(
            toksmith.types.TokenTable.of(tokens),
            np.arange(len(tokens), dtype=np.uint32),
            merges=merges,
            splitters=model.splitters,
            added_tokens=tuple(special),
            **fields,
        )
        by_token = {token: id for id, token in enumerate(tokens)}
        ranks = reference.bytes_rule(by_token) if by_bytes else reference.pair_rule(merges.tolist())
        specials = {token.content: token.id for token in special}
        own = reference.Model(by_token, ranks, fields["whole_piece"], patterns, specials)
        rules, limit = rules_of(random), random.randrange(8)
        other = corpus_of(random) if random.random() < 0.5 else ["".join(random.choices("ab ", k=20))]
        options = rules | {"merges": limit, "digits": "none"}
        tok = compare(
            other, patterns, options | {"base": toksmith.Tokenizer(base)}, options | {"base": own, "by_bytes": by_bytes}
        )
        learned += 0 if tok is None else len(tok) - len(tokens) - len(special)
    assert learned > CASES // 2


def test_the_loop_equals_the_page() -> None:
    random = Random(3)
    for _ in range(CASES):
        corpus, patterns = corpus_of(random), random.choice(PATTERNS)
        options: dict[str, Any] = {
            "ties": random.choice(["lowest_ids", "first_seen"]),
            "min_count": random.choice([1, 2]),
        }
        merges = reference.train(reference.count(corpus, patterns), 6, **options)
        found = zip(*training.learn_merges(corpus, patterns, 6, **options), strict=True)
        assert [(*triple, n, left) for triple, n, left in found] == merges


def same_record(tok: toksmith.Tokenizer, counts: list[int], left: list[int]) -> bool:
    record = tok.model.training
    return record is not None and record.counts.tolist() == counts and record.left.tolist() == left


def limits_of(random: Random, known: int) -> dict[str, Any]:
    """A number of merges, or a size of the vocabulary that leaves room for them after `known` tokens."""
    limit = random.randrange(10)
    return {"merges": limit} if random.random() < 0.5 else {"vocab_size": known + limit, "special_tokens": ["<|x|>"]}


@pytest.mark.slow
def test_merges_of_characters_equal_the_specification() -> None:
    random, learned = Random(4), 0
    for _ in range(CASES):
        corpus, rules = [*corpus_of(random), random.choice(["a", "é1<x>", "▁a b"])], rules_of(random)
        options = {
            name: rules[name] for name in ("ties", "min_count", "max_token_bytes", "min_piece_count", "max_piece_bytes")
        }
        options |= {"character_coverage": random.choice([0.8, 0.95, 1.0]), "dummy_prefix": random.random() < 0.7}
        options |= {"user_symbols": random.choice([[], ["<x>", "bc"]]), "byte_fallback": random.random() < 0.3}
        options |= limits_of(random, 300)
        words: dict[str, Any] = {} if random.random() < 0.6 else {"pattern": None}
        try:
            tok = toksmith.train(corpus, unit="char", progress=False, **options, **words)
        except toksmith.errors.CorpusError:
            continue
        tokens, counts, left = characters.learn_characters(corpus, **options, **words)
        own = [token.decode() for token in tok.model.tokens][256 * options["byte_fallback"] :]
        assert own == tokens and same_record(tok, counts, left), (corpus, options, words)
        learned += len(counts)
    assert learned > CASES


@pytest.mark.slow
def test_merges_with_marks_equal_the_specification() -> None:
    random, learned = Random(5), 0
    for _ in range(CASES):
        corpus, rules = [*corpus_of(random), random.choice(["Ab", "é1 É", "a-b"])], rules_of(random)
        options = {name: rules[name] for name in ("ties", "min_count", "max_token_bytes")}
        options |= {"character_coverage": random.choice([0.8, 0.95, 1.0]), **limits_of(random, 40)}
        pattern: dict[str, Any] = {} if random.random() < 0.6 else {"pattern": "[ab]+"}
        cut = {"pattern": "[ab]+", "dialect": "rust", "behavior": "isolated", "invert": False}
        own: dict[str, Any] = {"splitters": [("regex", cut)]} if pattern else {}
        if random.random() < 0.5:
            kind: dict[str, Any] = {"lowercase": random.random() < 0.5}
            tok = toksmith.train(corpus, kind="wordpiece", progress=False, **options, **kind, **pattern)
            tokens, counts, left = characters.learn_marked(corpus, prefix="##", **options, **kind, **own)
        else:
            kind = {"end_of_word_suffix": "</w>"}
            tok = toksmith.train(corpus, progress=False, **options, **kind, **pattern)
            tokens, counts, left = characters.learn_marked(corpus, **options, **kind, **own)
        all_tokens = [token.decode() for token in tok.model.tokens]
        special = options.get("special_tokens", [])
        assert all_tokens == [all_tokens[0], *tokens, *special], (corpus, options, pattern, kind)
        assert same_record(tok, counts, left), (corpus, options, pattern, kind)
        learned += len(counts)
    assert learned > CASES


@pytest.mark.slow
def test_unigram_models_equal_the_specification() -> None:
    random, full = Random(6), 0
    for _ in range(CASES // 2):
        corpus = [
            *corpus_of(random, 40),
            random.choice(["the cat the cat the hat", "abcabcab abca", "日本日本 日本語"]),
        ]
        options = {"character_coverage": random.choice([0.9, 1.0]), "dummy_prefix": random.random() < 0.7}
        options |= {"user_symbols": random.choice([[], ["bc"]]), "min_piece_count": random.choice([1, 1, 2])}
        words: dict[str, Any] = {} if random.random() < 0.7 else {"pattern": None}
        given: dict[str, Any] = options | words
        size = random.randint(12, 26)
        try:
            tok = toksmith.train(corpus, size, kind="unigram", progress=False, **given)
        except (
            toksmith.errors.CorpusError,
            toksmith.errors.InvalidOption,
        ):  # no token is left, or fewer ids than characters
            continue
        wanted = unigram.learn_unigram(corpus, size, **given)
        assert [token.decode() for token in tok.model.tokens] == [token for token, _ in wanted], (corpus, size, given)
        assert tok.model.scores is not None
        # A file of SentencePiece holds scores in single precision.
        np.testing.assert_allclose(tok.model.scores, [score for _, score in wanted], rtol=1e-6)
        full += len(tok) == size  # pruning dropped tokens
    assert full > CASES // 10


def test_training_by_text_equals_the_specification() -> None:
    random, shared = Random(7), 0
    for _ in range(400):
        letters = "abc"[: random.randint(1, 3)]
        given = [*dict.fromkeys((*random.choice((["ab"], ["abc", "b"], ["aa", "ba"], [])), *letters))]
        drawn = {
            tuple(random.choice(letters) for _ in range(random.randint(0, 9))): random.randint(1, 9)
            for _ in range(random.randint(0, 9))
        }
        size, least = random.choice((4, 9, 99)), random.choice((0, 1, 5))
        longest, prefix = random.choice((None, None, 0, 2, 4, 5)), random.choice(("", "", "a"))
        tokens, pairs = train_by_text(drawn, given, size, min_count=least, prefix=prefix, longest=longest)
        words = [[given.index(char) for char in word] for word in drawn]
        rules = {"size": size, "min_count": least, "prefix": prefix, "longest": longest}
        found, merges = _core.train_by_text(given, words, [*drawn.values()], rules)
        assert found == [*given, *tokens]
        assert [(found[left], found[right]) for left, right in merges] == pairs, (drawn, given, rules)
        shared += len(pairs) > len(tokens)
    assert shared > 50, "pairs that spell one text were drawn"


# Options that change no merge: the source of the corpus, its reading, and the progress.
READING = {"corpus", "threads", "progress", "checkpoint", "max_memory", "spill_to", "errors"}
# The kind chooses the function; the unknown token is the first under any name; parity is the mode of `learn_merges`.
NAMES = {"kind", "unknown_token", "parity"}


def test_the_specification_has_every_option_that_decides_a_merge() -> None:
    options = {*inspect.signature(toksmith.train).parameters} - READING - NAMES
    own = {name for function in TRAINERS for name in inspect.signature(function).parameters}
    assert len(options) > 15
    assert options - own == set()


TRAINERS = [training.learn_merges, characters.learn_characters, characters.learn_marked, unigram.learn_unigram]
TRAINERS += [parity.learn_merges]
