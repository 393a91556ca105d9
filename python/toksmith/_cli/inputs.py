"""What a command reads, and how far it is: tokenizers, texts and corpora that its arguments name, and its progress.

Progress is a bar on a terminal, a line a minute in a log, JSON lines with --json, and nothing with --quiet.
"""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import stat
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

import toksmith

from .. import _render
from .._render import print_json, tell
from .arguments import STDIN, Asked, given

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = [
    "Meter",
    "Watch",
    "corpus_of",
    "file_bytes",
    "file_named",
    "file_or_bytes",
    "given_pattern",
    "has_rows",
    "inputs",
    "language_and_file",
    "loaded",
    "loaded_all",
    "loaded_options",
    "one_file_by_language",
    "one_text",
    "pairs",
    "progress_of",
    "ticking",
    "total_of",
    "working",
]

ROWS = (".jsonl", ".parquet", ".arrow")
PACKED = (".gz", ".zst")
PLAIN = (".txt", ".md")  # one text each, for which the readers of a corpus need not be imported
EVERY_S = 60
SOON_S = 2.0


def loaded(asked: Asked) -> toksmith.Tokenizer:
    """The one tokenizer that `-t`, `--pattern` and `--special-token` name together."""
    if len(asked["tokenizer"]) > 1:
        raise click.BadParameter("is given twice; 'compare' takes several", param_hint="--tokenizer")
    return toksmith.load(asked["tokenizer"][0], **loaded_options(asked))


def loaded_all(asked: Asked) -> dict[str, toksmith.Tokenizer]:
    return {name: toksmith.load(name, **loaded_options(asked)) for name in asked["tokenizer"]}


def loaded_options(asked: Asked) -> dict[str, Any]:
    """The arguments of `load` for `--pattern` and `--special-token`."""
    found = given_pattern(asked["pattern"])
    if asked["special_token"]:
        found["special_tokens"] = dict(map(token_and_id, asked["special_token"]))
    return found


def token_and_id(text: str) -> tuple[str, int]:
    """The parts of a `TOKEN=ID` option; the token may hold `=` itself."""
    token, equals, id = text.rpartition("=")
    if not (equals and id.isascii() and id.isdigit()):
        raise click.BadParameter(f"{text!r} is not TOKEN=ID", param_hint="--special-token")
    return token, int(id)


def given_pattern(patterns: Sequence[str] | None) -> dict[str, Any]:
    """The `pattern` argument for the --pattern options, if any was given."""
    if not patterns:
        return {}
    if len(patterns) > 1:
        return {"pattern": list(patterns)}
    return {"pattern": None if patterns[0] == "none" else patterns[0]}


def pairs(texts: Iterable[str] | None, flag: str, form: str, *, last: bool = False) -> dict[str, str] | None:
    """The parts of options NAME=VALUE, cut at the first = or at the last; None for none."""
    found = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=") if last else text.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"{text!r} is not {form}", param_hint=flag)
        found[name] = value
    return found or None


def language_and_file(argument: str, hint: str = "FILE") -> tuple[str, str]:
    """The language, which is the part before = or the file name without its suffix, and the file."""
    name, equals, file = argument.partition("=")
    if not argument or (equals and not (name and file)):
        raise click.BadParameter(f"expected NAME=FILE or FILE, not {argument!r}", param_hint=hint)
    return (name, file) if equals else (Path(argument).stem, argument)


def one_file_by_language(arguments: Sequence[str], hint: str = "FILE") -> dict[str, Path]:
    found: dict[str, Path] = {}
    for argument in arguments:
        name, file = language_and_file(argument, hint)
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice; write NAME=FILE", param_hint=hint)
        found[name] = Path(file)
    return found


def named_inputs(asked: Asked, files: Sequence[str] | None) -> Iterator[tuple[str, Any]]:
    """The name of each input and what it is: bytes, `Files`, or the stream of stdin, which is read where nothing is named.

    Raises:
        BadParameter: Both files and a text are given, or a name is empty or `-` for the second time.
    """
    if asked.get("text") is not None:
        if files:
            raise click.BadParameter("give a file or a text, not both", param_hint="--text")
        yield "--text", os.fsencode(asked["text"])
        return
    files = files or [STDIN]
    if "" in files:
        raise click.BadParameter("the name of a file is empty; give a file, or '-' for stdin", param_hint="FILE")
    if files.count(STDIN) > 1:
        raise click.BadParameter("'-' is given twice, but stdin can be read only once", param_hint="FILE")
    for name in files:
        if name == STDIN:
            yield name, stdin_stream()
        else:
            yield name, file_or_bytes(name, asked["field"], raw=asked.get("raw", False))


def inputs(asked: Asked, files: Sequence[str] | None) -> Iterator[tuple[str, Iterable[str | bytes]]]:
    """The name and the documents of each input, read when its turn comes."""
    for name, found in named_inputs(asked, files):
        if isinstance(found, bytes):
            yield name, [found]
        else:
            yield name, [found.read()] if name == STDIN else found.documents()


