"""Every normalizer, pre-tokenizer, model flag and decoder of `tokenizer.json`, built in HF tokenizers and read by us.

`PARTS` is the table of cases: each is a tokenizer of HF, whose file we load and whose ids and texts must be ours; and what
we save of it must load there and give the same again.
"""

import itertools
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from drawn_texts import Drawing
from hard_texts import HARD_TEXTS, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from peers import CORPORA, documents, scalar

import toksmith
from toksmith import Tokenizer, _formats
from toksmith._formats import protobuf
from toksmith._formats.hf_steps import TABLES

tokenizers: Any = pytest.importorskip(
    "tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3 (tests/requirements.txt)"
)
normalizers, pre_tokenizers, decoders = tokenizers.normalizers, tokenizers.pre_tokenizers, tokenizers.decoders
Regex = tokenizers.Regex
ROW = _formats.FORMATS["tokenizer_json"]

EVERYTHING = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
DRAWN, DOCUMENTS = (20_000, 40) if EVERYTHING else (25, 0)
CORPUS = [
    *(scalar(text) for text in HARD_TEXTS.values()),
    "The lower newest widest. hello-the-final--countdown 1234567 don't DON'T  stop! ½²Ⅷ ١٢٣ हिन्दी 中文漢字 かな カナ Ünïcode ﬁne",
    "<s>a</s> <s> b  </s>\n [X] x [X]y  ▁a▁ b Å Å ế ㎏ ĳ ǆ ſ İ ß K e\u0301 가 \u1112\u1161\u11ab <0x0A>",
]
TRAINER = {"vocab_size": 700, "show_progress": False}


def trained_there(
    normalizer: Any = None, pre_tokenizer: Any = None, decoder: Any = None, trainer: Any = None, **flags: Any
) -> Any:
    """A byte-pair tokenizer of HF with these parts, trained on a few texts."""
    tok = tokenizers.Tokenizer(tokenizers.models.BPE(**flags))
    if normalizer:
        tok.normalizer = normalizer
    if pre_tokenizer:
        tok.pre_tokenizer = pre_tokenizer
    if decoder:
        tok.decoder = decoder
    tok.train_from_iterator(CORPUS, tokenizers.trainers.BpeTrainer(**TRAINER | (trainer or {})))
    return tok


def unknown(**parts: Any) -> Any:
    """One of characters with an unknown token, so that every text can be encoded."""
    trainer = {"special_tokens": ["<unk>"], "limit_alphabet": 120} | parts.pop("trainer", {})
    return trained_there(unk_token="<unk>", trainer=trainer, **parts)


def with_part(name: str, make: Callable[[], Any]) -> Any:
    """One of characters with one more part; decoders get tokens that begin with marks."""
    parts = {"pre_tokenizer": pre_tokenizers.Metaspace()} if name == "decoder" else {"decoder": decoders.Fuse()}
    return unknown(**parts, **{name: make()})


def byte_level(*before: Any, **options: Any) -> Any:
    """One of bytes."""
    options = {"add_prefix_space": False, "use_regex": False} | options
    steps = [*before, pre_tokenizers.ByteLevel(**options)]
    trainer = {"initial_alphabet": pre_tokenizers.ByteLevel.alphabet(), "vocab_size": 900}
    whole = pre_tokenizers.Sequence(steps) if len(steps) > 1 else steps[0]
    return trained_there(pre_tokenizer=whole, decoder=decoders.ByteLevel(), trainer=trainer)


def split(pattern: str, behavior: str = "isolated", invert: bool = False) -> Any:
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


CHARSMAP = {"Ａ": "A", "①": "1", "ﬁ": "fi", "\t": " ", "e\u0301": "é", "K": "K", "½": "1/2"}


