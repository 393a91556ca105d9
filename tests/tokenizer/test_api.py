"""The public calls of a tokenizer give equal ids for every form of arguments, and decode to the same bytes.

test_core_equals_reference.py and test_peer_tiktoken.py check which ids these are.
"""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_texts import HARD_TEXTS, broken_bytes, small_texts, texts
from hypothesis import example, given
from hypothesis import strategies as st
from processors import processor_s

import toksmith
from toksmith import Model, Tokenizer, reference
from toksmith.errors import NotInVocabulary, UnknownId
from toksmith.types import AddedToken, Ragged

REAL_TEXT = Path(reference.__file__).read_text(encoding="utf-8")
CUT_CHARACTERS = "é☀😄नमस्ते 中文字 😄☀é नमस्ते " * 5
END, PAD = "<|stop|>", "<|pad|>"


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    """1,000 tokens and two special ones, trained on the specification's own source."""
    return toksmith.train(REAL_TEXT, 1002, special_tokens=[END, PAD])


@pytest.fixture(scope="module")
def cut() -> Tokenizer:
    """Tokens that begin and end inside characters: an unsplit training on characters of two to four bytes."""
    return toksmith.train(CUT_CHARACTERS, 340, pattern=None)


# One text, many texts


@pytest.mark.slow
@given(text=st.one_of(texts(), broken_bytes(), small_texts("the def\n")))
@example(text="")
@example(text=b"")
def test_all_ways_of_encoding_one_text_agree(text: str | bytes, tok: Tokenizer) -> None:
    ids = tok.encode(text)
    assert type(ids) is list and all(type(id) is int for id in ids)
    array = tok.encode_array(text)
    assert (array.dtype, array.shape, array.tolist()) == (np.uint32, (len(ids),), ids)
    assert tok.encode_batch([text]) == [ids]
    assert tok.encode_ragged([text])[0].tolist() == ids
    assert tok.count(text) == len(ids) and type(tok.count(text)) is int
    assert tok.count_batch([text]).tolist() == [len(ids)]
    data = reference.utf8(text)
    assert tok.encode(data) == ids
    assert tok.decode_bytes(ids) == data
    assert tok.decode(ids) == data.decode(errors="replace")


@pytest.mark.parametrize("threads", [None, 1, 2, 7])
def test_batches_keep_their_order_on_any_threads(tok: Tokenizer, threads: int | None) -> None:
    batch = [*REAL_TEXT.splitlines(), "", b"\xff", *HARD_TEXTS.values(), REAL_TEXT]
    one_by_one = [tok.encode(text) for text in batch]
    assert tok.encode_batch(batch, threads=threads) == one_by_one
    ragged = tok.encode_ragged(batch, threads=threads)
    assert [ids.tolist() for ids in ragged] == one_by_one
    counts = tok.count_batch(batch, threads=threads)
    assert counts.dtype == np.uint64
    assert counts.tolist() == [len(ids) for ids in one_by_one]
    assert tok.decode_batch(one_by_one, threads=threads) == [tok.decode(ids) for ids in one_by_one]


@pytest.mark.parametrize(
    "form",
    [list, tuple, iter, lambda texts: (text for text in texts), np.array],
    ids=["list", "tuple", "iterator", "generator", "array"],
)
def test_a_batch_is_any_iterable(tok: Tokenizer, form: Callable[[list[str]], Any]) -> None:
    batch = ["one", "two words", "", "def f():"]
    expected = [tok.encode(text) for text in batch]
    assert tok.encode_batch(form(batch)) == expected
    assert [ids.tolist() for ids in tok.encode_ragged(form(batch))] == expected
    assert tok.count_batch(form(batch)).tolist() == [len(ids) for ids in expected]


def test_a_ragged_result_is_a_sequence_of_arrays(tok: Tokenizer) -> None:
    batch = ["def f():", "", "return x"]
    ragged = tok.encode_ragged(batch)
    assert isinstance(ragged, Ragged)
    assert (ragged.ids.dtype, ragged.ends.dtype, len(ragged)) == (np.uint32, np.uint64, 3)
    lengths = [len(tok.encode(text)) for text in batch]
    assert ragged.ends.tolist() == np.cumsum(lengths).tolist()
    assert [ids.tolist() for ids in ragged] == [tok.encode(text) for text in batch]
    assert ragged[-1].tolist() == tok.encode("return x") == ragged[2].tolist()
    assert ragged[1].tolist() == []
    assert np.shares_memory(ragged[0], ragged.ids)
    for wrong in (3, -4):
        with pytest.raises(IndexError):
            ragged[wrong]
    assert "Ragged" in repr(ragged)


# Decoding


