"""Comparing, budgeting, linting, and the life of a token: against brute force, and by hand."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shown_results import check_shown
from trainings import trained

import toksmith
from toksmith import Tokenizer, explain
from toksmith.errors import InvalidOption, UnknownId, UnknownName

CORPUS = ["the low lower lowest slow new newer", "é 나는 나 12 12 low"]
made = partial(trained, CORPUS, pattern="o200k", special_tokens=["<|end|>"])
texts = st.text(st.sampled_from("low ertés나 \n12☀\u0301\ud800"), max_size=30)


TOKENIZERS = {
    "none": made(merges=0),
    "few": made(merges=4),
    "raw": made(merges=12, pattern=None),
    "many": made(merges=16),
}


@settings(max_examples=60)
@given(texts)
def test_differences_are_aligned_on_bytes(text: str) -> None:
    found = explain.differences(TOKENIZERS, text)
    ends = {name: {*cuts.ends} for name, cuts in found.cuts.items()}
    assert {name: list(cuts.ids) for name, cuts in found.cuts.items()} == {
        name: tok.encode(text, special="text") for name, tok in TOKENIZERS.items()
    }
    assert {*found.shared} == set.intersection(*ends.values())
    inside = {byte for difference in found.differences for byte in range(difference.start + 1, difference.end)}
    assert inside >= set.union(*ends.values()) - {*found.shared}
    assert not inside & {*found.shared}
    for difference in found.differences:
        assert difference.end in found.shared
        for cuts, places in zip(found.cuts.values(), difference.places, strict=True):
            joined = b"".join(cuts.tokens[place].token for place in places)
            assert joined == found.text[difference.start : difference.end]
    assert (found.first_difference is None) == (not found.differences)


def test_differences_are_shown_in_every_medium() -> None:
    for toks in (TOKENIZERS, list(TOKENIZERS.values()), TOKENIZERS["few"]):
        for text in ("a lower 나 ☀ <|end|>", "", b"\xff\xfe a"):
            check_shown(explain.differences(toks, text))
    assert "all cut alike" in str(explain.differences([TOKENIZERS["few"], TOKENIZERS["few"]], "lower"))
    assert [*explain.differences([TOKENIZERS["few"], TOKENIZERS["few"]], "").cuts] == [
        *("1: bpe, 261 tokens", "2: bpe, 261 tokens")
    ]
    assert len(explain.differences(TOKENIZERS, "x<|end|>", special="allow").cuts["none"].ids) == 2
    with pytest.raises(InvalidOption, match="at least one tokenizer"):
        explain.differences({}, "low")


def test_history_counts_the_tokens_that_are_left() -> None:
    """What is left of each token by its history is how often it stands in the encoded corpus."""
    for tok in (made(merges=30), toksmith.train("aaaaa aaaaaaa aaaa baaa", min_count=2, pattern=None)):
        corpus = CORPUS if tok.special_tokens else ["aaaaa aaaaaaa aaaa baaa"]
        stands = Counter(id for text in corpus for id in tok.encode(text))
        for id in tok.model.merges[:, 2].tolist():
            found = explain.history(tok, id)
            assert found.left_over == stands[id]
            assert found.born is not None
            assert [found.born.left, found.born.right] == tok.model.merges[found.born.number - 1, :2].tolist()
            assert [use.id for use in found.uses] == [use.id for use in explain.token(tok, id).children]
            check_shown(found)


def test_a_token_that_no_merge_made_has_a_history() -> None:
    tok = made(merges=5)
    byte = explain.history(tok, ord("l"))
    assert byte.born is None and byte.left_over is None and byte.uses
    check_shown(byte)
    check_shown(explain.history(tok, tok.token_id("<|end|>")))
    with pytest.raises(UnknownId):
        explain.history(tok, 1000)
    with pytest.raises(InvalidOption, match="no record"):
        explain.history(Tokenizer(toksmith.Model(tok.model.tokens, tok.model.ids)), 97)


@settings(max_examples=60)
@given(texts, st.integers(1, 12))
def test_the_fitting_text_is_covered_by_the_first_tokens(text: str, context: int) -> None:
    result = explain.budget(TOKENIZERS, text, context=context)
    for row in result.rows:
        tok = TOKENIZERS[row.tokenizer]
        ids = tok.encode(text, special="text")
        whole = tok.decode_bytes(ids)
        assert (row.tokens, row.windows) == (len(ids), (len(ids) + context - 1) // context)
        kept = tok.decode_bytes(ids[:context])
        while True:
            try:
                fits = kept.decode()
                break
            except UnicodeDecodeError:
                kept = kept[:-1]
        assert (row.fitting_bytes, row.fitting_chars) == (len(kept), len(fits))
        assert whole.startswith(kept)


def test_budgets_are_shown_in_every_medium() -> None:
    found = explain.budget(TOKENIZERS["few"], "low lower " * 500, context=explain.CONTEXTS)
    assert [row.model for row in found.rows] == ["GPT-2", "GPT-3", "Llama 1", "Llama 2", "GPT-4 32k"]
    check_shown(found)
    check_shown(explain.budget(TOKENIZERS, "", context=1))
    check_shown(explain.budget(TOKENIZERS, b"\xff" * 9, context=4))
    assert explain.budget(TOKENIZERS["none"], b"\x80" * 9, context=4).rows[0].fitting_bytes == 4
    with pytest.raises(InvalidOption, match="at least 1 token"):
        explain.budget(TOKENIZERS, "low", context=0)


LINTED = {
    "no character": ("a\ud800b", 1, "a\ufffdb"),
    "replacement character": ("a\ufffdb", 1, "ab"),
    "decomposed": ("e\u0301 \u1112\u1161\u11ab", 2, "é 한"),
    "zero-width": ("hello\u200bworld\ufeff", 2, "helloworld"),
    "joiner": ("he\u200dllo", 1, "hello"),
    "soft hyphen": ("hel\u00adlo", 1, "hello"),
    "direction mark": ("\u202eabc\u202c", 2, "abc"),
    "no-break space": ("hello\u00a0world", 1, "hello world"),
    "other space": ("a\u3000b", 1, "a b"),
    "full-width": ("ｈｉ", 2, "hi"),
    "ligature": ("ﬁn", 1, "fin"),
    "look-alike": ("hеllо world", 1, "hello world"),
    "control character": ("a\x00b\x1b", 2, "ab"),
    "carriage return": ("a\r\nb\r", 2, "a\nb\n"),
    "space before a line ends": ("a  \nb", 1, "a\nb"),
    "space at the end": ("say ", 1, "say"),
}


@pytest.mark.parametrize("row", explain.LINTS, ids=lambda row: row.name)
def test_each_lint_finds_and_repairs(row: explain.LintRow) -> None:
    text, places, repaired = LINTED[row.name]
    tok = TOKENIZERS["many"]
    found = explain.lint(tok, text)
    assert [(finding.name, finding.count) for finding in found.findings] == [(row.name, places)]
    assert found.repaired() == found.repaired(row.name) == repaired
    assert found.findings[0].tokens == tok.count(repaired)
    assert explain.lint(tok, repaired).findings == () or row.name == "no character"
    check_shown(found)


@pytest.mark.parametrize(
    "text",
    ["Привет, мир", "со сна", "καλημέρα ο κόσμος", "👩\u200d🚀", "می\u200cخواهم", "한국어", "a\n\n\tb\n", ""],
)
def test_ordinary_texts_have_no_findings(text: str) -> None:
    assert explain.lint(TOKENIZERS["few"], text).findings == ()


def test_a_long_run_of_spaces_is_read_once() -> None:
    """A search from each of its places would take hours."""
    spaces = " " * 300_000
    found = explain.lint(TOKENIZERS["few"], spaces + "a" + spaces)
    assert [(finding.name, finding.start) for finding in found.findings] == [("space at the end", 300_001)]
    assert explain.lint(TOKENIZERS["few"], f"a{spaces}\nb").findings[0].name == "space before a line ends"


HOSTILE_NAME = "<b>\x1b[31m\n\u202e" + "long " * 100


def test_a_repr_is_one_short_line_whatever_the_names() -> None:
    toks = {HOSTILE_NAME: TOKENIZERS["few"], "other": TOKENIZERS["many"]}
    text = "low lower " * 5_000
    found = explain.differences(toks, text)
    results: list[object] = [found, found.cuts["other"].ids, found.cuts["other"].tokens[:3], explain.budget(toks, text)]
    results += [explain.ranks(toks, text), explain.lengths(toks), explain.search(TOKENIZERS["few"], HOSTILE_NAME)]
    results += [toksmith.metrics.parity(TOKENIZERS["few"], {HOSTILE_NAME: "low", "other": "low"})]
    for shown in map(repr, results):
        assert shown.isprintable() and len(shown) < 1_000, shown[:100]
    assert repr(found.cuts["other"].ids).endswith("in all)")
    assert repr(explain.differences(toks, "low").cuts["other"].ids) == repr(tuple(TOKENIZERS["many"].encode("low")))


@pytest.mark.slow
def test_a_long_text_is_printed_in_part_and_written_whole() -> None:
    tok = toksmith.train("a", merges=0, pattern=None, progress=False)
    found = explain.text(tok, "a" * 10_000)
    assert len(str(found)) < 60_000
    assert "showing 2,000 of 10,000 tokens" in str(found) and "… (20,000 characters)" in "".join(str(found).split("\n"))
    assert len(found.to_html()) > 500_000
    assert len(found.to_dict()["tokens"]) == 10_000


@pytest.mark.slow
def test_the_picture_of_a_long_piece_is_cut() -> None:
    tok = toksmith.train("abcdefghij" * 30, merges=9, pattern=None, progress=False)
    found = explain.merges(tok, "abcdefghij" * 15)
    assert len(found.steps) == 135 and "\n35 more steps, which to_dict() has\n" in str(found)
    assert len(found.to_dict()["steps"]) == 135


def test_lint_reads_bytes_and_counts_forms() -> None:
    tok = TOKENIZERS["many"]
    found = explain.lint(tok, b"a\xffb")
    assert (found.tokens, [finding.name for finding in found.findings]) == (3, ["no character"])
    assert found.findings[0].tokens == tok.count("a\ufffdb")
    forms = explain.lint(tok, "é한").forms
    assert forms == {form: tok.count(unicodedata.normalize(form, "é한")) for form in ("NFC", "NFD", "NFKC", "NFKD")}  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="zero-width"):
        found.repaired("zero width")


def test_invisible_and_foreign_characters_cost_tokens(vocab_dir: Path) -> None:
    """Figures of the published encoders: an invisible or foreign character in `hello world`."""
    tok = toksmith.load(vocab_dir / "cl100k_base.tiktoken", pattern="cl100k")
    assert [tok.count(text) for text in ("hello world", "hello\u00a0world", "hello\u200bworld")] == [2, 3, 3]
    assert [finding.tokens for finding in explain.lint(tok, "hello\u200b world").findings] == [2]


def test_offsets_refer_to_the_text_before_normalizing(vocab_dir: Path) -> None:
    """Mistral writes a space as U+2581 and adds one at the front; the ranges are those of the text as it was given."""
    tok = toksmith.load(vocab_dir / "mistral_v1.model")
    text = "low lower ☀ 나"
    found = explain.text(tok, text)
    assert [token.id for token in found.tokens] == tok.encode(text)
    assert b"".join(found.text[token.start : token.end] for token in found.tokens) == text.encode()
    assert [found.text[token.start : token.end] for token in found.tokens][:2] == [b"low", b" lower"]
    assert len([*found.rows()]) == 1
    compared = explain.differences({"mistral": tok, "few": TOKENIZERS["few"]}, text)
    assert compared.shared[-1] == len(text.encode())
    assert explain.budget(tok, text, context=2).rows[0].fitting_chars == len("low lower")
    for result in (found, compared, explain.budget(tok, text, context=2)):
        check_shown(result)
