"""Ranges of ids in bytes and in characters equal hand-worked cases, brute force, and SentencePiece."""

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import sentencepiece
from drawn_pieces import NORMAL, drawn_model, drawn_text
from drawn_texts import Drawing
from hard_texts import HARD_TEXTS
from test_format_sentencepiece import SIMPLE, charsmap, loaded, of_reference, simple, written

import toksmith
from toksmith import reference
from toksmith.reference import models

__all__ = ["charsmap"]
DRAWN = 100_000 if os.environ.get("TOKSMITH_EXHAUSTIVE") else 1_500
TEXT = "".join(HARD_TEXTS.values()) * 2
SPECIAL = ["<|end|>", "é|", "<s>"]


def kinds() -> dict[str, toksmith.Tokenizer]:
    """A trained tokenizer for each pattern and the raw stream, with special tokens; one without merges."""
    found: dict[str, toksmith.Tokenizer] = {}
    for pattern in (*toksmith.patterns(), None):
        found[str(pattern)] = toksmith.train(TEXT, merges=300, pattern=pattern, special_tokens=SPECIAL)
    found["bytes"] = toksmith.train("x", merges=0, pattern=None)
    return found


@pytest.fixture(scope="module")
def toks() -> dict[str, toksmith.Tokenizer]:
    return kinds()


def characters(text: str | bytes) -> list[str]:
    """The characters that offsets count, in the form of the encoded text."""
    if isinstance(text, bytes):
        return list(text.decode(errors="replace"))
    return list(text)


def places(text: str | bytes) -> list[int]:
    """For each byte of the encoded text, and its end, the first character that contains it."""
    found: list[int] = []
    if isinstance(text, bytes):
        parts = text.decode(errors="surrogateescape")  # each invalid byte is one character here
        at = 0
        shown = text.decode(errors="replace")
        own = iter(range(len(shown)))
        while at < len(text):
            number = next(own)
            char = shown[number]
            size = len(char.encode())
            if char == "\ufffd" and text[at : at + 3] != b"\xef\xbf\xbd":
                size = 1  # the longest valid start of a character
                while (
                    size < 4 and text[at : at + size + 1].decode(errors="replace") == "\ufffd" and at + size < len(text)
                ):
                    size += 1
            found += [number] * size
            at += size
        assert len(parts) >= len(shown)
        return [*found, len(shown)]
    number = 0
    for char in reference.utf8(text).decode():
        pair = ord(char) > 0xFFFF and ord(text[number]) <= 0xFFFF  # two lone surrogates
        found += [number] * len(char.encode())
        number += 2 if pair else 1
    return [*found, len(text)]


def ranges_of_characters(text: str | bytes, starts: list[int], ends: list[int]) -> Iterator[tuple[int, int]]:
    """Ranges of bytes as ranges of characters, by looking at each byte."""
    of_byte = places(text)
    following = {number: after for number, after in zip(of_byte, [*of_byte[1:], 0], strict=True) if number != after}
    for start, end in zip(starts, ends, strict=True):
        if start < end:
            yield of_byte[start], following[of_byte[end - 1]]
        else:
            inside = start > 0 and start < len(of_byte) and of_byte[start - 1] == of_byte[start]
            yield of_byte[start], following[of_byte[start]] if inside else of_byte[start]


def draw_texts(count: int, seed: int) -> Iterator[str | bytes]:
    chance = Random(seed)
    for text in Drawing(seed).texts(count):
        text = text[:300] + chance.choice(["", *SPECIAL]) + text[300:400]
        if chance.random() < 0.2:
            encoded = reference.utf8(text)
            yield bytes(byte for byte in encoded if chance.random() < 0.9)
        else:
            yield text


def test_a_character_of_two_tokens_is_repeated() -> None:
    tok = toksmith.train("x", merges=0, pattern=None)
    by_byte, by_char = tok.encode_with_offsets("aéb", unit="byte"), tok.encode_with_offsets("aéb")
    assert by_byte.ids.tolist() == by_char.ids.tolist() == [97, 0xC3, 0xA9, 98]
    assert by_byte.spans == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert by_char.spans == [(0, 1), (1, 2), (1, 2), (2, 3)]
    assert (by_byte.ids.dtype, by_byte.starts.dtype, by_byte.ends.dtype) == (np.uint32, np.int64, np.int64)


