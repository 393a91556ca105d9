"""Drawing: plain view data in, pictures and text out. Nothing here knows a tokenizer or a model.

`_view` decides what a token looks like (marks, escapes, the place of a cut character). `_blocks` defines the parts of a
result. `_terminal`, `_html` and `_svg` draw them, each for its medium; a new medium is a new file. `_page` puts several
results on one HTML page. `_shown` is the base class of all results. `_chart` draws figures as text, `_plot` as
pictures. Commands take `number_of` from here, because they import nothing else of ours.
"""

from .._errors import number_of
from ._blocks import Bars, Block, Branch, Cell, Line, Table, TokenText, Tone, View
from ._chart import bar_lines, table_lines
from ._page import page
from ._plot import Charted, Plot, to_chart
from ._shown import Shown, notebook
from ._terminal import draw_tokens, merge_lines, summary, use_utf8
from ._view import (
    DrawnPart,
    MergeView,
    TokenView,
    merge_views,
    one_line,
    plain,
    plain_json,
    token_parts,
    token_text,
    token_views,
)

__all__ = [
    "Bars",
    "Block",
    "Branch",
    "Cell",
    "Charted",
    "DrawnPart",
    "Line",
    "MergeView",
    "Plot",
    "Shown",
    "Table",
    "TokenText",
    "TokenView",
    "Tone",
    "View",
    "bar_lines",
    "draw_tokens",
    "merge_lines",
    "merge_views",
    "notebook",
    "number_of",
    "one_line",
    "page",
    "plain",
    "plain_json",
    "summary",
    "table_lines",
    "to_chart",
    "token_parts",
    "token_text",
    "token_views",
    "use_utf8",
]
