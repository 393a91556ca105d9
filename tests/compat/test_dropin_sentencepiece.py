"""The drop-in of sentencepiece equals the library in every field, for models that the library trains."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from dropins import Case, check_comparison, compare
from dropins.allowed_sentencepiece import ROWS
from dropins.sentencepiece_cases import EDITS, TRAINER, TYPES, cases

peer: Any = pytest.importorskip("sentencepiece", "0.2.3", reason="lacks sentencepiece==0.2.3")
FULL = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
CASES = 200_000 if FULL else 3_000


@pytest.mark.proof
@pytest.mark.short
def test_every_call_gives_what_the_library_gives(tmp_path: Path) -> None:
    peer.SetMinLogLevel(3)
    found = compare(cases(Random(CASES), CASES, tmp_path, peer), ROWS)
    check_comparison(found, ROWS, full=FULL)
    assert found.cases == CASES
    if FULL:
        drawn = {feature.split(", ", 1)[1] for feature in found.features}
        assert {feature.split(",")[0] for feature in found.features} == {*TYPES}
        assert drawn >= {*EDITS, *TRAINER}


def test_a_difference_is_found() -> None:
    about = {"encode": {"result": [1]}}
    wrong = Case("x", "encode('a')", {"result": [1]}, {"result": [2]}, about)
    right = Case("x", "parallel_encode_as_ids('a')", {"result": [2]}, {"result": [1]}, about)
    found = compare([wrong, right, right._replace(ours={"result": [3]})], ROWS)
    assert [case.ours for case, _ in found.unexplained] == [{"result": [2]}, {"result": [3]}]
    assert [*found.allowed.values()] == [1]
