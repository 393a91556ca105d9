"""`toksmith.accelerate`: drawn calls of transformers' tokenizers have equal results with the switch and without it."""

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest
from dropins import Comparison, compare
from peers import imported_transformers

import toksmith

transformers = imported_transformers()
import tokenizers
from dropins import switch_cases

FULL = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
CALLS, PARTS = (1_000_000, 20) if FULL else (4_000, 1)
NAMES: dict[str, Any] = {"lib": tokenizers, "transformers": transformers, "Fast": transformers.PreTrainedTokenizerFast}


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.parametrize("part", range(PARTS))
def test_drawn_calls_are_equal_in_every_field(part: int) -> None:
    rng = random.Random(part)

    def drawn() -> Iterator[Any]:
        calls = 0
        while calls < CALLS // PARTS:
            played = switch_cases.session(rng)
            calls += len(played.lines)
            yield from switch_cases.cases(played, NAMES, toksmith.accelerated)

    check(compare(drawn(), []))


def check(found: Comparison) -> None:
    """Fail with the shortest session of the first differing cases."""
    said = []
    for case, _ in found.unexplained[:5]:
        short = switch_cases.shortened(case.about["session"], case.about["place"], NAMES, toksmith.accelerated)
        *_, last = switch_cases.cases(short, NAMES, toksmith.accelerated)
        said.append(f"{last.call}")
    assert not said, f"{len(found.unexplained)} of {found.cases} cases differ\n" + "\n\n".join(said)
    print(f"{found.cases:,} cases, {len(found.features):,} features")
