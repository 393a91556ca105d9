"""The content of a result for every medium: a title and blocks of plain data.

A block holds all visible content and no decision about its looks; each medium draws each kind of block. A tone is the meaning
of a text ("bad" is a failure), and the text alone conveys the same. Left out: tokens, which `view` defines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .view import TokenView

__all__ = ["Area", "Areas", "Bars", "Block", "Branch", "Cell", "Line", "Table", "TokenText", "Tone", "View"]

Tone = Literal["", "strong", "dim", "good", "warn", "bad"]


class Cell(NamedTuple):
    """A text of a table or line, and its tone."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Line:
    """One paragraph. Untrusted text, such as a user's, must pass through `token_text` first."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells under heads.

    Attributes:
        heads: One for each column.
        rows: One cell in each for each column.
        caption: The text above it.
        left: The left-aligned columns; the others are right-aligned, for figures.
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
        marked: The indices of tokens to point out, such as those that begin at a cut that others do not make.
        titles: The description of each token for media with tooltips; if empty, its id.
        quiet: The indices of tokens that are drawn in one quiet colour, such as those of a template.
    """

    tokens: Sequence[TokenView]
    caption: str = ""
    ids: bool = False
    marked: frozenset[int] = frozenset()
    titles: Sequence[str] = ()
    quiet: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Bars:
    """Bars from zero: the name of each, its value (at least 0), and the text after it."""

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
        name, size: Its name, and its size (at least 0).
        figure, said: The size in a few characters, and its description.
        step: Its index in `Areas.scale`.
        struck: Whether it is struck out; `Areas.struck` explains the meaning.
        below: Its parts, whose sizes add up to its own.
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
    """A treemap of the parts of `root`. A medium that cannot draw areas draws the largest as bars.

    Attributes:
        scale: The meaning of each colour, at most four.
        struck: The meaning of a struck-out area.
    """

    root: Area
    caption: str = ""
    scale: Sequence[str] = ()
    struck: str = ""


Block = Line | Table | TokenText | Bars | Branch | Areas


@dataclass(frozen=True)
class View:
    """The content of one result: a title, then blocks from top to bottom."""

    title: str
    blocks: Sequence[Block] = ()
