"""GPT-2's two files: what they hold, which models fit in them, and what HF tokenizers makes of those written here."""

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_models import BYTES, merged
from hard_texts import HARD_TEXTS
from hypothesis import given, settings
from hypothesis import strategies as st

import toksmith
from toksmith import Model, Tokenizer
from toksmith._formats import FORMATS, FileContent
from toksmith._formats.texts import from_gpt2_alphabet, to_gpt2_alphabet
from toksmith._model import patterns
from toksmith.errors import CannotRepresent, FormatError, InvalidOption
from toksmith.types import AddedToken, Step, TokenTable

ROW = FORMATS["gpt2"]


def loaded(saved: tuple[bytes, ...], **arguments: Any) -> Model:
    parts = [FileContent(name, data) for name, data in zip(ROW.files[0], saved, strict=True)]
    return ROW.load(parts, "folder", **{"pattern": toksmith._formats.UNSET, "special_tokens": None, **arguments})


def saved(model: Model, **options: Any) -> tuple[bytes, ...]:
    content = ROW.save(model, **options)
    assert isinstance(content, tuple)
    return content


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train("low lower lowest slow slower", merges=6, pattern="gpt2_original", special_tokens=["<|end|>"])


def test_the_alphabet_is_gpt2s() -> None:
    assert [to_gpt2_alphabet(bytes([byte])) for byte in (0x21, 0x20, 0x0A, 0x7F, 0xAD, 0xFF)] == [
        "!",
        "Ġ",
        "Ċ",
        "ġ",
        "Ń",
        "ÿ",
    ]
    every = "".join(to_gpt2_alphabet(bytes([byte])) for byte in range(256))
    assert from_gpt2_alphabet(every) == bytes(range(256)) and len(set(every)) == 256
    assert all(from_gpt2_alphabet(char) is None for char in map(chr, range(0x400)) if char not in every)
    assert from_gpt2_alphabet("") is None


def test_the_two_files_hold_tokens_and_merges(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "a", format="gpt2")
    assert sorted(os.listdir(tmp_path / "a")) == ["merges.txt", "vocab.json"]
    vocab = json.loads((tmp_path / "a" / "vocab.json").read_text(encoding="utf-8"))
    assert (vocab["!"], vocab["Ġ"], vocab["low"], vocab["<|end|>"]) == (0x21, 0x20, 257, 262)
    assert (tmp_path / "a" / "merges.txt").read_text(encoding="utf-8").startswith("#version: 0.2\nl o\nlo w\n")
    for name in ("a", "a/vocab.json", "a/merges.txt"):
        assert toksmith.load(tmp_path / name) == tok


def test_the_two_files_are_found_by_each_others_names(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "my-encoder.json", format="gpt2")
    assert sorted(os.listdir(tmp_path)) == ["my-encoder.json", "my-vocab.bpe"]
    assert toksmith.load(tmp_path / "my-vocab.bpe") == tok
    (tmp_path / "my-vocab.bpe").rename(tmp_path / "other.bpe")
    with pytest.raises(
        FormatError, match=r"other\.bpe: is one of several files; name it like one of: .*vocab\.json and merges\.txt"
    ):
        toksmith.load(tmp_path / "other.bpe")
    with pytest.raises(FormatError, match=r"my-vocab\.bpe: cannot be read: there is no such file"):
        toksmith.load(tmp_path / "my-encoder.json")


def test_a_folder_with_two_tokenizers_lists_both(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path, format="gpt2")
    tok.save(tmp_path / "a.toksmith")
    with pytest.raises(FormatError, match=r"holds a\.toksmith \(native\), merges\.txt \(gpt2\); name the file"):
        toksmith.load(tmp_path)
    assert toksmith.load(tmp_path, format="gpt2") == tok == toksmith.load(tmp_path, format="native")


@pytest.mark.slow
def test_the_published_files_load_and_convert(vocab_dir: Path, tmp_path: Path) -> None:
    tok = toksmith.load(vocab_dir / "vocab.bpe")
    assert toksmith.load(vocab_dir / "encoder.json") == tok
    assert tok.special_tokens == {"<|endoftext|>": 50256} and len(tok) == 50257
    assert tok.model.splitters == patterns.splitters("gpt2_original")
    tok.save(tmp_path / "r50k_base.tiktoken")
    assert (tmp_path / "r50k_base.tiktoken").read_bytes() == (vocab_dir / "r50k_base.tiktoken").read_bytes()
    ranks = toksmith.load(
        vocab_dir / "r50k_base.tiktoken", pattern="gpt2_original", special_tokens={"<|endoftext|>": 50256}
    )
    ranks.save(tmp_path, format="gpt2")
    assert toksmith.load(tmp_path / "vocab.json") == tok
    texts = [*HARD_TEXTS.values()]
    assert tok.encode_batch(texts, special="text") == ranks.encode_batch(texts, special="text")


