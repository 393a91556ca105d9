"""Our consoles of rich: what they draw is escaped before it is coloured, so a text cannot spell a colour.

Every console and every bar of toksmith is made here (`tests/cli/test_terminal.py` looks).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import Progress, ProgressColumn
from rich.segment import Segment

from .streams import Terminal, drawn_stream
from .view import plain

__all__ = ["make_console", "make_progress"]


class PlainConsole(Console):
    """A console that escapes every text; rich's own controls, which move the cursor to a bar, stay."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich, escaped."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text=plain(segment.text))


def make_console(file: IO[str], **options: Any) -> Console:
    """A console that writes to a file; on stdout and stderr past the net of `streams`."""
    return PlainConsole(file=drawn_stream(file), highlight=False, **options)


def make_progress(*columns: ProgressColumn, **options: Any) -> Progress:
    """Bars on stderr. What others print meanwhile is put above them, but where the net is, which rich's own would replace."""
    options.setdefault("console", make_console(sys.stderr))
    options["redirect_stdout"] = options["redirect_stderr"] = not isinstance(sys.stderr, Terminal)
    return Progress(*columns, **options)
