"""Token views inside of pages, made when the site is built: `toksmith snapshot` writes a page, and the document shows it.

A document asks for one by a comment of its own on a line, with the arguments of the command as in a shell:
`<!-- snapshot: -t words.toksmith --text 'low lower' -->`. Without the command in this build of toksmith nothing is shown.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from toksmith._cli import COMMANDS

__all__ = ["embedded"]

ASKED = re.compile(r"<!-- snapshot: (.+) -->")


def embedded(comment: str, place: str, folder: Path) -> str:
    """What a comment of the page at `place` becomes: a frame with the view, or nothing.

    Args:
        comment: The comment.
        place: The path of the page's Markdown on the site.
        folder: The folder of all pages; the view is written beside this one.
    Raises:
        SystemExit: The command refused its arguments.
    """
    asked = ASKED.fullmatch(comment)
    if asked is None or "snapshot" not in {row.name for row in COMMANDS}:
        return ""
    page = folder / place
    page.parent.mkdir(parents=True, exist_ok=True)
    number = len([*page.parent.glob(f"{page.stem}-view-*.html")]) + 1
    view = page.with_name(f"{page.stem}-view-{number}.html")
    command = [sys.executable, "-m", "toksmith", "snapshot", *shlex.split(asked[1]), "-o", str(view)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, encoding="utf-8")
    if ran.returncode:
        raise SystemExit(f"{place}: {comment} failed: {ran.stderr.strip()}")
    return f'<iframe class="view" src="{frame(page, view)}" title="Tokens of a text" loading="lazy"></iframe>\n'


def frame(page: Path, view: Path) -> str:
    """The address of a view, relative to that of its page, which is a folder unless the page is an index."""
    return view.name if page.name == "index.md" else f"../{view.name}"
