"""The ways by which a text of outside reaches a terminal: lines, JSON, drawings, and the log.

Foreign text, such as a file name, can never move the cursor or hide what follows: unprintable characters (controls, escapes,
direction marks, line separators) are written as escapes. Each line is escaped where it is made (`plain`, `one_line`).

The net below, `Terminal`, is for what no line of ours made: a warning of a library, the traceback of a thread, a line that
forgot. It lets no colour through. Drawings have theirs, because the consoles of `terminal` escape what they draw before they
colour it, and then write past the net. In the log, no name of a file and no message of a library reaches a terminal as it is.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

__all__ = [
    "LOG",
    "Terminal",
    "draw",
    "drawn_stream",
    "escape_controls",
    "guard_terminals",
    "log_lines",
    "log_warnings",
    "one_line",
    "plain",
    "plain_json",
    "print_json",
    "print_lines",
    "tell",
]

# What a terminal obeys, or what it shows elsewhere: controls but tab and newline, direction marks, line separators, surrogates.
CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str, kept: str = "\n") -> str:
    r"""Text that is not a token, such as a file name: unprintable characters are escaped, except those of `kept`.

    >>> plain("a\x1b[31m\nb")
    'a\\x1b[31m\nb'
    """
    if text.isprintable():
        return text
    return "".join(char if char in kept or char.isprintable() else escape(char) for char in text)


def one_line(text: str) -> str:
    r"""The same on one line: a newline is escaped too.

    >>> one_line("a\u202e\nb")
    'a\\u202e\\nb'
    """
    return plain(text, "")


def escape_controls(text: str) -> str:
    r"""A text to be read on a terminal: only what a terminal obeys is escaped. Joiners and other spaces stay.

    >>> escape_controls("a\u200db\x9b2J\tc\n")
    'a\u200db\\x9b2J\tc\n'
    """
    return text if text.isprintable() else CONTROLS.sub(lambda found: escape(found[0]), text)


def escape(char: str) -> str:
    """One character as an escape of Python."""
    return char.encode("unicode_escape").decode("ascii")


def plain_json(text: str) -> str:
    r"""JSON whose strings hold nothing that does not print; what it says is the same.

    >>> plain_json('["\x9b", "☀"]')
    '["\\u009b", "☀"]'
    """
    if text.isprintable():
        return text
    return "".join(char if char == "\n" or char.isprintable() else json.dumps(char)[1:-1] for char in text)


class Terminal:
    """stdout or stderr, where it is a terminal: newlines and tabs are the only controls that it writes.

    Attributes: `drawn`, the stream itself.
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
    """Puts the net under this process: under stdout and stderr, each where it is a terminal."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Terminal) and stream.isatty():
            setattr(sys, name, Terminal(stream))


def drawn_stream(stream: Any) -> Any:
    """The stream past the net, for what a console of ours has drawn."""
    return stream.drawn if isinstance(stream, Terminal) else stream


def print_lines(*lines: str) -> None:
    """Print lines on stdout."""
    for line in lines:
        print(one_line(named(line)))


def tell(message: str) -> None:
    """Print a message on stderr, on one line."""
    print(one_line(f"toksmith: {named(message)}"), file=sys.stderr)


def named(line: str) -> str:
    """The line where bytes of names that the locale could not read are characters, if they are UTF-8."""
    try:
        return line.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeError:
        return line


def print_json(value: object, file: TextIO | None = None) -> None:
    """Print a value, or JSON text, as JSON on one line of stdout, or of another file."""
    print(plain_json(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)), file=file)


def draw(drawn: str) -> None:
    """Print what a console of ours has drawn, which is escaped and may have colours."""
    drawn_stream(sys.stdout).write(drawn)


def escape_values(record: logging.LogRecord) -> bool:
    """Escapes what a record says of outside; a filter, since every handler, Python's own too, comes after it."""
    if isinstance(record.args, tuple):
        record.args = tuple(each if str(each).isprintable() else one_line(str(each)) for each in record.args)
    return True


LOG = logging.getLogger("toksmith")
LOG.addFilter(escape_values)


def log_warnings() -> None:
    """Print the warnings of the library as lines on stderr."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    LOG.addHandler(handler)


@contextlib.contextmanager
def log_lines() -> Iterator[None]:
    """Print also what the library logs about its progress, a line a minute."""
    loggers: list[Any] = [LOG, *LOG.handlers]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.INFO)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