def test_a_vocabulary_of_another_pattern_is_noticed(tmp_path: Path) -> None:
    tok = toksmith.train("a;\nb;\nc;\n", merges=1, pattern="cl100k")
    assert tok.token_bytes(256) == b";\n"
    with pytest.raises(CannotRepresent, match=r"split with GPT-2's pattern.*allow_loss=\['splitters'\]") as caught:
        tok.save(tmp_path, format="gpt2")
    assert caught.value.field == "splitters" and not [*tmp_path.iterdir()]
    assert caught.value.file == str(tmp_path) and str(caught.value).startswith(f"{tmp_path}: the format 'gpt2' cannot")
    assert pickle.loads(pickle.dumps(caught.value)).file == str(tmp_path)
    tok.save(tmp_path, format="gpt2", allow_loss=["splitters"])
    back = toksmith.load(tmp_path)
    assert back.model.splitters == tok.model.splitters  # the first line says it
    texts = [*HARD_TEXTS.values()]
    assert back.encode_batch(texts, special="text") == tok.encode_batch(texts, special="text")
    with pytest.raises(InvalidOption, match=r"merges\.txt.*defines its own split pattern"):
        toksmith.load(tmp_path, pattern="gpt2")
    lines = (tmp_path / "merges.txt").read_text(encoding="utf-8").split("\n", 1)[1]
    (tmp_path / "merges.txt").write_text(lines, encoding="utf-8")
    with pytest.raises(InvalidOption, match=r"pattern= is missing.*would cut the token"):
        toksmith.load(tmp_path / "vocab.json")
    assert toksmith.load(tmp_path, format="gpt2", pattern="cl100k") == back


def test_tokens_that_only_whole_pieces_find_are_refused(vocab_dir: Path) -> None:
    tok = toksmith.load(vocab_dir / "llama3.tiktoken", pattern="llama3")
    with pytest.raises(CannotRepresent, match="588 tokens can be found only as whole pieces") as caught:
        ROW.save(tok.model)
    assert (caught.value.format, caught.value.field) == ("gpt2", "whole_piece")


@pytest.mark.slow
@given(merged(), st.permutations(range(256)), st.sampled_from([0, 7]), st.booleans())
@settings(max_examples=25)
def test_load_after_save_is_the_same_model(
    drawn: tuple[list[bytes], list[tuple[int, int, int]]], order: list[int], gap: int, split: bool
) -> None:
    tokens, merges = drawn
    ids = np.array([*order, *range(256, 256 + len(tokens))]) + gap
    model = Model(
        TokenTable.of([*BYTES, *tokens]),
        ids.astype(np.uint32),
        merges=ids[np.array(merges, np.int64).reshape(-1, 3)].astype(np.uint32),
        splitters=patterns.splitters(["[0-9]", "gpt2"] if split else "gpt2_original"),
        added_tokens=(AddedToken("<|é|>", 0 if gap else 9999), AddedToken("x y", 5000)),
    )
    losses = ["splitters"] if split else []
    content = saved(model, allow_loss=losses)
    steps = loaded(content, pattern=[step["pattern"] for step in model.splitters])
    assert steps == model
    assert saved(steps, allow_loss=losses) == content


def test_files_load_in_hf_tokenizers_with_equal_ids(tok: Tokenizer, tmp_path: Path) -> None:
    tokenizers: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
    tok.save(tmp_path, format="gpt2")
    peer = tokenizers.ByteLevelBPETokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    for text in HARD_TEXTS.values():
        scalar = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert peer.encode(scalar, add_special_tokens=False).ids == tok.encode(text, special="text")


@pytest.mark.slow
def test_files_load_in_tiktoken_with_equal_ranks(vocab_dir: Path, tmp_path: Path) -> None:
    load: Any = pytest.importorskip("tiktoken.load", reason="lacks tiktoken").data_gym_to_mergeable_bpe_ranks
    tok = toksmith.load(vocab_dir / "encoder.json")
    tok.save(tmp_path / "encoder.json", format="gpt2")
    found = load(str(tmp_path / "vocab.bpe"), str(tmp_path / "encoder.json"))
    assert found == dict(zip(tok.model.tokens, tok.model.ids.tolist(), strict=True))


