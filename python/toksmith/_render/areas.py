"""The layout of a treemap: a rectangle for each area of a tree of sizes.

An area is proportional to its size, and as square as its neighbours allow (squarified treemaps: Bruls, Huizing and van Wijk
2000). Positions are in percent, so that the drawing is as wide as its page. Left out: the meaning of a size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .blocks import Area, Areas, Bars

__all__ = ["PlacedArea", "first_bars", "place_areas", "squarify"]

Rectangle = tuple[float, float, float, float]


class PlacedArea(NamedTuple):
    """An area, its rectangle (x, y, width and height in percent of the drawing), and its depth in the tree."""

    area: Area
    place: Rectangle
    depth: int


def squarify(sizes: Sequence[float], room: Rectangle, shape: float = 1.0) -> list[Rectangle]:
    """Rectangles of these sizes that fill `room`, the largest first.

    Args:
        sizes: Above 0, in descending order.
        room: x, y, width and height.
        shape: The drawn width of a unit of width, relative to the drawn height of a unit of height.

    >>> squarify([6, 2, 1, 1], (0, 0, 100, 100))[:2]
    [(0, 0.0, 60.0, 100.0), (60.0, 0, 40.0, 50.0)]
    """
    rectangles: list[Rectangle] = []
    x, y, wide, high = room
    scale = wide * high / sum(sizes) if sizes else 0.0
    at = 0
    while at < len(sizes):
        upright = wide * shape >= high  # the next strip is a column
        side = high if upright else wide
        drawn = shape if upright else 1 / shape  # scale of the strip's thickness, relative to that of its side
        end, total = at + 1, sizes[at]
        worst = worst_ratio(sizes[at], sizes[at], total, scale / side / side * drawn)
        while end < len(sizes):
            more = total + sizes[end]
            next_worst = worst_ratio(sizes[at], sizes[end], more, scale / side / side * drawn)
            if next_worst > worst:
                break
            worst, total, end = next_worst, more, end + 1
        thick = total * scale / side
        along = 0.0
        for size in sizes[at:end]:
            long = side * size / total
            rectangles.append((x, y + along, thick, long) if upright else (x + along, y, long, thick))
            along += long
        x, y, wide, high = (x + thick, y, wide - thick, high) if upright else (x, y + thick, wide, high - thick)
        at = end
    return rectangles


def worst_ratio(largest: float, smallest: float, total: float, scale: float) -> float:
    """The ratio of the sides of the longest rectangle of a strip."""
    thick = total * scale  # relative to the strip's side
    return max(thick / (smallest / total), (largest / total) / thick)


def place_areas(
    root: Area, *, shape: float, deepest: int = 99, most: int = 200, head: float = 0.0
) -> Iterator[PlacedArea]:
    """The areas of a tree below its root, each before its own parts; the smallest ones of a folder share one area.

    Args:
        shape: The width of the drawing, relative to its height.
        deepest: The maximum number of levels to draw.
        most: The maximum number of areas to draw in one folder.
        head: The height of a folder's name, in percent of the drawing.
    """

    def inside(area: Area, place: Rectangle, depth: int) -> Iterator[PlacedArea]:
        below = largest_areas(area.below, most)
        for each, rectangle in zip(below, squarify([each.size for each in below], place, shape), strict=True):
            yield PlacedArea(each, rectangle, depth)
            x, y, wide, high = rectangle
            if each.below and depth < deepest and high > 2 * head:
                yield from inside(each, (x, y + head, wide, high - head), depth + 1)

    yield from inside(root, (0.0, 0.0, 100.0, 100.0), 1)


def largest_areas(areas: Sequence[Area], most: int) -> list[Area]:
    """At most `most` areas, the largest first; one of them stands for all smaller ones."""
    ordered = sorted((each for each in areas if each.size > 0), key=lambda each: -each.size)
    if len(ordered) <= most:
        return ordered
    first, rest = ordered[: most - 1], ordered[most - 1 :]
    size = sum(each.size for each in rest)
    about = f"{size:,.0f}", f"{size:,.0f} in {len(rest):,} smaller ones"
    other = Area(f"{len(rest):,} more", size, *about, max(each.step for each in rest))
    return sorted([*first, other], key=lambda each: -each.size)


def first_bars(block: Areas, most: int = 12) -> Bars:
    """The first level with several areas, as bars."""
    root, names = block.root, ""
    while len(root.below) == 1 and root.below[0].below:
        root = root.below[0]
        names += root.name
    struck = f", {block.struck}" if block.struck else ""
    bars = [
        (names + each.name, each.size, each.figure + (struck if each.struck else ""))
        for each in largest_areas(root.below, most)
    ]
    return Bars(bars, block.caption)
