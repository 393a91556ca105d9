"""Files that hold the offsets of all items before the items, which stay in a temporary file until their number is known."""

from __future__ import annotations

import os
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..._base.paths import open_guarded
from ..._storage.atomic_files import TemporaryFile, resolve_path, wrap_read_errors, wrap_write_errors
from ..._storage.folders import Folder
from ..written import ShardFiles
from .rows import DoesNotFit

MOST = 1 << 32
COPIED_AT_A_TIME = 1 << 22


class OffsetsFirst:
    """A file with the number of items (u32), the start of each and the end of the last (u32, from the file's start), the
    bytes `between`, and the items."""

    def __init__(self, files: ShardFiles, name: str) -> None:
        self._files, self._name = files, name
        self._path = files.folder / name
        self._lengths: list[NDArray[np.int64]] = []
        self._waiting = TemporaryFile(resolve_path(self._path, follow=False))
        files.at_end(self._waiting.drop)
        with wrap_write_errors(self._path):
            self._waiting.create()

    def add(self, data: bytes | memoryview, lengths: NDArray[np.int64]) -> None:
        with wrap_write_errors(self._path):
            self._waiting.file.write(data)
        self._lengths.append(lengths)

    def close(self, between: bytes = b"") -> None:
        """Writes the file, which must have less than 4 GiB, because its offsets have 32 bits."""
        lengths = np.concatenate([np.zeros(1, np.int64), *self._lengths])
        places = np.cumsum(lengths) + (4 + 4 * len(lengths) + len(between))
        if places[-1] >= MOST:
            problem = f"{self._name} would have {places[-1]:,} bytes, and its format ends at {MOST:,}"
            raise DoesNotFit(str(self._files.folder), f"{problem}; plan the job again with a smaller shard_size")
        out = self._files.new(self._name)
        out.write(np.array([len(lengths) - 1], "<u4").tobytes())
        out.write(places.astype("<u4").tobytes())
        out.write(between)
        with wrap_write_errors(self._path):
            self._waiting.file.flush()
        with wrap_read_errors(self._path), open_guarded(self._waiting.name) as items:
            while data := items.read(COPIED_AT_A_TIME):
                out.write(data)
        self._waiting.drop()


def items_of(folder: Folder, name: str) -> int:
    """The number of items in such a file."""
    with wrap_read_errors(folder.at(name)):
        return int.from_bytes(folder.read(name, 0, 4), "little")


def read_places(file: BinaryIO) -> NDArray[np.int64]:
    """The starts of the items of such a file, and the end of the last; they must ascend and match the file's size."""
    count, size = int.from_bytes(file.read(4), "little"), os.fstat(file.fileno()).st_size
    if 4 * (count + 2) > size:
        raise ValueError(f"it has {size:,} bytes, too few for the places of {count:,} items")
    places = np.fromfile(file, "<u4", count + 1).astype(np.int64)
    if places[0] < 4 * (count + 2) or places[-1] > size or (np.diff(places) < 0).any():
        raise ValueError("the places of its items do not ascend from their end to the end of the file")
    return places
