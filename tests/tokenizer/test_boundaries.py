"""Cuts of texts and ids: each call equals brute force on drawn texts and ids, for each kind of tokenizer."""

import dataclasses
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from drawn_pieces import drawn_model
from drawn_texts import Drawing
from hard_texts import HARD_TEXTS
from processors import processor_s
from test_format_sentencepiece import charsmap, loaded

import toksmith
from toksmith import reference

__all__ = ["charsmap"]
EXHAUSTIVE = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))  # minutes, most of them brute force of `heal`
DRAWN = 100_000 if EXHAUSTIVE else 700
TEXT = "".join(HARD_TEXTS.values()) * 2
SPECIAL = ["<|end|>", "é|", "<s>"]
ORDINARY = "<|en"


def share(part: int) -> int:
    """The number of draws where brute force is slow: all, or a part in a short run."""
    return DRAWN if EXHAUSTIVE else DRAWN // part


def with_ordinary(tok: toksmith.Tokenizer) -> toksmith.Tokenizer:
    """The tokenizer with an added token that is not special, and is a prefix of a special one."""
    model = tok.model
    added = (*model.added_tokens, toksmith.types.AddedToken(ORDINARY, tok.vocab_size, special=False))
    return toksmith.Tokenizer(
        toksmith.Model(
            model.tokens, model.ids, merges=model.merges, splitters=model.splitters, added_tokens=added, unit=model.unit
        )
    )


@pytest.fixture(scope="module")
def toks(charsmap: bytes, tmp_path_factory: pytest.TempPathFactory) -> dict[str, toksmith.Tokenizer]:
    """Every pattern, the raw stream, a pattern without known cuts, and models of characters with normalizers."""
    found: dict[str, toksmith.Tokenizer] = {}
    for pattern in (*toksmith.patterns(), None, r"\w+|\s"):
        found[str(pattern)] = toksmith.train(TEXT, merges=300, pattern=pattern, special_tokens=SPECIAL)
    found["with an added token"] = with_ordinary(found["cl100k"])
    folder, random = tmp_path_factory.mktemp("models"), Random(31)
    while len(found) < 15:
        tok = loaded(drawn_model(random, charsmap), folder)
        if tok.model.byte_fallback:  # without it, decoding does not restore the text
            found[f"characters {len(found)}"] = tok
    return found


def each(
    toks: dict[str, toksmith.Tokenizer], count: int, seed: int, most: int = 160
) -> Iterator[tuple[Any, Any, Random]]:
    """Tokenizers in turn, each with a drawn text: a `str`, or `bytes` with some bytes removed."""
    chance, every = Random(seed), list(toks.values())
    for number, text in enumerate(Drawing(seed).texts(count)):
        text = text[:most] + chance.choice(["", *SPECIAL, ORDINARY]) + text[most : most + 40]
        data = bytes(byte for byte in reference.utf8(text) if chance.random() < 0.9)
        yield every[number % len(every)], data if chance.random() < 0.2 else text, chance


def possible_cuts(tok: toksmith.Tokenizer, text: Any, special: str) -> list[int | None]:
    """The cut after each number of ids; None where the cut is inside a character."""
    spans = tok.encode_with_offsets(text, special=special).spans
    shared = [False] + [after[0] < before[1] for before, after in pairwise(spans)] + [False]
    places = [0, *(end for _, end in tok.encode_with_offsets(text, special=special, unit=unit_of(text)).spans)]
    return [None if inside else place for inside, place in zip(shared, places, strict=False)]


def unit_of(text: str | bytes) -> str:
    return "byte" if isinstance(text, bytes) else "char"


def truncate_slowly(tok: toksmith.Tokenizer, text: Any, most: int, side: str, special: str) -> Any:
    """`truncate` by trying every cut of the whole text."""
    places = possible_cuts(tok, text, special)
    if len(places) == 1:
        return text
    if side == "right":
        found = [text[:place] for place in places[: most + 1] if place is not None]
    else:
        found = [text[place:] for place in places[max(0, len(places) - 1 - most) :] if place is not None]
    fitting = [part for part in found if tok.count(part, special=special) <= most]
    return max(fitting, key=len, default=text[:0])


