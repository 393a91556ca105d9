"""The files of a shard: written under temporary names, flushed to the disk, renamed when all are complete.

The files of a shard need no note of what belongs together, unlike those of `encode_corpus`: the receipt is written
behind them, and a shard without a receipt is done again, with equal bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..._storage.atomic_files import AtomicFiles, NewFile, readable, writable
from ..._storage.folders import own_folder, sync_folder
from .receipts import WrittenFile, facts_of

__all__ = ["ShardFile", "ShardFiles"]


class ShardFiles:
    """New files of a folder, for a `with` block; `place` gives them their names.

    Attributes: `folder`; `names` of the files so far.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []
        self._together: list[AtomicFiles] = []
        self._summed: dict[str, ShardFile] = {}
        self._open = contextlib.ExitStack()

    def __enter__(self) -> ShardFiles:  # noqa: PYI034 - `Self` came with Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def together(self, name: str) -> AtomicFiles:
        """Where to add the one file of this name.

        Raises:
            FormatError: Its folder cannot be made.
            JobError: Its folder is a link.
        """
        path = self.folder / name
        if path.parent != self.folder:
            own_folder(path.parent)
        made = self._open.enter_context(AtomicFiles([path], named=0))
        self.names.append(name)
        self._together.append(made)
        return made

    def new(self, name: str) -> ShardFile:
        """A new file of this name; a name may have one folder before it."""
        self._summed[name] = ShardFile(self.folder / name, self.together(name))
        return self._summed[name]

    def at_end(self, call: Callable[[], object]) -> None:
        """Calls something at the end of the block, before the files so far are closed."""
        self._open.callback(call)

    def place(self) -> tuple[WrittenFile, ...]:
        """Gives all of them their names, and flushes the names to the disk. Returns what they are.

        Raises:
            FormatError: A file cannot be written.
        """
        there = [name for made in self._together for name in made.complete()]
        with ThreadPoolExecutor(1) as other:  # which waits for the disk while this thread computes the sums
            sealed = [other.submit(made.seal) for made in self._together]
            facts = tuple(
                self._summed[name].facts(name) if name in self._summed else facts_of(name, Path(found))
                for name, found in zip(self.names, there, strict=True)
            )
            for each in sealed:
                each.result()
        for made in self._together:
            made.place()
        for folder in sorted({(self.folder / name).parent for name in self.names}):
            sync_folder(folder)
        return facts


class ShardFile:
    """A file that is being written, with its sum so far.

    Attributes: `path` it gets; `file`, open for writing, for libraries that write themselves.
    """

    def __init__(self, path: Path, together: AtomicFiles) -> None:
        self.path = path
        self._new: NewFile = together.add(path)
        self.file = self._new.file
        self._size, self._digest = 0, hashlib.sha256()

    def write(self, data: bytes | memoryview) -> None:
        """Writes bytes behind those written before.

        Raises:
            FormatError: The file cannot be written.
        """
        with writable(self.path):
            self._new.write(data)
        self._digest.update(data)
        self._size += memoryview(data).nbytes

    def facts(self, name: str) -> WrittenFile:
        """What the file is; of one that others wrote to, it is read for that.

        Raises:
            FormatError: It cannot be read.
        """
        with readable(self.path):
            size = os.fstat(self.file.fileno()).st_size
        if self._size == size:
            return WrittenFile(name, self._size, self._digest.hexdigest())
        return facts_of(name, Path(self._new.name))
