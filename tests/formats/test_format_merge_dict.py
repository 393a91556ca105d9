"""`merge_dict.json`: the tutorials' merges."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_models import BYTES, models
from hypothesis import given, settings
from test_tutorials import KNIGHT, KNIGHT_IDS, KNIGHT_MERGES

import toksmith
from toksmith import Model, Tokenizer, _formats
from toksmith.errors import CannotRepresent
from toksmith.types import TokenTable

ROW = _formats.FORMATS["merge_dict"]
PLAIN: dict[str, Any] = {"pattern": _formats.UNSET, "special_tokens": None}


def dumped(merges: list[tuple[int, int]], first: int) -> bytes:
    return json.dumps({str(first + place): pair for place, pair in enumerate(merges)}).encode()


def test_ids_from_256_on_are_merges_of_bytes(tmp_path: Path) -> None:
    path = tmp_path / "merge_dict.json"
    path.write_bytes(dumped([(97, 97), (256, 98), (0xC3, 0xA9)], 256))
    tok = toksmith.load(path)
    assert tok.encode("aab é aaa") == [257, 32, 258, 32, 256, 97]
    assert tok.model.splitters == ()
    assert tok.model.unit == "byte"
    tok.save(path)
    assert path.read_bytes() == dumped([(97, 97), (256, 98), (0xC3, 0xA9)], 256)


def test_ids_from_128_on_are_merges_of_characters(tmp_path: Path) -> None:
    path = tmp_path / "merge_dict.json"
    path.write_bytes(dumped(KNIGHT_MERGES, 128))
    tok = toksmith.load(path)
    ids = tok.encode(KNIGHT)
    assert len(ids) == 74 and ids[:24] == KNIGHT_IDS
    assert tok.decode(ids) == KNIGHT
    with pytest.raises(toksmith.errors.NotInVocabulary):
        tok.encode("é")
    tok.save(path)
    assert path.read_bytes() == dumped(KNIGHT_MERGES, 128)


def test_entries_may_come_in_any_order() -> None:
    model = ROW.load(b' {"257":[256,98],\n"256": [97, 97] }\n', "merge_dict.json", **PLAIN)
    assert model.merges.tolist() == [[97, 97, 256], [256, 98, 257]]


def test_a_file_without_merges_holds_the_bytes() -> None:
    assert list(ROW.load(b"{}", "merge_dict.json", **PLAIN).tokens) == BYTES
    assert ROW.save(model(BYTES)) == b"{}"


def test_load_takes_the_pattern_and_the_special_tokens(tmp_path: Path) -> None:
    path = tmp_path / "merge_dict.json"
    tok = toksmith.train("low lower lowest", merges=5, pattern="gpt2", special_tokens=["<|end|>"])
    with pytest.raises(CannotRepresent, match="do not split texts") as caught:
        tok.save(path)
    assert caught.value.field == "splitters"
    tok.save(path, allow_loss=["splitters"])
    assert list(json.loads(path.read_text(encoding="utf-8"))) == ["256", "257", "258", "259", "260"]
    assert toksmith.load(path, pattern="gpt2", special_tokens=tok.special_tokens) == tok


def model(tokens: list[bytes], ids: list[int] | None = None, **fields: Any) -> Model:
    numbers = range(len(tokens)) if ids is None else ids
    return Model(TokenTable.of(tokens), np.array(numbers, np.uint32), **fields)


REFUSED: dict[str, tuple[Model, str]] = {
    "words": (model([b"a"], kind="words"), "kind"),
    "whole pieces that no merge makes": (model([*BYTES, b"abc"], merge_rule="bytes", whole_piece=True), "whole_piece"),
    "permuted bytes": (model(BYTES[::-1]), "ids"),
    "a token without a merge": (model([*BYTES, b"ab"]), "ids"),
    "a token with two merges": (
        model([*BYTES, b"ab", b"bc", b"abc"], merges=[[97, 98, 256], [98, 99, 257], [256, 99, 258], [97, 257, 258]]),
        "ids",
    ),
    "merges in another order than ids": (model([*BYTES, b"ab", b"cd"], merges=[[99, 100, 257], [97, 98, 256]]), "ids"),
    "a hole": (model([*BYTES, b"ab"], ids=[*range(256), 300], merges=[[97, 98, 300]]), "ids"),
    "another alphabet": (model([b"a", b"b"], unit="char"), "ids"),
    "characters without a merge": (model(BYTES[:128], unit="char"), "unit"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_the_format_cannot_hold_is_refused_by_its_field(name: str) -> None:
    refused, field = REFUSED[name]
    with pytest.raises(CannotRepresent) as caught:
        ROW.save(refused)
    assert (caught.value.format, caught.value.field) == ("merge_dict", field), str(caught.value)


def test_merges_are_recovered_from_ranks() -> None:
    ranks = model([*BYTES, b"ab", b"abc"], merge_rule="bytes", whole_piece=True)
    loaded = ROW.load(ROW.save(ranks), "merge_dict.json", **PLAIN)
    assert loaded.merges.tolist() == [[97, 98, 256], [256, 99, 257]]


@pytest.mark.slow
@given(models())
@settings(max_examples=100)
def test_any_model_is_saved_exactly_or_refused(drawn: Model) -> None:
    try:
        data = ROW.save(drawn, allow_loss={"added_tokens", "splitters", "metadata"})
    except CannotRepresent:
        return
    loaded = ROW.load(data, "merge_dict.json", **PLAIN)
    assert ROW.save(loaded) == data
    if drawn.merge_rule == "pair":
        assert np.array_equal(loaded.merges, drawn.merges)
    without = dataclasses.replace(drawn, splitters=(), added_tokens=())
    assert Tokenizer(loaded).encode("abcé€ ab") == Tokenizer(without).encode("abcé€ ab")


def test_the_tutorials_training_is_saved_as_it_saves_it(vocab_dir: Path, corpora_dir: Path, tmp_path: Path) -> None:
    merges = json.loads((vocab_dir / "seed_taylorswift_merges_1000.json").read_text(encoding="utf-8"))
    text = (corpora_dir / "taylorswift.txt").read_text(encoding="utf-8")
    tok = toksmith.train(text, 1000, pattern=None, ties="first_seen")
    tok.save(tmp_path / "merge_dict.json")
    assert (tmp_path / "merge_dict.json").read_bytes() == dumped(merges, 256)
    loaded = toksmith.load(tmp_path / "merge_dict.json")
    sample = "Hi there, how are you? नमस्ते, आप कैसे हैं"
    assert len(loaded.encode(sample)) == 61
    assert loaded.decode(loaded.encode(sample)) == sample
