"""Views of texts, pieces and tokens: what they say is what the engine does, and each is shown in every medium."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from drawn_models import merged
from hypothesis import given, settings
from hypothesis import strategies as st
from shown_results import check_shown

import toksmith
from toksmith import Model, Tokenizer, explain, reference
from toksmith.errors import InvalidOption, NotInVocabulary, UnknownId
from toksmith.explain._pieces import token_kind
from toksmith.types import TokenTable

BYTES = [bytes([byte]) for byte in range(256)]
TEXT = "The low lower lowest slow. 12 345\n\tnew  newer é 나는 ☀\ufe0f"


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train(["the low lower lowest slow new newer é 나는 나 12 12"], 300, special_tokens=["<|end|>"])


def whole_only() -> Tokenizer:
    """Letters, and abc, which exists only as a whole piece."""
    return Tokenizer(Model(TokenTable.of([*BYTES, b"abc"]), [*range(257)], merge_rule="bytes", whole_piece=True))  # type: ignore[arg-type]


def test_pieces_and_tokens_cover_the_text(tok: Tokenizer) -> None:
    text = f"{TEXT}<|end|>low"
    found = explain.text(tok, text, special="allow")
    assert [token.id for token in found.tokens] == tok.encode(text, special="allow")
    assert b"".join(found.text[token.start : token.end] for token in found.tokens) == text.encode()
    assert all(found.text[token.start : token.end] == token.token for token in found.tokens)
    cut = [*reference.split(TEXT, tok.model.splitters[0]["pattern"].split("\0")), b"<|end|>", b"low"]
    assert list(found.ends) == list(accumulate(map(len, cut)))
    rows = [*found.rows()]
    assert [b"".join(token.token for token in tokens) for _, _, tokens in rows] == cut
    assert [token.kind for token in found.tokens if token.token == b"<|end|>"] == ["special"]
    check_shown(found)


def test_a_text_of_only_special_tokens_is_shown(tok: Tokenizer) -> None:
    found = explain.text(tok, "<|end|><|end|>", special="allow")
    assert [token.kind for token in found.tokens] == ["special"] * 2
    assert found.ends == (7, 14)
    check_shown(found)
    check_shown(explain.differences({"a": tok, "b": tok}, "<|end|>", special="allow"))
    check_shown(explain.budget(tok, "<|end|>", special="allow"))


def test_a_special_token_is_plain_text_unless_it_is_allowed(tok: Tokenizer) -> None:
    assert len(explain.text(tok, "<|end|>").ends) > 1
    with pytest.raises(toksmith.errors.SpecialTokenInText):
        explain.text(tok, "<|end|>", special="raise")


@pytest.mark.parametrize("text", ["", b"", b"\xff\xfe", b"a\xe2\x98b\xff", "\ud800", "e\u0301", " "])
def test_pieces_cover_hard_texts(tok: Tokenizer, text: str | bytes) -> None:
    found = explain.text(tok, text)
    assert b"".join(token.token for token in found.tokens) == reference.utf8(text)
    assert (found.ends[-1] if found.ends else 0) == len(found.text)
    check_shown(found)


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        *((b"a", "whole"), ("나는".encode(), "whole"), (b"\xff", "byte"), (b"\x80", "byte")),
        *((b" \xec", "ends inside"), (b"\xec\xa4", "ends inside"), (b"\x80a", "starts inside")),
        *((b"\x80\x80", "starts inside"), (b"\x80\xec\x80", "inside"), (b"\xf0\x9f\x98", "ends inside")),
        *(("é".encode()[1:] + b" \xf0", "inside"), (b"a\xc3\xa9\xa9", "starts inside")),
    ],
)
def test_each_token_has_its_kind(token: bytes, kind: str) -> None:
    assert token_kind(token) == kind


@pytest.mark.slow
@settings(max_examples=40)
@given(merged(), st.lists(st.sampled_from([*b"abcdef ", 0xC3, 0xA9]), max_size=12), st.sampled_from(["pair", "bytes"]))
def test_merging_ends_with_the_ids_of_the_engine(made: tuple, piece: list[int], rule: str) -> None:  # type: ignore[type-arg]
    joined, places = made
    merges = places if rule == "pair" else []
    tok = Tokenizer(
        Model(TokenTable.of([*BYTES, *joined]), [*range(256 + len(joined))], merges=merges, merge_rule=rule)
    )  # type: ignore[arg-type]
    found = explain.merges(tok, bytes(piece))
    ends = reference.merge(
        piece, reference.pair_rule(places) if rule == "pair" else reference.bytes_rule(tokens_of(tok))
    )
    assert list(found.ids) == ends
    try:
        bytes(piece).decode()
    except UnicodeDecodeError:
        return
    assert list(found.ids) == tok.encode(bytes(piece))
    assert len(piece) - len(found.steps) == len(found.ids)
    for step in found.steps:
        assert step.chosen == min(step.candidates, key=lambda candidate: (candidate.rank, candidate.place))


def tokens_of(tok: Tokenizer) -> dict[bytes, int]:
    return {token: int(id) for token, id in zip(tok.model.tokens, tok.model.ids, strict=True)}


def test_merges_follow_the_ranks_of_a_worked_example(tok: Tokenizer) -> None:
    """ "aaab": aa is rank 0, ab rank 1. Both pairs aa may merge, the left one does; then ab, for a + b is still there."""
    tok = toksmith.train(["aaaaab", "ab"], merges=2, pattern=None)
    found = explain.merges(tok, "aaab")
    assert [(step.chosen, len(step.candidates)) for step in found.steps] == [((0, 0, 256), 3), ((1, 1, 257), 1)]
    assert found.ids == (256, 257)
    check_shown(found)


def test_a_whole_piece_is_a_separate_step() -> None:
    found = explain.merges(whole_only(), "abc")
    assert (found.whole_id, found.ids, found.steps) == (256, (256,), ())
    assert "merging alone does not end there" in " ".join(str(found).split())
    assert explain.merges(whole_only(), "abd").whole_id is None
    check_shown(found)


def test_merges_reports_a_text_of_several_pieces(tok: Tokenizer) -> None:
    assert explain.merges(tok, "low lower").cut == 2
    assert "cuts these bytes into 2 pieces" in str(explain.merges(tok, "low lower"))


def test_merges_refuses_long_pieces_and_unknown_characters(tok: Tokenizer) -> None:
    with pytest.raises(InvalidOption, match="513 symbols"):
        explain.merges(tok, "a" * 513)
    characters = toksmith.train(["ab"], kind="chars")
    assert explain.merges(characters, "ab").ids == (0, 1)
    with pytest.raises(NotInVocabulary):
        explain.merges(characters, "x")
    check_shown(explain.merges(tok, ""))


def test_the_tree_of_a_token_follows_its_merges(tok: Tokenizer) -> None:
    for id in range(256, 281):
        found = explain.token(tok, id)
        assert found.is_derivable
        assert found.nodes[found.roots[0]].token == found.token == tok.token_bytes(id)
        parents = tok.model.merges[id - 256, :2].tolist()
        assert [found.nodes[place].id for place in (found.nodes[-1].left, found.nodes[-1].right)] == parents  # type: ignore[index]
        uses = [[use.left, use.right, use.id] for use in found.children]
        assert uses == [row for row in tok.model.merges.tolist() if id in row[:2]]
        assert found.is_leaf == (not uses)
    check_shown(explain.token(tok, tok.token_id(" low")))


def test_tokens_that_no_merge_makes_have_no_tree(tok: Tokenizer) -> None:
    special = explain.token(tok, tok.token_id("<|end|>"))
    assert special.special and not special.nodes and "no merge makes" in str(special)
    byte = explain.token(tok, 97)
    assert (byte.depth, byte.is_derivable, len(byte.nodes)) == (0, True, 1)
    only = explain.token(whole_only(), 256)
    assert not only.is_derivable and [only.nodes[root].token for root in only.roots] == [b"a", b"b", b"c"]
    with pytest.raises(UnknownId):
        explain.token(tok, 300)
    for found in (special, byte, only):
        check_shown(found)


def test_a_deep_tree_is_drawn_in_part() -> None:
    chain = [b"a" * length for length in range(2, 400)]
    merges = [(97, 97, 256), *((id - 1, 97, id) for id in range(257, 256 + len(chain)))]
    deep = Tokenizer(Model(TokenTable.of([*BYTES, *chain]), [*range(256 + len(chain))], merges=merges))  # type: ignore[arg-type]
    found = explain.token(deep, 256 + 40)
    assert len(found.roots) > 1  # aa is first everywhere, so that aaa + a is never reached
    check_shown(found)
    long = toksmith.train(["".join(map(chr, range(97, 123))) * 2], min_count=2, pattern=None)
    check_shown(explain.token(long, long.vocab_size - 1))


PUBLISHED = {"r50k_base.tiktoken": "gpt2", "o200k_base.tiktoken": "o200k", "mistral_v1.model": None}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_tokenizers_merge_as_the_engine_does(name: str, vocab_dir: Path) -> None:
    tok = toksmith.load(vocab_dir / name, **{"pattern": PUBLISHED[name]} if PUBLISHED[name] else {})
    for text in (" SolidGoldMagikarp", "Hello", "나는", "x" * 40, " tokenization", "☀", "\n\n\n", "don't"):
        ids = tok.encode("x" + text if tok.model.normalizers else text)
        if tok.model.normalizers:
            pieces = [b"".join(tok.model.vocab.token(id) or b"" for id in ids)]
            if b"<0x" in pieces[0]:
                continue
        else:
            pieces = reference.split(text, [step["pattern"] for step in tok.model.splitters])
        assert [id for piece in pieces for id in explain.merges(tok, piece).ids] == ids


@pytest.mark.slow
def test_a_glitch_token_has_its_forest(vocab_dir: Path) -> None:
    tok = toksmith.load(vocab_dir / "r50k_base.tiktoken", pattern="gpt2")
    found = explain.token(tok, 43453)
    assert (found.token, found.depth, found.is_leaf) == (b" SolidGoldMagikarp", 6, True)
    assert explain.token(tok, 41538).children[0].token == b"GoldMagikarp"


@pytest.mark.slow
def test_tokens_that_only_the_whole_piece_look_up_makes(vocab_dir: Path) -> None:
    """Of Llama 3's tokens 588 are not made by merging; a few of those are named here, all are counted by the doctor."""
    tok = toksmith.load(vocab_dir / "llama3.tiktoken", pattern="llama3")
    made = np.concatenate([tok.model.vocab.recover_merges()[:, 2], [tok.token_id(byte) for byte in BYTES]])
    lacking = np.setdiff1d(tok.model.ids, made).tolist()
    assert len(lacking) == 588
    for id in lacking[::250]:
        found = explain.token(tok, id)
        assert not found.is_derivable
        assert explain.merges(tok, found.token).ids == (id,)