@pytest.mark.proof
@pytest.mark.short
def test_truncate_equals_brute_force(toks: dict[str, toksmith.Tokenizer]) -> None:
    for tok, text, chance in each(toks, DRAWN, 1):
        text = text * chance.choice([1, 1, 1, 9])
        most, side = chance.choice([0, 1, 2, 5, 17, 60, 400]), chance.choice(["left", "right"])
        special = chance.choice(["text", "allow"])
        found = tok.truncate(text, most, side=side, special=special)
        assert found == truncate_slowly(tok, text, most, side, special), (text, most, side, special)
        assert tok.count(found, special=special) <= most


@pytest.mark.proof
@pytest.mark.short
def test_chunks_equal_brute_force(toks: dict[str, toksmith.Tokenizer]) -> None:
    for tok, text, chance in each(toks, share(3), 2):
        most = chance.choice([16, 20, 60])
        overlap = chance.choice([0, 0, 3, most - 1])
        found = tok.chunk(text, most, overlap=overlap)
        end = start = 0
        for chunk in found:
            part = truncate_slowly(tok, text[start:], most, "right", "text")
            if start < end and start + len(part) <= end:
                start = end
                part = truncate_slowly(tok, text[start:], most, "right", "text")
            assert (chunk.text, chunk.start, chunk.end) == (part, start, start + len(part)), text
            assert chunk.text == text[chunk.start : chunk.end]
            assert chunk.ids == tok.encode(chunk.text, special="text") and len(chunk.ids) <= most
            end = chunk.end
            start = end - len(truncate_slowly(tok, part, overlap, "left", "text")) if overlap else end
        assert end == len(text)
        if not overlap:
            assert text[:0].join(chunk.text for chunk in found) == text  # type: ignore[arg-type]


@pytest.mark.proof
@pytest.mark.short
def test_ids_of_a_stream_are_a_prefix_for_any_continuation(toks: dict[str, toksmith.Tokenizer]) -> None:
    early = 0
    for tok, text, chance in each(toks, DRAWN, 3):
        special = chance.choice(["text", "allow"])
        stream, given, at = tok.encoder(special=special), [], 0
        while at < len(text):
            size = chance.choice([1, 2, 3, 8, 40])
            given += stream.feed(text[at : at + size])
            at += size
            if chance.random() < 0.2:
                more = chance.choice([text[at:], text[:5], " a", "a", "\n", "'s", "1", "|>", "\u0301", "\ude04"])
                more = reference.utf8(more) if isinstance(text, bytes) else more
                whole = text[:at] + more if isinstance(more, type(text)) else text
                assert tok.encode(whole, special=special)[: len(given)] == given, (text, at, more)
        early += len(given)
        given += stream.finish()
        assert given == tok.encode(text, special=special), text
        assert stream.finish() == []
    assert early > DRAWN * 5


@pytest.mark.parametrize("pattern", [*toksmith.patterns(), None])
def test_a_stream_keeps_little(pattern: str | None) -> None:
    tok = toksmith.train(TEXT, merges=200, pattern=pattern, special_tokens=["<|endoftext|>"])
    stream = tok.encoder()
    given, most = [], 0
    for line in ["some words and 12 numbers, 日本語も。 <|endoft"] * 3000:
        given += stream.feed(line)
        most = max(most, len(stream._kept))
    assert most < 200
    assert given + stream.finish() == tok.encode(
        "some words and 12 numbers, 日本語も。 <|endoft" * 3000, special="text"
    )


def test_an_error_does_not_change_a_stream() -> None:
    tok = toksmith.train("abc abc", merges=2, special_tokens=["<s>"])
    stream = tok.encoder(special="raise")
    given = stream.feed("é abc a")
    with pytest.raises(toksmith.errors.SpecialTokenInText) as problem:
        stream.feed("b<s> c a")
    assert problem.value.offset == 9
    given += stream.feed("bc")
    assert given + stream.finish() == tok.encode("é abc abc")
    assert tok.encoder().feed("") == [] and tok.encoder().finish() == []
    with pytest.raises(TypeError, match="expected str or bytes, not int"):
        tok.encoder().feed(1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["\ud83d", "\ude04"], "😄"),
        (["a\ud83d", "b"], "a\ufffdb"),
        (["a\ud83d"], "a\ufffd"),
        ([b"\xe2\x98", b"\x80"], "☀"),
        (["\ud83d", b"a", "\ude04"], "\ufffda\ufffd"),
    ],
)
def test_halves_of_characters_meet_in_a_stream(parts: list[str | bytes], whole: str) -> None:
    tok = toksmith.train("abc", merges=1, pattern="o200k")
    stream = tok.encoder()
    assert [id for part in parts for id in stream.feed(part)] + stream.finish() == tok.encode(whole)


