"""Bad input: each kind gives one clear error of the tree, with its data; nothing half-written, and never a panic.

A wrong type is TypeError and a wrong value an error of toksmith; odd but meaningful input (NUL, broken UTF-8, lone
surrogates) is kept.
"""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_texts import texts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toksmith
from toksmith import Model, Tokenizer, ToksmithError
from toksmith._model.model import regex_split
from toksmith.errors import (
    CorpusError,
    FormatError,
    InvalidOption,
    ModelError,
    NotInVocabulary,
    SpecialTokenInText,
    UnknownName,
)
from toksmith.types import AddedToken, Step, TokenTable

BYTES = [bytes([byte]) for byte in range(256)]
IDS = np.arange(256, dtype=np.uint32)


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train("low lower lowest " * 3, 262, special_tokens=["<|end|>", "<é|>"])


# Corpora


@pytest.mark.parametrize(
    "corpus", ["", b"", [], (), [""], ["", b""], pytest.param(iter([]), id="iterator"), [b"", ""]], ids=repr
)
@pytest.mark.parametrize("options", [{"merges": 5}, {"kind": "chars"}, {"kind": "words"}], ids=str)
def test_empty_corpora_are_refused(corpus: Any, options: dict[str, Any]) -> None:
    with pytest.raises(CorpusError, match="the corpus is empty"):
        toksmith.train(corpus, **options)


def test_empty_files_and_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "empty.jsonl").touch()
    for corpus in (tmp_path / "empty.txt", tmp_path / "empty.jsonl", tmp_path):
        with pytest.raises(CorpusError, match="the corpus is empty"):
            toksmith.train(corpus, 300)
    (tmp_path / "in").mkdir()
    with pytest.raises(CorpusError, match=r"\.jsonl") as caught:
        toksmith.train(tmp_path / "in", 300)
    assert caught.value.path == str(tmp_path / "in")


@pytest.mark.parametrize("name", ["missing.txt", "missing.jsonl", "missing.txt.gz", "a\0b.txt", "x" * 5000])
def test_missing_files_are_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(CorpusError, match="cannot be read") as caught:
        toksmith.train(tmp_path / name, 300)
    assert caught.value.path == str(tmp_path / name)


def test_a_file_of_invalid_utf8_is_kept_unchanged(tmp_path: Path) -> None:
    data = b"text \xff\xfe\x00 caf\xc3\xa9 \xe2\x98 \xed\xa0\x80 end\r\n"
    (tmp_path / "a.txt").write_bytes(data)
    tok = toksmith.train(tmp_path / "a.txt", 280)
    assert tok.model.training is not None and tok.model.training.bytes == len(data)
    assert tok.decode_bytes(tok.encode(data)) == data
    assert tok.model.training.digest == toksmith.train(data, 280).model.training.digest  # type: ignore[union-attr]


@pytest.mark.parametrize("corpus", [5, None, 1.5, object(), True])
def test_a_corpus_of_another_type_is_refused(corpus: Any) -> None:
    with pytest.raises(TypeError):
        toksmith.train(corpus, 300)
    with pytest.raises(TypeError, match="document 1"):
        toksmith.train(["a", corpus], 300)


# Options


NOT_POSSIBLE: dict[str, list[Any]] = {
    "vocab_size": [255, -1, 2**70],
    "merges": [-1, 2**70],
    "min_count": [0, 2**70],
    "max_token_bytes": [0, 2**40],
    "ties": ["random"],
    "kind": ["pieces"],
    "unit": ["word"],
    "alphabet": ["ascii"],
    "pattern": ["", "(unclosed", "*", r"\p{NoSuchClass}", ["gpt2", "["]],
    "threads": [0, -3],
    "special_tokens": [[""], ["a", "a"], ["<a>", "<a>b"], ["xab", "aby"], ["\ud800"], ["x" * 100_000]],
}


@pytest.mark.parametrize("name, value", [(name, value) for name, values in NOT_POSSIBLE.items() for value in values])
def test_impossible_values_are_refused_by_name(name: str, value: Any) -> None:
    size = {} if name in ("vocab_size", "merges") else {"merges": 3}
    with pytest.raises(InvalidOption) as caught:
        toksmith.train("abc", **size, **{name: value})
    assert caught.value.argument == name
    assert name in str(caught.value)


