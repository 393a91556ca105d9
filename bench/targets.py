"""The table of targets: what toksmith must reach, relative to which engine, in which cells.

A row names a group of cells and, unless it covers all of them, their texts or vocabularies. `verdicts` compares them
with the figures of a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .adapters import APART, PLAIN, RANKS, VARIANTS
from .texts import CORPORA, TURNS

SPEED, COST = "at least", "at most"
BEST, TENTH, LOCK = "the best peer", "a tenth of the text", "what one interpreter lock allows"
OWN = frozenset({TENTH, LOCK})


@dataclass(frozen=True)
class Target:
    """A goal for toksmith: `factor` times the figure of `than`, or `factor` itself if `than` is empty.

    Attributes:
        than: An engine (the best peer if its answers are wrong or missing), or `BEST`, the best peer with right
            answers, or toksmith itself: a variant that is measured in the same rounds, or a figure of `OWN`.
        sense: `SPEED` if the ratio must be at least the factor, `COST` if at most.
        enough: A figure of toksmith that reaches the target at any ratio; None for none.
    """

    factor: float
    than: str = BEST
    sense: str = SPEED
    enough: float | None = None

    def holds(self, ratio: float) -> bool:
        """Whether a ratio reaches the target."""
        return ratio <= self.factor if self.sense == COST else ratio >= self.factor

    def to_text(self) -> str:
        """The target as text."""
        sign = "≤" if self.sense == COST else "≥"
        other = f", or {sign} {self.enough:g}" if self.enough is not None else ""
        return f"{sign} {self.factor:g}{f' × {self.than}' if self.than else ''}{other}"


@dataclass(frozen=True)
class Goal:
    """One row: a target and its cells, by group; empty `texts` or `encodings` mean all."""

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

    def beside_peers(self) -> bool:
        """Whether the row compares the speed of toksmith with that of its peers."""
        than = self.target.than
        return bool(than) and than not in (*OWN, *VARIANTS) and self.groups[0] not in MEMORY


BATCH_ARRAYS = ("batch arrays cold", "batch arrays hot")
BATCH_LISTS = ("batch lists cold", "batch lists hot")
CONVERSATIONS = tuple(f"conversation of {turns} turns" for turns in TURNS)
MEMORY = ("memory after load", "memory after new text")
# 13 where 10 is linear: n log n from 1e4 to 1e5 is 12.5.
GOALS = (
    Goal("cold, one thread, array", ("cold", "cold after one word"), Target(1.0), CORPORA),
    Goal("text that never repeats, array", ("stream arrays",), Target(1.0)),
    Goal("text that never repeats, list", ("stream lists",), Target(1.0)),
    Goal("hot, one thread, array", ("hot",), Target(1.0), CORPORA),
    Goal("hot, one thread, list", ("list",), Target(1.0), CORPORA),
    Goal("batch, array", BATCH_ARRAYS, Target(1.0)),
    Goal("batch, list", BATCH_LISTS, Target(1.0)),
    Goal("batch, array, gain from threads", BATCH_ARRAYS, Target(0.95, APART)),
    Goal("batch, list, gain from threads", BATCH_LISTS, Target(0.95, LOCK)),
    Goal("SentencePiece BPE, cold", ("sentencepiece cold",), Target(1.0)),
    Goal("SentencePiece BPE, hot", ("sentencepiece hot",), Target(1.0)),
    Goal("short strings, time of a call", ("short",), Target(0.75, sense=COST)),
    Goal("short strings for the first time, time of a call", ("short, first time",), Target(1.0, sense=COST)),
    Goal("decode, list to str", ("decode list to str",), Target(1.3, "rs_bpe")),
    Goal("decode, array to bytes", ("decode array to bytes",), Target(1.5, "gigatoken")),
    Goal("long runs and texts without spaces, time", ("hostile",), Target(1.0, sense=COST)),
    Goal("the same from 1e4 to 1e7 bytes, time for ten times the text", ("growth",), Target(13, TENTH, COST)),
    Goal("load o200k from .tiktoken to first ids, ms", ("load",), Target(100, "", COST), encodings=("o200k",)),
    Goal("load from .toksmith to first ids, ms", ("load, native format",), Target(0.5, RANKS, COST, enough=30)),
    Goal("from messages to ids, time", CONVERSATIONS, Target(1.5, PLAIN, COST)),
    Goal("resident memory after loading", MEMORY[:1], Target(1.0, "gigatoken", COST)),
    Goal("resident memory after 100 MB of new text", MEMORY[1:], Target(1.0, "gigatoken", COST)),
)


def target_of(group: str, encoding: str, text: str) -> Target | None:
    """The target of a cell relative to a figure of the same rounds; None if it has none."""
    targets = (goal.target for goal in GOALS if goal.target.than not in OWN and goal.covers(group, encoding, text))
    return next(targets, None)


def without_target(unit: str) -> Target:
    """The comparison for a cell without a target: the best peer."""
    return Target(0, sense=SPEED if unit.endswith("/s") else COST)


def engines_in_targets(groups: Sequence[str]) -> set[str]:
    """The engines in the targets of these groups."""
    return {goal.target.than for goal in GOALS if {*goal.groups} & {*groups}}


def verdict_text(target: Target, ratio: float | None) -> str:
    """A verdict as text: "target 2.0, seen 1.40: short"."""
    if ratio is None:
        return f"{target_text(target)}: no figure"
    return f"{target_text(target)}, seen {format_ratio(ratio)}: {'holds' if target.holds(ratio) else 'short'}"


def target_text(target: Target) -> str:
    """The factor as text: "target 2.0"."""
    if round(target.factor, 1) == target.factor < 10:
        return f"target {target.factor:.1f}"
    return f"target {target.factor:.3g}"


def format_ratio(ratio: float) -> str:
    """A ratio with two decimals, fewer if it is large."""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}"
