"""Views as HTML: a fragment for notebooks; `pages` puts the same blocks on pages.

A fragment has inline styles only, no script, no `id` attribute, and loads nothing. It uses only elements and attributes that
sanitisers let through, in their spelling, so that sanitising changes nothing. The tick before a token and the marks are
characters, so that cuts stay readable without styles. Every token is isolated (`bdi`), so that right-to-left text does not move
its neighbours, and no line breaks inside a token.
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from .areas import first_bars
from .blocks import Areas, Bars, Block, Branch, Cell, Line, Table, TokenText, View
from .streams import plain
from .view import LIGHT, TICK, DrawnPart, SharedCharacter, TokenRun, TokenView, clusters

__all__ = ["DRAW", "TokenTags", "draw_clusters", "escape_attribute", "escape_html", "fragment", "right_to_left"]

MONO = "font-family:ui-monospace,Menlo,Consolas,monospace"
TONES = {
    "": "",
    "strong": "font-weight:bold",
    "dim": "opacity:0.75",
    "good": "border-left:4px solid #2b8a3e;padding-left:4px",
    "warn": "border-left:4px double #e67700;padding-left:4px",
    "bad": "border-left:4px solid #c92a2a;padding-left:4px;font-weight:bold",
}
PARTS = {"text": "", "mark": f"color:{LIGHT.mark}", "bytes": f"color:{LIGHT.raw};font-style:italic"}
SPECIAL = f"background-color:{LIGHT.special};color:{LIGHT.on_special};font-weight:bold"
SPACED = "border-collapse:collapse;margin:8px 0"
MOST_UNBROKEN = 80  # characters; a shorter caption stays on one line, even above a narrow table
SHORT = 24  # characters; a shorter cell stays on one line
BAR = "#1a73e8"  # visible in light and in dark notebooks; a fragment does not know the theme
SMALL = "font-size:70%"
THIN = "\u202f"  # between the ids of a character that tokens share
WHOLE = "white-space:nowrap"
SCOPE = ' scope="col"'
MARKED = "text-decoration:underline"


def escape_html(text: str, chars: int | None = None) -> str:
    """A text for use between tags; a longer one is cut to `chars` characters, with its full length."""
    if chars is not None and len(text) > chars:
        text = f"{text[:chars]}… ({len(text):,} characters)"
    return plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_attribute(text: str) -> str:
    """A text for use inside the double quotes of an attribute."""
    return escape_html(text).replace('"', "&quot;")


def fragment(view: View, *, items: int | None = None, chars: int | None = None) -> str:
    """The view as one `div`.

    Args:
        items: The maximum number of rows, tokens, bars or branches to draw for each block; None for all.
        chars: The maximum number of characters to draw of each text; None for all.
    """
    lines = [f"<p><strong>{escape_html(view.title, chars)}</strong></p>"]
    for block in view.blocks:
        lines += DRAW[type(block)](block, items, chars)
    return "<div>" + "\n".join(lines) + "</div>"


def draw_line(line: Line, items: int | None, chars: int | None) -> Iterator[str]:
    text = "<br>".join(escape_html(line.text, chars).split("\n"))
    yield html_element("p", TONES[line.tone], text)


def draw_table(table: Table, items: int | None, chars: int | None) -> Iterator[str]:
    left = frozenset(table.left)

    def cells(row: Sequence[str | Cell], kind: str) -> str:
        tags = []
        for column, cell in enumerate(row):
            text, tone = (cell.text, cell.tone) if isinstance(cell, Cell) else (cell, "")
            tag, more = ("th", SCOPE) if kind == "th" and text else ("td", "")  # a head has a name
            side = f"text-align:{'left' if column in left else 'right'}"
            wrap = WHOLE if len(text) <= SHORT else ""
            style = ";".join(filter(None, (side, "vertical-align:top;padding:0 8px", wrap, TONES[tone])))
            inner = escape_html(text, chars) if wrap else cell_html(text, chars)
            tags.append(f'<{tag}{more} style="{style}">{inner}</{tag}>')
        return f"<tr>{''.join(tags)}</tr>"

    head = f"<thead>{cells(table.heads, 'th')}</thead>" if any(table.heads) else ""
    body = html_element(
        "tbody", MONO, "\n".join(cells(row, "td") for row in islice(table.rows, items))
    )  # tokens and figures
    yield f'<table style="{SPACED}">{caption_html(table.caption, chars)}{head}{body}</table>'
    yield from omission_note(len(table.rows), items, "rows")


def cell_html(text: str, chars: int | None) -> str:
    """The text of a wide cell; lines of ticked tokens break between two tokens only."""
    if TICK not in text:
        return escape_html(text, chars)
    beginning = text if chars is None or len(text) <= chars else text[:chars]
    first, *runs = beginning.split(TICK)
    more = escape_html(text, chars).removeprefix(escape_html(beginning))
    return (
        escape_html(first) + "<wbr>".join(html_element("span", WHOLE, TICK + escape_html(run)) for run in runs) + more
    )


def caption_html(text: str, chars: int | None) -> str:
    """The caption of a table or of bars, which may be wider than they are."""
    style = f"padding:8px;text-align:left{';' + WHOLE if len(text) <= MOST_UNBROKEN else ''}"
    return html_element("caption", style, escape_html(text, chars)) if text else ""


def draw_tokens(block: TokenText, items: int | None, chars: int | None) -> Iterator[str]:
    if block.caption:
        yield html_element("p", "", escape_html(block.caption, chars))
    drawn = draw_clusters(block, InlineTokens(block, chars), items)
    joined, direction = right_to_left(block.tokens[:items], chars)
    yield from filter(None, [joined])
    yield f'<p{direction} style="{MONO};line-height:2.3">{"<wbr>".join(drawn)}</p>'
    yield from omission_note(len(block.tokens), items, "tokens")


def right_to_left(tokens: Sequence[TokenView], chars: int | None = None) -> tuple[str, str]:
    """A paragraph with the text of the tokens, as letters join only inside a token, and the attribute that lets the tokens
    run as the text begins; both are empty for a text without right-to-left letters.

    >>> right_to_left([TokenView(1, "نص".encode()), TokenView(2, b" a")])
    ('<p dir="rtl">نص a</p>', ' dir="rtl"')
    """
    text = b"".join(view.token for view in tokens).decode("utf-8", "replace")
    strong = [kind != "L" for char in text if (kind := unicodedata.bidirectional(char)) in ("L", "R", "AL")]
    if not any(strong):
        return "", ""
    direction = ' dir="rtl"' if strong[0] else ""
    return f"<p{direction}>{'<br>'.join(escape_html(text, chars).splitlines())}</p>", direction


@dataclass(frozen=True)
class TokenTags(ABC):
    """The elements of a token in one medium.

    Attributes: `whole` and `small`, the attributes of the tag around tokens that share a character, and of the tag around
    the numbers of its bytes.
    """

    block: TokenText
    whole = f' style="{WHOLE}"'
    small = f' style="{SMALL}"'

    @abstractmethod
    def token(self, place: int, inner: str, *, first: bool) -> str:
        """The element of one run of a token; `first` for the run that begins the token."""

    def part(self, place: int, part: DrawnPart) -> str:
        return escape_html(part.text).replace("\n", "<br>")


def draw_clusters(block: TokenText, tags: TokenTags, items: int | None = None) -> Iterator[str]:
    """The element of each cluster; no line breaks inside it.

    A character that several tokens share has the numbers of its bytes above it.
    """
    tokens = block.tokens[:items]
    begun: set[int] = set()

    def token_tag(place: int, inner: str, *, last: bool) -> str:
        first = place not in begun
        begun.add(place)
        if block.ids and last:
            tail = "<br></span>" if inner.endswith("<br></span>") else "<br>" if inner.endswith("<br>") else ""
            inner = f"{inner.removesuffix(tail)}{number(place)}{tail}"
        return tags.token(place, inner, first=first)

    def number(place: int, behind: str = "") -> str:
        return f"<sub>{tokens[place].id}{behind}</sub>"

    for cluster in clusters([view.token for view in tokens]):
        ends = {place: at for at, each in enumerate(cluster) for place in places_of(each)}
        elements = []
        for at, each in enumerate(cluster):
            if isinstance(each, TokenRun):
                inner = "".join(tags.part(each.place, part) for part in each.parts)
                elements.append(token_tag(each.place, inner, last=ends[each.place] == at))
                continue
            numbers: list[str] = []
            byte = 0
            for place, count in each.shares:
                digits = "".join(str(byte + number) for number in range(1, count + 1))
                numbers.append(token_tag(place, digits, last=False))
                byte += count
            glyph = escape_html(each.part.text)  # without the colour of a token
            elements.append(f"<ruby>{glyph}<rt{tags.small}>{''.join(numbers)}</rt></ruby>")
            if block.ids:  # after the glyph, because there is no room above it
                ended = [place for place, _ in each.shares if ends[place] == at]
                elements += [tags.token(place, number(place, THIN), first=False) for place in ended]
        yield elements[0] if len(elements) == 1 else f"<span{tags.whole}>{''.join(elements)}</span>"


def places_of(part: TokenRun | SharedCharacter) -> list[int]:
    """The indices of the tokens that share a part of a cluster."""
    return [part.place] if isinstance(part, TokenRun) else [place for place, _ in part.shares]


@dataclass(frozen=True)
class InlineTokens(TokenTags):
    """Tokens with inline styles, for notebooks."""

    chars: int | None

    def token(self, place: int, inner: str, *, first: bool) -> str:
        view, block = self.block.tokens[place], self.block
        color = LIGHT.quiet if place in block.quiet else LIGHT.tokens[place % len(LIGHT.tokens)]
        style = SPECIAL if view.special else f"background-color:{color};color:{LIGHT.ink}"
        tick = TICK if first else ""
        if place in block.marked and first:
            style, tick = f"{style};{MARKED}", TICK * 2
        title = block.titles[place] if block.titles else token_title(view)
        return f'<bdi title="{escape_attribute(title[:200])}" style="{style};{WHOLE}">{tick}{inner}</bdi>'

    def part(self, place: int, part: DrawnPart) -> str:
        text = "<br>".join(escape_html(part.text, self.chars).split("\n"))
        style = "" if self.block.tokens[place].special else PARTS[part.kind]
        return f'<span style="{style}">{text}</span>' if style else text


def draw_bars(block: Bars, items: int | None, chars: int | None) -> Iterator[str]:
    longest = max((value for _, value, _ in block.bars), default=0) or 1.0
    rows = []
    for name, value, label in block.bars[:items]:
        wide = f"width:{round(100 * max(value, 0) / longest, 1):g}%"  # in a sanitiser's spelling
        bar = f'<div style="background-color:{BAR};height:12px;{wide}"></div>'
        rows.append(
            f'<tr><td style="text-align:right;padding:0 8px">{escape_html(name, chars)}</td>'
            f'<td style="width:320px">{bar}</td>'
            f'<td style="text-align:left;padding:0 8px">{escape_html(label, chars)}</td></tr>'
        )
    if rows:
        body = html_element("tbody", MONO, "".join(rows))
        yield f'<table style="{SPACED}">{caption_html(block.caption, chars)}{body}</table>'
    yield from omission_note(len(block.bars), items, "bars")


def draw_branch(branch: Branch, items: int | None, chars: int | None) -> Iterator[str]:
    room = [len(branch.below) if items is None else items]

    def inside(node: Branch) -> str:
        text = html_element("span", ";".join(filter(None, (MONO, TONES[node.tone]))), escape_html(node.text, chars))
        children = []
        for below in node.below:
            if items is not None:
                if room[0] <= 0:
                    children.append("<li>…</li>")
                    break
                room[0] -= 1
            children.append(inside(below))
        return html_element("li", "", text + (html_element("ul", "", "".join(children)) if children else ""))

    yield f"<ul>{inside(branch)}</ul>"


def omission_note(total: int, items: int | None, unit: str) -> Iterator[str]:
    if items is not None and total > items:
        yield f"<p>showing {items:,} of {total:,} {unit}; to_html() has all</p>"


def token_title(token: TokenView) -> str:
    more = " …" if len(token.token) > 32 else ""
    return f"id {token.id}{', special' if token.special else ''}: {token.token[:32].hex(' ')}{more}"


def html_element(tag: str, style: str, inner: str) -> str:
    return f'<{tag} style="{style}">{inner}</{tag}>' if style else f"<{tag}>{inner}</{tag}>"


DRAW: dict[type[Block], Any] = {
    Line: draw_line,
    Table: draw_table,
    TokenText: draw_tokens,
    Bars: draw_bars,
    Branch: draw_branch,
    Areas: lambda block, items, chars: draw_bars(first_bars(block), items, chars),
}
