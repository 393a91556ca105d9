"""Kinds that cover pieces with tokens: the core, the reference and HF's tokenizers agree."""

import dataclasses
from random import Random
from typing import Any

import numpy as np
import pytest
import tokenizers
from drawn_pieces import drawn_text

import toksmith
from toksmith import Model, Tokenizer
from toksmith.errors import ModelError, NotInVocabulary
from toksmith.reference import models as reference
from toksmith.types import AddedToken, TokenTable

ALPHABET = ["a", "b", "c", "ab", "é", "日", "本", "▁", "👍"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def drawn_words(random: Random, prefix: str = "") -> list[str]:
    """Different words of a few characters, some with a prefix."""
    words = {
        "".join(random.choice(ALPHABET) for _ in range(random.randrange(1, 5))) for _ in range(random.randrange(2, 60))
    }
    return sorted({random.choice(["", prefix]) + word for word in words} | {"a", prefix + "b"})


def drawn_piece(random: Random) -> str:
    """A text of these characters, sometimes of any characters."""
    if random.random() < 0.2:
        text = drawn_text(random, 30)
        return text if isinstance(text, str) else text.decode("utf-8", "replace")
    return "".join(random.choice(ALPHABET) for _ in range(random.randrange(1, 12)))


def model(tokens: list[str], kind: Any, **fields: Any) -> Model:
    table = TokenTable.of([token.encode() for token in tokens])
    return Model(table, np.arange(len(tokens), dtype=np.uint32), kind=kind, unit="char", **fields)


def test_wordpiece_equals_hf_and_the_reference() -> None:
    random = Random(1)
    for _ in range(60):
        tokens = ["[UNK]", *drawn_words(random, "##")]
        longest = random.choice([5, 100])
        fields = {"unknown_id": 0, "continuing_subword_prefix": "##", "max_piece_chars": longest}
        tok = Tokenizer(model(tokens, "wordpiece", **fields))
        vocab = {token: id for id, token in enumerate(tokens)}
        peer = tokenizers.Tokenizer(
            tokenizers.models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=longest)
        )
        for _ in range(40):
            text = drawn_piece(random)
            ids = tok.encode(text)
            assert ids == peer.encode(text).ids, text
            words = reference.word_pieces(text, vocab, "##", longest)
            assert ids == ([vocab[word] for word in words] or [0] * bool(text)), text


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_unigram_equals_hf_and_the_reference(byte_fallback: bool) -> None:
    random = Random(2)
    for _ in range(60):
        tokens = ["<unk>", *(BYTES if byte_fallback else []), *drawn_words(random)]
        scores = [0.0] + [random.choice([-1.0, -2.0, -9 * random.random()]) for _ in tokens[1:]]
        fields = {"unknown_id": 0, "byte_fallback": byte_fallback}
        tok = Tokenizer(model(tokens, "unigram", scores=np.array(scores, np.float64), **fields))
        peer = tokenizers.Tokenizer(
            tokenizers.models.Unigram(list(zip(tokens, scores, strict=True)), unk_id=0, byte_fallback=byte_fallback)
        )
        by_token = dict(zip(tokens, scores, strict=True))
        for _ in range(40):
            text = drawn_piece(random)
            ids = tok.encode(text)
            assert ids == peer.encode(text).ids, text
            path = reference.best_path(text, by_token, exact=True) if text else []
            if not byte_fallback and set(path) <= by_token.keys():
                assert ids == [tokens.index(token) for token in path]


def test_words_with_an_unknown_token_equal_hf() -> None:
    random = Random(3)
    for _ in range(30):
        tokens = ["[UNK]", *drawn_words(random)]
        tok = Tokenizer(model(tokens, "words", unknown_id=0))
        peer = tokenizers.Tokenizer(
            tokenizers.models.WordLevel({token: id for id, token in enumerate(tokens)}, unk_token="[UNK]")
        )
        for text in [*tokens, *(drawn_piece(random) for _ in range(20))]:
            assert tok.encode(text) == peer.encode(text).ids, text


def test_unknown_characters_become_the_unknown_token_or_an_error() -> None:
    chars = model(["a", "b"], "chars", unknown_id=2, added_tokens=(AddedToken("?", 2),))
    assert Tokenizer(chars).encode("ab日a") == [0, 1, 2, 0]
    with pytest.raises(NotInVocabulary) as caught:
        Tokenizer(dataclasses.replace(chars, unknown_id=None)).encode("ab日a")
    assert caught.value.offset == 2
    pieces = Tokenizer(model(["a", "##b"], "wordpiece", continuing_subword_prefix="##"))
    assert pieces.encode("ab") == [0, 1]
    with pytest.raises(NotInVocabulary, match="ac"):
        pieces.encode("ac")


def test_incomplete_models_are_refused() -> None:
    for fields in ({}, {"scores": np.array([np.nan])}, {"scores": np.array([-1.0]), "byte_fallback": True}):
        with pytest.raises(ModelError, match="kind 'unigram' without"):
            Tokenizer(model(["a"], "unigram", **fields))
    with pytest.raises(ModelError, match="end_of_word_suffix"):
        Tokenizer(model(["a"], "wordpiece", end_of_word_suffix="</w>"))


def test_native_files_hold_these_kinds(tmp_path: Any) -> None:
    for each in (
        model(["a", "##b"], "wordpiece", continuing_subword_prefix="##", max_piece_chars=7, unknown_id=0),
        model(["a", "b"], "unigram", scores=np.array([-0.1, -1e-300]), unknown_id=0),
    ):
        Tokenizer(each).save(tmp_path / "x.toksmith")
        assert toksmith.load(tmp_path / "x.toksmith") == Tokenizer(each)
