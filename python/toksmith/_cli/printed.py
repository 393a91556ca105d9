"""What commands print: lines, how far the work is, and results.

Foreign text, such as a file name, can never move the cursor or hide what follows. Unprintable characters (controls, escapes,
direction marks, line separators) are written as escapes, in JSON with its own escapes. Everything that a command prints passes
here, except what `decode` writes. Under all of it is the net of `_render`, which `main` puts under a terminal.

Progress is a bar on a terminal, a line a minute in a log, JSON lines with --json, and nothing with --quiet. A result is drawn in
the terminal, printed as JSON, or written as a page or a picture.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

import toksmith
from toksmith import _render

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress as Bar

    from .._render import Shown
    from .arguments import Asked

__all__ = [
    "Meter",
    "Watch",
    "draw",
    "json_line",
    "log_lines",
    "plain_log",
    "prepared",
    "print_drawn",
    "print_json",
    "print_lines",
    "print_shown",
    "progress_of",
    "refuse_other",
    "tell",
    "working",
]

EVERY_S = 60
SOON_S = 2.0


def print_lines(*lines: str) -> None:
    """Print lines on stdout."""
    for line in lines:
        print(_render.one_line(named(line)), flush=False)


def named(line: str) -> str:
    """The line where bytes of names that the locale could not read are characters, if they are UTF-8."""
    try:
        return line.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeError:
        return line


def draw(drawn: str) -> None:
    """Print what a console of `_render` has drawn, which is escaped and may have colours."""
    _render.drawn_stream(sys.stdout).write(drawn)


def print_json(value: object) -> None:
    """Print a value as JSON text, on one line."""
    print(_render.plain_json(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))


def json_line(value: object) -> None:
    """Print an event as a line of JSON on stderr, where stdout is for the result."""
    print(_render.plain_json(json.dumps(value, ensure_ascii=False)), file=sys.stderr)


class PlainFormatter(logging.Formatter):
    """Formats a warning of the library on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The message alone, as Python prints unhandled warnings."""
        return _render.one_line(record.getMessage())


def plain_log() -> None:
    """Print the warnings of the library like everything else."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(PlainFormatter())
    logging.getLogger("toksmith").addHandler(handler)


@contextlib.contextmanager
def log_lines() -> Iterator[None]:
    """Print also what the library logs about its progress, a line a minute."""
    log = logging.getLogger("toksmith")
    handlers = [(each, each.level) for each in log.handlers]
    level = log.level
    log.setLevel(logging.INFO)
    for each, _ in handlers:
        each.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
        for each, own in handlers:
            each.setLevel(own)


def tell(message: str) -> None:
    """Print a message on stderr, on one line."""
    print(_render.one_line(f"toksmith: {named(message)}"), file=sys.stderr)


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


def print_shown(
    result: Callable[[], Shown], asked: Asked, size: int | None = None, unit: str = "bytes", *, total: int | None = None
) -> None:
    """Make one result, say that this goes on, and print it in the way that was asked for.

    Args:
        size: What the work is about, as of `working`, and so is `unit` and `total`.
    """
    with working(asked, size, unit, total=total):
        show = prepared(result(), asked)
    show()


def prepared(result: Shown, asked: Asked) -> Callable[[], None]:
    """A result, drawn in the way that was asked for; the call of what this returns prints it, which takes no time."""
    html, svg, as_json = asked.get("html"), asked.get("svg"), asked["as_json"]
    refuse_other(html, ("html", "htm"), "--html")
    refuse_other(svg, ("svg",), "--svg")
    written = []
    for path, save in ((html, result.save_html), (svg, result.save_svg)):
        if path is not None:
            save(path)
            written.append(path)
    value = result.to_json() if as_json else None
    drawn = "" if as_json or written else "".join(drawings(result))

    def show() -> None:
        print_lines(*written)
        if value is not None:
            print_json(value)
        draw(drawn)

    return show


def refuse_other(path: str | None, suffixes: Sequence[str], flag: str) -> None:
    """Refuse the name of another kind of file, such as .png: its content would be none."""
    suffix = "" if path is None else os.path.splitext(path)[1]
    if suffix and suffix[1:].lower() not in suffixes:
        raise click.BadParameter(f"expected a name that ends in .{suffixes[0]}, not {path!r}", param_hint=flag)


def print_drawn(*drawn: RenderableType) -> None:
    """Print what rich draws: coloured and as wide as the terminal is, plain and 80 cells wide elsewhere."""
    for text in drawings(*drawn):
        draw(text)


def drawings(*drawn: RenderableType) -> Iterator[str]:
    """What rich draws, a part after another. Not written by rich, which has an exit code of its own for a reader that
    leaves."""
    out = io.StringIO()
    terminal = sys.stdout.isatty()
    console = _render.make_console(out, force_terminal=terminal or None)
    if not terminal:
        console.width = 80
    for part in drawn:
        console.print(part)
        text = out.getvalue()
        yield text if terminal else "\n".join(line.rstrip() for line in text.split("\n"))
        out.seek(0)
        out.truncate()
