"""Results as self-contained pages, for readers without toksmith: no script, and nothing loaded.

`document` puts one view on a page, with a treemap as areas that the tab key reaches. `report`
puts charts above tables: the charts are SVG inside the page, and every number of a chart is in a table. `linked_tokens` draws the
tokens of a page with a script.

Pages follow the rules of `html`, but have a style sheet, because they are not sanitised; light or dark follows the reader's
setting. The names of areas form a list, so that a reader without styles reads them in order, each folder before its contents.
Each series has its own dash and its own colour. Equal data give equal bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .areas import place_areas
from .blocks import Areas, Bars, Block, Branch, Table, TokenText, View
from .html import DRAW, TokenTags, draw_clusters, escape_attribute, escape_html, right_to_left
from .view import COLORS, DARK, LIGHT, TokenView

__all__ = ["Curves", "document", "linked_tokens", "page_of", "report", "right_to_left"]

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; {policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
{body}
</html>
"""
DOCUMENT_STYLE = """body { font-family: system-ui, sans-serif; line-height: 1.5; margin: 1rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; margin: 0.5rem 0; }
.wide { overflow-x: auto; }"""
# A tag with a style and no class; elsewhere `<` and `"` are escaped.
STYLED = re.compile(r'(<[a-z]+\d?(?: (?!class=)[a-z-]+="[^"]*")*?) style="([^"]*)"')
COLOR = re.compile("#[0-9a-f]{6}")
DARK_OF = dict(zip((*LIGHT.tokens, *LIGHT._replace(tokens=())), (*DARK.tokens, *DARK._replace(tokens=())), strict=True))


def page_of(title: str, style: str, body: str, *, policy: str = "style-src 'unsafe-inline'") -> str:
    """A self-contained page: the common head of all pages, and the element `body`.

    Args:
        policy: The content security policy after `default-src 'none'`; a page with a script lists its hash.
    """
    return PAGE.format(title=escape_html(title) or "toksmith", policy=policy, style=style, body=body)


def document(view: View) -> str:
    """One self-contained page; a treemap is drawn as areas."""
    style = AREAS_STYLE if any(isinstance(block, Areas) for block in view.blocks) else ""
    return page_of_parts(view.title, style, [f"<h1>{escape_html(view.title)}</h1>", *page_blocks(view.blocks)])


def page_blocks(blocks: Sequence[Block]) -> Iterator[str]:
    """The blocks; tables and bars are in boxes that scroll, and a treemap is drawn as areas."""
    for block in blocks:
        inner = draw_areas(block) if isinstance(block, Areas) else "\n".join(DRAW[type(block)](block, None, None))
        yield f'<div class="wide" tabindex="0">{inner}</div>' if isinstance(block, Table | Bars | Branch) else inner


def page_of_parts(title: str, style: str, parts: Sequence[str]) -> str:
    """The page of these elements, with a class for each of their styles; `style` is the page's own."""
    inner, rules = with_classes("\n".join(parts))
    return page_of(title, f"\n{DOCUMENT_STYLE}{style}{rules}\n", f"<body>\n<main>\n{inner}\n</main>\n</body>")


def with_classes(html: str) -> tuple[str, str]:
    r"""The HTML with a class in place of each style, and the rules of these classes, with the colours of both schemes.

    >>> with_classes('<i style="color:#444444">a</i><b style="color:#444444">b</b>')
    ('<i class="k0">a</i><b class="k0">b</b>', '\n.k0{color:light-dark(#444444,#d3d8de)}')
    """
    names: dict[str, str] = {}
    html = STYLED.sub(lambda tag: f'{tag[1]} class="{names.setdefault(tag[2], f"k{len(names)}")}"', html)
    return html, "".join(f"\n.{name}{{{COLOR.sub(in_both_schemes, style)}}}" for style, name in names.items())


def in_both_schemes(color: re.Match[str]) -> str:
    return f"light-dark({color[0]},{DARK_OF[color[0]]})" if color[0] in DARK_OF else color[0]


