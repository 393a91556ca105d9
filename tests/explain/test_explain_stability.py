"""explain.edit and explain.edits: against encoding both texts from scratch, and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import run
from hypothesis import given, settings
from hypothesis import strategies as st
from shown_results import check_shown
from trainings import trained

import toksmith
from toksmith import explain
from toksmith.errors import InvalidOption
from toksmith.explain import _stability

CORPUS = ["the low lower lowest slow new newer low low low low", "é 나는 나 12 12 low"]
TOKENIZERS = {
    "few": trained(CORPUS, pattern="o200k", merges=4, special_tokens=["<|end|>"]),
    "raw": trained(CORPUS, pattern=None, merges=12, special_tokens=["<|end|>"]),
    "many": trained(CORPUS, pattern="gpt2", merges=20, special_tokens=["<|end|>"]),
}
texts = st.text(st.sampled_from("low ertés나 \n12☀\u0301\ud800"), max_size=40) | st.sampled_from(
    ["low low low low low", "aaaaaaaa", "<|end|><|end|><|end|>", "", "l"]
)


def compared(old: list[int], new: list[int]) -> tuple[int, int, int]:
    """The slow twin: how many ids both begin with, how many are gone, how many are new."""
    before = 0
    while before < min(len(old), len(new)) and old[before] == new[before]:
        before += 1
    after = 0
    while after < min(len(old), len(new)) - before and old[-1 - after] == new[-1 - after]:
        after += 1
    return before, len(old) - before - after, len(new) - before - after


@settings(max_examples=60)
@given(texts, st.sampled_from(["e", " ", "low", "\n", "나"]))
def test_keystrokes_equal_whole_encodings(text: str, typed: str) -> None:
    found = explain.edits(TOKENIZERS, text, typed=typed, most=60)
    assert found.places == tuple(range(len(text) + 1))
    for row in found.rows:
        tok = TOKENIZERS[row.tokenizer]
        old = tok.encode(text, special="text")
        ends = tok.encode_with_offsets(text, unit="byte", special="text").ends.tolist()
        for each in row.keystrokes:
            new = tok.encode(text[: each.place] + typed + text[each.place :], special="text")
            assert (each.before, each.removed, each.new) == compared(old, new)
            byte = len(toksmith.reference.utf8(text[: each.place]))
            assert each.lost == max(0, sum(end <= byte for end in ends) - each.before)


@settings(max_examples=60)
@given(texts, st.data())
def test_an_edit_equals_whole_encodings(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    new = data.draw(texts)
    for row in explain.edit(TOKENIZERS, text, start, end, new).rows:
        tok = TOKENIZERS[row.tokenizer]
        old, edited = (tok.encode(each, special="text") for each in (text, text[:start] + new + text[end:]))
        assert (row.before, len(row.removed), len(row.new)) == compared(old, edited)
        assert row.before + len(row.new) + row.after == len(edited)
        assert [*row.removed] == old[row.before : row.before + len(row.removed)]
        assert [*row.new] == edited[row.before : row.before + len(row.new)]
        first = max(0, row.before - _stability.AROUND)
        last = row.before + len(row.new) + _stability.AROUND
        assert [view.id for view in row.drawn[1]] == edited[first:last]


def test_edits_equal_worked_examples() -> None:
    # Without a pattern only "low" is one id: typing inside it gives single bytes.
    tok = trained(["low low low"], pattern=None, merges=2)
    [row] = explain.edits(tok, "low ", typed="x").rows
    inside = [(0, 1, 4, 0), (0, 1, 3, 0)]
    assert [each[1:] for each in row.keystrokes] == [(0, 0, 1, 0), *inside, (1, 0, 1, 0), (2, 0, 1, 0)]
    assert (row.new, row.lost, row.losing) == (10 / 5, 0, 0)
    assert row.worst is not None and row.worst.place == 1
    # A letter after "a" makes "ab" one id: the "a" in front of the cursor changes.
    pair = trained(["ab ab ab"], pattern="gpt2", merges=1)
    [row] = explain.edits(pair, "xa", typed="b").rows
    assert [each[1:] for each in row.keystrokes] == [(0, 0, 1, 0), (1, 0, 1, 0), (1, 1, 1, 1)]
    assert row.losing == 1 / 3
    [edited] = explain.edit(pair, "xa", 2, 2, "b").rows
    assert (edited.before, edited.removed, edited.new, edited.after, edited.reused) == (1, (97,), (256,), 0, 0.5)


def test_a_longer_text_has_places_at_equal_distances() -> None:
    found = explain.edits(TOKENIZERS, "low " * 100, most=5)
    assert found.places == (0, 100, 200, 300, 400)
    assert explain.edits(TOKENIZERS["few"], "low", most=1).places == (1,)


def test_a_text_that_cannot_be_cut_has_fewer_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_stability, "MOST_ENCODED", 5000)
    text = "low lower " * 50
    found = explain.edits(TOKENIZERS, text, most=400)  # "raw" encodes the whole text for each place
    assert len(found.places) == 5000 // (2 * (len(text) + 1))


def test_bytes_are_edited_and_wrong_places_refused() -> None:
    found = explain.edits(TOKENIZERS, b"low\xff\xfe", typed="é")
    assert found.places == (0, 1, 2, 3, 4, 5)
    tok = TOKENIZERS["few"]
    old = tok.encode(b"low\xff\xfe", special="text")
    for each in found.rows[0].keystrokes:
        new = tok.encode(b"low\xff\xfe"[: each.place] + "é".encode() + b"low\xff\xfe"[each.place :], special="text")
        assert (each.before, each.removed, each.new) == compared(old, new)
    with pytest.raises(InvalidOption, match="typed"):
        explain.edits(tok, "low", typed="")
    with pytest.raises(InvalidOption, match="most"):
        explain.edits(tok, "low", most=0)
    for start, end in ((-1, 0), (0, 4), (2, 1)):
        with pytest.raises(InvalidOption, match="length of the text"):
            explain.edit(tok, "low", start, end, "x")


@pytest.mark.slow
def test_edits_are_shown_in_every_medium() -> None:
    for text in ("a lower 나 ☀ <|end|>", "", b"\xff\xfe a"):
        check_shown(explain.edits(TOKENIZERS, text))
        check_shown(explain.edit(TOKENIZERS, text, 0, len(text), text[:1]))
    check_shown(explain.edit(TOKENIZERS, "low", 1, 1, "나는 low\n" * 60))


def test_the_command_prints_what_the_function_returns(tmp_path: Path) -> None:
    saved = tmp_path / "tok.toksmith"
    TOKENIZERS["few"].save(saved)
    toks = {str(saved): TOKENIZERS["few"]}
    text = "the low é"
    whole = explain.edits(toks, text)
    assert json.loads(run("explain", "edits", "-t", saved, "--text", text, "--json").stdout) == whole.to_dict()
    one = explain.edit(toks, text, 5, 5, "x")
    ran = run("explain", "edits", "-t", saved, "--text", text, "--at", "5", "--typed", "x")
    assert ran.stdout.rstrip() == str(one).rstrip()
    assert "expected from 0 to 9, not 10" in run("explain", "edits", "-t", saved, "--text", text, "--at", "10").output
    assert "at least one character" in run("explain", "edits", "-t", saved, "--text", text, "--typed", "").output
