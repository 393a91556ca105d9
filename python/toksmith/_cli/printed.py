"""How commands print: foreign text, such as a file name, can never move the cursor or hide what follows.

Unprintable characters (controls, escapes, direction marks, line separators) are written as escapes, in JSON with its own
escapes. Everything that a command prints passes here, except what `decode` writes. Under all of it is the net of
`_render`, which `main` puts under a terminal.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from collections.abc import Iterator

from .. import _render

__all__ = ["draw", "json_line", "log_lines", "plain_log", "print_json", "print_lines", "tell"]


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
