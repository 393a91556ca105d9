"""Token views in pages: `toksmith.snapshot` makes each when the site is built, and a frame shows it.

A document requests a view with a comment on separate lines, which holds a Python expression for a snapshot:
`<!-- snapshot: toksmith.snapshot({"low": toksmith.train("low lower", 260)}, "lower") -->`. In the repository it stays a
comment, and a build of toksmith without `snapshot` shows nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

import toksmith

__all__ = ["embed_snapshot"]

ASKED = re.compile(r"<!-- snapshot: (.+) -->", re.DOTALL)


def embed_snapshot(comment: str, place: str, folder: Path) -> str:
    """The replacement of a comment of the page at `place`: a frame with the view, or nothing.

    Args:
        comment: The comment.
        place: The path of the page's Markdown on the site.
        folder: The folder of all pages; the view is written next to this page.
    Raises:
        SystemExit: The expression of the comment failed.
    """
    match = ASKED.fullmatch(comment)
    if match is None or "snapshot" not in toksmith.__all__:
        return ""
    page = folder / place
    page.parent.mkdir(parents=True, exist_ok=True)
    number = len([*page.parent.glob(f"{page.stem}-view-*.html")]) + 1
    view = page.with_name(f"{page.stem}-view-{number}.html")
    try:
        # The expression comes from the project, as its examples do.
        eval(match[1], {"toksmith": toksmith}).save(view)
    except Exception as error:
        raise SystemExit(f"{place}: {comment} fails: {type(error).__name__}: {error}") from error
    # Relative to the page's Markdown: the generator rewrites addresses of frames and of links.
    frame = f'<iframe class="view" src="{view.name}" title="The tokens of a text" loading="lazy"></iframe>'
    return f"\n{frame}\n\n[The same view in a window of its own]({view.name})\n\n"
