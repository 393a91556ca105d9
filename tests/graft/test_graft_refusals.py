"""`graft` refuses what it cannot do right before it writes anything: the message says where, and what to do."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from model_folders import (
    EXTENDED,
    EXTENDING,
    LAYOUTS,
    PRUNED,
    ROWS,
    SIZE,
    TOK,
    WIDTH,
    checkpoint,
    content,
    drawn,
    read_json,
    write_json,
)
from tensor_files import raw, safetensors

import toksmith
from toksmith._cli import app
from toksmith._graft.weights import read_header

INDEX = "model.safetensors.index.json"
Damage = Callable[[Path], object]


def refused(place: Path, tok: toksmith.Tokenizer = EXTENDED, **options: Any) -> str:
    """The message of `graft`, after checking that it wrote nothing."""
    before = content(place)
    with pytest.raises((toksmith.errors.FormatError, toksmith.errors.InvalidOption)) as caught:
        toksmith.graft(place, tok, place.parent / "new", **options)
    assert content(place) == before
    assert [path.name for path in place.parent.iterdir() if path.name not in ("old", "donor")] == []
    return str(caught.value)


def edited(name: str, change: Callable[[Any], object]) -> Damage:
    """Changes a JSON file."""

    def damage(old: Path) -> None:
        value = read_json(old / name)
        changed = change(value)
        write_json(old / name, value if changed is None else changed)

    return damage


def with_header(change: Callable[[dict[str, Any]], object], more: int = 0) -> Damage:
    """Changes the header of the first file, and appends `more` bytes."""

    def damage(old: Path) -> None:
        path = min(old.glob("*.safetensors"))
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        entries = json.loads(data[8 : 8 + length])
        change(entries)
        text = json.dumps(entries).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :] + bytes(more))

    return damage


def shifted(entries: dict[str, Any]) -> None:
    """All tensors begin 8 bytes later."""
    for entry in entries.values():
        entry.update({"data_offsets": [place + 8 for place in entry["data_offsets"]]} if "shape" in entry else {})


def cut(old: Path) -> None:
    path = max(old.glob("*.safetensors"))
    path.write_bytes(path.read_bytes()[:-5])


def longer(old: Path) -> None:
    path = max(old.glob("*.safetensors"))
    path.write_bytes(path.read_bytes() + b"12345")


def only(name: str) -> Damage:
    """Weights in one file of another kind."""

    def damage(old: Path) -> None:
        for path in (*old.glob("*.safetensors"), *old.glob("*.index.json")):
            path.unlink()
        (old / name).write_bytes(b"x")

    return damage


def without(name: str) -> Damage:
    return lambda old: (old / name).unlink()


def twice(old: Path) -> None:
    """The first tensor is in the last file as well."""
    first, last = (edge(old.glob("*.safetensors")) for edge in (min, max))
    tensor = next(iter(read_header(first).tensors.values()))
    held = [*read_header(last).tensors.values(), tensor]
    files = {each.path: each.path.read_bytes() for each in held}
    safetensors(last, {each.name: (each.dtype, each.shape, files[each.path][each.begin : each.end]) for each in held})


SHARDS: dict[str, tuple[Damage, str]] = {
    "no shard": (
        without("model-00002-of-00002.safetensors"),
        "lists model-00002-of-00002.safetensors, which is not in",
    ),
    "no index": (without(INDEX), f"holds no model.safetensors and no {INDEX}"),
    "index of a list": (edited(INDEX, lambda found: [found]), "is not an index of safetensors files"),
    "index elsewhere": (
        edited(INDEX, lambda found: found["weight_map"].update({"x": "../x.safetensors"})),
        "which is not in the folder",
    ),
    "index of more": (
        edited(INDEX, lambda found: found["weight_map"].update({"x": "model-00001-of-00002.safetensors"})),
        "x: is not in the file, although the index lists it there",
    ),
    "held twice": (twice, "is also in model-00001-of-00002.safetensors"),
    "cut": (cut, "are outside the"),
    "longer": (longer, "is it cut or damaged? copy it anew"),
    "hole": (with_header(shifted, 8), "its numbers begin at byte"),
    "shape": (
        with_header(lambda entries: entries[ROWS[0]].update(shape=[SIZE, WIDTH + 1])),
        f"has the shape [{SIZE}, {WIDTH + 1}] of F32, but",
    ),
    "offsets": (
        with_header(lambda entries: entries[ROWS[0]].update(data_offsets=[8, 4])),
        "are outside the",
    ),
    "negative": (with_header(lambda entries: entries[ROWS[0]].update(shape=[-1, 4])), "expected dtype, shape and"),
    "no config": (without("config.json"), "has no config.json"),
    "config of a list": (edited("config.json", lambda found: [found]), "expected a JSON object, not list"),
    "config of another size": (
        edited("config.json", lambda found: found.update(vocab_size=SIZE + 1)),
        f"vocab_size: is {SIZE + 1}, but {ROWS[0]} has {SIZE} rows; expected the same",
    ),
    "no tokenizer": (without("tokenizer.json"), "with old="),
    ".bin": (only("pytorch_model.bin"), "from_pretrained(FOLDER) and save_pretrained(NEW)"),
    ".pt": (only("model.pt"), "pickles"),
    ".h5": (only("tf_model.h5"), "weights of TensorFlow"),
    ".gguf": (only("model-q4.gguf"), "graft the checkpoint that they were made from"),
    "adapter": (only("adapter_model.bin"), "merge it into its model first"),
}


@pytest.mark.parametrize("name", SHARDS)
def test_a_folder_that_is_not_a_whole_checkpoint_is_refused(name: str, tmp_path: Path) -> None:
    damage, said = SHARDS[name]
    old = checkpoint(tmp_path / "old", shards=2)
    damage(old)
    assert said in refused(old)


def test_a_missing_folder_a_url_and_a_file_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "old"
    for name, said in ((place / "none", "cannot be read"), ("s3://bucket/model", "download the checkpoint")):
        with pytest.raises(toksmith.errors.FormatError, match=said):
            toksmith.graft(name, EXTENDED, tmp_path / "new")
    place.write_bytes(b"x")
    with pytest.raises(toksmith.errors.FormatError, match="expected the folder of a checkpoint"):
        toksmith.graft(place, EXTENDED, tmp_path / "new")


def with_tensors(old: Path, layout: str = "llama", **more: Any) -> Path:
    """A checkpoint with other tensors: None leaves one out."""
    tensors = {name: rows for name, rows in {**drawn(LAYOUTS[layout], SIZE), **more}.items() if rows is not None}
    return checkpoint(old, layout, tensors=tensors)


ROW = np.ones((SIZE, WIDTH), np.float32)
DISAGREE: dict[str, tuple[str, dict[str, Any], str]] = {
    "head": ("llama", {ROWS[1]: ROW[:-1]}, f"has {SIZE - 1} rows, but {ROWS[0]} has {SIZE}; expected equally many"),
    "head of more": ("llama", {ROWS[1]: np.ones((SIZE + 1, WIDTH), np.float32)}, "expected equally many"),
    "bias": ("bert", {"cls.predictions.bias": ROW[1:, 0]}, "expected equally many"),
    "bias of rows": ("bart", {"final_logits_bias": ROW[:, :2]}, "expected a number for each id"),
    "vector": ("llama", {ROWS[0]: ROW[:, 0]}, "expected rows and columns"),
    "empty": ("llama", {ROWS[0]: ROW[:0]}, "expected rows and columns"),
    "no input": ("llama", {ROWS[0]: None}, "Say which it is with tensors={'NAME': 'input'}"),
    "unknown": ("llama", {"model.prompt.weight": ROW}, "'model.prompt.weight': 'other'}, which copies it unchanged"),
    "unknown axis": ("llama", {"model.x": ROW.T}, f"has an axis of {SIZE}, as many as {ROWS[0]} has rows"),
    "scales": ("llama", {"lm_head.weight_scale": ROW[:, 0]}, "belongs to a quantised or adapted lm_head"),
    "adapter": ("llama", {"lm_head.lora_A.weight": ROW[:3]}, "belongs to a quantised or adapted lm_head"),
    "packed": (
        "llama",
        {"lm_head.weight": None, "lm_head.qweight": ROW[:9]},
        "belongs to a quantised or adapted lm_head",
    ),
}


@pytest.mark.parametrize("name", DISAGREE)
def test_matrices_that_disagree_or_are_unknown_are_refused(name: str, tmp_path: Path) -> None:
    layout, more, said = DISAGREE[name]
    assert said in refused(with_tensors(tmp_path / "old", layout, **more))


@pytest.mark.parametrize("dtype", ["I32", "F8_E4M3", "U8"])
def test_a_quantised_matrix_is_refused(dtype: str, tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old")
    size = {"I32": 4}.get(dtype, 1)
    held = {name: raw(rows, "F32") for name, rows in drawn(LAYOUTS["llama"], SIZE).items()}
    safetensors(old / "model.safetensors", {**held, ROWS[1]: (dtype, (SIZE, WIDTH), bytes(SIZE * WIDTH * size))})
    said = refused(old)
    assert f"has the dtype {dtype}: it is quantised" in said and ROWS[1] in said


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(dtype: str, bad: float, tmp_path: Path) -> None:
    for place, (layout, name) in enumerate((("llama", ROWS[0]), ("llama", ROWS[1]), ("bert", "cls.predictions.bias"))):
        tensors = drawn(LAYOUTS[layout], SIZE + 2)
        tensors[name][97] = bad
        inner = tmp_path / str(place)
        inner.mkdir()
        old = checkpoint(inner / "old", layout, dtype=dtype, tensors=tensors, rows=SIZE + 2)
        said = refused(old)
        assert name in said and "row 97 ('a') holds NaN or infinity" in said


def test_padding_that_is_not_finite_is_kept(tmp_path: Path) -> None:
    """No mean includes the rows of padding."""
    tensors = drawn(LAYOUTS["llama"], SIZE + 9)
    for name in ROWS:
        tensors[name][SIZE + 8] = np.nan
    old = checkpoint(tmp_path / "old", tensors=tensors, rows=SIZE + 9)
    assert toksmith.graft(old, EXTENDED, tmp_path / "new", verify=True).ok


def test_a_donor_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    old, tensors = checkpoint(tmp_path / "old"), drawn(LAYOUTS["llama"], SIZE)
    tensors[ROWS[1]][98, 3] = np.nan
    donor = checkpoint(tmp_path / "donor", tensors=tensors)
    assert "row 98 ('b') holds NaN or infinity" in refused(old, donor=donor)


def test_an_adapter_beside_its_model_is_refused(tmp_path: Path) -> None:
    """transformers would load both: it finds `adapter_config.json`, and then expects the adapter's weights."""
    old = checkpoint(tmp_path / "old")
    write_json(old / "adapter_config.json", {"peft_type": "LORA"})
    (old / "adapter_model.safetensors").write_bytes(b"x")
    said = refused(old)
    assert "adapter_config.json: is the file of an adapter" in said and "merge_and_unload()" in said


