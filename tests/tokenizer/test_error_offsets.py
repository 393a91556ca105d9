"""Offsets in errors are places in the caller's text: characters for `str`, bytes for `bytes`."""

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import toksmith
from toksmith import Model, Tokenizer, reference
from toksmith._model.model import regex_split
from toksmith.errors import NotInVocabulary, SpecialTokenInText
from toksmith.types import AddedToken, Step, TokenTable

PAD = "<pad>"
REPLACE = Step("replace", (("content", "▁"), ("dialect", "literal"), ("pattern", " ")))
STRIP = Step("strip", (("left", True), ("right", True)))
NORMALIZERS: dict[str, tuple[Step, ...]] = {
    "longer": (Step("nfd"),),
    "shorter": (Step("nfkc"), STRIP),
    "spaces": (Step("prepend", (("prepend", "▁"),)), REPLACE),
    "bytes": (Step("byte_characters"),),
    "lower": (Step("lowercase"), Step("nfd"), Step("strip_accents")),
}
SPLITTERS: dict[str, tuple[Step, ...]] = {
    "whole": (),
    "words": (Step("whitespace_split"),),
    "metaspace": (Step("metaspace", (("prepend", "first"), ("replacement", "▁"), ("split", True))),),
    "bytes": (Step("prefix_space"), Step("byte_characters")),
    "regex": (regex_split(r"\w+|\s"),),
}
CHARACTERS = "abcdepsé ▁\u0301\u0300xA<>|/Ġ"


def byte_level(normalizers: tuple[Step, ...], splitters: tuple[Step, ...], normalized: bool) -> Tokenizer:
    """All bytes, no merges, two special tokens and an ordinary one."""
    flags = {"normalized": normalized}
    added = (AddedToken(PAD, 300, **flags), AddedToken("<é>", 301, **flags), AddedToken("[w]", 302, False, **flags))
    tokens = TokenTable.of([bytes([byte]) for byte in range(256)])
    return Tokenizer(
        Model(tokens, range(256), normalizers=normalizers, splitters=splitters, added_tokens=added)  # type: ignore[arg-type]
    )


def character_tokenizer(
    kind: str, normalizers: tuple[Step, ...], splitters: tuple[Step, ...], **fields: Any
) -> Tokenizer:
    """A vocabulary of the characters above, which lacks `q`."""
    prefix, suffix = fields.get("continuing_subword_prefix", ""), fields.get("end_of_word_suffix", "")
    tokens = list(
        dict.fromkeys(mark + char + end for mark in ("", prefix) for char in CHARACTERS for end in ("", suffix))
    )
    if kind == "unigram":
        fields["scores"] = [-1.0] * len(tokens)
    model = Model(
        TokenTable.of([token.encode() for token in tokens]),
        range(len(tokens)),  # type: ignore[arg-type]
        kind=kind,  # type: ignore[arg-type]
        unit="char",
        normalizers=normalizers,
        splitters=splitters,
        added_tokens=(AddedToken(PAD, 900, normalized=True),),
        **fields,
    )
    return Tokenizer(model)


def every_call(tok: Tokenizer, text: Any) -> dict[str, Callable[[], object]]:
    """Each call that encodes a text, and refuses special tokens."""
    calls: dict[str, Callable[[], object]] = {
        "encode": lambda: tok.encode(text),
        "encode_array": lambda: tok.encode_array(text),
        "encode_batch": lambda: tok.encode_batch(["a", text, text]),
        "encode_ragged": lambda: tok.encode_ragged(["a", text]),
        "count": lambda: tok.count(text, special="raise"),
        "count_batch": lambda: tok.count_batch(["a", text], special="raise"),
        "encode_with_offsets": lambda: tok.encode_with_offsets(text),
        "by bytes": lambda: tok.encode_with_offsets(text, unit="byte"),
        "encode_ragged_with_offsets": lambda: tok.encode_ragged_with_offsets(["a", text]),
        "truncate": lambda: tok.truncate(text, 3, special="raise"),
        "truncate left": lambda: tok.truncate(text, 3, side="left", special="raise"),
        "chunk": lambda: tok.chunk(text, 90, special="raise"),
        "heal": lambda: tok.heal(text),
    }
    if tok.model.kind in ("bpe", "unigram"):
        calls["encode_sampled"] = lambda: tok.encode_sampled(text, seed=3)
    return calls


