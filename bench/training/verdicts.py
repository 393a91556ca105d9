"""The result of every row of the table of targets, from the rows of a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..adapters import ALONE, OURS
from ..targets import COST, SPEED, said
from .cases import GOALS, LINEAR, SERIES, Case, Goal, along

Row = dict[str, Any]
Rows = Mapping[str, Row]  # the outcomes by engine, by the name of the case


@dataclass(frozen=True)
class Seen:
    """The observed ratio of a goal in one place.

    Attributes:
        ratio: None where a figure is missing.
        bound: Whether the peer did not finish, so that the ratio is a bound: this or better.
    """

    where: str
    ratio: float | None
    bound: bool = False


@dataclass(frozen=True)
class Verdict:
    """The result of one goal: all observed ratios, and the worst."""

    goal: Goal
    seen: tuple[Seen, ...]

    def worst(self) -> Seen | None:
        """The ratio that is farthest from the target; a missing figure comes first."""
        sign = -1 if self.goal.target.sense == SPEED else 1
        return max(self.seen, key=lambda seen: (seen.ratio is None, sign * (seen.ratio or 0)), default=None)

    def held(self) -> int:
        """In how many places the target is reached."""
        return sum(seen.ratio is not None and self.goal.target.holds(seen.ratio) for seen in self.seen)

    def said(self) -> str:
        """The verdict in words."""
        worst = self.worst()
        if worst is None:
            return "not measured"
        words = said(self.goal.target, worst.ratio)
        return f"{words}, the peer did not finish" if worst.bound else words


def verdicts(rows: Rows) -> list[Verdict]:
    """The result of every row of the table."""
    return [Verdict(goal, tuple(seen(goal, rows))) for goal in GOALS]


def seen(goal: Goal, rows: Rows) -> Iterator[Seen]:
    """The observed ratio of a goal in each measured case."""
    if goal.target.than == LINEAR:
        yield from growth(goal, rows)
        return
    for place, case in enumerate(goal.cases):
        if case.name not in rows:
            continue
        if goal.target.than == ALONE:
            yield Seen(case.name, ratio(figure(rows, goal.against[place], OURS), figure(rows, case, OURS)))
        else:
            yield beside(goal, case, rows)


def beside(goal: Goal, case: Case, rows: Rows) -> Seen:
    """Toksmith's figure divided by the peer's, or by the time limit that the peer exceeded."""
    ours, peer = (figure(rows, case, engine, goal.figure) for engine in (OURS, goal.target.than))
    given = rows[case.name].get(goal.target.than, {}).get("at_least", 0.0)
    if peer is None and given and goal.figure == "seconds":
        bound = ratio(ours, given)
        return Seen(case.name, bound if bound is not None and goal.target.holds(bound) else None, bound=True)
    return Seen(case.name, ratio(ours, peer))


def growth(goal: Goal, rows: Rows) -> Iterator[Seen]:
    """How many times longer the last case of a series takes than the first, by how many times larger it is."""
    name = next(name for name, cases in SERIES.items() if cases == goal.cases)
    found = [(size, took) for size, case in along(name) if (took := figure(rows, case, OURS))]
    if len(found) > 1:
        (small, short), (large, long) = found[0], found[-1]
        yield Seen(f"{small:g} to {large:g}", (long / short) / (large / small))


def figure(rows: Rows, case: Case, engine: str, name: str = "seconds") -> float | None:
    """An engine's figure in a case, if its tokens are right."""
    outcome = rows.get(case.name, {}).get(engine)
    if outcome is None or outcome["wrong"]:
        return None
    found: float | None = outcome[name]
    return found


def ratio(one: float | None, other: float | None) -> float | None:
    """One figure by another, if there are both."""
    return one / other if one is not None and other else None


def target_in_words(goal: Goal) -> str:
    """The target of a goal: a part of a peer's figure as a fraction."""
    target = goal.target
    if target.than == LINEAR:
        return "no worse than linear"
    if target.sense == COST and target.factor < 1:
        return f"≤ 1/{1 / target.factor:g} × {target.than}"
    return target.said()
