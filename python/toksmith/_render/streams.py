"""The ways by which a text of outside reaches a terminal: stdout and stderr escape what a terminal obeys, the log escapes.

Each line is escaped where it is made (`plain`, `one_line`). The net is for what no line of ours made: a warning of a
library, the traceback of a thread, a line that forgot. It lets no colour through. Drawings have theirs, because the
consoles of `terminal` escape what they draw before they colour it, and then write past the net. In the log, no name of a
file and no message of a library reaches a terminal as it is.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from .view import escape_controls, one_line

__all__ = ["LOG", "Terminal", "drawn_stream", "guard_terminals"]


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


def escape_values(record: logging.LogRecord) -> bool:
    """Escapes what a record says of outside; a filter, since every handler, Python's own too, comes after it."""
    if isinstance(record.args, tuple):
        record.args = tuple(each if str(each).isprintable() else one_line(str(each)) for each in record.args)
    return True


LOG = logging.getLogger("toksmith")
LOG.addFilter(escape_values)
