"""Which paths bytes are read from: regular files, and what the caller has open under the name of its descriptor.

Opening a pipe waits for somebody who writes to it, perhaps without end, and a device may give bytes without end. Whoever
opened one knows what it is: the names of open descriptors (`/dev/stdin`, `/dev/fd/3`) are read as they are.
"""

from __future__ import annotations

import os
import stat

__all__ = ["regular"]

OPEN = ("/dev/fd/", "/proc/self/fd/")
KINDS = (
    (stat.S_ISDIR, "it is a folder; a file is expected"),
    (stat.S_ISFIFO, "it is a pipe; name a regular file, or open the pipe and name its descriptor (/dev/fd/…)"),
    (stat.S_ISSOCK, "it is a socket; a regular file is expected"),
    (stat.S_ISCHR, "it is a device; a regular file is expected"),
    (stat.S_ISBLK, "it is a device; a regular file is expected"),
)


def regular(path: str | os.PathLike[str]) -> bool:
    """Whether the path is a regular file's; False for what the caller has open and for what is not there.

    Raises:
        OSError: It is a folder's, a pipe's, a socket's or a device's.
    """
    name = os.fspath(path)
    if os.path.abspath(os.fsdecode(name)).startswith(OPEN) or os.fsdecode(name) == "/dev/stdin":
        return False
    mode = os.stat(name).st_mode
    for is_kind, problem in KINDS:
        if is_kind(mode):
            raise OSError(problem)
    return stat.S_ISREG(mode)
