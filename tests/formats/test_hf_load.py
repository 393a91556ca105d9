"""Reading `tokenizer.json`: spellings, added tokens, templates, and what is refused by name."""

import gzip
import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hard_texts import HARD_TEXTS, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from peers import CORPORA, scalar

import toksmith
from toksmith import Tokenizer, _formats
from toksmith._tokenizer.results import DecodeFromStart, StreamDecoder
from toksmith.errors import FormatError, InvalidOption, ModelError, SpecialTokenInText

tokenizers: Any = pytest.importorskip(
    "tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3 (tests/requirements.txt)"
)
AddedToken = tokenizers.AddedToken
ROW = _formats.FORMATS["tokenizer_json"]
DOCUMENTS = 40


def load(content: Any) -> Tokenizer:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return Tokenizer(ROW.load(data, "tokenizer.json", pattern=_formats.UNSET, special_tokens=None))


# A published file.


@pytest.mark.slow
def test_the_published_file_of_gpt2_gives_equal_ids(vocab_dir: Path, corpora_dir: Path, tmp_path: Path) -> None:
    path = vocab_dir / "gpt2_tokenizer.json"
    tok, peer = toksmith.load(path), tokenizers.Tokenizer.from_file(str(path))
    assert tok.model.unit == "byte" and not tok.model.decoders
    assert tok.model.added_tokens == (toksmith.types.AddedToken("<|endoftext|>", 50256),), (
        "without a normalizer all are as plain"
    )
    tok.save(tmp_path / "tokenizer.json")
    saved = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert toksmith.load(tmp_path / "tokenizer.json") == tok
    for name in CORPORA:
        with gzip.open(corpora_dir / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            found = [json.loads(line)["text"] for line in itertools.islice(lines, DOCUMENTS)]
        for other in (peer, saved):
            expected = [each.ids for each in other.encode_batch(found)]
            assert tok.encode_batch(found, special="allow") == expected, name


# Spellings.


def small() -> dict[str, Any]:
    """A file of characters."""
    vocab = {token: id for id, token in enumerate(["<unk>", *"abcs <>/x", "ab", "abc", "ss"])}
    model: dict[str, Any] = {"type": "BPE", "unk_token": "<unk>", "vocab": vocab}
    model["merges"] = [["a", "b"], ["ab", "c"], ["s", "s"]]
    names = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding")
    return {"version": "1.0", "added_tokens": [], "model": model, **dict.fromkeys(names)}


def with_model(**fields: Any) -> dict[str, Any]:
    content = small()
    content["model"] |= fields
    return content


def same(content: dict[str, Any], text: str) -> list[int]:
    ids = load(content).encode(text, special="allow")
    assert ids == tokenizers.Tokenizer.from_str(json.dumps(content)).encode(text).ids
    return ids


def test_merges_have_an_old_and_a_new_spelling() -> None:
    old = with_model(merges=["#version: 0.2", "a b", "ab c", "s s"])
    assert same(small(), "abcssa") == same(old, "abcssa") == [11, 12, 1]
    assert load(small()) == load(old)


def test_a_repeated_pair_has_its_last_rank() -> None:
    content = with_model(merges=[["a", "b"], ["s", "s"], ["b", "s"], ["a", "b"]])
    content["model"]["vocab"]["bs"] = 20
    assert same(content, "abs") == [1, 20]


@pytest.mark.parametrize("left", [[], ["truncation", "padding"], ["version"], ["added_tokens"]])
def test_parts_may_be_missing(left: list[str]) -> None:
    content = small()
    for name in left:
        del content[name]
    assert load(content) == load(small())


# Sequences without members.

WORDS = {"a": 0, "b": 1, "ab": 2, "[UNK]": 3}
EMPTY_KINDS: dict[str, dict[str, Any]] = {
    "BPE": {"type": "BPE", "vocab": WORDS, "merges": [["a", "b"]]},
    "WordPiece": {"type": "WordPiece", "vocab": WORDS, "unk_token": "[UNK]", "continuing_subword_prefix": "", "max_input_chars_per_word": 9},
    "WordLevel": {"type": "WordLevel", "vocab": WORDS, "unk_token": "[UNK]"},
    "Unigram": {"type": "Unigram", "vocab": [[token, -1.0] for token in WORDS], "unk_id": 3},
}  # fmt: skip
MEMBERS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "decoder": "decoders",
    "post_processor": "processors",
}


