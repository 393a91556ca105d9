"""Ratios with their spread, and the result of every target, from the rows of a record.

The engines take turns, so each round has a separate ratio. The spread is the smallest and the largest of them, the
ratio that of the medians. A cell is even if its spread includes the bound of its target, otherwise ahead or behind.
Everything is computed from the single runs, so old records are judged by today's targets.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .adapters import ALONE, APART, OURS, VARIANTS
from .targets import BEST, COST, GOALS, OWN, SPEED, TENTH, Goal, Target, format_ratio, target_text

Row = dict[str, Any]
AHEAD, EVEN, BEHIND = "ahead", "even", "behind"
STRONG = 1.15


@dataclass(frozen=True)
class Ratio:
    """Toksmith's figure divided by another: of the medians, and the ends of its spread."""

    value: float
    low: float
    high: float

    def to_text(self) -> str:
        """The ratio as text: "1.28 (1.20 – 1.35)"."""
        ends = dict.fromkeys((format_ratio(self.low), format_ratio(self.high)))
        return format_ratio(self.value) if len(ends) == 1 else f"{format_ratio(self.value)} ({' – '.join(ends)})"

    def inverse(self) -> Ratio:
        """The other figure divided by toksmith's."""
        return Ratio(1 / self.value, 1 / self.high, 1 / self.low)


@dataclass(frozen=True)
class Observed:
    """The observed ratio of a target in one cell; None if toksmith's or the other figure is missing.

    Attributes:
        peer: The engine that toksmith is compared with; "" for none.
        enough: Whether toksmith's figure reaches the target at any ratio.
    """

    where: str
    ratio: Ratio | None
    peer: str = ""
    enough: bool = False

    def standing(self, target: Target) -> str:
        """The standing of the cell: ahead of the bound, even with it or behind; "" without a ratio."""
        if self.ratio is None:
            return ""
        if self.enough:
            return AHEAD
        if self.ratio.low <= target.factor <= self.ratio.high:
            return EVEN
        return AHEAD if target.holds(self.ratio.value) else BEHIND

    def to_text(self, target: Target) -> str:
        """The verdict as text: "target 1.0, seen 1.28 (1.20 – 1.35): ahead"."""
        if self.ratio is None:
            return f"{target_text(target)}: no figure"
        return f"{target_text(target)}, seen {self.ratio.to_text()}: {self.standing(target)}"


@dataclass(frozen=True)
class Verdict:
    """The result of one row of the table: its cells, and the cell farthest from the target."""

    goal: Goal
    cells: tuple[Observed, ...]

    def ratios(self) -> list[float]:
        """The ratios of the cells, best first; cells without a ratio are left out."""
        values = [cell.ratio.value for cell in self.cells if cell.ratio is not None]
        return sorted(values, reverse=self.goal.target.sense == SPEED)

    def count(self, standing: str) -> int:
        """The number of cells with this standing: ahead, even or behind."""
        return sum(cell.standing(self.goal.target) == standing for cell in self.cells)

    def strong(self) -> int:
        """The number of cells at least `STRONG` times as fast as their peer."""
        cost = self.goal.target.sense == COST
        return sum((1 / ratio if cost else ratio) >= STRONG for ratio in self.ratios())

    def worst(self) -> Observed | None:
        """The cell that is farthest from the target; a cell without a figure comes first."""
        missing = next((cell for cell in self.cells if cell.ratio is None), None)
        last = self.ratios()[-1:]
        return missing or next((cell for cell in self.cells if cell.ratio and [cell.ratio.value] == last), None)

    def to_text(self) -> str:
        """The verdict as text."""
        worst = self.worst()
        return worst.to_text(self.goal.target) if worst else f"{target_text(self.goal.target)}: not measured"


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """The result of every row of the table, from a record's rows."""
    return [Verdict(goal, tuple(observed_ratios(goal, rows))) for goal in GOALS]


def race(rows: Sequence[Row]) -> Verdict:
    """All cells that compare toksmith's speed with its peers', each relative to the best of them."""
    goal = Goal("all cells beside the best peer", (), Target(1.0))
    cells = []
    for each in filter(Goal.beside_peers, GOALS):
        target = Target(1.0, BEST, each.target.sense)
        cells_of_goal = list(observed_ratios(replace(each, target=target), rows))
        speeds = [cell.ratio.inverse() if cell.ratio and target.sense == COST else cell.ratio for cell in cells_of_goal]
        cells += [replace(cell, ratio=speed) for cell, speed in zip(cells_of_goal, speeds, strict=True)]
    return Verdict(goal, tuple(cells))