def fallback(fuse: bool, whole: bool) -> Any:
    """Bytes for characters without a token, as Llama 2 has them."""
    tok = trained_there(
        normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
        decoder=decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        ),
        trainer={"special_tokens": ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))], "limit_alphabet": 60},
        unk_token="<unk>",
        fuse_unk=fuse,
        byte_fallback=True,
    )
    content = json.loads(tok.to_str())
    content["model"]["ignore_merges"] = whole
    content["added_tokens"] = content["added_tokens"][:1]
    return tokenizers.Tokenizer.from_str(json.dumps(content))


def some_bytes_missing() -> Any:
    """Falls back to bytes of which some have no token: then the whole character is unknown."""
    content = json.loads(fallback(True, False).to_str())
    vocab = content["model"]["vocab"]
    for byte in range(0xC8, 0x100):
        del vocab[f"<0x{byte:02X}>"]
    return tokenizers.Tokenizer.from_str(json.dumps(content))


PARTS: dict[str, Callable[[], Any]] = {
    # Normalizers.
    **{
        f"normalizer {name}": partial(with_part, "normalizer", make)
        for name, make in {
            "NFC": normalizers.NFC,
            "NFD": normalizers.NFD,
            "NFKC": normalizers.NFKC,
            "NFKD": normalizers.NFKD,
            "Nmt": normalizers.Nmt,
            "Lowercase": normalizers.Lowercase,
            "StripAccents": normalizers.StripAccents,
            "Strip": normalizers.Strip,
            "Strip left": lambda: normalizers.Strip(left=True, right=False),
            "Strip right": lambda: normalizers.Strip(left=False, right=True),
            "Prepend": lambda: normalizers.Prepend("▁x"),
            "Replace": lambda: normalizers.Replace("ab", "ba"),
            "Replace regex": lambda: normalizers.Replace(Regex(r"\s{2,3}+|[0-9]"), " "),
            "Replace nothing": lambda: normalizers.Replace(Regex(r"(?=b)|^"), "_"),
            "Bert": normalizers.BertNormalizer,
            "Bert cased": lambda: normalizers.BertNormalizer(lowercase=False, clean_text=True),
            "Bert accents": lambda: normalizers.BertNormalizer(
                lowercase=False, strip_accents=True, clean_text=False, handle_chinese_chars=False
            ),
            "ByteLevel": normalizers.ByteLevel,
            "Sequence": lambda: normalizers.Sequence(
                [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()]
            ),
            "an empty Sequence": lambda: normalizers.Sequence([]),
        }.items()
    },
    # Pre-tokenizers.
    **{
        f"pre-tokenizer {name}": partial(with_part, "pre_tokenizer", make)
        for name, make in {
            "Whitespace": pre_tokenizers.Whitespace,
            "WhitespaceSplit": pre_tokenizers.WhitespaceSplit,
            "Bert": pre_tokenizers.BertPreTokenizer,
            "CharDelimiterSplit": lambda: pre_tokenizers.CharDelimiterSplit("e"),
            "UnicodeScripts": pre_tokenizers.UnicodeScripts,
            "FixedLength": lambda: pre_tokenizers.FixedLength(3),
            "Digits": pre_tokenizers.Digits,
            "Digits individual": lambda: pre_tokenizers.Digits(individual_digits=True),
            **{
                f"Punctuation {behavior}": lambda behavior=behavior: pre_tokenizers.Punctuation(behavior)
                for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
            },
            **{
                f"Split {behavior} {invert}": lambda behavior=behavior, invert=invert: split(
                    r"[ab]+|\s", behavior, invert
                )
                for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
                for invert in (False, True)
            },
            "Split text": lambda: pre_tokenizers.Split("e ", "merged_with_next"),
            "Split lines": lambda: split("^.?"),
            "Split nothing": lambda: split("(?=[a-m])", "merged_with_previous"),
            **{
                f"Metaspace {scheme} {cut}": lambda scheme=scheme, cut=cut: pre_tokenizers.Metaspace(
                    prepend_scheme=scheme, split=cut
                )
                for scheme in ("always", "first", "never")
                for cut in (False, True)
            },
            "Metaspace after Digits": lambda: pre_tokenizers.Sequence(
                [pre_tokenizers.Digits(), pre_tokenizers.Metaspace(prepend_scheme="first")]
            ),
            "ByteLevel, characters after it": lambda: pre_tokenizers.Sequence(
                [pre_tokenizers.ByteLevel(add_prefix_space=True), pre_tokenizers.Digits(individual_digits=True)]
            ),
        }.items()
    },
    "Metaspace first, stripped": lambda: unknown(
        normalizer=normalizers.Sequence([normalizers.Strip(), normalizers.Replace("a", "")]),
        pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme="first"),
        decoder=decoders.Metaspace(prepend_scheme="first"),
    ),
    # Bytes.
    "GPT-2": lambda: byte_level(use_regex=True),
    "with a space before": lambda: byte_level(add_prefix_space=True, use_regex=True),
    "Qwen": lambda: with_normalizer(byte_level(split(QWEN)), normalizers.NFC()),
    "StarCoder": lambda: byte_level(pre_tokenizers.Digits(individual_digits=True), use_regex=True),
    "DeepSeek": lambda: byte_level(
        split(r"\p{N}{1,3}"),
        split("[一-龥぀-ゟ゠-ヿ]+"),
        split(
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
        ),
    ),
    "Falcon": lambda: trained_there(
        pre_tokenizer=pre_tokenizers.Sequence(
            [
                pre_tokenizers.Punctuation("contiguous"),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
                pre_tokenizers.Digits(),
                split("[0-9][0-9][0-9]"),
            ]
        ),
        decoder=decoders.ByteLevel(),
        trainer={"initial_alphabet": pre_tokenizers.ByteLevel.alphabet(), "vocab_size": 900},
    ),
    "BLOOM": lambda: byte_level(split(r" ?[^(\s|[.,!?…。，、।۔،])]+")),
    "tiktoken's spelling": lambda: byte_level(split(toksmith.patterns()["cl100k"].regexes[0])),
    "digits from the right": lambda: byte_level(split(r"\d{1,3}(?=(?:\d{3})*\b)"), split(QWEN)),
    "classes that are cut": lambda: byte_level(split(r"[\p{L}&&[^\p{Han}]]+|\p{Han}|\s+")),
    "spaces removed": lambda: byte_level(split(r"\s+", "removed")),
    "no decoder": lambda: without_decoder(byte_level()),
    # Flags of the model.
    **{
        f"bytes, fused {fuse}, whole {whole}": partial(fallback, fuse, whole)
        for fuse in (False, True)
        for whole in (False, True)
    },
    "some bytes missing": some_bytes_missing,
    "fused": lambda: unknown(fuse_unk=True, decoder=decoders.Fuse()),
    "a suffix": lambda: unknown(
        pre_tokenizer=pre_tokenizers.WhitespaceSplit(),
        decoder=decoders.BPEDecoder(),
        end_of_word_suffix="</w>",
        trainer={"end_of_word_suffix": "</w>"},
    ),
    "a prefix": lambda: unknown(
        pre_tokenizer=pre_tokenizers.Whitespace(),
        decoder=decoders.WordPiece(),
        continuing_subword_prefix="##",
        trainer={"continuing_subword_prefix": "##"},
    ),
    # Decoders.
    **{
        f"decoder {name}": partial(with_part, "decoder", make)
        for name, make in {
            "WordPiece": lambda: decoders.WordPiece(prefix="▁", cleanup=True),
            "Metaspace": decoders.Metaspace,
            "Metaspace never": lambda: decoders.Metaspace(prepend_scheme="never"),
            "CTC": lambda: decoders.CTC(pad_token="a", word_delimiter_token="▁"),
            "Replace": lambda: decoders.Replace(Regex("[▁e]"), "_"),
            "Strip": lambda: decoders.Strip("▁", 2, 0),
            "ByteFallback": decoders.ByteFallback,
            "Sequence": lambda: decoders.Sequence([decoders.Fuse(), decoders.Strip("▁", 1, 0), decoders.Metaspace()]),
        }.items()
    },
    "decoder none": lambda: unknown(pre_tokenizer=pre_tokenizers.Whitespace()),
}
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def with_normalizer(tok: Any, normalizer: Any) -> Any:
    tok.normalizer = normalizer
    return tok