def sequence(name: str, *members: Any) -> dict[str, Any]:
    return {"type": "Sequence", MEMBERS[name]: list(members)}


@pytest.mark.parametrize("kind", EMPTY_KINDS)
def test_a_decoder_without_members_is_not_a_missing_one(kind: str, tmp_path: Path) -> None:
    """A missing decoder puts spaces between tokens, one without members does not; both are kept in every file."""
    empty = sequence("decoder")
    said = {}
    for name, decoder in {
        "none": None,
        "empty": empty,
        "nested": sequence("decoder", empty, empty),
        "fuse": {"type": "Fuse"},
    }.items():
        content = with_model() | {"model": EMPTY_KINDS[kind], "decoder": decoder}
        tok, peer = load(content), tokenizers.Tokenizer.from_str(json.dumps(content))
        saved = ROW.save(tok.model)
        tok.save(tmp_path / "native.toksmith")
        for other in (tok, load(saved), toksmith.load(tmp_path / "native.toksmith")):
            assert other == tok
            said[name] = other.decode([0, 2, 3, 1])
            assert said[name] == peer.decode([0, 2, 3, 1])
        assert tokenizers.Tokenizer.from_str(saved.decode()).decode([0, 2, 3, 1]) == said[name]
    assert said == {"none": "a ab [UNK] b", **dict.fromkeys(("empty", "nested", "fuse"), "aab[UNK]b")}


@pytest.mark.parametrize("name", ["normalizer", "pre_tokenizer", "post_processor"])
def test_another_part_without_members_is_a_missing_one(name: str) -> None:
    empty = sequence(name)
    for value in (empty, sequence(name, empty, sequence(name, empty))):
        content = small() | {name: value}
        assert same(content, "abcssa b") == same(small(), "abcssa b")
        assert load(content) == load(small())


@pytest.mark.parametrize("kind", EMPTY_KINDS)
def test_the_type_may_be_missing_as_in_the_first_files(kind: str) -> None:
    content = small() | {"model": EMPTY_KINDS[kind]}
    untold = {name: value for name, value in EMPTY_KINDS[kind].items() if name != "type"}
    assert (
        json.loads(tokenizers.Tokenizer.from_str(json.dumps(content | {"model": untold})).to_str())["model"]["type"]
        == kind
    )
    assert load(content | {"model": untold}) == load(content)


# Added tokens.

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def added(*tokens: tuple[str, str], normalizer: Any = None, **fields: Any) -> Any:
    """A tokenizer of HF with these contents and flags."""
    peer = tokenizers.Tokenizer.from_str(json.dumps(with_model(**fields)))
    if normalizer:
        peer.normalizer = normalizer
    for content, flags in tokens:
        options = {name: name in flags.split() for name in FLAGS}
        peer.add_tokens([AddedToken(content, **options)])
    return peer


