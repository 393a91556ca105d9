"""The ranges of ids partition the caller's text, for every kind of tokenizer, in both units, of `str` and of `bytes`."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from drawn_pieces import drawn_model
from hard_texts import HARD_TEXTS
from test_error_offsets import NORMALIZERS, PAD, SPLITTERS, byte_level, character_tokenizer
from test_format_sentencepiece import charsmap, loaded
from test_offsets import characters, ranges_of_characters

import toksmith
from toksmith import Tokenizer, reference
from toksmith.errors import InvalidOption, NotInVocabulary

__all__ = ["charsmap"]
DRAWN = 4_000 if os.environ.get("TOKSMITH_EXHAUSTIVE") else 60
CORPUS = [*HARD_TEXTS.values(), "low lower lowest é ééé newest widest 日本 "] * 2
PARTS = [
    "low", "lo", "w", " ", "  ", "é", "e\u0301", "日本", "ﬁ", "x", PAD, "<é>", "[w]", "\n", "▁", "q", "🙂", "A",
    "\u0301",
]  # fmt: skip
WRONG = [b"\xff", b"\xe2\x98", b"\xf0\x9f", b"\x80\x80\x80", b"\xc3", b"\xed\xa0\x80"]
HALVES = ["\ud83d", "\ude04", "\ud83d\ude04", "\udc80"]
TRAINED: dict[str, dict[str, Any]] = {
    "bytes": {"merges": 200},
    "bytes, raw": {"merges": 200, "pattern": None},
    "end of word": {"vocab_size": 700, "end_of_word_suffix": "</w>"},
    "wordpiece": {"vocab_size": 700, "kind": "wordpiece"},
    "unigram": {"vocab_size": 400, "kind": "unigram"},
    "unigram, bytes": {"vocab_size": 700, "kind": "unigram", "byte_fallback": True},
    "characters": {"vocab_size": 400, "unit": "char"},
    "characters, bytes": {"vocab_size": 700, "unit": "char", "byte_fallback": True},
    "chars": {"kind": "chars"},
    "words": {"kind": "words", "vocab_size": 500},
}


def with_unknown_id(tok: Tokenizer) -> Tokenizer:
    """The tokenizer with an id for unknown text."""
    return Tokenizer(dataclasses.replace(tok.model, unknown_id=0))


def tokenizers(charsmap: bytes, folder: Path) -> Iterator[tuple[str, Tokenizer]]:
    """Every kind, by name."""
    for name, options in TRAINED.items():
        tok = toksmith.train(CORPUS, **options)
        yield name, tok
        if tok.model.kind in ("chars", "words"):
            yield f"{name}, unknown", with_unknown_id(tok)
    yield "ascii", toksmith.train(["low lower [w] <pad> " * 9], merges=9, unit="char", alphabet="ascii")
    for normalizers, steps in NORMALIZERS.items():
        for splitters, cuts in SPLITTERS.items():
            name = f"{normalizers}, {splitters}"
            yield f"byte-level, {name}", byte_level(steps, cuts, normalized=normalizers != "lower")
            if splitters != "bytes" and normalizers != "bytes":
                marks = {"end_of_word_suffix": "</w>", "continuing_subword_prefix": "##"}
                yield f"marks, {name}", character_tokenizer("bpe", steps, cuts, unknown_id=0, **marks)
                yield f"chars, {name}", character_tokenizer("chars", steps, cuts, unknown_id=0)
                yield f"unigram, {name}", character_tokenizer("unigram", steps, cuts, unknown_id=0)
                yield f"wordpiece, {name}", character_tokenizer("wordpiece", steps, cuts, unknown_id=0)
    random = Random(7)
    for number in range(12):
        yield f"drawn {number}", loaded(drawn_model(random, charsmap), folder)


@pytest.fixture(scope="module")
def toks(charsmap: bytes, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tokenizer]:
    return dict(tokenizers(charsmap, tmp_path_factory.mktemp("models")))


def draw_text(random: Random) -> str | bytes:
    """A text; two of three kinds contain lone surrogates or invalid UTF-8."""
    kind = random.randrange(3)
    more: Any = ([*PARTS], [*PARTS, *HALVES], [*(part.encode() for part in PARTS), *WRONG])[kind]
    parts = [random.choice(more) for _ in range(random.randrange(9))]
    return (b"" if kind == 2 else "").join(parts)


def assert_partition(tok: Tokenizer, text: str | bytes, special: str) -> None:
    """Ranges of bytes partition the text, those of characters cover it, and both are in order."""
    found = tok.encode_with_offsets(text, unit="byte", special=special)
    assert found.ids.tolist() == tok.encode(text, special=special)
    by_char = tok.encode_with_offsets(text, special=special)
    assert by_char.ids.tolist() == found.ids.tolist()
    if not len(found):
        return
    starts, ends = found.starts.tolist(), found.ends.tolist()
    assert starts == [0, *ends[:-1]] and ends == sorted(ends) and ends[-1] == len(reference.utf8(text))
    starts, ends = by_char.starts.tolist(), by_char.ends.tolist()
    assert (starts[0], ends[-1]) == (0, len(characters(text)))
    assert starts == sorted(starts) and ends == sorted(ends)
    assert all(start <= end for start, end in by_char.spans)
    assert all(start <= end for start, end in zip(starts[1:], ends, strict=False))  # no character is left out
    # A range that no step rewrote is as wide as its bytes.
    narrow = list(ranges_of_characters(text, found.starts.tolist(), found.ends.tolist()))
    assert all(wide[0] <= own[0] and own[1] <= wide[1] for wide, own in zip(by_char.spans, narrow, strict=True))
    if not tok.model.normalizers:
        assert by_char.spans == narrow


def assert_slices(tok: Tokenizer, text: Any, most: int) -> None:
    """Cut parts of a text are slices of the original text."""
    assert text.startswith(tok.truncate(text, most))
    assert text.endswith(tok.truncate(text, most, side="left"))
    try:
        chunks = tok.chunk(text, most)
    except InvalidOption as problem:  # a character needs more ids
        assert problem.argument == "max_tokens"
        return
    assert text[:0].join(chunk.text for chunk in chunks) == text
    assert all(chunk.text == text[chunk.start : chunk.end] for chunk in chunks)
    assert all(len(chunk.ids) <= most for chunk in chunks)


def test_an_invalid_byte_in_a_word_keeps_its_place() -> None:
    tok = toksmith.train(CORPUS, vocab_size=700, end_of_word_suffix="</w>")
    found = tok.encode_with_offsets(b"lo\xffw", unit="byte")
    assert (found.starts.tolist()[0], found.ends.tolist()[-1]) == (0, 4)
    assert (2, 3) in found.spans and (2, 3) in tok.encode_with_offsets(b"lo\xffw").spans


@pytest.mark.proof
@pytest.mark.short
def test_ranges_partition_every_text_of_every_kind(toks: dict[str, Tokenizer]) -> None:
    random, compared, refused = Random(11), 0, 0
    assert len(toks) > 80
    for name, tok in toks.items():
        for number in range(DRAWN):
            text = draw_text(random)
            special = random.choice(["text", "allow"])
            try:
                assert_partition(tok, text, special)
                if number % 4 == 0:
                    assert_slices(tok, text, random.choice([1, 3, 9]))
                compared += 1
            except NotInVocabulary as error:
                refused += 1
                assert tok.model.unknown_id is None or isinstance(error.content, bytes), (name, text)
                assert error.offset is not None and 0 <= error.offset < len(text), (name, text)
            except AssertionError as failed:
                raise AssertionError(f"{name}: {text!r}, special={special!r}") from failed
    assert compared > 5 * refused > 0


def calls_of(tok: Tokenizer) -> list[Any]:
    """The ways to encode a text."""
    calls: list[Any] = [tok.encode, tok.count, tok.encode_with_offsets, lambda text: tok.encode_batch([text])]
    calls.append(lambda text: tok.encode_sampled(text, seed=1, special="text"))
    return [*calls, lambda text: tok.encode_best(text, 2)] if tok.model.kind == "unigram" else calls


@pytest.mark.proof
@pytest.mark.short
def test_unknown_text_in_models_of_sentencepiece_has_its_place(charsmap: bytes, tmp_path: Path) -> None:
    """Texts that can be encoded, followed by a character without a token."""
    random, compared = Random(5), 0
    missing = "\U00010000"
    while compared < DRAWN:
        model = loaded(drawn_model(random, charsmap), tmp_path).model
        if model.byte_fallback:
            continue
        tok = Tokenizer(dataclasses.replace(model, unknown_id=None))
        for _ in range(40):
            before = "".join(random.choice([*"abcthe", " ", "  ", "▁", "ﬁ", "½", "<sep>", "日本"]) for _ in range(6))
            try:
                tok.encode(before + ".", special="text")
            except NotInVocabulary as error:
                if error.content != ".":
                    continue
            text = f"{before}{missing} a{missing}"
            for given in (text, text.encode(), before.encode() + b"\xff"):
                for call in calls_of(tok):
                    with pytest.raises(NotInVocabulary) as caught:
                        call(given)
                    assert caught.value.offset == len(before if given == text else before.encode()), (before, given)
                    compared += 1