def without_decoder(tok: Any) -> Any:
    content = json.loads(tok.to_str())
    return tokenizers.Tokenizer.from_str(json.dumps(content | {"decoder": None}))


def loaded(content: str) -> Tokenizer:
    model = ROW.load(content.encode(), "tokenizer.json", pattern=_formats.UNSET, special_tokens=None)
    return Tokenizer(model)


def compared(tok: Tokenizer, peer: Any, text: str) -> None:
    text = scalar(text)
    expected = peer.encode(text, add_special_tokens=False).ids
    assert tok.encode(text, special="allow") == expected, text
    if expected:
        assert tok.decode(expected) == peer.decode(expected, skip_special_tokens=False), text


@pytest.fixture(scope="module", params=PARTS)
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Tokenizer, Any, Any]]:
    """A tokenizer of HF, ours after its file, and HF's after ours."""
    peer = PARTS[request.param]()
    tok = loaded(peer.to_str())
    saved = ROW.save(tok.model)
    again = loaded(saved.decode())
    assert again == tok
    assert ROW.save(again.model) == saved
    yield tok, peer, tokenizers.Tokenizer.from_str(saved.decode())


def test_parts_give_equal_ids_on_hard_texts(pair: tuple[Tokenizer, Any, Any]) -> None:
    tok, peer, again = pair
    for text in CORPUS:
        compared(tok, peer, text)
        compared(tok, again, text)
    for id in tok.model.ids[::7].tolist():
        assert tok.decode([id]) == peer.decode([id], skip_special_tokens=False)


