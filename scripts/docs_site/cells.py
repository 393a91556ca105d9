"""Cells in pages: figures that a reader changes, which docs/site/assets/cells.js computes again in the page.

A document requests a cell with a comment on separate lines, next to the figure: `<!-- cell: tokens(corpus="low lower", merges=2,
text="lower") -->` has the kind of the figure (a row of `KINDS` in docs/site/assets/figures.js) and its first values. With `exercise:`
a reader types the figure, and the page checks it. In the repository it stays a comment.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from .dialect import escape_text

__all__ = ["Cell", "cells_of", "embed_cell"]

ASKED = re.compile(r"^<!-- (cell|exercise): (.+?) -->$", re.MULTILINE | re.DOTALL)


class Cell(NamedTuple):
    """A cell: the kind of its figure, the values by name, whether the reader types the figure, and where its comment begins."""

    kind: str
    values: dict[str, object]
    is_exercise: bool
    start: int


def cells_of(text: str, place: str) -> Iterator[Cell]:
    """The cells of a document or of a comment.

    Raises:
        SystemExit: A comment is not a call with literal values.
    """
    for match in ASKED.finditer(text):
        try:
            call = ast.parse(match[2].strip(), mode="eval").body
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
                raise ValueError
            values = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
        except (SyntaxError, ValueError):
            expected = 'a kind with values, such as tokens(text="low")'
            raise SystemExit(f"{place}: {match[0]} is not a cell; expected {expected}") from None
        yield Cell(call.func.id, values, match[1] == "exercise", match.start())


def embed_cell(comment: str, place: str) -> str:
    """The replacement of a comment: an element for `cells.js`, or nothing if the comment requests no cell.

    Args:
        comment: The comment.
        place: The path of the page's Markdown on the site.
    """
    for cell in cells_of(comment, place):
        values = escape_text(json.dumps(cell.values)).replace('"', "&quot;")
        exercise = ' data-exercise="1"' if cell.is_exercise else ""
        return f'\n<div class="cell" data-kind="{html.escape(cell.kind)}" data-values="{values}"{exercise}></div>\n\n'
    return ""
