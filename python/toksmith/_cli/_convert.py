"""The command that writes a tokenizer in another format and verifies the ids."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import toksmith

from ._arguments import FilePattern, FileSpecials, Json, given, loaded_options
from ._printed import print_json, print_lines

__all__ = ["convert"]


def convert(
    source: Annotated[str, typer.Argument(help="A tokenizer: a published name, a file or a folder.")],
    target: Annotated[str, typer.Argument(help="File to write; its name decides the format unless --to does.")],
    *,
    from_format: Annotated[str | None, typer.Option("--from", help="Format of the source.")] = None,
    to_format: Annotated[str | None, typer.Option("--to", help="Format of the target.")] = None,
    verify: Annotated[
        list[Path] | None, typer.Option(help="Texts for the comparison; a built-in sample by default.")
    ] = None,
    allow_loss: Annotated[list[str] | None, typer.Option(help="Field that may be left out; repeatable.")] = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    as_json: Json = False,
) -> None:
    """Write a tokenizer in another format, load it again, and compare the ids of both on texts.

    The format's own library also encodes the texts if it is installed. The exit code is 1 if ids differ.
    """
    options: dict[str, Any] = loaded_options(pattern, special_token)
    options |= given(from_format=from_format, to_format=to_format, verify=verify, allow_loss=allow_loss)
    report = toksmith.convert(source, target, **options)
    if as_json:
        print_json(report.to_dict())
    else:
        print_lines(*str(report).split("\n"))
    if not report.equal:
        raise typer.Exit(1)
