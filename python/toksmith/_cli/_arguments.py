"""What commands share: options, loading tokenizers, reading inputs, and JSON.

Options that were not given are not passed on, so the called function is the only place of every default.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, BinaryIO

import typer

import toksmith

from ._printed import tell

__all__ = [
    "STDIN",
    "FilePattern",
    "FileSpecials",
    "Files",
    "Json",
    "Name",
    "Special",
    "given",
    "given_pattern",
    "inputs",
    "loaded",
    "loaded_options",
    "stdin_bytes",
    "stdin_stream",
    "token_json",
]

STDIN = "-"
Files = Annotated[list[str] | None, typer.Argument(metavar="FILE", help="Text files; '-' or no file reads stdin.")]
Name = Annotated[str, typer.Option("--tokenizer", "-t", help="A published name (see 'encodings') or a tokenizer file.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Special = Annotated[
    str, typer.Option(help="Special tokens in the text: raise an error, allow them, or treat them as text.")
]
FilePattern = Annotated[list[str] | None, typer.Option("--pattern", help="Split pattern or regex for .tiktoken files.")]
FileSpecials = Annotated[
    list[str] | None,
    typer.Option("--special-token", help="Special token for .tiktoken files, as TOKEN=ID; repeatable."),
]


def given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def given_pattern(patterns: Sequence[str] | None) -> dict[str, Any]:
    """The `pattern` argument for the --pattern options, if any was given."""
    if not patterns:
        return {}
    if len(patterns) > 1:
        return {"pattern": list(patterns)}
    return {"pattern": None if patterns[0] == "none" else patterns[0]}


def loaded(name: str, pattern: Sequence[str] | None, special_tokens: Sequence[str] | None) -> toksmith.Tokenizer:
    """The tokenizer that `-t`, `--pattern` and `--special-token` name together."""
    return toksmith.load(name, **loaded_options(pattern, special_tokens))


def loaded_options(pattern: Sequence[str] | None, special_tokens: Sequence[str] | None) -> dict[str, Any]:
    """The arguments of `load` for `--pattern` and `--special-token`."""
    options = given_pattern(pattern)
    if special_tokens:
        options["special_tokens"] = dict(map(token_and_id, special_tokens))
    return options


def token_and_id(text: str) -> tuple[str, int]:
    """The parts of a `TOKEN=ID` option; the token may hold `=` itself."""
    token, equals, id = text.rpartition("=")
    if not (equals and id.isascii() and id.isdigit()):
        raise typer.BadParameter(f"{text!r} is not TOKEN=ID", param_hint="--special-token")
    return token, int(id)


def inputs(files: Sequence[str] | None) -> Iterator[tuple[str, bytes]]:
    """The name and the bytes of each file, read when its turn comes; stdin where none is named."""
    for name in files or [STDIN]:
        yield name, stdin_bytes() if name == STDIN else file_bytes(name)


def file_bytes(name: str) -> bytes:
    """The bytes of a file or of a pipe.

    Raises:
        CorpusError: It is a device, which may give bytes without end; a terminal and the empty device may be read.
    """
    with open(name, "rb") as file:
        endless = stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty() and name != os.devnull
        if endless and not name.startswith(("/dev/std", "/dev/fd/")):
            raise toksmith.CorpusError(name, None, "is a device; give a file, or '-' for stdin")
        return file.read()


def stdin_bytes() -> bytes:
    return stdin_stream().read()


def stdin_stream() -> BinaryIO:
    """Where the bytes of stdin are read from; on a terminal, someone is told to type."""
    if sys.stdin.isatty():
        tell("reading from the terminal; press Ctrl-D (on Windows Ctrl-Z and Enter) to end the text")
    return sys.stdin.buffer


def token_json(token: bytes) -> dict[str, str]:
    """Bytes as JSON values: `text` to read, `hex` exact."""
    return {"text": token.decode("utf-8", "replace"), "hex": token.hex()}