def heal_slowly(tok: toksmith.Tokenizer, text: Any, settled: list[int]) -> tuple[list[int], bytes, list[int]]:
    """`heal` by trying every number of ids from the settled ones on, and every token."""
    data = reference.utf8(text)
    spans = [(0, 0), *tok.encode_with_offsets(text, unit="byte", special="allow").spans]
    ids = tok.encode(text, special="allow")
    for count in range(len(settled), len(ids) + 1):
        rest = data[spans[count][1] :]
        before = tok.decode_bytes(ids[:count])
        own = {id: tok.decode_bytes([*ids[:count], id])[len(before) :] for id in tok.model.ids.tolist()}
        found = sorted(id for id, token in own.items() if token.startswith(rest))
        if found or not rest:
            return ids[:count], rest, found
    return ids, b"", sorted(tok.model.ids.tolist())  # a normalizer removed the rest


def test_heal_of_stripped_white_space_offers_every_token() -> None:
    strip = toksmith.types.Step("strip", (("left", True), ("right", True)))
    tok = toksmith.Tokenizer(dataclasses.replace(toksmith.train("low lower", 260).model, normalizers=(strip,)))
    healing = tok.heal("   ")
    assert (healing.ids, healing.rest, len(healing.continuations)) == ([], b"", len(tok.model.ids))


@pytest.mark.proof
@pytest.mark.short
def test_heal_equals_brute_force(toks: dict[str, toksmith.Tokenizer]) -> None:
    stable = 0
    for tok, text, chance in each(toks, share(12), 4, most=30):
        found = tok.heal(text, special="allow")
        stream = tok.encoder(special="allow")
        settled = stream.feed(reference.utf8(text))
        assert (found.ids, found.rest, found.continuations.tolist()) == heal_slowly(tok, text, settled), text
        assert found.continuations.dtype == np.uint32 and found.stable == (found.ids == settled)
        if found.stable:
            stable += bool(settled)
            more = reference.utf8(text) + chance.choice([b" a", b"a", b"\n", b"'s", b"1", b"  ", b"\xcc\x81"])
            assert tok.encode(more, special="allow")[: len(found.ids)] == found.ids
    assert stable > share(12) // 33


@pytest.mark.proof
@pytest.mark.short
def test_heal_with_decoder_steps_equals_brute_force(tmp_path: Path) -> None:
    """A token of these models decodes differently at the start of a text than inside it."""
    words = TEXT + "the quick brown fox ran, and the quite quick bear ran " * 9
    made = toksmith.train(words, 500, kind="unigram", byte_fallback=True)
    made.save(tmp_path / "tokenizer.json", allow_loss=["decoders", "normalizers", "scores"])
    for tok in (toksmith.load(tmp_path / "tokenizer.json"), toksmith.train(words, 700, kind="wordpiece")):
        assert tok.model.decoders
        drawn = [text[:30] for text in Drawing(4).texts(share(70))]
        for text in ["the qu", "the ", "The quick bro", "don't", "a, b", "quick, brown", "☀ qu", *drawn]:
            found, settled = tok.heal(text), tok.encoder().feed(reference.utf8(text))
            assert (found.ids, found.rest, found.continuations.tolist()) == heal_slowly(tok, text, settled), text
        assert tok.heal("the qu").rest == b" qu"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cl100k_base.tiktoken", "gpt2_tokenizer.json", "mistral_v1.model"])
def test_heal_offers_each_token_that_begins_with_the_rest(vocab_dir: Path, name: str) -> None:
    tok = toksmith.load(vocab_dir / name)
    tok.heal("The quick bro")
    assert 0 < tok.memory().healing < 2 * tok.memory().model
    tokens = {id: tok.decode_bytes([*tok.encode("a,"), id])[2:] for id in tok.model.ids.tolist()}
    for rest in (" ", " qu", "st", "", "日", " \n"):
        healing = tok.heal("a," + rest)
        expected = [id for id, token in tokens.items() if token.startswith(healing.rest)]
        assert healing.ids and healing.continuations.tolist() == sorted(expected), rest


