"""Drawing: plain view data in, pictures and text out. Nothing here knows a tokenizer or a model.

`view` decides what a token looks like (marks, escapes, the place of a cut character). `blocks` defines the parts of a
result. `terminal`, `html` and `svg` draw them, each for its medium; a new medium is a new file. `page` puts several
results on one HTML page, `linked` draws the tokens of a page with a script, and `report` puts charts on one. `streams`
and `console` are the way to a terminal. `shown` is
the base class of all results. `chart` draws figures as text, `plot` as pictures, and `areas` places a treemap. Commands take
`number_of` from here, because they import nothing else of ours.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .._base.errors import number_of

if TYPE_CHECKING:
    from .areas import Placed, placed
    from .blocks import Area, Areas, Bars, Block, Branch, Cell, Line, Table, TokenText, Tone, View
    from .chart import bar_lines, table_lines
    from .console import make_console, make_progress
    from .html import page_of
    from .html_page import page
    from .html_report import Curves, report
    from .linked import linked_tokens
    from .plot import Charted, Plot, to_chart
    from .shown import Shown, called, check_writable, notebook, save_text
    from .streams import drawn_stream, guard_terminals
    from .terminal import draw_tokens, merge_lines, summary
    from .view import (
        DrawnPart,
        MergeView,
        TokenRun,
        TokenView,
        clusters,
        escape_controls,
        is_whole,
        merge_views,
        one_line,
        plain,
        plain_json,
        token_parts,
        token_text,
        token_views,
    )

__all__ = [
    "Area",
    "Areas",
    "Bars",
    "Block",
    "Branch",
    "Cell",
    "Charted",
    "Curves",
    "DrawnPart",
    "Line",
    "MergeView",
    "Placed",
    "Plot",
    "Shown",
    "Table",
    "TokenRun",
    "TokenText",
    "TokenView",
    "Tone",
    "View",
    "bar_lines",
    "called",
    "check_writable",
    "clusters",
    "draw_tokens",
    "drawn_stream",
    "escape_controls",
    "guard_terminals",
    "is_whole",
    "linked_tokens",
    "make_console",
    "make_progress",
    "merge_lines",
    "merge_views",
    "notebook",
    "number_of",
    "one_line",
    "page",
    "page_of",
    "placed",
    "plain",
    "plain_json",
    "report",
    "save_text",
    "summary",
    "table_lines",
    "to_chart",
    "token_parts",
    "token_text",
    "token_views",
]

# By module, its names. A module is imported when one of them is first asked for: some import rich, which is slow.
_HOMES = {
    "areas": ("Placed", "placed"),
    "blocks": ("Area", "Areas", "Bars", "Block", "Branch", "Cell", "Line", "Table", "TokenText", "Tone", "View"),
    "chart": ("bar_lines", "table_lines"),
    "console": ("make_console", "make_progress"),
    "html": ("page_of",),
    "linked": ("linked_tokens",),
    "html_page": ("page",),
    "plot": ("Charted", "Plot", "to_chart"),
    "html_report": ("Curves", "report"),
    "shown": ("Shown", "called", "check_writable", "notebook", "save_text"),
    "streams": ("drawn_stream", "guard_terminals"),
    "terminal": ("draw_tokens", "merge_lines", "summary"),
    "view": (
        "DrawnPart",
        "MergeView",
        "TokenRun",
        "TokenView",
        "clusters",
        "escape_controls",
        "is_whole",
        "merge_views",
        "one_line",
        "plain",
        "plain_json",
        "token_parts",
        "token_text",
        "token_views",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    return found
