"""Drawing: plain view data in, pictures and text out. Nothing here knows a tokenizer or a model.

`view` decides what a token looks like (marks, escapes, the place of a cut character, colours). `blocks` defines the parts
of a result. `terminal` draws them as text and as a picture of it, `html` for notebooks, and `pages` on pages; a new medium
is a new file. `streams` is the way to a terminal and the log. `shown` is the base class of all results. `plot` draws
figures as pictures, and `areas` places a treemap. Commands take `number_of` from here, because they import nothing else of
ours.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .._base.errors import number_of
from .streams import (
    draw,
    drawn_stream,
    escape_controls,
    guard_terminals,
    log_lines,
    log_warnings,
    one_line,
    plain,
    plain_json,
    print_json,
    print_lines,
    tell,
)

if TYPE_CHECKING:
    from .areas import Placed, placed
    from .blocks import Area, Areas, Bars, Block, Branch, Cell, Line, Table, TokenText, Tone, View
    from .pages import Curves, linked_tokens, page, page_of, report
    from .plot import Charted, Plot, to_chart
    from .shown import Shown, called, check_writable, notebook, save_text
    from .terminal import (
        bar_lines,
        draw_tokens,
        make_console,
        make_progress,
        merge_lines,
        summary,
        table_lines,
    )
    from .view import (
        DrawnPart,
        MergeView,
        TokenRun,
        TokenView,
        clusters,
        is_whole,
        merge_views,
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
    "draw",
    "draw_tokens",
    "drawn_stream",
    "escape_controls",
    "guard_terminals",
    "is_whole",
    "linked_tokens",
    "log_lines",
    "log_warnings",
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
    "print_json",
    "print_lines",
    "report",
    "save_text",
    "summary",
    "table_lines",
    "tell",
    "to_chart",
    "token_parts",
    "token_text",
    "token_views",
]

# By module, its names. It is imported when one of them is first asked for: most commands draw nothing.
_LATER = {
    "areas": ("Placed", "placed"),
    "blocks": ("Area", "Areas", "Bars", "Block", "Branch", "Cell", "Line", "Table", "TokenText", "Tone", "View"),
    "pages": ("Curves", "linked_tokens", "page", "page_of", "report"),
    "plot": ("Charted", "Plot", "to_chart"),
    "shown": ("Shown", "called", "check_writable", "notebook", "save_text"),
    "terminal": (
        "bar_lines",
        "draw_tokens",
        "make_console",
        "make_progress",
        "merge_lines",
        "summary",
        "table_lines",
    ),
    "view": (
        "DrawnPart",
        "MergeView",
        "TokenRun",
        "TokenView",
        "clusters",
        "is_whole",
        "merge_views",
        "token_parts",
        "token_text",
        "token_views",
    ),
}


def __getattr__(name: str) -> object:
    for module, names in _LATER.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f".{module}", __name__), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
