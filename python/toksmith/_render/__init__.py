"""Drawing: plain view data in, pictures and text out. Nothing here knows a tokenizer or a model.

`_view` decides what a token looks like (marks, escapes, the place of a cut character). `_blocks` defines the parts of a
result. `_terminal`, `_html` and `_svg` draw them, each for its medium; a new medium is a new file. `_page` puts several
results on one HTML page, `_linked` draws the tokens of a page with a script, and `_report` puts charts on one. `_streams`
and `_console` are the way to a terminal. `_shown` is
the base class of all results. `_chart` draws figures as text, `_plot` as pictures, and `_areas` places a treemap. Commands take
`number_of` from here, because they import nothing else of ours.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .._errors import number_of

if TYPE_CHECKING:
    from ._areas import Placed, placed
    from ._blocks import Area, Areas, Bars, Block, Branch, Cell, Line, Table, TokenText, Tone, View
    from ._chart import bar_lines, table_lines
    from ._console import make_console, make_progress
    from ._html import page_of
    from ._linked import linked_tokens
    from ._page import page
    from ._plot import Charted, Plot, to_chart
    from ._report import Curves, report
    from ._shown import Shown, called, check_writable, notebook, save_text
    from ._streams import drawn_stream, guard_terminals
    from ._terminal import draw_tokens, merge_lines, summary
    from ._view import (
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
    "_areas": ("Placed", "placed"),
    "_blocks": ("Area", "Areas", "Bars", "Block", "Branch", "Cell", "Line", "Table", "TokenText", "Tone", "View"),
    "_chart": ("bar_lines", "table_lines"),
    "_console": ("make_console", "make_progress"),
    "_html": ("page_of",),
    "_linked": ("linked_tokens",),
    "_page": ("page",),
    "_plot": ("Charted", "Plot", "to_chart"),
    "_report": ("Curves", "report"),
    "_shown": ("Shown", "called", "check_writable", "notebook", "save_text"),
    "_streams": ("drawn_stream", "guard_terminals"),
    "_terminal": ("draw_tokens", "merge_lines", "summary"),
    "_view": (
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
