"""Rows from a donor: orthogonal matching pursuit expresses a row as a weighted sum of tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from model_folders import CORPUS_OTHER, EXTENDED, LAYOUTS, ROWS, SIZE, TOK, WIDTH, checkpoint, drawn, numbers, stored

import toksmith
from toksmith._graft import donor as _donor
from toksmith._graft.weights import TYPES, round_to

DONOR = toksmith.train(CORPUS_OTHER + ["biggest tallest strongest running jumping"] * 9, merges=60, progress=False)
MADE = [id for id in range(SIZE, EXTENDED.vocab_size) if EXTENDED.token_bytes(id) in DONOR.model.tokens]
DONOR_WIDTH = 40


def donor(folder: Path, sums: dict[int, dict[int, float]]) -> Path:
    """A donor of drawn rows, in which rows of new tokens are sums of rows of shared ones: by id, weights by old id."""
    tensors = {
        name: np.random.default_rng(4).normal(size=(DONOR.vocab_size, DONOR_WIDTH)).astype(np.float32) for name in ROWS
    }
    for id, weights in sums.items():
        for rows in tensors.values():
            own = {DONOR.token_id(TOK.token_bytes(old)): weight for old, weight in weights.items()}
            rows[DONOR.token_id(EXTENDED.token_bytes(id))] = sum(weight * rows[old] for old, weight in own.items())
    return checkpoint(folder, tensors=tensors, tok=DONOR, rows=DONOR.vocab_size)


def test_the_same_weights_make_the_row_in_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(MADE) > 2
    sums = {MADE[0]: {97: 2.0, 98: -0.5, 99: 1.0}, MADE[1]: {100: 1.0}}
    old, other = checkpoint(tmp_path / "old"), donor(tmp_path / "donor", sums)
    report = toksmith.graft(old, EXTENDED, tmp_path / "new", donor=other, verify=True)
    rows = numbers(old)
    for name in ROWS:
        made = numbers(tmp_path / "new")[name]
        for id, weights in sums.items():
            expected = sum(weight * rows[name][source] for source, weight in weights.items())
            assert np.allclose(made[id], expected, rtol=0, atol=1e-4), (name, id)
    assert report.init.startswith(f"{len(MADE)} tokens by orthogonal matching pursuit")
    monkeypatch.setattr(_donor, "ROOM_BYTES", 1)
    toksmith.graft(old, EXTENDED, tmp_path / "one by one", donor=other)
    for name in ROWS:
        assert np.allclose(stored(tmp_path / "one by one")[name], stored(tmp_path / "new")[name], rtol=0, atol=1e-4)


def test_the_pursuit_equals_a_plain_loop() -> None:
    """The definition, with all rows in memory and a least-squares fit at every step."""
    draw = np.random.default_rng(8)
    rows, targets = draw.normal(size=(90, 12)), draw.normal(size=(3, 12)).astype(np.float32)

    class Held:
        shape = (90, 12)

        def raw_blocks(self):  # type: ignore[no-untyped-def]
            for start in range(0, 90, 31):
                yield start, rows[start : start + 31].astype(np.float32)

    shared = np.flatnonzero(np.arange(90) % 3)
    for target, (places, weights) in zip(targets, _donor.pursue(Held(), shared, targets), strict=True):  # type: ignore[arg-type]
        chosen: list[int] = []
        left = target.astype(np.float64)
        while len(chosen) < 12:
            alike = np.abs(rows[shared] @ left) / np.linalg.norm(rows[shared], axis=1)
            alike[chosen] = -1
            chosen.append(int(alike.argmax()))
            fit = np.linalg.lstsq(rows[shared][chosen].T, target, rcond=None)[0]
            left = target - fit @ rows[shared][chosen]
            if np.linalg.norm(left) < 1e-6:
                break
        assert places[:8].tolist() == chosen[:8]
        assert np.allclose(weights @ rows[shared][places], target, rtol=0, atol=1e-4)


def test_tokens_that_the_donor_lacks_follow_the_rule(tmp_path: Path) -> None:
    old, other = checkpoint(tmp_path / "old"), donor(tmp_path / "donor", {})
    lacking = toksmith.extend(EXTENDED, ["quirky vexing fjord"] * 5, 2)[0]
    toksmith.graft(old, lacking, tmp_path / "new", donor=other, init="mean")
    rows = numbers(old)[ROWS[0]]
    for id in range(EXTENDED.vocab_size, lacking.vocab_size):
        expected = rows[TOK.encode(lacking.token_bytes(id))].mean(axis=0)
        assert np.array_equal(stored(tmp_path / "new")[ROWS[0]][id], round_to(expected, TYPES["F32"]))


def test_a_donor_that_shares_nothing_or_is_another_model_s_is_refused(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old")
    words = toksmith.train("eins zwei drei", kind="words")
    tensors = {name: np.ones((words.vocab_size, WIDTH), np.float32) for name in ROWS}
    other = checkpoint(tmp_path / "donor", tensors=tensors, rows=words.vocab_size)
    with pytest.raises(toksmith.errors.FormatError, match="belongs to another model"):
        toksmith.graft(old, EXTENDED, tmp_path / "new", donor=other)
    with pytest.raises(toksmith.errors.InvalidOption, match="these share none"):
        toksmith.graft(old, EXTENDED, tmp_path / "new", donor=other, donor_tokenizer=words)
    assert drawn(LAYOUTS["llama"], 3).keys() >= {*ROWS} and not (tmp_path / "new").exists()


def test_a_tied_donor_gives_no_rows_of_multi_token_prediction(tmp_path: Path) -> None:
    tensors = drawn(LAYOUTS["deepseek"], SIZE)
    del tensors["lm_head.weight"]
    tied = _donor.open_donor(checkpoint(tmp_path / "donor", "deepseek", tensors=tensors), None)
    assert tied.output.name == tied.input.name == "model.embed_tokens.weight"
