"""The table of targets: what toksmith must reach, relative to which engine, in which cells.

A row names a group of cells and, if it is not for all of them, their texts or vocabularies. `judged` gives the result
of one cell, `verdicts` the result of every row, by its worst cell. Peers with wrong ids are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .adapters import OURS
from .texts import CORPORA

Row = dict[str, Any]
SPEED, COST = "at least", "at most"
BEST, ALONE, TENTH = "the best peer", "toksmith on one thread", "a tenth of the text"
OWN = frozenset({ALONE, TENTH})
EASY = ("english", "code")
OTHERS = tuple(corpus for corpus in CORPORA if corpus not in EASY)


@dataclass(frozen=True)
class Target:
    """What toksmith must reach: `factor` times the figure of `than`, or `factor` itself if `than` is empty.

    Attributes:
        than: An engine (the best peer if its answers are wrong or missing), or `BEST`, the best peer with right
            answers, or one of toksmith's own figures: `ALONE`, `TENTH`.
        sense: `SPEED` if the ratio must be at least the factor, `COST` if at most.
    """

    factor: float
    than: str = BEST
    sense: str = SPEED

    def holds(self, ratio: float) -> bool:
        """Whether a ratio reaches the target."""
        return ratio <= self.factor if self.sense == COST else ratio >= self.factor

    def said(self) -> str:
        """The target in words."""
        return f"{'≤' if self.sense == COST else '≥'} {self.factor:g}{f' × {self.than}' if self.than else ''}"


@dataclass(frozen=True)
class Goal:
    """One row: a target and the cells that it is for, by group; empty `texts` or `encodings` are all that are asked."""

    title: str
    groups: tuple[str, ...]
    target: Target
    texts: tuple[str, ...] = ()
    encodings: tuple[str, ...] = ()

    def covers(self, group: str, encoding: str, text: str) -> bool:
        """Whether a cell belongs to the row."""
        return (
            group in self.groups
            and (not self.texts or text in self.texts)
            and (not self.encodings or encoding in self.encodings)
        )


BATCH_ARRAYS = ("batch arrays cold", "batch arrays hot")
BATCH_LISTS = ("batch lists cold", "batch lists hot")
# 13 where 10 is linear: n log n from 1e4 to 1e5 is 12.5.
GOALS = (
    Goal("cold, one thread, array", ("cold",), Target(2.0), CORPORA),
    Goal("text that never repeats, array", ("stream arrays",), Target(2.0)),
    Goal("text that never repeats, list", ("stream lists",), Target(1.5)),
    Goal("hot, one thread, array: english, code", ("hot",), Target(1.1, "gigatoken"), EASY),
    Goal("hot, one thread, array: the other seven texts", ("hot",), Target(1.3, "gigatoken"), OTHERS),
    Goal("hot, one thread, list", ("list",), Target(1.3, "fastokens"), CORPORA),
    Goal("batch, array", BATCH_ARRAYS, Target(1.2)),
    Goal("batch, list", BATCH_LISTS, Target(1.2)),
    Goal("batch, array, gain from two threads", BATCH_ARRAYS, Target(1.7, ALONE)),
    Goal("batch, list, gain from two threads", BATCH_LISTS, Target(1.7, ALONE)),
    Goal("SentencePiece BPE, cold", ("sentencepiece cold",), Target(3.0, "gigatoken")),
    Goal("SentencePiece BPE, hot", ("sentencepiece hot",), Target(1.5, "gigatoken")),
    Goal("short strings, time of a call", ("short",), Target(0.6, sense=COST)),
    Goal("decode, list to str", ("decode list to str",), Target(1.3, "rs_bpe")),
    Goal("decode, array to bytes", ("decode array to bytes",), Target(1.5, "gigatoken")),
    Goal("long runs and texts without spaces, time", ("hostile",), Target(1.0, sense=COST)),
    Goal("the same from 1e4 to 1e7 bytes, time for ten times the text", ("growth",), Target(13, TENTH, COST)),
    Goal("load o200k from .tiktoken to first ids, ms", ("load",), Target(100, "", COST), encodings=("o200k",)),
    Goal("load o200k from .toksmith, ms", ("load, native format",), Target(30, "", COST), encodings=("o200k",)),
    Goal("resident memory after loading", ("memory after load",), Target(1.0, "gigatoken", COST)),
    Goal("resident memory after 100 MB of new text", ("memory after new text",), Target(1.0, "gigatoken", COST)),
)


def target_of(group: str, encoding: str, text: str) -> Target | None:
    """The target of a cell relative to its peers; None if there is none."""
    found = (goal.target for goal in GOALS if goal.target.than not in OWN and goal.covers(group, encoding, text))
    return next(found, None)


def named(groups: Sequence[str]) -> set[str]:
    """The engines that some target of these groups names."""
    return {goal.target.than for goal in GOALS if {*goal.groups} & {*groups}}


def judged(target: Target, right: Mapping[str, float]) -> Row:
    """The ratio of toksmith's figure to that of the target's peer, the peer, and whether the target is reached.

    Args:
        right: The figure of every engine with right answers that was measured on the whole text.
    """
    peers = {name: value for name, value in right.items() if name != OURS}
    ours = right.get(OURS)
    choose = min if target.sense == COST else max
    peer = target.than if target.than in peers else choose(peers, key=lambda name: peers[name], default=None)
    if not target.than:
        return {"ratio": ours, "peer": None, "reached": None if ours is None else target.holds(ours)}
    if ours is None or peer is None:
        return {"ratio": None, "peer": peer, "reached": None}
    ratio = ours / peers[peer]
    return {"ratio": ratio, "peer": peer, "reached": target.holds(ratio)}


@dataclass(frozen=True)
class Seen:
    """The observed ratio of a target in one cell; None if toksmith's or the peer's figure is missing."""

    where: str
    ratio: float | None
    peer: str = ""


@dataclass(frozen=True)
class Verdict:
    """The result of one row of the table: its cells, and the one that is farthest from the target."""

    goal: Goal
    cells: tuple[Seen, ...]

    def ratios(self) -> list[float]:
        """The ratios of the cells that have one, best first."""
        found = [cell.ratio for cell in self.cells if cell.ratio is not None]
        return sorted(found, reverse=self.goal.target.sense == SPEED)

    def held(self) -> int:
        """How many cells reach the target."""
        return sum(self.goal.target.holds(ratio) for ratio in self.ratios())

    def worst(self) -> Seen | None:
        """The cell that is farthest from the target; a cell without a figure comes first."""
        missing = next((cell for cell in self.cells if cell.ratio is None), None)
        last = self.ratios()[-1:]
        return missing or next((cell for cell in self.cells if [cell.ratio] == last), None)

    def said(self) -> str:
        """The verdict in words."""
        worst = self.worst()
        return said(self.goal.target, worst.ratio) if worst else f"{due(self.goal.target)}: not measured"


def said(target: Target, ratio: float | None) -> str:
    """A verdict in words: "target 2.0, seen 1.40: short"."""
    if ratio is None:
        return f"{due(target)}: no figure"
    return f"{due(target)}, seen {amount(ratio)}: {'holds' if target.holds(ratio) else 'short'}"


def due(target: Target) -> str:
    """The factor in words: "target 2.0"."""
    return f"target {target.factor:.1f}" if target.factor < 10 else f"target {target.factor:g}"


def amount(ratio: float) -> str:
    """A ratio with two digits behind the point, fewer where it is large."""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}"


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """The result of every row of the table, from a record's rows."""
    return [Verdict(goal, tuple(seen(goal, rows))) for goal in GOALS]


