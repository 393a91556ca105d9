"""`Tokenizer.session`: after every edit the ids equal an encoding of the whole text, and only the text around the edit is encoded.

`TOKSMITH_EXHAUSTIVE=1` draws 100,000 edits for each tokenizer.
"""

import os
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from conftest import DATA, existing_or_skip

import toksmith
from toksmith._tokenizer import session as _session
from toksmith.errors import InvalidOption, SpecialTokenInText

EDITS = 100_000 if os.environ.get("TOKSMITH_EXHAUSTIVE") else 1_500
CORPUS = "the user said low and lower: it's 12345 words,\n\n  or 日本語 here; été 👍🏽 <|en <|end|>\t\r\n" * 30
TOKEN = "<|end|>"


def tokenizer_with_flags() -> toksmith.Tokenizer:
    """A tokenizer whose added tokens strip white space."""
    tok = toksmith.train(CORPUS, 340, pattern="gpt2", special_tokens=[TOKEN])
    model = tok.model
    flags = {"lstrip": True, "rstrip": True}
    more = (
        toksmith.types.AddedToken("<|en", 400, special=False, **flags),
        toksmith.types.AddedToken("low", 401, single_word=True),
    )
    return toksmith.Tokenizer(replace(model, added_tokens=(*model.added_tokens, *more)))


MADE: dict[str, Callable[[], toksmith.Tokenizer]] = {
    "gpt2": lambda: toksmith.train(CORPUS, 340, pattern="gpt2", special_tokens=[TOKEN]),
    "raw": lambda: toksmith.train(CORPUS, 340, pattern=None, special_tokens=[TOKEN]),
    "own pattern": lambda: toksmith.train(CORPUS, 300, pattern=r"\w+|\W", special_tokens=[TOKEN]),
    "flags": tokenizer_with_flags,
    "unigram": lambda: toksmith.train(CORPUS, 120, kind="unigram", special_tokens=[TOKEN]),
    "wordpiece": lambda: toksmith.train(CORPUS, 120, kind="wordpiece", special_tokens=[TOKEN]),
}
LOADED: dict[str, dict[str, Any]] = {
    "cl100k_base.tiktoken": {"pattern": "cl100k", "special_tokens": {TOKEN: 100_300}},
    "o200k_base.tiktoken": {"pattern": "o200k", "special_tokens": {TOKEN: 200_300}},
    "mistral_v1.model": {},
}


@cache
def tok(name: str) -> toksmith.Tokenizer:
    if name in MADE:
        return MADE[name]()
    return toksmith.load(existing_or_skip(DATA / "vocab") / name, **LOADED[name])


PARTS = [
    "a", "low", " ", "  ", "\n", "\r\n", "'s", "1234", "日本", "é", "e\u0301", "👍🏽", TOKEN, "<|en", "d|>",
    "the user", "x" * 40, "",
]  # fmt: skip


def draw_edit(draw: random.Random, text: str) -> tuple[int, int, str]:
    """A range to replace, and its new text."""
    start = draw.randrange(len(text) + 1)
    end = min(len(text), start + draw.choice([0, 0, 1, 2, 5, 40]))
    return start, end, "".join(draw.choices(PARTS, k=draw.choice([0, 1, 1, 2, 4])))


@pytest.mark.proof
@pytest.mark.parametrize("name", [*MADE, *LOADED])
def test_ids_equal_an_encoding_of_the_whole_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_session, "BLOCK", 24)
    draw, special = random.Random(name), "allow"
    text = CORPUS[:300]
    session = tok(name).session(text, special=special)
    ids = tok(name).encode(text, special=special)
    assert session.ids.tolist() == ids
    for number in range(EDITS):
        start, end, new = draw_edit(draw, text)
        text = text[:start] + new + text[end:]
        found = session.update(text) if number % 5 == 4 else session.replace(start, end, new)
        ids[found.first : found.first + found.removed] = found.ids.tolist()
        assert ids == tok(name).encode(text, special=special), f"{number}: {start} {end} {new!r}"
        if number % 50 == 0:
            assert session.text == text and session.ids.tolist() == ids and len(session) == len(ids)
        if len(text) > 600:
            session.replace(100, len(text) - 100, "")
            text = text[:100] + text[len(text) - 100 :]
            ids = session.ids.tolist()


