"""The command that says what a folder costs in tokens: map."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import toksmith
from toksmith import _render

from . import params as cli
from .arguments import FilePattern, FileSpecials, Json, Name, Quiet, Special, Threads, given, loaded
from .progress import working
from .shown import Html, Svg, prepared

__all__ = ["map"]


def map(
    folder: Annotated[Path, cli.Argument("FOLDER", "Folder, such as a repository.", "the current folder")] = Path("."),
    *,
    tokenizer: Name,
    ignored: Annotated[bool, cli.Option("--all", help="Also count what .gitignore leaves out.")] = False,
    special: Special = "text",
    threads: Threads = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what the files of a folder cost in tokens, and what a prompt can do without.

    It follows .gitignore files (this needs the extra 'map'), skips binary files, links and version control, and says what
    it skipped. It finds lock files, generated and minified files, copies and base64, and says how many tokens a prompt saves
    without them. --html writes a page with a map of areas.
    """
    tok = loaded(tokenizer, pattern, special_token)
    with working(None, as_json=as_json, quiet=quiet):
        found = toksmith.explain.folder(tok, folder, ignored=ignored, special=special, **given(threads=threads))
        show = prepared(_render.called(found, tokenizer), as_json=as_json, html=html, svg=svg)
    show()
