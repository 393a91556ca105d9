"""`toksmith shards` and `merge-shards`: what a folder of shards contains, and many shards as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import toksmith

from . import params as cli
from .arguments import Json
from .flags import flagged
from .jobs import SINKS, print_done
from .progress import working
from .shown import prepared

__all__ = ["merge_shards", "shards"]

Folder = Annotated[Path, cli.Argument(metavar="DIR", help="Folder or URL of shards, the -o of 'tokenize'.")]
Folders = Annotated[list[Path], cli.Argument(metavar="DIR", help="Folders or URLs of finished jobs, in order.")]
Output = Annotated[
    Path, cli.Option("--output", "-o", help="New folder for the one shard; its parent must exist. Or a URL.")
]
To = Annotated[
    str | None,
    cli.Option(help="Format, as of 'tokenize'.", default="that of the first folder", complete=lambda _: SINKS),
]
First = Annotated[int | None, cli.Option(help="How many documents to show as text.", default="3")]
Quiet = Annotated[bool, cli.Option("--quiet", "-q", help="Print no progress and no summary.")]
FLAGS = {"to": "--to", "folders": "DIR", "folder": "--output", "first": "--first"}


def shards(folder: Folder, *, first: First = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Print what is in a folder of shards.

    Documents, ids, lengths, compression by source, and the first documents.
    """
    with flagged(FLAGS), working(as_json=as_json, quiet=quiet):
        show = prepared(toksmith.shards(folder, **({} if first is None else {"first": first})), as_json=as_json)
    show()


def merge_shards(
    folders: Folders, *, output: Output, to: To = None, as_json: Json = False, quiet: Quiet = False
) -> None:
    """Write the shards of finished jobs as one shard, in bounded memory."""
    with flagged(FLAGS), working(as_json=as_json, quiet=quiet):
        done = toksmith.merge_shards(folders, output, to=to)
    print_done(done, as_json=as_json, quiet=quiet)
