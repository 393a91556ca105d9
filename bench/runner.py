"""Measures every engine of a question in turn, round by round, and compares each reply with the expected answer.

Rounds interleave the engines (A B C A B C …), so a change of the machine affects all of them. Every timed process is
checked: the size of each result of the first pass, and the ids of the next pass. Before them, one untimed process of
toksmith compares the ids of a cold pass. To save time, an engine is timed only once if its ids are wrong, if it is
measured on a prefix, or if the best peer is more than twice as fast in every figure. Engines of a target are timed in
all rounds.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .adapters import ALONE, APART, BEFORE, NEED_TOKENIZER_JSON, OURS, VARIANTS, Encoding
from .definitions import FLOOR_LIMIT, Question
from .expected import Answer, expected_answer
from .native import with_native
from .process import run_worker, run_workers
from .request import Reply, Request
from .targets import engines_in_targets
from .texts import MB, TextFile, lay_out_text
from .vocabularies import encoding, with_tokenizer_json

CHECKED_FIRST = frozenset({"documents"})
HOPELESS = 2.0
RUNS, LIMIT, MOST = 5, 20 * MB, 100 * MB


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes:
        runs: Timed processes per engine.
        limit: The maximum bytes of a text, unless the question sets a limit.
        most: The maximum bytes of any text.
        timeout: The maximum seconds of one process.
        peers: The engines that take part.
        clock: "wall", or "cpu" for one-thread measurements.
        before: The interpreter of an earlier build of toksmith that takes part; "" for none.
    """

    runs: int
    limit: int
    most: int
    timeout: float
    peers: Sequence[str]
    clock: str
    before: str = ""


@dataclass
class Outcome:
    """The outcome of one engine in one question.

    Attributes:
        figures: The figures of every timed process, by name.
        problem: The reason why there are no figures; "" if there are.
        wrong: The difference from the expected answer; "" if there is none.
    """

    text: TextFile
    tokens: int
    figures: dict[str, list[float]] = field(default_factory=dict)
    problem: str = ""
    wrong: str = ""

    def take(self, reply: Reply, due: Answer) -> None:
        """Add the reply of a process."""
        self.problem = reply.problem
        differs = [name for name, value in reply.proof.items() if value != due.proof[name]]
        self.wrong = self.wrong or ", ".join(differs)
        for name, value in reply.figures.items():
            self.figures.setdefault(name, []).append(value)

    def goes_on(self) -> bool:
        """Whether another process could add information."""
        return not self.problem and not (self.wrong and self.figures)

    def right(self) -> dict[str, float]:
        """The median of each figure, if the answers are right."""
        if self.problem or self.wrong:
            return {}
        return {name: statistics.median(figures) for name, figures in self.figures.items()}


def run_question(question: Question, settings: Settings) -> dict[str, Outcome]:
    """The outcome of every engine that takes part, in the order of the question."""
    requests: dict[str, tuple[Request, Answer]] = {}
    outcomes: dict[str, Outcome] = {}
    vocabulary = encoding(question.encoding)
    limit = min(question.limit or settings.limit, settings.most)
    for engine in taking_part(question, settings):
        engine_limit = FLOOR_LIMIT if engine in question.floor else limit
        text = lay_out_text(question.text, min(engine_limit, limit))
        expected = expected_answer(text, vocabulary)
        what = request(question, engine, vocabulary, text, expected)
        what = replace(what, clock=settings.clock if question.threads == 1 else "wall")
        requests[engine] = (replace(what, passes=1) if engine in question.floor else what, expected)
        outcomes[engine] = Outcome(text, expected.tokens)
    if question.measure in CHECKED_FIRST and OURS in requests:
        what, expected = requests[OURS]
        outcomes[OURS].take(run_worker(replace(what, check_only=True), settings.timeout), expected)
    for _ in range(settings.runs):
        finished = {name for name in outcomes if is_decided(name, question, outcomes)}
        for engine, (what, expected) in requests.items():
            if engine not in finished and outcomes[engine].goes_on():
                outcomes[engine].take(reply(engine, what, settings), expected)
    return outcomes


def reply(engine: str, what: Request, settings: Settings) -> Reply:
    """The reply of one process of an engine; of several at once for a variant of several processes."""
    if engine == APART:
        alone = replace(what, measure="share", threads=1)
        pinned = what.cpus if len(what.cpus) == what.threads else ()
        places = range(what.threads)
        parts = [replace(alone, share=(at, what.threads), cpus=pinned[at : at + 1]) for at in places]
        return run_workers(parts, settings.timeout)
    return run_worker(what, settings.timeout, python=settings.before if engine == BEFORE else sys.executable)


def taking_part(question: Question, settings: Settings) -> list[str]:
    """The engines of a question, in order; toksmith's variants come right after it."""
    engines = [engine for engine in (*question.engines, *question.floor) if engine in settings.peers]
    if OURS in engines:
        after = engines.index(OURS) + 1
        engines[after:after] = [*([BEFORE] if settings.before else []), *question.beside]
    return engines


def is_decided(engine: str, question: Question, outcomes: dict[str, Outcome]) -> bool:
    """Whether more processes of an engine could not change a verdict."""
    mine = outcomes[engine].right()
    if not mine or engine in {
        OURS,
        *VARIANTS,
        *question.kept,
        *engines_in_targets([cell.group for cell in question.cells]),
    }:
        return False
    if engine in question.floor:
        return True
    peers = [outcomes[name].right() for name in question.engines if name in outcomes and name not in (engine, OURS)]
    return all(
        any(figure > HOPELESS * peer[name] for peer in peers if name in peer)
        for name, figure in mine.items()
        if name in shown_figures(question)
    )


def shown_figures(question: Question) -> set[str]:
    """The figures that the cells of a question show."""
    return {cell.figure for cell in question.cells}


def request(question: Question, engine: str, known: Encoding, text: TextFile, due: Answer) -> Request:
    """The request to one process of an engine."""
    if engine in NEED_TOKENIZER_JSON:
        known = with_tokenizer_json(known)
    if question.native and engine in (OURS, BEFORE):
        known = with_native(known)
    threads = 1 if engine == ALONE else question.threads
    return Request(
        question.measure,
        engine,
        known,
        text,
        question.first,
        question.again,
        question.passes,
        threads=threads,
        cpus=processors(threads),
        warm=question.warm,
        ids=due.ids,
    )


def processors(threads: int) -> tuple[int, ...]:
    """The last of the processors that this process can use, one per thread; empty if pinning is not possible."""
    if not hasattr(os, "sched_getaffinity"):
        return ()
    return tuple(sorted(os.sched_getaffinity(0))[-threads:])
