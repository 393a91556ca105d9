"""Sampled and best encodings equal the reference, and samples have the frequencies of their scores."""

import itertools
import math
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from test_kinds import drawn_piece, model

import toksmith
from toksmith import Tokenizer
from toksmith.errors import InvalidOption
from toksmith.reference import models as reference
from toksmith.types import AddedToken, Step

TEXTS = ["low lower lowest newer newest " * 4, "été 日本日本 ab"]


def test_dropout_equals_the_reference() -> None:
    tok = toksmith.train(TEXTS, 300, pattern=None, progress=False)
    ranks = {token.decode("latin-1"): rank for rank, token in enumerate(tok.model.tokens) if rank >= 256}
    random = Random(1)
    for seed in range(200):
        text, dropout = drawn_piece(random) + random.choice(TEXTS), random.choice([0, 0.1, 0.5, 0.9, 1])
        parts = [tok.token_bytes(id).decode("latin-1") for id in tok.encode_sampled(text, seed=seed, dropout=dropout)]
        symbols = text.encode().decode("latin-1")
        assert parts == reference.merge_dropping(symbols, ranks, dropout, reference.draws(seed)), (text, seed)


def test_dropout_of_characters_equals_the_reference() -> None:
    tok = toksmith.train(TEXTS, 60, unit="char", character_coverage=1.0, progress=False)
    assert tok.model.scores is not None
    ranks = {token.decode(): -score for token, score in zip(tok.model.tokens, tok.model.scores.tolist(), strict=True)}
    for seed in range(100):
        text = TEXTS[seed % 2]
        parts = [tok.token_bytes(id).decode() for id in tok.encode_sampled(text, seed=seed, dropout=0.4)]
        symbols = "▁" + text.replace(" ", "▁")
        assert parts == reference.merge_dropping(symbols, ranks, 0.4, reference.draws(seed))
        assert tok.decode(tok.encode_sampled(text, seed=seed)) == text


def all_ways(text: str, tokens: dict[str, float]) -> list[tuple[list[str], float]]:
    """Every way to cut a text into tokens, with its sum."""
    ways = []
    for cuts in itertools.product([False, True], repeat=len(text) - 1):
        places = [0, *(at + 1 for at, cut in enumerate(cuts) if cut), len(text)]
        parts = [text[start:end] for start, end in itertools.pairwise(places)]
        if all(part in tokens for part in parts):
            ways.append((parts, sum(tokens[part] for part in parts)))
    return sorted(ways, key=lambda way: -way[1])


def unigram(random: Random, **fields: Any) -> tuple[Tokenizer, dict[str, float]]:
    """A unigram tokenizer of a few letters."""
    words = {"".join(random.choice("abc") for _ in range(random.randrange(1, 4))) for _ in range(14)} | {*"abc"}
    scores = {word: -1 - 4 * random.random() for word in sorted(words)}
    tokens, numbers = [*scores, "<unk>"], np.array([*scores.values(), -20.0])
    return Tokenizer(model(tokens, "unigram", scores=numbers, unknown_id=len(scores), **fields)), scores


def test_the_best_encodings_equal_brute_force() -> None:
    random = Random(2)
    for _ in range(40):
        tok, scores = unigram(random)
        text = "".join(random.choice("abc") for _ in range(random.randrange(1, 9)))
        ways, found = all_ways(text, scores), tok.encode_best(text, 12)
        assert [round(score, 9) for _, score in found] == [round(score, 9) for _, score in ways[:12]]
        assert found[0][0] == tok.encode(text) and len({tuple(ids) for ids, _ in found}) == len(found)
        assert all([tok.token_bytes(id).decode() for id in ids] in [way for way, _ in ways] for ids, _ in found)


def test_pieces_and_sentencepiece_have_best_encodings_too() -> None:
    space = Step("metaspace", (("prepend", "never"), ("replacement", "▁"), ("split", True)))
    tok, _ = unigram(Random(3), splitters=(space,))
    assert tok.encode_best("ab", 1)[0][0] == tok.encode("ab")
    own = toksmith.train(TEXTS, 24, kind="unigram", progress=False)
    best = own.encode_best("lowest newest low", 20)
    assert best[0][0] == own.encode("lowest newest low") and len(best) > 5
    assert [score for _, score in best] == sorted((score for _, score in best), reverse=True)
    assert {own.decode(ids) for ids, _ in best} == {"lowest newest low"}


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_unigram_samples_have_the_frequencies_of_their_scores(alpha: float) -> None:
    scores = {"a": -2.0, "b": -1.5, "c": -3.0, "ab": -2.5, "bc": -3.5, "abc": -5.0, "ca": -4.0}
    tok = Tokenizer(model([*scores, "<unk>"], "unigram", scores=np.array([*scores.values(), -20.0]), unknown_id=7))
    weights = {"|".join(parts): math.exp(alpha * score) for parts, score in all_ways("abcab", scores)}
    total, drawn = sum(weights.values()), Counter[str]()
    for seed in range(4000):
        ids = tok.encode_sampled("abcab", seed=seed, alpha=alpha)
        drawn["|".join(tok.token_bytes(id).decode() for id in ids)] += 1
    assert drawn.keys() <= weights.keys() and len(drawn) > 2
    for way, weight in weights.items():
        expected = 4000 * weight / total
        assert abs(drawn[way] - expected) < 5 * math.sqrt(expected) + 5, way


def test_special_tokens_stay_and_seeds_repeat() -> None:
    tok = toksmith.train(TEXTS, 290, special_tokens=["<|x|>"], progress=False)
    ids = tok.encode_sampled("low<|x|>low", seed=9, dropout=0.5, special="allow")
    assert ids.count(tok.special_tokens["<|x|>"]) == 1 and tok.decode(ids) == "low<|x|>low"
    assert ids == tok.encode_sampled("low<|x|>low", seed=9, dropout=0.5, special="allow")
    with pytest.raises(toksmith.errors.SpecialTokenInText):
        tok.encode_sampled("low<|x|>", seed=1)
    marked = toksmith.train(TEXTS, 60, end_of_word_suffix="</w>", character_coverage=1.0, progress=False)
    assert marked.encode_sampled("lowest low", seed=1, dropout=0) == marked.encode("lowest low")
    assert len(marked.encode_sampled("lowest low", seed=1, dropout=1)) == 9


def test_wrong_options_of_samples_are_refused() -> None:
    tok = toksmith.train(TEXTS, 290, progress=False)
    words = Tokenizer(model(["a"], "words", unknown_id=1, added_tokens=(AddedToken("?", 1),)))
    for call, argument in (
        (lambda: tok.encode_sampled("a", seed=-1), "seed"),
        (lambda: tok.encode_sampled("a", seed=1 << 64), "seed"),
        (lambda: tok.encode_sampled("a", seed=1, dropout=1.5), "dropout"),
        (lambda: tok.encode_sampled("a", seed=1, dropout=math.nan), "dropout"),
        (lambda: tok.encode_sampled("a", seed=1, alpha=-1), "alpha"),
        (lambda: words.encode_sampled("a", seed=1), "kind"),
        (lambda: tok.encode_best("a", 3), "kind"),
        (lambda: unigram(Random(1))[0].encode_best("a", 0), "n"),
    ):
        with pytest.raises(InvalidOption) as caught:
            call()
        assert caught.value.argument == argument
