"""Which paths may be read: regular files, open descriptors of the caller by name, and URLs (`_storage/remote.py`).

Opening a pipe waits for a writer, perhaps forever, and a device may be endless. A caller who has opened one knows what
it is, so the names of open descriptors (`/dev/stdin`, `/dev/fd/3`) are read as they are.
"""

from __future__ import annotations

import os
import re
import stat

__all__ = ["SUFFIXES", "missing", "nearest", "regular", "shown", "similar", "spelled", "url_of"]

# What ends so is a file, and not the name of a model or of a repository.
SUFFIXES = (".json", ".model", ".tiktoken", ".toksmith", ".txt", ".gguf", ".bpe", ".vocab")
MOST_NAMES = 1000  # so many names of a folder are compared with a wrong one
MOST_SIMILAR, CUTOFF = 2, 0.8
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
