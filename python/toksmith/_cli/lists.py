"""The commands below `list`: names that other commands take."""

from __future__ import annotations

import textwrap
from itertools import zip_longest

import click

import toksmith

from .._render import print_json, print_lines
from .arguments import FILE, TOKENIZER, as_json
from .program import command

COLUMNS = 80


@command("list encodings")
@click.argument(
    "names", type=TOKENIZER, metavar="[NAME]...", nargs=-1, help="For --copy-to: encodings, models or files; else all."
)
@click.option(
    "--copy-to", type=FILE, metavar="FOLDER", help="Copy the files to a folder.", show_default="print the encodings"
)
@click.option("--wheels", is_flag=True, help="With --copy-to: write a wheel for each file.")
@as_json
def list_encodings(names: list[str] | None, copy_to: str | None, wheels: bool, as_json: bool) -> None:
    """List the published tokenizers that -t accepts by name, or copy their files for a machine without a network.

    There, name the folder in TOKSMITH_CACHE, or install the wheels. A file comes from the caches of this machine, else from the network.
    """
    if copy_to is None and (names or wheels):
        raise click.BadParameter("is missing; NAME and --wheels need it", param_hint="--copy-to")
    all_names = toksmith.encodings()
    names = all_names if copy_to is None else toksmith.copy_encodings(names or all_names, copy_to, wheels=wheels)
    if as_json:
        print_json(names)
    else:
        print_lines(*names)


@command("list models")
@as_json
def list_models(as_json: bool) -> None:
    """List the models whose names mean a published tokenizer."""
    models = toksmith.models()
    if as_json:
        print_json(models)
        return
    width = max(map(len, models)) + 2
    print_lines(*(f"{model:{width}}{encoding}" for model, encoding in models.items()))


@command("list patterns")
@as_json
def list_patterns(as_json: bool) -> None:
    """List the split patterns by name, with the models that use them."""
    rows = toksmith.patterns().values()
    if as_json:
        print_json([{"name": row.name, "regexes": row.regexes, "source": row.source} for row in rows])
        return
    width = max(len(row.name) for row in rows) + 2
    for row in rows:
        lines = textwrap.wrap(row.source, COLUMNS - width, break_on_hyphens=False)
        print_lines(*(f"{name:{width}}{line}" for name, line in zip_longest([row.name], lines, fillvalue="")))


@command("list formats")
@as_json
def list_formats(as_json: bool) -> None:
    """List the file formats, and the file names of each.

    'train -o' and 'convert' choose the format by the name of the file, unless --to does. Loading looks at the content.
    """
    rows = toksmith.formats().values()
    if as_json:
        print_json([{"name": row.name, "suffixes": row.suffixes, "doc": describe_format(row)} for row in rows])
        return
    width = max(len(row.name) for row in rows) + 2
    print_lines(f"{'--to':{width}}file names")
    for row in rows:
        lines = [", ".join(row.suffixes), *textwrap.wrap(describe_format(row), COLUMNS - width, break_on_hyphens=False)]
        print_lines(*(f"{name:{width}}{line}" for name, line in zip_longest([row.name], lines, fillvalue="")))


def describe_format(row: toksmith.types.Format) -> str:
    """What a format is, with the flags that it takes."""
    flags = {"pattern": "--pattern", "special_tokens": "--special-token"}
    return row.doc.partition("; load() takes")[0] + (
        f"; -t takes {' and '.join(flags[each] for each in row.arguments)}" if row.arguments else ""
    )