OF_ANOTHER_TYPE: dict[str, list[Any]] = {
    "vocab_size": ["300", 300.5],
    "merges": ["3"],
    "min_count": [1.5],
    "max_token_bytes": ["8"],
    "threads": ["2", 1.5],
    "pattern": [5, [5], b"x"],
    "special_tokens": [5, [5], "<|end|>", [b"<|end|>"]],
}


@pytest.mark.parametrize("name, value", [(name, value) for name, values in OF_ANOTHER_TYPE.items() for value in values])
def test_values_of_another_type_are_refused(name: str, value: Any) -> None:
    size = {} if name in ("vocab_size", "merges") else {"merges": 3}
    with pytest.raises(TypeError):
        toksmith.train("abc", **size, **{name: value})


def test_unknown_names_have_suggestions() -> None:
    with pytest.raises(UnknownName, match="did you mean 'cl100k'") as caught:
        toksmith.train("abc", 300, pattern="cl100")
    assert (caught.value.kind, caught.value.name) == ("pattern", "cl100")
    assert "cl100k" in caught.value.matches
    with pytest.raises(UnknownName, match="cl100k_base") as caught:
        toksmith.load("cl100k_bas")
    assert "cl100k_base" in caught.value.matches
    with pytest.raises(UnknownName, match=r"toksmith.encodings\(\) lists the names") as caught:
        toksmith.load("nothing like it at all")
    assert not caught.value.matches
    with pytest.raises(LookupError):
        toksmith.load("gpt5")


# Texts


def test_a_special_token_in_a_text_is_named_with_its_place(tok: Tokenizer) -> None:
    with pytest.raises(SpecialTokenInText) as caught:
        tok.encode("é☀ <|end|>")
    error = caught.value
    assert (error.token, error.offset, error.index) == ("<|end|>", 3, None)
    assert "special='text'" in str(error) and "special='allow'" in str(error) and "special=['<|end|>']" in str(error)
    with pytest.raises(SpecialTokenInText) as caught:
        tok.encode("é☀ <|end|>".encode())
    assert caught.value.offset == 6  # bytes, because the text is bytes
    with pytest.raises(SpecialTokenInText) as caught:
        tok.encode_batch(["a", "😄<é|>", "<|end|>"])
    assert (caught.value.token, caught.value.offset, caught.value.index) == ("<é|>", 1, 1)
    for text in ("a\ud83d<|end|>", "\ud83d\ude04<|end|>", "\ude04\ud83d\ud83d\ude04é<|end|>"):
        with pytest.raises(SpecialTokenInText) as caught:
            tok.encode(text)
        assert caught.value.offset == text.index("<")
    assert tok.count("<|end|>") == len(tok.encode("<|end|>", special="text")) > 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_first_bad_text_of_a_batch_is_named_on_any_threads(tok: Tokenizer, threads: int) -> None:
    batch = ["fine"] * 3000
    batch[1234] = batch[1235] = batch[2999] = "<|end|>"
    for call in (tok.encode_batch, tok.encode_ragged):
        with pytest.raises(SpecialTokenInText) as caught:
            call(batch, threads=threads)
        assert caught.value.index == 1234


def test_unknown_modes_are_refused(tok: Tokenizer) -> None:
    with pytest.raises(InvalidOption, match="'raise', 'allow', 'text'") as caught:
        tok.encode("a", special="all")
    assert caught.value.argument == "special"
    with pytest.raises(UnknownName) as unknown:
        tok.encode("a", special=["<|end|>", "<|ende|>"])
    assert unknown.value.name == "<|ende|>"
    for wrong in (None, 5, [5], b"x", 1.5):
        with pytest.raises(TypeError):
            tok.encode("a", special=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="'replace' or 'strict'"):
        tok.encode("a", errors="ignore")


