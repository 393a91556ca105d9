"""GGUF: the `gguf` package reads our files, we read its files, and no claim of a file is trusted."""

import base64
import dataclasses
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_texts import HARD_TEXTS
from test_format_rows import scored
from trainings import SHORT, trained_model

import toksmith
from toksmith import Model, Tokenizer
from toksmith._formats import FORMATS, UNSET
from toksmith._formats import gguf as _gguf
from toksmith._model import patterns
from toksmith.errors import CannotRepresent, FormatError, InvalidOption
from toksmith.types import AddedToken, Step, TokenTable

gguf: Any = pytest.importorskip("gguf", reason="lacks gguf (tests/requirements.txt)")
ROW = FORMATS["gguf"]
K = "tokenizer.ggml."
made = partial(trained_model, SHORT, merges=8, pattern="llama3", special_tokens=["<|e|>", "<|b|>"])


def surrounded() -> Model:
    """Holes among the ids, tokens around texts, one that is not special, and other metadata."""
    model = made(pattern="qwen2")
    added = (AddedToken("<|e|>", 270), AddedToken("<|b|>", 271), AddedToken("xx", 280, special=False))
    post = _gguf.make_template((271, "<|b|>"), (270, "<|e|>"))
    kept = {"gguf": '{"tokenizer.chat_template": "{{ x }}", "tokenizer.ggml.padding_token_id": 270}', "by": "me"}
    return dataclasses.replace(model, added_tokens=added, post=post, metadata=kept)


def pairs(dummy: str = "before", remove_extra: bool = False, **fields: Any) -> Model:
    """SentencePiece's byte pairs, by default as llama.cpp runs them: with a token that is cut out before normalizing."""
    model = scored()
    options = {"charsmap": "", "dummy": dummy, "escape": True, "remove_extra": remove_extra}
    strip = "each" if remove_extra else "once" if dummy == "before" else "nothing"
    given = {
        "added_tokens": (*model.added_tokens[:2], AddedToken("<sep>", 2, special=False)),
        "normalizers": (Step("sentencepiece", tuple(sorted(options.items()))),),
        "decoders": (Step("sentencepiece", (("strip", strip), ("unknown", " ⁇ "))),),
    }
    return dataclasses.replace(model, **given | fields)


def unigram(**options: Any) -> Model:
    """A unigram model without bytes and user-defined tokens."""
    own = pairs(**options)
    added, kept = (*own.added_tokens[:2], AddedToken("<sep>", 2)), slice(0, 7)
    table = TokenTable.of(own.tokens[kept])
    fields: dict[str, Any] = {"byte_fallback": False, "tokens": table, "ids": own.ids[kept], "scores": own.scores[kept]}  # type: ignore[index]
    return dataclasses.replace(own, kind="unigram", merge_rule="pair", added_tokens=added, **fields)


MODELS: dict[str, Callable[[], Model]] = {
    "byte level": made,
    "with all there is": surrounded,
    "SentencePiece's": pairs,
    "SentencePiece's without a space before": lambda: pairs(dummy="nowhere"),
    "unigram": unigram,
    "unigram without extra spaces": lambda: unigram(remove_extra=True),
    "GPT-2's": lambda: made(pattern="gpt2_original"),
    "two regexes": lambda: made(pattern=[r"\p{N}", "gpt2_original"]),
    "whole pieces": lambda: dataclasses.replace(made(), whole_piece=True),
}


def load(data: bytes, **options: Any) -> Model:
    return ROW.load(data, "x.gguf", **{"pattern": UNSET, "special_tokens": None, **options})


def save(model: Model, **options: Any) -> bytes:
    data = ROW.save(model, **options)
    assert isinstance(data, bytes)
    return data


