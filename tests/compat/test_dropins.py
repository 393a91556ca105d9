"""Each drop-in equals its library in every field, except for the differences in docs/clients.md.

Each case is one feature on a simple base and one call; tests/dropins/ has the generators and the tables. With
`TOKSMITH_EXHAUSTIVE=1` there are 200,000 cases for each drop-in, and a row without a case fails.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from dropins import (
    Allowed,
    Case,
    Comparison,
    allowed_sentencepiece,
    allowed_tiktoken,
    allowed_tokenizers,
    allowed_transformers,
    check_comparison,
    compare,
    sentencepiece_cases,
    tiktoken_cases,
    tokenizers_cases,
)
from dropins.differences import PAGE, printed, rows
from peers import imported_transformers

from toksmith.compat import tokenizers as ours

FULL = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
FEW, MANY = (200_000, 200_000) if FULL else (600, 3_000)  # cases of the slow and of the fast libraries


def checked(cases: Iterable[Case], allowed: list[Allowed]) -> Comparison:
    """The result of a run, explained by the rows."""
    found = compare(cases, allowed)
    check_comparison(found, allowed, full=FULL)
    return found


@pytest.mark.proof
@pytest.mark.short
def test_tokenizers_equals_the_library() -> None:
    peer: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
    checked(tokenizers_cases.cases(FEW, 1, (peer, ours)), allowed_tokenizers.ROWS)


@pytest.mark.proof
@pytest.mark.short
def test_transformers_equals_the_library() -> None:
    peer: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
    transformers = imported_transformers()
    from dropins.transformers_cases import cases

    libraries = ((peer, transformers.PreTrainedTokenizerFast), (ours, transformers.PreTrainedTokenizerFast))
    checked(cases(FEW, 1, libraries), allowed_transformers.ROWS)


@pytest.mark.proof
@pytest.mark.short
def test_sentencepiece_equals_the_library(tmp_path: Path) -> None:
    peer: Any = pytest.importorskip("sentencepiece", "0.2.3", reason="lacks sentencepiece==0.2.3")
    peer.SetMinLogLevel(3)
    found = checked(sentencepiece_cases.cases(Random(MANY), MANY, tmp_path, peer), allowed_sentencepiece.ROWS)
    assert found.cases == MANY
    if FULL:
        drawn = {feature.split(", ", 1)[1] for feature in found.features}
        assert {feature.split(",")[0] for feature in found.features} == {*sentencepiece_cases.TYPES}
        assert drawn >= {*sentencepiece_cases.EDITS, *sentencepiece_cases.TRAINER}


@pytest.mark.proof
@pytest.mark.short
def test_tiktoken_equals_the_library(vocab_dir: Path) -> None:
    peer: Any = pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0")
    pytest.importorskip("tiktoken.load")
    found = checked(tiktoken_cases.cases(Random(MANY), MANY, vocab_dir, peer), allowed_tiktoken.ROWS)
    assert found.cases == MANY
    if FULL:
        drawn = {part for feature in found.features for part in feature.split(", ")}
        named = {f"special tokens={name}" for name in tiktoken_cases.SPECIALS}
        assert {f"pattern={name}" for name in tiktoken_cases.PATTERNS} | named <= drawn


def test_the_page_lists_the_rows_of_the_tables() -> None:
    cells = printed(PAGE.read_text(encoding="utf-8"))
    assert [row[:3] for row in cells] == [[row.drop_in, row.name, row.reason] for row in rows()]
    assert all(int(row[3].replace(",", "")) > 0 for row in cells)


def test_a_difference_that_no_row_explains_fails_and_a_row_explains_what_it_names() -> None:
    def drawn() -> Iterator[Case]:
        yield Case("same", "f()", {"ids": [1]}, {"ids": [1]}, {})
        yield Case("other", "f(1)", {"ids": [1]}, {"ids": [2]}, {})
        yield Case("lacks", "f(2)", {"ids": [1]}, {}, {})

    row = Allowed("d", "twos", "why", lambda case, fields: case.ours.get("ids") == [2])
    found = compare(drawn(), [row])
    assert found.cases == 3 and found.allowed == {"twos": 1}
    assert [case.feature for case, _ in found.unexplained] == ["lacks"]
    with pytest.raises(AssertionError, match="1 of 3 cases differ"):
        check_comparison(found, [row], full=False)


def test_rows_explain_no_other_difference() -> None:
    about: dict[str, Any] = {"encode": {"result": [1]}}
    wrong = Case("x", "encode('a')", {"result": [1]}, {"result": [2]}, about)
    right = Case("x", "parallel_encode_as_ids('a')", {"result": [2]}, {"result": [1]}, about)
    found = compare([wrong, right, right._replace(ours={"result": [3]})], allowed_sentencepiece.ROWS)
    assert [case.ours for case, _ in found.unexplained] == [{"result": [2]}, {"result": [3]}]
    assert [*found.allowed.values()] == [1]
    about = {"pattern": "letters alone", "special_tokens": {"the": 300, "then": 301}, "method": "encode", "text": "a"}
    case = Case("x", "encode('a')", {"value": [1]}, {"value": [2]}, about)
    unmatched, ambiguous = (case._replace(about={**about, "text": text}) for text in ("A", "then"))
    found = compare([case, unmatched, ambiguous], allowed_tiktoken.ROWS)
    assert [each for each, _ in found.unexplained] == [case] and found.allowed.total() == 2
