"""The files of a shard: written under temporary names, flushed to the disk, renamed when all are complete.

The files of a shard need no note of what belongs together, unlike those of `encode_corpus`: the receipt is written
behind them, and a shard without a receipt is done again, with equal bytes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from ..._atomic_files import AtomicFiles, NewFile, writable
from ..._folders import own_folder, sync_folder

__all__ = ["ShardFile", "ShardFiles"]


class ShardFiles:
    """New files of a folder, for a `with` block; `place` gives them their names.

    Attributes: `folder`; `names` of the files so far.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []
        self._together: list[AtomicFiles] = []
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
        made = self._open.enter_context(AtomicFiles([path]))
        self.names.append(name)
        self._together.append(made)
        return made

    def new(self, name: str) -> ShardFile:
        """A new file of this name; a name may have one folder before it."""
        return ShardFile(self.folder / name, self.together(name))

    def at_end(self, call: Callable[[], object]) -> None:
        """Calls something at the end of the block, before the files so far are closed."""
        self._open.callback(call)

    def place(self) -> None:
        """Gives all of them their names, and flushes the names to the disk.

        Raises:
            FormatError: A file cannot be written.
        """
        for made in self._together:
            made.place()
        for folder in sorted({(self.folder / name).parent for name in self.names}):
            sync_folder(folder)


class ShardFile:
    """A file that is being written.

    Attributes: `path` it gets; `file`, open for writing.
    """

    def __init__(self, path: Path, together: AtomicFiles) -> None:
        self.path = path
        self._new: NewFile = together.add(path)
        self.file = self._new.file

    def write(self, data: bytes | memoryview) -> None:
        """Writes bytes behind those written before.

        Raises:
            FormatError: The file cannot be written.
        """
        with writable(self.path):
            self.file.write(data)

    def write_at_start(self, data: bytes) -> None:
        """Writes bytes over the first ones.

        Raises:
            FormatError: The file cannot be written.
        """
        with writable(self.path):
            self.file.seek(0)
            self.file.write(data)
