"""The inputs of commands (tokenizers, texts, corpora) and the display of progress.

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
from typing import TYPE_CHECKING, Any, BinaryIO

import click

import toksmith

from .. import _render
from .._base.paths import utf16_warning
from .._render import print_json, tell
from .arguments import STDIN, Flags, drop_none

if TYPE_CHECKING:
    from pathlib import Path

    from rich.progress import Progress as Bar

ROWS = (".jsonl", ".parquet", ".arrow")
PACKED = (".gz", ".zst")
PLAIN = (".txt", ".md")  # one text each: the corpus readers need no import
EVERY_S = 60
SOON_S = 2.0


def load_tokenizer(flags: Flags) -> toksmith.Tokenizer:
    """The one tokenizer of `-t`, `--pattern` and `--special-token`."""
    if len(flags["tokenizer"]) > 1:
        raise click.BadParameter("is given twice; 'count' and 'compare' take several", param_hint="--tokenizer")
    return toksmith.load(flags["tokenizer"][0], **load_arguments(flags))


def load_tokenizers(flags: Flags) -> dict[str, toksmith.Tokenizer]:
    return {name: toksmith.load(name, **load_arguments(flags)) for name in flags["tokenizer"]}


def load_arguments(flags: Flags) -> dict[str, Any]:
    """The arguments of `load` from `--pattern` and `--special-token`."""
    arguments = pattern_argument(flags["pattern"])
    if flags["special_token"]:
        arguments["special_tokens"] = dict(map(parse_token_and_id, flags["special_token"]))
    return arguments


def parse_token_and_id(text: str) -> tuple[str, int]:
    """The token and id of a `TOKEN=ID` option; the token can hold `=`."""
    token, equals, id = text.rpartition("=")
    if not (equals and id.isascii() and id.isdigit()):
        raise click.BadParameter(f"{text!r} is not TOKEN=ID", param_hint="--special-token")
    return token, int(id)


def pattern_argument(patterns: Sequence[str] | None) -> dict[str, Any]:
    """The `pattern` argument from the --pattern options; empty without them."""
    if not patterns:
        return {}
    if len(patterns) > 1:
        return {"pattern": list(patterns)}
    return {"pattern": None if patterns[0] == "none" else patterns[0]}


def parse_pairs(texts: Iterable[str] | None, flag: str, form: str, *, last: bool = False) -> dict[str, str] | None:
    """The NAME=VALUE options as a dict, cut at the first or last `=`; None without options."""
    values = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=") if last else text.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"{text!r} is not {form}", param_hint=flag)
        values[name] = value
    return values or None


def parse_language_and_file(argument: str, hint: str = "FILE") -> tuple[str, str]:
    """The language and the file of an argument. The language is the part before `=`, or the file's stem."""
    name, equals, file = argument.partition("=")
    if not argument or (equals and not (name and file)):
        raise click.BadParameter(f"expected NAME=FILE or FILE, not {argument!r}", param_hint=hint)
    return (name, file) if equals else (os.path.splitext(os.path.basename(argument))[0], argument)


def files_by_language(arguments: Sequence[str], hint: str = "FILE") -> dict[str, Path]:
    from pathlib import Path  # slow to import

    files: dict[str, Path] = {}
    for argument in arguments:
        name, file = parse_language_and_file(argument, hint)
        if name in files:
            raise click.BadParameter(f"{name!r} is given twice; write NAME=FILE", param_hint=hint)
        files[name] = Path(file)
    return files


def iter_sources(flags: Flags, files: Sequence[str] | None) -> Iterator[tuple[str, Any]]:
    """The name and source of each input: bytes, `Files`, or the stdin stream, which is the default input.

    Raises:
        BadParameter: Both files and a text are given, a name is empty, or `-` is repeated.
    """
    if flags.get("text") is not None:
        if files:
            raise click.BadParameter("give a file or a text, not both", param_hint="--text")
        yield "--text", os.fsencode(flags["text"])
        return
    files = files or [STDIN]
    if "" in files:
        raise click.BadParameter("the name of a file is empty; give a file, or '-' for stdin", param_hint="FILE")
    if files.count(STDIN) > 1:
        raise click.BadParameter("'-' is given twice, but stdin can be read only once", param_hint="FILE")
    for name in files:
        if name == STDIN:
            yield name, stdin_stream()
        elif "text" in flags and " " in name and not (os.path.exists(name) or glob.glob(name)):
            raise click.BadParameter(f"there is no file {name!r:.200}; for a text, write --text", param_hint="FILE")
        else:
            yield name, file_or_bytes(name, flags["field"], raw=flags.get("raw", False))