def test_a_tokenizer_of_another_checkpoint_is_refused(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old")
    assert f"has {SIZE} rows, but the old tokenizer has ids up to {EXTENDED.vocab_size - 1}" in refused(
        old, old=EXTENDED
    )
    EXTENDED.save(old / "tokenizer.json")
    assert "Name the tokenizer of this checkpoint with old=" in refused(old, PRUNED)
    # The tokenizer in the folder was changed since the map was made: as many ids, but another fingerprint.
    changed = toksmith.train(
        ["wide wider widest low"] * 9, SIZE, special_tokens=["<s>", "</s>", "<pad>"], progress=False
    )
    assert changed.vocab_size <= SIZE and changed.fingerprint != TOK.fingerprint
    changed.save(old / "tokenizer.json")
    said = refused(old, id_map=EXTENDING)
    assert changed.fingerprint[:12] in said and TOK.fingerprint[:12] in said and "make the map anew" in said


def test_a_map_of_other_tokenizers_is_refused(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old")
    sizes = (EXTENDING.old_size, EXTENDING.new_size)
    for name, kept, sources in (
        ("sends the id 97 ('a') to 98 ('b')", {97: 98}, {}),
        ("sends the id 9999 (no token) to 97", {9999: 97}, {}),
        ("sources that the old tokenizer has; it lacks 9999", {}, {SIZE: (9999,)}),
    ):
        assert name in refused(old, id_map=toksmith.types.IdMap(*sizes, kept, sources))


PLACES: dict[str, tuple[str, str]] = {
    "full": ("full", "is not empty; remove it"),
    "file": ("full/a", "is a file; name a new folder"),
    "checkpoint": ("old", "is the checkpoint or inside it"),
    "inside": ("old/new", "is the checkpoint or inside it"),
    "nowhere": ("none/new", "there is no folder"),
    "url": ("s3://bucket/new", "is a URL"),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_target_that_is_taken_or_impossible_is_refused(name: str, tmp_path: Path) -> None:
    old, (out, said) = checkpoint(tmp_path / "old"), PLACES[name]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_bytes(b"")
    before = content(tmp_path)
    with pytest.raises(toksmith.errors.FormatError, match=said):
        toksmith.graft(old, EXTENDED, out if "://" in out else tmp_path / out)
    assert content(tmp_path) == before


OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "rule": ({"init": "exponental"}, "did you mean exponential?"),
    "two rules": ({"init": ["mean", "all-mean"]}, "expected one rule"),
    "copy of nothing": ({"init": "<x>=</s>"}, "'<x>' is not one"),
    "copy from nothing": ({"init": " biggest=<x>"}, "is not one"),
    "copy of a kept one": ({"init": "</s>=<s>"}, "keeps the row of the same token"),
    "multiple": ({"pad_to": 0}, "a multiple from 1 to"),
    "role": ({"tensors": {ROWS[1]: "head"}}, "one of the roles input, output, bias, other"),
    "pattern": ({"tensors": {"model.prompt.*": "other"}}, "the name of a tensor of"),
    "part": ({"tokens": {"eos": "</s>"}}, "names such as eos_token"),
    "token": ({"tokens": {"eos_token": "<x>"}}, "a token of the new tokenizer for eos_token"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_do_not_fit_are_refused(name: str, tmp_path: Path) -> None:
    options, said = OPTIONS[name]
    assert said in refused(checkpoint(tmp_path / "old"), **options)


def test_a_tokenizer_that_the_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    letters = toksmith.train("low lower lowest", kind="chars")
    old = checkpoint(tmp_path / "old")
    with pytest.raises(toksmith.errors.CannotRepresent, match="no model of kind 'chars'"):
        toksmith.graft(old, letters, tmp_path / "new", tokens={"eos_token": "l"})
    assert os.listdir(tmp_path) == ["old"]


def test_in_the_shell_the_message_names_flags(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old")
    EXTENDED.save(tmp_path / "more.toksmith")
    shell = ["graft", str(old), "-t", str(tmp_path / "more.toksmith"), "-o", str(tmp_path / "new")]
    for more, said in (
        (["--init", "exponental"], "--init"),
        (["--pad-to", "0"], "--pad-to"),
        (["--tensor", "lm_head.weight=head"], "--tensor"),
        (["--token", "eos=</s>"], "--token"),
        (["--old", str(tmp_path / "more.toksmith")], "--old"),
    ):
        done = CliRunner().invoke(app, [*shell, *more])
        assert done.exit_code not in (0, 3) and said in done.output and "=" not in done.output.split(said)[0][-1:]
    assert not os.path.lexists(tmp_path / "new")