def test_heal_takes_time_in_proportion_where_nothing_settles() -> None:
    tok = toksmith.train("abcab", 258, pattern=None)
    few, many = "ab" * 20_000 + "c", "ab" * 320_000 + "c"
    assert tok.heal(many).rest == b"c"
    once = processor_s(lambda: tok.heal(few), 5)
    assert processor_s(lambda: tok.heal(many), 3) < 60 * once + 0.05  # in proportion 16, in squares 256


def test_heal_of_a_space_and_of_an_empty_text() -> None:
    tok = toksmith.train("low lower lowest", vocab_size=300)
    healing = tok.heal("low ")
    assert (healing.ids, healing.rest, healing.stable) == (tok.encode("low"), b" ", True)
    tokens = [tok.token_bytes(id) for id in healing.continuations]
    assert tokens and all(token.startswith(b" ") for token in tokens)
    nothing = tok.heal("")
    assert (nothing.ids, nothing.rest, len(nothing.continuations)) == ([], b"", len(tok))


def drift(tok: toksmith.Tokenizer, ids: list[int]) -> int | None:
    """`first_drift` by encoding each run between special tokens again, and comparing each id."""
    special = {token.id for token in tok.model.added_tokens if token.special}
    again: list[int] = []
    run: list[int] = []
    for id in ids:
        if id in special:
            again += [*tok.encode(tok.decode_bytes(run), special="text"), id]
            run = []
        else:
            run.append(id)
    again += tok.encode(tok.decode_bytes(run), special="text")
    differs = [place for place, (old, new) in enumerate(zip(ids, again, strict=False)) if old != new]
    return differs[0] if differs else None if ids == again else min(len(ids), len(again))


@pytest.mark.proof
@pytest.mark.short
def test_drift_equals_brute_force(toks: dict[str, toksmith.Tokenizer]) -> None:
    drifts = 0
    for tok, text, chance in each(toks, DRAWN, 5):
        ids = tok.encode(text, special="allow")
        every = [*tok.model.ids.tolist(), *(token.id for token in tok.model.added_tokens)]
        for _ in range(chance.choice([0, 0, 1, 3])):
            place = chance.randrange(len(ids) + 1)
            ids[place : place + chance.randrange(2)] = [chance.choice(every)]
        found = tok.first_drift(ids)
        assert found == drift(tok, ids), ids
        assert tok.is_canonical(np.array(ids, np.uint32)) == (found is None)
        drifts += found is not None
    assert DRAWN // 10 < drifts < DRAWN


def test_drift_is_the_first_id_that_encodes_differently() -> None:
    tok = toksmith.train("low", merges=2, pattern=None, special_tokens=["<s>"])
    special = tok.token_id("<s>")
    assert tok.is_canonical([]) and tok.is_canonical([special, 257, special]) and tok.is_canonical([0xFF, 0xE2])
    assert tok.first_drift([special, 108, 257, special, 108, 111]) == 4  # then "lo" is one token
    assert tok.is_canonical(list(b"<s>"))  # these are the ids of the text
    with pytest.raises(toksmith.errors.UnknownId) as problem:
        tok.first_drift([special, 5000])
    assert problem.value.position == 1


def encode_segments_slowly(tok: toksmith.Tokenizer, segments: list[tuple[Any, bool]]) -> list[int]:
    """`encode_segments` by searching each place for the longest token inside of trusted text."""
    data = [reference.utf8(text) for text, _ in segments]
    trust = [trusted for text, (_, trusted) in zip(data, segments, strict=True) for _ in text]
    whole = b"".join(data)
    contents = {token.content.encode(): token for token in reversed(tok.model.added_tokens)}
    bare = without_added_tokens(tok)
    ids: list[int] = []
    at = start = 0
    while at < len(whole):
        here = [content for content in contents if whole.startswith(content, at) and all(trust[at : at + len(content)])]
        found = max(here, key=len, default=b"")
        if found:
            ids += [*bare.encode(whole[start:at]), contents[found].id]
            start = at + len(found)
        at += max(1, len(found))
    return ids + bare.encode(whole[start:])


