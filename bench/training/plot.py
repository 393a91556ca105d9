"""Draws how the time grows, as an SVG: one panel for each series, one line for each engine, both axes logarithmic.

On such axes linear growth has the slope of the dashed line; a flatter line is better than linear.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from ..adapters import OURS
from .report import series
from .verdicts import Rows

Points = Sequence[tuple[float, float]]
WIDTH, HEIGHT, LEFT, TOP, GAP = 380, 260, 60, 40, 80
COLORS = {OURS: "#c2255c", "rustbpe": "#1864ab", "tokenizers": "#2b8a3e", "bpeasy": "#e67700", "gigatoken": "#5f3dc4"}
TITLES = {"corpus": "seconds by MB of english, 32,768 tokens", "vocabulary": "seconds by tokens, english 10 MB"}


def draw_series(rows: Rows) -> str:
    """The plot of a record's rows."""
    panels = [draw_panel(TITLES[name], series(rows, name), place) for place, name in enumerate(TITLES)]
    width = 2 * (LEFT + WIDTH) + GAP
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 50}" '
    style = 'font-family="sans-serif" font-size="12" fill="none"><rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([start + style, *panels, "</svg>", ""])


def draw_panel(title: str, lines: Mapping[str, Points], place: int) -> str:
    """One series."""
    left = LEFT + place * (WIDTH + GAP + 20)
    parts = [f'<g transform="translate({left},{TOP})">', draw_label(0, -16, title)]
    points = [point for each in lines.values() for point in each]
    if points:
        across = Axis([x for x, _ in points], WIDTH)
        up = Axis([y for _, y in points], HEIGHT)
        parts += [draw_axes(across, up), draw_linear_growth(lines, across, up)]
        parts += [draw_line(name, each, across, up) for name, each in lines.items()]
    return "\n".join([*parts, "</g>"])


class Axis:
    """Positions of values on an axis of powers of ten, a little wider than the values."""

    def __init__(self, values: Sequence[float], length: int) -> None:
        self.low, self.high = math.log10(min(values)) - 0.1, math.log10(max(values)) + 0.1
        self.length = length

    def place(self, value: float) -> float:
        """The distance of a value from the start of the axis."""
        return (math.log10(value) - self.low) / (self.high - self.low) * self.length

    def ticks(self) -> list[float]:
        """1, 2 and 5 times powers of ten, within the axis."""
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        values = (step * 10.0**power for power in powers for step in (1, 2, 5))
        return [value for value in values if self.low <= math.log10(value) <= self.high]


def draw_axes(across: Axis, up: Axis) -> str:
    """The axes with their numbers."""
    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" stroke="#868e96"/>']
    parts += [draw_label(across.place(value), HEIGHT + 18, f"{value:,g}", "middle") for value in across.ticks()]
    parts += [draw_label(-6, HEIGHT - up.place(value) + 4, f"{value:,g}", "end") for value in up.ticks()]
    return "\n".join(parts)


def draw_line(name: str, points: Points, across: Axis, up: Axis) -> str:
    """One engine."""
    color = COLORS.get(name, "#495057")
    places = [(across.place(x), HEIGHT - up.place(y)) for x, y in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in places)
    x, y = places[len(places) // 2]
    return f'<polyline points="{path}" stroke="{color}" stroke-width="2"/>{dots}' + draw_label(
        x, y - 8, name, "middle", color
    )


def draw_linear_growth(lines: Mapping[str, Points], across: Axis, up: Axis) -> str:
    """Linear growth from toksmith's first point."""
    if OURS not in lines:
        return ""
    (first_x, first_y), (last_x, _) = lines[OURS][0], lines[OURS][-1]
    ends = [(first_x, first_y), (last_x, first_y * last_x / first_x)]
    (x1, y1), (x2, y2) = [(across.place(x), HEIGHT - up.place(y)) for x, y in ends]
    clip = f'<clipPath id="inside"><rect width="{WIDTH}" height="{HEIGHT}"/></clipPath>'
    return (
        f'{clip}<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#adb5bd" '
        f'stroke-dasharray="5 4" clip-path="url(#inside)"/>'
    )


def draw_label(x: float, y: float, text: str, anchor: str = "start", color: str = "#212529") -> str:
    """A text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'
