"""Several views as one self-contained page, for readers without toksmith.

The rules of `html`, and: a section for each view, which can be folded; every token can be pointed at and reached by
the tabulator key, and says then what it is; light and dark as the reader has it. No script, nothing fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .blocks import TokenText, View
from .html import DRAW, drawn_clusters, joined, main, page_of, title
from .markup import escaped
from .palette import DARK, LIGHT, Colours
from .view import DrawnPart

__all__ = ["page"]

STYLE = """body {{ background: Canvas; color: CanvasText; font-family: system-ui, sans-serif; line-height: 1.5; margin: 1rem auto; max-width: 70rem;
  padding: 0 1rem; }}
summary {{ cursor: pointer; font-weight: bold; padding: 0.3rem 0; }}
details {{ border-top: 1px solid #888888; }}
details > div {{ overflow-x: auto; padding-bottom: 0.5rem; }}
.tokens {{ font-family: ui-monospace, Menlo, Consolas, monospace; line-height: 2.3; }}
.t {{ padding: 0.1em 0; white-space: nowrap; }}
.first {{ border-left: 2px solid; }}
.said {{ display: none; }}
.t:hover > .said, .t:focus > .said {{ background: Canvas; border: 2px solid #767c85; bottom: 0.5rem; color: CanvasText;
  display: block; font-weight: normal; left: 0.5rem; max-width: 90vw; padding: 0.4rem 0.7rem; position: fixed; white-space: normal; }}
{light}
@media (prefers-color-scheme: dark) {{
{dark}
}}
@media (forced-colors: active) {{ .first {{ border-left: 2px solid CanvasText; }} }}"""
MAIN = """<h1>{title}</h1>
<p>Point at a token, or move to it with the tab key, to read its details.</p>
{sections}"""


def page(heading: str, sections: Sequence[tuple[str, View]]) -> str:
    """The views under their headings, as one page."""
    drawn = "\n".join(section(name, view) for name, view in sections)
    style = STYLE.format(light=rules(LIGHT), dark=rules(DARK))
    return page_of(heading, f"\n{style}\n", main(MAIN.format(title=escaped(heading), sections=drawn)))


def rules(colours: Colours) -> str:
    """The rules of a scheme."""
    found = [
        f".t {{ color: {colours.ink}; }}",
        f".first {{ border-left-color: {colours.tick}; }}",
        f".marked {{ border-left: 4px double {colours.alone}; }}",
        f".t:focus {{ outline: 3px solid {colours.accent}; }}",
        f".mark {{ color: {colours.mark}; }}",
        f".raw {{ color: {colours.raw}; font-style: italic; }}",
        *(f".c{place} {{ background-color: {color}; }}" for place, color in enumerate(colours.tokens)),
        f".quiet {{ background-color: {colours.quiet}; }}",
        f".special, .special * {{ background-color: {colours.special}; color: {colours.on_special}; font-weight: bold; }}",
    ]
    return "\n".join(found)


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
    drawn = map(joined, drawn_clusters(block, PageTokens(block), None))
    return f'{caption}<p class="tokens">{"<wbr>".join(drawn)}</p>'


class PageTokens(NamedTuple):
    """Tokens with classes; the first stretch of each can have the focus, and then says what the token is."""

    block: TokenText

    def token(self, place: int, inner: str, *, first: bool) -> str:
        """A stretch of a token."""
        view, block = self.block.tokens[place], self.block
        quiet = "quiet" if place in block.quiet else f"c{place % len(LIGHT.tokens)}"
        names = ["t", "special" if view.special else quiet]
        if not first:
            return f'<bdi class="{" ".join(names)}">{inner}</bdi>'
        names += ["first", *(["marked"] if place in block.marked else [])]
        said = escaped(block.titles[place] if block.titles else title(view))
        return f'<bdi class="{" ".join(names)}" tabindex="0">{inner}<span class="said">{said}</span></bdi>'

    def part(self, place: int, part: DrawnPart) -> str:
        """A part of it."""
        text = "<br>".join(escaped(part.text).split("\n"))
        names = {"mark": "mark", "bytes": "raw"}
        return f'<span class="{names[part.kind]}">{text}</span>' if part.kind in names else text
