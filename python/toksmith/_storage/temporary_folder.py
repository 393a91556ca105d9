"""A folder for temporary files. The next one in the same place removes those that killed processes left.

Its owner holds a file next to it (`SYSTEM.hold`), which exists before the folder and after it. The system ends the hold with
the process, so a folder whose file is not held has no owner, on this machine or on any whose locks are visible.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from .._base.system import SYSTEM
from .atomic_files import UNFINISHED, TemporaryFile, wrap_write_errors

NAME = "toksmith-work"  # of the held files, before the suffix of `TemporaryFile`


@contextlib.contextmanager
def temporary_folder(parent: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """A new folder in `parent` (None: the system's place for temporary files), removed at the end with its contents."""
    import tempfile  # slow to import

    parent = Path(parent or tempfile.gettempdir())
    holder = TemporaryFile(str(parent / NAME))
    with contextlib.ExitStack() as stack:
        stack.callback(holder.drop)
        with wrap_write_errors(parent):
            remove_left_folders(parent)
            holder.create()
            stack.callback(remove_folder, folder_of(holder.name))
            folder_of(holder.name).mkdir(0o700)
        yield folder_of(holder.name)


def remove_left_folders(parent: Path) -> None:
    """Removes the folders without an owner, then their files."""
    names = {*os.listdir(parent)}  # a folder in this list was held before it was listed
    for name in names:
        if name.startswith(NAME) and UNFINISHED.fullmatch(name, len(NAME)):
            folder = folder_of(str(parent / name))
            if folder.name in names and not SYSTEM.is_held(str(parent / name)):
                remove_folder(folder)
            if not os.path.lexists(folder):
                SYSTEM.remove_unheld(str(parent / name))


def remove_folder(folder: Path) -> None:
    """Removes a folder as far as the system allows it."""
    import shutil  # slow to import

    with contextlib.suppress(OSError):
        shutil.rmtree(folder, ignore_errors=True)


def folder_of(held: str) -> Path:
    return Path(held.removesuffix(".tmp"))
