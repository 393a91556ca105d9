"""Output of commands: a result is drawn in the terminal, printed as JSON, or written as a page or picture.

All output of commands goes through `_render.streams`, except the bytes that `decode` writes.
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
from .inputs import show_progress

if TYPE_CHECKING:
    from rich.console import RenderableType

    from .._render import Shown
    from .arguments import Flags


def print_result(
    result: Callable[[], Shown], flags: Flags, size: int | None = None, unit: str = "bytes", *, total: int | None = None
) -> None:
    """Make a result with progress on stderr, and print it in the requested form.

    Args:
        size, unit, total: As in `show_progress`.
    """
    with show_progress(flags, size, unit, total=total):
        show = prepare_result(result(), flags)
    show()


def prepare_result(result: Shown, flags: Flags) -> Callable[[], None]:
    """Draw a result in the requested form, and return the function that prints it, which takes no time."""
    html, svg, as_json = flags.get("html"), flags.get("svg"), flags["as_json"]
    check_suffix(html, ("html", "htm"), "--html")
    check_suffix(svg, ("svg",), "--svg")
    files = []
    for path, save in ((html, result.save_html), (svg, result.save_svg)):
        if path is not None:
            save(path)
            files.append(path)
    value = result.to_json() if as_json else None
    picture = "" if as_json or files else "".join(render_parts([result]))

    def show() -> None:
        print_lines(*files)
        if value is not None:
            print_json(value)
        draw(picture)

    return show


def check_suffix(path: str | None, suffixes: Sequence[str], flag: str) -> None:
    """Refuse the name of another kind of file, such as .png, which would not match the content."""
    suffix = "" if path is None else os.path.splitext(path)[1]
    if suffix and suffix[1:].lower() not in suffixes:
        raise click.BadParameter(f"expected a name that ends in .{suffixes[0]}, not {path!r}", param_hint=flag)


def print_renderables(drawn: Iterable[RenderableType]) -> None:
    """Print rich output: coloured and as wide as the terminal there, plain and 80 cells wide elsewhere."""
    for text in render_parts(drawn):
        draw(text)


def render_parts(drawn: Iterable[RenderableType]) -> Iterator[str]:
    """Render rich output as strings. Rich does not write them: its exit code for a closed pipe differs."""
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


def merge_views(tok: toksmith.Tokenizer) -> list[_render.MergeView]:
    """The merges of a tokenizer with a training record."""
    record = tok.model.training
    assert record is not None, "train() leaves a record, and save() keeps it"
    return _render.merge_views(tok.model.merges.tolist(), record.counts.tolist(), record.left.tolist(), tok.token_bytes)
