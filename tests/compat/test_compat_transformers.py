"""transformers on exports, and the drop-in against its fast class: the same ids, masks, types, padding and texts."""

import copy
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
from dropins.tokenizers_cases import fields
from hard_texts import HARD_TEXTS
from peers import imported_transformers, scalar
from trainings import trained, with_fields

import toksmith
from toksmith import Tokenizer
from toksmith.errors import CannotRepresent, InvalidOption
from toksmith.types import AddedToken, Step

transformers = imported_transformers()
from toksmith.compat.transformers import ToksmithTokenizer, export

TEXT = "low lower lowest slow it's 12 newer, hello world. The lower the newer. " * 3
TOK = trained(TEXT, merges=30, pattern="llama3", special_tokens=["<|e|>", "<s>", "<pad>"])
TEXTS = [scalar(text) for text in HARD_TEXTS.values()] + ["low<|e|>er <s> x", "xx lower", "  <|e|>  "]
SHORT = 40  # ids, overflow included, of an encoding whose every field is compared
WITH_ALL = {"return_special_tokens_mask": True, "return_token_type_ids": True, "return_offsets_mapping": True}


def template(bos: int, eos: int) -> Step:
    tokens = {"<s>": [[bos], ["<s>"]], "<|e|>": [[eos], ["<|e|>"]]}
    single = [["<s>", True, 0], ["A", False, 0], ["<|e|>", True, 0]]
    pair = [*single, ["B", False, 1], ["<|e|>", True, 1]]
    return Step("template", (("pair", pair), ("single", single), ("special_tokens", tokens)))


def framed() -> Tokenizer:
    """With tokens around texts, a token that is not special, and a normalizer."""
    e, s = TOK.token_id("<|e|>"), TOK.token_id("<s>")
    added = (*TOK.model.added_tokens, AddedToken("xx", TOK.vocab_size, special=False))
    return with_fields(TOK, post=(template(s, e),), normalizers=(Step("nfc"),), added_tokens=added)


TOKS: dict[str, Callable[[], Tokenizer]] = {"plain": lambda: TOK, "framed": framed}


@pytest.fixture(scope="module", params=TOKS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Tokenizer]:
    """The fast class on an export, the drop-in's class, and their common tokenizer."""
    tok = TOKS[request.param]()
    folder = tmp_path_factory.mktemp("export")
    named = {"eos_token": "<|e|>", "pad_token": "<pad>"}
    export(tok, folder, **named)
    fast = transformers.PreTrainedTokenizerFast.from_pretrained(str(folder))
    return fast, ToksmithTokenizer(tok, **named), tok


def test_the_fast_class_gives_our_ids(pair: Any) -> None:
    fast, _, tok = pair
    assert fast.is_fast and len(fast) == len(tok)
    for text in TEXTS:
        assert fast.encode(text, add_special_tokens=False) == tok.encode(text, special="allow"), text
        assert fast.encode(text) == tok.encode(text, special="allow", add_special_tokens=True), text
    assert (fast.eos_token, fast.pad_token) == ("<|e|>", "<pad>")


@pytest.mark.slow
def test_auto_tokenizer_finds_an_export(tmp_path: Path) -> None:
    tok = TOK
    paths = export(tok, tmp_path / "new", eos_token="<|e|>", model_max_length=77)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(Path(path).name for path in paths)
    fast = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "new"))
    assert fast.encode("low lower") == tok.encode("low lower") and fast.model_max_length == 77


CALLS: dict[str, dict[str, Any]] = {
    "a text": {},
    "without what is put around": {"add_special_tokens": False},
    "truncated": {"truncation": True, "max_length": 5},
    "padded": {"padding": "max_length", "max_length": 12},
    "padded to a multiple": {"padding": True, "pad_to_multiple_of": 8},
    "both": {"padding": "max_length", "truncation": True, "max_length": 6},
    "padded on the left": {"padding": "max_length", "max_length": 9, "padding_side": "left", "truncation": True},
    "special tokens as text": {"split_special_tokens": True},
    "with what overflows": {"truncation": True, "max_length": 20, "stride": 2, "return_overflowing_tokens": True},
}