@given(st.lists(texts(lone_surrogates=False), min_size=20, max_size=20))
@settings(max_examples=5)
def test_parts_give_equal_ids_on_drawn_texts(pair: tuple[Tokenizer, Any, Any], drawn: list[str]) -> None:
    for text in drawn:
        compared(*pair[:2], text)


@pytest.mark.proof
@pytest.mark.short
def test_parts_give_equal_ids_on_many_texts(pair: tuple[Tokenizer, Any, Any], request: pytest.FixtureRequest) -> None:
    tok, peer, _ = pair
    found = [scalar(text) for text in Drawing(20_261_122).texts(DRAWN)]
    if DOCUMENTS:
        corpora = request.getfixturevalue("corpora_dir")
        for name in CORPORA:
            found += itertools.islice(documents(corpora / f"{name}.jsonl.gz"), DOCUMENTS)
    for start in range(0, len(found), 1000):
        texts_ = found[start : start + 1000]
        expected = [each.ids for each in peer.encode_batch(texts_, add_special_tokens=False)]
        own = tok.encode_batch(texts_, special="allow")
        wrong = [text for text, one, two in zip(texts_, expected, own, strict=True) if one != two]
        assert not wrong, wrong[0][:300]


@pytest.mark.slow
def test_every_type_is_among_the_parts() -> None:
    """Each row of the tables has a case that is compared with HF."""
    named = " ".join(make().to_str() for make in PARTS.values())
    found = set(re.findall(r'"type":"(\w+)"', named)) | {"Precompiled"}  # see the test of a compiled table
    for table in TABLES.values():
        assert set(table.rows) <= found, set(table.rows) - found


def test_batches_equal_single_calls(pair: tuple[Tokenizer, Any, Any]) -> None:
    tok = pair[0]
    expected = [tok.encode(text, special="allow") for text in CORPUS]
    assert tok.encode_batch(CORPUS, special="allow", threads=2) == expected


