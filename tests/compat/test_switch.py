"""The switch itself: on and off, what it tells, what it refuses, and programs that know nothing of it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import pytest
from peers import imported_transformers

import toksmith
from toksmith import _cli

transformers = imported_transformers()
import tokenizers

from toksmith._accelerate import attached, calls, engine


@pytest.fixture(autouse=True)
def off() -> Iterator[None]:
    yield
    toksmith.restore()


def made(name: str = "small", **parts: Any) -> Any:
    """A tokenizer of transformers with few tokens."""
    texts = ["low lower lowest newer", "the wide wider widest river"]
    backend = tokenizers.Tokenizer(tokenizers.models.BPE())
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    for each, part in parts.items():
        setattr(backend, each, part)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, name_or_path=name, pad_token="</s>")


def test_a_tokenizer_from_before_and_one_from_after_run_on_the_engine() -> None:
    before = made("before")
    expected = before("lower <s> wide").data
    state = toksmith.accelerate()
    assert state.is_on and not any(each.name == "before" for each in state.tokenizers)
    after = made("after")
    assert before("lower <s> wide").data == after("lower <s> wide").data == expected
    names = {each.name: each for each in toksmith.accelerate().tokenizers}
    assert all(names[each].calls == 2 and names[each].reason is None for each in ("before", "after"))
    assert "after" in str(toksmith.accelerate())
    assert not toksmith.restore().is_on
    assert {each.name: each.calls for each in toksmith.restore().tokenizers}["before"] == 2


def test_restore_leaves_the_classes_of_the_libraries_as_they_were() -> None:
    kinds = [transformers.PreTrainedTokenizerFast, tokenizers.Tokenizer, tokenizers.models.Model]
    kinds += [tokenizers.normalizers.Sequence, tokenizers.processors.PostProcessor]
    before = [dict(vars(kind)) for kind in kinds]
    with toksmith.accelerated():
        assert dict(vars(kinds[1])) != before[1]
        with toksmith.accelerated():
            pass
        assert toksmith.accelerate().is_on
    assert [dict(vars(kind)) for kind in kinds] == before


def test_the_log_names_once_what_stays_on_the_library(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "toksmith")
    toksmith.accelerate()
    tok = made("sampling")
    tok._tokenizer.model.dropout = 0.5
    for _ in range(3):
        tok("lower")
    said = [record.getMessage() for record in caplog.records if "sampling" in record.getMessage()]
    assert len(said) == 1 and "dropout" in said[0]
    [row] = [each for each in toksmith.accelerate().tokenizers if each.name == "sampling"]
    assert row.reason is not None and "dropout" in row.reason


def test_a_difference_in_use_returns_to_the_library(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    toksmith.accelerate(check_every=2)
    tok = made("other")
    expected = tok("lower wide").data
    monkeypatch.setattr(engine.Engine, "encode", lambda self, texts, as_text: [[0]] * len(texts))
    tok("lower wide"), tok("lower wide")
    assert tok("lower wide").data == expected and "other" in caplog.text


def test_a_tokenizer_that_always_changes_stays_on_the_library() -> None:
    toksmith.accelerate()
    tok = made("changing")
    for number in range(attached.MOST_BUILDS + 3):
        tok.add_tokens([f"<{number}>"])
        assert tok(f"<{number}>").input_ids == [tok.convert_tokens_to_ids(f"<{number}>")]
    [row] = [each for each in toksmith.accelerate().tokenizers if each.name == "changing"]
    assert row.reason is not None and "changed" in row.reason


def test_asking_for_the_state_compares_no_tokenizer_again(monkeypatch: pytest.MonkeyPatch) -> None:
    toksmith.accelerate()
    tok = made("known")
    tok("lower")
    monkeypatch.setattr(attached, "find_engine", lambda backend: pytest.fail("compared again"))
    assert toksmith.accelerate().is_on and tok("lower").input_ids


@pytest.mark.parametrize("version", ["4.57.1", "6.0.0", "6.0rc1"])
def test_unknown_versions_are_refused_by_name(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    monkeypatch.setattr(
        "toksmith._accelerate.switch.version", lambda name: version if name == "transformers" else real(name)
    )
    with pytest.raises(toksmith.errors.InvalidOption) as caught:
        toksmith.accelerate()
    assert caught.value.argument == "transformers" and caught.value.value == version
    assert transformers.PreTrainedTokenizerFast._encode_plus is calls.own_encode_plus


@pytest.mark.parametrize("number", [0, -1, True, 1.5])
def test_a_wrong_number_of_calls_is_refused(number: Any) -> None:
    with pytest.raises((toksmith.errors.InvalidOption, TypeError), match="check_every"):
        toksmith.accelerate(check_every=number)


PROGRAM = """
import importlib.metadata, subprocess, sys
real = importlib.metadata.version
importlib.metadata.version = lambda name: "9999.1" if name == "regex" else real(name)
import transformers
from transformers.tokenization_utils_tokenizers import TokenizersBackend
print(TokenizersBackend._encode_plus.__module__)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "child"], check=True)
"""


def test_run_reaches_a_program_and_the_programs_that_it_starts(tmp_path: Any) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    (tmp_path / "sitecustomize.py").write_text("print('its own')")
    asked = [sys.executable, "-m", "toksmith", "run", "--", sys.executable, str(script)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = subprocess.run(asked, check=True, capture_output=True, text=True, env=environment).stdout
    assert found.count("toksmith._accelerate.calls") == 2 and found.count("its own") == 3
    found = subprocess.run(asked[5:], check=True, capture_output=True, text=True, env=environment).stdout
    assert "toksmith" not in found


def test_run_names_a_program_that_is_missing() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "toksmith", "run", "--", "no-such-program"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 2 and "no-such-program" in found.stderr and "--help" in found.stderr
    assert "run" in {row.name for row in _cli.COMMANDS}
