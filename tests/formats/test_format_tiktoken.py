"""`.tiktoken` files: what the ranks mean, and which models they can hold."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_models import BYTES, merged, models
from hypothesis import given, settings
from hypothesis import strategies as st

import toksmith
from toksmith import Model, Tokenizer, _formats
from toksmith.errors import CannotRepresent, InvalidOption
from toksmith.types import AddedToken, Step, TokenTable

ROW = _formats.FORMATS["tiktoken"]
UNSPLIT: dict[str, Any] = {"pattern": None, "special_tokens": None}


def lines(tokens: list[bytes]) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))


def ranked(tokens: list[bytes], **fields: Any) -> Model:
    """Tokens after the bytes, merging by their bytes."""
    table = TokenTable.of([*BYTES, *tokens])
    ids = np.arange(len(table), dtype=np.uint32)
    return Model(table, ids, **{"merge_rule": "bytes", "whole_piece": True, **fields})


def paired(merges: list[tuple[int, int, int]], tokens: list[bytes], **fields: Any) -> Model:
    """Tokens after the bytes, merging by the listed pairs."""
    table = TokenTable.of([*BYTES, *tokens])
    ids = np.arange(len(table), dtype=np.uint32)
    return Model(table, ids, merges=np.array(merges, np.uint32).reshape(-1, 3), **fields)


def test_neighbours_merge_by_the_rank_of_their_bytes() -> None:
    # "abc" is no merge of listed pairs: "bc" (rank 256) merges first, then "a" + "bc" gives "abc" (rank 257).
    tok = Tokenizer(ROW.load(lines([*BYTES, b"bc", b"abc", b"xyz"]), "a.tiktoken", **UNSPLIT))
    assert tok.encode("abcc") == [257, 99]
    assert tok.encode("xyz") == [258]  # a piece that is a token is that token
    assert tok.encode("xyzx") == [120, 121, 122, 120]  # which merging alone does not reach


def test_lines_may_come_in_any_order_and_ranks_may_have_holes() -> None:
    shuffled = b"\n".join(reversed(lines(BYTES).splitlines())) + b"\r\n\r\nYWI= 300\r\n"
    model = ROW.load(shuffled, "a.tiktoken", **UNSPLIT)
    assert list(model.tokens) == [*BYTES, b"ab"]
    assert model.ids.tolist() == [*range(256), 300]
    assert ROW.save(model) == lines(BYTES) + b"YWI= 300\n"


def test_byte_ids_may_be_permuted() -> None:
    model = ROW.load(lines([*reversed(BYTES), b"ab"]), "a.tiktoken", **UNSPLIT)
    assert Tokenizer(model).encode("bab") == [157, 256]
    assert ROW.save(model) == lines([*reversed(BYTES), b"ab"])


def test_the_pattern_is_a_required_argument(tmp_path: Path) -> None:
    path = tmp_path / "a.tiktoken"
    path.write_bytes(lines([*BYTES, b"ab"]))
    with pytest.raises(InvalidOption, match=r"pattern= is missing.*a\.tiktoken does not contain it") as caught:
        toksmith.load(path)
    assert caught.value.argument == "pattern"
    assert toksmith.load(path, pattern=None).encode("ab ab") == [256, 32, 256]
    assert toksmith.load(path, pattern="a+").encode("ab") == [97, 98]
    assert toksmith.load(path, pattern=["gpt2", "a+"]).model.splitters == (
        *toksmith.load(path, pattern="gpt2").model.splitters,
        *toksmith.load(path, pattern="a+").model.splitters,
    )
    with pytest.raises(toksmith.errors.UnknownName, match="cl100k"):
        toksmith.load(path, pattern="cl100")


def test_special_tokens_are_an_argument(tmp_path: Path) -> None:
    path = tmp_path / "a.tiktoken"
    path.write_bytes(lines([*BYTES, b"ab"]))
    tok = toksmith.load(path, pattern=None, special_tokens={"<|b|>": 300, "<|a|>": 257})
    assert tok.special_tokens == {"<|b|>": 300, "<|a|>": 257}
    assert tok.encode("ab<|b|>", special="allow") == [256, 300]
    assert toksmith.load(path, pattern=None, special_tokens={"ab": 256}).encode("ab", special="allow") == [256]


@pytest.mark.parametrize(
    ("tokens", "value"),
    [
        ({"<|a|>": 97}, ("<|a|>", 97)),
        ({"<|a|>": 256}, ("<|a|>", 256)),
        ({"<|a|>": -1}, ("<|a|>", -1)),
        ({"<|a|>": 2**24}, ("<|a|>", 2**24)),
        ({"<|a|>": 300, "<|b|>": 300}, ("<|a|>", "<|b|>")),
        ({"<|a|>": 300, "|>": 301}, ("<|a|>", "|>")),
        ({"<|a|>": 300, "|><": 301}, ("<|a|>", "|><")),
        ({"": 300}, ""),
    ],
)
def test_special_tokens_that_clash_are_named(tmp_path: Path, tokens: dict[str, int], value: object) -> None:
    path = tmp_path / "a.tiktoken"
    path.write_bytes(lines([*BYTES, b"ab"]))
    with pytest.raises(InvalidOption) as caught:
        toksmith.load(path, pattern=None, special_tokens=tokens)
    assert (caught.value.argument, caught.value.value) == ("special_tokens", value)


@pytest.mark.parametrize("id", [300.0, "300", True, None])
def test_ids_of_another_type_are_a_type_error(id: Any) -> None:
    with pytest.raises(TypeError, match="must be an int"):
        ROW.load(lines(BYTES), "a.tiktoken", pattern=None, special_tokens={"<|a|>": id})


@pytest.mark.slow
def test_a_published_file_is_saved_byte_for_byte(vocab_dir: Path) -> None:
    for path in sorted(vocab_dir.glob("*.tiktoken")):
        data = path.read_bytes()
        assert ROW.save(ROW.load(data, str(path), **UNSPLIT)) == data, path.name


REFUSED: dict[str, tuple[Model, str]] = {
    "words": (Model(TokenTable.of([b"a"]), np.zeros(1, np.uint32), kind="words"), "kind"),
    "characters": (Model(TokenTable.of([b"a"]), np.zeros(1, np.uint32), unit="char"), "unit"),
    "ranks that are no ids": (
        Model(TokenTable.of(BYTES), np.arange(256, dtype=np.uint32)[::-1], merge_rule="bytes"),
        "ids",
    ),
    "an unreachable token": (ranked([b"abc"], whole_piece=False), "whole_piece"),
    "an unreachable token of pairs": (paired([], [b"abc"]), "whole_piece"),
    "a merge that bytes do not imply": (paired([], [b"ab"]), "merges"),
    "a pair that bytes join otherwise": (
        paired([(98, 99, 256), (97, 98, 257), (257, 99, 258)], [b"bc", b"ab", b"abc"]),
        "merges",
    ),
    "merges in another order than ids": (paired([(99, 100, 257), (97, 98, 256)], [b"ab", b"cd"]), "merges"),
    "two merges for one token": (
        paired([(97, 98, 256), (98, 99, 257), (256, 99, 258), (97, 257, 258)], [b"ab", b"bc", b"abc"]),
        "merges",
    ),
    "scores": (ranked([], scores=np.zeros(256, np.float32)), "scores"),
    "an unknown id": (ranked([], unknown_id=0), "unknown_id"),
    "byte fallback": (ranked([], byte_fallback=True), "byte_fallback"),
    "a normalizer": (ranked([], normalizers=(Step("nfc"),)), "normalizers"),
    "another dialect": (ranked([], splitters=(Step("regex", (("dialect", "onig"), ("pattern", "a"))),)), "splitters"),
    "another splitter": (ranked([], splitters=(Step("digits"),)), "splitters"),
    "a decoder": (ranked([], decoders=(Step("fuse"),)), "decoders"),
    "a post-processor": (ranked([], post=(Step("template"),)), "post"),
    "metadata": (ranked([], metadata={"a": "b"}), "metadata"),
    "an added token that is not special": (ranked([], added_tokens=(AddedToken("a", 9999, False),)), "added_tokens"),
    "an added token with a flag": (ranked([], added_tokens=(AddedToken("a", 9999, lstrip=True),)), "added_tokens"),
}
LOSABLE = {"normalizers", "splitters", "decoders", "post", "metadata", "added_tokens"}


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_the_format_cannot_hold_is_refused_by_its_field(name: str) -> None:
    model, field = REFUSED[name]
    with pytest.raises(CannotRepresent) as caught:
        ROW.save(model)
    assert (caught.value.format, caught.value.field) == ("tiktoken", field), str(caught.value)
    if field in LOSABLE:
        assert f"allow_loss=['{field}']" in str(caught.value)
        assert ROW.load(ROW.save(model, allow_loss={field}), "a", **UNSPLIT) == ranked([])
    else:
        with pytest.raises(CannotRepresent):
            ROW.save(model, allow_loss=LOSABLE)


def test_arguments_of_load_and_the_record_are_not_losses(tmp_path: Path) -> None:
    tok = toksmith.train("low lower lowest slow slowly", merges=6, special_tokens=["<|end|>"])
    path = tmp_path / "low.tiktoken"
    tok.save(path)
    loaded = toksmith.load(path, pattern="o200k", special_tokens=tok.special_tokens)
    text = "slowest lowly<|end|>"
    assert loaded.encode(text, special="allow") == tok.encode(text, special="allow")
    assert loaded.model.splitters == tok.model.splitters
    loaded.save(path)
    assert toksmith.load(path, pattern="o200k", special_tokens=tok.special_tokens) == loaded


small = st.text("abcdef é€", max_size=30)


@pytest.mark.slow
@given(merged(), st.booleans(), st.lists(small, max_size=20))
@settings(max_examples=150)
def test_a_list_of_merges_that_is_saved_gives_the_same_ids(
    drawn: tuple[list[bytes], list[tuple[int, int, int]]], whole_piece: bool, texts: list[str]
) -> None:
    """Whatever is not refused is the same tokenizer, also on the tokens themselves and on all pairs of them."""
    tokens, merges = drawn
    model = paired(merges, tokens, whole_piece=whole_piece)
    try:
        data = ROW.save(model)
    except CannotRepresent as error:
        assert error.field in ("merges", "whole_piece")
        return
    before, after = Tokenizer(model), Tokenizer(ROW.load(data, "a.tiktoken", **UNSPLIT))
    everything: list[Any] = [*texts, *BYTES, *tokens, *(left + right for left in tokens for right in tokens)]
    for text in everything:
        assert before.encode(text) == after.encode(text), text


@pytest.mark.slow
@given(small.filter(str.strip), st.integers(0, 40), st.sampled_from(["lowest_ids", "first_seen"]), st.lists(small))
@settings(max_examples=150)
def test_a_trained_model_that_is_saved_gives_the_same_ids(
    corpus: str, merges: int, ties: Any, texts: list[str]
) -> None:
    tok = toksmith.train([corpus, *texts], merges=merges, ties=ties, pattern=None, progress=False)
    try:
        data = ROW.save(tok.model)
    except CannotRepresent as error:
        assert error.field == "merges"
        return
    loaded = Tokenizer(ROW.load(data, "a.tiktoken", **UNSPLIT))
    for text in [corpus, *texts]:
        assert loaded.encode(text) == tok.encode(text)


@pytest.mark.slow
@given(models())
@settings(max_examples=100)
def test_any_model_is_saved_exactly_or_refused(model: Model) -> None:
    try:
        data = ROW.save(model, allow_loss=LOSABLE)
    except CannotRepresent:
        return
    loaded = ROW.load(data, "a.tiktoken", **UNSPLIT)
    assert ROW.save(loaded) == data
    assert dict(zip(loaded.ids.tolist(), loaded.tokens, strict=True)) == dict(
        zip(model.ids.tolist(), model.tokens, strict=True)
    )
