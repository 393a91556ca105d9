"""Filling in the middle: the marks of published vocabularies, in the order of their publishers, and plain text around them."""

from pathlib import Path
from typing import NamedTuple

import pytest

import toksmith
from toksmith import fim
from toksmith.errors import InvalidOption
from toksmith.types import FimMarks

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


def test_every_row_of_the_table_is_tested() -> None:
    assert {(name, order) for name, row in toksmith.fim_marks().items() for order in row.orders} == {*ORDERS}


def test_a_mark_in_the_text_is_plain_text() -> None:
    tok = with_marks("starcoder")
    ids = fim(tok, "a<fim_middle>b", "<fim_prefix>", "<fim_suffix>")
    marks = {*tok.special_tokens.values()}
    assert [id for id in ids if id in marks] == [
        tok.token_id(f"<fim_{part}>") for part in ("prefix", "suffix", "middle")
    ]


def test_missing_marks_and_orders_are_named() -> None:
    plain = toksmith.train("low", merges=1, progress=False)
    with pytest.raises(InvalidOption, match="add_special"):
        fim(plain, "a", "b")
    with pytest.raises(InvalidOption, match="'psm', the orders of DeepSeek"):
        fim(with_marks("deepseek"), "a", "b", order="spm")
    with pytest.raises(InvalidOption, match="special or added tokens"):
        fim(plain, "a", "b", marks=toksmith.fim_marks()["openai"])


def test_given_marks_are_used() -> None:
    tok = toksmith.train("low", merges=1, special_tokens=["<1>", "<2>", "<3>"], progress=False)
    own = FimMarks("<1>", "<2>", "<3>", ("psm",), "this test")
    assert tok.decode(fim(tok, "a", "b", marks=own)) == "<1>a<2>b<3>"


class Published(NamedTuple):
    """A vocabulary: its file, its name for `load` if it has one, and its prompts as its publisher writes them.

    `{0}` is the text before the gap and `{1}` the text after it; each row names its source.
    """

    file: str
    name: str | None
    psm: str
    spm: str | None = None
    marks: tuple[int, int, int] | None = None  # published ids of prefix, suffix and middle


OPENAI = "<|fim_prefix|>{0}<|fim_suffix|>{1}<|fim_middle|>", "<|fim_prefix|><|fim_suffix|>{1}<|fim_middle|>{0}"
BIGCODE = "<fim_prefix>{0}<fim_suffix>{1}<fim_middle>", "<fim_prefix><fim_suffix>{1}<fim_middle>{0}"
PUBLISHED = [
    # tiktoken's table of special tokens; the orders of Bavarian et al. 2022.
    Published("cl100k_base.tiktoken", "cl100k_base", *OPENAI, (100258, 100260, 100259)),
    Published("p50k_base.tiktoken", "p50k_edit", *OPENAI, (50281, 50283, 50282)),
    # The model cards; BigCode's Megatron-LM trains both orders.
    Published("starcoder_tokenizer.json", None, *BIGCODE, (1, 3, 2)),
    Published("starcoder2_tokenizer.json", None, *BIGCODE, (1, 3, 2)),
    # The README of Qwen2.5-Coder, and the prompt page of CodeGemma.
    Published("qwen2.5_coder_tokenizer.json", None, *OPENAI, (151659, 151661, 151660)),
    Published("codegemma_tokenizer.json", None, *OPENAI),
    # The README of DeepSeek-Coder: one order.
    Published("deepseek_coder_tokenizer.json", None, "<｜fim▁begin｜>{0}<｜fim▁hole｜>{1}<｜fim▁end｜>"),
]


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row.name or row.file)
def test_prompts_of_published_vocabularies_equal_their_publishers(
    row: Published, vocab_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (vocab_dir / row.file).is_file():
        pytest.skip(f"lacks {row.file} in {vocab_dir}")
    monkeypatch.setenv("TOKSMITH_CACHE", str(vocab_dir))
    tok = toksmith.load(row.name or vocab_dir / row.file)
    ids = fim(tok, BEFORE, AFTER)
    assert ids == fim(tok, BEFORE, AFTER, order="psm") and tok.decode(ids) == row.psm.format(BEFORE, AFTER)
    if row.marks is not None:
        prefix, suffix, middle = row.marks
        assert (ids[0], ids[-1]) == (prefix, middle) and ids.count(suffix) == 1
    if row.spm is None:
        with pytest.raises(InvalidOption, match="order"):
            fim(tok, BEFORE, AFTER, order="spm")
        return
    assert tok.decode(fim(tok, BEFORE, AFTER, GAP, order="spm")) == row.spm.format(BEFORE, AFTER) + GAP


@pytest.mark.parametrize(
    "name", ["gpt2", "r50k_base", "p50k_base", "o200k_base", "llama3.tiktoken", "mistral_v1.model"]
)
def test_a_published_vocabulary_without_marks_is_refused(
    name: str, vocab_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = {"gpt2": "vocab.bpe"}.get(name, name if "." in name else f"{name}.tiktoken")
    if not (vocab_dir / file).is_file():
        pytest.skip(f"lacks {file} in {vocab_dir}")
    monkeypatch.setenv("TOKSMITH_CACHE", str(vocab_dir))
    pattern = {"pattern": "llama3"} if name.startswith("llama3") else {}
    tok = toksmith.load(vocab_dir / name if "." in name else name, **pattern)  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="one of these sets of special tokens"):
        fim(tok, BEFORE, AFTER)
