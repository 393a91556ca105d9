"""The drop-in of tiktoken equals the library in every field, for published ranks and for drawn encodings."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from dropins import Case, check_comparison, compare
from dropins.allowed_tiktoken import ROWS
from dropins.tiktoken_cases import PATTERNS, SPECIALS, cases

peer: Any = pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0")
pytest.importorskip("tiktoken.load")
FULL = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
CASES = 200_000 if FULL else 3_000


@pytest.mark.proof
@pytest.mark.short
def test_every_call_gives_what_the_library_gives(vocab_dir: Path) -> None:
    found = compare(cases(Random(CASES), CASES, vocab_dir, peer), ROWS)
    check_comparison(found, ROWS, full=FULL)
    assert found.cases == CASES
    if FULL:
        drawn = {part for feature in found.features for part in feature.split(", ")}
        assert {f"pattern={name}" for name in PATTERNS} | {f"special tokens={name}" for name in SPECIALS} <= drawn


def test_a_difference_is_found() -> None:
    about = {"pattern": "letters alone", "special_tokens": {"the": 300, "then": 301}, "method": "encode"}
    case = Case("x", "encode('a')", {"value": [1]}, {"value": [2]}, {**about, "text": "a"})
    unmatched = case._replace(about={**about, "text": "A"})
    ambiguous = case._replace(about={**about, "text": "then"})
    found = compare([case, unmatched, ambiguous], ROWS)
    assert [each for each, _ in found.unexplained] == [case]
    assert found.allowed.total() == 2
