"""The one door to the files of a folder that is not trusted: that of a job, which a stranger may hand over or write to.

The user names the folder, so the folder itself may be a link. What is inside it must be a regular file: a link may lead to
any file of the user, a pipe waits for a writer, and a device may give bytes without end. A file that is read whole has a
limit. `_storage/folders.py` and the formats of a job open files here; `_storage/atomic_files.py` writes new files under other names.
"""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from .._base.system import SYSTEM

__all__ = ["WHOLE_LIMIT", "open_guarded", "read_guarded", "refuse_large", "status_of"]

WHOLE_LIMIT = 1 << 30  # bytes
KINDS = (
    (SYSTEM.is_link, "a link"),
    (lambda found: stat.S_ISDIR(found.st_mode), "a folder"),
    (lambda found: stat.S_ISFIFO(found.st_mode), "a pipe"),
    (lambda found: stat.S_ISSOCK(found.st_mode), "a socket"),
    (lambda found: not stat.S_ISREG(found.st_mode), "a device"),
)


def status_of(path: str | os.PathLike[str]) -> os.stat_result | None:
    """The facts of a file; None if nothing has this name.

    Raises:
        OSError: It is not a regular file, or its folder cannot be searched.
    """
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last is of a name that no file can have
        return None
    refuse_kind(found)
    return found


def refuse_kind(found: os.stat_result) -> None:
    """Raises OSError for what is not a regular file."""
    for is_kind, kind in KINDS:
        if is_kind(found):
            said = f"it is {kind}, but toksmith reads and writes only regular files here"
            raise OSError(f"{said}; delete it or move it away, and repeat the command")


def open_guarded(path: str | os.PathLike[str]) -> BinaryIO:
    """A file, open for reading. A link is refused, also one that somebody makes at this moment.

    Raises:
        OSError: It is not a regular file, or cannot be opened.
    """
    status_of(path)
    return open(path, "rb", opener=opened)


def opened(path: str, flags: int) -> int:
    """Opens a file without waiting, and without following a link."""
    file = os.open(path, flags | SYSTEM.unfollowed)
    try:
        refuse_kind(os.fstat(file))
    except OSError:
        os.close(file)
        raise
    return file


def read_guarded(path: str | os.PathLike[str], start: int = 0, stop: int | None = None) -> bytes:
    """The bytes of a file, or those of a range that are there.

    Raises:
        OSError: It is not a regular file, cannot be read, or is too large to be read whole.
    """
    with open_guarded(path) as file:
        size = os.fstat(file.fileno()).st_size
        if stop is None:
            refuse_large(size)
            stop = min(size, WHOLE_LIMIT)
        file.seek(start)
        return file.read(max(min(stop, size) - start, 0))


def refuse_large(size: int) -> None:
    """Raises OSError for a file of too many bytes to be read whole."""
    if size > WHOLE_LIMIT:
        said = f"it has {size:,} bytes, and the limit for a file that is read whole is {WHOLE_LIMIT:,}"
        raise OSError(f"{said}; a job of fewer files and shards has smaller ones")
