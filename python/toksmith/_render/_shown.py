"""The methods that every result has, as functions: a class takes them by assignment, and gives `view` and `to_dict`.

    class Report:
        def view(self) -> View: ...
        def to_dict(self) -> dict[str, Any]: ...
        __str__, __rich__, _repr_html_ = to_text, to_rich, to_notebook
        to_json, to_html, to_svg = to_json, to_html, to_svg

The rule: one result says the same in every medium. `repr` stays one line; print it, or end a notebook cell with it.
"""

from __future__ import annotations

import io
import json
from typing import Any, Protocol

from rich.console import Console, Group

from ._blocks import View
from ._html import document, fragment
from ._svg import picture
from ._terminal import renderables

__all__ = ["Shown", "to_html", "to_json", "to_notebook", "to_rich", "to_svg", "to_text"]

WIDTH = 100  # of `print(result)`, whatever the terminal is, so that documents show what everyone sees
NOTEBOOK_ITEMS, NOTEBOOK_CHARS = 2000, 200_000
SVG_ITEMS = 2000


class Shown(Protocol):
    """What a result gives for all the rest."""

    def view(self) -> View:
        """What is to be seen, as plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Everything that the result holds, as JSON values; bytes are hex."""


def to_text(result: Shown) -> str:
    """The result as plain text without colour, 100 cells wide: what `print` shows."""
    out = io.StringIO()
    console = Console(file=out, width=WIDTH, color_system=None, highlight=False, legacy_windows=False)
    console.print(to_rich(result))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def to_rich(result: Shown) -> Group:
    """The result for a rich console: as wide as the console is, and as coloured as the terminal can."""
    return Group(*renderables(result.view()))


def to_notebook(result: Shown) -> str:
    """The result as HTML for a notebook: inline styles only, no script, at most 200,000 characters.

    What does not fit is left out, and the view says how much.
    """
    view, items = result.view(), NOTEBOOK_ITEMS
    while len(html := fragment(view, items=items, chars=4 * items)) > NOTEBOOK_CHARS and items > 1:
        items //= 2
    return html


def to_html(result: Shown) -> str:
    """The result as one HTML page that needs nothing else, whole whatever its size."""
    return document(result.view())


def to_svg(result: Shown) -> str:
    """The result as an SVG picture of its terminal view, in colour; a long one stops and says so."""
    view = result.view()
    return picture(view.title, renderables(view, items=SVG_ITEMS), width=WIDTH)


def to_json(result: Shown) -> str:
    """`to_dict()` as JSON text."""
    return json.dumps(result.to_dict(), ensure_ascii=False)
