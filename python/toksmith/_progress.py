"""Progress of long work: values for programs, a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal, get_args

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

__all__ = ["Progress", "Reporter"]


Phase = Literal["counting", "merging", "encoding"]


@dataclass(frozen=True)
class Progress:
    """How far a training or the encoding of a corpus is.

    Attributes: `phase`; `done` bytes counted, merges learned or ids made, of `total` (None when nobody knows);
    `elapsed_s` seconds since the work began.
    """

    phase: Phase
    done: int
    total: int | None
    elapsed_s: float


class Reporter:
    """Hands progress to a callable, or draws a bar on a terminal."""

    def __init__(self, progress: Callable[[Progress], object] | bool | None) -> None:
        self._start = time.perf_counter()
        self._call = progress if callable(progress) else None
        drawn = progress is not False and self._call is None and sys.stderr.isatty()
        columns = (
            TextColumn("{task.description:>8}"),
            BarColumn(),
            TextColumn("{task.fields[said]}"),
            TimeElapsedColumn(),
        )
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True) if drawn else None
        self._tasks = {}
        if self._bar:
            for phase in get_args(Phase):
                self._tasks[phase] = self._bar.add_task(phase, start=False, total=None, said="", visible=False)

    def drawn(self) -> AbstractContextManager[object]:
        """The bar on its terminal, for as long as the context is open; nothing where nothing is drawn."""
        return self._bar or nullcontext()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the reporter was made."""
        return time.perf_counter() - self._start

    def report(self, phase: Phase, done: int, total: int | None) -> None:
        """Says how far a phase is."""
        if self._call:
            self._call(Progress(phase, done, total, self.elapsed_s))
        if self._bar:
            task = self._tasks[phase]
            self._bar.start_task(task)
            said = f"{done / 2**20:,.0f} MiB" if phase == "counting" else f"{done:,} of {total or 0:,} merges"
            said = f"{done:,} ids" if phase == "encoding" else said
            self._bar.update(task, completed=done, total=total, said=said, visible=True)