def offset_of(call: Callable[[], object], kind: Any) -> tuple[int | None, Any]:
    """The offset and the index of the error."""
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value.offset) in str(caught.value)
    return caught.value.offset, caught.value.index


def assert_places(tok: Tokenizer, text: Any, wanted: int, kind: Any) -> None:
    """Every call gives the place in the caller's text."""
    for name, call in every_call(tok, text).items():
        offset, index = offset_of(call, kind)
        assert offset == wanted, (name, text)
        batch = name in ("encode_batch", "encode_ragged", "count_batch", "encode_ragged_with_offsets")
        assert index == (1 if batch else None), name


@pytest.mark.parametrize("splitters", SPLITTERS)
@pytest.mark.parametrize("normalizers", NORMALIZERS)
@pytest.mark.parametrize("normalized", [True, False])
def test_special_tokens_in_rewritten_texts_have_original_offsets(
    normalizers: str, splitters: str, normalized: bool
) -> None:
    tok = byte_level(NORMALIZERS[normalizers], SPLITTERS[splitters], normalized)
    for before in ("", "éééé", "a b ", "  ﬁ é ", "[w]  é[w]", "\ud83dé", "\ud83d\ude04", "Ünïcode ㎏ "):
        for token in (PAD, "<é>"):
            text = f"{before}{token} long {token}"
            # `prepend` changes the normalized token too, so the text matches only after a space.
            is_found = not normalized or normalizers != "spaces" or before[-1:] in ("", " ")
            wanted = len(before) if is_found else text.rindex(token)
            assert_places(tok, text, wanted, SpecialTokenInText)
            for wrong in (b"", b"\xff\xe2\x98"):
                whole = wrong + reference.utf8(text) + b"\xff"
                place = len(wrong) + len(reference.utf8(text[:wanted]))
                assert_places(tok, whole, place, SpecialTokenInText)


KINDS: dict[str, dict[str, Any]] = {
    "bpe": {},
    "bpe with marks": {"kind": "bpe", "end_of_word_suffix": "</w>", "continuing_subword_prefix": "##"},
    "chars": {},
    "unigram": {},
}


@pytest.mark.parametrize("splitters", [name for name in SPLITTERS if name != "bytes"])
@pytest.mark.parametrize("normalizers", ["longer", "shorter", "spaces", "lower"])
@pytest.mark.parametrize("kind", KINDS)
def test_unknown_text_in_rewritten_texts_has_original_offsets(kind: str, normalizers: str, splitters: str) -> None:
    fields = {"kind": kind} | KINDS[kind]
    tok = character_tokenizer(normalizers=NORMALIZERS[normalizers], splitters=SPLITTERS[splitters], **fields)
    for before in ("", "éééé", "a b ", "  é ", "aé \u0301", "e e é", "ée <p> é"):
        for text in (f"{before}q", f"{before}qé q", f"{before}aq bé"):
            wanted = text.index("q")
            assert_places(tok, text, wanted, NotInVocabulary)
            assert_places(tok, text.encode(), len(text[:wanted].encode()), NotInVocabulary)
            if tok.model.kind != "unigram":  # its texts are UTF-8
                whole = text[:wanted].encode() + b"\xffq"
                assert_places(tok, whole, wanted + len(before.encode()) - len(before), NotInVocabulary)


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    """Words of a pattern with known cuts, so that parts of texts are encoded, and a special token."""
    return toksmith.train(["low low é ☀ é low", "é ", " "], kind="words", special_tokens=["[a]"])


