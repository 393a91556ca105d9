"""The commands that measure and check a tokenizer: measure, parity, doctor."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

import toksmith

from ._arguments import STDIN, FilePattern, Files, FileSpecials, Json, Name, given, loaded, stdin_stream
from ._printed import tell
from ._shown import Html, Svg, print_shown

__all__ = ["doctor", "measure", "parity"]

Field = Annotated[str | None, typer.Option(help="Field of a .jsonl row that contains the text (default: text).")]
FAILED = 3


def measure(
    files: Files = None,
    *,
    tokenizer: Name,
    field: Field = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads; all cores by default.")] = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
) -> None:
    """Measure a tokenizer on texts: compression, words, characters, numbers, indentation, round trip.

    Each value is shown with its parts, its unit, its direction and its limits. Each row of a .jsonl file (.gz is
    unpacked) is a document; any other file and stdin are one document.
    """
    tok = loaded(tokenizer, pattern, special_token)
    found = toksmith.metrics.measure(tok, corpus(files, field), **given(threads=threads))
    print_shown(found, as_json=as_json, html=html, svg=svg)


def parity(
    files: Annotated[
        list[str], typer.Argument(metavar="[NAME=]FILE", help="The same text in several languages, one file each.")
    ],
    *,
    tokenizer: Name,
    reference: Annotated[str | None, typer.Option(help="Language to compare with; the first by default.")] = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
) -> None:
    """Compare what the same text costs in several languages.

    The language is the part before =, or the file name without its suffix.
    """
    texts: dict[str, Path] = {}
    for argument in files:
        name, equals, file = argument.partition("=")
        path = Path(file if equals else argument)
        key = name if equals else path.stem
        if key in texts:
            raise typer.BadParameter(f"{key!r} is given twice; write NAME=FILE", param_hint="FILE")
        texts[key] = path
    tok = loaded(tokenizer, pattern, special_token)
    found = toksmith.parity(tok, texts, **given(reference=reference))
    for warning in found.warnings if as_json else ():
        tell(f"warning: {warning}")
    print_shown(found, as_json=as_json, html=html, svg=svg)


def doctor(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="Texts for further checks; '-' reads stdin.")
    ] = None,
    *,
    tokenizer: Name,
    embeddings: Annotated[Path | None, typer.Option(help="A model's .safetensors file or its folder.")] = None,
    field: Field = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
) -> None:
    """Check a tokenizer: split characters, unreachable tokens, a wrong pattern, and more.

    Texts show which tokens are unused; embeddings show which tokens the model hardly saw in training. The exit code is 3
    if a check fails.
    """
    tok = loaded(tokenizer, pattern, special_token)
    options = given(corpus=corpus(files, field) if files else None, embeddings=embeddings)
    found = toksmith.doctor(tok, **options)
    print_shown(found, as_json=as_json, html=html, svg=svg)
    if found.failed:
        raise typer.Exit(FAILED)


def corpus(files: Sequence[str] | None, field: str | None) -> list[toksmith.Files | BinaryIO]:
    """The corpus of the file arguments; stdin if there are none."""
    # The shell has opened its globs; what is left is the name itself.
    return [
        stdin_stream() if name == STDIN else toksmith.files(glob.escape(name), **given(field=field))
        for name in files or [STDIN]
    ]
