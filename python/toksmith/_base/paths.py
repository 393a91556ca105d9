"""Files that are read: which paths may be, how much of a file is read, and how errors about files are worded.

A path of the user may name a regular file, a descriptor that the caller has open, or a URL (`_storage/remote.py`). Opening
a pipe waits for a writer, perhaps forever, and a device may be endless. A caller who has opened one knows what it is, so the
names of open descriptors (`/dev/stdin`, `/dev/fd/3`) are read as they are.

The folder of a job is not trusted: a stranger may hand it over or write to it. The user names the folder, so the folder itself
may be a link. What is inside it must be a regular file, because a link may lead to any file of the user. `open_guarded` and
`read_guarded` are the one door to such files. `_storage/atomic_files.py` writes files.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

from .errors import FormatError
from .system import SYSTEM

__all__ = [
    "FILE_LIMIT",
    "SUFFIXES",
    "WHOLE_LIMIT",
    "Room",
    "check_name",
    "missing",
    "nearest",
    "open_guarded",
    "read_file",
    "read_guarded",
    "reason",
    "refuse_large",
    "regular",
    "shown",
    "similar",
    "spelled",
    "status_of",
    "url_of",
]

# What ends so is a file, and not the name of a model or of a repository.
SUFFIXES = (".json", ".model", ".tiktoken", ".toksmith", ".txt", ".gguf", ".bpe", ".vocab")
MOST_NAMES = 1000  # so many names of a folder are compared with a wrong one
MOST_SIMILAR, CUTOFF = 2, 0.8
OPEN = ("/dev/fd/", "/proc/self/fd/")
# No format allows more. Every format allows a file of READ_WHOLE bytes, which is read before its format is known.
FILE_LIMIT = 1 << 30
READ_WHOLE = 1 << 24
HEAD = 1 << 16
WHOLE_LIMIT = 1 << 30  # bytes of a file of a job that is read whole
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (lambda mode: not stat.S_ISREG(mode), "a device"),
)
EXPECTED = {
    "a folder": "a file is expected",
    "a pipe": "name a regular file, or open the pipe and name its descriptor (/dev/fd/…)",
}

# `Path("s3://a/b")` has one slash less. fsspec's memory is for tests.
URL = re.compile(r"(s3|gs|hf|https?|memory):/{1,2}(?!/)")


def url_of(path: str | os.PathLike[str]) -> str | None:
    """The URL that a path is; None for a path of this machine.

    >>> from pathlib import Path
    >>> url_of("s3://bucket/a.jsonl"), url_of(Path("s3://bucket/a.jsonl")), url_of("a.jsonl")
    ('s3://bucket/a.jsonl', 's3://bucket/a.jsonl', None)
    """
    name: object = os.fspath(path)  # bytes, where a caller passes what he may not
    found = URL.match(name) if isinstance(name, str) else None
    return None if found is None else f"{found[1]}://{found.string[found.end() :]}"


def shown(path: str | os.PathLike[str]) -> str:
    """The path or the URL as errors show it; a file name may contain bytes that are not UTF-8."""
    if (url := url_of(path)) is not None:
        return url
    return os.fsdecode(path).encode("utf-8", "backslashreplace").decode()


def spelled(path: str | os.PathLike[str]) -> str:
    """The path as text, or the URL that it is.

    >>> from pathlib import Path
    >>> spelled(Path("s3://bucket/a.jsonl")), spelled(Path("a.jsonl"))
    ('s3://bucket/a.jsonl', 'a.jsonl')
    """
    return url_of(path) or os.fsdecode(path)


def missing(path: str | os.PathLike[str]) -> str:
    """That there is no such file, and what comes nearest to it: how every error about a missing file says it."""
    return f"there is no such file{nearest(path) or '; expected the path of a file'}"


def nearest(path: str | os.PathLike[str]) -> str:
    """The file of a similar name, or the folder that is missing too, in words; empty if there is neither."""
    folder = os.path.dirname(os.fsdecode(path))
    if os.path.islink(path):
        return f"; it is a link to {os.fsdecode(os.readlink(path))!r}"
    if folder and not os.path.lexists(folder):
        return f"; there is no folder {folder!r}"
    near = similar(path)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def similar(path: str | os.PathLike[str]) -> list[str]:
    """The files beside a missing one whose names are like its name."""
    folder, name = os.path.split(os.fsdecode(path))
    try:
        names = sorted(os.listdir(folder or "."))[:MOST_NAMES]
    except (OSError, ValueError):
        return []
    import difflib  # slow to import, and only errors need it

    small = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name.lower(), small, MOST_SIMILAR, CUTOFF)
    return [os.path.join(folder, small[each]) for each in near]


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
    """Refuses a path that no file can have."""
    try:
        if b"\0" not in os.fsencode(path):
            return
        problem = "the name holds a NUL character"
    except UnicodeEncodeError:
        problem = "the name holds half of a surrogate pair"
    raise FormatError(path, None, f"{problem}; pass the path of a file or folder") from None


def kind_of(mode: int) -> str | None:
    """What is not a regular file, in words; None for a regular file."""
    return next((kind for is_kind, kind in KINDS if is_kind(mode)), None)


def regular(path: str | os.PathLike[str]) -> bool:
    """Whether the path names a regular file; False for open descriptors and URLs."""
    name = os.fspath(path)
    if os.path.abspath(os.fsdecode(name)).startswith(OPEN) or os.fsdecode(name) == "/dev/stdin" or url_of(path):
        return False
    if kind := kind_of(os.stat(name).st_mode):
        raise OSError(f"it is {kind}; {EXPECTED.get(kind, 'a regular file is expected')}")
    return True


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
    """The rest of the file, behind the bytes that were already read."""
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


# The door to the files of a folder that is not trusted


def status_of(path: str | os.PathLike[str]) -> os.stat_result | None:
    """The facts of a file; None if nothing has this name."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last is of a name that no file can have
        return None
    refuse_kind(found)
    return found


def refuse_kind(found: os.stat_result) -> None:
    """Raises OSError for what is not a regular file."""
    if kind := "a link" if SYSTEM.is_link(found) else kind_of(found.st_mode):
        said = f"it is {kind}, but toksmith reads and writes only regular files here"
        raise OSError(f"{said}; delete it or move it away, and repeat the command")


def open_guarded(path: str | os.PathLike[str]) -> BinaryIO:
    """A file, open for reading. A link is refused, also one that somebody makes at this moment."""
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
    """The bytes of a file, or those of a range that are there."""
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
