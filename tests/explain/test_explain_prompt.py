"""explain.prompt, explain.specials and explain.search: what they say is what the tokenizer does."""

from __future__ import annotations

import re

import pytest
from hard_texts import HARD_TEXTS
from shown_results import check_shown

import toksmith
from toksmith import explain

CORPUS = "low lower lowest नमस्ते नमन 낮은 12345 the goose lays a golden egg " * 2


@pytest.fixture(scope="module")
def tok() -> toksmith.Tokenizer:
    return toksmith.train(CORPUS, merges=50, special_tokens=["<|end|>", "<|pad|>"], progress=False)


@pytest.mark.parametrize("text", HARD_TEXTS.values(), ids=HARD_TEXTS.keys())
def test_a_prompt_has_the_ids_of_encode_and_heal(tok: toksmith.Tokenizer, text: str) -> None:
    for end in sorted({0, 1, len(text) // 3, len(text) - 1, len(text)} & {*range(len(text) + 1)}):
        found = explain.prompt(tok, text, end)
        assert list(found.ids) == tok.encode(text[:end], special="text")
        assert list(found.followed) == tok.encode(text, special="text")
        same = found.followed[: found.agree] == found.ids[: found.agree]
        assert same and (found.agree == len(found.ids) or found.ids[found.agree] != found.followed[found.agree])
        healing = tok.heal(text[:end], special="text")
        assert (list(found.healed), found.rest) == (healing.ids, healing.rest)
        assert found.continuations == (len(healing.continuations) if healing.rest else 0)
        assert all(token.startswith(found.rest) for _, token in found.first_continuations)


def test_a_prompt_that_ends_inside_a_token_is_reported(tok: toksmith.Tokenizer) -> None:
    inside = explain.prompt(tok, "the goose", 6)
    assert not inside.is_beginning and not inside.ends_in_space and inside.rest == b" go"
    space = explain.prompt(tok, "the ")
    assert space.ends_in_space and space.rest == b" " and space.is_beginning
    of_bytes = explain.prompt(tok, "नम low".encode(), 6)
    assert of_bytes.prompt == "नम".encode() and of_bytes.is_beginning
    for end in (-1, 5):
        with pytest.raises(toksmith.errors.InvalidOption, match="0 to 4"):
            explain.prompt(tok, "the ", end)


def test_special_tokens_are_listed_as_the_engine_finds_them(tok: toksmith.Tokenizer) -> None:
    text = "a<|end|> नम<|pad|>><|end|"
    found = explain.specials(tok, text)
    data = text.encode()
    assert [data[match.start : match.end].decode() for match in found.matches] == [
        match.content for match in found.matches
    ]
    assert [match.id for match in found.matches] == [
        id for id in tok.encode(text, special="allow") if id in tok.special_tokens.values()
    ]
    assert [view.id for view in found.plain] == tok.encode(text, special="text")
    assert [view.id for view in found.allowed] == tok.encode(text, special="allow")
    assert all(list(match.as_text) == tok.encode(match.content, special="text") for match in found.matches)
    with pytest.raises(toksmith.errors.SpecialTokenInText, match=re.escape(str(found.refusal))):
        tok.encode(text)
    none = explain.specials(tok, "low")
    assert (none.matches, none.refusal) == ((), None)


def test_a_search_finds_every_matching_token(tok: toksmith.Tokenizer) -> None:
    own = dict(zip(tok.model.ids.tolist(), tok.model.tokens, strict=True))
    every = own | {id: content.encode() for content, id in tok.special_tokens.items()}
    by_text = explain.search(tok, "l", most=10_000)
    assert {each.id for each in by_text.found} == {id for id, token in every.items() if b"l" in token}
    assert by_text.found[0].token == b"l", "what is the query itself comes first"
    assert by_text.total == len(by_text.found)
    assert explain.search(tok, "l", most=2).found == by_text.found[:2]
    by_bytes = explain.search(tok, "0x6C, ?? 77", by="bytes", most=10_000)
    assert {each.id for each in by_bytes.found} == {
        id for id, token in every.items() if re.search(b"l.w", token, re.DOTALL)
    }
    assert [each.id for each in explain.search(tok, " 255 - 257 ", by="id").found] == [255, 256, 257]
    assert explain.search(tok, "999999", by="id").total == 0
    kinds = {each.token: each.kind for each in explain.search(tok, "<|", most=99).found}
    assert kinds[b"<|end|>"] == "special"
    for query, by in (("", "bytes"), ("6", "bytes"), ("6x", "bytes"), ("x", "id"), ("1-", "id"), ("a", "name")):
        with pytest.raises(toksmith.errors.InvalidOption):
            explain.search(tok, query, by=by)
    with pytest.raises(toksmith.errors.InvalidOption):
        explain.search(tok, "a", most=0)


@pytest.mark.parametrize("name", ["nothing", "contractions"])
def test_each_view_is_shown_in_every_medium(tok: toksmith.Tokenizer, name: str) -> None:
    text = HARD_TEXTS[name] + "<|end|> न\u202eम "
    check_shown(explain.prompt(tok, text, len(text) - 2))
    check_shown(explain.specials(tok, text))
    check_shown(explain.search(tok, "l"))
