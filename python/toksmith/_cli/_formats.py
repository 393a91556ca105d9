"""`toksmith formats`: the file formats, and the names of files that mean each."""

from __future__ import annotations

import toksmith

from ._arguments import Json
from ._printed import print_json, print_lines

__all__ = ["formats"]


def formats(*, as_json: Json = False) -> None:
    """List the file formats, and the file names that mean each.

    'train -o' and 'convert' choose the format by the name of the file, unless --to does. Loading looks at the content.
    """
    rows = toksmith.formats().values()
    if as_json:
        print_json([{"name": row.name, "suffixes": row.suffixes, "doc": doc_of(row)} for row in rows])
        return
    cells = [[row.name, ", ".join(row.suffixes), doc_of(row)] for row in rows]
    widths = [max(len(row[column]) for row in [*cells, ["--to", "file names", ""]]) for column in range(2)]
    print_lines(f"{'--to':{widths[0]}}  {'file names':{widths[1]}}")
    print_lines(*(f"{name:{widths[0]}}  {names:{widths[1]}}  {doc}" for name, names, doc in cells))


def doc_of(row: toksmith.Format) -> str:
    """What a format is, with the flags that it takes."""
    flags = {"pattern": "--pattern", "special_tokens": "--special-token"}
    return row.doc.partition("; load() takes")[0] + (
        f"; -t takes {' and '.join(flags[each] for each in row.arguments)}" if row.arguments else ""
    )
