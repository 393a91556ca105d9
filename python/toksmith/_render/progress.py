"""Progress of long work: values for programs, a bar on a terminal, log lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from .. import _render
from .streams import LOG

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["Progress", "Reporter"]


LOG_EVERY_S = 60.0
Phase = Literal["counting", "merging", "pruning", "encoding", "writing"]


@dataclass(frozen=True)
class Progress:
    """The progress of a training, the encoding of a corpus, or the writing of a model.

    Attributes: `phase`; `done` bytes counted or written, merges learned,
    tokens left or ids made, of `total` (None if unknown); `elapsed_s` seconds
    since the work began, `phase_s` since the phase began.
    """

    phase: Phase
    done: int
    total: int | None
    elapsed_s: float
    phase_s: float = 0.0

    @property
    def rate(self) -> float | None:
        """The amount done in a second of this phase; None at its beginning."""
        return self.done / self.phase_s if self.phase_s else None

    @property
    def left_s(self) -> float | None:
        """The seconds that the rest of the phase takes at this rate; None if
        unknown."""
        return None if self.total is None or not self.rate else (self.total - self.done) / self.rate

    def __str__(self) -> str:
        unit = {"counting": "bytes", "merging": "merges", "pruning": "tokens", "encoding": "ids", "writing": "bytes"}[
            self.phase
        ]
        of = "" if self.total is None else f" of {self.total:,}"
        rate = f", {self.rate:,.0f} in a second" if self.rate else ""
        left = f", {self.left_s:,.0f} s to go" if self.left_s else ""
        return f"{self.phase}: {self.done:,}{of} {unit} after {self.elapsed_s:,.0f} s{rate}{left}"


class Reporter:
    """Passes progress to a callable, or draws a bar on a terminal, or logs a line a minute."""

    def __init__(self, progress: Callable[[Progress], object] | bool | None) -> None:
        self._start = self._said = time.perf_counter()
        self.phase: Phase = "counting"
        self._phase_start: float | None = None
        self._quiet = progress is False
        self._call = progress if callable(progress) else None
        on_terminal = progress is not False and self._call is None and sys.stderr.isatty()
        self._bar = make_bar() if on_terminal else None
        self._tasks = {}
        if self._bar:
            for phase in get_args(Phase):
                self._tasks[phase] = self._bar.add_task(phase, start=False, total=None, said="", visible=False)

    def drawn(self) -> AbstractContextManager[object]:
        """A context that draws the bar while it is open; it does nothing without a bar."""
        return self._bar or nullcontext()

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self._start

    def report(self, phase: Phase, done: int, total: int | None) -> None:
        now_s = time.perf_counter()
        if phase != self.phase or self._phase_start is None:
            self.phase, self._phase_start = phase, now_s
        now = Progress(phase, done, total, now_s - self._start, now_s - self._phase_start)
        if self._call:
            self._call(now)
        elif not (self._bar or self._quiet) and now_s - self._said >= LOG_EVERY_S:
            self._said = now_s
            LOG.info("%s", now)
        if self._bar:
            task = self._tasks[phase]
            self._bar.start_task(task)
            rate = f", {now.rate:,.0f}/s" if now.rate else ""
            amount = (
                f"{done / 2**20:,.0f} MiB"
                if phase in ("counting", "writing")
                else f"{done:,} of {total or 0:,} merges{rate}"
            )
            amount = f"{done:,} ids" if phase == "encoding" else amount
            amount = f"{done:,} tokens" if phase == "pruning" else amount
            self._bar.update(task, completed=done, total=total, said=amount, visible=True)


def make_bar() -> Bar:
    """A bar on the terminal, without tasks."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:>8}"), BarColumn(), TextColumn("{task.fields[said]}"))
    return _render.make_progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), transient=True)
