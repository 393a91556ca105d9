"""The command that writes a tokenizer in another format and proves it."""

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
    target: Annotated[str, typer.Argument(help="The file to write; its name says the format, unless --to does.")],
    *,
    from_format: Annotated[str | None, typer.Option("--from", help="The source's format.")] = None,
    to_format: Annotated[str | None, typer.Option("--to", help="The target's format.")] = None,
    verify: Annotated[list[Path] | None, typer.Option(help="Texts to prove it on; none: a built-in sample.")] = None,
    allow_loss: Annotated[list[str] | None, typer.Option(help="A field that may be left out.")] = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    as_json: Json = False,
) -> None:
    """Write a tokenizer in another format, load it again, and compare the ids of both on texts.

    The format's own library encodes the texts too where it is installed. Exits 1 where ids differ.
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