def iter_inputs(flags: Flags, files: Sequence[str] | None) -> Iterator[tuple[str, Iterable[str | bytes]]]:
    """The name and the documents of each input; an input is read when it is reached."""
    for name, source in iter_sources(flags, files):
        if isinstance(source, bytes):
            yield name, [source]
        else:
            yield name, [source.read()] if name == STDIN else source.documents()


def corpus_of(flags: Flags, files: Sequence[str] | None, *, again: bool = False) -> list[Any]:
    """The inputs as a corpus.

    Args:
        again: Whether the corpus is read more than once.
    """
    return [source.read() if again and name == STDIN else source for name, source in iter_sources(flags, files)]


def file_or_bytes(name: str, field: str | None, *, raw: bool) -> toksmith.types.Files | bytes:
    """A file argument, or a glob that the shell did not expand: as the library reads it, but pipes and devices at once."""
    is_glob = "://" in name or (glob.has_magic(name) and not os.path.lexists(name))
    if raw or not (is_glob or os.path.isfile(name) or os.path.isdir(name)):
        return read_file_bytes(name)
    if field is None and name.endswith(PLAIN) and os.path.isfile(name):
        with contextlib.suppress(OSError):  # the library's message is better
            return read_file_bytes(name)
    return toksmith.files(name, **drop_none(field=field))


def has_rows(name: str) -> bool:
    """Whether the name is that of a file with a document in each row."""
    for packed in PACKED:
        name = name.removesuffix(packed)
    return name.endswith(ROWS)


def read_one_text(flags: Flags) -> str | bytes:
    """The one text that a command explains."""
    file, row = flags["file"], flags["row"]
    if row is not None and row < 0:
        raise click.BadParameter(f"expected at least 0, not {row}", param_hint="--row")
    [(name, documents)] = iter_inputs(flags, None if file == STDIN else [file])
    if flags["text"] is not None or flags["raw"] or not has_rows(name):
        if row is not None:
            raise click.BadParameter("needs a file of rows, such as .jsonl or .parquet", param_hint="--row")
        first, *more = [*islice(documents, 2)] or [b""]
        if more:
            raise toksmith.errors.CorpusError(name, None, "holds several documents; name a file that holds one")
        return first
    content: str | bytes = b""
    target, rows = row or 0, 0
    for rows, document in enumerate(documents, 1):
        if rows - 1 == target:
            content = document
        if rows > target + 1 and row is not None:
            return content
    if rows <= target:
        raise toksmith.errors.CorpusError(
            name, None, f"has {rows:,} rows; row {target:,}, counted from 0, does not exist"
        )
    if row is None and rows > 1:
        raise toksmith.errors.CorpusError(
            name, None, f"has {rows:,} rows; choose one with --row N, or its bytes with --raw"
        )
    return content


def read_file_bytes(name: str) -> bytes:
    """The bytes of a file, a pipe or stdin.

    Raises:
        CorpusError: The file is a device, which can be endless; a terminal and the null device are allowed.
    """
    if name == STDIN:
        return stdin_stream().read()
    with open(name, "rb") as file:
        endless = stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty() and name != os.devnull
        if endless and not name.startswith(("/dev/std", "/dev/fd/")):
            raise toksmith.errors.CorpusError(name, None, "is a device; give a file, or '-' for stdin")
        data = file.read()
    if warning := utf16_warning(name, data):
        tell(f"warning: {warning}")
    return data


def stdin_stream() -> BinaryIO:
    """The byte stream of stdin; on a terminal, a message asks the user to type."""
    if sys.stdin is None:  # closed by the caller: <&-
        raise click.BadParameter("stdin is closed; give a file", param_hint="FILE")
    if sys.stdin.isatty():
        tell("reading from the terminal; press Ctrl-D (on Windows Ctrl-Z and Enter) to end the text")
    return sys.stdin.buffer


def advance_meter(items: Iterable[Any], meter: Meter) -> Iterator[Any]:
    """Yield the items of a corpus; advance the meter after each."""
    for item in items:
        yield item
        if isinstance(item, (bytes, toksmith.types.Files, os.PathLike)):
            meter.advance(len(item) if isinstance(item, bytes) else sum(map(size_of, local_paths(item))))


def total_bytes(items: Iterable[Any]) -> int | None:
    """The bytes of a corpus; None if unknown."""
    sources = [None if hasattr(source, "read") else source for source in items]
    if None in sources:
        return None
    return sum(
        len(source) if isinstance(source, bytes) else sum(map(size_of, local_paths(source))) for source in sources
    )