def linked_tokens(tokens: Sequence[TokenView], marked: frozenset[int] = frozenset()) -> str:
    """The tokens as elements; each token has at least one, and all of them carry its index.

    Args:
        tokens: In order; together they are the text.
        marked: The indices of tokens that begin where other tokenizers do not cut.

    >>> linked_tokens([TokenView(97, b"a"), TokenView(60, b"<", special=True)])
    '<bdi class="t c0 s" data-i="0">a</bdi><wbr><bdi class="t special s" data-i="1">&lt;</bdi>'
    """
    block = TokenText(tokens, marked=marked)
    return "<wbr>".join(draw_clusters(block, LinkedTokens(block)))


class LinkedTokens(TokenTags):
    """Tokens with classes only, because the policy of a page with a script allows no inline style.

    `t` is a token, `s` its first run, `alone` a beginning that other tokenizers do not share, `special`, or `c0` to `c4` for its
    colour; `data-i` is its index. Left out: the description of a token, which the script adds.
    """

    whole, small = ' class="whole"', ""

    def token(self, place: int, inner: str, *, first: bool) -> str:
        names = ["t", "special" if self.block.tokens[place].special else f"c{place % len(COLORS)}"]
        if first:
            names += ["s", *(["alone"] if place in self.block.marked else [])]
        return f'<bdi class="{" ".join(names)}" data-i="{place}">{inner}</bdi>'


AREA_SHAPE = 1.8  # width of the drawing relative to its height
AREA_NAMED = 1.5  # percent of the drawing's width; a wider area has its name in it
AREA_REACHED = 2.0  # in 1/10,000 of the drawing; the tab key reaches larger areas
AREA_HEAD = 3.4  # height of a folder's name, in percent of the drawing's height
AREA_STEPS = (("#cfe6ff", "#173a5c"), ("#e4edc0", "#374400"), ("#ffe0a3", "#5c4300"), ("#ffc4b3", "#6a2a18"))
AREAS_STYLE = """
.areas { position: relative; width: 100%; height: min(52rem, max(30rem, 55vw)); list-style: none; margin: .5rem 0; padding: 0; }
.areas li { position: absolute; overflow: hidden; border: 1px solid Canvas; box-sizing: border-box; font-size: .8rem; line-height: 1.25; padding: 0 .2em;
  white-space: nowrap; text-overflow: ellipsis; color: light-dark(#17191c, #eceef1); }
.areas .folder { background: light-dark(#d5d8dc, #383d44); font-weight: 600; }
.areas li:focus { outline: 3px solid light-dark(#0b57d0, #8ab4f8); outline-offset: -3px; z-index: 1; }
.areas .said { display: none; }
.areas li:hover > .said, .areas li:focus > .said { display: block; position: fixed; left: .5rem; bottom: .5rem; z-index: 2; background: Canvas;
  color: CanvasText; border: 2px solid #767c85; padding: .4rem .7rem; font-weight: 400; white-space: normal; max-width: 90vw; }
.key { display: inline-block; padding: 0 .5em; margin-right: .5em; color: light-dark(#17191c, #eceef1); border: 1px solid #767c85; }
.struck { background-image: repeating-linear-gradient(45deg, transparent 0 5px, light-dark(rgb(0 0 0 / 22%), rgb(255 255 255 / 25%)) 5px 7px);
  text-decoration: line-through; }
@media (forced-colors: active) { .areas li { border: 1px solid CanvasText; } }
""" + "\n".join(
    f".a{step} {{ background-color: light-dark({light}, {dark}); }}" for step, (light, dark) in enumerate(AREA_STEPS)
)


def draw_areas(block: Areas) -> str:
    """The drawing, with its caption and a key to its colours."""
    keys = "".join(f'<span class="key a{step}">{escape_html(name)}</span>' for step, name in enumerate(block.scale))
    if block.struck:
        keys += f'<span class="key struck">{escape_html(block.struck)}</span>'
    caption = f"<p>{escape_html(block.caption)}</p>" if block.caption else ""
    items = "\n".join(area_items(block))
    return f'{caption}<p>{keys}</p>\n<ul class="areas">\n{items}\n</ul>' if items else caption