@pytest.mark.parametrize("name", MODELS)
def test_load_after_save_is_the_same_model_and_save_after_load_the_same_bytes(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    data = save(model)
    back = load(data)
    assert back == model and dict(back.metadata) == dict(model.metadata)
    assert save(back) == data
    assert [row.name for row in FORMATS.values() if row.sniff(data, "x")] == ["gguf"]
    Tokenizer(model).save(tmp_path / "x.gguf")
    assert toksmith.load(tmp_path / "x.gguf") == Tokenizer(model)


@pytest.mark.parametrize("name", MODELS)
def test_the_gguf_package_reads_the_written_file(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    (tmp_path / "x.gguf").write_bytes(save(model))
    fields = gguf.GGUFReader(tmp_path / "x.gguf").fields
    contents = fields[f"{K}tokens"].contents()
    assert len(contents) == model.vocab_size
    types = fields[f"{K}token_type"].contents()
    for token in model.added_tokens:
        assert contents[token.id] == token.content
        expected = 4 if not token.special else 2 if token.id == model.unknown_id else 3
        assert types[token.id] == expected
    if model.unit == "byte":
        by_id = dict(zip(model.ids.tolist(), map(toksmith._formats.texts.to_gpt2_alphabet, model.tokens), strict=True))
        assert {id: contents[id] for id in by_id} == by_id
        assert fields[f"{K}merges"].contents() == [f"{by_id[a]} {by_id[b]}" for a, b, _ in model.merges.tolist()]
    else:
        assert np.array_equal(np.array(fields[f"{K}scores"].contents()[3:], np.float32), model.scores)
        assert fields[f"{K}model"].contents() == ("t5" if model.kind == "unigram" else "llama")
    if name == "with all there is":
        assert contents[272] == "[PAD272]" and types[272] == 5
        assert fields[f"{K}bos_token_id"].contents() == 271 and fields[f"{K}padding_token_id"].contents() == 270
        assert fields["tokenizer.chat_template"].contents() == "{{ x }}" and fields[f"{K}pre"].contents() == "qwen2"


def written(tmp_path: Path, **values: Any) -> bytes:
    """A file of the package's own writer, with weights after the tokenizer."""
    letters = toksmith._formats.texts.BYTE_CHARACTERS
    given: dict[str, Any] = {
        "model": "gpt2", "pre": "llama-bpe", "tokens": [*letters, "lo", "low", "<s>"], "merges": ["l o", "lo w"],
        "token_type": [1] * 258 + [3],
    }  # fmt: skip
    writer = gguf.GGUFWriter(tmp_path / "y.gguf", "llama")
    writer.add_uint32("llama.block_count", 1)
    for name, value in (given | values).items():
        if value is not None:
            add = writer.add_array if isinstance(value, (list, tuple)) else None
            add = add or (
                writer.add_bool
                if isinstance(value, bool)
                else writer.add_uint32
                if isinstance(value, int)
                else writer.add_string
            )
            add(K + name, value)
    writer.add_tensor("weights", np.zeros((64, 64), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return (tmp_path / "y.gguf").read_bytes()


def test_a_file_with_weights_is_read(tmp_path: Path) -> None:
    written(tmp_path, bos_token_id=258)
    tok = toksmith.load(tmp_path / "y.gguf")
    assert tok.model.whole_piece and tok.model.splitters == patterns.splitters("llama3")
    assert tok.encode("low<s>", special="allow") == [257, 258]
    assert tok.encode("low", add_special_tokens=True) == [258, 257]
    assert toksmith.load(tmp_path / "y.gguf", format="gguf") == tok


def test_only_the_start_of_a_large_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = save(made())
    with open(tmp_path / "big.gguf", "wb") as file:
        file.write(data)
        file.truncate((1 << 30) + 1)
    assert toksmith.load(tmp_path / "big.gguf").model == made()


def test_ids_with_a_role_are_written(tmp_path: Path) -> None:
    """llama.cpp has default ids for roles that a file does not name."""
    model = dataclasses.replace(
        made(),
        added_tokens=tuple(AddedToken(content, 300 + id) for id, content in enumerate(["</s>", "<pad>", "<s>", "<y>"])),
    )
    (tmp_path / "x.gguf").write_bytes(save(model))
    fields = gguf.GGUFReader(tmp_path / "x.gguf").fields
    found = {role: fields[f"{K}{role}_token_id"].contents() for role in ("bos", "eos", "padding")}
    assert found == {"bos": 302, "eos": 300, "padding": 301}
    assert load(save(model)) == model and not load(save(model)).metadata  # the contents of the tokens give the ids
    # The id in a file wins, and two contents for a role give no id.
    kept = dataclasses.replace(model, metadata={"gguf": '{"tokenizer.ggml.eos_token_id": 303}'})
    (tmp_path / "y.gguf").write_bytes(save(kept))
    assert gguf.GGUFReader(tmp_path / "y.gguf").fields[f"{K}eos_token_id"].contents() == 303
    assert load(save(kept)) == kept and load(save(kept)).metadata == kept.metadata
    two = dataclasses.replace(model, added_tokens=(*model.added_tokens, AddedToken("<|im_end|>", 310)))
    (tmp_path / "z.gguf").write_bytes(save(two))
    assert f"{K}eos_token_id" not in gguf.GGUFReader(tmp_path / "z.gguf").fields


def test_an_unknown_pre_needs_the_pattern(tmp_path: Path) -> None:
    data = written(tmp_path, pre="falcon")
    with pytest.raises(InvalidOption, match="'falcon'"):
        load(data)
    assert load(data, pattern="qwen2").splitters == patterns.splitters("qwen2")
    with pytest.raises(InvalidOption, match="llama-bpe"):
        load(written(tmp_path), pattern="qwen2")
    with pytest.raises(InvalidOption):
        load(data, pattern="qwen2", special_tokens={"<a>": 300})


@pytest.mark.parametrize("name", _gguf.PRES)
def test_every_name_for_a_split_makes_a_tokenizer(name: str, tmp_path: Path) -> None:
    tok = Tokenizer(load(written(tmp_path, pre=name)))
    for text in HARD_TEXTS.values():
        assert tok.decode(tok.encode(text)) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    again = load(save(tok.model))
    assert (again.splitters, again.whole_piece) == (tok.model.splitters, tok.model.whole_piece)


@pytest.mark.parametrize("name, other", [("gpt2", "gpt2_original"), ("cl100k_minbpe", "llama3")])
def test_a_pattern_with_the_same_matches_is_written_as_the_other(name: str, other: str) -> None:
    model = made(pattern=name)
    back = load(save(model))
    assert back.splitters == patterns.splitters(other)
    one, two = Tokenizer(model), Tokenizer(back)
    for text in HARD_TEXTS.values():
        assert one.encode(text) == two.encode(text)


REFUSED: dict[str, tuple[Callable[[], Model], str]] = {
    "a pattern without a name": (lambda: made(pattern=r"\w+|\W+"), "splitters"),
    "no pattern": (lambda: made(pattern=None), "splitters"),
    "cl100k": (lambda: made(pattern="cl100k"), "splitters"),
    "a normalizer": (lambda: dataclasses.replace(made(), normalizers=(Step("nfc"),)), "normalizers"),
    "flags": (lambda: dataclasses.replace(made(), added_tokens=(AddedToken("x", 300, lstrip=True),)), "added_tokens"),
    "a token that is written like another": (
        lambda: dataclasses.replace(made(), added_tokens=(AddedToken("Ġ", 300),)), "added_tokens"
    ),
    "padding": (lambda: dataclasses.replace(made(), post=(Step("pad"),)), "post"),
    "a template for itself": (
        lambda: dataclasses.replace(
            surrounded(),
            post=(Step("template", (("pair", []), ("single", [["A", False, 0]]), ("special_tokens", {}))),),
        ), "post"
    ),
    "a space after a text": (lambda: pairs(dummy="after"), "normalizers"),
    "o200k, whose regex llama.cpp does not run": (lambda: made(pattern="o200k"), "splitters"),
    "pairs of characters without bytes": (
        lambda: dataclasses.replace(unigram(), kind="bpe", merge_rule="bytes"), "byte_fallback"
    ),
    "pairs whose extra spaces are removed": (lambda: pairs(remove_extra=True), "normalizers"),
    "pairs of rewritten characters": (lambda: with_charsmap(pairs()), "normalizers"),
    "a token of the normalized text, with a space before texts": (
        lambda: pairs(added_tokens=scored().added_tokens), "added_tokens"
    ),
    "a token of the normalized text that has a space": (
        lambda: pairs(dummy="nowhere", added_tokens=(*scored().added_tokens[:2], AddedToken("▁x", 2, False, normalized=True))), "added_tokens"
    ),
    "unigram with bytes": (lambda: dataclasses.replace(scored(), kind="unigram", merge_rule="pair"), "byte_fallback"),
    "unigram with a user-defined token": (
        lambda: dataclasses.replace(unigram(), added_tokens=(*unigram().added_tokens[:2], AddedToken("x", 2, special=False))), "added_tokens"
    ),
    "unigram without extra spaces and without one before": (
        lambda: unigram(dummy="nowhere", remove_extra=True), "normalizers"
    ),
    "words": (lambda: toksmith.train(SHORT, kind="words", pattern=r"\w+|\W+").model, "kind"),
    "tokens that merging does not reach": (
        lambda: dataclasses.replace(made(pattern="qwen2", merges=3), merges=[], whole_piece=True), "whole_piece"
    ),
}  # fmt: skip


def with_charsmap(model: Model) -> Model:
    """The model with a table of rewritten characters, which is empty but for its size."""
    step = model.normalizers[0]
    charsmap = base64.b64encode(struct.pack("<II", 4, 0) + b"\0").decode()
    options = {**dict(step.options), "charsmap": charsmap}
    return dataclasses.replace(model, normalizers=(Step(step.kind, tuple(sorted(options.items()))),))


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_gguf_cannot_hold_is_refused_by_its_field(name: str) -> None:
    make, field = REFUSED[name]
    with pytest.raises(CannotRepresent) as caught:
        save(make())
    assert (caught.value.format, caught.value.field) == ("gguf", field)


@pytest.mark.parametrize("pattern, whole_piece, pre", [("o200k", False, "gpt-4o"), (_gguf.TEKKEN, True, "tekken")])
def test_a_pattern_that_llama_cpp_runs_as_another_is_written_when_the_caller_allows_it(
    pattern: str, whole_piece: bool, pre: str
) -> None:
    model = dataclasses.replace(made(), splitters=patterns.splitters(pattern), whole_piece=whole_piece)
    with pytest.raises(CannotRepresent, match="allow_loss"):
        save(model)
    back = load(save(model, allow_loss=["splitters"]))
    assert back == dataclasses.replace(model, splitters=patterns.splitters(_gguf.PRES[pre].pattern))
    assert Tokenizer(back).split("naïvetÉ") != Tokenizer(model).split("naïvetÉ")


@pytest.mark.parametrize("name", [name for name in REFUSED if "pairs" in name or "unigram" in name])
def test_models_that_llama_cpp_runs_differently_are_not_loaded(name: str) -> None:
    make, field = REFUSED[name]
    if field == "byte_fallback":
        with pytest.raises(CannotRepresent):
            save(make(), allow_loss=["normalizers", "added_tokens"])
        return
    with pytest.raises(FormatError, match=K) as caught:
        load(save(make(), allow_loss=[field]))
    assert "llama.cpp" in caught.value.problem


def test_the_usual_ids_are_around_texts_where_a_file_does_not_name_them(tmp_path: Path) -> None:
    """Files that request a token before or after a text, or neither, without naming its id."""
    tok = Tokenizer(load(written(tmp_path, add_bos_token=True, add_eos_token=True)))
    assert tok.encode("low", add_special_tokens=True) == [11, 257, 11]
    tok = Tokenizer(load(written(tmp_path, add_bos_token=False)))
    assert tok.encode("low", add_special_tokens=True) == [257]


def test_metadata_can_be_left_out() -> None:
    back = load(save(surrounded(), allow_loss=["metadata"]))
    assert back == surrounded()
    assert "padding" not in str(back.metadata)


# --- hostile files ---------------------------------------------------------------------------------------------------


def head(count: int, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, count)


def text(value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


HOSTILE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "byte 0"),
    "the first word": (b"GGUF", "byte 0"),
    "another word": (b"GGML" + bytes(40), "byte 0"),
    "version 1": (head(0, 1), "version 1 is unknown"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
    "a claim of many values": (head(2**63), "9223372036854775808 values"),
    "no values": (head(0), "tokenizer.ggml.model"),
    "a value that is missing": (head(1), "ends here"),
    "a name beyond the end": (head(1) + struct.pack("<Q", 2**62), "a name has"),
    "a name that is not UTF-8": (head(1) + text(b"\xff") + bytes(8), "not UTF-8"),
    "a value twice": (head(2) + (text("a") + struct.pack("<IB", 0, 1)) * 2, "occurs twice"),
    "another type": (head(1) + text("a") + struct.pack("<I", 13), "unknown type 13"),
    "a text beyond the end": (head(1) + text("a") + struct.pack("<IQ", 8, 2**62), "ends here"),
    "numbers beyond the end": (head(1) + text("a") + struct.pack("<IIQ", 9, 4, 2**61), "ends here"),
    "texts beyond the end": (head(1) + text("a") + struct.pack("<IIQ", 9, 8, 2**60) + bytes(99), "claims"),
    "one text beyond the end": (head(1) + text("a") + struct.pack("<IIQQQ", 9, 8, 2, 0, 2**62), "past the end"),
    "lists of lists": (head(1) + text("a") + struct.pack("<IIQ", 9, 9, 1) + bytes(99), "type 9"),
    "many empty texts": (head(1) + text(f"{K}tokens") + struct.pack("<IIQ", 9, 8, 1 << 20) + bytes(8 << 20), "model"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_with_their_place(name: str) -> None:
    data, said = HOSTILE[name]
    with pytest.raises(FormatError, match=said) as caught:
        load(data)
    assert caught.value.place and len(str(caught.value)) < 300


def test_a_file_cut_anywhere_is_refused() -> None:
    data = save(made(merges=2))
    for end in range(0, len(data), 37):
        with pytest.raises(FormatError):
            load(data[:end])


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a unigram model that llama.cpp takes another unknown token for": (
        {"model": "t5", "tokens": ["<unk>", "a"], "token_type": [2, 1], "scores": [0.0, -1.0], "merges": None, "add_eos_token": False},
        "tokenizer.ggml.unknown_token_id",
    ),
    "another kind": ({"model": "bert"}, "tokenizer.ggml.model"),
    "a kind that is a number": ({"model": 1}, "tokenizer.ggml.model"),
    "no tokens": ({"tokens": None}, "tokenizer.ggml.tokens"),
    "tokens that are numbers": ({"tokens": [1, 2]}, "tokenizer.ggml.tokens"),
    "no merges": ({"merges": None}, "tokenizer.ggml.merges"),
    "a merge of one": ({"merges": ["lo"]}, "tokenizer.ggml.merges[0]"),
    "a merge of unknown tokens": ({"merges": ["l o", "x q"]}, "tokenizer.ggml.merges[1]"),
    "types for some": ({"token_type": [1, 2]}, "tokenizer.ggml.token_type"),
    "types that are texts": ({"token_type": ["a"]}, "tokenizer.ggml.token_type"),
    "a type that is not known": ({"token_type": [9] * 259}, "tokenizer.ggml.tokens[0]"),
    "a token twice": ({"tokens": ["!", "!"], "token_type": None, "merges": ["! !"]}, "tokenizer.ggml.tokens[1]"),
    "a token that is not spelt in bytes": ({"token_type": None, "tokens": ["a b"], "merges": ["! !"]}, "tokenizer.ggml.tokens[0]"),
    "bytes that are missing": ({"token_type": None, "tokens": ["a", "aa"], "merges": ["a a"], "add_bos_token": False}, "None"),
    "a token before texts without an id, and too few for the usual one": (
        {"token_type": None, "tokens": ["a", "aa"], "merges": ["a a"]}, "tokenizer.ggml.add_bos_token"
    ),
    "an id beyond the tokens": ({"bos_token_id": 259}, "tokenizer.ggml.bos_token_id"),
    "an id that is a text": ({"eos_token_id": "a"}, "tokenizer.ggml.eos_token_id"),
    "a flag that is a number": ({"add_bos_token": 2}, "tokenizer.ggml.add_bos_token"),
    "characters without scores": ({"model": "llama"}, "tokenizer.ggml.scores"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_named_by_its_place(name: str, tmp_path: Path) -> None:
    values, place = WRONG[name]
    with pytest.raises(FormatError) as caught:
        load(written(tmp_path, **values))
    assert str(caught.value.place) == place, str(caught.value)


def test_saving_without_the_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    data = save(made())
    monkeypatch.setitem(sys.modules, "gguf", None)
    assert load(data) == made()
    with pytest.raises(ImportError, match=r"toksmith\[gguf\]"):
        save(made())
