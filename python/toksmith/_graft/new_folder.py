"""Writes a folder that gets its name only when it is complete.

The folder is written next to its final place under another name, flushed to the disk, and renamed. The next process removes
the leftovers of a killed process: a writer locks a file next to its folder for as long as it lives.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from types import TracebackType

from .._base.paths import describe_error, url_of
from .._base.system import SYSTEM
from .._storage.atomic_files import TemporaryFile, remove_leftovers
from ..errors import FormatError

LEFT = re.compile(r"\.[0-9a-f]{16}\.tmp\.new")


def check_free(out: str | os.PathLike[str], source: str | os.PathLike[str]) -> None:
    """Raises FormatError for a path that is in use, or whose parent folder does not exist."""
    place = os.path.realpath(os.fspath(out))
    problem = ""
    if url_of(out) is not None:
        problem = "is a URL; name a folder of this machine"
    elif place == os.path.realpath(source) or place.startswith(os.path.realpath(source) + os.sep):
        problem = "is the checkpoint or inside it; name a folder outside it"
    elif os.path.isdir(place) and os.listdir(place):
        problem = "already exists and is not empty; remove it, or name another folder (with verify=True it is checked)"
    elif os.path.lexists(place) and not os.path.isdir(place):
        problem = "is a file; name a new folder"
    elif not os.path.isdir(os.path.dirname(place)):
        problem = f"there is no folder {os.path.dirname(place)!r}; make it first"
    if problem:
        raise FormatError(out, None, problem)


class NewFolder:
    """A folder that is written as `path` until `place` renames it; without `place`, the end of `with` removes it."""

    def __init__(self, out: str | os.PathLike[str]) -> None:
        self._out = os.path.realpath(os.fspath(out))
        self._held = TemporaryFile(self._out)
        self._placed = False

    @property
    def path(self) -> str:
        return f"{self._held.name}.new"

    def __enter__(self) -> NewFolder:  # noqa: PYI034 - `Self` came with Python 3.11
        try:
            remove_folder_leftovers(self._out)
            self._held.create()
            os.mkdir(self.path)
        except OSError as problem:
            self._held.drop()
            raise FormatError(self._out, None, f"cannot be written: {describe_error(problem, self._out)}") from problem
        return self

    def place(self) -> None:
        """Flushes the folder and renames it to its final name."""
        for folder, _, _ in os.walk(self.path, topdown=False):
            SYSTEM.flush_folder(folder)
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(self._out)  # fails unless it is empty
        SYSTEM.move(self.path, self._out)
        self._placed = True
        SYSTEM.flush_folder(os.path.dirname(self._out))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        if not self._placed:
            shutil.rmtree(self.path, ignore_errors=True)
        self._held.drop()


def remove_folder_leftovers(out: str | os.PathLike[str]) -> None:
    """Removes the leftovers of killed processes next to a path."""
    place = os.path.realpath(os.fspath(out))
    remove_leftovers(place, [place])
    folder, base_name = os.path.split(place)
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(base_name) and LEFT.fullmatch(name, len(base_name)):
                lock_file = os.path.join(folder, name.removesuffix(".new"))
                if not (os.path.lexists(lock_file) and SYSTEM.is_held(lock_file)):
                    shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
