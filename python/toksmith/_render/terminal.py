"""Drawing with rich: consoles and bars, views as terminal text, and a picture of that text.

Our consoles escape a text before they colour it, so a text cannot spell a colour. Only this module makes consoles and bars
(`tests/cli/test_terminal.py` checks it).

Every token begins with the tick `▏`, so that cuts are readable without colour; the colours cycle through a palette whose
neighbours differ even on a terminal with 16 colours. A row ends between two tokens; only a token that is wider than the
terminal is cut. rich does all other wrapping and detects the abilities of the terminal.

The picture is SVG with the cells of the terminal in place: each run of one style is a `text` of exactly its cells' width on a
`rect` of its background. (rich's own `export_svg` fetches a font, and draws a wide character in half of its width.) The picture
loads nothing and uses the viewer's monospaced font.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from itertools import islice
from typing import IO, Any

from rich.bar import Bar
from rich.cells import cell_len
from rich.color import Color
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.progress import Progress, ProgressColumn
from rich.segment import Segment
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from .._base.wording import number_of
from .areas import first_bars
from .blocks import Areas, Bars, Block, Branch, Cell, Line, Table, TokenText, View
from .streams import Terminal, drawn_stream, one_line, plain
from .view import COLORS, LIGHT, TICK, MergeView, TokenView, token_parts, token_text

__all__ = [
    "bar_lines",
    "draw_tokens",
    "make_console",
    "make_progress",
    "merge_lines",
    "picture",
    "renderables",
    "summary",
    "table_lines",
]

PALETTE = tuple(Style(color="black", bgcolor=color) for color in COLORS)
QUIET = Style(color="black", bgcolor=LIGHT.quiet)
SPECIAL = Style(color="bright_white", bgcolor=LIGHT.special, bold=True)
TONES = {
    "": Style(),
    "strong": Style(bold=True),
    "dim": Style(dim=True),
    "good": Style(color="green"),
    "warn": Style(color="yellow"),
    "bad": Style(color="red", bold=True),
}
NARROWEST = 20  # cells for the text of a node at any depth of its tree
KINDS = {"text": Style(), "mark": Style(color=LIGHT.mark), "bytes": Style(color=LIGHT.raw, italic=True)}
CELL, LINE, SIZE, MARGIN = 8.4, 19, 14, 10
INK = "#111111"
READABLE = {"yellow": "#7a6400"}  # replacements for terminal colours that are too light on a white page


class PlainConsole(Console):
    """A console that escapes every text but keeps rich's own controls, which move the cursor to a bar."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich, escaped."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text=plain(segment.text))


def make_console(file: IO[str], **options: Any) -> Console:
    """A console that writes to a file; on stdout and stderr it bypasses `streams.Terminal`."""
    return PlainConsole(file=drawn_stream(file), highlight=False, **options)


def make_progress(*columns: ProgressColumn, **options: Any) -> Progress:
    """Bars on stderr; other output goes above them, except under `Terminal`, which rich's redirection would replace."""
    options.setdefault("console", make_console(sys.stderr))
    options["redirect_stdout"] = options["redirect_stderr"] = not isinstance(sys.stderr, Terminal)
    return Progress(*columns, **options)


def draw_tokens(
    tokens: Sequence[TokenView], *, ids: bool = False, marked: Collection[int] = (), quiet: Collection[int] = ()
) -> Iterator[RenderableType]:
    """The tokens of one text, coloured and ticked, line by line of the text.

    Args:
        tokens: In order.
        ids: Whether to put under each row the ids of the tokens that begin on it, ticked and coloured like them.
        marked: The indices of tokens that begin with two ticks.
        quiet: The indices of tokens in one quiet colour.
    """
    line: list[tuple[Text, Text | None]] = []
    parts_of = token_parts([view.token for view in tokens])
    for place, (view, parts) in enumerate(zip(tokens, parts_of, strict=True)):
        style = SPECIAL if view.special else QUIET if place in quiet else PALETTE[place % len(PALETTE)]
        run = Text(TICK * 2 if place in marked else TICK, style)
        id: Text | None = Text(f"{TICK}{view.id}", style) if ids else None
        for part in parts:
            kind = style if view.special else style + KINDS[part.kind]
            for text in part.text.splitlines(keepends=True):
                run.append(text.rstrip("\n"), kind)
                if text.endswith("\n"):
                    yield TokenRows([*line, (run, id)])
                    line, run, id = [], Text(), None
        if run:
            line.append((run, id))
    if line:
        yield TokenRows(line)


