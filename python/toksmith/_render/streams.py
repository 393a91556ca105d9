"""The net under everything that a program prints: on a terminal, stdout and stderr escape what a terminal obeys.

Each line is escaped where it is made (`plain`, `one_line`). The net is for what no line of ours made: a warning of a
library, the traceback of a thread, a line that forgot. It lets no colour through. Drawings have theirs, because the
consoles of `console` escape what they draw before they colour it, and then write past the net.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO

from .view import escape_controls

__all__ = ["Terminal", "drawn_stream", "guard_terminals"]


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
