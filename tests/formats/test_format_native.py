"""The native format: what is saved is loaded, to the byte."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from drawn_models import BYTES, models
from hypothesis import given, settings

import toksmith
from toksmith import Model, _core, _formats
from toksmith._formats import json
from toksmith.errors import CannotRepresent, FormatError, InvalidOption
from toksmith.types import Step, TokenTable

NATIVE = _formats.FORMATS["native"]


def load(data: bytes) -> Model:
    return NATIVE.load(data, "drawn.toksmith", pattern=_formats.UNSET, special_tokens=None)


def record(model: Model) -> tuple[Any, ...] | None:
    """The training record as a value that compares; `Model` leaves it out of equality."""
    if (found := model.training) is None:
        return None
    plain = (found.options, found.documents, found.bytes, found.digest, found.symbols, found.stopped_because)
    return (*plain, found.counts.dtype, found.counts.tolist(), found.left.dtype, found.left.tolist())


@pytest.mark.slow
@given(models())
@settings(max_examples=100)
def test_every_field_is_saved_and_loaded(model: Model) -> None:
    data = NATIVE.save(model)
    loaded = load(data)
    assert loaded.fields() == model.fields()
    assert list(loaded.tokens) == list(model.tokens)
    for name in ("ids", "merges"):
        assert np.array_equal(getattr(loaded, name), getattr(model, name))
    if model.scores is None:
        assert loaded.scores is None
    else:
        assert loaded.scores is not None
        assert loaded.scores.tobytes() == model.scores.tobytes()
    assert record(loaded) == record(model)
    assert dict(loaded.metadata) == dict(model.metadata)
    assert loaded.fingerprint() == model.fingerprint()
    assert NATIVE.save(loaded) == data


def test_the_file_is_spelt_as_documented() -> None:
    model = Model(
        TokenTable.of([b" a", b"\\", "é\u200d".encode(), b"\xff\xc3", "\ufeff☀\ufe0f".encode()]),
        np.array([9, 3, 1, 0, 7], np.uint32),
        kind="words",
        scores=np.array([0.1, -2, 1e-9, 2.0**127, 0], np.float32),
        metadata={"b": "\u2028é", "a": 'x\n"\\'},
    )
    body = (
        "toksmith 1\n"
        'model {"added_tokens": [], "byte_fallback": false, "decoders": [], "kind": "words", "merge_rule": "pair", '
        '"normalizers": [], "post": [], "splitters": [], "unit": "byte", "unknown_id": null, "whole_piece": false}\n'
        "tokens 5\n"
        "9 \\x20a\n3 \\x5c\n1 é\\xe2\\x80\\x8d\n0 \\xff\\xc3\n7 \\xef\\xbb\\xbf☀\\xef\\xb8\\x8f\n"
        "merges 0\n"
        "scores 5\n0.10000000149011612\n-2.0\n9.999999717180685e-10\n1.7014118346046923e+38\n0.0\n"
        'metadata {"a": "x\\n\\"\\\\", "b": "\\u2028é"}\n'
    )
    checksum = hashlib.sha256(body.encode()).hexdigest()
    assert NATIVE.save(model).decode() == f"{body}sha256 {checksum}\n"


@pytest.mark.slow
def test_the_escaped_characters_are_those_of_the_contract() -> None:
    contract = regex.compile(r"[\p{White_Space}\p{Cc}\p{Default_Ignorable_Code_Point}\\]")
    chars = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    table = TokenTable.of(char.encode() for char in chars)
    lines = _core.dump_token_lines(table.blob, table.ends, np.arange(len(chars), dtype=np.uint32)).decode().split("\n")
    escaped = {char for char, line in zip(chars, lines[:-1], strict=True) if line.partition(" ")[2] != char}
    assert escaped == {char for char in chars if contract.match(char)}
    in_json = {char for char in chars if re.match(json.HIDDEN, char)}
    assert in_json == {char for char in escaped if char > " " and char != "\\"}


CONTRACT = Path(__file__).parents[2] / "docs" / "format.md"


def test_the_docs_show_a_real_file() -> None:
    shown = CONTRACT.read_text(encoding="utf-8").split("```\n")[1]
    model = toksmith.train("low lower lowest", merges=3, pattern=None, special_tokens=["<|end|>"]).model
    data = NATIVE.save(replace(model, metadata={"note": "an example"})).decode()
    assert re.fullmatch(re.escape(shown).replace("…", "[^\x00]*"), data)


@pytest.mark.slow
def test_the_docs_list_the_same_characters() -> None:
    text = CONTRACT.read_text(encoding="utf-8")
    section = text[text.index("A writer must escape") : text.index("every other character")]
    listed = set()
    for first, last in re.findall(r"U\+([0-9A-F]{4,5})(?:–U\+([0-9A-F]{4,5}))?", section):
        listed |= set(range(int(first, 16), int(last or first, 16) + 1))
    outside_json = {chr(code) for code in listed if chr(code) > " " and chr(code) != "\\"}
    assert outside_json == {chr(code) for code in range(0x110000) if re.match(json.HIDDEN, chr(code))}


def test_a_reader_accepts_any_byte_as_an_escape(tmp_path: Path) -> None:
    data = NATIVE.save(toksmith.train("low low", merges=2, pattern=None).model)
    assert b"\n257 low\n" in data
    other = data[: data.rindex(b"sha256")].replace(b"\n257 low\n", b"\n257 \\x6C\\x6fw\n")
    other += f"sha256 {hashlib.sha256(other).hexdigest()}\n".encode()
    assert NATIVE.save(load(other)) == data


def test_a_trained_tokenizer_is_saved_with_its_record(tmp_path: Path) -> None:
    tok = toksmith.train(["low lower", "lowest"], merges=3, special_tokens=["<|end|>"])
    tok.save(tmp_path / "low.toksmith")
    loaded = toksmith.load(tmp_path / "low.toksmith")
    assert loaded == tok
    assert record(loaded.model) == record(tok.model)
    assert record(tok.model) is not None
    text = "lowest\n  low ☀ \x00 low"
    assert loaded.encode(text) == tok.encode(text)
    assert loaded.special_tokens == {"<|end|>": 259}


@pytest.mark.parametrize("argument", [{"pattern": None}, {"special_tokens": {}}])
def test_arguments_that_the_file_defines_are_refused(tmp_path: Path, argument: dict[str, Any]) -> None:
    path = tmp_path / "low.toksmith"
    toksmith.train("low", merges=1).save(path)
    with pytest.raises(InvalidOption) as caught:
        toksmith.load(path, **argument)
    assert caught.value.argument in argument


def words(**fields: Any) -> Model:
    return Model(TokenTable.of([b"a"]), np.zeros(1, np.uint32), kind="words", **fields)


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("metadata", {"metadata": {"a": "\ud800"}}),
        ("model", {"splitters": (Step("regex", (("pattern", float("nan")),)),)}),
        ("model", {"splitters": (Step("regex", (("pattern", b"bytes"),)),)}),
        ("scores", {"scores": np.array([np.nan], np.float32)}),
        ("scores", {"scores": np.array([1, 2], np.float32)}),
    ],
)
def test_a_model_that_no_reader_can_load_is_not_saved(field: str, fields: dict[str, Any]) -> None:
    with pytest.raises(CannotRepresent) as caught:
        NATIVE.save(words(**fields))
    assert caught.value.field == field


def test_the_longest_token_is_saved_and_a_longer_one_is_not() -> None:
    longest = Model(TokenTable.of([b"a" * 2**20]), np.zeros(1, np.uint32), kind="words")
    assert load(NATIVE.save(longest)) == longest
    with pytest.raises(CannotRepresent, match="1048577 bytes"):
        NATIVE.save(Model(TokenTable.of([b"a" * (2**20 + 1)]), np.zeros(1, np.uint32), kind="words"))


def test_a_model_error_names_its_line() -> None:
    data = NATIVE.save(Model(TokenTable.of(BYTES), np.arange(256, dtype=np.uint32)))
    body = data[: data.rindex(b"sha256")].replace(b"\n98 b\n", b"\n97 b\n")
    with pytest.raises(FormatError) as caught:
        load(body + f"sha256 {hashlib.sha256(body).hexdigest()}\n".encode())
    line = int(caught.value.place or 0)
    assert data.split(b"\n")[line - 1] == b"98 b"
    assert isinstance(caught.value.__cause__, toksmith.errors.ModelError)
