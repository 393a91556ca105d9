"""The views that the lesson draws: sizes, n-grams, where a tokenizer is in a model, what one training step does."""

import math
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shown_results import check_shown

import toksmith
from toksmith import explain

SUNNY = "오늘은 화창한 날이다 ☀\ufe0f (today is sunny day)"
TOK = toksmith.train("the low lower lowest", merges=6, special_tokens=["<|end|>"], progress=False)


def test_sizes_of_a_text_are_counted_in_each_encoding() -> None:
    found = explain.sizes(SUNNY, {"ours": TOK})
    assert (found.characters, dict(found.encoded)) == (35, {"UTF-8": 57, "UTF-16": 70, "UTF-32": 140})
    assert found.tokens == {"ours": TOK.count(SUNNY)}
    assert "UTF-16  ████████████████████ " in str(found)
    assert explain.sizes("").encoded == {"UTF-8": 0, "UTF-16": 0, "UTF-32": 0}
    assert explain.sizes(b"a\xff").characters == 2
    for result in (found, explain.sizes("")):
        check_shown(result)


@given(text=st.text(max_size=30), n=st.integers(1, 4))
def test_ngrams_are_counted_one_by_one(text: str, n: int) -> None:
    text = text.encode("utf-8", "replace").decode()
    found = explain.ngrams(text, n)
    expected = Counter(text[at : at + n].encode() for at in range(len(text) - n + 1))
    assert dict(found.counts) == expected and found.total == expected.total()
    assert explain.ngrams(text, n, unit="byte").total == max(0, len(text.encode()) - n + 1)


def test_ngrams_of_bytes_and_words_are_counted() -> None:
    data = b"aaabdaaabac"
    assert dict(explain.ngrams(data, unit="byte").counts) == {
        bytes(pair): count for pair, count in Counter(pairwise(data)).items()
    }
    words = explain.ngrams("the low the low, the end", 2, unit="word")
    assert words.counts[0] == (b"the low", 1) and words.total == 5
    for result in (words, explain.ngrams("a", 2), explain.ngrams("é" * 9, 1)):
        check_shown(result)
    assert "fewer than 2 characters" in str(explain.ngrams("a", 2))
    for wrong in ({"n": 0}, {"unit": "line"}):
        with pytest.raises(toksmith.errors.InvalidOption):
            explain.ngrams("a b", **wrong)  # type: ignore[arg-type]


def test_flow_shows_the_stages_of_a_model() -> None:
    found = explain.flow(TOK, "the lowest<|end|>", special="allow")
    assert [view.id for view in found.tokens] == TOK.encode("the lowest<|end|>", special="allow")
    assert (found.pieces, found.vocab_size) == (3, TOK.vocab_size)
    assert found.stages[0].gives == f"{len(found.tokens)} ids"
    trained = {stage.name: stage.trained for stage in found.stages}
    assert trained["tokenizer, encode"] == trained["tokenizer, decode"] != trained["layers"]
    for result in (found, explain.flow(TOK, "")):
        check_shown(result)


def test_targets_pairs_each_context_with_the_next_id() -> None:
    text = "the lowest of lows"
    ids = TOK.encode(text)
    found = explain.targets(TOK, text)
    assert [[view.id for view in each.context] for each in found.predictions] == [
        ids[:end] for end in range(1, len(ids))
    ]
    assert [each.target.id for each in found.predictions] == ids[1:]
    assert found.first_loss == math.log(TOK.vocab_size)
    assert len(explain.targets(TOK, text, window=3).predictions) == 3
    for result in (found, explain.targets(TOK, "t"), explain.targets(TOK, ""), explain.targets(TOK, "x" * 99)):
        check_shown(result)
    with pytest.raises(toksmith.errors.InvalidOption):
        explain.targets(TOK, text, window=0)
