"""Files in which the places of all items come before the items. Until their number is known, the items wait in a file that
has no name to stay."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from ..._atomic_files import Temporary, readable, writable
from ..._folders import Folder
from .._written._durable import ShardFiles
from ._rows import DoesNotFit

__all__ = ["OffsetsFirst", "items_of"]

MOST = 1 << 32
COPIED_AT_A_TIME = 1 << 22


class OffsetsFirst:
    """A file of the number of items (u32), where each begins and the last ends (u32, from the file's start), something
    between, and the items."""

    def __init__(self, files: ShardFiles, name: str) -> None:
        self._files, self._name = files, name
        self._path = files.folder / name
        self._lengths: list[NDArray[np.int64]] = []
        self._waiting = Temporary(os.path.realpath(self._path))
        files.at_end(self._waiting.drop)
        with writable(self._path):
            self._waiting.create()

    def add(self, data: bytes | memoryview, lengths: NDArray[np.int64]) -> None:
        """Adds items of these lengths in bytes."""
        with writable(self._path):
            self._waiting.file.write(data)
        self._lengths.append(lengths)

    def close(self, between: bytes = b"") -> None:
        """Writes the file.

        Raises:
            DoesNotFit: It has 4 GiB or more, so that its places do not fit.
        """
        lengths = np.concatenate([np.zeros(1, np.int64), *self._lengths])
        places = np.cumsum(lengths) + (4 + 4 * len(lengths) + len(between))
        if places[-1] >= MOST:
            said = f"{self._name} would have {places[-1]:,} bytes, and its format ends at {MOST:,}"
            raise DoesNotFit(str(self._files.folder), f"{said}; plan the job again with a smaller shard_size")
        out = self._files.new(self._name)
        out.write(np.array([len(lengths) - 1], "<u4").tobytes())
        out.write(places.astype("<u4").tobytes())
        out.write(between)
        with writable(self._path):
            self._waiting.file.flush()
        with readable(self._path), open(self._waiting.name, "rb") as items:
            while data := items.read(COPIED_AT_A_TIME):
                out.write(data)
        self._waiting.drop()


def items_of(folder: Folder, name: str) -> int:
    """The number of items in such a file.

    Raises:
        FormatError: It cannot be read.
    """
    with readable(folder.at(name)):
        return int.from_bytes(folder.read(name, 0, 4), "little")
