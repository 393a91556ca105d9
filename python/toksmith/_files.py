"""Whole files in, with a bound; and what errors about files say. Files are written by `_together.py`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

from ._errors import FormatError
from ._paths import regular

__all__ = ["FILE_LIMIT", "Room", "make_folder", "read_file", "reason", "shown", "text_of"]

# No format has room for more, and every format has room for a file that is read whole before anybody asks what it is.
FILE_LIMIT = 1 << 30
READ_WHOLE = 1 << 24
HEAD = 1 << 16


class Room(NamedTuple):
    """How much of a file is read, at most so many bytes, for whom; and whether more is refused or only not read."""

    bytes: int
    what: str
    whole: bool = True


def read_file(
    path: str | os.PathLike[str], room: Callable[[bytes], Room] = lambda ends: Room(FILE_LIMIT, "a tokenizer")
) -> bytes:
    """The bytes of a file, or of its start.

    A large file is measured before it is read: `room` says how much of it is, when it has seen the file's first and last
    64 KiB. A pipe, which may be named by its descriptor only, has no known size and no end to look at.

    Raises:
        FormatError: There is no such file, it is none (a folder, a device), it is too large, or it cannot be read.
    """
    path = os.fspath(path)  # an int would be taken for an open file, and closed
    try:
        is_regular = regular(path)
        with open(path, "rb") as file:
            data = file.read(READ_WHOLE + 1)
            if len(data) <= READ_WHOLE:
                return data
            ends = data[:HEAD]
            if is_regular:
                file.seek(-HEAD, os.SEEK_END)
                ends += file.read()
                file.seek(0)
                data = b""
            return data + rest_of(file, room(ends), len(data))
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(shown(path), None, f"cannot be read: {reason(error, path)}") from error
    except MemoryError as error:
        raise FormatError(shown(path), None, "cannot be read: there is not enough memory for it") from error


def rest_of(file: BinaryIO, room: Room, before: int) -> bytes:
    """What follows the bytes that were read before.

    Raises:
        OSError: There is more than the room.
    """
    size = os.fstat(file.fileno()).st_size
    too_large = f"it is larger than {room.bytes} bytes, the limit for a file of {room.what}"
    if not room.whole:
        return file.read(room.bytes - before)
    if size > room.bytes:
        raise OSError(too_large)
    parts = [file.read(size)] if size else []
    while chunk := file.read(READ_WHOLE):
        parts.append(chunk)
        if before + sum(map(len, parts)) > room.bytes:
            raise OSError(too_large)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def make_folder(path: str | os.PathLike[str]) -> None:
    """The folder of this path exists after it; what is above it must.

    Raises:
        FormatError: It cannot be made, or something else has its name.
    """
    try:
        if not os.path.isdir(path):
            os.mkdir(path)
    except (OSError, ValueError) as error:
        problem = "it is a file; a folder is expected" if os.path.lexists(path) else reason(error, path)
        raise FormatError(shown(path), None, f"cannot be written: {problem}") from error


def reason(error: Exception, path: str | os.PathLike[str]) -> str:
    """What an error of the operating system says, and what to do about it."""
    if isinstance(error, ValueError):
        return "the name holds a NUL character"
    if os.path.isdir(path):
        return "it is a folder; a file is expected"
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if isinstance(error, PermissionError):
        return f"{error.strerror}; the permissions of the file or of its folder forbid it"
    return getattr(error, "strerror", None) or str(error)


def shown(path: str | os.PathLike[str]) -> str:
    """The path as errors show it: file names may hold bytes that are no UTF-8, and errors are texts."""
    return os.fsdecode(path).encode("utf-8", "backslashreplace").decode()


def text_of(data: bytes, path: str, place: str) -> str:
    """A text of the file."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(path, place, f"{data[:40]!r} is not UTF-8") from error
