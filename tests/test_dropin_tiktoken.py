"""The drop-in of tiktoken, held to tiktoken: every method, on drawn encodings, texts and ids."""

import os
from pathlib import Path
from random import Random

import pytest
from dropins import compare
from dropins.allowed_tiktoken import ROWS
from dropins.tiktoken_cases import cases

pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0 (tests/requirements.txt)")
ROOT = Path(__file__).resolve().parent.parent
EXHAUSTIVE = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))


def test_the_document_lists_the_allowed_differences() -> None:
    section = (
        (ROOT / "docs" / "clients.md").read_text(encoding="utf-8").partition("## tiktoken\n")[2].partition("\n## ")[0]
    )
    listed = [
        tuple(cell.strip() for cell in line.split("|")[1:4:2]) for line in section.splitlines() if line.startswith("|")
    ]
    assert listed[2:] == [(row.name, row.reason) for row in ROWS]


@pytest.mark.proof
@pytest.mark.short
def test_every_result_is_that_of_tiktoken_or_allowed(vocab_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In full 200,000 calls, with published encodings among them."""
    found = compare(cases(Random(1), 200_000 if EXHAUSTIVE else 2_000, vocab_dir if EXHAUSTIVE else None), ROWS)
    capfd.readouterr()  # the backtraces of the library's panics
    assert not found.unexplained, "\n".join(
        f"{case.call}\n  {case.peer}\n  {case.ours}" for case, _ in found.unexplained[:5]
    )
    assert not EXHAUSTIVE or {*found.allowed} == {row.name for row in ROWS}, "a row that explains nothing"
    print(f"{found.cases:,} calls of {len(found.features)} kinds; allowed: {dict(found.allowed)}")