def seen(goal: Goal, rows: Sequence[Row]) -> Iterator[Seen]:
    """The observed ratio in each cell of a goal; the shortest text of a kind has no tenth, so it is not a cell."""
    for row in rows:
        if not goal.covers(row["group"], row["encoding"], row["text"]):
            continue
        where = f"{row['group']}, {place(row)}" if len(goal.groups) > 1 else place(row)
        if goal.target.than not in OWN:
            yield Seen(where, row["ratio"], row["peer"] or "")
        elif goal.target.than == ALONE:
            yield Seen(where, over(row, single(row, rows)))
        elif before := tenth(row, rows):
            yield Seen(where, over(row, before))


def place(row: Row) -> str:
    """Which cell of its group a row is."""
    return f"{row['encoding']} {row['text']}"


def single(row: Row, rows: Sequence[Row]) -> Row | None:
    """The same cell on one thread."""
    group = f"{row['group']}, one thread"
    return next((other for other in rows if other["group"] == group and place(other) == place(row)), None)


def tenth(row: Row, rows: Sequence[Row]) -> Row | None:
    """The same cell with a text of a tenth of the length."""
    kind, _, size = row["text"].rpartition("-")
    wanted = f"{row['encoding']} {kind}-{int(size) // 10}"
    return next((other for other in rows if other["group"] == row["group"] and place(other) == wanted), None)


def over(row: Row, other: Row | None) -> float | None:
    """Toksmith's figure in one cell by its figure in another, if its answers are right in both."""
    mine, others = own(row), own(other) if other else None
    return mine / others if mine and others else None


def own(row: Row) -> float | None:
    """Toksmith's figure, if its answers are right."""
    ours = row["engines"].get(OURS)
    return ours["median"] if ours and not ours["wrong"] else None