class TokenRows:
    """Runs of tokens in rows as wide as the terminal; a row ends between two runs, unless a single run is wider."""

    def __init__(self, runs: Sequence[tuple[Text, Text | None]]) -> None:
        self.runs = runs

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.no_wrap:  # printed for a file, not for a screen
            yield Text(overflow="ignore").join(run for run, _ in self.runs)
            if ids := [id for _, id in self.runs if id is not None]:
                yield Text(overflow="ignore").join(ids)
            return
        for row, below in self.rows(options.max_width):
            yield row
            if below:
                yield below

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        widths = [run.cell_len for run, _ in self.runs] or [0]
        return Measurement(max(widths), sum(widths)).with_maximum(options.max_width)

    def rows(self, width: int) -> Iterator[tuple[Text, Text]]:
        """Each row, and the ids of the tokens that begin on it."""
        row, ids, used, ids_used = empty_row(), empty_row(), 0, 0
        for run, id in self.runs:
            cells, id_cells = run.cell_len, 0 if id is None else id.cell_len
            if used and (used + cells > width >= cells or ids_used + id_cells > width):
                yield row, ids
                row, ids, used, ids_used = empty_row(), empty_row(), 0, 0
            row.append_text(run)
            used = (used + cells) % width if used + cells > width else used + cells
            if id is not None:
                ids.append_text(id)
                ids_used += id_cells
        yield row, ids


def empty_row() -> Text:
    """An empty row, which folds text that is too wide."""
    return Text(overflow="fold")


def renderables(view: View, *, items: int | None = None, chars: int | None = None) -> Iterator[RenderableType]:
    """A view for a rich console, from top to bottom.

    Args:
        items: The maximum number of rows, tokens, bars or branches to draw for each block; None for all.
        chars: The maximum number of characters to draw of each line and cell; None for all.
    """
    yield Text(one_line(view.title), style=TONES["strong"])
    before: Block | None = None
    for block in view.blocks:
        if (
            isinstance(block, Table | Bars | Areas)
            and not block.caption
            and isinstance(before, Table | Bars | Branch | Areas)
        ):
            yield Text()  # a caption has its own empty line
        yield from DRAW[type(block)](block if chars is None else cut_block(block, chars, items), items)
        before = block


def cut_block(block: Block, chars: int, items: int | None) -> Block:
    """The block with at most `chars` characters of each line and cell."""

    def cut(text: str) -> str:
        return text if len(text) <= chars else f"{text[:chars]}… ({len(text):,} characters)"

    if isinstance(block, Line):
        return replace(block, text=cut(block.text))
    if isinstance(block, Table):
        rows = [
            [cell._replace(text=cut(cell.text)) if isinstance(cell, Cell) else cut(cell) for cell in row]
            for row in block.rows[:items]
        ]
        return replace(block, rows=[*rows, *block.rows[len(rows) :]], caption=cut(block.caption))
    return block


def draw_line(line: Line, items: int | None) -> Iterator[RenderableType]:
    yield Text(plain(line.text), style=TONES[line.tone])


def draw_table(block: Table, items: int | None) -> Iterator[RenderableType]:
    table = RichTable(
        box=None, show_header=any(block.heads), pad_edge=False, padding=(0, 1), header_style=TONES["strong"]
    )
    for column, head in enumerate(block.heads):
        table.add_column(Text(plain(head)), justify="left" if column in block.left else "right", overflow="fold")
    for row in islice(block.rows, items):
        cells = [cell if isinstance(cell, Cell) else Cell(cell) for cell in row]
        table.add_row(*map(draw_cell, cells))
    if block.caption:
        yield Padding(Text(plain(block.caption)), (1, 0, 0, 0))
    yield table
    yield from omission_note(len(block.rows), items, "rows")


def draw_cell(cell: Cell) -> RenderableType:
    """A cell; rows of ticked tokens end between two tokens only."""
    text = Text(plain(cell.text), style=TONES[cell.tone], overflow="fold")
    if TICK not in cell.text or "\n" in cell.text:
        return text
    cuts = [place for place, char in enumerate(text.plain) if char == TICK and place]
    return TokenRows([(run, None) for run in text.divide(cuts)])


def draw_token_block(block: TokenText, items: int | None) -> Iterator[RenderableType]:
    if block.caption:
        yield Padding(Text(plain(block.caption)), (1, 0, 0, 0))
    yield from draw_tokens(block.tokens[:items], ids=block.ids, marked=block.marked, quiet=block.quiet)
    yield from omission_note(len(block.tokens), items, "tokens")


def draw_bars(block: Bars, items: int | None) -> Iterator[RenderableType]:
    if block.caption:
        yield Padding(Text(plain(block.caption)), (1, 0, 0, 0))
    yield from map(
        Text, bar_lines([(one_line(name), value, one_line(label)) for name, value, label in block.bars[:items]])
    )
    yield from omission_note(len(block.bars), items, "bars")


def draw_branch(branch: Branch, items: int | None) -> Iterator[RenderableType]:
    room = [len(branch.below) if items is None else items]

    def lines(node: Branch, first: str, others: str) -> Iterator[RenderableType]:
        yield TreeLine(Text(plain(node.text), style=TONES[node.tone]), first, others)
        for place, below in enumerate(node.below, 1):
            if items is not None and room[0] <= 0:
                yield TreeLine(Text("…"), others + "└── ", others)
                return
            room[0] -= 1
            last = place == len(node.below)
            yield from lines(below, others + ("└── " if last else "├── "), others + ("    " if last else "│   "))

    yield from lines(branch, "", "")


