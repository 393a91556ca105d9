"""Progress of commands: bars on a terminal, a line a minute in a log, JSON lines with --json, nothing with --quiet."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import toksmith

from ._printed import json_line, tell

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["Meter", "Watch", "metered", "progress_lines", "progress_of"]

EVERY_S = 60
SOON_S = 2.0


def progress_of(*, as_json: bool, quiet: bool) -> dict[str, Any]:
    """The `progress` argument of a call of the library; on a terminal its own bar."""
    if quiet:
        return {"progress": False}
    return {} if sys.stderr.isatty() and not as_json else {"progress": progress_lines(as_json=as_json)}


def progress_lines(*, as_json: bool = False) -> Callable[[toksmith.Progress], None]:
    """Print progress as lines on stderr, one per minute, for logs."""
    said_s = 0.0

    def say(now: toksmith.Progress) -> None:
        nonlocal said_s
        if now.elapsed_s - said_s >= EVERY_S:
            said_s = now.elapsed_s
            if as_json:
                json_line({"event": "progress", **dataclasses.asdict(now)})
            else:
                tell(str(now))

    return say


class Watch:
    """The time that a command takes."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    def took(self, done: int, unit: str) -> str:
        """The time and the speed in words, if it took longer than two seconds; else nothing."""
        seconds = self.elapsed_s()
        return "" if seconds < SOON_S else f" in {seconds:,.1f} s ({speed(done / seconds, unit)})"


def speed(rate: float, unit: str) -> str:
    """A rate in words: bytes in megabytes, anything else in numbers."""
    return f"{rate / 1e6:,.1f} MB/s" if unit == "bytes" else f"{rate:,.0f} {unit} a second"


@contextlib.contextmanager
def metered(total: int | None, *, as_json: bool, quiet: bool) -> Iterator[Meter]:
    """The progress of what happens inside, and at its end one line with the size and the speed.

    Args:
        total: The bytes of all files; None if nobody knows.
    """
    meter = Meter(total, as_json=as_json, quiet=quiet)
    try:
        yield meter
    finally:
        if meter.bar is not None:
            meter.bar.stop()
    if not quiet and not as_json and (took := meter.watch.took(meter.done, "bytes")):
        tell(f"{meter.done:,} bytes{took}")


class Meter:
    """Progress of work that a command does itself, in bytes; it shows after two seconds."""

    def __init__(self, total: int | None, *, as_json: bool, quiet: bool) -> None:
        self.watch = Watch()
        self.total, self.done, self.said_s = total, 0, 0.0
        self.as_json, self.quiet = as_json, quiet
        self.bar: Bar | None = None

    def advance(self, size: int) -> None:
        """Says that so many more bytes are done."""
        self.done += size
        elapsed = self.watch.elapsed_s()
        if self.quiet or elapsed < SOON_S:
            return
        if sys.stderr.isatty() and not self.as_json:
            self.draw()
        elif elapsed - self.said_s >= EVERY_S:
            self.said_s = elapsed
            progress = toksmith.Progress("counting", self.done, self.total, elapsed, elapsed)
            if self.as_json:
                json_line({"event": "progress", **dataclasses.asdict(progress)})
            else:
                tell(str(progress))

    def draw(self) -> None:
        """Draws the bar."""
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

            columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self.bar.add_task("", total=self.total)
            self.bar.start()
        self.bar.update(self.bar.task_ids[0], completed=self.done)
