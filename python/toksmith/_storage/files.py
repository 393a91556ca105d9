"""Reads whole files, with a size limit, and words the errors about files. `_storage/atomic_files.py` writes files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

from .._base.errors import FormatError
from .._base.paths import missing, regular, url_of

__all__ = ["FILE_LIMIT", "Room", "check_name", "is_text", "make_folder", "read_file", "reason", "text_of"]

# No format allows more. Every format allows a file of READ_WHOLE bytes, which is read before its format is known.
FILE_LIMIT = 1 << 30
READ_WHOLE = 1 << 24
HEAD = 1 << 16


class Room(NamedTuple):
    """How many bytes of a file may be read, for which format, and whether a larger file is refused or only partly read."""

    bytes: int
    what: str
    whole: bool = True


def read_file(
    path: str | os.PathLike[str], room: Callable[[bytes], Room] = lambda ends: Room(FILE_LIMIT, "a tokenizer")
) -> bytes:
    """The bytes of a file, or of its start.

    Of a large file, `room` first sees the first and last 64 KiB and says how much to read. A pipe, which can only be
    named by its descriptor, has no known size, and its end cannot be read first.

    Raises:
        FormatError: The file does not exist, is not a file (a folder, a device), is too large, or cannot be read.
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
        raise FormatError(path, None, f"cannot be read: {reason(error, path)}") from error
    except MemoryError as error:
        raise FormatError(path, None, "cannot be read: there is not enough memory for it") from error


def rest_of(file: BinaryIO, room: Room, before: int) -> bytes:
    """The rest of the file, behind the bytes that were already read.

    Raises:
        OSError: The file is too large.
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
    """Makes the folder of this path; its parent must exist.

    Raises:
        FormatError: It cannot be made, or a file has its name.
    """
    try:
        if not os.path.isdir(path):
            os.mkdir(path)
    except (OSError, ValueError) as error:
        if isinstance(error, FileExistsError) and os.path.isdir(path):
            return  # another process made it meanwhile
        problem = "it is a file; a folder is expected" if os.path.lexists(path) else reason(error, path)
        if isinstance(error, FileNotFoundError):
            problem = f"there is no folder {os.path.dirname(os.path.abspath(path))!r}; make it first"
        raise FormatError(path, None, f"cannot be written: {problem}") from error


def reason(error: Exception, path: str | os.PathLike[str]) -> str:
    """The message of an error of the operating system, with advice."""
    if isinstance(error, ValueError):
        return "the name holds a NUL character"
    if isinstance(error, (IsADirectoryError, PermissionError, FileExistsError)) and os.path.isdir(path):
        return "it is a folder; a file is expected"
    if isinstance(error, FileNotFoundError) and url_of(path) is None:
        return missing(path)
    if isinstance(error, PermissionError):
        return f"{error.strerror}; the permissions of the file or of its folder forbid it"
    return getattr(error, "strerror", None) or str(error)


def check_name(path: str | os.PathLike[str]) -> None:
    """Refuses a path that no file can have.

    Raises:
        FormatError: It holds a NUL character, or half of a surrogate pair.
    """
    try:
        if b"\0" not in os.fsencode(path):
            return
        problem = "the name holds a NUL character"
    except UnicodeEncodeError:
        problem = "the name holds half of a surrogate pair"
    raise FormatError(path, None, f"{problem}; pass the path of a file or folder") from None


def is_text(data: bytes) -> bool:
    """Whether the bytes are a text, in UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def text_of(data: bytes, path: str, place: str) -> str:
    """A text of the file."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(path, place, f"{data[:40]!r} is not UTF-8") from error