def observed_ratios(goal: Goal, rows: Sequence[Row]) -> Iterator[Observed]:
    """The observed ratio in each cell of a goal.

    Not included: the shortest text of a kind, which has no tenth, and a row without the goal's variant.
    """
    for row in rows:
        if not goal.covers(*cell_of(row)):
            continue
        where = f"{row['group']}, {cell_place(row)}" if len(goal.groups) > 1 else cell_place(row)
        if goal.target.than in OWN:
            others = tenth_runs(row, rows) if goal.target.than == TENTH else lock_limit(row, rows)
            if others is not None:
                yield Observed(where, ratio_of_runs(right_runs(row, OURS), others))
        elif goal.target.than not in VARIANTS or goal.target.than in row["engines"]:
            yield replace(observed_in_row(goal.target, row), where=where)


def observed_in_row(target: Target, row: Row) -> Observed:
    """The ratio of toksmith's figure to the target's peer's, or to the best peer's if that peer has none."""
    ours = right_runs(row, OURS)
    if not target.than:
        return Observed(cell_place(row), ratio_of_runs(ours, [1.0] * len(ours)))
    figures = {name: statistics.median(runs) for name in row["engines"] if (runs := right_runs(row, name))}
    peers = {name: figure for name, figure in figures.items() if name not in (OURS, *VARIANTS)}
    choose = min if target.sense == COST else max
    peer = choose(peers, key=lambda name: peers[name], default="")
    if target.than in figures or target.than in VARIANTS:
        peer = target.than
    enough = (
        target.enough is not None and OURS in figures and replace(target, factor=target.enough).holds(figures[OURS])
    )
    return Observed(cell_place(row), ratio_of_runs(ours, right_runs(row, peer)), peer, enough)


def ratio_of_runs(ours: Sequence[float], others: Sequence[float]) -> Ratio | None:
    """The ratio of two figures from their runs, round by round; of all pairs if one was timed more often."""
    if not ours or not others:
        return None
    if len(ours) == len(others):
        rounds = [mine / other for mine, other in zip(ours, others, strict=True)]
    else:
        rounds = [mine / other for mine in ours for other in others]
    return Ratio(statistics.median(ours) / statistics.median(others), min(rounds), max(rounds))


def right_runs(row: Row, engine: str) -> list[float]:
    """The runs of an engine with right answers on the whole text; else none."""
    entry = row["engines"].get(engine)
    if not entry or entry["wrong"] or entry["floor"] or entry["median"] is None:
        return []
    return list(entry["runs"])


def tenth_runs(row: Row, rows: Sequence[Row]) -> list[float] | None:
    """Toksmith's runs with a text of a tenth of the length; None if that text was not measured."""
    kind, _, size = row["text"].rpartition("-")
    return next((right_runs(other, OURS) for other in like(row, rows, text=f"{kind}-{int(size) // 10}")), None)


def lock_limit(row: Row, rows: Sequence[Row]) -> list[float] | None:
    """The maximum MB/s of lists that threads with one interpreter lock can reach, round by round.

    Only one thread at a time can build lists. The time for that is the difference between lists and arrays on one
    thread. The limit is the smaller of that speed and the speed of separate processes.
    """
    arrays = next(like(row, rows, group=row["group"].replace("lists", "arrays")), None)
    if arrays is None or APART not in row["engines"] or ALONE not in arrays["engines"]:
        return None
    limits = []
    every = (right_runs(row, APART), right_runs(row, ALONE), right_runs(arrays, ALONE))
    for apart, lists, ids in zip(*every, strict=False):
        building = 1 / lists - 1 / ids
        limits.append(min(apart, 1 / building) if building > 0 else apart)
    return limits


def like(row: Row, rows: Sequence[Row], **other: str) -> Iterator[Row]:
    """The rows of the same cell, except for the given fields."""
    key = cell_of(row | other)
    return (each for each in rows if cell_of(each) == key)


def cell_place(row: Row) -> str:
    """The vocabulary and text of a row."""
    return f"{row['encoding']} {row['text']}"


def cell_of(row: Row) -> tuple[str, str, str]:
    """The group, vocabulary and text of a row."""
    return row["group"], row["encoding"], row["text"]
