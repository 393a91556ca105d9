"""The drop-ins, held to the real libraries by machine.

A generator (a module of this package, one a drop-in) draws one feature at a time, makes the same thing with the real library and
with ours, and gives a `Case` for each call: every field of both results. `compare` counts the equal ones, asks the table of
allowed differences (`allowed_*.py`) about the others, and returns what the table does not explain.
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
        feature: What was drawn, such as `normalizer=NFD`.
        call: The call as a user writes it, with its input, so that a reader can repeat it.
        peer: The value of each field of the real library's result; `{"raises": name of the class}` if it raised.
        ours: The same of ours.
        about: What the rows of allowed differences look at (the definition, the text, the options).
    """

    feature: str
    call: str
    peer: Mapping[str, Any]
    ours: Mapping[str, Any]
    about: Mapping[str, Any]


class Allowed(NamedTuple):
    """A difference that is allowed, as docs/clients.md prints it.

    Attributes:
        drop_in: The name of the module of `toksmith.compat`.
        name: What differs, in a few words.
        reason: Why it may.
        explains: Whether this row explains all of the named fields of the case.
    """

    drop_in: str
    name: str
    reason: str
    explains: Callable[[Case, frozenset[str]], bool]


@dataclass
class Comparison:
    """What a run found.

    Attributes:
        cases: How many calls were compared.
        features: How many cases each drawn feature had.
        allowed: How many cases each row of the table explains.
        unexplained: Each with the fields that differ.
    """

    cases: int = 0
    features: Counter[str] = field(default_factory=Counter)
    allowed: Counter[str] = field(default_factory=Counter)
    unexplained: list[tuple[Case, frozenset[str]]] = field(default_factory=list)


def compare(cases: Iterable[Case], rows: Iterable[Allowed]) -> Comparison:
    """What differs between the two libraries, and what of it the rows allow."""
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
    """Fails for what no row explains, and in a full run for a row that explains nothing; prints and writes the counts."""
    rows = list(rows)
    write_counts(found, rows)
    problems = [
        f"{case.call}\n  {sorted(fields)}\n  there {shown_fields(case.peer, fields)}\n  here  {shown_fields(case.ours, fields)}"
        for case, fields in found.unexplained
    ]
    assert not problems, f"{len(problems)} of {found.cases} cases differ\n" + "\n".join(problems[:SHOWN])
    stale = [row.name for row in rows if not found.allowed[row.name]]
    assert not (full and stale), f"rows that explain no case: {stale}"
    print(f"{found.cases:,} cases, {len(found.features):,} features, allowed: {dict(found.allowed)}")


def shown_fields(values: Mapping[str, Any], fields: frozenset[str]) -> dict[str, str]:
    """Some of the fields that differ."""
    return {name: str(values.get(name))[:300] for name in sorted(fields)[:3]}


def write_counts(found: Comparison, rows: Iterable[Allowed]) -> None:
    """Writes how many cases each row explains to the folder that `TOKSMITH_COUNTS` names, for `dropins.differences`."""
    if folder := os.environ.get("TOKSMITH_COUNTS"):
        counts = {f"{row.drop_in}: {row.name}": found.allowed[row.name] for row in rows}
        name = next(iter(counts)).partition(":")[0]
        Path(folder, f"{name}.json").write_text(json.dumps(counts), encoding="utf-8")
