"""Reads files: which paths are allowed, how much of a file is read, and the wording of errors about files.

A user's path can name a regular file, a descriptor that the caller has open, or a URL (`_storage/remote.py`). Opening a
pipe waits for a writer, perhaps forever, and a device can be endless. A caller that has opened one knows its kind, so
the names of open descriptors (`/dev/stdin`, `/dev/fd/3`) are read without these checks.

The folder of a job is not trusted: a stranger can supply it or write to it. The user names the folder, so the folder itself
can be a link. Entries inside must be regular files, because a link can lead to any file of the user. Only `open_guarded`
and `read_guarded` open such files. `_storage/atomic_files.py` writes files.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

from ..errors import FormatError
from .system import SYSTEM

# A name with one of these suffixes is a file, not a model or a repository.
SUFFIXES = (".json", ".model", ".tiktoken", ".toksmith", ".txt", ".gguf", ".bpe", ".vocab")
MOST_NAMES = 1000  # names of a folder that are compared with a wrong name
MOST_SIMILAR, CUTOFF = 2, 0.8
OPEN = ("/dev/fd/", "/proc/self/fd/")
# Bytes. No format allows more than FILE_LIMIT. Every format allows READ_WHOLE, which is read before the format is known.
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
    """The URL in a path; None for a local path.

    >>> from pathlib import Path
    >>> url_of("s3://bucket/a.jsonl"), url_of(Path("s3://bucket/a.jsonl")), url_of("a.jsonl")
    ('s3://bucket/a.jsonl', 's3://bucket/a.jsonl', None)
    """
    name: object = os.fspath(path)  # bytes if a caller breaks the contract
    match = URL.match(name) if isinstance(name, str) else None
    return None if match is None else f"{match[1]}://{match.string[match.end() :]}"


def printable_path(path: str | os.PathLike[str]) -> str:
    """The path or URL as errors show it; a file name can contain bytes that are not UTF-8."""
    if (url := url_of(path)) is not None:
        return url
    return os.fsdecode(path).encode("utf-8", "backslashreplace").decode()


def path_or_url(path: str | os.PathLike[str]) -> str:
    """The path as text, or its URL.

    >>> from pathlib import Path
    >>> path_or_url(Path("s3://bucket/a.jsonl")), path_or_url(Path("a.jsonl"))
    ('s3://bucket/a.jsonl', 'a.jsonl')
    """
    return url_of(path) or os.fsdecode(path)


def missing_file_message(path: str | os.PathLike[str]) -> str:
    """The message of every error about a missing file, with the nearest existing name."""
    return f"there is no such file{nearest_name_hint(path) or '; expected the path of a file'}"


def nearest_name_hint(path: str | os.PathLike[str]) -> str:
    """A hint: the link's target, the missing folder, or a file with a similar name; empty if none applies."""
    folder = os.path.dirname(os.fsdecode(path))
    if os.path.islink(path):
        return f"; it is a link to {os.fsdecode(os.readlink(path))!r}"
    if folder and not os.path.lexists(folder):
        return f"; there is no folder {folder!r}"
    near = similar_files(path)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def similar_files(path: str | os.PathLike[str]) -> list[str]:
    """The files in the folder of a missing file whose names are similar to its name."""
    folder, name = os.path.split(os.fsdecode(path))
    try:
        names = sorted(os.listdir(folder or "."))[:MOST_NAMES]
    except (OSError, ValueError):
        return []
    import difflib  # slow to import, and only errors need it

    small = {entry.lower(): entry for entry in names}
    near = difflib.get_close_matches(name.lower(), small, MOST_SIMILAR, CUTOFF)
    return [os.path.join(folder, small[entry]) for entry in near]


def describe_error(error: Exception, path: str | os.PathLike[str]) -> str:
    """The message of an error of the operating system, with advice."""
    if isinstance(error, ValueError):
        return "the name holds a NUL character"
    if isinstance(error, (IsADirectoryError, PermissionError, FileExistsError)) and os.path.isdir(path):
        return "it is a folder; a file is expected"
    if isinstance(error, FileNotFoundError) and url_of(path) is None:
        return missing_file_message(path)
    if isinstance(error, PermissionError):
        return f"{error.strerror}; the permissions of the file or of its folder forbid it"
    return getattr(error, "strerror", None) or str(error)


