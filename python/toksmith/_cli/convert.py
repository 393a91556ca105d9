"""The commands about file formats: convert, which writes a tokenizer in another and compares the ids, and formats."""

from __future__ import annotations

import textwrap
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit

import toksmith

from .._render import print_json, print_lines
from .arguments import FILE, PATH, TOKENIZER, as_json, completing, given, of_file, quiet
from .inputs import loaded_options, ticking, total_of, working
from .program import DIFFERENT, command

__all__ = ["FORMAT", "check_format", "convert", "formats"]

FORMAT: dict[str, Any] = {"metavar": "FORMAT", "shell_complete": completing(toksmith.formats)}
COLUMNS = 80


@command("convert")
@click.argument("source", type=TOKENIZER, metavar="SOURCE", help="A tokenizer: a published name, a file or a folder.")
@click.argument(
    "target", type=FILE, metavar="TARGET", help="The file to write; its name decides the format unless --to does."
)
@click.option("--from", "from_format", help="Format of the source.", show_default="by its content", **FORMAT)
@click.option("--to", "to_format", help="Format of the target.", show_default="by its name", **FORMAT)
@click.option(
    "--verify", type=PATH, multiple=True, help="Texts for the comparison; repeatable.", show_default="a built-in sample"
)
@click.option(
    "--allow-loss", multiple=True, help="Field of the model that may be left out; repeatable.", show_default="nothing"
)
@of_file
@click.option(
    "--renumber", is_flag=True, help="Give tokens the ids that the format requires; --json lists old and new."
)
@as_json
@quiet
def convert(
    source: str,
    target: str,
    *,
    from_format: str | None,
    to_format: str | None,
    verify: list[Path] | None,
    allow_loss: list[str] | None,
    renumber: bool,
    **asked: Any,
) -> None:
    """Write a tokenizer in another format, and compare the ids of both.

    The target is loaded again, and both encode the same texts. The format's own library also encodes the texts if it is installed. The exit code is 3 if ids differ.
    """
    check_format(from_format, "--from")
    check_format(to_format, "--to")
    options: dict[str, Any] = loaded_options(asked)
    options |= given(from_format=from_format, to_format=to_format, allow_loss=allow_loss, renumber=renumber or None)
    with working(asked, total=total_of(verify) if verify else None) as meter:
        options |= given(verify=ticking(verify, meter) if verify else None)
        report = toksmith.convert(source, target, **options)
    if asked["as_json"]:
        print_json(report.to_dict())
    else:
        print_lines(*str(report).split("\n"))
    if not report.equal:
        raise Exit(DIFFERENT)


def check_format(name: str | None, flag: str) -> None:
    """Refuses the name of a format of tokenizers that does not exist."""
    if name is not None and name not in toksmith.formats():
        said = f"there is no format named {name!r:.200}; 'toksmith formats' lists them"
        raise click.BadParameter(said, param_hint=flag)


@command("formats")
@as_json
def formats(as_json: bool) -> None:
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
