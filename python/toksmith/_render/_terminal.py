"""The views as terminal text: rich `Text` for tokens, plain lines for merges.

Every token begins with the tick `▏`, so that the cuts are read without colour too; the colours go round a palette in
which neighbours differ even where a terminal has 16 colours. Wrapping, and what the terminal can do, are rich's.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from ._view import MergeView, TokenView, token_parts, token_text

__all__ = ["draw_tokens", "merge_lines", "summary", "use_utf8"]

TICK = "▏"
COLORS = ("#ffd43b", "#5c9dff", "#69db7c", "#e879f9", "#66d9d9")
PALETTE = tuple(Style(color="black", bgcolor=color) for color in COLORS)
SPECIAL = Style(color="bright_white", bgcolor="#444444", bold=True)
KINDS = {"text": Style(), "mark": Style(color="#555555"), "bytes": Style(color="#8b0000", italic=True)}


def draw_tokens(tokens: Sequence[TokenView], *, ids: bool = False) -> Iterator[Text]:
    """The tokens of one text, coloured and ticked, line by line of the text.

    Args:
        tokens: In order.
        ids: Put under each line the ids of the tokens that begin on it, ticked and coloured like them.
    """
    line, id_line = Text(overflow="fold"), Text(overflow="fold")
    parts_of = token_parts([view.token for view in tokens])
    for place, (view, parts) in enumerate(zip(tokens, parts_of, strict=True)):
        style = SPECIAL if view.special else PALETTE[place % len(PALETTE)]
        line.append(TICK, style)
        id_line.append(f"{TICK}{view.id}", style)
        for part in parts:
            kind = style if view.special else style + KINDS[part.kind]
            for text in part.text.splitlines(keepends=True):
                line.append(text.rstrip("\n"), kind)
                if text.endswith("\n"):
                    yield line
                    if ids and id_line:
                        yield id_line
                    line, id_line = Text(overflow="fold"), Text(overflow="fold")
    yield from (rest for rest in (line, id_line if ids else None) if rest)


def summary(tokens: Sequence[TokenView]) -> str:
    """Tokens, characters, bytes and bytes per token, in one line; an invalid byte counts as the U+FFFD it decodes to."""
    data = b"".join(view.token for view in tokens)
    amounts = ((len(tokens), "token"), (len(data.decode("utf-8", "replace")), "character"), (len(data), "byte"))
    sizes = ", ".join(f"{amount:,} {unit}{'' if amount == 1 else 's'}" for amount, unit in amounts)
    return f"{sizes}, {len(data) / len(tokens):.2f} bytes per token" if tokens else sizes


def merge_lines(merges: Sequence[MergeView], *, width: int = 16) -> Iterator[str]:
    """One line for each merge: which pair became which id, the new token, its count, and how many ids are left.

    Args:
        merges: In order.
        width: Terminal cells for the token; a longer one pushes the rest of its line to the right.

    >>> print(*merge_lines([MergeView(1, 105, 110, 256, b"in", 6, 244)]))
    merge 1: (105, 110) → 256  ▏in▏            6 times, 244 ids left
    """
    columns = [
        [str(merge.number) for merge in merges],
        [f"({merge.left_id}, {merge.right_id})" for merge in merges],
        [str(merge.id) for merge in merges],
        [f"{merge.count:,}" for merge in merges],
        [f"{merge.left:,}" for merge in merges],
    ]
    widths = [max(map(len, column), default=0) for column in columns]
    for merge, *cells in zip(merges, *columns, strict=True):
        number, pair, id, count, left = (cell.rjust(size) for cell, size in zip(cells, widths, strict=True))
        token = f"{TICK}{token_text(merge.token)}{TICK}"
        padding = " " * (width - cell_len(token))
        yield f"merge {number}: {pair} → {id}  {token}{padding}{count} times, {left} ids left"


def use_utf8() -> None:
    """Make this process's stdout and stderr UTF-8 on any locale; a file name that is no UTF-8 is printed as it is."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
