"""The result of every row of the table of targets, from the rows of a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..adapters import ALONE, OURS
from ..targets import COST, SPEED, verdict_text
from .cases import GOALS, LINEAR, SERIES, Case, Goal, series_cases

Row = dict[str, Any]
Rows = Mapping[str, Row]  # the outcomes by engine, for each case name


@dataclass(frozen=True)
class Observed:
    """The observed ratio of a goal in one place.

    Attributes:
        ratio: None where a figure is missing.
        bound: Whether the peer did not finish: the true ratio is this or better.
    """

    where: str
    ratio: float | None
    bound: bool = False


@dataclass(frozen=True)
class Verdict:
    """The result of one goal: all observed ratios, and the worst."""

    goal: Goal
    seen: tuple[Observed, ...]

    def worst(self) -> Observed | None:
        """The ratio that is farthest from the target; a missing figure comes first."""
        sign = -1 if self.goal.target.sense == SPEED else 1
        return max(self.seen, key=lambda seen: (seen.ratio is None, sign * (seen.ratio or 0)), default=None)

    def held(self) -> int:
        """The number of places that reach the target."""
        return sum(seen.ratio is not None and self.goal.target.holds(seen.ratio) for seen in self.seen)

    def to_text(self) -> str:
        """The verdict as text."""
        worst = self.worst()
        if worst is None:
            return "not measured"
        text = verdict_text(self.goal.target, worst.ratio)
        return f"{text}, the peer did not finish" if worst.bound else text


def verdicts(rows: Rows) -> list[Verdict]:
    """The result of every row of the table."""
    return [Verdict(goal, tuple(observed_ratios(goal, rows))) for goal in GOALS]


def observed_ratios(goal: Goal, rows: Rows) -> Iterator[Observed]:
    """The observed ratio of a goal in each measured case."""
    if goal.target.than == LINEAR:
        yield from growth(goal, rows)
        return
    for place, case in enumerate(goal.cases):
        if case.name not in rows:
            continue
        if goal.target.than == ALONE:
            yield Observed(
                case.name, ratio(right_figure(rows, goal.against[place], OURS), right_figure(rows, case, OURS))
            )
        else:
            yield ratio_to_peer(goal, case, rows)


def ratio_to_peer(goal: Goal, case: Case, rows: Rows) -> Observed:
    """Toksmith's figure divided by the peer's, or by the time limit that the peer exceeded."""
    ours, peer = (right_figure(rows, case, engine, goal.figure) for engine in (OURS, goal.target.than))
    limit_s = rows[case.name].get(goal.target.than, {}).get("at_least", 0.0)
    if peer is None and limit_s and goal.figure == "seconds":
        bound = ratio(ours, limit_s)
        return Observed(case.name, bound if bound is not None and goal.target.holds(bound) else None, bound=True)
    return Observed(case.name, ratio(ours, peer))


def growth(goal: Goal, rows: Rows) -> Iterator[Observed]:
    """The growth of time over a series divided by the growth of size, from the first case to the last."""
    name = next(name for name, cases in SERIES.items() if cases == goal.cases)
    points = [(size, seconds) for size, case in series_cases(name) if (seconds := right_figure(rows, case, OURS))]
    if len(points) > 1:
        (small, short), (large, long) = points[0], points[-1]
        yield Observed(f"{small:g} to {large:g}", (long / short) / (large / small))


def right_figure(rows: Rows, case: Case, engine: str, name: str = "seconds") -> float | None:
    """An engine's figure in a case, if its tokens are right."""
    outcome = rows.get(case.name, {}).get(engine)
    if outcome is None or outcome["wrong"]:
        return None
    value: float | None = outcome[name]
    return value


def ratio(one: float | None, other: float | None) -> float | None:
    """One figure divided by another; None if either is missing."""
    return one / other if one is not None and other else None


def target_in_words(goal: Goal) -> str:
    """The target of a goal: a part of a peer's figure as a fraction."""
    target = goal.target
    if target.than == LINEAR:
        return "no worse than linear"
    if target.sense == COST and target.factor < 1:
        return f"≤ 1/{1 / target.factor:g} × {target.than}"
    return target.to_text()