def test_lone_surrogates_become_replacement_characters(tok: Tokenizer) -> None:
    assert tok.encode("a\ud800b") == tok.encode("a\ufffdb")
    assert tok.encode("\ud83d\ude04") == tok.encode("😄")
    assert tok.encode_batch(["\udc00"]) == [tok.encode("\ufffd")]
    for call in (tok.encode, tok.encode_array, tok.count):
        with pytest.raises(UnicodeEncodeError):
            call("a\ud800b", errors="strict")
    with pytest.raises(UnicodeEncodeError):
        tok.encode_batch(["a", "\ud800"], errors="strict")
    assert toksmith.train("a\ud800b", 258, pattern=None) == toksmith.train("a\ufffdb", 258, pattern=None)


def test_nul_bytes_are_kept(tok: Tokenizer) -> None:
    assert tok.encode("a\0b") == [97, 0, 98]
    assert tok.decode([97, 0, 98]) == "a\0b"
    zeros = toksmith.train("\0\0a\0\0", merges=1, pattern=None, special_tokens=["<\0>"])
    assert zeros.encode("\0\0<\0>", special="allow") == [256, 257]
    assert zeros.token_bytes(256) == b"\0\0"


@pytest.mark.parametrize("wrong", [5, None, 1.5, ["a"], bytearray(b"a"), memoryview(b"a"), np.array(["a"]), object()])
def test_texts_of_another_type_are_refused(tok: Tokenizer, wrong: Any) -> None:
    calls = (tok.encode, tok.encode_array, tok.count, tok.split, tok.heal, tok.session, tok.encoder().feed)
    session = tok.session("low")
    edits = (session.update, lambda text: session.replace(0, 1, text))
    for call in (*calls, *edits, lambda text: tok.truncate(text, 3), lambda text: tok.chunk(text, 3)):
        with pytest.raises(TypeError, match=f"text: expected str or bytes, not {type(wrong).__name__}"):
            call(wrong)
    for batch_call in (tok.encode_batch, tok.encode_ragged, tok.count_batch):
        with pytest.raises(TypeError, match="item 2: expected str or bytes"):
            batch_call(["a", b"b", wrong])


@pytest.mark.parametrize("text", ["abc", b"abc", ""])
def test_one_text_is_not_a_batch(tok: Tokenizer, text: Any) -> None:
    for call in (tok.encode_batch, tok.encode_ragged, tok.count_batch):
        with pytest.raises(TypeError, match="not one text"):
            call(text)
    for wrong in (5, None):
        with pytest.raises(TypeError):
            tok.encode_batch(wrong)


def test_empty_batches_have_empty_results(tok: Tokenizer) -> None:
    for empty in ([], (), iter([]), (text for text in "")):
        batch = list(empty)
        assert tok.encode_batch(iter(batch)) == tok.encode_batch(batch) == tok.decode_batch(batch) == []
    for threads in (1, 2, 100):
        assert tok.encode_batch([], threads=threads) == []
        ragged = tok.encode_ragged([], threads=threads)
        assert (ragged.ids.shape, ragged.ends.shape) == ((0,), (0,)) and (ragged.ids.dtype, len(ragged)) == (
            np.uint32,
            0,
        )
        assert tok.count_batch([], threads=threads).shape == (0,)
    assert tok.encode_array("").shape == (0,) and tok.encode_array(b"").dtype == np.uint32
    assert tok.encode("") == tok.encode(b"") == [] and tok.decode([]) == "" and tok.decode_bytes(()) == b""


def test_iterators_are_batches(tok: Tokenizer) -> None:
    texts = ["low", b"lower", "", "lowest"]
    expected = [tok.encode(text) for text in texts]
    assert (
        tok.decode_batch(iter(expected))
        == tok.decode_batch(iter(ids) for ids in expected)
        == ["low", "lower", "", "lowest"]
    )

    def failing() -> Iterator[str]:
        yield "low"
        raise RuntimeError("the source is gone")

    for call in (tok.encode_batch, tok.encode_ragged, tok.count_batch):
        with pytest.raises(RuntimeError, match="the source is gone"):
            call(failing())
        with pytest.raises(TypeError, match=r"not dict; pass its .*values\(\), as a list"):
            call(dict.fromkeys(texts))


