"""What commands print: a result is drawn in the terminal, printed as JSON, or written as a page or a picture.

`_render.streams` has the lines. Everything that a command prints passes there, except what `decode` writes.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

import toksmith

from .. import _render
from .._render import draw, print_json, print_lines
from .inputs import working

if TYPE_CHECKING:
    from rich.console import RenderableType

    from .._render import Shown
    from .arguments import Asked

__all__ = ["merge_views", "prepared", "print_drawn", "print_shown", "refuse_other", "token_json"]


def print_shown(
    result: Callable[[], Shown], asked: Asked, size: int | None = None, unit: str = "bytes", *, total: int | None = None
) -> None:
    """Make one result, say that this goes on, and print it in the way that was asked for.

    Args:
        size: What the work is about, as of `working`, and so is `unit` and `total`.
    """
    with working(asked, size, unit, total=total):
        show = prepared(result(), asked)
    show()


def prepared(result: Shown, asked: Asked) -> Callable[[], None]:
    """A result, drawn in the way that was asked for; the call of what this returns prints it, which takes no time."""
    html, svg, as_json = asked.get("html"), asked.get("svg"), asked["as_json"]
    refuse_other(html, ("html", "htm"), "--html")
    refuse_other(svg, ("svg",), "--svg")
    written = []
    for path, save in ((html, result.save_html), (svg, result.save_svg)):
        if path is not None:
            save(path)
            written.append(path)
    value = result.to_json() if as_json else None
    drawn = "" if as_json or written else "".join(drawings([result]))

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
        raise click.BadParameter(f"expected a name that ends in .{suffixes[0]}, not {path!r}", param_hint=flag)


def print_drawn(drawn: Iterable[RenderableType], *, whole_lines: bool = False) -> None:
    """Print what rich draws: coloured and as wide as the terminal is, plain and 80 cells wide elsewhere.

    Args:
        whole_lines: Whether no line is folded.
    """
    for text in drawings(drawn, whole_lines=whole_lines):
        draw(text)


def drawings(drawn: Iterable[RenderableType], *, whole_lines: bool = False) -> Iterator[str]:
    """What rich draws, a part after another. Not written by rich, which has an exit code of its own for a reader that
    leaves."""
    out = io.StringIO()
    terminal = sys.stdout.isatty()
    console = _render.make_console(out, force_terminal=terminal or None)
    if not terminal:
        console.width = 80
    for part in drawn:
        console.print(part, soft_wrap=whole_lines)
        text = out.getvalue()
        yield text if terminal else "\n".join(line.rstrip() for line in text.split("\n"))
        out.seek(0)
        out.truncate()


def token_json(token: bytes) -> dict[str, str]:
    """Bytes as JSON values: `text` to read, `hex` exact."""
    return {"text": token.decode("utf-8", "replace"), "hex": token.hex()}


def merge_views(tok: toksmith.Tokenizer) -> list[_render.MergeView]:
    """The merges of a tokenizer that has the record of its training."""
    record = tok.model.training
    assert record is not None, "train() leaves a record, and save() keeps it"
    return _render.merge_views(tok.model.merges.tolist(), record.counts.tolist(), record.left.tolist(), tok.token_bytes)