def test_invalid_bytes_and_lone_surrogates_are_characters() -> None:
    tok = toksmith.train("x", merges=0, pattern=None)
    # E2 98 is the start of a character, FF of none: two replacement characters.
    assert tok.encode_with_offsets(b"a\xe2\x98\xffb").spans == [(0, 1), (1, 2), (1, 2), (2, 3), (3, 4)]
    # The pair is one character of four bytes in the text, and two in the string.
    assert tok.encode_with_offsets("\ud83d\ude04b").spans == [(0, 2)] * 4 + [(2, 3)]
    assert tok.encode_with_offsets("\ud83db").spans == [(0, 1)] * 3 + [(1, 2)]
    assert tok.encode_with_offsets("\ud83db", unit="byte").spans == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_added_tokens_have_the_range_of_their_spelling() -> None:
    tok = toksmith.train("ab", merges=1, pattern=None)
    added = tuple(toksmith.types.AddedToken(content, 300, special=True) for content in ("<end>", "<reserved_7>"))
    model = toksmith.Model(
        tok.model.tokens, tok.model.ids, merges=tok.model.merges, merge_rule="pair", added_tokens=added
    )
    found = toksmith.Tokenizer(model).encode_with_offsets("ab<reserved_7>é<end>", special="allow")
    assert found.ids.tolist() == [256, 300, 0xC3, 0xA9, 300]
    assert found.spans == [(0, 2), (2, 14), (14, 15), (14, 15), (15, 20)]


def test_an_empty_text_has_no_range_and_options_are_checked() -> None:
    tok = toksmith.train("ab", merges=1, pattern=None, special_tokens=["<s>"])
    assert len(tok.encode_with_offsets("")) == 0
    with pytest.raises(toksmith.errors.InvalidOption, match="unit"):
        tok.encode_with_offsets("a", unit="line")
    with pytest.raises(toksmith.errors.SpecialTokenInText) as problem:
        tok.encode_with_offsets("é<s>")
    assert problem.value.offset == 1
    with pytest.raises(toksmith.errors.SpecialTokenInText) as problem:
        tok.encode_ragged_with_offsets(["a", "é<s>"])
    assert (problem.value.index, problem.value.offset) == (1, 1)


@pytest.mark.proof
@pytest.mark.short
def test_ranges_equal_brute_force(toks: dict[str, toksmith.Tokenizer]) -> None:
    every = list(toks.values())
    for number, text in enumerate(draw_texts(DRAWN, 5)):
        tok = every[number % len(every)]
        found = tok.encode_with_offsets(text, unit="byte", special="allow")
        ids = tok.encode(text, special="allow")
        assert found.ids.tolist() == ids
        ends = np.cumsum([len(tok.token_bytes(id)) for id in ids]).tolist()
        starts = [0, *ends[:-1]][: len(ends)]
        assert (found.starts.tolist(), found.ends.tolist()) == (starts, ends), text
        assert tok.encode_with_offsets(text, special="allow").spans == list(ranges_of_characters(text, starts, ends)), (
            text
        )


def test_batches_have_the_ranges_of_their_texts(toks: dict[str, toksmith.Tokenizer]) -> None:
    tok = toks["o200k"]
    texts = ["", *draw_texts(400, 6), "\ud83d\ude04"]
    for unit in ("byte", "char"):
        batch = tok.encode_ragged_with_offsets(texts, unit=unit, special="allow", threads=3)
        assert len(batch) == len(texts) and batch.text_ends.dtype == np.uint64
        for text, found in zip(texts, batch, strict=True):
            alone = tok.encode_with_offsets(text, unit=unit, special="allow")
            assert (found.ids.tolist(), found.spans, found.unit) == (alone.ids.tolist(), alone.spans, unit)
    assert len(tok.encode_ragged_with_offsets([])) == 0


NMT = {"▁": (-1, NORMAL), "a": (-2, NORMAL), "f": (-2, NORMAL), "i": (-2, NORMAL), "▁a": (-0.5, NORMAL)}