def corpus_of(asked: Asked, files: Sequence[str] | None, *, again: bool = False) -> list[Any]:
    """The inputs as a corpus.

    Args:
        again: Whether the corpus is read more than once.
    """
    return [found.read() if again and name == STDIN else found for name, found in named_inputs(asked, files)]


def file_or_bytes(name: str, field: str | None, *, raw: bool) -> toksmith.Files | bytes:
    """A file argument as every command reads it: as the library does, but a pipe or a device at once, as bytes."""
    if raw or not ("://" in name or os.path.isfile(name) or os.path.isdir(name)):
        return file_bytes(name)
    if field is None and name.endswith(PLAIN) and os.path.isfile(name):
        with contextlib.suppress(OSError):  # which the library tells better
            return file_bytes(name)
    return file_named(name, field)


def file_named(name: str, field: str | None) -> toksmith.Files:
    """A file argument. The shell has expanded globs, so a name is literal; it does not expand those of URLs.

    Raises:
        OSError: There is no such file.
    """
    if "://" not in name:
        os.stat(name)  # the library would name the escaped name, and advise a glob
    return toksmith.files(name if "://" in name else glob.escape(name), **given(field=field))


def has_rows(name: str) -> bool:
    """Whether a file holds a document in each row, by its name."""
    for packed in PACKED:
        name = name.removesuffix(packed)
    return name.endswith(ROWS)


def one_text(asked: Asked) -> str | bytes:
    """The one text that a command is asked about."""
    file, row = asked["file"], asked["row"]
    if row is not None and row < 0:
        raise click.BadParameter(f"expected at least 0, not {row}", param_hint="--row")
    [(name, documents)] = inputs(asked, None if file == STDIN else [file])
    if asked["text"] is not None or asked["raw"] or not has_rows(name):
        if row is not None:
            raise click.BadParameter("needs a file of rows, such as .jsonl or .parquet", param_hint="--row")
        first, *more = [*islice(documents, 2)] or [b""]
        if more:
            raise toksmith.CorpusError(name, None, "holds several documents; name a file that holds one")
        return first
    found: str | bytes = b""
    wanted, rows = row or 0, 0
    for rows, document in enumerate(documents, 1):
        if rows - 1 == wanted:
            found = document
        if rows > wanted + 1 and row is not None:
            return found
    if rows <= wanted:
        raise toksmith.CorpusError(name, None, f"has {rows:,} rows; row {wanted:,} was asked for, counted from 0")
    if row is None and rows > 1:
        raise toksmith.CorpusError(name, None, f"has {rows:,} rows; choose one with --row N, or its bytes with --raw")
    return found


def file_bytes(name: str) -> bytes:
    """The bytes of a file, of a pipe or of stdin.

    Raises:
        CorpusError: It is a device, which may give bytes without end; a terminal and the empty device may be read.
    """
    if name == STDIN:
        return stdin_stream().read()
    with open(name, "rb") as file:
        endless = stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty() and name != os.devnull
        if endless and not name.startswith(("/dev/std", "/dev/fd/")):
            raise toksmith.CorpusError(name, None, "is a device; give a file, or '-' for stdin")
        return file.read()


def stdin_stream() -> BinaryIO:
    """Where the bytes of stdin are read from; on a terminal, someone is told to type."""
    if sys.stdin is None:  # closed by the caller: <&-
        raise click.BadParameter("stdin is closed; give a file", param_hint="FILE")
    if sys.stdin.isatty():
        tell("reading from the terminal; press Ctrl-D (on Windows Ctrl-Z and Enter) to end the text")
    return sys.stdin.buffer


def ticking(items: Iterable[Any], meter: Meter) -> Iterator[Any]:
    """The items of a corpus, one after another; the meter advances behind each."""
    for each in items:
        yield each
        if isinstance(each, (bytes, toksmith.Files, os.PathLike)):
            meter.advance(len(each) if isinstance(each, bytes) else sum(map(size_of, paths_of(each))))


def total_of(items: Iterable[Any]) -> int | None:
    """The bytes of a corpus; None if nobody knows."""
    found = [None if hasattr(each, "read") else each for each in items]
    if None in found:
        return None
    return sum(len(each) if isinstance(each, bytes) else sum(map(size_of, paths_of(each))) for each in found)


def paths_of(item: Any) -> list[os.PathLike[str]]:
    """The files of this machine that an item of a corpus names."""
    if isinstance(item, toksmith.Files) and any("://" in name for name in item.globs):
        return []
    try:
        return [each for each in ([item] if isinstance(item, os.PathLike) else item.paths()) if os.path.isfile(each)]
    except toksmith.CorpusError:  # the reader of the corpus says so
        return []


def size_of(path: os.PathLike[str]) -> int:
    return os.stat(path).st_size


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
    if as_json:
        print_json({"event": "progress", **dataclasses.asdict(now)}, sys.stderr)
    else:
        tell(str(now))


class Watch:
    """The time that a command takes."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    def elapsed_s(self) -> float:
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
        if not self.done:
            at_work = {"event": "progress", "phase": "working", "done": 0, "total": self.total, "elapsed_s": elapsed}
            return print_json(at_work, sys.stderr) if self.as_json else tell(f"at work for {elapsed:,.0f} s")
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