def without_added_tokens(tok: toksmith.Tokenizer) -> toksmith.Tokenizer:
    """The tokenizer without added tokens."""
    return toksmith.Tokenizer(dataclasses.replace(tok.model, added_tokens=()))


@pytest.mark.proof
@pytest.mark.short
def test_segments_equal_brute_force(toks: dict[str, toksmith.Tokenizer]) -> None:
    plain = {name: tok for name, tok in toks.items() if not name.startswith("characters")}
    for tok, text, chance in each(plain, share(2), 6):
        segments, at = [], 0
        while at < len(text):
            size = chance.choice([1, 4, 9, 50])
            segments.append((text[at : at + size], chance.random() < 0.6))
            at += size
        assert tok.encode_segments(segments) == encode_segments_slowly(tok, segments), segments
        if reference.utf8(text) == b"".join(reference.utf8(part) for part, _ in segments):
            assert tok.encode_segments([(part, True) for part, _ in segments]) == tok.encode(text, special="allow")
            assert tok.encode_segments([(part, False) for part, _ in segments]) == without_added_tokens(tok).encode(
                text
            )


def test_segments_are_checked() -> None:
    tok = toksmith.train("low", merges=2, pattern=None, special_tokens=["<s>"])
    assert tok.encode_segments([]) == []
    assert tok.encode_segments([("lo", True), ("w", False)]) == tok.encode("low")
    assert tok.encode_segments([("<", True), ("s>", False)]) == list(b"<s>")
    for bad in ("text", [("a", 1)], [("a",)], ["ab"], [(1, True)]):
        with pytest.raises(TypeError):
            tok.encode_segments(bad)  # type: ignore[arg-type]


def test_options_are_checked() -> None:
    tok = toksmith.train("low", merges=2, pattern=None)
    with pytest.raises(toksmith.errors.InvalidOption, match="at least 0"):
        tok.truncate("a", -1)
    with pytest.raises(toksmith.errors.InvalidOption, match="side"):
        tok.truncate("a", 1, side="both")
    with pytest.raises(TypeError, match="max_tokens: expected an int, not float"):
        tok.truncate("a", 1.5)  # type: ignore[arg-type]
    with pytest.raises(toksmith.errors.InvalidOption, match="less than max_tokens=3"):
        tok.chunk("a", 3, overlap=3)
    with pytest.raises(toksmith.errors.InvalidOption, match="at least 1"):
        tok.chunk("a", 0)
    with pytest.raises(toksmith.errors.InvalidOption, match="at least 3, for the text at 1, which cannot be cut"):
        tok.chunk("a☀", 2)
    assert tok.chunk("", 5) == [] and tok.truncate("", 5) == tok.truncate("abc", 0) == ""


@pytest.mark.slow
def test_only_the_needed_part_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    tok = toksmith.train(TEXT, merges=200, pattern="o200k", special_tokens=["<s>"])
    text = "word " * 200_000 + "<s>" + " word" * 200_000
    # No call reaches the special token in the middle.
    assert len(tok.truncate(text, 50, special="raise")) < 300
    assert len(tok.truncate(text, 50, side="left", special="raise")) < 300
    assert tok.count(tok.truncate(text, 50)) == 50
    parts = tok.chunk(text, 5000)
    assert "".join(str(part.text) for part in parts) == text


@pytest.mark.proof
@pytest.mark.short
def test_published_vocabularies_equal_brute_force(vocab_dir: Path) -> None:
    """Some of their tokens are whole pieces that no merge reaches."""
    path = vocab_dir / "o200k_base.tiktoken"
    if not path.is_file():
        pytest.skip(f"lacks {path}")
    tok = toksmith.load(path, pattern="o200k", special_tokens={"<|endoftext|>": 199999})
    for text in Drawing(9).texts(share(3)):
        most = 1 + len(text) % 17
        assert tok.truncate(text, most) == truncate_slowly(tok, text, most, "right", "text")
        assert tok.truncate(text, most, side="left") == truncate_slowly(tok, text, most, "left", "text")
        stream = tok.encoder()
        given = [id for at in range(0, len(text), 7) for id in stream.feed(text[at : at + 7])]
        assert given + stream.finish() == tok.encode(text, special="text")
