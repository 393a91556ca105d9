"""Several views as one self-contained page, for readers without toksmith.

The rules of `_html`, and: a section for each view, which can be folded; every token can be pointed at and reached by
the tabulator key, and says then what it is; light and dark as the reader has it. No script, nothing fetched.
"""

from __future__ import annotations

from collections.abc import Sequence

from ._blocks import TokenText, View
from ._html import DRAW, PAGE, escaped, title
from ._palette import COLORS
from ._view import DrawnPart, token_parts

__all__ = ["page"]

STYLE = """body {{ background: Canvas; color: CanvasText; font-family: system-ui, sans-serif; line-height: 1.5; margin: 1rem auto; max-width: 70rem;
  padding: 0 1rem; }}
summary {{ cursor: pointer; font-weight: bold; padding: 0.3rem 0; }}
details {{ border-top: 1px solid #888888; }}
details > div {{ overflow-x: auto; padding-bottom: 0.5rem; }}
.tokens {{ font-family: ui-monospace, Menlo, Consolas, monospace; line-height: 1.9; overflow-wrap: anywhere; }}
.t {{ border-left: 2px solid #444444; color: #000000; padding: 0.1em 0; }}
.t:focus {{ outline: 3px solid #0b57d0; }}
.marked {{ border-left: 4px double #b3261e; }}
.special {{ background-color: #444444; color: #ffffff; font-weight: bold; }}
.said {{ display: none; }}
.t:hover > .said, .t:focus > .said {{ background: Canvas; border: 2px solid #767c85; bottom: 0.5rem; color: CanvasText;
  display: block; font-weight: normal; left: 0.5rem; max-width: 90vw; padding: 0.4rem 0.7rem; position: fixed; }}
{colors}
@media (forced-colors: active) {{ .t {{ border-left: 2px solid CanvasText; }} }}"""
MAIN = """<h1>{title}</h1>
<p>Point at a token, or move to it with the tab key, to read its details.</p>
{sections}"""


def page(heading: str, sections: Sequence[tuple[str, View]]) -> str:
    """The views under their headings, as one page."""
    colors = "\n".join(f".c{place} {{ background-color: {color}; }}" for place, color in enumerate(COLORS))
    drawn = "\n".join(section(name, view) for name, view in sections)
    main = MAIN.format(title=escaped(heading), sections=drawn)
    return PAGE.format(title=escaped(heading), style=STYLE.format(colors=colors), main=main)


def section(heading: str, view: View) -> str:
    """One view."""
    drawn = [f"<p>{escaped(view.title)}</p>"]
    for block in view.blocks:
        drawn += [tokens_html(block)] if isinstance(block, TokenText) else DRAW[type(block)](block, None, None)
    body = "\n".join(drawn)
    return f"<details open><summary>{escaped(heading)}</summary>\n<div>{body}</div></details>"


def tokens_html(block: TokenText) -> str:
    """A text as its tokens, each with its description."""
    caption = f"<p>{escaped(block.caption)}</p>" if block.caption else ""
    drawn = []
    parts = token_parts([view.token for view in block.tokens])
    for place, (token, own) in enumerate(zip(block.tokens, parts, strict=True)):
        names = ["t", "special" if token.special else f"c{place % len(COLORS)}"]
        if place in block.marked:
            names.append("marked")
        said = block.titles[place] if block.titles else title(token)
        body = "".join(map(part_html, own))
        drawn.append(
            f'<bdi class="{" ".join(names)}" tabindex="0">{body}<span class="said">{escaped(said)}</span></bdi>'
        )
    return f'{caption}<p class="tokens">{"<wbr>".join(drawn)}</p>'


def part_html(part: DrawnPart) -> str:
    """A part of a token; bytes of a cut character are slanted."""
    text = "<br>".join(escaped(part.text).split("\n"))
    return f"<i>{text}</i>" if part.kind == "bytes" else text
