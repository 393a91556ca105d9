"""The pictures of README.md and docs/perf.md, from the record of a whole run: one for each group, bars by text.

Toksmith's bar is drawn next to the best peers', and next to tiktoken's where longer is faster. Wrong ids have no bar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from . import hostile
from .adapters import APART, OURS
from .texts import CORPORA

Row = dict[str, Any]
Bars = Mapping[str, float]

FLOOR = "tiktoken"
PEERS = 3
# Each has a contrast of at least 3 to 1 with a light page and, because the site inverts pictures, with a dark page.
COLORS = {
    OURS: "#c2255c",
    APART: "#e0709a",
    "gigatoken": "#5f3dc4",
    "fastokens": "#1864ab",
    "snaptokens": "#2b8a3e",
    "tokie": "#dd7200",
    "wordchipper": "#0b7285",
    "rs_bpe": "#7a4a36",
    "sentencepiece": "#495057",
    "tokenizers": "#b8860b",
    FLOOR: "#7d858d",
}
WIDTH, LEFT, RIGHT, BAR, GAP, HEAD, FOOT = 450, 108, 48, 11, 12, 60, 14
FEW, THREE = ("english", "code", "european", "russian", "chinese", "japanese"), ("english", "code", "chinese")


@dataclass(frozen=True)
class Panel:
    """The bars of one group with one vocabulary.

    Attributes:
        texts: The texts from top to bottom; texts that the record lacks are left out.
    """

    title: str
    group: str
    encoding: str
    texts: Sequence[str] = CORPORA

    def bars(self, rows: Sequence[Row]) -> dict[str, Bars]:
        """The figures of each text, by engine."""
        by_text = {row["text"]: row for row in rows if (row["group"], row["encoding"]) == (self.group, self.encoding)}
        kinds = {text.rpartition("-")[0] or text: row for text, row in by_text.items()}
        return {text: bars(kinds[text]) for text in self.texts if text in kinds}


@dataclass(frozen=True)
class Plot:
    """One picture: its file, its title, and its panels, two in a row.

    Attributes:
        scaled: Whether the longest bar of each text, not of the panel, has the full length.
    """

    file: str
    title: str
    panels: tuple[Panel, ...]
    scaled: bool = False


def both_panels(group: str, texts: Sequence[str] = CORPORA) -> tuple[Panel, Panel]:
    """A group with the two vocabularies of every peer."""
    return Panel("cl100k", group, "cl100k", texts), Panel("o200k", group, "o200k", texts)


MBS = "MB of text per second, longer is faster"
README = Plot(
    "speed.svg",
    f"{MBS}; one thread",
    (
        Panel("first pass over a text, o200k", "cold", "o200k", FEW),
        Panel("later passes, o200k", "hot", "o200k", FEW),
    ),
)
PLOTS = (
    Plot("speed-cold.svg", f"First pass into arrays: {MBS}; one thread", both_panels("cold")),
    Plot("speed-hot.svg", f"Later passes into arrays: {MBS}; one thread", both_panels("hot")),
    Plot("speed-list.svg", f"Later passes into lists: {MBS}; one thread", both_panels("list")),
    Plot(
        "speed-batch.svg",
        f"Batches: {MBS}; all threads of the run",
        tuple(
            Panel(
                f"{kind}, {'first call' if passes == 'cold' else 'later calls'}, o200k",
                f"batch {kind} {passes}",
                "o200k",
                THREE,
            )
            for kind in ("arrays", "lists")
            for passes in ("cold", "hot")
        ),
    ),
    Plot(
        "speed-sentencepiece.svg",
        f"SentencePiece BPE: {MBS}; one thread",
        (
            Panel("first pass, mistral_v1", "sentencepiece cold", "mistral_v1"),
            Panel("later passes, mistral_v1", "sentencepiece hot", "mistral_v1"),
        ),
    ),
    Plot(
        "speed-decode.svg",
        "Decoding: millions of tokens per second, longer is faster; one thread",
        (
            Panel("lists to str, o200k", "decode list to str", "o200k"),
            Panel("arrays to bytes, o200k", "decode array to bytes", "o200k"),
        ),
    ),
    Plot(
        "speed-short.svg",
        "Strings of about 20 and 200 characters: ns of a call, shorter is faster; each length has its own scale",
        both_panels("short", ("short20", "short200")),
        scaled=True,
    ),
    Plot(
        "speed-hostile.svg",
        "Long runs and texts without spaces: ms, shorter is faster; each text has its own scale",
        (
            Panel("cl100k", "hostile", "cl100k", hostile.EVERY[:7]),
            Panel("cl100k", "hostile", "cl100k", hostile.EVERY[7:]),
        ),
        scaled=True,
    ),
)


def bars(row: Row) -> Bars:
    """The medians to draw: toksmith's, the best peers' with right ids, and for speeds tiktoken's even on a prefix."""
    speed = row["unit"].endswith("/s")
    right = {
        name: shown["median"]
        for name, shown in row["engines"].items()
        if name in COLORS and shown["median"] and not shown["wrong"] and (speed or name != FLOOR)
    }
    peers = [name for name in right if name not in (OURS, APART, FLOOR) and not row["engines"][name]["floor"]]
    best = sorted(peers, key=lambda name: right[name], reverse=speed)[:PEERS]
    return {name: right[name] for name in COLORS if name in right and name in (OURS, APART, FLOOR, *best)}


