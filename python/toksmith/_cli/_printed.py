"""What a command prints: words of others, such as the name of a file, never move the cursor or hide what follows.

The rules: a character that does not print (controls, escapes, marks of direction, separators of lines) is written as an
escape; JSON says the same with its own escapes. Everything that a command prints passes here, but for drawings, whose
parts `_render` made plain, and the bytes that `decode` writes.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

from typer.core import TyperGroup

from .. import _render

__all__ = ["PlainGroup", "plain_log", "print_json", "print_lines", "tell"]


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


def print_json(value: object) -> None:
    """Print a value as JSON text, on one line."""
    print(_render.plain_json(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))


class PlainFormatter(logging.Formatter):
    """What the library warns of, on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The message alone, as Python writes warnings that nobody asked for."""
        return _render.one_line(record.getMessage())


def plain_log() -> None:
    """Let the warnings of the library be printed like everything else."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(PlainFormatter())
    logging.getLogger("toksmith").addHandler(handler)


class PlainGroup(TyperGroup):
    """The commands together; what is wrong with how they are called quotes the arguments."""

    def make_context(self, *given: Any, **named: Any) -> Any:
        """As typer does it."""
        with plain_messages():
            return super().make_context(*given, **named)

    def invoke(self, *given: Any, **named: Any) -> Any:
        """As typer does it."""
        with plain_messages():
            return super().invoke(*given, **named)


@contextlib.contextmanager
def plain_messages() -> Iterator[None]:
    """Make the message of an error of usage plain."""
    try:
        yield
    except Exception as error:
        if isinstance(said := getattr(error, "message", None), str) and hasattr(error, "format_message"):
            error.message = _render.plain(said)  # type: ignore[attr-defined]
        raise


def tell(message: str) -> None:
    """Say something on stderr, on one line."""
    print(_render.one_line(f"toksmith: {message}"), file=sys.stderr)