@pytest.mark.slow
def test_every_code_point_is_classified_as_in_hf() -> None:
    """Classes of characters that the library has tables for: numbers, punctuation, white space, scripts, forms."""
    points = [*range(0xD800), *range(0xE000, 0x32400), *range(0xE0000, 0xE0200)]
    text = "a".join(map(chr, points))
    for name, cut in {
        "digits": pre_tokenizers.Digits(individual_digits=True),
        "punctuation": pre_tokenizers.Punctuation("isolated"),
        "whitespace": pre_tokenizers.Whitespace(),
        "scripts": pre_tokenizers.UnicodeScripts(),
    }.items():
        tok = pieces_of(cut)
        assert tok(text) == [piece for piece, _ in cut.pre_tokenize_str(text)], name
    forms: list[Any] = [normalizers.NFC(), normalizers.NFKC(), normalizers.NFD(), normalizers.NFKD()]
    forms += [normalizers.Lowercase(), normalizers.StripAccents(), normalizers.BertNormalizer(), normalizers.Nmt()]
    for form in forms:
        assert normal_of(form)(text) == form.normalize_str(text), form


def around(**parts: Any) -> Tokenizer:
    """A tokenizer of ours with parts of HF around bytes."""
    peer = byte_level()
    content = json.loads(peer.to_str())
    for name, part in parts.items():
        own = content[name]
        content[name] = json.loads(part.__getstate__())
        if name == "pre_tokenizer":
            content[name] = {"type": "Sequence", "pretokenizers": [content[name], own]}
    content["model"]["merges"] = []
    content["model"]["vocab"] = {char: at for at, char in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    return loaded(json.dumps(content))


def pieces_of(cut: Any) -> Callable[[str], list[str]]:
    """A function that returns the pieces of our splitter."""
    tok = around(pre_tokenizer=cut)
    return lambda text: [piece.decode() for piece in tok._engine.split(text)]


def normal_of(form: Any) -> Callable[[str], str]:
    tok = around(normalizer=form)
    return lambda text: tok.decode(tok.encode(text))


def test_a_compiled_table_normalizes_as_in_hf(vocab_dir: Any) -> None:
    """`Precompiled`, with the table of a published model: clusters of characters go by the shortest key."""
    path = vocab_dir / "sp_unigram_en.model"
    charsmap = protobuf.parse_model(path.read_bytes(), str(path)).normalizer_spec.precompiled_charsmap
    form = normalizers.Precompiled(charsmap)
    own = normal_of(form)
    for text in [*CORPUS, "e\u0301 ①② ﬁ\u0301 Ａ\u0301 ㍿ｱﾞ"]:
        assert own(text) == form.normalize_str(text), text


OFFSETS = (
    *("Qwen", "spaces removed", "with a space before", "Falcon", "StarCoder", "fused", "some bytes missing"),
    *("a suffix", "a prefix", "bytes, fused True, whole False", "bytes, fused False, whole True"),
)

REMOVES = ("spaces removed", "a suffix", "a prefix")


@pytest.mark.parametrize("name", OFFSETS)
def test_the_ends_of_ids_are_equal(name: str) -> None:
    """Text that a step removes belongs to the next id here and to no id in HF, so only ends are compared."""
    peer = PARTS[name]()
    tok = loaded(peer.to_str())
    for text in CORPUS:
        text = unicodedata.normalize("NFC", text)
        expected = peer.encode(text, add_special_tokens=False)
        found = tok.encode_with_offsets(text, special="allow")
        assert found.ids.tolist() == expected.ids
        ends = [end for _, end in expected.offsets]
        if ends and name not in REMOVES:
            assert found.ends.tolist() == ends, text
        assert found.ends.tolist()[:-1] == ends[:-1], text


def test_a_composed_character_belongs_to_one_id() -> None:
    tok = loaded(PARTS["Qwen"]().to_str())
    text = "xe\u0301\u0302 a\u030ang"
    found = tok.encode_with_offsets(text, unit="byte")
    starts, ends = found.starts.tolist(), found.ends.tolist()
    assert starts == [0, *ends[:-1]] and ends[-1] == len(text.encode()) and starts == sorted(starts)