def test_ids_of_any_iterable_are_decoded(tok: Tokenizer) -> None:
    ids = tok.encode("def f(x):")
    for form in (ids, tuple(ids), iter(ids), (id for id in ids), np.array(ids), memoryview(np.array(ids, np.int64))):
        assert tok.decode(form) == "def f(x):"
    ragged = tok.encode_ragged(["def", "f"])
    assert tok.decode_batch(ragged) == ["def", "f"]
    bytes_ = np.array([100, 101, 102], np.uint8)
    assert tok.decode_batch(np.stack([bytes_, bytes_[::-1]])) == ["def", "fed"]
    assert tok.decoder().feed(bytes_) == "def" and tok.decoder().feed(bytes_[0]) == "d"
    assert tok.token_bytes(bytes_[0]) == b"d"
    assert tok.decode([]) == "" and tok.decode_bytes([]) == b""
    big_endian = np.array(ids, ">u4")
    assert tok.decode(big_endian) == "def f(x):"
    every_other = np.array([ids, ids]).T.ravel()[::2]
    assert tok.decode(every_other.astype(np.uint32)[:]) == "def f(x):"


def test_invalid_utf8_is_decoded_by_the_mode_of_errors(tok: Tokenizer) -> None:
    ids = tok.encode("é")
    assert tok.decode([195]) == "\ufffd"
    assert tok.decode([195], errors="replace") == "\ufffd"
    assert tok.decode([97, 195], errors="ignore") == "a"
    assert tok.decode([97, 195], errors="backslashreplace") == r"a\xc3"
    assert tok.decode([97, 195], errors="surrogateescape") == "a\udcc3"
    with pytest.raises(UnicodeDecodeError):
        tok.decode([195], errors="strict")
    with pytest.raises(UnicodeDecodeError):
        tok.decode_batch([ids, [195]], errors="strict")
    assert tok.decode(ids, errors="strict") == "é"
    assert tok.decode_batch([ids, [195]]) == ["é", "\ufffd"]
    assert tok.decode_bytes([195]) == b"\xc3"


@pytest.mark.slow
@given(text=small_texts("é☀😄नमस्ते 中a"), cuts=st.lists(st.integers(1, 4), max_size=60), draws=st.data())
def test_a_stream_of_a_valid_text_never_shows_the_replacement_character(
    text: str, cuts: list[int], draws: st.DataObject, cut: Tokenizer
) -> None:
    # Any cut of the bytes into tokens, not only the canonical one.
    ids, rest = [], text.encode()
    for _ in range(len(rest)):
        known = [length for length in range(1, 9) if rest[:length] in set(cut.model.tokens) and length <= len(rest)]
        if not known:
            break
        length = draws.draw(st.sampled_from(known)) if len(ids) < 12 else known[-1]
        ids.append(cut.token_id(rest[:length]))
        rest = rest[length:]
    decoder = cut.decoder()
    shown = []
    while ids:
        size = cuts.pop() if cuts else 1
        shown.append(decoder.feed(ids[:size]))
        ids = ids[size:]
    assert "\ufffd" not in "".join(shown)
    assert decoder.finish() == ""
    assert "".join(shown) == text


@pytest.mark.slow
@given(data=broken_bytes(), sizes=st.lists(st.integers(0, 3), max_size=40))
def test_a_stream_of_any_bytes_ends_as_decode_does(data: bytes, sizes: list[int], cut: Tokenizer) -> None:
    ids = list(data)
    for errors in ("replace", "ignore", "backslashreplace"):
        decoder = cut.decoder(errors=errors)
        shown, at = "", 0
        for size in sizes:
            shown += decoder.feed(ids[at : at + size])
            at += size
        shown += decoder.feed(ids[at:])
        assert shown + decoder.finish() == cut.decode(ids, errors=errors)


def test_a_decoder_keeps_unfinished_characters(cut: Tokenizer) -> None:
    decoder = cut.decoder()
    assert [decoder.feed(byte) for byte in "a😄".encode()] == ["a", "", "", "", "😄"]
    assert decoder.feed([0xF0, 0x9F]) == ""
    with pytest.raises(UnknownId):
        decoder.feed([0x98, 10**6])
    assert decoder.feed([0x98, 0x84]) == "😄"  # the refused call changed nothing
    assert decoder.feed(0xF0) == ""
    assert (decoder.finish(), decoder.finish()) == ("\ufffd", "")
    assert decoder.feed("é".encode()[0]) == ""
    strict = cut.decoder(errors="strict")
    strict.feed(0xF0)
    with pytest.raises(UnicodeDecodeError):
        strict.finish()


# Special tokens


