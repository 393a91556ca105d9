"""A terminal view as an SVG picture: every cell of the terminal where the terminal has it.

The lines come from rich, wrapped and with widths by grapheme; each stretch of one style is a `text` of exactly its
cells' width on a `rect` of its background. Nothing is fetched: the viewer's own monospaced font is used.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from html import escape

from rich.cells import cell_len
from rich.color import Color
from rich.console import Group, RenderableType
from rich.segment import Segment
from rich.style import Style

from .console import make_console

__all__ = ["picture"]

CELL, LINE, SIZE, MARGIN = 8.4, 19, 14, 10
INK = "#111111"
READABLE = {"yellow": "#7a6400"}  # colours of terminals that are too light on a white page


def picture(title: str, shown: Iterable[RenderableType], *, width: int) -> str:
    """The SVG document.

    Args:
        width: Terminal cells in a line.
    """
    console = make_console(io.StringIO(), width=width, color_system="truecolor", legacy_windows=False)
    lines = console.render_lines(Group(*shown), pad=False)
    drawn: list[str] = []
    for row, line in enumerate(lines):
        column = 0
        for text, style, _ in Segment.simplify(line):
            cells = cell_len(text)
            drawn += stretch(text, style or Style(), (MARGIN + column * CELL, MARGIN + row * LINE, cells * CELL))
            column += cells
    across, down = round(2 * MARGIN + width * CELL), 2 * MARGIN + len(lines) * LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" width="{across}" height="{down}"'
        f' role="img" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="{SIZE}" fill="{INK}">\n'
        f'<title>{escape(printable(title))}</title>\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def stretch(text: str, style: Style, place: tuple[float, float, float]) -> Iterable[str]:
    """The elements of one stretch: where it begins (x, y), and how wide it is."""
    x, y, wide = place
    if style.bgcolor is not None and wide:
        yield f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{LINE}" fill="{hexed(style.bgcolor)}"/>'
    if text.strip():
        looks = "" if style.color is None else f' fill="{hexed(style.color)}"'
        looks += ' font-weight="bold"' if style.bold else ""
        looks += ' font-style="italic"' if style.italic else ""
        yield (
            f'<text x="{x:.1f}" y="{y + 14}" textLength="{wide:.1f}" xml:space="preserve"{looks}>'
            f"{escape(printable(text))}</text>"
        )


def hexed(color: Color) -> str:
    return READABLE.get(color.name) or color.get_truecolor().hex


def printable(text: str) -> str:
    """`text` without the characters that XML cannot hold."""
    return "".join(char if char >= " " and not "\ud800" <= char <= "\udfff" else "\ufffd" for char in text)