@pytest.mark.slow
def test_many_empty_strings_have_no_ids(tok: Tokenizer) -> None:
    texts = [""] * 200_000
    assert tok.encode_batch(texts) == [[]] * len(texts)
    ragged = tok.encode_ragged(texts, threads=3)
    assert len(ragged.ids) == 0 and ragged.ends.tolist() == [0] * len(texts)
    assert not tok.count_batch(texts).any()
    assert tok.decode_batch([[]] * len(texts)) == texts


@pytest.mark.parametrize("place", [0, 1, 999, 5000])
def test_the_first_item_of_another_type_is_named(tok: Tokenizer, place: int) -> None:
    texts: list[Any] = ["low"] * 6000
    texts[place] = texts[-1] = None
    for call in (tok.encode_batch, tok.encode_ragged, tok.count_batch):
        for batch in (texts, tuple(texts), iter(texts)):
            with pytest.raises(TypeError, match=f"item {place}: expected str or bytes"):
                call(batch, threads=3)


@pytest.mark.proof
@pytest.mark.alone
@pytest.mark.skipif(not os.environ.get("TOKSMITH_HUGE"), reason="lacks TOKSMITH_HUGE=1 (18 GB of memory, minutes)")
def test_texts_above_4_gib_are_encoded(tok: Tokenizer) -> None:
    """Positions and ids beyond 32 bits: a text of equal parts gives the ids of one part, repeated."""
    part = b"low lower lowest caf\xc3\xa9\n" * 50_000
    ids = tok.encode_array(part)
    times = (1 << 32) // len(part) + 20
    text = part * times
    assert len(text) > 1 << 32
    assert tok.count_batch([text], threads=2).tolist() == [len(ids) * times]
    found = tok.encode_array(text)
    assert len(found) == len(ids) * times
    assert all(np.array_equal(found[at : at + len(ids)], ids) for at in range(0, len(found), len(ids)))
    del found
    with pytest.raises(SpecialTokenInText) as caught:
        tok.encode_array(text + b"<|end|>")
    assert caught.value.offset == len(text)


@pytest.mark.proof
@pytest.mark.alone
@pytest.mark.skipif(not os.environ.get("TOKSMITH_HUGE"), reason="lacks TOKSMITH_HUGE=1 (18 GB of memory, minutes)")
def test_pieces_above_4_gib_are_encoded_in_stretches_or_refused() -> None:
    """A piece that falls into stretches is encoded at any length; others are refused."""
    gc.collect()  # the error of the test before holds its text
    unsplit = toksmith.train("abab" * 4, 258, pattern=None)
    with pytest.raises(InvalidOption, match="cut the text"):
        unsplit.count(b"abab" * (1 << 30))
    part = b"abab" * 50_000 + b"xyzzy"
    times = (1 << 32) // len(part) + 20
    assert unsplit.count(part * times) == 50_005 * times


# Ids


@pytest.mark.parametrize("wrong", [1.0, "97", b"a", None, [97], 97.5, object(), np.float64(97), float("nan")])
def test_ids_of_another_type_are_refused(tok: Tokenizer, wrong: Any) -> None:
    with pytest.raises(TypeError, match="position 1: expected an integer id"):
        tok.decode([97, wrong])
    with pytest.raises(TypeError):
        tok.decode_batch([[97], [97, wrong]])
    with pytest.raises(TypeError):
        tok.token_bytes(wrong)


@pytest.mark.parametrize("wrong", ["abc", b"abc", 5, None, np.array([97.0, 98.0]), np.array([[97, 98]])])
def test_sequences_of_ids_of_another_type_are_refused(tok: Tokenizer, wrong: Any) -> None:
    for call in (tok.decode, tok.decode_bytes):
        with pytest.raises(TypeError):
            call(wrong)
    with pytest.raises(TypeError):
        tok.decode_batch([wrong])


# Characters and words without an id


