"""A treemap on a page of its own: areas placed by percent, each reached by the tabulator key, which says what it is.

The rules of `html`, but with a style sheet: a page is not sanitised. The names are a list, so that a reader that draws no
areas reads them in order, each folder before what it holds. No script.
"""

from __future__ import annotations

from collections.abc import Iterator

from .areas import placed
from .blocks import Areas
from .markup import attribute, escaped

__all__ = ["AREAS_STYLE", "draw_areas"]

SHAPE = 1.8  # of the drawing: its width relative to its height
NAMED = 1.5  # percent of its width, from which an area has its name in it
REACHED = 2.0  # of the 10,000 parts of the drawing, from which the tabulator key reaches an area
HEAD = 3.4  # percent of its height, of a folder's name
STEPS = (("#cfe6ff", "#173a5c"), ("#e4edc0", "#374400"), ("#ffe0a3", "#5c4300"), ("#ffc4b3", "#6a2a18"))
AREAS_STYLE = (
    """
.areas { position: relative; width: 100%; height: min(52rem, max(30rem, 55vw)); list-style: none; margin: .5rem 0; padding: 0; }
.areas li { position: absolute; overflow: hidden; border: 1px solid Canvas; box-sizing: border-box; font-size: .8rem; line-height: 1.25; padding: 0 .2em;
  white-space: nowrap; text-overflow: ellipsis; color: #17191c; }
.areas .folder { background: #d5d8dc; font-weight: 600; }
.areas li:focus { outline: 3px solid #0b57d0; outline-offset: -3px; z-index: 1; }
.areas .said { display: none; }
.areas li:hover > .said, .areas li:focus > .said { display: block; position: fixed; left: .5rem; bottom: .5rem; z-index: 2; background: Canvas;
  color: CanvasText; border: 2px solid #767c85; padding: .4rem .7rem; font-weight: 400; white-space: normal; max-width: 90vw; }
.key { display: inline-block; padding: 0 .5em; margin-right: .5em; color: #17191c; border: 1px solid #767c85; }
"""
    + "\n".join(f".a{step} {{ background-color: {light}; }}" for step, (light, _) in enumerate(STEPS))
    + """
.struck { background-image: repeating-linear-gradient(45deg, transparent 0 5px, rgb(0 0 0 / 22%) 5px 7px); text-decoration: line-through; }
@media (prefers-color-scheme: dark) {
.areas li, .key { color: #eceef1; }
.areas .folder { background: #383d44; }
.areas li:focus { outline-color: #8ab4f8; }
"""
    + "\n".join(f".a{step} {{ background-color: {dark}; }}" for step, (_, dark) in enumerate(STEPS))
    + """
.struck { background-image: repeating-linear-gradient(45deg, transparent 0 5px, rgb(255 255 255 / 25%) 5px 7px); }
}
@media (forced-colors: active) { .areas li { border: 1px solid CanvasText; } }"""
)


def draw_areas(block: Areas) -> str:
    """The drawing, with its caption and what its colours mean."""
    keys = "".join(f'<span class="key a{step}">{escaped(said)}</span>' for step, said in enumerate(block.scale))
    if block.struck:
        keys += f'<span class="key struck">{escaped(block.struck)}</span>'
    caption = f"<p>{escaped(block.caption)}</p>" if block.caption else ""
    items = "\n".join(drawn(block))
    return f'{caption}<p>{keys}</p>\n<ul class="areas">\n{items}\n</ul>' if items else caption


def drawn(block: Areas) -> Iterator[str]:
    """The areas, each with what it says."""
    for area, (x, y, wide, high), _ in placed(block.root, shape=SHAPE, head=HEAD):
        looks = "folder" if area.below else f"a{area.step}{' struck' if area.struck else ''}"
        at = f"left:{x:.3f}%;top:{y:.3f}%;width:{wide:.3f}%;height:{high:.3f}%"
        said = f"{area.name}: {area.said}{f', {block.struck}' if area.struck else ''}"
        name = escaped(area.name) if wide > NAMED else ""
        stop = ' tabindex="0"' if wide * high > REACHED else ""
        yield (
            f'<li class="{looks}"{stop} style="{at}" title="{attribute(said)}">{name}'
            f'<span class="said">{escaped(said)}</span></li>'
        )
