"""`compat.tokenizers` against HF tokenizers: the same ids, tokens, offsets, words, masks, overflow and training."""

from __future__ import annotations

import copy
import inspect
import itertools
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dropins import tokenizers_features
from dropins.tokenizers_cases import COLUMNS, fields
from hard_texts import HARD_TEXTS
from peers import CORPORA, documents, scalar

import toksmith
from toksmith import compat
from toksmith.compat import tokenizers as ours
from toksmith.compat.tokenizers import _runtime

peer: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")

SHOWN = [
    "Hey friend!     How are you?!?",
    " Hello  world é 你好吗 ab ",
    "",
    "   ",
    "A\tb\n\nc’s it's 123 45.6 <s> a</s>b <mask>  c",
    "한국어 텍스트와 ปี 😊 zero",
]
TEXTS = [*SHOWN, *(scalar(text)[:300] for text in HARD_TEXTS.values())]
Made = Callable[[Any], Any]


def byte_level(lib: Any) -> Any:
    """Byte-level, with an added token that takes the space before it."""
    tok = lib.Tokenizer(lib.models.BPE())
    tok.pre_tokenizer, tok.decoder = lib.pre_tokenizers.ByteLevel(add_prefix_space=False), lib.decoders.ByteLevel()
    options = {"initial_alphabet": lib.pre_tokenizers.ByteLevel.alphabet(), "show_progress": False}
    marks = ["<s>", "</s>", "<mask>"]
    tok.train_from_iterator(SHOWN * 2, lib.trainers.BpeTrainer(vocab_size=330, special_tokens=marks, **options))
    tok.post_processor = lib.processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    tok.add_tokens([lib.AddedToken("<mask>", lstrip=True, special=True), "friend"])
    return tok


def wordpiece(lib: Any) -> Any:
    """BERT's."""
    vocab = [
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "hey",
        "friend",
        "!",
        "how",
        "hel",
        "##lo",
        "world",
        "e",
        "你",
        "##ne",
        "a",
        "b",
    ]
    tok = lib.Tokenizer(lib.models.WordPiece({token: id for id, token in enumerate(vocab)}, unk_token="[UNK]"))
    tok.normalizer, tok.pre_tokenizer = lib.normalizers.BertNormalizer(), lib.pre_tokenizers.BertPreTokenizer()
    tok.decoder = lib.decoders.WordPiece()
    ids = [("[CLS]", 1), ("[SEP]", 2)]
    pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
    tok.post_processor = lib.processors.TemplateProcessing(single="[CLS] $A [SEP]", pair=pair, special_tokens=ids)
    tok.add_special_tokens(["[UNK]", "[CLS]", "[SEP]", "<mask>"])
    return tok


def unigram(lib: Any) -> Any:
    """Of metaspaces."""
    words = ("▁", "▁Hey", "▁friend", "!", "▁How", "▁a", "re", "▁you", "l", "o", "h", "e", "▁w", "or", "d", "b", "1")
    vocab = [("<unk>", 0.0), *((word, -1.0 - place) for place, word in enumerate(words))]
    tok = lib.Tokenizer(lib.models.Unigram(vocab, 0, False))
    replaced = lib.normalizers.Replace(lib.Regex(" {2,}"), " ")
    tok.normalizer = lib.normalizers.Sequence([replaced])
    tok.pre_tokenizer, tok.decoder = lib.pre_tokenizers.Metaspace(), lib.decoders.Metaspace()
    return tok