def test_every_mode_of_special_tokens(tok: Tokenizer) -> None:
    end, pad = tok.special_tokens[END], tok.special_tokens[PAD]
    text = f"a{END}b{PAD}"
    a, b = tok.encode("a"), tok.encode("b")
    assert tok.encode(text, special="allow") == [*a, end, *b, pad]
    for some in ([END, PAD], (END, PAD), {END, PAD}, frozenset([PAD, END]), {END: 1, PAD: 2}, {END: 1, PAD: 2}.keys()):
        assert tok.encode(text, special=some) == [*a, end, *b, pad]
    assert max(tok.encode(text, special="text")) < end
    assert tok.decode(tok.encode(text, special="text")) == tok.decode(tok.encode(text, special="allow")) == text
    for mode, first in (("raise", END), ([], END), ({PAD}, END), ([END], PAD)):
        with pytest.raises(toksmith.errors.SpecialTokenInText) as caught:
            tok.encode(text, special=mode)
        assert (caught.value.token, caught.value.offset) == (first, text.index(first))


def test_every_call_takes_the_modes_of_encode(tok: Tokenizer) -> None:
    text = f"a{END}"
    expected = tok.encode(text, special="allow")
    assert tok.encode_array(text, special="allow").tolist() == expected
    assert tok.encode_batch([text], special=[END]) == [expected]
    assert tok.encode_ragged([text], special="allow")[0].tolist() == expected
    assert tok.count(text, special="allow") == len(expected)
    assert tok.count_batch([text], special="allow").tolist() == [len(expected)]
    as_text = tok.encode(text, special="text")
    assert (tok.count(text), tok.count_batch([text]).tolist()) == (len(as_text), [len(as_text)])
    for call in (tok.encode, tok.encode_array):
        with pytest.raises(toksmith.errors.SpecialTokenInText):
            call(text)
    for batch_call in (tok.encode_batch, tok.encode_ragged):
        with pytest.raises(toksmith.errors.SpecialTokenInText) as caught:
            batch_call(["b", text])
        assert (caught.value.index, caught.value.offset, caught.value.token) == (1, 1, END)


def test_added_tokens_that_are_not_special_are_always_found() -> None:
    base = toksmith.train("abc", merges=0)
    added = (AddedToken("<b>", 300, special=False), AddedToken("<s>", 301), AddedToken("ab", 400, special=False))
    model = Model(tokens=base.model.tokens, ids=base.model.ids, added_tokens=added)
    tok = Tokenizer(model)
    for special in ("raise", "text", "allow", []):
        assert tok.encode("<b>abc", special=special) == [300, 400, 99]
    assert tok.special_tokens == {"<s>": 301}
    assert (tok.vocab_size, len(tok)) == (401, 259)
    assert tok.token_id("ab") == 400 and tok.decode([300, 301]) == "<b><s>"


def test_two_contents_may_share_an_id() -> None:
    base = toksmith.train("abc", merges=0)
    added = (AddedToken("<first>", 256), AddedToken("<second>", 256))
    tok = Tokenizer(Model(tokens=base.model.tokens, ids=base.model.ids, added_tokens=added))
    assert tok.encode("<second><first>", special="allow") == [256, 256]
    assert (tok.decode([256]), tok.token_bytes(256)) == ("<first>", b"<first>")
    assert tok.token_id("<second>") == tok.token_id("<first>") == 256
    assert (len(tok), tok.vocab_size) == (257, 257)


# Vocabularies


def test_tokens_and_ids_map_to_each_other(tok: Tokenizer) -> None:
    assert tok.vocab_size == len(tok) == 1002
    for id in range(tok.vocab_size):
        assert tok.token_id(tok.token_bytes(id)) == id
    assert tok.token_bytes(tok.special_tokens[END]) == END.encode()
    assert tok.token_id(END) == tok.token_id(END.encode()) == 1000
    assert tok.token_id("def") == tok.encode("def")[0]
    for unknown in ("\ud800", "no such token", b"\xff\xfe", ""):
        with pytest.raises(NotInVocabulary) as caught:
            tok.token_id(unknown)
        assert caught.value.content == unknown
    for out in (-1, 1002, 2**40):
        with pytest.raises(UnknownId) as missing:
            tok.token_bytes(out)
        assert (missing.value.id, missing.value.position, missing.value.vocab_size) == (out, None, 1002)


# Tokenizers as values