def utf16_warning(path: str | os.PathLike[str], start: bytes) -> str:
    """The warning for a file of text that starts with a byte order mark of UTF-16; empty for any other start."""
    if not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ""
    name = printable_path(path)
    return f"{name} is UTF-16 by its first two bytes, and toksmith reads UTF-8; convert it: iconv -f UTF-16 -t UTF-8 {name}"


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
    """The kind of a file that is not regular, in words; None for a regular file."""
    return next((kind for is_kind, kind in KINDS if is_kind(mode)), None)


def check_regular(path: str | os.PathLike[str]) -> bool:
    """Whether the path names a regular file; False for open descriptors and URLs."""
    return regular_status(path) is not None


def regular_status(path: str | os.PathLike[str]) -> os.stat_result | None:
    """The status of a regular file, by one call of the system; None for open descriptors and URLs."""
    name = os.fsdecode(path)
    is_open = "fd" in name and os.path.abspath(name).startswith(OPEN)
    if is_open or name == "/dev/stdin" or url_of(name):
        return None
    status = os.stat(name)
    if not stat.S_ISREG(status.st_mode) and (kind := kind_of(status.st_mode)):
        raise OSError(f"it is {kind}; {EXPECTED.get(kind, 'a regular file is expected')}")
    return status


class Room(NamedTuple):
    """The limit in bytes for a file of a format, and whether a larger file is refused (`whole`) or read in part."""

    bytes: int
    what: str
    whole: bool = True


def read_file(
    path: str | os.PathLike[str], room: Callable[[bytes], Room] = lambda ends: Room(FILE_LIMIT, "a tokenizer")
) -> bytes:
    """The bytes of a file, or of its start.

    For a large file, `room` gets the first and last 64 KiB and returns how much to read. A pipe, which can only be named
    by its descriptor, has no known size, so `room` gets only its start.
    """
    path = os.fspath(path)  # `open` would treat an int as a descriptor, and close it
    try:
        is_regular = check_regular(path)
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
            return data + read_rest(file, room(ends), len(data))
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(path, None, f"cannot be read: {describe_error(error, path)}") from error
    except MemoryError as error:
        raise FormatError(path, None, "cannot be read: there is not enough memory for it") from error


def read_rest(file: BinaryIO, room: Room, before: int) -> bytes:
    """The rest of the file, after the `before` bytes that were already read."""
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


# The files of a folder that is not trusted


def status_of(path: str | os.PathLike[str]) -> os.stat_result | None:
    """The `lstat` of a file; None if the name does not exist."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a name that no file can have
        return None
    refuse_kind(status)
    return status


def refuse_kind(status: os.stat_result) -> None:
    """Raises OSError unless the file is regular."""
    if kind := "a link" if SYSTEM.is_link(status) else kind_of(status.st_mode):
        message = f"it is {kind}, but toksmith reads and writes only regular files here"
        raise OSError(f"{message}; delete it or move it away, and repeat the command")


def open_guarded(path: str | os.PathLike[str]) -> BinaryIO:
    """A file, open for reading. A link is refused, even if it appears between the check and the opening."""
    status_of(path)
    return open(path, "rb", opener=open_without_links)


def open_without_links(path: str, flags: int) -> int:
    """Opens a file without waiting, and without following a link."""
    file = os.open(path, flags | SYSTEM.unfollowed)
    try:
        refuse_kind(os.fstat(file))
    except OSError:
        os.close(file)
        raise
    return file


def read_guarded(path: str | os.PathLike[str], start: int = 0, stop: int | None = None) -> bytes:
    """The bytes of a file, or of the part of a range that exists."""
    with open_guarded(path) as file:
        size = os.fstat(file.fileno()).st_size
        if stop is None:
            refuse_large(size)
            stop = min(size, WHOLE_LIMIT)
        file.seek(start)
        return file.read(max(min(stop, size) - start, 0))


def refuse_large(size: int) -> None:
    """Raises OSError for a file that is too large to be read whole."""
    if size > WHOLE_LIMIT:
        message = f"it has {size:,} bytes, and the limit for a file that is read whole is {WHOLE_LIMIT:,}"
        raise OSError(f"{message}; a job of fewer files and shards has smaller ones")
