"""The tokens of a text as HTML for a page with a script and a style sheet of its own, which find them by their places.

The rules of `html`, but classes instead of styles, because the page's policy allows no inline style: `t` is a token, `s`
its first stretch, `alone` a beginning that other tokenizers do not share, `special`, or `c0` to `c4` for its colour;
`data-i` is its place. Left out: what a token says of itself, which the script adds.
"""

from __future__ import annotations

from collections.abc import Sequence

from .markup import escaped
from .palette import COLORS
from .view import TokenRun, TokenView, clusters

__all__ = ["linked_tokens"]


def linked_tokens(tokens: Sequence[TokenView], marked: frozenset[int] = frozenset()) -> str:
    """The tokens as elements; each has at least one, and those of its stretches have its place.

    Args:
        tokens: In order; together they are the text.
        marked: The places of tokens that begin where other tokenizers do not cut.

    >>> linked_tokens([TokenView(97, b"a"), TokenView(60, b"<", special=True)])
    '<bdi class="t c0 s" data-i="0">a</bdi><wbr><bdi class="t special s" data-i="1">&lt;</bdi>'
    """
    begun: set[int] = set()

    def stretch(place: int, inner: str) -> str:
        names = ["t", "special" if tokens[place].special else f"c{place % len(COLORS)}"]
        if place not in begun:
            begun.add(place)
            names += ["s", *(["alone"] if place in marked else [])]
        return f'<bdi class="{" ".join(names)}" data-i="{place}">{inner}</bdi>'

    found = []
    for cluster in clusters([view.token for view in tokens]):
        drawn = []
        for each in cluster:
            if isinstance(each, TokenRun):
                text = escaped("".join(part.text for part in each.parts))
                drawn.append(stretch(each.place, text.replace("\n", "<br>")))
                continue
            byte, numbers = 0, []
            for place, count in each.shares:
                numbers.append(stretch(place, "".join(str(byte + number) for number in range(1, count + 1))))
                byte += count
            drawn.append(f"<ruby>{escaped(each.part.text)}<rt>{''.join(numbers)}</rt></ruby>")
        found.append(drawn[0] if len(drawn) == 1 else f'<span class="whole">{"".join(drawn)}</span>')
    return "<wbr>".join(found)
