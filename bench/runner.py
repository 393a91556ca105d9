"""Asks every engine of a question in turn, round by round, and compares each reply with the expected answer.

Rounds interleave the engines (A B C A B C …), so that what changes on the machine meanwhile meets all of them. The
first round checks the ids of a cold pass and times nothing; an engine that fails there is not asked again, and one
with wrong ids is timed once, to be shown struck out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .adapters import NEED_TOKENIZER_JSON, OURS, Encoding
from .definitions import FLOOR_LIMIT, Question
from .expected import Answer, answer
from .native import with_native
from .process import ask
from .request import Reply, Request
from .texts import Laid, lay
from .vocabularies import encoding, with_tokenizer_json

CHECKED_FIRST = frozenset({"documents"})


@dataclass(frozen=True)
class Settings:
    """How a run is done.

    Attributes:
        runs: Timed processes per engine.
        limit: The most bytes of a text, where the question sets none.
        most: The most bytes of any text.
        timeout: The most seconds of one process.
        peers: The engines that take part.
        clock: "wall", or "cpu" where one thread is measured.
    """

    runs: int
    limit: int
    most: int
    timeout: float
    peers: Sequence[str]
    clock: str


@dataclass
class Outcome:
    """What came of one engine in one question.

    Attributes:
        figures: The figures of every timed process, by name.
        problem: Why there are none; "" if there are.
        wrong: What differs from the expected answer; "" if nothing does.
    """

    text: Laid
    tokens: int
    figures: dict[str, list[float]] = field(default_factory=dict)
    problem: str = ""
    wrong: str = ""

    def take(self, reply: Reply, due: Answer) -> None:
        """Adds what a process replied."""
        self.problem = reply.problem
        differs = [name for name, value in reply.proof.items() if value != due.proof[name]]
        self.wrong = self.wrong or ", ".join(differs)
        for name, value in reply.figures.items():
            self.figures.setdefault(name, []).append(value)

    def goes_on(self) -> bool:
        """Whether another process could tell more."""
        return not self.problem and not (self.wrong and self.figures)


def run(question: Question, settings: Settings) -> dict[str, Outcome]:
    """The outcome of every engine that takes part, in the order of the question."""
    asked: dict[str, tuple[Request, Answer]] = {}
    outcomes: dict[str, Outcome] = {}
    known = encoding(question.encoding)
    limit = min(question.limit or settings.limit, settings.most)
    for engine in (*question.engines, *question.floor):
        if engine in settings.peers:
            own = FLOOR_LIMIT if engine in question.floor else limit
            text = lay(question.text, min(own, limit))
            due = answer(text, known)
            what = request(question, engine, known, text, due)
            what = replace(what, clock=settings.clock if question.threads == 1 else "wall")
            asked[engine] = (replace(what, passes=1) if engine in question.floor else what, due)
            outcomes[engine] = Outcome(text, due.tokens)
    rounds = range(0 if question.measure in CHECKED_FIRST else 1, settings.runs + 1)
    for place in rounds:
        for engine, (what, due) in asked.items():
            if outcomes[engine].goes_on():
                outcomes[engine].take(ask(replace(what, check_only=place == 0), settings.timeout), due)
    return outcomes


def request(question: Question, engine: str, known: Encoding, text: Laid, due: Answer) -> Request:
    """What one process of an engine is asked."""
    if engine in NEED_TOKENIZER_JSON:
        known = with_tokenizer_json(known)
    if question.native and engine == OURS:
        known = with_native(known)
    return Request(
        question.measure,
        engine,
        known,
        text,
        question.first,
        question.again,
        threads=question.threads,
        cpus=processors(question.threads),
        warm=question.warm,
        ids=due.ids,
    )


def processors(threads: int) -> tuple[int, ...]:
    """The last processors of those that this process may use, one per thread; empty where pinning is not possible."""
    if not hasattr(os, "sched_getaffinity"):
        return ()
    return tuple(sorted(os.sched_getaffinity(0))[-threads:])
