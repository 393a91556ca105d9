"""`toksmith graft`: a checkpoint for a model with another tokenizer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import toksmith

from . import params as cli
from .arguments import TOKENIZER, FilePattern, FileSpecials, Json, Name, Quiet, given, loaded
from .flags import flagged
from .progress import progress_of
from .shown import Html, prepared

__all__ = ["graft"]

DIFFERENT = 3  # the exit code
RULES = ("exponential", "mean", "first-last", "all-mean")  # those of the library, which a test compares
FLAGS = {
    name: f"--{name.replace('_', '-')}" for name in ("init", "old", "pad_to", "id_map", "link", "verify", "allow_loss")
}
FLAGS |= {
    "donor": "--donor",
    "donor_tokenizer": "--donor-tokenizer",
    "tensors": "--tensor",
    "tokens": "--token",
    "out": "--output",
}

Checkpoint = Annotated[
    Path, cli.Argument("CHECKPOINT", "Folder of a model: safetensors files, config.json and a tokenizer.")
]
Output = Annotated[Path, cli.Option("--output", "-o", help="New folder; its parent must exist.")]
Init = Annotated[
    list[str] | None,
    cli.Option(
        metavar="RULE",
        help=f"Rows of new tokens: {', '.join(RULES[:-1])} or {RULES[-1]}; NEW=OLD copies a row; repeatable.",
        default="exponential; mean where one matrix is for input and output",
        complete=lambda _: RULES,
    ),
]
Old = Annotated[
    str | None,
    cli.Option(
        "--old", help="Tokenizer of the checkpoint.", default="that in its folder", **{**TOKENIZER, "envvar": None}
    ),
]
Map = Annotated[
    Path | None, cli.Option("--id-map", help="File of IdMap.save: which token is which.", default="by their bytes")
]
Donor = Annotated[
    Path | None,
    cli.Option(
        "--donor", help="Folder of a model that has the new tokens, to rebuild their rows from.", default="none"
    ),
]
OfDonor = Annotated[
    str | None,
    cli.Option(
        "--donor-tokenizer",
        help="Tokenizer of the donor.",
        default="that in its folder",
        **{**TOKENIZER, "envvar": None},
    ),
]
PadTo = Annotated[
    int | None,
    cli.Option("--pad-to", help="Multiple of the number of rows, such as 64 or 128.", default="the checkpoint's"),
]
Roles = Annotated[
    list[str] | None,
    cli.Option(
        "--tensor",
        metavar="NAME=ROLE",
        help="What a tensor with an unknown name is: input, output, bias or other; repeatable.",
        default="by the table of names",
        argument="tensors",
    ),
]
Tokens = Annotated[
    list[str] | None,
    cli.Option(
        "--token",
        metavar="NAME=TOKEN",
        help="Token for a part, such as eos_token=TOKEN; repeatable.",
        default="the same as before",
        argument="tokens",
    ),
]
Loss = Annotated[
    list[str] | None,
    cli.Option(help="Field of the tokenizer that tokenizer.json may leave out; repeatable.", default="nothing"),
]


def graft(
    checkpoint: Checkpoint,
    *,
    tokenizer: Name,
    output: Output,
    init: Init = None,
    old: Old = None,
    id_map: Map = None,
    donor: Donor = None,
    donor_tokenizer: OfDonor = None,
    pad_to: PadTo = None,
    tensor: Roles = None,
    token: Tokens = None,
    allow_loss: Loss = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    link: Annotated[bool, cli.Option("--link", help="Link files that do not change, instead of copying them.")] = False,
    verify: Annotated[
        bool, cli.Option("--verify", help="Compare the result with the checkpoint; only that, if the folder exists.")
    ] = False,
    dry_run: Annotated[bool, cli.Option("--dry-run", help="Write nothing; print the report.")] = False,
    html: Html = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Give a model another tokenizer: write a checkpoint whose rows follow the ids.

    Tokens that both tokenizers have keep their rows bit for bit, new ones get rows made from those of their pieces. The
    exit code is 3 if --verify finds a difference.
    """
    options: dict[str, Any] = given(init=init, pad_to=pad_to, allow_loss=allow_loss)
    options |= given(tensors=pairs(tensor, "--tensor"), tokens=pairs(token, "--token", last=False))
    with flagged(FLAGS):
        options |= given(old=None if old is None else toksmith.load(old))
        options |= given(donor=donor)
        options |= given(donor_tokenizer=None if donor_tokenizer is None else toksmith.load(donor_tokenizer))
        options |= given(id_map=None if id_map is None else toksmith.IdMap.load(id_map))
        tok = loaded(tokenizer, pattern, special_token)
        options |= {"link": link, "verify": verify, "dry_run": dry_run}
        report = toksmith.graft(checkpoint, tok, output, **options, **progress_of(as_json=as_json, quiet=quiet))
        files = {"--old OLD": old, "--donor-tokenizer DONOR": donor_tokenizer, "--id-map MAP": id_map}
        report = replace(report, command=with_files(report.command, files))
        show = prepared(report, as_json=as_json, html=html)
    if not quiet or as_json or html is not None or not report.ok:
        show()
    if not report.ok:
        raise cli.Exit(DIFFERENT)


def with_files(command: str, files: Mapping[str, object]) -> str:
    """The command with the names of files, for which the library has only words."""
    for words, file in files.items():
        if file is not None:
            command = command.replace(words, f"{words.partition(' ')[0]} {shlex.quote(str(file))}")
    return command


def pairs(texts: list[str] | None, flag: str, *, last: bool = True) -> dict[str, str] | None:
    """The parts of options NAME=VALUE."""
    found = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=") if last else text.partition("=")
        if not (name and equals and value):
            raise cli.BadParameter(f"{text!r} is not NAME={'ROLE' if last else 'TOKEN'}", param_hint=flag)
        found[name] = value
    return found or None
