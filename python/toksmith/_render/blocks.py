"""What a result shows, before any medium: a title and blocks of plain data. A medium draws each kind of block.

The rules: a block holds everything that is to be seen and nothing that decides how; a tone says what a text means
("bad" is a failure), and no meaning is carried by the tone alone. Left out: tokens themselves, which `view` has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .view import TokenView

__all__ = ["Area", "Areas", "Bars", "Block", "Branch", "Cell", "Line", "Table", "TokenText", "Tone", "View"]

Tone = Literal["", "strong", "dim", "good", "warn", "bad"]


class Cell(NamedTuple):
    """A text of a table or line, and what it means."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Line:
    """One paragraph. Text that may hold anything (a user's) belongs through `token_text` first."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells under heads.

    Attributes:
        heads: One for each column.
        rows: As many cells in each as there are heads.
        caption: The text above it.
        left: The left-aligned columns; the others, figures, are right-aligned.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    caption: str = ""
    left: Sequence[int] = (0,)


@dataclass(frozen=True)
class TokenText:
    """A text as its tokens.

    Attributes:
        tokens: In order; together they are the text.
        caption: The text above it, such as the tokenizer's name.
        ids: Whether the ids are drawn too.
        marked: The places of tokens to be pointed out: where they begin is a cut that others do not make.
        titles: The description of each token for media with tooltips; empty for its id.
        quiet: The places of tokens that are drawn in one quiet colour, such as what a template wrote.
    """

    tokens: Sequence[TokenView]
    caption: str = ""
    ids: bool = False
    marked: frozenset[int] = frozenset()
    titles: Sequence[str] = ()
    quiet: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Bars:
    """Bars from zero: the name of each, its value (at least 0), and the text behind it."""

    bars: Sequence[tuple[str, float, str]]
    caption: str = ""


@dataclass(frozen=True)
class Branch:
    """A tree: the text of this node, and the nodes below it."""

    text: str
    tone: Tone = ""
    below: Sequence[Branch] = ()


@dataclass(frozen=True)
class Area:
    """A part of a treemap.

    Attributes:
        name, size: Its name, and how large it is (at least 0).
        figure, said: The size in a few characters, and everything that is said of it.
        step: Its step on the scale that `Areas.scale` explains.
        struck: Whether it is struck out, which `Areas.struck` explains.
        below: What it consists of; their sizes add up to its own.
    """

    name: str
    size: float
    figure: str
    said: str
    step: int = 0
    struck: bool = False
    below: Sequence[Area] = ()


@dataclass(frozen=True)
class Areas:
    """A treemap: what `root` consists of. A medium that cannot draw areas draws the largest as bars.

    Attributes:
        scale: What each step of colour means, at most four.
        struck: What it means that an area is struck out.
    """

    root: Area
    caption: str = ""
    scale: Sequence[str] = ()
    struck: str = ""


Block = Line | Table | TokenText | Bars | Branch | Areas


@dataclass(frozen=True)
class View:
    """What one result shows: a title, then blocks from top to bottom."""

    title: str
    blocks: Sequence[Block] = ()
