"""The demo, on part of its corpus: its output, and its check that fails on a difference."""

import os
import subprocess
import sys
from pathlib import Path

import demo
import pytest
from processors import LIMIT_S

import toksmith

ALL_SOURCES = demo.library_sources


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "library_sources", lambda: ALL_SOURCES()[:40])
    monkeypatch.setattr(demo, "VOCAB_SIZE", 500)


@pytest.mark.slow
def test_the_demo_prints_the_documented_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    merges = [line for line in lines if line.startswith("  merge ")]
    assert len(merges) == 10 + 20
    assert merges[9].startswith("  merge 243: ")
    assert "merge  1: (105, 110) → 256  ▏in▏            6 times, 244 ids left" in shown
    assert "encode('hello world!') is [104, 263, 108, 111, 272, 266, 108, 100, 33]" in shown
    assert "250 bytes become 186 ids, 1.34 bytes per id" in shown
    assert "all 40 files are restored byte for byte" in shown
    assert "bytes per token" in shown
    assert "↵\n▏" in shown
    assert "<C3>▏<AF>ï" in shown
    assert shown.endswith("All checks passed.\n")
    assert not [line for line in lines if line.startswith("  NO")]
    assert "\x1b" not in shown


@pytest.mark.slow
def test_a_different_figure_and_a_lost_byte_fail_the_demo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    decode_bytes = toksmith.Tokenizer.decode_bytes
    monkeypatch.setattr(toksmith.Tokenizer, "decode_bytes", lambda tok, ids: decode_bytes(tok, ids)[:-1])
    monkeypatch.setattr(demo, "TUTORIAL_IDS", [1, 2, 3])
    assert demo.main() == 1
    shown = capsys.readouterr().out
    assert "  NO  encode('hello world!')" in shown and "  NO  all 40 files are restored" in shown
    assert shown.endswith("A check failed: see NO above.\n")


def test_a_python_without_sources_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "library_sources", list)
    assert demo.main() == 1
    assert "no source files" in capsys.readouterr().out


@pytest.mark.slow
def test_the_corpus_is_the_standard_library_and_nothing_else() -> None:
    sources = ALL_SOURCES()
    names = {path.name for path in sources}
    assert {"argparse.py", "inspect.py", "textwrap.py"} <= names
    assert sources == sorted(sources)
    library = Path(os.path.dirname(os.__file__))
    assert not any({"site-packages", "test", "tests"} & {*path.relative_to(library).parts} for path in sources)


@pytest.mark.slow
def test_the_demo_on_its_whole_corpus_passes() -> None:
    command = [sys.executable, demo.__file__]
    done = subprocess.run(command, capture_output=True, check=False, timeout=LIMIT_S, env=os.environ | {"LC_ALL": "C"})
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert done.stderr == b""
    assert "Training to 8,192 tokens" in done.stdout.decode()