def test_unknown_characters_are_named_with_their_place() -> None:
    chars = toksmith.train("abc é", kind="chars")
    for text, content, offset in (("abx", "x", 2), ("é☀", "☀", 1), (b"a\xff\xfeb", b"\xff", 1), ("a\0", "\0", 1)):
        with pytest.raises(NotInVocabulary) as caught:
            chars.encode(text)
        assert (caught.value.content, caught.value.offset) == (content, offset)
        with pytest.raises(NotInVocabulary):
            chars.encode_batch(["a", text])


# Invalid models


def model(tokens: list[bytes], ids: Any = None, **fields: Any) -> Model:
    numbers = np.arange(len(tokens)) if ids is None else ids
    return Model(tokens=TokenTable.of(tokens), ids=np.array(numbers, np.uint32), **fields)


@pytest.mark.parametrize(
    "make",
    [
        lambda: model(BYTES[1:]),
        lambda: model([*BYTES, b"a"]),
        lambda: model([*BYTES, b""]),
        lambda: model([*BYTES, b"ab"], [*range(256), 97]),
        lambda: model(BYTES, range(255)),
        lambda: model(BYTES, [*range(255), 2**32 - 1]),
        lambda: model([*BYTES, b"ab"], merges=[[97, 98, 97]]),
        lambda: model([*BYTES, b"ab"], merges=[[97, 300, 256]]),
        lambda: model([*BYTES, b"ab"], merges=[[97, 98, 256], [97, 98, 256]]),
        lambda: model([*BYTES, b"ab"], merges=[[98, 97, 256]]),
        lambda: model([*BYTES, b"ab"], merges=[[97, 98, 256]], merge_rule="bytes"),
        lambda: model(BYTES, added_tokens=(AddedToken("", 300),)),
        lambda: model(BYTES, added_tokens=(AddedToken("x", 300), AddedToken("x", 301))),
        lambda: model(BYTES, added_tokens=(AddedToken("<x>", 97),)),
        lambda: model(BYTES, added_tokens=(AddedToken("<x>", -1),)),
        lambda: model(BYTES, added_tokens=(AddedToken("<x>", 2**24),)),
        lambda: model([b"ab"], kind="words", merges=[[0, 0, 0]]),
    ],
)
def test_models_that_break_an_invariant_are_refused(make: Callable[[], Model]) -> None:
    with pytest.raises(ModelError) as caught:
        Tokenizer(make())
    assert caught.value.invariant


@pytest.mark.parametrize("fields", [{"kind": "no"}, {"unit": "word"}, {"merge_rule": "no"}])
def test_models_with_unknown_names_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption) as caught:
        model(BYTES, **fields)
    assert caught.value.argument in fields


@pytest.mark.parametrize(
    "fields, named",
    [
        ({"normalizers": (Step("nfx"),)}, '"nfx" in normalizers'),
        ({"decoders": (Step("sing"),)}, '"sing" in decoders'),
        ({"post": (Step("frame"),)}, "'frame' in post"),
        ({"splitters": (Step("sentences"),)}, '"sentences" in splitters'),
        ({"splitters": (regex_split("a", dialect="perl"),)}, "perl"),
        ({"byte_fallback": True}, "byte_fallback"),
        ({"unknown_id": 5}, "unknown_id"),
        ({"scores": np.zeros(256, np.float32)}, "scores"),
        ({"end_of_word_suffix": "</w>"}, "end_of_word_suffix"),
    ],
)
def test_unsupported_parts_are_refused_by_name(fields: dict[str, Any], named: str) -> None:
    held = model(BYTES, **fields)
    with pytest.raises(ModelError, match="not executed yet") as caught:
        Tokenizer(held)
    assert named in str(caught.value)