def test_equality_goes_by_content(tok: Tokenizer) -> None:
    same = toksmith.train(REAL_TEXT, 1002, special_tokens=[END, PAD], threads=1)
    assert same is not tok
    assert (same == tok, hash(same) == hash(tok), same.fingerprint == tok.fingerprint) == (True, True, True)
    assert len({same, tok}) == 1
    others = [
        toksmith.train(REAL_TEXT, 1001, special_tokens=[END, PAD]),
        toksmith.train(REAL_TEXT, 1002, special_tokens=[PAD, END]),
        toksmith.train(REAL_TEXT, 1002, special_tokens=[END, PAD], pattern="gpt2"),
        toksmith.train(REAL_TEXT, 1002, special_tokens=[END, PAD], ties="first_seen"),
    ]
    assert len({tok, *others}) == 5
    assert tok != "a tokenizer" and tok is not None
    assert len(tok.fingerprint) == 64 and int(tok.fingerprint, 16)
    assert tok.fingerprint[:12] in repr(tok)


def test_equality_ignores_training_and_report() -> None:
    one, two = toksmith.train("ab", merges=1), toksmith.train(["ab", "ab"], merges=1)
    assert one.model.training is not None and two.model.training is not None
    assert one.model.training.counts.tolist() != two.model.training.counts.tolist()
    assert one == two and one.model == two.model
    assert Tokenizer(one.model) == one


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_tokenizer_is_equal_and_read_only(tok: Tokenizer, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(tok, protocol))
    assert (again, again.fingerprint, again.run_report) == (tok, tok.fingerprint, tok.run_report)
    text = f"def f(x):\n    return {END}"
    assert again.encode(text, special="allow") == tok.encode(text, special="allow")
    assert again.model.training is not None and tok.model.training is not None
    assert again.model.training.left.tolist() == tok.model.training.left.tolist()
    with pytest.raises(ValueError, match="read-only"):
        again.model.ids[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        again.model.tokens.ends[0] = 5


def test_copies_are_equal(tok: Tokenizer) -> None:
    assert copy.copy(tok) == tok and copy.deepcopy(tok) == tok
    assert copy.deepcopy({"a": [tok]})["a"][0].encode("def") == tok.encode("def")


def test_changing_what_a_call_returned_changes_nothing_else(tok: Tokenizer) -> None:
    tok.special_tokens["<|new|>"] = 5
    assert "<|new|>" not in tok.special_tokens
    ids = tok.encode_array("def")
    ids[:] = 0
    assert tok.encode_array("def").tolist() == tok.encode("def")


# Time


@pytest.mark.proof
@pytest.mark.parametrize("unit", ["a", "ab", " ", "\n", "9", "!", "中", " a", "\r\n", "\u0301", "\xa0"])
def test_time_grows_no_faster_than_n_log_n(unit: str) -> None:
    """Ten times the text in at most thirty times the time: n log n gives about twelve, a square a hundred."""
    for pattern in ("o200k", "gpt2", None):
        tok = toksmith.train([REAL_TEXT[:3000], unit * 5000], 600, pattern=pattern)
        short, long = unit * 60_000, unit * 600_000
        assert tok.decode_bytes(tok.encode_array(long)) == long.encode()
        once = processor_s(lambda: tok.encode_array(short), 3)  # noqa: B023 - called in this turn
        assert processor_s(lambda: tok.encode_array(long), 3) < 30 * once + 0.05  # noqa: B023


@pytest.mark.slow
def test_decoding_takes_time_in_proportion_where_tokens_are_long() -> None:
    tok = toksmith.train("abcdefghijklmnopqrstuvwxyz" * 100, 290, pattern=None)
    (long,) = (id for id in range(256, tok.vocab_size) if len(tok.token_bytes(id)) == 104)
    # The slot of a token holds at most 15 bytes.
    # Memory that a process touches for the first time costs time too: the results are 5 and 42 MB, not more.
    few, many = np.full(50_000, long, np.uint32), np.full(400_000, long, np.uint32)
    assert tok.decode_bytes(many) == tok.token_bytes(long) * 400_000
    once = processor_s(lambda: tok.decode_bytes(few), 5)
    assert processor_s(lambda: tok.decode_bytes(many), 5) < 30 * once + 0.05  # in proportion 8, in squares 64


@pytest.mark.slow
def test_a_million_letters_take_less_than_a_second(vocab_dir: Path) -> None:
    tok = toksmith.load(vocab_dir / "cl100k_base.tiktoken", pattern="cl100k")
    for text in ("a" * 1_000_000, " " * 1_000_000 + "x", "\n" * 1_000_000 + " ", "9" * 1_000_000):
        assert processor_s(lambda: tok.encode(text)) < 1  # noqa: B023 - called in this turn


def test_training_on_a_run_of_one_letter_is_quick() -> None:
    def train(letters: int) -> toksmith.Tokenizer:
        return toksmith.train("a" * letters, 276, pattern=None)

    assert processor_s(lambda: train(500_000), 2) < 30 * processor_s(lambda: train(50_000), 2) + 0.05
    tok = train(500_000)
    assert [len(token) for token in tok.model.tokens[256:]][:5] == [2, 4, 8, 16, 32]
