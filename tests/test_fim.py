"""Filling in the middle: the marks of published vocabularies, in the order of their publishers, and plain text around."""

from pathlib import Path

import pytest

import toksmith
from toksmith import FimMarks, InvalidOption, fim

BEFORE, AFTER, GAP = "def area(r):\n    return ", "\n\nprint(area(2))", "3.14 * r * r"


def with_marks(name: str) -> toksmith.Tokenizer:
    row = toksmith.fim_marks()[name]
    marks = [mark for mark in (row.prefix, row.suffix, row.middle) if mark is not None]
    return toksmith.train(["def low(lower): return lowest"], merges=5, special_tokens=marks, progress=False)


ORDERS = {
    ("openai", "psm"): "<|fim_prefix|>{0}<|fim_suffix|>{1}<|fim_middle|>",
    ("openai", "spm"): "<|fim_prefix|><|fim_suffix|>{1}<|fim_middle|>{0}",
    ("starcoder", "psm"): "<fim_prefix>{0}<fim_suffix>{1}<fim_middle>",
    ("starcoder", "spm"): "<fim_prefix><fim_suffix>{1}<fim_middle>{0}",
    ("santacoder", "psm"): "<fim-prefix>{0}<fim-suffix>{1}<fim-middle>",
    ("santacoder", "spm"): "<fim-prefix><fim-suffix>{1}<fim-middle>{0}",
    ("deepseek", "psm"): "<｜fim▁begin｜>{0}<｜fim▁hole｜>{1}<｜fim▁end｜>",
    ("codestral", "spm"): "[SUFFIX]{1}[PREFIX]{0}",
}


@pytest.mark.parametrize("name, order", ORDERS)
def test_each_family_has_its_marks_in_its_order(name: str, order: str) -> None:
    tok = with_marks(name)
    expected = ORDERS[name, order].format(BEFORE, AFTER)
    assert tok.decode(fim(tok, BEFORE, AFTER, order=order)) == expected
    assert tok.decode(fim(tok, BEFORE, AFTER, GAP, order=order)) == expected + GAP
    assert fim(tok, BEFORE.encode(), AFTER.encode(), order=order) == tok.encode(expected, special="allow")
    usual = toksmith.fim_marks()[name].orders[0]
    assert (fim(tok, BEFORE, AFTER) == fim(tok, BEFORE, AFTER, order=order)) == (order == usual)


def test_the_table_has_no_other_row() -> None:
    assert {(name, order) for name, row in toksmith.fim_marks().items() for order in row.orders} == {*ORDERS}


def test_a_mark_in_the_text_is_plain_text() -> None:
    tok = with_marks("starcoder")
    ids = fim(tok, "a<fim_middle>b", "<fim_prefix>", "<fim_suffix>")
    marks = {*tok.special_tokens.values()}
    assert [id for id in ids if id in marks] == [
        tok.token_id(f"<fim_{part}>") for part in ("prefix", "suffix", "middle")
    ]


def test_what_is_missing_is_named() -> None:
    plain = toksmith.train("low", merges=1, progress=False)
    with pytest.raises(InvalidOption, match="add_special"):
        fim(plain, "a", "b")
    with pytest.raises(InvalidOption, match="'psm', the orders of DeepSeek"):
        fim(with_marks("deepseek"), "a", "b", order="spm")
    with pytest.raises(InvalidOption, match="special or added tokens"):
        fim(plain, "a", "b", marks=toksmith.fim_marks()["openai"])


def test_own_marks() -> None:
    tok = toksmith.train("low", merges=1, special_tokens=["<1>", "<2>", "<3>"], progress=False)
    own = FimMarks("<1>", "<2>", "<3>", ("psm",), "this test")
    assert tok.decode(fim(tok, "a", "b", marks=own)) == "<1>a<2>b<3>"


def test_the_published_vocabulary(vocab_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (vocab_dir / "cl100k_base.tiktoken").is_file():
        pytest.skip(f"lacks cl100k_base.tiktoken in {vocab_dir}")
    monkeypatch.setenv("TOKSMITH_CACHE", str(vocab_dir))
    ids = fim(toksmith.load("cl100k_base"), BEFORE, AFTER)
    assert (ids[0], ids[-1]) == (100258, 100259) and ids.count(100260) == 1
