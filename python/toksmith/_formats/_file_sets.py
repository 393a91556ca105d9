"""Tokenizers that are more than one file: which files belong together, and where each is.

A format says it by its row's `files`, sets of names of which each is one tokenizer. A name may have something in front
(`my-vocab.json` goes with `my-merges.txt`); a set of suffixes (`.model`, `.vocab`) takes the rest of the name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from .._errors import FormatError

__all__ = ["FileContent", "places", "text_lines"]

LINE_LIMIT = 3 << 17


class FileContent(NamedTuple):
    """One file of several: where it is, and its bytes."""

    path: str
    data: bytes


def places(path: str | os.PathLike[str], sets: Sequence[Sequence[str]]) -> list[str] | None:
    """The paths of all files of the set that the file of this path belongs to; None if its name is in none."""
    place = os.fspath(path)
    lower = place.lower()
    for names in sets:
        for name in names:
            if lower.endswith(name):
                stem = place[: len(place) - len(name)]
                return [place if other == name else stem + other for other in names]
    return None


def text_lines(part: FileContent) -> list[str]:
    """The lines of a file in UTF-8, without their ends.

    Raises:
        FormatError: It is no UTF-8, or has more lines than any such file.
    """
    if (count := part.data.count(b"\n")) > LINE_LIMIT:
        raise FormatError(part.path, None, f"has {count} lines; at most {LINE_LIMIT} are allowed")
    try:
        return part.data.decode().replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(part.path, f"byte {error.start}", "is not UTF-8") from error