def draw_plot(plot: Plot, rows: Sequence[Row]) -> str:
    """A picture."""
    panels = [(panel, panel.bars(rows)) for panel in plot.panels]
    parts, top = [], float(HEAD)
    for at in range(0, len(panels), 2):
        pair_of_panels = panels[at : at + 2]
        for place, (panel, lines) in enumerate(pair_of_panels):
            parts.append(draw_panel(panel.title, lines, (place * WIDTH + LEFT, top), plot.scaled))
        top += max(sum(map(bars_height, lines.values())) for _, lines in pair_of_panels) + 40
    names = [name for name in COLORS if any(name in each for _, lines in panels for each in lines.values())]
    size = f'viewBox="0 0 {2 * WIDTH} {top - 40 + FOOT:.0f}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    white = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([start, white, draw_text(10, 18, plot.title), draw_legend(names), *parts, "</svg>", ""])


def draw_legend(names: Sequence[str]) -> str:
    """The name of each engine next to its colour."""
    parts, left = [], 10.0
    for name in names:
        parts.append(f'<rect x="{left:.1f}" y="28" width="10" height="10" fill="{COLORS[name]}"/>')
        parts.append(draw_text(left + 14, 37, name))
        left += 30 + 6.6 * len(name)
    return "\n".join(parts)


def draw_panel(title: str, lines: Mapping[str, Bars], corner: tuple[float, float], scaled: bool) -> str:
    """One panel with its title above."""
    left, top = corner
    longest = max((figure for each in lines.values() for figure in each.values()), default=1.0)
    parts = [draw_text(left, top, title, weight="bold")]
    top += 8
    for line, each in lines.items():
        most = max(each.values(), default=1.0) if scaled else longest
        parts.append(draw_text(left - 6, top + len(each) * BAR / 2 + 4, line.replace("_", " "), anchor="end"))
        for place, (engine, figure) in enumerate(each.items()):
            length = figure / most * (WIDTH - LEFT - RIGHT)
            parts.append(draw_bar(left, top + place * BAR, length, (engine, figure)))
        top += bars_height(each)
    return "\n".join(parts)


def bars_height(each: Bars) -> int:
    """The height of the bars of a text."""
    return len(each) * BAR + GAP


def draw_bar(left: float, top: float, length: float, named: tuple[str, float]) -> str:
    """One bar with its figure after it."""
    engine, figure = named
    rectangle = f'<rect x="{left}" y="{top:.0f}" width="{length:.1f}" height="{BAR - 1}" fill="{COLORS[engine]}"/>'
    label = f"{figure:,.0f}" if figure >= 10 else f"{figure:.2g}"
    return rectangle + draw_text(left + length + 4, top + BAR - 2, label, size=10)


def draw_text(x: float, y: float, words: str, *, anchor: str = "start", weight: str = "", size: int = 12) -> str:
    """A text."""
    bold = f' font-weight="{weight}"' if weight else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="#212529" font-size="{size}"{bold}>{escape(words)}</text>'
