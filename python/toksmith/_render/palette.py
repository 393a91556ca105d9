"""The colours of tokens, for every medium: terminals, notebooks, pages, pictures and the playground.

The rules: text, marks and bytes have a contrast of at least 4.5 to 1 on every token, and neighbours differ even where a
terminal has 16 colours. `tests/render/test_render.py` computes both, and compares the style sheet of the playground.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COLORS", "DARK", "LIGHT", "TICK", "Colours"]

TICK = "▏"


class Colours(NamedTuple):
    """One scheme of colours.

    Attributes:
        page, ink: The background and the text on it, which is also the text on tokens.
        tokens: The backgrounds of tokens, in turn.
        mark, raw: On tokens: white space and escapes; bytes that are not a character.
        tick, alone: The line before a token, and before one that other tokenizers do not begin there.
        quiet: The background of tokens that a view is not about.
        special, on_special: The background of a special token, and the text on it.
        accent: Bars, and what has the focus.
    """

    page: str
    ink: str
    tokens: tuple[str, ...]
    mark: str
    raw: str
    tick: str
    alone: str
    quiet: str
    special: str
    on_special: str
    accent: str


LIGHT = Colours(
    page="#ffffff",
    ink="#17191c",
    tokens=("#ffd75f", "#87c9ff", "#8fe88f", "#ff9ff0", "#7fe5e5"),
    mark="#444444",
    raw="#8b0000",
    tick="#444444",
    alone="#b3261e",
    quiet="#d5d8dc",
    special="#33373d",
    on_special="#ffffff",
    accent="#0b57d0",
)
DARK = Colours(
    page="#15171a",
    ink="#eceef1",
    tokens=("#6b4a00", "#004a72", "#005a2c", "#6b2a62", "#00565c"),
    mark="#d3d8de",
    raw="#ffc9c2",
    tick="#d3d8de",
    alone="#ff9d94",
    quiet="#3d434b",
    special="#e6e9ed",
    on_special="#15171a",
    accent="#8ab4f8",
)
COLORS = LIGHT.tokens
