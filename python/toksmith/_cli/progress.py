"""Progress of commands: bars on a terminal, a line a minute in a log, JSON lines with --json, nothing with --quiet."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import toksmith
from toksmith import _render

from .printed import json_line, tell

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from .arguments import Asked

__all__ = ["Meter", "Watch", "progress_of", "working"]

EVERY_S = 60
SOON_S = 2.0


def progress_of(asked: Asked) -> dict[str, Any]:
    """The `progress` argument of a call of the library: on a terminal its own bar, else lines on stderr, one a minute."""
    as_json = asked["as_json"]
    if asked["quiet"]:
        return {"progress": False}
    if sys.stderr.isatty() and not as_json:
        return {}
    said_s = 0.0

    def say(now: toksmith.Progress) -> None:
        nonlocal said_s
        if now.elapsed_s - said_s >= EVERY_S:
            said_s = now.elapsed_s
            say_progress(now, as_json=as_json)

    return {"progress": say}


def say_progress(now: toksmith.Progress, *, as_json: bool) -> None:
    """Print progress as a line on stderr."""
    if as_json:
        json_line({"event": "progress", **dataclasses.asdict(now)})
    else:
        tell(str(now))


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
    """A rate in words: bytes in megabytes (kilobytes, if they are few), anything else in numbers."""
    if unit == "bytes":
        return f"{rate / 1e6:,.1f} MB/s" if rate >= 1e5 else f"{rate / 1e3:,.1f} kB/s"
    return f"{rate:,.0f} {unit} a second"


@contextlib.contextmanager
def working(asked: Asked, size: int | None = None, unit: str = "bytes", *, total: int | None = None) -> Iterator[Meter]:
    """The progress of what happens inside, also where it takes long before a part is done; at its end size and speed.

    Args:
        asked: The options of the command, with --json and --quiet.
        size: What the work is about, for the line at its end; None for what the meter has counted.
        unit: The unit of `size`.
        total: The bytes of the files that are read on the way; None if there are none, or nobody knows.
    """
    meter = Meter(total, as_json=asked["as_json"], quiet=asked["quiet"])
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(SOON_S):
            meter.look()

    watcher = threading.Thread(target=watch, daemon=True)
    if not meter.quiet:
        watcher.start()
    try:
        yield meter
    finally:
        ended.set()
        if not meter.quiet:
            watcher.join()
        meter.end()
    meter.sum_up(meter.done if size is None or meter.done else size, "bytes" if meter.done else unit)


class Meter:
    """Progress of work that a command does itself, in bytes; it shows after two seconds."""

    def __init__(self, total: int | None, *, as_json: bool, quiet: bool) -> None:
        self.watch = Watch()
        self.total, self.done, self.said_s = total, 0, 0.0
        self.as_json, self.quiet = as_json, quiet
        self.bar: Bar | None = None
        self.looking = threading.Lock()

    def advance(self, size: int) -> None:
        """Says that so many more bytes are done."""
        self.done += size
        self.look()

    def look(self) -> None:
        """Shows how far the work is, if it is time."""
        with self.looking:
            elapsed = self.watch.elapsed_s()
            if self.quiet or elapsed < SOON_S:
                return
            if sys.stderr.isatty() and not self.as_json:
                self.draw()
            elif elapsed - self.said_s >= EVERY_S:
                self.said_s = elapsed
                self.say(elapsed)

    def say(self, elapsed: float) -> None:
        """Says it in a line."""
        if not self.done:
            at_work = {"event": "progress", "phase": "working", "done": 0, "total": self.total, "elapsed_s": elapsed}
            return json_line(at_work) if self.as_json else tell(f"at work for {elapsed:,.0f} s")
        say_progress(toksmith.Progress("counting", self.done, self.total, elapsed, elapsed), as_json=self.as_json)

    def draw(self) -> None:
        """Draws the bar, which moves by itself where no size is known."""
        if self.bar is None:
            from rich import progress

            columns = [progress.BarColumn(), progress.TimeElapsedColumn()]
            if self.total is not None or self.done:
                columns = [progress.BarColumn(), progress.DownloadColumn(), progress.TransferSpeedColumn()]
                columns.append(progress.TimeRemainingColumn())
            self.bar = _render.make_progress(*columns, transient=True)
            self.bar.add_task("", total=self.total)
            self.bar.tasks[0].start_time = self.bar.get_time() - self.watch.elapsed_s()
            self.bar.start()
        self.bar.update(self.bar.task_ids[0], completed=self.done)

    def end(self) -> None:
        """Takes the bar away."""
        if self.bar is not None:
            self.bar.stop()

    def sum_up(self, size: int, unit: str) -> None:
        """Says the size and the speed, if the work took longer than two seconds."""
        if self.quiet or self.as_json or not (took := self.watch.took(size, unit)):
            return
        tell(f"{size:,} {unit}{took}" if size else f"done{took.partition(' (')[0]}")