def area_items(block: Areas) -> Iterator[str]:
    """The areas, each with its description."""
    for area, (x, y, wide, high), _ in place_areas(block.root, shape=AREA_SHAPE, head=AREA_HEAD):
        looks = "folder" if area.below else f"a{area.step}{' struck' if area.struck else ''}"
        at = f"left:{x:.3f}%;top:{y:.3f}%;width:{wide:.3f}%;height:{high:.3f}%"
        title = f"{area.name}: {area.said}{f', {block.struck}' if area.struck else ''}"
        name = escape_html(area.name) if wide > AREA_NAMED else ""
        stop = ' tabindex="0"' if wide * high > AREA_REACHED else ""
        yield (
            f'<li class="{looks}"{stop} style="{at}" title="{escape_attribute(title)}">{name}'
            f'<span class="said">{escape_html(title)}</span></li>'
        )


WIDE, HIGH = 440, 270  # units of the drawing, which is scaled to the width of its column
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 12, 42
INKS = (
    ("#0b57d0", "#8ab4f8"),
    ("#b3541e", "#f2a65a"),
    ("#00705a", "#4fd1b0"),
    ("#a3348c", "#f29be0"),
    ("#4a5560", "#b9c3cd"),
)
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4")
SIGN = 3.6  # half of the width of a digit
MARGIN = 0.06  # of the range of values, above and below
REPORT_STYLE = f"""
body {{ background: light-dark({LIGHT.page}, {DARK.page}); color: light-dark({LIGHT.ink}, {DARK.ink}); max-width: 66rem; }}
.wide table {{ max-width: 62rem; width: max-content; }}
.charts {{ display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); margin: 1rem 0; }}
figure {{ margin: 0; }}
figcaption {{ font-weight: bold; margin-bottom: 0.2rem; }}
svg {{ display: block; height: auto; max-width: 40rem; width: 100%; }}
svg text {{ fill: currentColor; font-family: system-ui, sans-serif; font-size: 12px; }}
.axis {{ stroke: currentColor; stroke-opacity: 0.55; }}
.grid {{ stroke: currentColor; stroke-opacity: 0.15; }}
.range {{ fill: light-dark({LIGHT.accent}, {DARK.accent}); fill-opacity: 0.16; }}
.key {{ display: flex; flex-wrap: wrap; font-size: 0.85rem; gap: 0.1rem 1rem; list-style: none; margin: 0.2rem 0 0; padding: 0; }}
.key svg {{ display: inline-block; margin-right: 0.4rem; vertical-align: middle; width: 2rem; }}
""" + "\n".join(
    f".s{place} {{ color: light-dark({light}, {dark}); stroke: currentColor; fill: currentColor; }}"
    for place, (light, dark) in enumerate(INKS)
)


@dataclass(frozen=True)
class Curves:
    """One chart: figures by size, the sizes on a logarithmic scale.

    Attributes:
        title: The meaning of the figures, with their unit in words.
        x_label: The meaning of the sizes.
        series: By name, pairs of a size (above 0) and a figure.
        percent: Whether figures are shares, written as percentages.
        band: A range of sizes to highlight.
    """

    title: str
    x_label: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    percent: bool = False
    band: tuple[float, float] | None = None


def report(view: View, charts: Sequence[Curves]) -> str:
    """The page: the lines before the first table, the charts, and everything else."""
    place = next(
        (place for place, block in enumerate(view.blocks) if isinstance(block, Table | Bars)), len(view.blocks)
    )
    parts = [f"<h1>{escape_html(view.title)}</h1>", *page_blocks(view.blocks[:place])]
    full = [chart for chart in charts if any(chart.series.values())]
    if full:
        parts.append(f'<div class="charts">{"".join(map(curves_figure, full))}</div>')
    parts += page_blocks(view.blocks[place:])
    return page_of_parts(view.title, REPORT_STYLE, parts)


def curves_figure(chart: Curves) -> str:
    names = [*chart.series]
    keys = "".join(
        f'<li><svg viewBox="0 0 32 8" aria-hidden="true">{curve_svg(place, ((0, 4), (32, 4)))}</svg>{escape_html(name)}</li>'
        for place, name in enumerate(names)
    )
    key = f'<ul class="key">{keys}</ul>' if len(names) > 1 else ""
    return f"<figure><figcaption>{escape_html(chart.title)}</figcaption>{curves_svg(chart)}{key}</figure>"