def with_prepended_spaces(lib: Any) -> Any:
    """The library's form of SentencePiece's BPE, with byte fallback."""
    pieces = ["▁", *"Heyfrindlowa", "He", "▁He", "fr", "lo"]
    tokens = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    merges = [("H", "e"), ("▁", "He"), ("f", "r"), ("l", "o")]
    model = lib.models.BPE({token: id for id, token in enumerate(dict.fromkeys(tokens))}, merges, unk_token="<unk>")
    model.fuse_unk = model.byte_fallback = True
    tok, parts = lib.Tokenizer(model), lib.normalizers
    tok.normalizer = parts.Sequence([parts.Prepend("▁"), parts.Replace(" ", "▁")])
    steps = lib.decoders
    tok.decoder = steps.Sequence([steps.Replace("▁", " "), steps.ByteFallback(), steps.Fuse(), steps.Strip(" ", 1, 0)])
    pair = "<s> $A <s>:1 $B:1"
    tok.post_processor = lib.processors.TemplateProcessing(single="<s> $A", pair=pair, special_tokens=[("<s>", 1)])
    tok.add_special_tokens(["<unk>", "<s>"])
    return tok


MODELS: dict[str, Made] = {
    "byte level": byte_level,
    "wordpiece": wordpiece,
    "unigram": unigram,
    "prepended spaces": with_prepended_spaces,
}


