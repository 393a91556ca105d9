"""Whole files in and out: bounded reading, and writing that leaves the old file or the new one, never half of one."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable

from ._errors import FormatError

__all__ = ["FILE_LIMIT", "make_folder", "read_file", "shown", "text_of", "write_file"]

FILE_LIMIT = 1 << 30
CHUNK = 1 << 20
HEAD = 64


def read_file(path: str | os.PathLike[str], most: Callable[[bytes], int | None] = lambda start: None) -> bytes:
    """The bytes of a file of at most 1 GiB; or as many from its start as `most` says of it when it has seen the first.

    Raises:
        FormatError: There is no such file, it is a folder, it is too large, or it cannot be read.
    """
    path = os.fspath(path)  # an int would be taken for an open file, and closed
    data = bytearray()
    enough: int | None = None
    try:
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                data += chunk
                enough = enough or most(bytes(data[:HEAD]))
                if enough is not None:
                    if len(data) >= enough:
                        return bytes(data[:enough])
                    continue
                # The size of a regular file is known at once; a pipe tells its own only by ending.
                if max(len(data), os.fstat(file.fileno()).st_size) > FILE_LIMIT:
                    raise OSError(f"it is larger than {FILE_LIMIT} bytes, the most that a tokenizer's file may have")
    except (OSError, ValueError) as error:
        raise FormatError(shown(path), None, f"cannot be read: {reason(error, path)}") from error
    return bytes(data)


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Puts `data` into a file, which holds its old content (or does not exist) until it holds all of the new.

    The bytes go to a new file in the same folder, which then takes the target's place and permissions. A link is
    followed: the file that it names is replaced, not the link.

    Raises:
        FormatError: The folder is missing, or the target is read-only, a folder or a device. Nothing has changed.
    """
    try:
        target = os.path.realpath(path)
        if not os.path.isdir(folder := os.path.dirname(target)):
            raise OSError(f"there is no folder {folder!r}; make it first")
        mode = replaceable_mode(target)
        scratch = f"{target}.{secrets.token_hex(8)}.tmp"
        try:
            with open(scratch, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(scratch, mode)
            os.replace(scratch, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(scratch)
            raise
    except (OSError, ValueError) as error:
        raise FormatError(shown(path), None, f"cannot be written: {reason(error, path)}") from error


def make_folder(path: str | os.PathLike[str]) -> None:
    """The folder of this path exists after it; what is above it must.

    Raises:
        FormatError: It cannot be made, or something else has its name.
    """
    try:
        if not os.path.isdir(path):
            os.mkdir(path)
    except (OSError, ValueError) as error:
        problem = "it is a file, and a folder is expected" if os.path.lexists(path) else reason(error, path)
        raise FormatError(shown(path), None, f"cannot be written: {problem}") from error


def replaceable_mode(target: str) -> int | None:
    """The permissions of the file that is to be replaced, None where there is none yet.

    Replacing needs no permission of the old file, so one that was made read-only on purpose is refused here.
    """
    try:
        found = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found):
        raise IsADirectoryError(target)
    if not stat.S_ISREG(found):
        raise OSError("it is no regular file; name a file that can be replaced")
    if not found & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise OSError("the file is read-only; make it writable, delete it, or choose another name")
    return stat.S_IMODE(found)


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
