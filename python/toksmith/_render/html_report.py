"""A result with charts as one self-contained page: text, charts, tables.

The rules of `html`, and: charts are SVG inside the page, drawn here, so that no library is needed; colours follow the
reader's light or dark scheme; a series has a dash of its own beside its colour; each table scrolls by itself on a narrow
screen. Every number of a chart is in a table of the page. The same data give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .blocks import Bars, Block, Table, View
from .html import DRAW, main, page_of
from .markup import attribute, escaped
from .palette import DARK, LIGHT

__all__ = ["Curves", "report"]

WIDE, HIGH = 440, 270  # units of the drawing; a chart is as wide as its column
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
MARGIN = 0.06  # of the values, above and below
STYLE = """body {{ background: {light.page}; color: {light.ink}; font-family: system-ui, sans-serif; line-height: 1.5; margin: 1rem auto;
  max-width: 66rem; padding: 0 1rem; }}
h1 {{ font-size: 1.3rem; margin: 0.5rem 0; }}
.wide {{ overflow-x: auto; }}
.wide table {{ max-width: 62rem; width: max-content; }}
.charts {{ display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); margin: 1rem 0; }}
figure {{ margin: 0; }}
figcaption {{ font-weight: bold; margin-bottom: 0.2rem; }}
svg {{ display: block; height: auto; max-width: 40rem; width: 100%; }}
svg text {{ fill: currentColor; font-family: system-ui, sans-serif; font-size: 12px; }}
.axis {{ stroke: currentColor; stroke-opacity: 0.55; }}
.grid {{ stroke: currentColor; stroke-opacity: 0.15; }}
.range {{ fill: {light.accent}; fill-opacity: 0.13; }}
.key {{ display: flex; flex-wrap: wrap; font-size: 0.85rem; gap: 0.1rem 1rem; list-style: none; margin: 0.2rem 0 0; padding: 0; }}
.key svg {{ display: inline-block; margin-right: 0.4rem; vertical-align: middle; width: 2rem; }}
{light_inks}
@media (prefers-color-scheme: dark) {{
body {{ background: {dark.page}; color: {dark.ink}; }}
.range {{ fill: {dark.accent}; fill-opacity: 0.22; }}
{dark_inks}
}}"""


@dataclass(frozen=True)
class Curves:
    """One chart: figures by size, the sizes on a logarithmic scale.

    Attributes:
        title: What the figures are; their unit in words.
        x_label: What the sizes are.
        series: By name, pairs of a size (above 0) and a figure.
        percent: Whether figures are shares, written as percentages.
        band: A range of sizes to point out.
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
    parts = [f"<h1>{escaped(view.title)}</h1>", *drawn(view.blocks[:place])]
    kept = [chart for chart in charts if any(chart.series.values())]
    if kept:
        parts.append(f'<div class="charts">{"".join(map(figure, kept))}</div>')
    parts += drawn(view.blocks[place:])
    inks = [
        [f".s{place} {{ stroke: {pair[dark]}; fill: {pair[dark]}; }}" for place, pair in enumerate(INKS)]
        for dark in (0, 1)
    ]
    style = STYLE.format(light=LIGHT, dark=DARK, light_inks="\n".join(inks[0]), dark_inks="\n".join(inks[1]))
    return page_of(view.title, style, main("\n".join(parts)))


def drawn(blocks: Sequence[Block]) -> Iterator[str]:
    """The blocks, those that may be wide in boxes that scroll."""
    for block in blocks:
        inner = "\n".join(DRAW[type(block)](block, None, None))
        yield f'<div class="wide" tabindex="0">{inner}</div>' if isinstance(block, Table | Bars) else inner


def figure(chart: Curves) -> str:
    """One chart with its title and its key."""
    names = [*chart.series]
    keys = "".join(
        f'<li><svg viewBox="0 0 32 8" aria-hidden="true">{line(place, ((0, 4), (32, 4)))}</svg>{escaped(name)}</li>'
        for place, name in enumerate(names)
    )
    key = f'<ul class="key">{keys}</ul>' if len(names) > 1 else ""
    return f"<figure><figcaption>{escaped(chart.title)}</figcaption>{svg(chart)}{key}</figure>"


def svg(chart: Curves) -> str:
    """The drawing."""
    points = [point for series in chart.series.values() for point in series]
    sizes, values = [size for size, _ in points], [value for _, value in points]
    low, high = min(sizes), max(sizes)
    bottom, top = spread(min(values), max(values))

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
        parts.append(text(LEFT - 6, y + 4, figure_text(value, marks[1] - marks[0], percent=chart.percent), "end"))
    for size, said in size_labels(sorted({*sizes}), across):
        last = across(size) + SIGN * len(said) > WIDE
        parts.append(text(WIDE - 2 if last else across(size), HIGH - BOTTOM + 16, said, "end" if last else "middle"))
    parts.append(f'<line class="axis" x1="{LEFT}" y1="{HIGH - BOTTOM}" x2="{WIDE - RIGHT}" y2="{HIGH - BOTTOM}"/>')
    parts.append(text((LEFT + WIDE - RIGHT) / 2, HIGH - 8, chart.x_label, "middle"))
    for place, series in enumerate(chart.series.values()):
        placed = [(across(size), up(value)) for size, value in series]
        parts.append(line(place, placed))
        parts += (f'<circle class="s{place % len(INKS)}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in placed)
    return f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{attribute(chart.title)}">{"".join(parts)}</svg>'


def spread(low: float, high: float) -> tuple[float, float]:
    """A little more than the values, and never nothing."""
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
    found = range(first, math.floor(high / step + 1e-9) + 1)
    return [int(place * step) if step >= 1 and step == int(step) else round(place * step, 12) for place in found]


def figure_text(value: float, step: float, *, percent: bool) -> str:
    """A figure at the axis, with as many digits as the step between two of them has.

    >>> figure_text(2.75, 0.25, percent=False), figure_text(0.05, 0.05, percent=True), figure_text(0.025, 0.025, percent=True)
    ('2.75', '5%', '2.5%')
    """
    scale = 100 if percent else 1
    size = step * scale
    digits = next((digits for digits in range(12) if abs(round(size, digits) - size) < size * 1e-6), 12)
    return f"{value * scale:,.{digits}f}{'%' if percent else ''}"


def size_labels(sizes: Sequence[float], across: object) -> Iterator[tuple[float, str]]:
    """The sizes that have room for a label, the last one always."""
    assert callable(across)
    right = float("inf")
    for size in reversed(sizes):
        said = f"{size / 1024:g}k" if size >= 1024 and size % 1024 == 0 else f"{size:,.0f}"
        half = SIGN * len(said) * (2 if across(size) + SIGN * len(said) > WIDE else 1)
        if across(size) + half + 8 < right:
            right = across(size) - half
            yield size, said


def text(x: float, y: float, said: str, anchor: str) -> str:
    """A label."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escaped(said)}</text>'


def line(place: int, points: Sequence[tuple[float, float]]) -> str:
    """A curve through points."""
    dash = f' stroke-dasharray="{DASHES[place % len(DASHES)]}"' if DASHES[place % len(DASHES)] else ""
    placed = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline class="s{place % len(INKS)}" points="{placed}" style="fill:none" stroke-width="2"{dash}/>'