BEFORE = ["", "low low low ", "é ☀ é é ", "low é" * 3, "low " * 3000, "é ☀" * 3000]


@pytest.mark.parametrize("before", BEFORE)
def test_calls_on_parts_give_offsets_in_the_whole_text(before: str) -> None:
    tok = toksmith.train("low lower é ☀ lowest", 300, special_tokens=["[a]"])
    texts: tuple[Any, ...] = (f"{before}[a] low low", f"\ud83d\ude04{before}[a] low", f"{before}[a]".encode())
    for number, text in enumerate(texts):
        wanted = len(before.encode()) if number == 2 else len(before) + 2 * number
        calls: list[Callable[[], object]] = [
            partial(tok.heal, text),
            partial(tok.chunk, text, 12, special="raise"),
            partial(tok.chunk, text, 12, overlap=5, special="raise"),
            partial(tok.truncate, text, 1 << 20, special="raise"),
            partial(tok.truncate, text, 5, side="left", special="raise"),
            partial(toksmith.explain.text, tok, text, special="raise"),
            partial(toksmith.explain.prompt, tok, text, special="raise"),
            partial(toksmith.explain.differences, tok, text, special="raise"),
            partial(toksmith.explain.budget, tok, text, context=9, special="raise"),
        ]
        for place, call in enumerate(calls):
            assert offset_of(call, SpecialTokenInText) == (wanted, None), place


@pytest.mark.parametrize("before", ["low", "low low é ☀", " é" * 3000])
def test_unknown_text_in_parts_has_offsets_in_the_whole_text(before: str, words: Tokenizer) -> None:
    text = f"{before} xyz low"
    for call in (words.heal, lambda text: words.chunk(text, 9), lambda text: words.truncate(text, 1 << 20)):
        assert offset_of(partial(call, text), NotInVocabulary) == (len(before), None)
        data = text.encode()
        assert offset_of(partial(call, data), NotInVocabulary) == (len(before.encode()), None)


@pytest.mark.parametrize(
    ("segments", "offset", "index"),
    [
        ([("é low", True), (" é xyz", False)], 2, 1),
        ([("é low", True), (b" x", False), ("yz", True)], 0, 1),
        ([("é", True), ("[a]", True), ("", False), ("\ud83d\ude04", True)], 0, 3),
        ([("é", True), ("[a]é ", True), ("low", False), (" é xyz low".encode(), True)], 3, 3),
        ([("[a]", True), ("é ", True), ("[a] x", True)], 3, 2),
        ([("[a]é x", True)], 4, 0),
    ],
)
def test_errors_of_segments_have_their_index(segments: Any, offset: int, index: int, words: Tokenizer) -> None:
    assert offset_of(lambda: words.encode_segments(segments), NotInVocabulary) == (offset, index)


def test_files_and_streams_of_rewritten_texts_have_original_offsets(tmp_path: Path) -> None:
    tok = byte_level(NORMALIZERS["longer"], (), normalized=True)
    path = tmp_path / "x.txt"
    path.write_text("é low\néé é<pad> é\n", encoding="utf-8")
    for separator, wanted in ((None, (14, None)), ("\n", (7, 1))):
        with pytest.raises(SpecialTokenInText) as caught:
            tok.encode_file(path, separator=separator, special="raise")
        assert (caught.value.offset, caught.value.index) == wanted
    stream = tok.encoder(special="raise")
    stream.feed("éé")
    stream.feed("é<pad>")  # kept, because a normalizer can depend on the next text
    with pytest.raises(SpecialTokenInText) as caught:
        stream.finish()
    assert caught.value.offset == 6 and pickle.loads(pickle.dumps(caught.value)).offset == 6
    with pytest.raises(toksmith.errors.CorpusError, match="at offset 3"):
        toksmith.corpus.encode(tok, ["é", "ééé<pad>"], tmp_path / "ids.npy")