def local_paths(item: Any) -> list[os.PathLike[str]]:
    """The local files of an item of a corpus."""
    if isinstance(item, toksmith.types.Files) and any("://" in name for name in item.globs):
        return []
    try:
        return [path for path in ([item] if isinstance(item, os.PathLike) else item.paths()) if os.path.isfile(path)]
    except toksmith.errors.CorpusError:  # the corpus reader reports it
        return []


def size_of(path: os.PathLike[str]) -> int:
    return os.stat(path).st_size


def progress_argument(flags: Flags) -> dict[str, Any]:
    """The `progress` argument of a library call: the library's bar on a terminal, else a line a minute on stderr."""
    as_json = flags["as_json"]
    if flags["quiet"]:
        return {"progress": False}
    if sys.stderr.isatty() and not as_json:
        return {}
    printed_s = 0.0

    def say(now: toksmith.types.Progress) -> None:
        nonlocal printed_s
        if now.elapsed_s - printed_s >= EVERY_S:
            printed_s = now.elapsed_s
            print_progress(now, as_json=as_json)

    return {"progress": say}


def print_progress(now: toksmith.types.Progress, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "progress", **dataclasses.asdict(now)}, sys.stderr)
    else:
        tell(str(now))


class Watch:
    """The time since a command started."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    def elapsed_s(self) -> float:
        return time.perf_counter() - self.start

    def format_time(self, done: int, unit: str) -> str:
        """The time and speed as text, if it took over two seconds; else empty."""
        seconds = self.elapsed_s()
        if seconds < SOON_S:
            return ""
        rate = done / seconds
        return f" in {seconds:,.1f} s" + (f" ({format_speed(rate, unit)})" if rate >= 1 else "")


def format_speed(rate: float, unit: str) -> str:
    """A rate as text: bytes in MB/s (kB/s below 100 kB/s), other units and few bytes in plain numbers."""
    if unit == "bytes" and rate >= 100:
        return f"{rate / 1e6:,.1f} MB/s" if rate >= 1e5 else f"{rate / 1e3:,.1f} kB/s"
    return f"{rate:,.0f} {unit} a second"


@contextlib.contextmanager
def show_progress(
    flags: Flags, size: int | None = None, unit: str = "bytes", *, total: int | None = None
) -> Iterator[Meter]:
    """Show progress while the body runs, even before its first part is done; print size and speed at the end.

    Args:
        flags: The options of the command, with --json and --quiet.
        size: Size of the work for the last line; None for the meter's count.
        unit: The unit of `size`.
        total: The bytes of the files to read; None if there are none, or their size is unknown.
    """
    meter = Meter(total, as_json=flags["as_json"], quiet=flags["quiet"])
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
    meter.print_summary(meter.done if size is None or meter.done else size, "bytes" if meter.done else unit)


class Meter:
    """Progress of a command's own work, in bytes; shown after two seconds."""

    def __init__(self, total: int | None, *, as_json: bool, quiet: bool) -> None:
        self.watch = Watch()
        self.total, self.done, self.printed_s = total, 0, 0.0
        self.as_json, self.quiet = as_json, quiet
        self.bar: Bar | None = None
        self.looking = threading.Lock()

    def advance(self, size: int) -> None:
        """Add to the bytes that are done."""
        self.done += size
        self.look()

    def look(self) -> None:
        """Show progress if it is time."""
        with self.looking:
            elapsed = self.watch.elapsed_s()
            if self.quiet or elapsed < SOON_S:
                return
            if sys.stderr.isatty() and not self.as_json:
                self.draw()
            elif elapsed - self.printed_s >= EVERY_S:
                self.printed_s = elapsed
                self.say(elapsed)

    def say(self, elapsed: float) -> None:
        if not self.done:
            at_work = {"event": "progress", "phase": "working", "done": 0, "total": self.total, "elapsed_s": elapsed}
            return print_json(at_work, sys.stderr) if self.as_json else tell(f"at work for {elapsed:,.0f} s")
        print_progress(
            toksmith.types.Progress("counting", self.done, self.total, elapsed, elapsed), as_json=self.as_json
        )

    def draw(self) -> None:
        """Draw the bar; without a known size it pulses."""
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
        """Remove the bar."""
        if self.bar is not None:
            self.bar.stop()

    def print_summary(self, size: int, unit: str) -> None:
        """Print size and speed if the work took over two seconds."""
        if self.quiet or self.as_json or not (took := self.watch.format_time(size, unit)):
            return
        tell(f"{size:,} {unit}{took}" if size else f"done{took.partition(' (')[0]}")