@pytest.mark.parametrize("call", CALLS)
def test_the_drop_in_returns_what_the_fast_class_returns(pair: Any, call: str) -> None:
    fast, slow, _ = pair
    options = CALLS[call] | WITH_ALL
    for text in TEXTS:
        if text or "padding" not in options:
            same(fast(text, **options), slow(text, **options), (text, call))
    batch = [text for text in TEXTS if text]
    same(fast(batch, **options), slow(batch, **options), call)
    if "truncation" not in options:
        pairs = list(zip(batch, reversed(batch), strict=True))
        same(fast(pairs, **options), slow(pairs, **options), call)
        same(fast(*zip(*pairs, strict=True), **options), slow(*map(list, zip(*pairs, strict=True)), **options), call)


def same(expected: Any, found: Any, said: Any) -> None:
    """Check every column; for short encodings also every field, and the methods for each character and word."""
    assert expected.data == found.data, said
    assert len(expected.encodings) == len(found.encodings)
    for one, two in zip(expected.encodings, found.encodings, strict=True):
        if len(one) * (1 + len(one.overflowing)) < SHORT:
            assert fields(one) == fields(two), said


def test_pairs_are_cut_by_strategies(pair: Any) -> None:
    fast, slow, _ = pair
    one, two = "low lower lowest slow", "newer hello world, hello"
    for strategy, length in itertools.product(("only_first", "only_second"), (14, 12)):
        options = {"truncation": strategy, "max_length": length} | WITH_ALL
        same(fast(one, two, **options), slow(one, two, **options), strategy)


def test_tensors_are_equal(pair: Any) -> None:
    fast, slow, _ = pair
    for given in ("low lower", ["low lower", "slow"]):
        expected = fast(given, padding=True, return_tensors="np")
        found = slow(given, padding=True, return_tensors="np")
        for name in ("input_ids", "attention_mask"):
            assert isinstance(found[name], np.ndarray) and np.array_equal(found[name], expected[name])


def test_words_split_before_the_call_have_equal_offsets(pair: Any) -> None:
    fast, slow, tok = pair
    options = {"is_split_into_words": True, "add_special_tokens": False} | WITH_ALL
    words = slow(["low", "lower"], **options)
    same(fast(["low", "lower"], **options), words, "words")
    own = [tok.encode_with_offsets(word) for word in ("low", "lower")]
    assert words["offset_mapping"] == [span for each in own for span in each.spans]
    with pytest.raises(ValueError, match="text input must be"):
        slow([1, 2], return_offsets_mapping=True)


def test_decoded_texts_are_equal(pair: Any) -> None:
    fast, slow, tok = pair
    for text in TEXTS:
        ids = slow.encode(text)
        for skip in (False, True):
            assert slow.decode(ids, skip_special_tokens=skip) == fast.decode(ids, skip_special_tokens=skip)
    rows = [slow.encode("low"), slow.encode("slow")]
    assert slow.batch_decode(rows) == fast.batch_decode(rows)
    assert slow.decode(np.array(rows[0])) == fast.decode(rows[0]) and slow.decode(rows[0][0]) == fast.decode(rows[0][0])
    assert slow.decode([tok.vocab_size]) == fast.decode([tok.vocab_size]) == ""