LOWER = tokenizers.normalizers.Lowercase()
LLAMA = tokenizers.normalizers.Sequence([tokenizers.normalizers.Prepend("x"), tokenizers.normalizers.Replace(" ", "x")])
ADDED: dict[str, Callable[[], Any]] = {
    "plain": lambda: added(("<s>", ""), ("<ss>", "special")),
    "white space before": lambda: added(("<s>", "lstrip"), ("<c>", "lstrip special")),
    "white space after": lambda: added(("<s>", "rstrip"), ("<c>", "special")),
    "both": lambda: added(("<s>", "lstrip rstrip special"), ("<c>", "lstrip rstrip")),
    "words": lambda: added(("ab", "single_word"), ("s", "single_word rstrip")),
    "normalized": lambda: added(("<S>", "normalized"), ("AB", "normalized single_word"), normalizer=LOWER),
    "normalized and not": lambda: added(("<s>", "normalized"), ("s>", ""), ("<s", "normalized lstrip")),
    "normalized with a prefix": lambda: added(("<s>", "normalized special"), ("c", "normalized"), normalizer=LLAMA),
    "a token of the vocabulary": lambda: added(("abc", ""), ("s", "special")),
    "white space": lambda: added((" ", ""), ("  ", "lstrip"), ("a ", "rstrip")),
    "the unknown token": lambda: added(("<unk>", "special"), ("<s>", "special")),
}
ADDED_TEXTS = [
    "",
    "a<s>b",
    "a  <s>  b",
    "<s> <c> <s>",
    "ab abs sab ab",
    "x<S> <s>AB aB",
    "  a  <c>  ",
    "<ss><s>s>",
    "abc ab c",
    "aa   b",
]
pieces = st.lists(
    st.sampled_from(["a", "b", "ab", "c", "s", " ", "  ", "<s>", "<c>", "<S>", "AB", "é", "\n", "_", "<", ">"]),
    max_size=9,
).map("".join)


@pytest.fixture(scope="module", params=ADDED)
def pair(request: pytest.FixtureRequest) -> tuple[Tokenizer, Any, Any]:
    peer = ADDED[request.param]()
    tok = load(peer.to_str().encode())
    saved = ROW.save(tok.model)
    assert ROW.save(load(saved).model) == saved
    return tok, peer, tokenizers.Tokenizer.from_str(saved.decode())


def unless_it_panics(peer: Any, text: str) -> list[int] | None:
    """HF's ids; None where it panics, as it does where white space is an added token and belongs to another one too."""
    try:
        return peer.encode(text).ids
    except BaseException as error:  # a panic is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return None


@given(pieces)
@settings(max_examples=60)
def test_added_tokens_are_matched_as_in_hf(pair: tuple[Tokenizer, Any, Any], drawn: str) -> None:
    tok, peer, again = pair
    for text in [*ADDED_TEXTS, drawn]:
        ids = tok.encode(text, special="allow")
        if (expected := unless_it_panics(peer, text)) is None:
            continue
        assert ids == expected, text
        assert ids == again.encode(text).ids, text
        assert tok.decode(ids) == peer.decode(ids, skip_special_tokens=False)


BERT = tokenizers.normalizers.BertNormalizer(lowercase=False)
NOTHING = ["", "normalized special", *itertools.combinations(("single_word", "lstrip", "rstrip"), 1)]
NOTHING += [*itertools.combinations(("single_word", "lstrip", "rstrip"), 2), ("single_word", "lstrip", "rstrip")]


@pytest.mark.parametrize("flags", NOTHING, ids=str)
def test_a_token_that_normalizes_to_nothing_cuts_at_every_character(flags: Any) -> None:
    """HF panics on other characters than ASCII there, and never ends on a text that ends with the beginning of a token."""
    given = f"normalized {flags if isinstance(flags, str) else ' '.join(flags)}"
    for tokens in ([("\u200b", given)], [("\u200b", given), ("ab", "normalized")], [("s", ""), ("\u200b", given)]):
        peer = added(*tokens, normalizer=BERT)
        tok = load(peer.to_str().encode())
        assert load(ROW.save(tok.model)) == tok
        for text in ["", "c", "abc", "abc abc", "ab  c", "a b ", "<a>   s", "a\u200bb", "sss ab abc"]:
            assert tok.encode(text, special="allow") == peer.encode(text).ids, (tokens, text)
        id = peer.token_to_id("\u200b")
        assert tok.decode([1, id, 2]) == peer.decode([1, id, 2], skip_special_tokens=False)
        assert tok.encode("éa☃", special="allow") == [id for char in "éa☃" for id in tok.encode(char)]