@pytest.fixture(scope="module", params=MODELS)
def both(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """The library's tokenizer, and the drop-in's from the same calls."""
    return MODELS[request.param](peer), MODELS[request.param](ours)


def same(expected: Any, found: Any, said: object) -> None:
    """Check every field, the methods for each character, word and place, and the same for the overflow."""
    one, two = fields(expected), fields(found)
    assert one.keys() == two.keys(), said
    for name in one:
        assert one[name] == two[name], (name, said)


def test_the_same_calls_build_the_same_file(both: Any) -> None:
    theirs, own = both
    assert json.loads(own.to_str()) == json.loads(theirs.to_str())
    assert repr(own)[:400] == repr(theirs)[:400] and str(own) == str(theirs)
    again = ours.Tokenizer.from_str(theirs.to_str(pretty=True))
    assert again.to_str() == own.to_str() and again.get_vocab() == theirs.get_vocab()


@pytest.mark.slow
def test_texts_and_pairs_have_equal_encodings(both: Any) -> None:
    theirs, own = both
    for text in TEXTS:
        for put in (True, False):
            same(theirs.encode(text, add_special_tokens=put), own.encode(text, add_special_tokens=put), (text, put))
        same(theirs.encode(text, SHOWN[0]), own.encode(text, SHOWN[0]), text)
        words = text.split()
        same(theirs.encode(words, is_pretokenized=True), own.encode(words, is_pretokenized=True), words)
    for one, two in zip(theirs.encode_batch(TEXTS), own.encode_batch(np.array(TEXTS, object)), strict=True):
        assert one.ids == two.ids


def check_offsets(theirs: Any, own: Any, texts: list[str]) -> None:
    """Check the offsets that are computed alone, and those that are computed after the other columns."""
    for text, other in zip(texts, texts[1:] + texts[:1], strict=True):
        for pair in (None, other):
            expected = theirs.encode(text, pair)
            alone, after = own.encode(text, pair), own.encode(text, pair)
            assert after.tokens == expected.tokens
            for each in (alone, after):
                assert each.offsets == expected.offsets, (text, pair)
                assert [part.offsets for part in each.overflowing] == [part.offsets for part in expected.overflowing]


def test_offsets_alone_are_equal(both: Any) -> None:
    theirs, own = both
    check_offsets(theirs, own, TEXTS)


@pytest.mark.parametrize("trim, prefix, strips", [*itertools.product((True, False), repeat=3)])
@pytest.mark.parametrize("kind", ["ByteLevel", "RobertaProcessing", "both"])
def test_trimmed_offsets_alone_are_equal(trim: bool, prefix: bool, strips: bool, kind: str) -> None:
    made = []
    for lib in (peer, ours):
        tok, options = byte_level(lib), {"trim_offsets": trim, "add_prefix_space": prefix}
        trims = [
            lib.processors.ByteLevel(**options),
            lib.processors.RobertaProcessing(("</s>", 1), ("<s>", 0), **options),
        ]
        tok.post_processor = lib.processors.Sequence(trims) if kind == "both" else trims[kind != "ByteLevel"]
        tok.pre_tokenizer = lib.pre_tokenizers.ByteLevel(add_prefix_space=prefix)
        tok.add_tokens([lib.AddedToken("zero", lstrip=strips, rstrip=strips)])
        made.append(tok)
    texts = [*TEXTS, "a zero  zero ", " zero", "zero\u3000 \x85 x \n\n  y"]
    theirs, own = made
    check_offsets(theirs, own, texts)
    for tok in made:
        tok.enable_truncation(16, stride=2)
    check_offsets(theirs, own, texts)


LENGTHS: dict[str, dict[str, Any]] = {
    "shorter": {"max_length": 9},
    "with a stride": {"max_length": 12, "stride": 2},
    "from the left": {"max_length": 10, "direction": "left", "stride": 1},
    "the first": {"max_length": 13, "strategy": "only_first"},
}


@pytest.mark.parametrize("lengths", LENGTHS)
def test_truncation_and_padding_are_equal(both: Any, lengths: str) -> None:
    options = LENGTHS[lengths]
    pads = {"pad_to_multiple_of": 5, "direction": "left", "pad_id": 3, "pad_token": "<p>", "pad_type_id": 1}
    for tok in both:
        tok.enable_truncation(**options)
        tok.enable_padding(**pads)
    theirs, own = both
    assert theirs.truncation == own.truncation and theirs.padding == own.padding
    long = SHOWN[0]
    for text in (long, SHOWN[4]):
        same(theirs.encode(text), own.encode(text), text)
        if "strategy" not in options:
            same(theirs.encode(text, long), own.encode(text, long), text)
    for one, two in zip(theirs.encode_batch(["Hey", long]), own.encode_batch(["Hey", long]), strict=True):
        same(one, two, options)
    for tok in both:
        tok.no_truncation()
        tok.no_padding()


def test_decoding_and_streams_are_equal(both: Any) -> None:
    theirs, own = both
    rows = [theirs.encode(text).ids for text in TEXTS]
    for skip in (True, False):
        assert own.decode_batch(rows, skip_special_tokens=skip) == theirs.decode_batch(rows, skip_special_tokens=skip)
    for ids in rows[:6]:
        streams = peer.decoders.DecodeStream(), ours.decoders.DecodeStream()
        for id in ids:
            assert streams[0].step(theirs, id) == streams[1].step(own, id)


def test_a_loop_over_tokens_makes_no_model_and_no_column(both: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As outlines does with each token of a vocabulary, and programs that align labels do with each token of a text."""
    theirs, own = both
    vocab, texts = [*theirs.get_vocab(), "é<0x0A>", "▁\0"], [tok.encode(SHOWN[0], SHOWN[4]) for tok in both]
    assert own.decoder.decode(vocab) == theirs.decoder.decode(vocab)
    monkeypatch.setattr(_runtime, "read_tokenizer", None)
    for column in ("offsets", "word_ids"):
        monkeypatch.setattr(ours.Encoding, column, None)
    assert [own.decoder.decode([each]) for each in vocab] == [theirs.decoder.decode([each]) for each in vocab]
    for place in range(len(texts[0]) + 2):
        real, mine = [(text.token_to_chars(place), text.token_to_word(place)) for text in texts]
        assert real == mine, place


PARTS = [
    *(f"normalizers.{code}" for code in tokenizers_features.NORMALIZERS),
    *(f"pre_tokenizers.{code}" for code in tokenizers_features.PRE_TOKENIZERS),
    *(f"decoders.{code}" for code in tokenizers_features.DECODERS),
    *(f"processors.{code}" for code in tokenizers_features.PROCESSORS),
]


@pytest.mark.parametrize("code", PARTS)
def test_a_part_prints_copies_and_runs_like_the_librarys(code: str) -> None:
    theirs, own = (eval(f"lib.{code}", {"lib": library, "s": 1, "e": 2}) for library in (peer, ours))
    assert (repr(own), str(own), own.__getstate__()) == (repr(theirs), str(theirs), theirs.__getstate__())
    for other in (pickle.loads(pickle.dumps(own)), copy.deepcopy(own)):
        assert other == own and repr(other) == repr(own)
    call = {"normalizers": "normalize_str", "pre_tokenizers": "pre_tokenize_str"}.get(code.partition(".")[0])
    for text in SHOWN if call and 'Replace(""' not in code else ():
        assert getattr(own, call)(text) == getattr(theirs, call)(text), text


def test_help_shows_the_arguments_of_the_library() -> None:
    for module, name in (("normalizers", "Strip"), ("pre_tokenizers", "Split"), ("decoders", "CTC")):
        own, theirs = (inspect.signature(getattr(getattr(lib, module), name)) for lib in (ours, peer))
        assert [(each.name, each.default) for each in own.parameters.values()] == [
            (each.name, each.default) for each in theirs.parameters.values() if each.name != "self"
        ]


@pytest.mark.slow
def test_a_published_tokenizer_gives_equal_encodings_on_all_corpora(vocab_dir: Path, corpora_dir: Path) -> None:
    path = str(vocab_dir / "gpt2_tokenizer.json")
    theirs, own = peer.Tokenizer.from_file(path), ours.Tokenizer.from_file(path)
    texts = [
        text[:1500] for name in CORPORA for text in itertools.islice(documents(corpora_dir / f"{name}.jsonl.gz"), 8)
    ]
    for one, two in zip(theirs.encode_batch(texts), own.encode_batch(texts), strict=True):
        for name in COLUMNS:
            assert getattr(one, name) == getattr(two, name), (name, one.tokens[:9])


def test_parts_are_changed_in_place() -> None:
    found = []
    for lib in (peer, ours):
        tok = lib.Tokenizer(lib.models.BPE())
        tok.add_tokens(["Hey", "low"])
        rows = [tok.encode("Hey").ids]
        tok.normalizer = lib.normalizers.Sequence([lib.normalizers.Lowercase()])
        rows += [tok.encode("HEY").ids, tok.encode("Low").ids]
        tok.normalizer[0] = lib.normalizers.Replace("x", "low")
        rows += [tok.encode("x").ids, tok.encode("HEY").ids]
        split = lib.pre_tokenizers.ByteLevel()
        tok.pre_tokenizer = split
        tok.pre_tokenizer.add_prefix_space = False
        found.append([*rows, split.add_prefix_space])
    assert found[0] == found[1]


def test_parts_of_the_real_library_are_accepted() -> None:
    tok = ours.Tokenizer(peer.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    tok.pre_tokenizer = peer.pre_tokenizers.WhitespaceSplit()
    tok.add_tokens([peer.AddedToken("<x>", lstrip=True)])
    tok.post_processor = peer.processors.TemplateProcessing(single="$A <x>", special_tokens=[("<x>", 3)])
    assert tok.encode("ab  <x>").tokens == ["ab", "  <x>", "<x>"]
    tok.train_from_iterator(
        ["aaa aab"], peer.trainers.BpeTrainer(vocab_size=4, special_tokens=["<x>"], show_progress=False)
    )
    assert tok.get_vocab() == {"<x>": 0, "a": 1, "b": 2, "aa": 3}


@pytest.mark.parametrize("kind", ["BPE", "WordLevel"])
def test_training_gives_an_equal_file(kind: str) -> None:
    found = []
    for lib in (peer, ours):
        tok = lib.Tokenizer(getattr(lib.models, kind)(unk_token="<unk>"))
        tok.normalizer, tok.pre_tokenizer = lib.normalizers.Lowercase(), lib.pre_tokenizers.Whitespace()
        trainer = {"BPE": lib.trainers.BpeTrainer, "WordLevel": lib.trainers.WordLevelTrainer}[kind]
        options = {"vocab_size": 120, "min_frequency": 2, "special_tokens": ["<unk>", "<s>"], "show_progress": False}
        tok.train_from_iterator([SHOWN * 3, ["low lower lowest slow"] * 5], trainer(**options))
        found.append(json.loads(tok.to_str()))
    assert found[0] == found[1]


def test_ready_made_tokenizers_train_and_encode_alike() -> None:
    lines = ["A first sentence", "Another sentence", "And a last one"] * 3
    found = []
    for lib in (peer, ours):
        made = [lib.ByteLevelBPETokenizer(lowercase=True, unicode_normalizer="nfkc"), lib.SentencePieceBPETokenizer()]
        for tok in made:
            tok.train_from_iterator(lines, vocab_size=300, show_progress=False)
        found.append([(json.loads(tok.to_str()), tok.encode("A sentence").tokens) for tok in made])
    assert found[0] == found[1]
    bert = [lib.BertWordPieceTokenizer({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##b": 4}) for lib in (peer, ours)]
    same(bert[0].encode("AB a", "ab"), bert[1].encode("AB a", "ab"), "bert")
    for make in (ours.CharBPETokenizer, ours.BertWordPieceTokenizer, ours.SentencePieceUnigramTokenizer):
        tok = make()
        tok.train_from_iterator(lines, **({"unk_token": "<unk>"} if "Unigram" in make.__name__ else {}))
        assert tok.encode("another sentence").tokens and tok.get_vocab_size() > 9 and "vocabulary_size" in repr(tok)


def test_a_repository_in_the_cache_of_the_hub_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants: Any = pytest.importorskip("huggingface_hub.constants", reason="lacks huggingface_hub")
    folder = tmp_path / "models--org--name"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc")
    (folder / "snapshots" / "abc").mkdir(parents=True)
    byte_level(ours).save(folder / "snapshots" / "abc" / "tokenizer.json")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    tok = ours.Tokenizer.from_pretrained("org/name")
    assert tok.encode(SHOWN[0]).ids == byte_level(ours).encode(SHOWN[0]).ids
    (folder / "snapshots" / "abc" / "tokenizer.json").rename(folder / "snapshots" / "abc" / "tekken.json")
    with pytest.raises(NotImplementedError, match=r"tekken.json of org/name; call Tokenizer\(toksmith.load"):
        ours.Tokenizer.from_pretrained("org/name")


def test_a_trained_wordpiece_and_a_unigram_are_usable() -> None:
    for kind in ("WordPiece", "Unigram"):
        tok = ours.Tokenizer(getattr(ours.models, kind)())
        tok.pre_tokenizer = ours.pre_tokenizers.Whitespace()
        name, option = {"WordPiece": ("[UNK]", {}), "Unigram": ("<unk>", {"unk_token": "<unk>"})}[kind]
        trainer = getattr(ours.trainers, f"{kind}Trainer")(vocab_size=60, special_tokens=[name], **option)
        tok.train_from_iterator(["low lower lowest slow"] * 5, trainer)
        assert len(tok.encode("lower slow").ids) < 9 and tok.token_to_id(name) == 0
        assert peer.Tokenizer.from_str(tok.to_str()).encode("lower slow").ids == tok.encode("lower slow").ids


def test_a_change_to_a_copy_leaves_the_original(both: Any) -> None:
    _, own = both
    copied = copy.deepcopy(own)
    copied.add_tokens(["<only here>"])
    assert own.token_to_id("<only here>") is None and copied.encode("<only here>").ids != own.encode("<only here>").ids
    for other in (pickle.loads(pickle.dumps(own)), ours.Tokenizer.from_buffer(own.to_str().encode())):
        assert other.encode(SHOWN[4]).ids == own.encode(SHOWN[4]).ids
    encoding = own.encode(SHOWN[4])
    same(encoding, pickle.loads(pickle.dumps(encoding)), "pickled")


def test_a_toksmith_tokenizer_runs_unchanged(tmp_path: Path) -> None:
    own = toksmith.train("low lower lowest", merges=3, pattern="cl100k", special_tokens=["<|e|>"])
    tok = ours.Tokenizer(own)
    assert tok.own is own and tok.encode("low lower<|e|>").ids == own.encode("low lower<|e|>", special="allow")
    tok.encode_special_tokens = True
    assert tok.encode("low<|e|>").ids == own.encode("low<|e|>", special="text")
    tok.save(tmp_path / "tokenizer.json")
    assert toksmith.load(tmp_path / "tokenizer.json").encode("lower") == own.encode("lower")
    assert ours.Tokenizer.from_pretrained(str(tmp_path)).encode("lower").ids == own.encode("lower")


WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a part in Python": (lambda: ours.pre_tokenizers.PreTokenizer.custom(7), NotImplementedError, "custom"),
    "a class": (lambda: ours.NormalizedString, NotImplementedError, "NormalizedString; use normalizer.normalize_str"),
    "a model of another library": (
        lambda: ours.SentencePieceUnigramTokenizer.from_spm("m.model"),
        NotImplementedError,
        "from_spm; call tokenizers.Tokenizer",
    ),
    "a token of the hub": (
        lambda: ours.Tokenizer.from_pretrained("a/b", token="x"),
        NotImplementedError,
        "set the variable HF_TOKEN",
    ),
    "a method": (lambda: byte_level(ours).prefetch(), NotImplementedError, "Tokenizer.prefetch"),
    "an option": (lambda: ours.models.BPE(dropuot=0.1), TypeError, "BPE: .*dropuot"),
    "a batch of one text": (lambda: byte_level(ours).encode_batch("low"), TypeError, "a list of texts"),
    "no text": (lambda: byte_level(ours).encode(7), TypeError, "TextInputSequence must be str"),
    "another trainer": (
        lambda: byte_level(ours).train_from_iterator([], ours.trainers.UnigramTrainer()),
        ValueError,
        "UnigramTrainer can only train a Unigram",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_missing_part_names_the_alternative(wrong: str) -> None:
    call, kind, said = WRONG[wrong]
    with pytest.raises(kind, match=said):
        call()


@pytest.mark.slow
def test_it_takes_the_name_of_the_library() -> None:
    code = """
from toksmith import compat
compat.install("tokenizers")
import tokenizers
from tokenizers.models import BPE
from tokenizers import pre_tokenizers
tok = tokenizers.Tokenizer(BPE())
print(type(tok).__module__, pre_tokenizers.__name__)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["toksmith.compat.tokenizers._tokenizer", "toksmith.compat.tokenizers.pre_tokenizers"]
    with pytest.raises(toksmith.errors.InvalidOption, match="not imported yet"):
        compat.install("tokenizers")
    with pytest.raises(toksmith.errors.InvalidOption, match="one of minbpe"):
        compat.install("torch")


@pytest.mark.parametrize("library", [ours, peer], ids=["ours", "theirs"])
def test_a_text_in_place_of_a_list_is_refused(library: Any) -> None:
    tok = library.Tokenizer(library.models.BPE(vocab={"a": 0}, merges=[]))
    parts = library.decoders.ByteLevel()
    for call in (tok.decode, tok.add_tokens, tok.add_special_tokens, parts.decode):
        with pytest.raises(TypeError):
            call("a")
    with pytest.raises(UnicodeEncodeError):
        parts.decode(["\ud800"])
    with pytest.raises(TypeError):
        parts.decode([1])
    for ids in (["0"], [0.5]):
        with pytest.raises(TypeError):
            tok.decode(ids)
    assert tok.decode([0]) == "a" and tok.add_tokens(["b"]) == 1
