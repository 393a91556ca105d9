"""Which paths may be read: regular files, and open descriptors of the caller by name.

Opening a pipe waits for a writer, perhaps forever, and a device may be endless. A caller who has opened one knows what
it is, so the names of open descriptors (`/dev/stdin`, `/dev/fd/3`) are read as they are.
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
    """Whether the path names a regular file; False for open descriptors and for missing files.

    Raises:
        OSError: It names a folder, a pipe, a socket or a device.
    """
    name = os.fspath(path)
    if os.path.abspath(os.fsdecode(name)).startswith(OPEN) or os.fsdecode(name) == "/dev/stdin":
        return False
    mode = os.stat(name).st_mode
    for is_kind, problem in KINDS:
        if is_kind(mode):
            raise OSError(problem)
    return stat.S_ISREG(mode)
