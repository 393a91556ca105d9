"""The chart of README.md: megabytes a second by engine and language, as an SVG made from a record of a whole run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from .adapters import OURS

Row = dict[str, Any]

ENCODING = "o200k"
PANELS = {"cold": "first pass over a text", "hot": "later passes"}
LANGUAGES = ("english", "code", "european", "russian", "arabic", "hindi", "chinese", "japanese", "korean")
COLORS = {OURS: "#c2255c", "gigatoken": "#5f3dc4", "fastokens": "#1864ab", "tiktoken": "#868e96"}
LEFT, TOP, WIDTH, BAR, GAP = 70, 64, 360, 7, 8


def svg(rows: Sequence[Row]) -> str:
    """The chart: one panel for each kind of pass, one bar for each engine in each language."""
    height = TOP + len(LANGUAGES) * (len(COLORS) * BAR + GAP) + 16
    width = len(PANELS) * (LEFT + WIDTH) + 20
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
    parts = [f'{start}font-size="12"><rect width="100%" height="100%" fill="#fff"/>', legend()]
    parts += [panel(rows, group, place) for place, group in enumerate(PANELS)]
    return "\n".join([*parts, "</svg>", ""])


def legend() -> str:
    """The name of each engine in its colour."""
    names = (text(LEFT + 110 * place, 20, name, fill=color) for place, (name, color) in enumerate(COLORS.items()))
    return "\n".join([*names, text(LEFT + 110 * len(COLORS), 20, f"MB of text per second, one thread, {ENCODING}")])


def panel(rows: Sequence[Row], group: str, place: int) -> str:
    """The bars of one kind of pass."""
    found = {language: figures(rows, group, language) for language in LANGUAGES}
    most = max((figure for each in found.values() for figure in each.values()), default=1.0)
    left = LEFT + place * (LEFT + WIDTH)
    parts = [text(left, 48, PANELS[group], weight="bold")]
    for line, (language, each) in enumerate(found.items()):
        top = TOP + line * (len(COLORS) * BAR + GAP)
        parts.append(text(left - 6, top + len(COLORS) * BAR / 2 + 4, language, anchor="end"))
        for at, (engine, figure) in enumerate(each.items()):
            parts.append(bar(left, top + at * BAR, figure / most * (WIDTH - 40), (engine, figure)))
    return "\n".join(parts)


def figures(rows: Sequence[Row], group: str, language: str) -> dict[str, float]:
    """The median of each engine whose ids are right."""
    for row in rows:
        if (row["group"], row["encoding"], row["text"]) == (group, ENCODING, language):
            shown = {name: row["engines"].get(name) for name in COLORS}
            return {
                name: each["median"] for name, each in shown.items() if each and each["median"] and not each["wrong"]
            }
    return {}


def bar(left: float, top: float, length: float, named: tuple[str, float]) -> str:
    """One bar with its figure behind it."""
    engine, figure = named
    rectangle = f'<rect x="{left}" y="{top}" width="{length:.1f}" height="{BAR - 1}" fill="{COLORS[engine]}"/>'
    return rectangle + text(left + length + 4, top + BAR - 1, f"{figure:.0f}", size=7)


def text(
    x: float, y: float, words: str, *, anchor: str = "start", fill: str = "#212529", weight: str = "", size: int = 12
) -> str:
    """A text."""
    bold = f' font-weight="{weight}"' if weight else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{fill}" font-size="{size}"{bold}>{escape(words)}</text>'