@pytest.mark.slow
def test_the_published_files_say_how_they_differ_from_the_encoding(
    vocab_dir: Path, tok: Tokenizer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    peer: Any = pytest.importorskip("tiktoken", reason="lacks tiktoken")
    published = toksmith.load(vocab_dir / "encoder.json")
    (said,) = caplog.messages
    assert said.startswith(
        f"{vocab_dir / 'encoder.json'} has the ids of toksmith.load('gpt2') for every text; that one"
    )
    named = toksmith.load(
        vocab_dir / "r50k_base.tiktoken", pattern="gpt2", special_tokens={"<|endoftext|>": 50256}
    )  # as load("gpt2") reads it
    ranks = dict(zip(named.model.tokens, named.model.ids.tolist(), strict=True))
    gpt2 = peer.Encoding(
        "gpt2",
        pat_str=str(named.model.splitters[0]["pattern"]),
        mergeable_ranks=ranks,
        special_tokens={"<|endoftext|>": 50256},
    )
    for text in (*HARD_TEXTS.values(), Path(__file__).read_text(encoding="utf-8"), "".join(map(chr, range(0x3000)))):
        ids = published.encode(text, special="text")
        assert ids == named.encode(text, special="text") == gpt2.encode(text, disallowed_special=())
    caplog.clear()
    published.save(tmp_path / "vocab.json")
    toksmith.load(tmp_path)  # the same content in other bytes
    assert len(caplog.messages) == 1
    caplog.clear()
    (tmp_path / "own").mkdir()
    tok.save(tmp_path / "own", format="gpt2")
    toksmith.load(tmp_path / "own")
    toksmith.load(vocab_dir / "encoder.json", special_tokens={"<|more|>": 50257})
    assert caplog.messages == []


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "added_tokens": ({"added_tokens": (AddedToken("<a>", 300, lstrip=True),)}, "no flags"),
    "normalizers": ({"normalizers": (Step("nfc"),)}, "no field for it"),
    "splitters": ({"splitters": (Step("digits"),)}, "Rust dialect"),
    "unknown_id": ({"unknown_id": 3}, "no field for it"),
}


@pytest.mark.parametrize("field", REFUSED)
def test_a_model_that_the_format_cannot_hold_is_refused_by_its_field(field: str) -> None:
    fields, said = REFUSED[field]
    model = Model(TokenTable.of(BYTES), np.arange(256, dtype=np.uint32), **fields)
    with pytest.raises(CannotRepresent, match=said) as caught:
        ROW.save(model)
    assert caught.value.field == field


@pytest.mark.parametrize("content, id", [("lo", 300), ("<a>", 97)])
def test_special_tokens_that_would_be_taken_for_others_are_refused(content: str, id: int) -> None:
    tokens, merges = TokenTable.of([*BYTES, b"lo"]), np.array([[108, 111, 256]], np.uint32)
    ids = np.arange(257, dtype=np.uint32)
    if id == 97:
        with pytest.raises(toksmith.errors.ModelError):
            Model(tokens, ids, merges=merges, added_tokens=(AddedToken(content, id),))
        return
    with pytest.raises(CannotRepresent, match=r"'lo' \(id 300\) has the same spelling or id as the token 'lo'"):
        ROW.save(Model(tokens, ids, merges=merges, added_tokens=(AddedToken(content, id),)))
    with pytest.raises(CannotRepresent, match="lone surrogate"):
        ROW.save(Model(tokens, ids, merges=merges, added_tokens=(AddedToken("\ud800", 300),)))
    shared = (AddedToken("<a>", 300), AddedToken("<b>", 300))
    with pytest.raises(CannotRepresent, match="'<b>'"):
        ROW.save(Model(tokens, ids, merges=merges, added_tokens=shared))


def test_a_pair_model_whose_whole_pieces_are_not_reached_is_refused() -> None:
    tokens = [*BYTES, b"bc", b"ab", b"abc"]
    merges = np.array([[98, 99, 256], [97, 98, 257], [257, 99, 258]], np.uint32)  # `abc` becomes `a` and `bc`
    fields: dict[str, Any] = {"merges": merges, "splitters": patterns.splitters("gpt2_original")}
    model = Model(TokenTable.of(tokens), np.arange(259, dtype=np.uint32), whole_piece=True, **fields)
    with pytest.raises(CannotRepresent, match=r"1 token can be found only as whole pieces.*b'abc'"):
        ROW.save(model)
    plain = Model(TokenTable.of(tokens), np.arange(259, dtype=np.uint32), **fields)
    assert loaded(saved(plain)) == plain
    with pytest.raises(CannotRepresent, match="merge"):
        FORMATS["tiktoken"].save(plain)


def test_special_tokens_of_the_argument_are_added(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path, format="gpt2")
    more = toksmith.load(tmp_path, special_tokens={"<|end|>": 262, "<|pad|>": 400})
    assert more.special_tokens == {"<|end|>": 262, "<|pad|>": 400}
    with pytest.raises(InvalidOption, match="its id in the vocabulary, 262"):
        toksmith.load(tmp_path, special_tokens={"<|end|>": 400})
