"""Token views inside of pages, made when the site is built: `toksmith.snapshot` makes each, and a frame shows it.

A document asks for one by a comment on lines of its own, whose words are Python and give a snapshot:
`<!-- snapshot: toksmith.snapshot({"low": toksmith.train("low lower", 260)}, "lower") -->`. It stays a comment where the
document is read in the repository, and a build of toksmith without `snapshot` shows nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

import toksmith

__all__ = ["embedded"]

ASKED = re.compile(r"<!-- snapshot: (.+) -->", re.DOTALL)


def embedded(comment: str, place: str, folder: Path) -> str:
    """What a comment of the page at `place` becomes: a frame with the view, or nothing.

    Args:
        comment: The comment.
        place: The path of the page's Markdown on the site.
        folder: The folder of all pages; the view is written beside this one.
    Raises:
        SystemExit: The words of the comment failed.
    """
    asked = ASKED.fullmatch(comment)
    if asked is None or "snapshot" not in toksmith.__all__:
        return ""
    page = folder / place
    page.parent.mkdir(parents=True, exist_ok=True)
    number = len([*page.parent.glob(f"{page.stem}-view-*.html")]) + 1
    view = page.with_name(f"{page.stem}-view-{number}.html")
    try:
        # The project's own words, as its examples are.
        eval(asked[1], {"toksmith": toksmith}).save(view)
    except Exception as error:
        raise SystemExit(f"{place}: {comment} fails: {type(error).__name__}: {error}") from error
    # Relative to the page's Markdown: the generator changes the addresses of frames as it does those of links.
    frame = f'<iframe class="view" src="{view.name}" title="The tokens of a text" loading="lazy"></iframe>'
    return f"\n{frame}\n\n[The same view in a window of its own]({view.name})\n\n"
