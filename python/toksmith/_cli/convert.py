"""The command convert, which writes a tokenizer in another format and compares the ids."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit

import toksmith

from .._render import print_json, print_lines
from .arguments import FILE, PATH, TOKENIZER, as_json, complete_from, drop_none, of_file, quiet
from .inputs import advance_meter, load_arguments, parse_pairs, show_progress, total_bytes
from .program import DIFFERENT, command

FORMAT: dict[str, Any] = {"metavar": "FORMAT", "shell_complete": complete_from(toksmith.formats)}


@command("convert", settings="--setting")
@click.argument("source", type=TOKENIZER, metavar="SOURCE", help="A tokenizer: a published name, a file or a folder.")
@click.argument(
    "target",
    type=FILE,
    metavar="TARGET",
    help="The file to write; its name decides the format unless --to does. A folder, or a name with / at its end: for transformers.",
)
@click.option("--from", "from_format", help="Format of the source.", show_default="by its content", **FORMAT)
@click.option("--to", "to_format", help="Format of the target.", show_default="by its name", **FORMAT)
@click.option(
    "--verify", type=PATH, multiple=True, help="Texts for the comparison; repeatable.", show_default="a built-in sample"
)
@click.option(
    "--allow-loss", multiple=True, help="Field of the model to leave out if needed; repeatable.", show_default="nothing"
)
@of_file
@click.option(
    "--renumber", is_flag=True, help="Give tokens the ids that the format requires; --json lists old and new."
)
@click.option(
    "--setting",
    multiple=True,
    metavar="NAME=VALUE",
    help="Setting of a folder for transformers, such as eos_token or model_max_length; chat_template can be a file; repeatable.",
    show_default="those of the source's folder",
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
    setting: list[str] | None,
    **flags: Any,
) -> None:
    """Write a tokenizer in another format, and compare the ids of both.

    The target is loaded again, and both encode the same texts. The format's own library also encodes the texts if it is installed. The exit code is 3 if ids differ.
    """
    check_format(from_format, "--from")
    check_format(to_format, "--to")
    options: dict[str, Any] = load_arguments(flags)
    options |= drop_none(from_format=from_format, to_format=to_format, allow_loss=allow_loss, renumber=renumber or None)
    named = parse_pairs(setting, "--setting", "NAME=VALUE") or {}
    options |= drop_none(settings={name: parse_setting(name, value) for name, value in named.items()} or None)
    with show_progress(flags, total=total_bytes(verify) if verify else None) as meter:
        options |= drop_none(verify=advance_meter(verify, meter) if verify else None)
        report = toksmith.convert(source, target, **options)
    if flags["as_json"]:
        print_json(report.to_dict())
    else:
        print_lines(*str(report).split("\n"))
    if not report.equal:
        raise Exit(DIFFERENT)


def parse_setting(name: str, value: str) -> Any:
    """The JSON value of a setting; a text if it is not JSON, or for a token or a chat template."""
    try:
        return value if name.endswith(("_token", "_template")) else json.loads(value)
    except ValueError:
        return value


def check_target(output: str | None, to: str | None) -> None:
    """Refuse, before any work, a file that cannot be written because of its name or folder."""
    check_format(to, "--to")
    if output is None:
        return
    if not (parent := Path(output).parent).is_dir():
        message = f"cannot be written: there is no folder {str(parent)!r}; make it first"
        raise toksmith.errors.FormatError(output, None, message)
    names = [row.name for row in toksmith.formats().values() if row.fits(output)]
    if to is None and len(names) != 1 and not os.path.isdir(output):
        message = f"fits {' and '.join(names)}" if names else "does not show the format"
        message += "; end it in .toksmith, or give --to ('toksmith list formats' lists all)"
        raise toksmith.errors.FormatError(output, None, f"the file name {message}")


def check_format(name: str | None, flag: str) -> None:
    """Refuse the name of a tokenizer format that does not exist."""
    if name is not None and name not in toksmith.formats():
        message = f"there is no format named {name!r:.200}; 'toksmith list formats' lists them"
        raise click.BadParameter(message, param_hint=flag)