@pytest.mark.parametrize(
    ("text", "ids", "by_byte", "by_char"),
    [
        ("aﬁ", ["▁a", "f", "i"], [(0, 1), (1, 1), (1, 4)], [(0, 1), (1, 2), (1, 2)]),
        ("  a   a ", ["▁a", "▁a"], [(0, 3), (3, 8)], [(0, 3), (3, 8)]),
        ("f", ["▁", "f"], [(0, 0), (0, 1)], [(0, 0), (0, 1)]),
        (" f", ["▁", "f"], [(0, 1), (1, 2)], [(0, 1), (1, 2)]),
        ("f  f", ["▁", "f", "▁", "f"], [(0, 0), (0, 1), (1, 2), (2, 4)], [(0, 0), (0, 1), (1, 2), (2, 4)]),
        ("éé??a", ["▁", "<unk>", "a"], [(0, 0), (0, 6), (6, 7)], [(0, 0), (0, 4), (4, 5)]),
        ("  ", [], [], []),
        ("", [], [], []),
    ],
)
def test_normalized_texts_have_ranges_of_the_original(
    text: str, ids: list[str], by_byte: Any, by_char: Any, charsmap: bytes, tmp_path: Path
) -> None:
    model = simple()
    model.normalizer_spec.precompiled_charsmap = charsmap
    tok = loaded(written(model, SIMPLE | NMT), tmp_path)
    found = tok.encode_with_offsets(text, unit="byte")
    assert [tok.model.tokens.index(token.encode()) if token != "<unk>" else -1 for token in ids] == [
        tok.model.ids.tolist().index(id) if id != tok.model.unknown_id else -1 for id in found.ids.tolist()
    ]
    assert found.spans == by_byte and tok.encode_with_offsets(text).spans == by_char


@pytest.mark.proof
@pytest.mark.short
def test_drawn_models_have_the_ranges_of_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(19)
    for number in range(DRAWN // 40):
        monkeypatch.setenv("TOKSMITH_SLOW", str(number % 3 // 2))
        tok = loaded(drawn_model(random), tmp_path)
        model = of_reference(tok)
        for _ in range(40):
            text = drawn_text(random, 60)
            found = tok.encode_with_offsets(text, unit="byte", special="text")
            assert found.ids.tolist() == tok.encode(text, special="text")
            wanted = models.ranges(text, model)
            assert found.ids.tolist() == [id for id, *_ in wanted]
            assert found.spans == [(start, end) for _, start, end, _ in wanted], text
            starts, touched = [start for _, start, _, _ in wanted], [touched for *_, touched in wanted]
            by_char = tok.encode_with_offsets(text, special="text").spans
            assert by_char == list(ranges_of_characters(text, starts, touched)), text


@pytest.mark.parametrize("kind", ["unigram", "wordpiece", "words", "chars"])
def test_a_whole_piece_that_is_a_token_has_its_range(kind: Any) -> None:
    """The whole-piece lookup bypasses the cover, and once gave the range of the piece before, or none."""
    tokens = [b"a", b"b", *([b"ab"] if kind != "chars" else []), b"<unk>"]
    scores = np.array([-1.0, -2.0, -9.0, -9.0]) if kind == "unigram" else None
    ids = np.arange(len(tokens), dtype=np.uint32)
    table, last = toksmith.types.TokenTable.of(tokens), len(tokens) - 1
    model = toksmith.Model(table, ids, kind=kind, unit="char", scores=scores, unknown_id=last, whole_piece=True)
    tok = toksmith.Tokenizer(model)
    for text in ("ab", "a", "abab", "zab"):
        found = tok.encode_with_offsets(text, unit="byte")
        assert found.ids.tolist() == tok.encode(text)
        assert [0, *found.ends.tolist()] == [*found.starts.tolist(), len(text)]


@pytest.mark.proof
@pytest.mark.short
def test_mistral_has_the_ranges_of_sentencepiece(vocab_dir: Path) -> None:
    path = vocab_dir / "mistral_v1.model"
    tok, peer = toksmith.load(path), sentencepiece.SentencePieceProcessor(model_file=str(path))
    random, compared = Random(23), 0
    for _ in range(DRAWN):
        text = drawn_text(random)
        if isinstance(text, bytes):
            continue
        found = tok.encode_with_offsets(text, unit="byte", special="text")
        pieces = peer.encode(text, return_type="proto").pieces
        assert found.ids.tolist() == [piece.id for piece in pieces]
        for span, piece in zip(found.spans, pieces, strict=True):
            if not peer.is_byte(piece.id):  # SentencePiece gives a character of byte tokens to the last of them
                assert span == (piece.begin, piece.end), text
                compared += 1
    assert compared > DRAWN
