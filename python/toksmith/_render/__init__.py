"""Drawing: plain view data in, something to look at out. Nothing here knows a tokenizer or a model.

`_view` decides what a token looks like (which marks, which escapes, where a cut character goes); `_terminal` paints
that for a terminal. Another medium is another file beside `_terminal` on the same `_view`. `_chart` draws figures.
"""

from ._chart import bar_lines, table_lines
from ._terminal import draw_tokens, merge_lines, summary, use_utf8
from ._view import MergeView, Part, TokenView, merge_views, token_parts, token_text, token_views

__all__ = [
    "MergeView",
    "Part",
    "TokenView",
    "bar_lines",
    "draw_tokens",
    "merge_lines",
    "merge_views",
    "summary",
    "table_lines",
    "token_parts",
    "token_text",
    "token_views",
    "use_utf8",
]
