"""A wrong pattern is noticed: how many tokens do not encode to themselves under it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toksmith
from toksmith import Model, Tokenizer
from toksmith._formats import FORMATS, UNSET
from toksmith._judge.doctor import doctor
from toksmith._model import patterns
from toksmith.types import AddedToken, Step, TokenTable

# Of the 99,483 tokens of cl100k that are UTF-8.
FIGURES = {"cl100k": 0, "o200k": 5_599, "gpt2": 21_687, "single digits": 1_102}


@pytest.mark.slow
@pytest.mark.parametrize("pattern", FIGURES)
def test_cl100k_has_the_known_misfits_under_each_pattern(pattern: str, vocab_dir: Path) -> None:
    cl100k = toksmith.patterns()["cl100k"].regexes[0]
    digits = cl100k.replace(r"\p{N}{1,3}+", r"\p{N}")
    assert digits != cl100k
    tok = toksmith.load(vocab_dir / "cl100k_base.tiktoken", pattern=digits if pattern == "single digits" else pattern)
    fit = tok.pattern_fits()
    assert (fit.misfits, fit.tokens, bool(fit)) == (FIGURES[pattern], 99_483, pattern == "cl100k")
    assert len(fit.examples) == (5 if fit.misfits else 0)
    for id, token in fit.examples:
        assert tok.token_bytes(id) == token and tok.encode(token) != [id]
    assert tok.pattern_fits() is fit


def test_the_fit_prints_its_misfits() -> None:
    tok = toksmith.train("a;\na;\na;\n", merges=1, pattern="cl100k")
    assert str(tok.pattern_fits()) == "each of 129 tokens encodes to itself"
    model = dataclasses.replace(tok.model, splitters=patterns.splitters("gpt2"))
    fit = toksmith.Tokenizer(model).pattern_fits()
    assert (fit.misfits, fit.examples) == (1, ((256, b";\n"),))
    assert str(fit) == "1 of 129 tokens do not encode to themselves, such as ';\\n'"


def test_tokens_that_are_not_text_are_left_out() -> None:
    tok = toksmith.train(b"\xe2\x82\xe2\x82", merges=1, pattern=None)
    assert tok.token_bytes(256) == b"\xe2\x82"
    assert tok.pattern_fits().tokens == 128


def of(*tokens: str, **fields: Any) -> Model:
    """A model of tokens with the ids from 1, after an unknown token that is added."""
    given: dict[str, Any] = {"unknown_id": 0, "added_tokens": (AddedToken("<unk>", 0),), "unit": "char", **fields}
    if isinstance(given.get("scores"), list):
        given["scores"] = np.array(given["scores"], np.float32)
    table = TokenTable.of([token.encode() for token in tokens])
    return Model(table, np.arange(1, 1 + len(tokens), dtype=np.uint32), **given)


def whole_text(dummy: str, *, remove_extra: bool) -> dict[str, Any]:
    """SentencePiece's steps."""
    options = {"charsmap": "", "dummy": dummy, "escape": True, "remove_extra": remove_extra}
    strip = "each" if remove_extra else "once"
    return {
        "normalizers": (Step("sentencepiece", tuple(sorted(options.items()))),),
        "decoders": (Step("sentencepiece", (("strip", strip), ("unknown", " ⁇ "))),),
    }


def hf(model: dict[str, Any], **parts: Any) -> Model:
    import json

    text = json.dumps({"version": "1.0", "added_tokens": [], "model": model, **parts})
    return FORMATS["tokenizer_json"].load(text.encode(), "x", pattern=UNSET, special_tokens=None)


UNIGRAM = ("▁", "l", "o", "w", "▁low", "lo", "ow")
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
# By hand: how many tokens are text, and those that no text gives.
WORKED: dict[str, tuple[Callable[[], Model], int, list[bytes]]] = {
    # l and o together are better than lo; o and w are worse than ow.
    "unigram": (
        lambda: of(*UNIGRAM, kind="unigram", scores=[-1, -1, -1, -1, -1, -5, -1], **whole_text("before", remove_extra=True)), 7, [b"lo"]
    ),
    "unigram of HF": (
        lambda: hf(
            {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [["<unk>", 0.0], *([token, -5.0 if token == "lo" else -1.0] for token in UNIGRAM)]},
            pre_tokenizer=METASPACE, decoder=METASPACE,
        ), 8, [b"lo"]  # <unk> is an ordinary token there, and five characters are worse than it
    ),
    # lowe is not two tokens, so that nothing merges to it.
    "SentencePiece's pairs": (
        lambda: of("▁", "l", "o", "w", "e", "lo", "▁lo", "lowe", merge_rule="bytes", scores=[*range(8)], **whole_text("before", remove_extra=False)), 8, [b"lowe"]
    ),
    # The normalizer leaves no capital; ##e-e is two pieces; ##er continues a word.
    "WordPiece": (
        lambda: of(
            "low", "l", "Low", "##e", "##er", "##e-e", kind="wordpiece", continuing_subword_prefix="##", max_piece_chars=9,
            normalizers=(Step("lowercase"),), splitters=(Step("bert"),),
        ), 6, [b"Low", b"##e-e"]
    ),
    # Nothing merges to ow; low</w> ends a word.
    "ends of words": (
        lambda: of(
            "l", "o", "w", "w</w>", "lo", "low</w>", "ow", end_of_word_suffix="</w>", merges=np.array([[1, 2, 5], [5, 4, 6]], np.uint32),
            splitters=(Step("whitespace_split"),),
        ), 7, [b"ow"]
    ),
    "bytes": (
        lambda: dataclasses.replace(toksmith.train("a;\n" * 3, merges=1, pattern="cl100k").model, splitters=patterns.splitters("gpt2")), 129, [b";\n"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKED)
def test_misfits_of_every_kind_equal_worked_examples(name: str) -> None:
    make, tokens, wrong = WORKED[name]
    tok = Tokenizer(make())
    fit = tok.pattern_fits()
    assert (fit.tokens, sorted(token for _, token in fit.examples)) == (tokens, sorted(wrong))
    counts = doctor(tok)["unreachable"].counts
    assert (counts["whole characters"], counts["encode to themselves"]) == (tokens, tokens - fit.misfits)


@pytest.mark.parametrize(
    "options", [{"kind": "unigram"}, {"kind": "wordpiece"}, {"end_of_word_suffix": "</w>"}, {"unit": "char"}]
)
def test_trained_tokens_encode_to_themselves(options: dict[str, Any]) -> None:
    tok = toksmith.train("low lower lowest newest widest, 12 times " * 3, 60, progress=False, **options)
    assert tok.pattern_fits() and doctor(tok)["unreachable"].severity == "pass"