def test_tokens_and_vocabulary_are_equal(pair: Any) -> None:
    fast, slow, tok = pair
    assert slow.get_vocab() == fast.get_vocab() and len(slow) == len(fast) and slow.vocab_size == fast.vocab_size
    for text in TEXTS:
        assert slow.tokenize(text) == fast.tokenize(text)
        assert slow.tokenize(text, add_special_tokens=True) == fast.tokenize(text, add_special_tokens=True)
    tokens = slow.tokenize("low lower é")
    assert slow.convert_tokens_to_ids(tokens) == tok.encode("low lower é") == fast.convert_tokens_to_ids(tokens)
    assert slow.convert_ids_to_tokens(tok.encode("low lower é")) == tokens
    assert slow.convert_tokens_to_string(tokens) == tok.decode(tok.encode("low lower é"))
    assert slow.convert_tokens_to_ids("no such token") is None
    assert set(slow.all_special_tokens) == set(tok.special_tokens), (
        "the fast class knows only of those that have a name"
    )


def test_special_tokens_around_texts_are_equal(pair: Any) -> None:
    fast, slow, tok = pair
    assert slow.num_special_tokens_to_add() == fast.num_special_tokens_to_add()
    assert slow.num_special_tokens_to_add(pair=True) == fast.num_special_tokens_to_add(pair=True)
    assert slow.encode("low", "lower") == tok.post_process(tok.encode("low"), tok.encode("lower"))
    ids = slow.encode("low")
    mask = slow.get_special_tokens_mask(ids, already_has_special_tokens=True)
    assert mask == [int(id in slow.all_special_ids) for id in ids]


CHAT = (
    "{% for message in messages %}{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] }}"
    "{% endgeneration %}{% else %}{{ message['content'] }}{% endif %}{% endfor %}"
)


def test_the_turn_of_an_assistant_has_a_mask(pair: Any) -> None:
    _, slow, tok = pair
    messages = [{"role": "user", "content": "low lower "}, {"role": "assistant", "content": "slow newer"}]
    options: dict[str, Any] = {"tokenize": True, "return_dict": True, "return_assistant_tokens_mask": True}
    found = slow.apply_chat_template(messages, chat_template=CHAT, add_special_tokens=False, **options)
    said = [id for id, mask in zip(found["input_ids"], found["assistant_masks"], strict=True) if mask]
    assert tok.decode(said) == " slow newer", "with the whole of the first token"


def test_a_new_tokenizer_is_trained_like_this_one(pair: Any) -> None:
    fast, slow, _ = pair
    lines = [["low lower lowest", "slow slower slow"], ["it's newer"]]
    expected, found = (each.train_new_from_iterator(lines, 300) for each in (fast, slow))
    assert type(found) is ToksmithTokenizer and len(found) > 257
    assert {**found.get_vocab(), "xx": 276} == {**expected.get_vocab(), "xx": 276}
    assert found("slowest, <|e|>")["input_ids"] == expected("slowest, <|e|>")["input_ids"]


def test_models_like_bert_take_types() -> None:
    words = toksmith.train([TEXT], 100, kind="wordpiece", special_tokens=["[CLS]", "[SEP]"], progress=False)
    assert "token_type_ids" in ToksmithTokenizer(words)("low")
    assert "token_type_ids" not in ToksmithTokenizer(TOK)("low")


def test_added_tokens_get_the_next_ids() -> None:
    slow = ToksmithTokenizer(TOK)
    size = len(slow)
    assert slow.add_tokens([]) == 0
    assert slow.add_tokens(["<new>", "low", "<new>"]) == 1 and len(slow) == size + 1
    assert slow.encode("<new>low") == [size, slow.tokenizer.token_id("low")]
    assert (
        slow.add_special_tokens({"pad_token": "[PAD]", "mask_token": transformers.AddedToken("[M]", lstrip=True)}) == 2
    )
    assert slow.tokenize("a <new> b") == ["a", "Ġ", "<new>", "Ġ", "b"], "plain strings have no flags"
    assert slow.pad_token_id == size + 1 and slow.encode("a  [M]") == [97, size + 2]
    assert slow.decode([97, size + 1], skip_special_tokens=True) == "a"
    assert Tokenizer(TOK.model) == TOK, "the tokenizer that it was made of is what it was"


