"""Compares the drop-ins with the real libraries on generated cases.

A generator (a module of this package for each drop-in) draws one feature at a time, builds it with the real library and
with the drop-in, and yields a `Case` for each call: every field of both results. `compare` counts equal cases, checks
the others against the table of allowed differences (`allowed_*.py`), and returns the unexplained ones.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple


class Case(NamedTuple):
    """One call, made to both libraries.

    Attributes:
        feature: The drawn feature, such as `normalizer=NFD`.
        call: The call in a user's form, with its input, so that a reader can repeat it.
        peer: The value of each field of the real library's result; `{"raises": name of the class}` if it raised.
        ours: The same for the drop-in.
        about: The values that the rows of allowed differences check (the definition, the text, the options).
    """

    feature: str
    call: str
    peer: Mapping[str, Any]
    ours: Mapping[str, Any]
    about: Mapping[str, Any]


class Allowed(NamedTuple):
    """An allowed difference, in the form that docs/clients.md prints.

    Attributes:
        drop_in: The name of the module of `toksmith.compat`.
        name: The difference, in a few words.
        reason: The reason why it is allowed.
        explains: Whether this row explains all of the named fields of the case.
    """

    drop_in: str
    name: str
    reason: str
    explains: Callable[[Case, frozenset[str]], bool]


@dataclass
class Comparison:
    """The result of a run.

    Attributes:
        cases: The number of compared calls.
        features: The number of cases of each drawn feature.
        allowed: The number of cases that each row of the table explains.
        unexplained: The unexplained cases, each with its differing fields.
    """

    cases: int = 0
    features: Counter[str] = field(default_factory=Counter)
    allowed: Counter[str] = field(default_factory=Counter)
    unexplained: list[tuple[Case, frozenset[str]]] = field(default_factory=list)


def compare(cases: Iterable[Case], rows: Iterable[Allowed]) -> Comparison:
    """The differences between the two libraries, and the rows that allow them."""
    rows, found = list(rows), Comparison()
    for case in cases:
        found.cases += 1
        found.features[case.feature] += 1
        names = {*case.peer, *case.ours}
        fields = frozenset(name for name in names if case.peer.get(name, ...) != case.ours.get(name, ...))
        if fields:
            row = next((row for row in rows if row.explains(case, fields)), None)
            if row is None:
                found.unexplained.append((case, fields))
            else:
                found.allowed[row.name] += 1
    return found


SHOWN = 5


def check_comparison(found: Comparison, rows: Iterable[Allowed], *, full: bool) -> None:
    """Fail for unexplained cases, and in a full run for rows without a case; print and write the counts."""
    rows = list(rows)
    write_counts(found, rows)
    check_explained(found)
    stale = [row.name for row in rows if not found.allowed[row.name]]
    assert not (full and stale), f"rows that explain no case: {stale}"
    print(f"{found.cases:,} cases, {len(found.features):,} features, allowed: {dict(found.allowed)}")


def check_explained(found: Comparison) -> None:
    """Fail for unexplained cases."""
    problems = [
        f"{case.call}\n  {sorted(fields)}\n  there {shown_fields(case.peer, fields)}\n  here  {shown_fields(case.ours, fields)}"
        for case, fields in found.unexplained
    ]
    assert not problems, f"{len(problems)} of {found.cases} cases differ\n" + "\n".join(problems[:SHOWN])


def shown_fields(values: Mapping[str, Any], fields: frozenset[str]) -> dict[str, str]:
    """Some of the differing fields."""
    return {name: str(values.get(name))[:300] for name in sorted(fields)[:3]}


def write_counts(found: Comparison, rows: Iterable[Allowed]) -> None:
    """Write the number of cases of each row to the folder that `TOKSMITH_COUNTS` names, for `dropins.differences`."""
    if folder := os.environ.get("TOKSMITH_COUNTS"):
        counts = {f"{row.drop_in}: {row.name}": found.allowed[row.name] for row in rows}
        name = next(iter(counts)).partition(":")[0]
        Path(folder, f"{name}.json").write_text(json.dumps(counts), encoding="utf-8")
