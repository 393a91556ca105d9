"""The command that writes a tokenizer in another format and verifies the ids."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import toksmith

from . import params as cli
from .arguments import FilePattern, FileSpecials, Json, Quiet, given, loaded_options, tokenizers
from .corpus import ticking, total_of
from .flags import check_format
from .printed import print_json, print_lines
from .progress import working

__all__ = ["FORMAT", "convert"]

DIFFERENT = 3  # the exit code
FORMAT: dict[str, Any] = {"metavar": "FORMAT", "complete": lambda _: toksmith.formats()}


def convert(
    source: Annotated[
        str, cli.Argument("SOURCE", "A tokenizer: a published name, a file or a folder.", complete=tokenizers)
    ],
    target: Annotated[str, cli.Argument("TARGET", "The file to write; its name decides the format unless --to does.")],
    *,
    from_format: Annotated[
        str | None, cli.Option("--from", help="Format of the source.", default="by its content", **FORMAT)
    ] = None,
    to_format: Annotated[
        str | None, cli.Option("--to", help="Format of the target.", default="by its name", **FORMAT)
    ] = None,
    verify: Annotated[
        list[Path] | None, cli.Option(help="Texts for the comparison; repeatable.", default="a built-in sample")
    ] = None,
    allow_loss: Annotated[
        list[str] | None, cli.Option(help="Field of the model that may be left out; repeatable.", default="nothing")
    ] = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    renumber: Annotated[
        bool, cli.Option("--renumber", help="Give tokens the ids that the format requires; --json lists old and new.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a tokenizer in another format, and compare the ids of both.

    The target is loaded again, and both encode the same texts. The format's own library also encodes the texts if it is installed. The exit code is 3 if ids differ.
    """
    check_format(from_format, "--from")
    check_format(to_format, "--to")
    options: dict[str, Any] = loaded_options(pattern, special_token)
    options |= given(from_format=from_format, to_format=to_format, allow_loss=allow_loss, renumber=renumber or None)
    with working(total=total_of(verify) if verify else None, as_json=as_json, quiet=quiet) as meter:
        options |= given(verify=ticking(verify, meter) if verify else None)
        report = toksmith.convert(source, target, **options)
    if as_json:
        print_json(report.to_dict())
    else:
        print_lines(*str(report).split("\n"))
    if not report.equal:
        raise cli.Exit(DIFFERENT)
