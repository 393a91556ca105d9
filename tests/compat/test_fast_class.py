"""The fast class of transformers on folders of toksmith, and with the drop-in of tokenizers as its backend.

`test_dropins.py` compares drawn calls of the class with both backends, and `test_switch_calls.py` with the switch.
"""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_texts import HARD_TEXTS
from peers import imported_transformers, scalar
from trainings import trained, with_fields

import toksmith
from toksmith import Tokenizer
from toksmith.compat import tokenizers as ours
from toksmith.errors import CannotRepresent
from toksmith.types import AddedToken, Step

transformers = imported_transformers()

TEXT = "low lower lowest slow it's 12 newer, hello world. The lower the newer. " * 3
TOK = trained(TEXT, merges=30, pattern="llama3", special_tokens=["</s>", "<s>", "<pad>"])
TEXTS = [scalar(text) for text in HARD_TEXTS.values()] + ["low</s>er <s> x", "xx lower", "  </s>  "]
ROLES = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


def template(bos: int, eos: int) -> Step:
    tokens = {"<s>": [[bos], ["<s>"]], "</s>": [[eos], ["</s>"]]}
    single = [["<s>", True, 0], ["A", False, 0], ["</s>", True, 0]]
    pair = [*single, ["B", False, 1], ["</s>", True, 1]]
    return Step("template", (("pair", pair), ("single", single), ("special_tokens", tokens)))


def framed() -> Tokenizer:
    """With tokens around texts, a token that is not special, and a normalizer."""
    e, s = TOK.token_id("</s>"), TOK.token_id("<s>")
    added = (*TOK.model.added_tokens, AddedToken("xx", TOK.vocab_size, special=False))
    return with_fields(TOK, post=(template(s, e),), normalizers=(Step("nfc"),), added_tokens=added)


TOKS: dict[str, Callable[[], Tokenizer]] = {"plain": lambda: TOK, "framed": framed}


@pytest.fixture(scope="module", params=TOKS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Tokenizer]:
    """The class on a folder, the class on the drop-in, and their common tokenizer."""
    tok = TOKS[request.param]()
    folder = tmp_path_factory.mktemp("folder")
    tok.save(folder)
    fast = transformers.AutoTokenizer.from_pretrained(str(folder))
    return fast, transformers.PreTrainedTokenizerFast(tokenizer_object=ours.Tokenizer(tok), **ROLES), tok


def test_folder_and_drop_in_give_our_ids_and_texts(both: Any) -> None:
    *fasts, tok = both
    for fast in fasts:
        assert fast.is_fast and len(fast) == len(tok) and {name: getattr(fast, name) for name in ROLES} == ROLES
        for text in TEXTS:
            ids = fast.encode(text, add_special_tokens=False)
            assert ids == tok.encode(text, special="allow"), text
            assert fast.encode(text) == tok.encode(text, special="allow", add_special_tokens=True), text
            assert fast.decode(ids) == tok.decode(ids), text


def test_batches_are_padded_to_equal_tensors(both: Any) -> None:
    fast, on_drop_in, _ = both
    options: dict[str, Any] = {"padding": True, "return_tensors": "np", "return_offsets_mapping": True}
    expected, actual = (each(["low lower", "slow"], **options) for each in (fast, on_drop_in))
    assert expected.keys() == actual.keys()
    assert all(np.array_equal(expected[name], actual[name]) for name in expected)


def test_a_drop_in_is_saved_copied_and_pickled(both: Any, tmp_path: Path) -> None:
    _, on_drop_in, tok = both
    on_drop_in.save_pretrained(str(tmp_path))
    again = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    for other in (again, pickle.loads(pickle.dumps(on_drop_in)), copy.deepcopy(on_drop_in)):
        assert other("low lower</s>")["input_ids"] == on_drop_in("low lower</s>")["input_ids"]
    assert toksmith.load(tmp_path).encode("slow lower") == tok.encode("slow lower")


def test_models_of_sentencepiece_take_added_strings() -> None:
    options: dict[str, Any] = {"unit": "char", "byte_fallback": True, "special_tokens": ["<s>"], "progress": False}
    own = toksmith.train([TEXT], 400, **options)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=ours.Tokenizer(own), unk_token="<unk>")
    text = "low  lower é <new> slow"
    assert fast.encode(text, add_special_tokens=False) == own.encode(text)
    assert fast.add_tokens(["<new>"]) == 1 and fast.encode(text)[-2] == len(fast) - 1
    assert fast.decode(fast.encode(text)) == text
    unigram = toksmith.train([TEXT], 60, kind="unigram", progress=False)
    with pytest.raises(CannotRepresent, match="allow_loss"):
        ours.Tokenizer(unigram)
    lost = ["scores", "decoders", "normalizers"]
    assert ours.Tokenizer(unigram, allow_loss=lost).encode("low lower").ids == unigram.encode("low lower")
