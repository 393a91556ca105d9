"""`compat.tokenizers` and `compat.transformers` equal the libraries, but for the differences that docs/clients.md lists.

Each case is one feature on a simple base and one call; tests/dropins/ has the generators and the tables. With
`TOKSMITH_EXHAUSTIVE=1` there are 200,000 cases for each drop-in, and a row that explains none of them fails.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from dropins import Allowed, Case, allowed_tokenizers, allowed_transformers, check_comparison, compare
from dropins.differences import PAGE, printed, rows
from dropins.tokenizers_cases import cases
from peers import imported_transformers

from toksmith.compat import tokenizers as ours

peer: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")

FULL = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))


@pytest.mark.proof
@pytest.mark.short
def test_tokenizers_equals_the_library() -> None:
    found = compare(cases(200_000 if FULL else 600, 1, (peer, ours)), allowed_tokenizers.ROWS)
    check_comparison(found, allowed_tokenizers.ROWS, full=FULL)


@pytest.mark.proof
@pytest.mark.short
def test_transformers_equals_the_library() -> None:
    transformers = imported_transformers()
    from dropins.transformers_cases import cases

    from toksmith.compat.transformers import ToksmithTokenizer

    libraries = ((peer, transformers.PreTrainedTokenizerFast), (ours, ToksmithTokenizer))
    found = compare(cases(200_000 if FULL else 600, 1, libraries), allowed_transformers.ROWS)
    check_comparison(found, allowed_transformers.ROWS, full=FULL)


def test_the_page_has_the_rows_of_the_tables() -> None:
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