def test_models_of_sentencepiece_take_added_strings(tmp_path: Path) -> None:
    options: dict[str, Any] = {"unit": "char", "byte_fallback": True, "special_tokens": ["<s>"], "progress": False}
    own = toksmith.train([TEXT], 400, **options)
    slow = ToksmithTokenizer(own, bos_token="<s>", unk_token="<unk>")
    text = "low  lower é <new> slow"
    assert slow.encode(text, add_special_tokens=False) == own.encode(text)
    assert slow.add_tokens(["<new>"]) == 1 and slow.encode(text)[-2] == len(slow) - 1
    assert slow.decode(slow.encode(text)) == text
    slow.save_pretrained(str(tmp_path))
    assert transformers.AutoTokenizer.from_pretrained(str(tmp_path)).encode(text) == slow.encode(text)
    unigram = toksmith.train([TEXT], 60, kind="unigram", progress=False)
    with pytest.raises(CannotRepresent, match="allow_loss"):
        ToksmithTokenizer(unigram)
    lost = ["scores", "decoders", "normalizers"]
    assert ToksmithTokenizer(unigram, allow_loss=lost).encode("low lower") == unigram.encode("low lower")


@pytest.mark.slow
def test_a_saved_tokenizer_loads_again(pair: Any, tmp_path: Path) -> None:
    _, slow, tok = pair
    slow.save_pretrained(str(tmp_path))
    assert (tmp_path / "tokenizer.toksmith").is_file()
    again = ToksmithTokenizer.from_pretrained(str(tmp_path))
    assert again.tokenizer == tok and again.pad_token == "<pad>"
    for other in (again, pickle.loads(pickle.dumps(slow)), copy.deepcopy(slow)):
        assert other("low lower<|e|>")["input_ids"] == slow("low lower<|e|>")["input_ids"]
    assert ToksmithTokenizer(vocab_file=tmp_path / "tokenizer.toksmith").tokenizer == tok
    auto = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    for text in TEXTS:
        assert auto.encode(text) == slow.encode(text), text


def test_a_batch_is_padded_to_one_shape(pair: Any) -> None:
    _, slow, _ = pair
    rows = [slow("low lower"), slow("slow")]
    batch = slow.pad(rows, return_tensors="np")
    assert batch["input_ids"].shape == batch["attention_mask"].shape


def test_wrong_arguments_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="eos_token"):
        export(TOK, tmp_path, eos_token="<no>")
    with pytest.raises(CannotRepresent):
        export(toksmith.train("a b", kind="words", pattern=r"\w+|\W+"), tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidOption, match="vocab_file"):
        ToksmithTokenizer()
    with pytest.raises(ValueError, match="does not match batch length"):
        ToksmithTokenizer(TOK)(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="text input must be"):
        ToksmithTokenizer(TOK).encode(7)


@pytest.mark.slow
def test_without_transformers_exporting_works_and_the_class_names_the_extra(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["transformers"] = None
import toksmith
from toksmith.compat import transformers
tok = toksmith.train("low lower", merges=2)
transformers.export(tok, sys.argv[1])
try:
    transformers.ToksmithTokenizer(tok)
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "pip install 'toksmith[transformers]'" in run.stdout and (tmp_path / "tokenizer.json").is_file()


def test_padding_of_the_file_is_the_default(tmp_path: Path) -> None:
    options = {"length": None, "side": "left", "multiple_of": None, "id": 288, "type_id": 0, "token": "<pad>"}
    tok = with_fields(TOK, post=(Step("pad", tuple(sorted(options.items()))),))
    slow = ToksmithTokenizer(tok)
    assert (slow.padding_side, slow.pad_token) == ("left", "<pad>")
    export(tok, tmp_path)
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["pad_token"] == "<pad>"
    fast = transformers.PreTrainedTokenizerFast.from_pretrained(str(tmp_path))
    batch = ["low", "low lower slow"]
    assert slow(batch, padding=True)["input_ids"] == fast(batch, padding=True)["input_ids"]
