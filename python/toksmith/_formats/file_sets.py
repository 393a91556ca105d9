"""Tokenizers of several files: which files belong together, and where each is.

A row's `files` lists sets of names; each set is one tokenizer. Names may share a prefix (`my-vocab.json` belongs to
`my-merges.txt`). In a set of suffixes (`.model`, `.vocab`), the rest of the name is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._base.errors import CannotRepresent, FormatError

__all__ = ["GPT2", "MINBPE", "SETS", "FileContent", "joined_lines", "text_lines", "text_of"]

GPT2 = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
MINBPE = ((".model", ".vocab"),)
# All sets, known before the module of a format is imported; `compat.transformers` writes the first.
SETS = (("tokenizer.json", "tokenizer_config.json"), *GPT2, *MINBPE)

LINE_LIMIT = 13 << 16  # above four times the tokens of the largest published vocabulary, o200k with 199,998


class FileContent(NamedTuple):
    """One file of several: its path and its bytes."""

    path: str
    data: bytes


def text_lines(part: FileContent) -> list[str]:
    """The lines of a file in UTF-8, without their ends.

    Raises:
        FormatError: The file is not UTF-8, or has too many lines.
    """
    if (count := part.data.count(b"\n")) > LINE_LIMIT:
        raise FormatError(part.path, None, f"has {count} lines; at most {LINE_LIMIT} are allowed")
    try:
        return part.data.decode().replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(part.path, f"byte {error.start}", "is not UTF-8") from error


def joined_lines(lines: Sequence[str], format: str) -> bytes:
    """The content of a file with these lines, in UTF-8.

    Raises:
        CannotRepresent: `text_lines` would refuse the file, because it has too many lines.
    """
    if len(lines) > LINE_LIMIT:
        problem = f"a file can have at most {LINE_LIMIT} lines, but this one would have {len(lines)}"
        raise CannotRepresent(format, "tokens", problem)
    return ("\n".join(lines) + "\n").encode()


def text_of(data: bytes, path: str, place: str) -> str:
    """A text of the file."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(path, place, f"{data[:40]!r} is not UTF-8") from error