@pytest.mark.parametrize("content", ["e\u0301", "A\u030a", "é", "ab", "\u212b", "Ġ", "\u00ad"])
@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKD", "Lowercase"])
def test_a_byte_level_decoder_reads_the_normal_form_of_a_token(content: str, form: str) -> None:
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    peer = tokenizers.Tokenizer(tokenizers.models.BPE({char: id for id, char in enumerate(alphabet)}, []))
    peer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    peer.decoder, peer.normalizer = tokenizers.decoders.ByteLevel(), getattr(tokenizers.normalizers, form)()
    peer.add_tokens([AddedToken(content, normalized=True)])
    tok, id = load(peer.to_str().encode()), peer.token_to_id(content)
    for ids in ([id], [64, id, 65]):
        assert tok.decode(ids) == peer.decode(ids, skip_special_tokens=False)
    for text in (f"a{content}b", "áÅ e\u0301é"):
        assert tok.encode(text, special="allow") == peer.encode(text).ids
    assert load(ROW.save(tok.model)) == tok


@pytest.mark.slow
@pytest.mark.parametrize("decoder", ["WordPiece", "ByteFallback", "Metaspace"])
def test_a_long_text_is_decoded_as_a_whole(decoder: str) -> None:
    """More ids than are decoded at a time where bytes simply follow each other; a character or word stands at the seam."""
    vocab = {"<unk>": 0, "a": 1, "##b": 2, "<0xC3>": 3, "<0xA9>": 4, "▁c": 5}
    peer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocab, unk_token="<unk>"))
    peer.decoder = getattr(tokenizers.decoders, decoder)()
    tok = load(peer.to_str().encode())
    for ids in ([1] * (1 << 20) + [2, 1], [1] * ((1 << 20) - 1) + [3, 4, 1], [5] * (1 << 20) + [5, 1]):
        found, due = tok.decode(ids), peer.decode(ids)
        assert found[-20:] == due[-20:]
        assert len(found) == len(due) and found == due


def test_special_tokens_are_refused_unless_allowed() -> None:
    tok = load(added(("<s>", "lstrip special"), ("ab", "single_word special")).to_str().encode())
    with pytest.raises(SpecialTokenInText) as caught:
        tok.encode("a  <s>")
    assert (caught.value.token, caught.value.offset) == ("<s>", 3)
    assert tok.encode("abc") == [11]
    with pytest.raises(SpecialTokenInText):
        tok.encode("ab c")
    assert tok.encode("  <s>", special="text") == [5, 5, 6, 4, 7]


def test_added_tokens_have_the_ids_that_hf_gives() -> None:
    """The file's own are ignored there where the content is not in the vocabulary, and of a repeated one the flags count."""
    content = small()
    token = dict.fromkeys(FLAGS, False)
    content["added_tokens"] = [{"id": 99, "content": "<s>", **token}, {"id": 7, "content": "ab", **token}]
    content["added_tokens"] += [
        {"id": 1, "content": "<s>", **token, "lstrip": True},
        {"id": 3, "content": "<c>", **token},
    ]
    assert {token.content: token.id for token in load(content).model.added_tokens} == {"<s>": 13, "ab": 10, "<c>": 14}
    assert same(content, "a  <s>ab<c>") == [1, 13, 10, 14]


# Templates.

TEMPLATES: dict[str, Any] = {
    "TemplateProcessing": lambda: tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>:1", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 13), ("</s>", 14)]
    ),
    "TemplateProcessing without B": lambda: tokenizers.processors.TemplateProcessing(
        single="<s> <s> $A", pair="$B $A:2", special_tokens=[("<s>", 13)]
    ),
    "BertProcessing": lambda: tokenizers.processors.BertProcessing(("</s>", 14), ("<s>", 13)),
    "RobertaProcessing": lambda: tokenizers.processors.RobertaProcessing(("</s>", 14), ("<s>", 13)),
    "ByteLevel": lambda: tokenizers.processors.ByteLevel(trim_offsets=True),
    "Sequence": lambda: tokenizers.processors.Sequence(
        [
            tokenizers.processors.ByteLevel(trim_offsets=False),
            tokenizers.processors.TemplateProcessing(single="<s> $A", pair="$A $B", special_tokens=[("<s>", 13)]),
        ]
    ),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_put_their_tokens_around_texts(name: str) -> None:
    peer = added(("<s>", "special"), ("</s>", "special"))
    peer.post_processor = TEMPLATES[name]()
    tok = load(peer.to_str().encode())
    saved = ROW.save(tok.model)
    again = tokenizers.Tokenizer.from_str(saved.decode())
    assert ROW.save(load(saved).model) == saved
    found = ["abc", "", "a b"]
    for other in (peer, again):
        expected = [other.encode(text).ids for text in found]
        assert [tok.encode(text, add_special_tokens=True) for text in found] == expected
        assert tok.encode_batch(found, add_special_tokens=True) == expected
        assert [ids.tolist() for ids in tok.encode_ragged(found, add_special_tokens=True)] == expected
        assert tok.encode_array(found[0], add_special_tokens=True).tolist() == expected[0]
        both = other.encode("abc", "ss")
        first, second = tok.encode("abc"), tok.encode("ss")
        assert tok.post_process(first, second) == both.ids
        assert tok._template.apply(first, second)[1] == both.type_ids
        assert [tok.encode(text) for text in found] == [
            other.encode(text, add_special_tokens=False).ids for text in found
        ]