class TreeLine:
    """A node of a tree after its guides; a deep one can exceed the terminal's width, and is never cut."""

    def __init__(self, text: Text, first: str, others: str) -> None:
        self.text, self.first, self.others = text, first, others

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(NARROWEST, options.max_width - len(self.first))
        for place, line in enumerate(self.text.wrap(console, room, overflow="fold")):
            yield Text(self.others if place else self.first, overflow="fold").append_text(line)


def omission_note(total: int, items: int | None, unit: str) -> Iterator[RenderableType]:
    if items is not None and total > items:
        yield Text(f"showing {items:,} of {total:,} {unit}")


DRAW: dict[type[Block], Any] = {
    Line: draw_line,
    Table: draw_table,
    TokenText: draw_token_block,
    Bars: draw_bars,
    Branch: draw_branch,
    Areas: lambda block, items: draw_bars(first_bars(block), items),
}


def summary(tokens: Sequence[TokenView]) -> str:
    """Tokens, characters, bytes and bytes per token, on one line; an invalid byte counts as U+FFFD."""
    data = b"".join(view.token for view in tokens)
    amounts = ((len(tokens), "token"), (len(data.decode("utf-8", "replace")), "character"), (len(data), "byte"))
    sizes = ", ".join(number_of(amount, unit) for amount, unit in amounts)
    return f"{sizes}, {len(data) / len(tokens):.2f} bytes per token" if tokens else sizes


def merge_lines(merges: Sequence[MergeView], *, width: int = 16) -> Iterator[str]:
    """One line for each merge: the pair, the new id and token, its count, and the number of remaining ids.

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
        padding = " " * max(width - cell_len(token), 1)
        yield f"merge {number}: {pair} → {id}  {token}{padding}{count} {'time, ' if merge.count == 1 else 'times,'} {left} id{'' if merge.left == 1 else 's'} left"


def table_lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    r"""A table whose columns are as wide as their longest cell, all right-aligned.

    >>> print(*table_lines(["size", "ids"], [["256", "1,024"], ["512", "800"]]), sep="\n")
    size    ids
     256  1,024
     512    800
    """
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))


def bar_lines(bars: Sequence[tuple[str, float, str]], *, width: int = 40) -> Iterator[str]:
    r"""A bar for each value, all from zero, the longest `width` cells wide.

    Args:
        bars: The name before the bar, the value (at least 0), and the text after the bar.
        width: Terminal cells of the longest bar.

    >>> print(*bar_lines([("a", 1, "one"), ("bb", 2, "two")], width=4), sep="\n")
     a  ██   one
    bb  ████ two
    """
    names = max((len(name) for name, _, _ in bars), default=0)
    longest = max((value for _, value, _ in bars), default=0) or 1.0
    for name, value, label in bars:
        drawn = io.StringIO()
        bar = Bar(1.0, 0, value / longest, width=width)  # exactly 1 for the longest, so that it is full
        make_console(drawn, width=width, color_system=None, legacy_windows=False).print(bar, end="")
        yield f"{name.rjust(names)}  {drawn.getvalue().rstrip(chr(10)).ljust(width)} {label}"


def picture(title: str, blocks: Iterable[RenderableType], *, width: int) -> str:
    """The SVG document.

    Args:
        width: Terminal cells in a line.
    """
    console = make_console(io.StringIO(), width=width, color_system="truecolor", legacy_windows=False)
    lines = console.render_lines(Group(*blocks), pad=False)
    drawn: list[str] = []
    for row, line in enumerate(lines):
        column = 0
        for text, style, _ in Segment.simplify(line):
            cells = cell_len(text)
            drawn += run_svg(text, style or Style(), (MARGIN + column * CELL, MARGIN + row * LINE, cells * CELL))
            column += cells
    across, down = round(2 * MARGIN + width * CELL), 2 * MARGIN + len(lines) * LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" width="{across}" height="{down}"'
        f' role="img" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="{SIZE}" fill="{INK}">\n'
        f'<title>{escape(xml_text(title))}</title>\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def run_svg(text: str, style: Style, place: tuple[float, float, float]) -> Iterable[str]:
    """The elements of one run at `place`: its x, its y, and its width."""
    x, y, wide = place
    if style.bgcolor is not None and wide:
        yield f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{LINE}" fill="{hex_color(style.bgcolor)}"/>'
    if text.strip():
        looks = "" if style.color is None else f' fill="{hex_color(style.color)}"'
        looks += ' font-weight="bold"' if style.bold else ""
        looks += ' font-style="italic"' if style.italic else ""
        yield (
            f'<text x="{x:.1f}" y="{y + 14}" textLength="{wide:.1f}" xml:space="preserve"{looks}>'
            f"{escape(xml_text(text))}</text>"
        )


def hex_color(color: Color) -> str:
    return READABLE.get(color.name) or color.get_truecolor().hex


def xml_text(text: str) -> str:
    """`text` without the characters that XML cannot hold."""
    return "".join(char if char >= " " and not "\ud800" <= char <= "\udfff" else "\ufffd" for char in text)
