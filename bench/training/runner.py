"""Trains with every engine of a case in turn, round by round (A B C A B C …), each time in a fresh process.

A wrong engine cannot win: it must learn as many tokens as requested, or as the text allows, and encode the text to at
most 1 % more ids than the best engine; the rules for ties change less than that. An engine that fails or exceeds its
time limit is not run again; the record keeps the time as a lower bound.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..adapters import BEFORE, OURS
from ..process import run_worker
from ..request import Reply
from ..runner import processors
from .cases import Case
from .job import job
from .lay import source

WORSE = 1.01
WORKER = "bench.training.worker"


@dataclass
class Outcome:
    """The outcome of one engine in one case.

    Attributes:
        figures: "seconds", "processor", "peak" and "before" of every process.
        proof: The number of learned tokens, and of the sample's ids with them.
        at_least: The time limit that it exceeded, in seconds; 0 if it finished.
    """

    figures: dict[str, list[float]] = field(default_factory=dict)
    proof: dict[str, str | int] = field(default_factory=dict)
    problem: str = ""
    wrong: str = ""
    at_least: float = 0.0

    def take(self, reply: Reply, timeout: float) -> None:
        """Add the reply of a process."""
        self.problem = reply.problem
        self.at_least = timeout if reply.problem.startswith("timeout") else 0.0
        self.proof = reply.proof or self.proof
        for name, value in reply.figures.items():
            self.figures.setdefault(name, []).append(value)

    def middle(self, name: str) -> float | None:
        """The median of a figure."""
        return statistics.median(self.figures[name]) if self.figures.get(name) and not self.problem else None

    def row(self) -> dict[str, Any]:
        """The outcome in the form of a record."""
        return {
            "seconds": self.middle("seconds"),
            "peak": self.middle("peak"),
            "runs": self.figures,
            "proof": self.proof,
            "problem": self.problem,
            "wrong": self.wrong,
            "at_least": self.at_least,
        }


def run_case(case: Case, peers: Sequence[str], runs: int, timeout: float, before: str = "") -> dict[str, Outcome]:
    """The outcome of every engine that takes part; `before` is the interpreter of an earlier build of toksmith."""
    documents = source(case)
    outcomes = {engine: Outcome() for engine in taking_part(case, peers, before)}
    for _ in range(runs):
        for engine, outcome in outcomes.items():
            if not outcome.problem:
                what = job(case, engine, documents, processors(case.threads))
                python = sys.executable
                if engine == BEFORE:  # its environment has no peer that could check the tokens
                    what, python = replace(what, engine=OURS, check=False), before
                outcome.take(run_worker(what, timeout, WORKER, python), timeout)
    judge(case.size, outcomes)
    return outcomes


def taking_part(case: Case, peers: Sequence[str], before: str) -> list[str]:
    """The engines of a case, in their order; an earlier build comes right after toksmith."""
    engines = [engine for engine in case.engines if engine in peers]
    if before:
        engines.insert(engines.index(OURS) + 1, BEFORE)
    return engines


def judge(size: int, outcomes: dict[str, Outcome]) -> None:
    """Record what is wrong with the tokens of each engine."""
    proofs = [(int(each.proof["tokens"]), int(each.proof["ids"])) for each in outcomes.values() if each.proof]
    most = min(max((tokens for tokens, _ in proofs), default=0), size)
    best = min((ids for _, ids in proofs), default=0)
    for outcome in outcomes.values():
        if not outcome.proof:
            continue
        tokens, ids = int(outcome.proof["tokens"]), int(outcome.proof["ids"])
        if tokens > size or tokens * WORSE < most:
            outcome.wrong = f"{tokens:,} tokens; expected {most:,}"
        elif ids > WORSE * best:
            outcome.wrong = f"{ids:,} ids where {best:,} do"