def test_truncation_and_padding_are_kept() -> None:
    peer = added(("<s>", "special"))
    peer.enable_truncation(9, stride=2, strategy="only_first", direction="left")
    peer.enable_padding(direction="left", pad_id=3, pad_type_id=1, pad_token="x", length=5, pad_to_multiple_of=4)
    saved = json.loads(ROW.save(load(peer.to_str().encode()).model))
    theirs = json.loads(peer.to_str())
    assert {name: saved[name] for name in ("truncation", "padding")} == {
        name: theirs[name] for name in ("truncation", "padding")
    }
    peer.enable_padding()
    assert json.loads(ROW.save(load(peer.to_str().encode()).model))["padding"] == json.loads(peer.to_str())["padding"]


# What is refused.


def part(name: str, value: Any) -> dict[str, Any]:
    return small() | {name: value}


def pattern(value: Any) -> dict[str, Any]:
    return part("pre_tokenizer", {"type": "Split", "pattern": value, "behavior": "Isolated", "invert": False})


TOKEN = {"id": 1, "content": "<s>", **dict.fromkeys(FLAGS, False)}
HOSTILE: dict[str, tuple[Any, str]] = {
    "nothing": (b"", "line 1"),
    "no JSON": (b'{"added_tokens": ', "line 1"),
    "no object": (b"[]", "None"),
    "not UTF-8": (b'{"\xff"}', "byte 2"),
    "deep nesting": (b"[" * 100_000, "None"),
    "a lone surrogate": (b'{"version": "\\ud800"}', "None"),
    "a name twice": (b'{"version": "1.0", "version": "1.0"}', "None"),
    "NaN": (b'{"version": NaN}', "None"),
    "another version": (part("version", "2.0"), "version"),
    "another part": (part("extras", None), "extras"),
    "no model": ({name: value for name, value in small().items() if name != "model"}, "model"),
    "a model that is a list": (part("model", []), "model"),
    "another kind of model": (with_model(type="RNN"), "model.type"),
    "another flag": (with_model(zeal=True), "model.zeal"),
    "dropout": (with_model(dropout=0.1), "model.dropout"),
    "a flag that is a number": (with_model(fuse_unk=1), "model.fuse_unk"),
    "no vocabulary": (with_model(vocab=None), "model.vocab"),
    "a vocabulary that is a list": (with_model(vocab=["a"]), "model.vocab"),
    "an id that is a text": (with_model(vocab={"a": "0"}, merges=[], unk_token=None), "model.vocab"),
    "an id that is true": (with_model(vocab={"a": True}, merges=[], unk_token=None), "model.vocab"),
    "a negative id": (with_model(vocab={"a": -1}, merges=[], unk_token=None), "model.vocab"),
    "a huge id": (with_model(vocab={"a": 2**24}, merges=[], unk_token=None), "model.vocab"),
    "an id twice": (with_model(vocab={"a": 1, "b": 1}, merges=[], unk_token=None), "model.vocab"),
    "an empty token": (with_model(vocab={"": 1}, merges=[], unk_token=None), "model.vocab"),
    "a merge of one": (with_model(merges=["a b", "ab"]), "model.merges[1]"),
    "a merge of three": (with_model(merges=[["a", "b", "c"]]), "model.merges[0]"),
    "a merge of numbers": (with_model(merges=[[1, 2]]), "model.merges[0]"),
    "a merge of an unknown token": (with_model(merges=[["a", "z"]]), "model.merges[0]"),
    "a merge that makes nothing": (with_model(merges=[["a", "a"]]), "model.merges[0]"),
    "a merge without the prefix": (with_model(continuing_subword_prefix="##"), "model.merges[0]"),
    "another normalizer": (part("normalizer", {"type": "Reverse"}), "normalizer.type"),
    "a normalizer in a sequence": (
        part("normalizer", {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFZ"}]}),
        "normalizer.normalizers[1].type",
    ),
    "a normalizer with another field": (part("normalizer", {"type": "NFC", "form": 1}), "normalizer.form"),
    "a normalizer without a field": (part("normalizer", {"type": "Prepend"}), "normalizer.prepend"),
    "a normalizer without a type": (part("normalizer", {}), "normalizer.type"),
    "a normalizer that is a text": (part("normalizer", "NFC"), "normalizer"),
    "another pre-tokenizer": (part("pre_tokenizer", {"type": "Words"}), "pre_tokenizer.type"),
    "another behaviour": (
        part("pre_tokenizer", {"type": "Punctuation", "behavior": "Alone"}),
        "pre_tokenizer.behavior",
    ),
    "no regex": (pattern({}), "pre_tokenizer.pattern.Regex"),
    "both kinds of pattern": (pattern({"Regex": "a", "String": "a"}), "pre_tokenizer.pattern.Regex"),
    "two characters": (part("pre_tokenizer", {"type": "CharDelimiterSplit", "delimiter": "ab"}), "pre_tokenizer.delimiter"),
    "another decoder": (part("decoder", {"type": "Sing"}), "decoder.type"),
    "another post-processor": (part("post_processor", {"type": "Sing"}), "post_processor.type"),
    "a template of an unknown token": (
        part("post_processor", {"type": "TemplateProcessing", "special_tokens": {}, "pair": [], "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}]}),
        "post_processor.single[0].SpecialToken.id",
    ),
    "truncation of another kind": (
        part("truncation", {"max_length": 1, "strategy": "All", "direction": "Left", "stride": 0}),
        "truncation.strategy",
    ),
    "padding of another kind": (part("padding", {"strategy": "All"}), "padding.strategy"),
    "added tokens that are an object": (part("added_tokens", {}), "added_tokens"),
    "an added token without a flag": (part("added_tokens", [{"id": 1, "content": "a"}]), "added_tokens[0].single_word"),
    "an added token with another flag": (part("added_tokens", [TOKEN | {"bold": True}]), "added_tokens[0].bold"),
    "an added token with a negative id": (part("added_tokens", [TOKEN | {"id": -1}]), "added_tokens[0].id"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_by_their_place(name: str) -> None:
    content, place = HOSTILE[name]
    with pytest.raises(FormatError) as caught:
        load(content)
    assert str(caught.value.place) == place, str(caught.value)


RUN: dict[str, Any] = {
    "a regex that is none": pattern({"Regex": "("}),
    "a regex with an unknown group": pattern({"Regex": "(?<a>b)\\k<c>"}),
    "a length of 0": part("pre_tokenizer", {"type": "FixedLength", "length": 0}),
    "a table that is no base 64": part("normalizer", {"type": "Precompiled", "precompiled_charsmap": "%"}),
    "a table that is cut off": part("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AQAAAA=="}),
}


@pytest.mark.parametrize("name", RUN)
def test_parts_that_cannot_run_are_refused_on_loading(name: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(RUN[name]))
    with pytest.raises((FormatError, ModelError)):
        toksmith.load(path)


def test_a_regex_engine_that_gives_up_is_an_error() -> None:
    tok = load(pattern({"Regex": r"(?:x+x+)+[yz]|\Gq"}))
    with pytest.raises(toksmith.errors.PatternError):
        tok.encode("x" * 60)


def test_a_character_without_a_token_is_an_error_where_hf_drops_it() -> None:
    tok = load(with_model(unk_token=None))
    with pytest.raises(toksmith.errors.NotInVocabulary):
        tok.encode("aé")


def test_arguments_that_contradict_the_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(small()))
    with pytest.raises(InvalidOption):
        toksmith.load(path, pattern=None)


# Streams.


@given(st.lists(texts(lone_surrogates=False), max_size=3), st.data())
@settings(max_examples=40)
def test_a_stream_of_ids_is_the_text(drawn: list[str], data: st.DataObject) -> None:
    tok = llama()
    ids = [id for text in drawn for id in tok.encode(scalar(text))]
    ids += data.draw(st.lists(st.integers(0, tok.vocab_size - 1), max_size=9))
    decoder = tok.decoder()
    assert "".join(decoder.feed(id) for id in ids) + decoder.finish() == tok.decode(ids)


def llama(decoders: list[dict[str, Any]] | None = None) -> Tokenizer:
    """Characters with a fallback to bytes, as Llama 2 has them; with its decoders, or with others."""
    vocab = {token: id for id, token in enumerate(["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁abc"])}
    decoder = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    decoder.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    content = with_model(vocab=vocab, merges=[], byte_fallback=True)
    return load(content | {"decoder": {"type": "Sequence", "decoders": decoders or decoder}})


def test_a_stream_returns_only_final_text() -> None:
    tok = llama()
    decoder = tok.decoder()
    assert [decoder.feed(id) for id in tok.encode("▁aéb")] == ["", "a", "", "", "éb"]
    assert decoder.finish() == ""


LOCAL_DECODERS: dict[str, list[dict[str, Any]]] = {
    "word pieces": [{"type": "WordPiece", "prefix": "▁", "cleanup": True}],
    "word ends": [{"type": "BPEDecoder", "suffix": "a"}],
    "metaspace": [{"type": "ByteFallback"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}],
    "strip": [{"type": "Fuse"}, {"type": "Strip", "content": "▁", "start": 3, "stop": 2}],
}


@pytest.mark.parametrize("name", ["llama", *LOCAL_DECODERS])
def test_a_stream_that_drops_tokens_equals_one_that_keeps_them(name: str) -> None:
    rng, tok = random.Random(name), llama() if name == "llama" else llama(LOCAL_DECODERS[name])
    dropped = False
    for _ in range(60):
        short = tok.decoder()
        stream = short._decode_more.__self__  # type: ignore[attr-defined]
        assert stream._local
        twin = DecodeFromStart(stream._decode, next(iter(stream._breaker), None), local=False)
        whole = StreamDecoder(twin.more, "replace", twin.rest)
        place = 0
        ids = rng.choices(
            [*range(200, 240), *range(257, tok.vocab_size)] * 9 + [258, 198, 172] * rng.randrange(99), k=300
        )
        while place < len(ids):
            size = rng.choice([1, 1, 1, 40])
            assert short.feed(ids[place : place + size]) == whole.feed(ids[place : place + size])
            place += size
            dropped |= len(stream._ids) < place
        assert short.finish() == whole.finish()
    assert dropped


def test_invalid_utf8_bypasses_the_steps() -> None:
    """Bytes that are no UTF-8 go around the steps of a byte-level model."""
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    peer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    peer.decoder = tokenizers.decoders.ByteLevel()
    peer.normalizer = tokenizers.normalizers.NFC()
    trainer = tokenizers.trainers.BpeTrainer(
        initial_alphabet=peer.pre_tokenizer.alphabet(), vocab_size=300, show_progress=False
    )
    peer.train_from_iterator([scalar(text) for text in HARD_TEXTS.values()], trainer)
    tok = load(peer.to_str().encode())
    assert tok.decode_bytes(tok.encode(b"e\xcc\x81\xffa\xe2\x98")) == b"\xc3\xa9\xffa\xe2\x98"
