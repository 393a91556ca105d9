"""The tensors of checkpoints: the table of names, inconsistent headers, and rounding, each worked by hand."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensor_files import raw, safetensors
from test_doctor import TOK, planted_rows

import toksmith
from toksmith._graft.tensor_names import FAMILIES, INPUT, OUTPUT, role_of
from toksmith._graft.weights import TYPES, bad_rows, check_whole, read_header, round_to, to_float64

# The tensors of a family as transformers 5.23.0 names them: input, output, bias.
NAMES = {
    "Falcon": ("transformer.word_embeddings.weight", "lm_head.weight", None),
    "ChatGLM": ("transformer.embedding.word_embeddings.weight", "transformer.output_layer.weight", None),
    "InternLM2": ("model.tok_embeddings.weight", "output.weight", None),
    "Mamba": ("backbone.embeddings.weight", "lm_head.weight", None),
    "BERT": ("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight", "cls.predictions.bias"),
    "RoBERTa": ("roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight", "lm_head.bias"),
    "DistilBERT": ("distilbert.embeddings.word_embeddings.weight", "vocab_projector.weight", "vocab_projector.bias"),
    "T5": ("shared.weight", "lm_head.weight", None),
    "BART": ("model.shared.weight", "lm_head.weight", "final_logits_bias"),
    "GPT-NeoX": ("gpt_neox.embed_in.weight", "embed_out.weight", None),
    "Qwen3-VL": ("model.language_model.embed_tokens.weight", "lm_head.weight", None),
}


def test_every_name_has_one_role() -> None:
    listed = {name: role for role in ("input", "output", "bias") for row in FAMILIES for name in getattr(row, role)}
    assert all(role_of(name) == role for name, role in listed.items())
    assert role_of("model.norm.weight") is None
    assert not {*INPUT} & {*OUTPUT}


@pytest.mark.parametrize("family", NAMES)
def test_doctor_finds_the_matrices_of_every_family(family: str, tmp_path: Path) -> None:
    first, second, bias = NAMES[family]
    rows = raw(planted_rows(TOK.vocab_size + 5), "F32")
    more = {} if bias is None else {bias: raw(np.zeros(TOK.vocab_size + 5, np.float32), "F32")}
    path = safetensors(tmp_path / "model.safetensors", {first: rows, second: rows, **more})
    counts = toksmith.doctor(TOK, embeddings=path)["under_trained"].counts
    assert counts[f"suspect by norm ({first})"] == 3
    assert f"suspect by cosine ({second})" in counts


def test_a_number_is_rounded_to_the_nearest_and_ties_to_even() -> None:
    """BF16 keeps 7 bits after the point, so 1 and 1.0078125 are neighbours. 1.00390625 is the tie."""
    step, tie = 2.0**-7, 2.0**-8
    cases = {1 + tie: 1.0, 1 + step + tie: 1 + 2 * step, 1 + tie + 2.0**-40: 1 + step, 1 + tie - 2.0**-40: 1.0}
    for value, expected in cases.items():
        for sign in (1, -1):
            found = to_float64(round_to(np.array([sign * value]), TYPES["BF16"]))
            assert found.tolist() == [sign * expected], value
    # 1 + 2^-8 + 2^-40 becomes the tie when it is first rounded to float32: two roundings would give 1.
    assert np.float32(1 + tie + 2.0**-40) == np.float32(1 + tie)
    assert round_to(np.array([2049.0, 2051.0]), TYPES["F16"]).tolist() == [2048.0, 2052.0]
    assert round_to(np.array([1 + 2.0**-24, 1 + 3 * 2.0**-24]), TYPES["F32"]).tolist() == [1.0, 1 + 2.0**-22]


def test_rounding_equals_exact_arithmetic() -> None:
    draw = np.random.default_rng(5)
    values = draw.normal(size=2000) * 10.0 ** draw.integers(-30, 30, 2000)
    grid = to_float64(np.arange(0x7F80, dtype=np.uint16))  # all numbers of BF16 that are not negative, ascending
    places = np.searchsorted(grid, np.abs(values))
    below, above = grid[places - 1], grid[places]
    nearest = np.where(np.abs(values) - below < above - np.abs(values), below, above)
    assert np.array_equal(np.abs(to_float64(round_to(values, TYPES["BF16"]))), nearest)


@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_that_are_not_finite_are_found(dtype: str) -> None:
    rows = np.ones((4, 3))
    rows[1, 2], rows[3, 0] = np.nan, -np.inf
    with np.errstate(all="ignore"):
        half = rows.astype(np.float32).view(np.uint32) >> 16
    stored = half.astype(np.uint16) if dtype == "BF16" else rows.astype(TYPES[dtype])
    assert bad_rows(stored).tolist() == [False, True, False, True]


def entry(start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [(end - start) // 4], "data_offsets": [start, end], **more}


INCONSISTENT = {
    "overlap": ({"a": entry(0, 16), "b": entry(8, 24)}, 24, "b: its numbers begin at byte"),
    "hole": ({"a": entry(0, 8), "b": entry(16, 24)}, 24, "b: its numbers begin at byte"),
    "cut": ({"a": entry(0, 8)}, 12, "its tensors end at byte"),
    "size": ({"a": entry(0, 8, shape=[3])}, 8, r"a: has the shape \[3\] of F32, but 8 bytes"),
    "metadata": ({"__metadata__": {"format": 1}, "a": entry(0, 8)}, 8, "__metadata__: expected an object of texts"),
}


@pytest.mark.parametrize(("entries", "room", "said"), INCONSISTENT.values(), ids=INCONSISTENT.keys())
def test_an_inconsistent_header_is_refused(entries: dict[str, Any], room: int, said: str, tmp_path: Path) -> None:
    text = json.dumps(entries).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(room))
    with pytest.raises(toksmith.errors.FormatError, match=said):
        check_whole(read_header(path))
