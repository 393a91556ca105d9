"""`tok.split`: the pieces of a text by the rule of `encode`, equal to those of the reference, which is the slow twin."""

from pathlib import Path
from typing import Any

import pytest
from hard_texts import HARD_TEXTS, broken_bytes, texts
from hypothesis import given
from hypothesis import strategies as st

import toksmith
from toksmith import reference

END = "<|end|>"
TOKS = {
    name: toksmith.train("the low lower lowest", merges=3, pattern=name, special_tokens=[END], progress=False)
    for name in toksmith.patterns()
}


@given(name=st.sampled_from(sorted(TOKS)), text=st.one_of(texts(), broken_bytes()))
def test_pieces_equal_the_reference(name: str, text: str | bytes) -> None:
    tok = TOKS[name]
    pieces: list[Any] = tok.split(text, special="text")  # type: ignore[type-var]
    found = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    assert all(type(piece) is type(text) for piece in pieces)
    assert found == reference.split(text, toksmith.patterns()[name].regexes)
    assert [id for piece in pieces for id in tok.encode(piece, special="text")] == tok.encode(text, special="text")


def test_pieces_of_gpt2_by_hand() -> None:
    pieces = ["Hello", "'s", " World", "123", " ", " !!", "  "]
    assert TOKS["gpt2"].split("Hello's World123  !!  ") == pieces
    assert TOKS["gpt2"].split(b"Hello's World123  !!  ") == [piece.encode() for piece in pieces]
    assert toksmith.train("low", merges=1, pattern=None).split("a b") == ["a b"]
    assert TOKS["gpt2"].split("") == [] == TOKS["gpt2"].split(b"")


@pytest.mark.parametrize("hard", HARD_TEXTS.values(), ids=HARD_TEXTS)
def test_special_tokens_are_pieces(hard: str) -> None:
    tok = TOKS["cl100k"]
    text = f"{END}{hard}{END}low{END}"
    specials = tok.special_tokens
    expected = [
        piece
        for segment, id in reference.cut(text, specials, "allow")
        for piece in ([segment] if id is not None else reference.split(segment, toksmith.patterns()["cl100k"].regexes))
    ]
    assert [piece.encode() for piece in tok.split(text, special="allow")] == expected
    with pytest.raises(toksmith.errors.SpecialTokenInText) as caught:
        tok.split(f"é{END}")
    assert caught.value.offset == 1
    assert END not in tok.split(text, special="text")


@pytest.mark.slow
def test_pieces_have_the_form_after_the_steps(vocab_dir: Path) -> None:
    path = vocab_dir / "gpt2_tokenizer.json"
    if not path.is_file():
        pytest.skip(f"lacks {path}")
    tok = toksmith.load(path)
    assert tok.split("It's <|endoftext|>", special="allow") == ["It", "'s", " ", "<|endoftext|>"]
    words = toksmith.train(["Low lower"], 60, kind="wordpiece", lowercase=True, progress=False)
    assert words.split("LOW lower") == ["low", "lower"]
    unigram = toksmith.train(["low lower"], 60, kind="unigram", progress=False)
    assert unigram.split("low　 lower") == ["▁low　▁lower"]
