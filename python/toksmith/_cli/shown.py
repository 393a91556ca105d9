"""How a command shows a result: drawn in the terminal, as JSON, or written as a page or a picture."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from .. import _render
from . import params as cli
from .printed import draw, print_json, print_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

    from .._render import Shown

__all__ = ["Html", "Svg", "prepared", "print_drawn", "print_shown"]

Html = Annotated[
    cli.FileName | None, cli.Option(help="Write a self-contained page and print its name.", default="print the result")
]
Svg = Annotated[
    cli.FileName | None, cli.Option(help="Write an SVG picture and print its name.", default="print the result")
]


def print_shown(result: Shown, *, as_json: bool, html: str | None = None, svg: str | None = None) -> None:
    """Show one result in the way that was asked for; both files are written where both are named."""
    prepared(result, as_json=as_json, html=html, svg=svg)()


def prepared(result: Shown, *, as_json: bool, html: str | None = None, svg: str | None = None) -> Callable[[], None]:
    """A result, drawn in the way that was asked for; the call of what this returns prints it, which takes no time."""
    refuse_other(html, ("html", "htm"), "--html")
    refuse_other(svg, ("svg",), "--svg")
    written = []
    for path, save in ((html, result.save_html), (svg, result.save_svg)):
        if path is not None:
            save(path)
            written.append(path)
    value = result.to_json() if as_json else None
    drawn = "" if as_json or written else "".join(drawings(result))

    def show() -> None:
        print_lines(*written)
        if value is not None:
            print_json(value)
        draw(drawn)

    return show


def refuse_other(path: str | None, suffixes: Sequence[str], flag: str) -> None:
    """Refuse the name of another kind of file, such as .png: its content would be none."""
    suffix = "" if path is None else os.path.splitext(path)[1]
    if suffix and suffix[1:].lower() not in suffixes:
        raise cli.BadParameter(f"expected a name that ends in .{suffixes[0]}, not {path!r}", param_hint=flag)


def print_drawn(*drawn: RenderableType) -> None:
    """Print what rich draws: coloured and as wide as the terminal is, plain and 80 cells wide elsewhere."""
    for text in drawings(*drawn):
        draw(text)


def drawings(*drawn: RenderableType) -> Iterator[str]:
    """What rich draws, a part after another. Not written by rich, which has an exit code of its own for a reader that
    leaves."""
    out = io.StringIO()
    terminal = sys.stdout.isatty()
    console = _render.make_console(out, force_terminal=terminal or None)
    if not terminal:
        console.width = 80
    for part in drawn:
        console.print(part)
        text = out.getvalue()
        yield text if terminal else "\n".join(line.rstrip() for line in text.split("\n"))
        out.seek(0)
        out.truncate()
