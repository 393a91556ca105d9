"""The files that a job reads, on this machine or behind a URL: both kinds answer the same questions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from ..._base.paths import regular, url_of
from . import store
from .store import InputFacts

__all__ = ["InputFacts", "LocalInput", "RemoteInput", "input_at"]

Ranges = Callable[[int], Sequence[tuple[int, int]] | None]


class LocalInput(NamedTuple):
    """A file of this machine."""

    path: str

    def facts(self) -> InputFacts:
        """The file as it is now.

        Raises:
            OSError: There is none, or it is not a regular file.
        """
        if not regular(self.path):
            raise OSError("it is not a regular file, which a job needs to read it again")
        status = os.stat(self.path)
        return InputFacts(status.st_size, status.st_mtime_ns)

    def read(self, start: int, stop: int) -> bytes:
        """A range of its bytes; fewer at its end.

        Raises:
            OSError: It cannot be read.
        """
        with open(self.path, "rb") as file:
            file.seek(start)
            return file.read(stop - start)

    @contextlib.contextmanager
    def here(self, ranges: Ranges) -> Iterator[Path]:
        """The file itself."""
        yield Path(self.path)


class RemoteInput(NamedTuple):
    """A file behind a URL."""

    path: str

    def facts(self) -> InputFacts:
        """The file as it is now.

        Raises:
            OSError: There is none, or the store does not say how large it is.
        """
        return store.facts_of(self.path)

    def read(self, start: int, stop: int) -> bytes:
        """A range of its bytes.

        Raises:
            OSError: It cannot be read.
        """
        return store.read(self.path, start, stop) if start < stop else b""

    def here(self, ranges: Ranges) -> AbstractContextManager[Path]:
        """A file of this machine with the same size, the same last name, and these ranges of bytes at their places.

        Args:
            ranges: Says which, of a file of so many bytes; None means all.
        """
        return store.copied(self.path, ranges)


def input_at(path: str) -> LocalInput | RemoteInput:
    """The file of a path or a URL."""
    return LocalInput(path) if url_of(path) is None else RemoteInput(path)
