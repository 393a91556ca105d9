"""Figures as terminal text: a table in columns, and a chart of bars."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from rich.bar import Bar

from .console import make_console

__all__ = ["bar_lines", "table_lines"]


def table_lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    r"""A table whose columns are as wide as their longest cell, all to the right.

    >>> print(*table_lines(["size", "ids"], [["256", "1,024"], ["512", "800"]]), sep="\n")
    size    ids
     256  1,024
     512    800
    """
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))


def bar_lines(bars: Sequence[tuple[str, float, str]], *, width: int = 40) -> Iterator[str]:
    r"""A bar for each value, all from zero, the longest as wide as there is room.

    Args:
        bars: The name before the bar, the value (at least 0), and the text behind the bar.
        width: Terminal cells of the longest bar.

    >>> print(*bar_lines([("a", 1, "one"), ("bb", 2, "two")], width=4), sep="\n")
     a  ██   one
    bb  ████ two
    """
    names = max((len(name) for name, _, _ in bars), default=0)
    longest = max((value for _, value, _ in bars), default=0) or 1.0
    for name, value, said in bars:
        drawn = io.StringIO()
        bar = Bar(1.0, 0, value / longest, width=width)  # exactly 1 for the longest, so that it is full
        make_console(drawn, width=width, color_system=None, legacy_windows=False).print(bar, end="")
        yield f"{name.rjust(names)}  {drawn.getvalue().rstrip(chr(10)).ljust(width)} {said}"
