"""Output to a terminal: lines, JSON, drawings, and the log.

Untrusted text, such as a file name, can never move the cursor or hide the text after it: unprintable characters (controls,
escapes, direction marks, line separators) are written as escapes. The code that makes a line escapes it (`plain`, `one_line`).

`Terminal` is the safety net for all other output: a warning of a library, the traceback of a thread, a line that was not
escaped. It lets no colour through. Drawings keep their colours: the consoles of `terminal` escape a text before they colour it,
and bypass the net. The log escapes every file name and every message of a library.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import logging

    LOG: logging.Logger

__all__ = [
    "LOG",
    "Terminal",
    "draw",
    "drawn_stream",
    "escape_controls",
    "guard_terminals",
    "log_lines",
    "one_line",
    "plain",
    "plain_json",
    "print_json",
    "print_lines",
    "reserve_stdout",
    "tell",
]

# Characters that a terminal obeys or displaces: controls but tab and newline, direction marks, line separators, surrogates.
CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str, keep: str = "\n") -> str:
    r"""A text that is not a token, such as a file name, with unprintable characters escaped except those in `keep`.

    >>> plain("a\x1b[31m\nb")
    'a\\x1b[31m\nb'
    """
    if text.isprintable():
        return text
    return "".join(char if char in keep or char.isprintable() else escape(char) for char in text)


def one_line(text: str) -> str:
    r"""As `plain`, on one line: a newline is escaped too.

    >>> one_line("a\u202e\nb")
    'a\\u202e\\nb'
    """
    return plain(text, "")


def escape_controls(text: str) -> str:
    r"""A text for a terminal: only `CONTROLS` are escaped; joiners and other spaces stay.

    >>> escape_controls("a\u200db\x9b2J\tc\n")
    'a\u200db\\x9b2J\tc\n'
    """
    return text if text.isprintable() else CONTROLS.sub(lambda match: escape(match[0]), text)


def escape(char: str) -> str:
    """One character as a Python escape."""
    return char.encode("unicode_escape").decode("ascii")


def plain_json(text: str) -> str:
    r"""The same JSON value, with unprintable characters as JSON escapes.

    >>> plain_json('["\x9b", "☀"]')
    '["\\u009b", "☀"]'
    """
    if text.isprintable():
        return text
    return "".join(char if char == "\n" or char.isprintable() else json.dumps(char)[1:-1] for char in text)


class Terminal:
    """A wrapper of stdout or stderr on a terminal, which writes no controls but newlines and tabs.

    Attributes: `drawn`, the wrapped stream.
    """

    def __init__(self, drawn: TextIO) -> None:
        self.drawn = drawn

    def write(self, text: str) -> int:
        """Writes the text with escapes."""
        self.drawn.write(escape_controls(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes each text with escapes."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.drawn, name)


def guard_terminals() -> None:
    """Wraps stdout and stderr of this process in `Terminal`, each if it is a terminal."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Terminal) and stream.isatty():
            setattr(sys, name, Terminal(stream))


def drawn_stream(stream: Any) -> Any:
    """The stream without its `Terminal`, for the drawings of our consoles."""
    return stream.drawn if isinstance(stream, Terminal) else stream


def print_lines(*lines: str) -> None:
    """Print lines on stdout."""
    for line in lines:
        print(one_line(decode_names(line)))


def tell(message: str) -> None:
    """Print a message on stderr, on one line."""
    print(one_line(f"toksmith: {decode_names(message)}"), file=sys.stderr)


def decode_names(line: str) -> str:
    """The line with file-name bytes that the locale could not decode as characters, if they are UTF-8."""
    try:
        return line.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeError:
        return line


def print_json(value: object, file: TextIO | None = None) -> None:
    """Print a value, or JSON text, as JSON on one line of stdout, or of another file."""
    print(plain_json(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)), file=file)


@contextlib.contextmanager
def reserve_stdout() -> Iterator[TextIO]:
    """Yields stdout for the caller alone: what libraries and child processes print to it meanwhile goes to stderr."""
    own = sys.stdout
    with contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as stack:
        try:
            own.flush()
            number, kept = own.fileno(), os.dup(own.fileno())
            stack.callback(os.close, kept)
            os.dup2(2, number)
        except (OSError, ValueError):  # not a file of this process, or there is no stderr
            yield own
            return
        stack.callback(os.dup2, kept, number)
        stream = open(os.dup(kept), "w", encoding=own.encoding, errors=own.errors, newline=None)  # noqa: SIM115 - closed by the callback
        stack.callback(close_stream, stream)
        yield stream


def close_stream(stream: TextIO) -> None:
    """Closes a stream, whose unwritten rest may be lost, because its writer was told."""
    with contextlib.suppress(OSError):
        stream.close()


def draw(drawn: str) -> None:
    """Print a drawing of one of our consoles, which is escaped and can have colours."""
    drawn_stream(sys.stdout).write(drawn)


def escape_values(record: logging.LogRecord) -> bool:
    """Escapes the arguments of a record; a filter, because it runs before every handler, including Python's own."""
    if isinstance(record.args, tuple):
        record.args = tuple(each if str(each).isprintable() else one_line(str(each)) for each in record.args)
    return True


def __getattr__(name: str) -> Any:
    if name != "LOG":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make_log()


@functools.cache
def make_log() -> logging.Logger:
    """The log of the library, `LOG`, made at first use."""
    import logging  # slow to import

    log = logging.getLogger("toksmith")
    log.addFilter(escape_values)
    return log


@contextlib.contextmanager
def log_lines() -> Iterator[None]:
    """Print also the progress that the library logs, a line a minute; Python's last handler prints warnings anyway."""
    import logging

    loggers: list[Any] = [make_log(), logging.lastResort]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.INFO)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
