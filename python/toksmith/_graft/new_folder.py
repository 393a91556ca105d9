"""A folder that has its name only when it is whole.

It is written beside its place under another name, flushed to the disk, and renamed. What a killed process left is removed
by the next one: a file beside it is held for as long as its writer lives.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from types import TracebackType

from .._base.errors import FormatError
from .._base.paths import reason, url_of
from .._base.system import SYSTEM
from .._storage.atomic_files import Temporary, sweep

__all__ = ["NewFolder", "check_free", "clear"]

LEFT = re.compile(r"\.[0-9a-f]{16}\.tmp\.new")


def check_free(out: str | os.PathLike[str], source: str | os.PathLike[str]) -> None:
    """Refuses a place that is taken, or that has no folder around it."""
    place = os.path.realpath(os.fspath(out))
    problem = ""
    if url_of(out) is not None:
        problem = "is a URL; name a folder of this machine"
    elif place == os.path.realpath(source) or place.startswith(os.path.realpath(source) + os.sep):
        problem = "is the checkpoint or inside it; name a folder beside it"
    elif os.path.isdir(place) and os.listdir(place):
        problem = (
            "is there already and is not empty; remove it, or name another folder (with verify=True it is checked)"
        )
    elif os.path.lexists(place) and not os.path.isdir(place):
        problem = "is a file; name a new folder"
    elif not os.path.isdir(os.path.dirname(place)):
        problem = f"there is no folder {os.path.dirname(place)!r}; make it first"
    if problem:
        raise FormatError(out, None, problem)


class NewFolder:
    """A folder that is being written, meanwhile as `path`; `with` removes it unless `place` was called."""

    def __init__(self, out: str | os.PathLike[str]) -> None:
        self._out = os.path.realpath(os.fspath(out))
        self._held = Temporary(self._out)
        self._placed = False

    @property
    def path(self) -> str:
        return f"{self._held.name}.new"

    def __enter__(self) -> NewFolder:  # noqa: PYI034 - `Self` came with Python 3.11
        try:
            clear(self._out)
            self._held.create()
            os.mkdir(self.path)
        except OSError as problem:
            self._held.drop()
            raise FormatError(self._out, None, f"cannot be written: {reason(problem, self._out)}") from problem
        return self

    def place(self) -> None:
        """Flushes the folder, and gives it its name."""
        SYSTEM.flush_folder(self.path)
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(self._out)  # empty, or it stays and the next line fails
        SYSTEM.move(self.path, self._out)
        self._placed = True
        SYSTEM.flush_folder(os.path.dirname(self._out))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        if not self._placed:
            shutil.rmtree(self.path, ignore_errors=True)
        self._held.drop()


def clear(out: str | os.PathLike[str]) -> None:
    """Removes what killed processes left beside a place."""
    place = os.path.realpath(os.fspath(out))
    sweep(place, [place])
    folder, own = os.path.split(place)
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(own) and LEFT.fullmatch(name, len(own)):
                held = os.path.join(folder, name.removesuffix(".new"))
                if not (os.path.lexists(held) and SYSTEM.is_held(held)):
                    shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