def test_bytes_are_edited_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_session, "BLOCK", 24)
    draw = random.Random(1)
    text = CORPUS[:300].encode()
    session = tok("gpt2").session(text, special="text")
    for _ in range(EDITS // 5):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.randrange(4))
        new = draw.randbytes(draw.randrange(4))
        text = text[:start] + new + text[end:]
        session.replace(start, end, new)
        assert session.ids.tolist() == tok("gpt2").encode(text, special="text")
    assert session.text == text


def test_surrogates_stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_session, "BLOCK", 8)
    draw = random.Random(2)
    text = "low lower the user said low "
    session = tok("gpt2").session(text)
    for _ in range(300):
        start = draw.randrange(len(text) + 1)
        new = draw.choice(["\ud83d", "\udc4d", "low ", " "])
        text = text[:start] + new + text[start:]
        session.replace(start, start, new)
        assert session.ids.tolist() == tok("gpt2").encode(text)


@pytest.mark.parametrize("name", ["gpt2", "raw", "cl100k_base.tiktoken", "o200k_base.tiktoken"])
def test_an_edit_encodes_no_more_in_a_longer_text(name: str) -> None:
    found = []
    for repeated in (20, 2_000):
        session = tok(name).session(CORPUS * repeated, special="text")
        middle = len(CORPUS) * repeated // 2
        found.append(max(session.replace(middle, middle + 3, new).encoded for new in ("x", " ", "\n\n", "")))
    assert found[1] <= found[0] + 2 * _session.BLOCK < len(CORPUS) * 20


@pytest.mark.parametrize("name", ["wordpiece", "own pattern", "mistral_v1.model"])
def test_without_known_cuts_the_whole_text_is_encoded(name: str) -> None:
    session = tok(name).session(CORPUS, special="text")
    assert session.replace(3, 3, "x").encoded == len(CORPUS) + 1


def test_only_different_ids_are_reported() -> None:
    session = tok("gpt2").session("low lower low")
    before = session.ids.tolist()
    same = session.replace(4, 9, "lower")
    assert (same.removed, len(same.ids)) == (0, 0)
    found = session.update("low lower low 1")
    assert found.first == len(before) and found.removed == 0
    assert session.ids.tolist()[: found.first] == before
    assert repr(found) == f"<IdEdit 0 ids from {found.first} on become {found.ids.tolist()}>"
    assert repr(session) == f"<TextSession 15 characters, {len(session)} ids>"


def test_a_refused_edit_changes_nothing() -> None:
    session = tok("gpt2").session("low " * 2_000)
    ids = session.ids.tolist()
    with pytest.raises(SpecialTokenInText) as caught:
        session.replace(6_000, 6_001, TOKEN)
    assert (caught.value.offset, caught.value.index) == (6_000, None)
    assert session.ids.tolist() == ids and session.text == "low " * 2_000
    with pytest.raises(InvalidOption, match=r"start=-1 is not possible; expected 0 to 8000"):
        session.replace(-1, 0, "")
    with pytest.raises(InvalidOption, match=r"end=3 is not possible; expected 4 \(start\) to 8000"):
        session.replace(4, 3, "")
    with pytest.raises(TypeError, match="text: expected str, as the session's text is, not bytes"):
        session.replace(0, 0, b"x")
    assert session.ids.tolist() == ids


@pytest.mark.parametrize("text", ["", b""])
def test_an_empty_session_can_be_filled_and_emptied(text: Any) -> None:
    session = tok("gpt2").session(text)
    assert len(session) == 0 and session.text == text and session.ids.dtype == np.uint32
    session.update(text + type(text)(b"low") if isinstance(text, bytes) else "low")
    assert session.ids.tolist() == tok("gpt2").encode("low")
    session.replace(0, 3, text)
    assert session.ids.tolist() == [] and session.text == text
