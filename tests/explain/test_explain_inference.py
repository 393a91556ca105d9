"""explain.inference: the longest token at each place and the fewest tokens, against all ways to spell a drawn text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import misused, run
from hard_texts import small_texts
from hypothesis import given, settings
from hypothesis import strategies as st
from shown_results import check_page, check_shown

import toksmith
from toksmith import Model, Tokenizer
from toksmith.errors import NotInVocabulary
from toksmith.explain import inference
from toksmith.explain._inference import Spelling, ids_of_piece
from toksmith.types import TokenTable

CORPUS = "low lower lowest slow slower slowest déjà vu " * 9
KINDS: dict[str, dict[str, Any]] = {
    "bpe": {"vocab_size": 275},
    "gpt2 alphabet": {"vocab_size": 275, "alphabet": "gpt2", "special_tokens": ["<|end|>"]},
    "unsplit": {"vocab_size": 275, "pattern": None},
    "characters": {"vocab_size": 60, "unit": "char"},
    "byte fallback": {"vocab_size": 300, "unit": "char", "byte_fallback": True},
    "unigram": {"vocab_size": 40, "kind": "unigram"},
    "unigram, bytes": {"vocab_size": 300, "kind": "unigram", "byte_fallback": True},
    "wordpiece": {"vocab_size": 60, "kind": "wordpiece"},
    "word ends": {"vocab_size": 60, "end_of_word_suffix": "</w>"},
    "words": {"kind": "words", "unknown_token": "<unk>"},
    "chars": {"kind": "chars", "unknown_token": "<unk>"},
}


@pytest.fixture(scope="module")
def toks() -> dict[str, Tokenizer]:
    return {name: toksmith.train(CORPUS, progress=False, **options) for name, options in KINDS.items()}


def of_tokens(tokens: list[str], **more: Any) -> Model:
    """A model of characters with these tokens and an unknown one."""
    data = [token.encode() for token in ["?", *tokens]]
    ids = np.arange(len(data), dtype=np.uint32)
    return Model(TokenTable.of(data), ids, kind="words", unit="char", unknown_id=0, **more)


def all_ways(text: str, tokens: frozenset[str]) -> Iterator[list[str | None]]:
    """Each way to write a text as tokens, and as single characters that no token covers (None)."""
    if not text:
        yield []
        return
    for end in range(1, len(text) + 1):
        if text[:end] in tokens:
            yield from ([text[:end], *rest] for rest in all_ways(text[end:], tokens))
    yield from ([None, *rest] for rest in all_ways(text[1:], tokens))


def greedy(text: str, tokens: frozenset[str]) -> list[str | None]:
    """The longest token at each place."""
    found: list[str | None] = []
    while text:
        token = max((token for token in tokens if text.startswith(token)), key=len, default=None)
        found.append(token)
        text = text[len(token or text[0]) :]
    return found


@settings(max_examples=60)
@given(text=st.text("abé☀", max_size=7), tokens=st.frozensets(st.text("abé☀", min_size=1, max_size=4), max_size=9))
def test_drawn_vocabularies_against_all_ways(text: str, tokens: frozenset[str]) -> None:
    names = sorted(tokens)
    spelling = Spelling(of_tokens(names))

    def named(parts: Any) -> list[str | None]:
        return [None if id is None else names[id - 1] for id, _ in parts]

    assert named(spelling.longest(text.encode())) == greedy(text, tokens)
    ways = [*all_ways(text, tokens)]
    best = min((way.count(None), len(way)) for way in ways)
    equal = [way for way in ways if (way.count(None), len(way)) == best]
    lengths = {tuple(len(token or "x") for token in way): way for way in equal}
    assert named(spelling.fewest(text.encode())) == lengths[max(lengths)], "of equals the first tokens are longest"


def test_greedy_is_not_always_shortest() -> None:
    spelling = Spelling(of_tokens(["a", "b", "c", "d", "ab", "bcd"]))
    assert [id for id, _ in spelling.longest(b"abcd")] == [5, 3, 4]  # ab c d
    assert [id for id, _ in spelling.fewest(b"abcd")] == [1, 6]  # a bcd


@pytest.mark.parametrize("name", KINDS)
@given(text=small_texts())
def test_every_kind_keeps_the_rules_of_the_three_spellings(name: str, text: str, toks: dict[str, Tokenizer]) -> None:
    tok = toks[name]
    found = inference(tok, text)
    own, longest, fewest = found.cuts
    assert list(own.ids) == tok.encode(text, special="text")
    assert own.ends == tuple(sorted(own.ends)) and (own.ends or (0,))[-1] == len(own.ids)
    assert len(longest.ends) == len(fewest.ends) == len(own.ends) == len(found.pieces)
    assert fewest.unknown <= longest.unknown
    if fewest.unknown == longest.unknown:
        assert len(fewest.ids) <= len(longest.ids)
    if tok.model.kind == "bpe" and fewest.unknown == own.unknown:
        assert len(fewest.ids) <= len(own.ids), "its own cut is one of the ways"
    if tok.model.unit == "byte" and tok.model.unknown_id is None:
        assert all(tok.decode_bytes(cut.ids) == tok.decode_bytes(own.ids) for cut in found.cuts)


@pytest.mark.parametrize("name", ["byte fallback", "unigram, bytes"])
@given(text=st.text("low☀é한 ", max_size=12))
def test_characters_without_a_token_become_their_bytes(name: str, text: str, toks: dict[str, Tokenizer]) -> None:
    tok = toks[name]
    found = inference(tok, text)
    assert all(tok.decode(cut.ids) == tok.decode(found.cuts[0].ids) for cut in found.cuts)
    outside = sum(char in "☀한" for char in text)
    assert all(cut.unknown == outside for cut in found.cuts)


def test_tokens_of_bytes_are_no_text(toks: dict[str, Tokenizer]) -> None:
    """A text that looks like a token of a byte is not spelled as one."""
    tok = toks["unigram, bytes"]
    for cut in inference(tok, "<0x41>").cuts:
        assert tok.decode(cut.ids) == "<0x41>"


def test_special_tokens_are_the_same_by_each_rule(toks: dict[str, Tokenizer]) -> None:
    tok = toks["gpt2 alphabet"]
    end = tok.token_id("<|end|>")
    found = inference(tok, "low<|end|>lower", special="allow")
    assert all(cut.ids.count(end) == 1 for cut in found.cuts) and b"<|end|>" in found.pieces
    assert all(end not in cut.ids for cut in inference(tok, "low<|end|>").cuts)
    with pytest.raises(toksmith.errors.SpecialTokenInText):
        inference(tok, "low<|end|>", special="raise")


def test_tokens_have_the_marks_of_their_place_in_a_word(toks: dict[str, Tokenizer]) -> None:
    """Inside of a word only tokens with the prefix count, at its end only those with the suffix."""
    tok = toks["wordpiece"]
    for cut in inference(tok, "slowlow lowslow").cuts[1:]:
        tokens = [tok.token_bytes(id) for id in ids_of_piece(cut, 0)]
        assert not tokens[0].startswith(b"##") and all(token.startswith((b"##", b"[UNK]")) for token in tokens[1:])
    ends = toks["word ends"]
    for cut in inference(ends, "lowlow lowslow").cuts[1:]:
        tokens = [ends.token_bytes(id) for id in ids_of_piece(cut, 0)]
        assert tokens[-1].endswith((b"</w>", b"<unk>")) and not any(token.endswith(b"</w>") for token in tokens[:-1])


def test_what_cannot_be_spelled_is_refused() -> None:
    tok = toksmith.train("low", kind="chars", progress=False)
    with pytest.raises(NotInVocabulary):
        inference(tok, "lox")


def test_the_difference_is_shown_with_its_warning(toks: dict[str, Tokenizer]) -> None:
    tok = toksmith.train("bcd " * 9 + "ab " * 20 + "cdx " * 30, 262, progress=False)
    found = inference(tok, "abcd")
    check_shown(found)
    assert "not for a model" in str(found) and json.loads(found.to_json())["warning"]
    check_page(found.to_html())
    assert inference(toks["bpe"], "").cuts[0].ids == () and inference(toks["bpe"], "").pieces == ()


def test_sentencepiece_words_are_pieces(vocab_dir: Path) -> None:
    found = inference(toksmith.load(vocab_dir / "mistral_v1.model"), "an unbelievable ☀ day")
    assert [piece.decode() for piece in found.pieces] == ["▁an", "▁unbelievable", "▁☀", "▁day"]
    assert [cut.unknown for cut in found.cuts] == [1, 1, 1]


def test_the_command(tmp_path: Path, toks: dict[str, Tokenizer]) -> None:
    toks["bpe"].save(tmp_path / "a.toksmith")
    path = str(tmp_path / "a.toksmith")
    command = ["explain", "inference", "-t", path, "--text", "slowest lowe"]
    ran = run(*command, "--json")
    expected = inference(toks["bpe"], "slowest lowe").to_dict()
    assert json.loads(ran.stdout) == expected | {"tokenizer": path}, "the command names it as it was asked to"
    misused(run(*command, "-t", path), "--tokenizer is given twice")
