"""Edits of a text in the playground: the updated state equals the state of the new text."""

from __future__ import annotations

import random
from typing import Any

import pytest

import toksmith
from toksmith._playground import texts, views
from toksmith._playground.views import windows

CORPUS = "low lower lowest नमस्ते नमन 낮은 12345 the goose lays a golden egg every day "
LINE = "the goose lays\n\ta golden egg नमस्ते 낮은 every   day of the lowest year 12345 "
NEW = ["", "x", " ", "\n", "नम", "goose\nlow", "<|end|>", "\ud800", "lowest " * 60]


@pytest.fixture(scope="module")
def toks() -> dict[str, toksmith.Tokenizer]:
    options: dict[str, Any] = {"special_tokens": ["<|end|>"], "progress": False}
    return {str(merges): toksmith.train(CORPUS, merges=merges, **options) for merges in (10, 60)}


def answer_rows(session: views.Session, **values: Any) -> dict[str, Any]:
    found = views.answer_values("rows", views.ViewRequest(session, {"cells": 30, "last": 200, **values}))
    del found["result"]["wanted"]  # it depends on all texts
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [LINE * 280, LINE.replace("\n", " ") * 280, "한국어" * 6800], ids=["lines", "line", "no space"]
)
@pytest.mark.parametrize("special", ["text", "allow"])
def test_an_edited_text_is_laid_out_as_if_it_were_new(
    toks: dict[str, toksmith.Tokenizer], text: str, special: str
) -> None:
    random_ = random.Random(7)
    common = {"tokenizers": [*toks], "special": special}
    session = views.Session(toks, {}, {})
    key = answer_rows(session, text=text, **common)["key"]
    for round_ in range(8):
        edits: list[list[Any]] = []
        for _ in range(random_.randrange(1, 4)):
            start = random_.choice([0, len(text), random_.randrange(len(text) + 1)])
            end = min(len(text), start + random_.choice([0, 0, 1, 40]))
            edits.append([start, end, random_.choice(NEW)])
            text = text[:start] + edits[-1][2] + text[end:]
        first = random_.randrange(700)
        found = answer_rows(session, base=key, edits=edits, first=first, **{**common, "last": first + 100})
        key = found["key"]
        fresh = answer_rows(views.Session(toks, {}, {}), text=text, first=first, **{**common, "last": first + 100})
        assert found["result"] == fresh["result"], (round_, edits)
        for name, tok in toks.items():
            cut = session.cached_value("cut", (key, name, special))
            assert cut.ids.tolist() == tok.encode(text, special=special)
        compared = toksmith.explain.differences(toks, text, special=special)
        said = views.answer_values("differences", views.ViewRequest(session, {**common, "key": key}))["result"]
        assert said == {"total": len(compared.differences), "shared": len(compared.shared)}


def test_an_edit_of_a_long_text_encodes_only_around_it(
    toks: dict[str, toksmith.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = views.Session(toks, {}, {})
    key = answer_rows(session, text=LINE * 400, tokenizers=["10", "60"])["key"]

    def refuse(*_: object) -> None:
        raise AssertionError("the whole text is processed again")

    monkeypatch.setattr(windows, "encode_text", refuse)
    monkeypatch.setattr(windows, "row_starts", refuse)
    found = answer_rows(session, base=key, edits=[[500, 503, "egg"]], tokenizers=["10", "60"])
    assert found["result"]["chars"] == 400 * len(LINE)


def test_a_refused_edit_changes_nothing(toks: dict[str, toksmith.Tokenizer]) -> None:
    session = views.Session(toks, {}, {})
    common: dict[str, Any] = {"tokenizers": ["60"], "special": "raise"}
    first = answer_rows(session, text=LINE * 400, **common)
    with pytest.raises(toksmith.errors.SpecialTokenInText):
        answer_rows(session, base=first["key"], edits=[[5, 5, "<|end|>"]], **common)
    assert answer_rows(session, key=first["key"], **common) == first
    again = answer_rows(session, base=first["key"], edits=[[5, 5, "<|end|>"], [5, 12, "x"]], **common)
    assert (
        again["result"]
        == answer_rows(views.Session(toks, {}, {}), text=f"{LINE[:5]}x{(LINE * 400)[5:]}", **common)["result"]
    )


@pytest.mark.parametrize(
    "edits", [None, [], 3, [[1]], [[0, 10**9, ""]], [[2, 1, ""]], [[0, 0, 5]], [["a", 0, ""]], [[True, 1, ""]]]
)
def test_wrong_edits_are_named(toks: dict[str, toksmith.Tokenizer], edits: object) -> None:
    session = views.Session(toks, {}, {})
    key = answer_rows(session, text="low", tokenizers=["10"])["key"]
    with pytest.raises(toksmith.errors.InvalidOption, match="edits"):
        answer_rows(session, base=key, edits=edits, tokenizers=["10"])


def test_an_edit_of_an_unknown_text_is_refused(toks: dict[str, toksmith.Tokenizer]) -> None:
    with pytest.raises(views.UnknownText):
        answer_rows(views.Session(toks, {}, {}), base="gone", edits=[[0, 0, "a"]], tokenizers=["10"])


def test_edits_are_joined_by_hand() -> None:
    one = texts.join_edits(None, texts.TextEdit(2, 3, 4))
    assert texts.join_edits(one, texts.TextEdit(4, 8, 0)) == texts.TextEdit(2, 5, 2)
    assert texts.join_edits(one, texts.TextEdit(0, 1, 5)) == texts.TextEdit(0, 3, 10)
