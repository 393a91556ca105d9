"""`toksmith graft`: writes a model's checkpoint for another tokenizer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit

import toksmith

from .arguments import PATH, TOKENIZER, as_json, complete_from, drop_none, html, quiet, with_tokenizer
from .inputs import load_tokenizer, parse_pairs, progress_argument
from .output import prepare_result
from .program import DIFFERENT, command

RULES = ("exponential", "mean", "first-last", "all-mean")  # a test compares them with the library's


@command("graft", tensors="--tensor", tokens="--token", out="--output")
@click.argument(
    "checkpoint",
    type=PATH,
    metavar="CHECKPOINT",
    help="Folder of a model: safetensors files, config.json and a tokenizer.",
)
@with_tokenizer
@click.option("--output", "-o", type=PATH, required=True, help="New folder; its parent must exist.")
@click.option(
    "--init",
    multiple=True,
    metavar="RULE",
    help=f"Rows of new tokens: {', '.join(RULES[:-1])} or {RULES[-1]}; NEW=OLD copies a row; repeatable.",
    show_default="exponential; mean if one matrix serves input and output",
    shell_complete=complete_from(lambda: RULES),
)
@click.option("--old", type=TOKENIZER, help="Tokenizer of the checkpoint.", show_default="that in its folder")
@click.option("--id-map", type=PATH, help="File of IdMap.save: old ids to new ids.", show_default="by their bytes")
@click.option(
    "--donor",
    type=PATH,
    help="Folder of a model with the new tokens, from which their rows are rebuilt.",
    show_default="none",
)
@click.option("--donor-tokenizer", type=TOKENIZER, help="Tokenizer of the donor.", show_default="that in its folder")
@click.option(
    "--pad-to", type=int, help="Pad the rows to a multiple of this, such as 64.", show_default="the checkpoint's"
)
@click.option(
    "--tensor",
    multiple=True,
    metavar="NAME=ROLE",
    help="Role of a tensor with an unknown name: input, output, bias or other; repeatable.",
    show_default="by the table of names",
)
@click.option(
    "--token",
    multiple=True,
    metavar="NAME=TOKEN",
    help="Token for a role, such as eos_token=TOKEN; repeatable.",
    show_default="the same as before",
)
@click.option(
    "--allow-loss",
    multiple=True,
    help="Field of the tokenizer that tokenizer.json can leave out; repeatable.",
    show_default="nothing",
)
@click.option("--link", is_flag=True, help="Link files that do not change, instead of copying them.")
@click.option("--verify", is_flag=True, help="Compare the result with the checkpoint; only that, if the folder exists.")
@click.option("--dry-run", is_flag=True, help="Write nothing; print the report.")
@html
@as_json
@quiet
def graft(
    checkpoint: Path,
    *,
    output: Path,
    init: list[str] | None,
    old: str | None,
    id_map: Path | None,
    donor: Path | None,
    donor_tokenizer: str | None,
    pad_to: int | None,
    tensor: list[str] | None,
    token: list[str] | None,
    allow_loss: list[str] | None,
    link: bool,
    verify: bool,
    dry_run: bool,
    **flags: Any,
) -> None:
    """Give a model another tokenizer: write a checkpoint with its rows in the order of the new ids.

    Tokens of both tokenizers keep their rows bit for bit. The rows of new tokens are computed from the rows of their
    pieces. The exit code is 3 if --verify finds a difference.
    """
    options: dict[str, Any] = drop_none(init=init, pad_to=pad_to, allow_loss=allow_loss)
    options |= drop_none(
        tensors=parse_pairs(tensor, "--tensor", "NAME=ROLE", last=True),
        tokens=parse_pairs(token, "--token", "NAME=TOKEN"),
    )
    options |= drop_none(old=None if old is None else toksmith.load(old))
    options |= drop_none(donor=donor)
    options |= drop_none(donor_tokenizer=None if donor_tokenizer is None else toksmith.load(donor_tokenizer))
    options |= drop_none(id_map=None if id_map is None else toksmith.types.IdMap.load(id_map))
    options |= {"link": link, "verify": verify, "dry_run": dry_run}
    report = toksmith.graft(checkpoint, load_tokenizer(flags), output, **options, **progress_argument(flags))
    files = {"--old OLD": old, "--donor-tokenizer DONOR": donor_tokenizer, "--id-map MAP": id_map}
    report = replace(report, command=with_files(report.command, files))
    show = prepare_result(report, flags)
    if not flags["quiet"] or flags["as_json"] or flags["html"] is not None or not report.ok:
        show()
    if not report.ok:
        raise Exit(DIFFERENT)


def with_files(command: str, files: Mapping[str, object]) -> str:
    """The command with file names in place of the library's placeholder words."""
    for words, file in files.items():
        if file is not None:
            command = command.replace(words, f"{words.partition(' ')[0]} {shlex.quote(str(file))}")
    return command
