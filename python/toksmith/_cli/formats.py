"""`toksmith formats`: the file formats, and the names of files that mean each."""

from __future__ import annotations

import textwrap
from itertools import zip_longest

import toksmith

from .arguments import Json
from .printed import print_json, print_lines

__all__ = ["formats"]

COLUMNS = 80


def formats(*, as_json: Json = False) -> None:
    """List the file formats, and the file names that mean each.

    'train -o' and 'convert' choose the format by the name of the file, unless --to does. Loading looks at the content.
    """
    rows = toksmith.formats().values()
    if as_json:
        print_json([{"name": row.name, "suffixes": row.suffixes, "doc": doc_of(row)} for row in rows])
        return
    width = max(len(row.name) for row in rows) + 2
    print_lines(f"{'--to':{width}}file names")
    for row in rows:
        told = [", ".join(row.suffixes), *textwrap.wrap(doc_of(row), COLUMNS - width, break_on_hyphens=False)]
        print_lines(*(f"{name:{width}}{line}" for name, line in zip_longest([row.name], told, fillvalue="")))


def doc_of(row: toksmith.Format) -> str:
    """What a format is, with the flags that it takes."""
    flags = {"pattern": "--pattern", "special_tokens": "--special-token"}
    return row.doc.partition("; load() takes")[0] + (
        f"; -t takes {' and '.join(flags[each] for each in row.arguments)}" if row.arguments else ""
    )
