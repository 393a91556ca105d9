"""Which paths may be read: regular files, open descriptors of the caller by name, and URLs (`_remote/`).

Opening a pipe waits for a writer, perhaps forever, and a device may be endless. A caller who has opened one knows what
it is, so the names of open descriptors (`/dev/stdin`, `/dev/fd/3`) are read as they are.
"""

from __future__ import annotations

import os
import re
import stat

__all__ = ["regular", "spelled", "url_of"]

OPEN = ("/dev/fd/", "/proc/self/fd/")
KINDS = (
    (stat.S_ISDIR, "it is a folder; a file is expected"),
    (stat.S_ISFIFO, "it is a pipe; name a regular file, or open the pipe and name its descriptor (/dev/fd/…)"),
    (stat.S_ISSOCK, "it is a socket; a regular file is expected"),
    (stat.S_ISCHR, "it is a device; a regular file is expected"),
    (stat.S_ISBLK, "it is a device; a regular file is expected"),
)

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


def spelled(path: str | os.PathLike[str]) -> str:
    """The path as text, or the URL that it is.

    >>> from pathlib import Path
    >>> spelled(Path("s3://bucket/a.jsonl")), spelled(Path("a.jsonl"))
    ('s3://bucket/a.jsonl', 'a.jsonl')
    """
    return url_of(path) or os.fsdecode(path)


def regular(path: str | os.PathLike[str]) -> bool:
    """Whether the path names a regular file; False for open descriptors, for URLs and for missing files.

    Raises:
        OSError: It names a folder, a pipe, a socket or a device.
    """
    name = os.fspath(path)
    if os.path.abspath(os.fsdecode(name)).startswith(OPEN) or os.fsdecode(name) == "/dev/stdin":
        return False
    if url_of(path) is not None:
        return False
    mode = os.stat(name).st_mode
    for is_kind, problem in KINDS:
        if is_kind(mode):
            raise OSError(problem)
    return stat.S_ISREG(mode)