def curves_svg(chart: Curves) -> str:
    points = [point for series in chart.series.values() for point in series]
    sizes, values = [size for size, _ in points], [value for _, value in points]
    low, high = min(sizes), max(sizes)
    bottom, top = value_range(min(values), max(values))

    def across(size: float) -> float:
        share = math.log(size / low) / math.log(high / low) if high > low else 0.5
        return LEFT + min(max(share, 0), 1) * (WIDE - LEFT - RIGHT)

    def up(value: float) -> float:
        return HIGH - BOTTOM - (value - bottom) / (top - bottom) * (HIGH - TOP - BOTTOM)

    parts = []
    if chart.band is not None and chart.band[0] <= high and chart.band[1] >= low:
        left, right = across(chart.band[0]), across(chart.band[1])
        inside = f'width="{max(right - left, 3):.1f}" height="{HIGH - TOP - BOTTOM}"'
        parts.append(f'<rect class="range" x="{left:.1f}" y="{TOP}" {inside}/>')
    marks = ticks(bottom, top)
    for value in marks:
        y = up(value)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDE - RIGHT}" y2="{y:.1f}"/>')
        parts.append(label_svg(LEFT - 6, y + 4, figure_text(value, marks[1] - marks[0], percent=chart.percent), "end"))
    for size, text in size_labels(sorted({*sizes}), across):
        last = across(size) + SIGN * len(text) > WIDE
        parts.append(
            label_svg(WIDE - 2 if last else across(size), HIGH - BOTTOM + 16, text, "end" if last else "middle")
        )
    parts.append(f'<line class="axis" x1="{LEFT}" y1="{HIGH - BOTTOM}" x2="{WIDE - RIGHT}" y2="{HIGH - BOTTOM}"/>')
    parts.append(label_svg((LEFT + WIDE - RIGHT) / 2, HIGH - 8, chart.x_label, "middle"))
    for place, series in enumerate(chart.series.values()):
        centres = [(across(size), up(value)) for size, value in series]
        parts.append(curve_svg(place, centres))
        parts += (f'<circle class="s{place % len(INKS)}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in centres)
    return f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{escape_attribute(chart.title)}">{"".join(parts)}</svg>'


def value_range(low: float, high: float) -> tuple[float, float]:
    """The range of the axis: the values and a margin, never empty."""
    room = (high - low) * MARGIN or abs(high) * MARGIN or 1.0
    return (0.0 if 0 <= low < (high - low) / 3 else low - room), high + room


def ticks(low: float, high: float) -> list[float]:
    """Round numbers of the range, at least four of them.

    >>> ticks(0, 10), ticks(1.9, 4.1)
    ([0.0, 2.5, 5.0, 7.5, 10.0], [2.0, 2.5, 3.0, 3.5, 4.0])
    """
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(step for step in (5, 2.5, 2, 1) if step * power <= (high - low) / 4) * power
    first = math.ceil(low / step - 1e-9)
    places = range(first, math.floor(high / step + 1e-9) + 1)
    return [int(place * step) if step >= 1 and step == int(step) else round(place * step, 12) for place in places]


def figure_text(value: float, step: float, *, percent: bool) -> str:
    """A figure at the axis, with as many digits as the step between two figures.

    >>> figure_text(2.75, 0.25, percent=False), figure_text(0.05, 0.05, percent=True), figure_text(0.025, 0.025, percent=True)
    ('2.75', '5%', '2.5%')
    """
    scale = 100 if percent else 1
    size = step * scale
    digits = next((digits for digits in range(12) if abs(round(size, digits) - size) < size * 1e-6), 12)
    return f"{value * scale:,.{digits}f}{'%' if percent else ''}"


def size_labels(sizes: Sequence[float], across: object) -> Iterator[tuple[float, str]]:
    """The sizes with room for a label, and their labels; always with the last size."""
    assert callable(across)
    right = float("inf")
    for size in reversed(sizes):
        text = f"{size / 1024:g}k" if size >= 1024 and size % 1024 == 0 else f"{size:,.0f}"
        half = SIGN * len(text) * (2 if across(size) + SIGN * len(text) > WIDE else 1)
        if across(size) + half + 8 < right:
            right = across(size) - half
            yield size, text


def label_svg(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape_html(text)}</text>'


def curve_svg(place: int, points: Sequence[tuple[float, float]]) -> str:
    dash = f' stroke-dasharray="{DASHES[place % len(DASHES)]}"' if DASHES[place % len(DASHES)] else ""
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline class="s{place % len(INKS)}" points="{corners}" style="fill:none" stroke-width="2"{dash}/>'