STEPS: dict[str, tuple[str, Step, str]] = {
    "an option is missing": ("decoders", Step("wordpiece"), "lacks the option"),
    "an option too many": ("normalizers", Step("nfc", (("form", 1),)), "has no option"),
    "an option of another type": ("splitters", Step("digits", (("individual", 1),)), "needs true, false"),
    "an option that none takes": ("normalizers", Step("nfc", (("form", [1]),)), "no step accepts"),
    "an option beyond 64 bits": ("splitters", Step("fixed_length", (("length", 2**64),)), "no step accepts"),
    "a length of 0": ("splitters", Step("fixed_length", (("length", 0),)), "at least 1"),
    "two characters": ("splitters", Step("delimiter", (("delimiter", "ab"),)), "one character"),
    "another behaviour": ("splitters", Step("punctuation", (("behavior", "alone"),)), "is not a behavior"),
    "a template without its options": ("post", Step("template"), "not what it should be"),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_with_wrong_options_are_refused(name: str) -> None:
    field, step, problem = STEPS[name]
    with pytest.raises(ModelError, match=problem):
        Tokenizer(model(BYTES, **{field: (step,)}))


# Files


def test_unreadable_sources_are_refused(tmp_path: Path) -> None:
    for source in (tmp_path, tmp_path / "missing.toksmith", tmp_path / "x.tiktoken" / "y", tmp_path / "a\0b"):
        with pytest.raises(FormatError):
            toksmith.load(source)
    (tmp_path / "noise.toksmith").write_bytes(b"\x00\xff" * 100)
    with pytest.raises(ToksmithError):
        toksmith.load(tmp_path / "noise.toksmith")
    for wrong in (5, None, ["x"]):
        with pytest.raises(TypeError):
            toksmith.load(wrong)  # type: ignore[arg-type]
    for empty in ("", "no/such/file.toksmith"):
        with pytest.raises(ToksmithError):
            toksmith.load(empty)


def test_ranks_need_a_pattern(vocab_dir: Path) -> None:
    with pytest.raises(InvalidOption, match="pattern") as caught:
        toksmith.load(vocab_dir / "llama3.tiktoken")
    assert caught.value.argument == "pattern"


@pytest.mark.parametrize(
    "specials, error",
    [
        ({"a": 60_000, "ab": 60_001}, InvalidOption),
        ({"xa": 60_000, "ay": 60_001}, InvalidOption),
        ({"": 60_000}, InvalidOption),
        ({"<|x|>": -1}, ToksmithError),
        ({"<|x|>": 2**40}, ToksmithError),
        ({"<|x|>": 0}, InvalidOption),
        ({"<|x|>": 60_000, "<|y|>": 60_000}, InvalidOption),
        ({"<|x|>": "5"}, TypeError),
        ({5: 60_000}, TypeError),
    ],
)
def test_special_tokens_that_do_not_fit_a_file_are_refused(
    vocab_dir: Path, specials: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        toksmith.load(vocab_dir / "r50k_base.tiktoken", pattern="gpt2", special_tokens=specials)


# Random arguments

odd_values = st.one_of(
    st.sampled_from(
        [None, True, -1, 0, 1, 255, 2**31, 2**32, 2**63, 2**64, 2**70, -(2**70), 1.5, float("nan"), 1e300, 3j, "", b""]
    ),
    st.sampled_from(["raise", "allow", "text", "replace", "strict", "gpt2", "(", "bpe", "char", "first_seen"]),
    st.sampled_from([[], (), {}, [None], [1], ["a"], [b"a"], [["a"]], {"a": 1}, [1.5], ["\ud800"], [-1], range(3)]),
    st.builds(object),
    st.builds(lambda: np.array([[1, 2]])),
    st.builds(lambda: np.array(["a", "b"])),
    st.builds(lambda: np.zeros((0, 3))),
    st.builds(lambda: iter(["a", 5])),
    texts(longest=4),
    st.binary(max_size=6),
)
ACCEPTED = (TypeError, ValueError, LookupError, OverflowError, ToksmithError)


def call_with(odd: st.DataObject, call: Callable[..., Any], options: list[str]) -> None:
    """Calls with odd values; the outcome is a result or an error that a caller can catch by its type."""
    chosen = odd.draw(st.lists(st.sampled_from(options), unique=True, max_size=3)) if options else []
    arguments = {name: odd.draw(odd_values) for name in chosen}
    try:
        call(odd.draw(odd_values), **arguments)
    except ACCEPTED as error:
        assert "internal error" not in str(error), (call, arguments)


@pytest.mark.slow
@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(odd=st.data())
def test_odd_arguments_never_panic(odd: st.DataObject, tok: Tokenizer) -> None:
    encoding = ["special", "errors"]
    table: list[tuple[Callable[..., Any], list[str]]] = [
        (tok.encode, encoding),
        (tok.encode_array, encoding),
        (tok.encode_batch, [*encoding, "threads"]),
        (tok.encode_ragged, [*encoding, "threads"]),
        (tok.count, encoding),
        (tok.count_batch, [*encoding, "threads"]),
        (tok.decode, ["errors"]),
        (tok.decode_bytes, []),
        (tok.decode_batch, ["threads", "errors"]),
        (tok.decoder().feed, []),
        (tok.parse, ["family", "thinking"]),
        (tok.token_bytes, []),
        (tok.token_id, []),
    ]
    call_with(odd, *odd.draw(st.sampled_from(table)))
    assert tok.encode("low") == tok.encode(b"low")


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(odd=st.data())
def test_odd_training_arguments_never_panic(odd: st.DataObject) -> None:
    names = ["vocab_size", "merges", "kind", "unit", "alphabet", "pattern", "special_tokens", "ties", "min_count"]
    names += ["max_token_bytes", "threads"]

    def train(corpus: Any, **options: Any) -> None:
        if options.get("threads") is not None and not isinstance(options["threads"], int):
            options["threads"] = 1
        toksmith.train(corpus, **{"merges": 3, "progress": False, **options})

    call_with(odd, train, names)


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck))
@given(odd=st.data())
def test_odd_models_never_panic(odd: st.DataObject) -> None:
    """Tables of any numbers are a Model or an error."""
    tokens = odd.draw(st.lists(st.one_of(st.binary(max_size=3), st.sampled_from(BYTES)), max_size=6))
    tokens = [*BYTES, *tokens] if odd.draw(st.booleans()) else tokens
    numbers = st.one_of(st.integers(0, len(tokens) + 2), st.sampled_from([2**24, 2**31, 2**32 - 1]))
    ids = odd.draw(st.one_of(st.just(range(len(tokens))), st.lists(numbers, max_size=8)))
    merges = odd.draw(st.lists(st.tuples(numbers, numbers, numbers), max_size=4))
    kind = odd.draw(st.sampled_from(["bpe", "bpe", "chars", "words"]))
    unit = odd.draw(st.sampled_from(["byte", "char"]))
    rule = odd.draw(st.sampled_from(["pair", "bytes"]))
    added = odd.draw(st.lists(st.builds(AddedToken, st.text(max_size=3), numbers), max_size=2))
    try:
        tables = np.array(merges, np.uint32).reshape(-1, 3)
        fields: dict[str, Any] = {"kind": kind, "unit": unit, "merge_rule": rule, "merges": tables}
        tok = Tokenizer(model(tokens, ids, added_tokens=tuple(added), **fields))
        text = odd.draw(st.one_of(texts(longest=4), st.binary(max_size=5)))
        tok.decode_bytes(tok.encode(text, special="text"))
    except ToksmithError as error:
        assert "internal error" not in str(error)


def test_ends_that_do_not_fit_the_blob_are_refused() -> None:
    for blob, ends in ((b"abc", [1, 2]), (b"abc", [1, 2, 4]), (b"abc", [3, 2, 3]), (b"", [0]), (b"abc", [])):
        table = TokenTable(blob, np.array(ends, np.uint32))
        with pytest.raises(ModelError):
            Model(tokens=table, ids=np.arange(len(ends), dtype=np.uint32), unit="char")


def test_more_threads_than_processors_change_nothing(tok: Tokenizer) -> None:
    batch = ["low lower"] * 600
    assert tok.encode_batch(batch, threads=10_000) == tok.encode_batch(batch, threads=1)
    assert toksmith.train(batch, 258, threads=10_000) == toksmith.train(batch, 258, threads=1)


def test_an_interrupt_passes_through(tok: Tokenizer) -> None:
    def stops() -> Iterator[str]:
        yield "a"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tok.encode_batch(stops())
