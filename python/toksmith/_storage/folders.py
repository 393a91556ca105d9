"""A folder of files, on this machine or behind a URL: both kinds answer the same questions, so that jobs do not ask which.

New files are written and completed on this machine (`staged`), then `publish` puts them into the folder. On this machine
both is one place, and a file is there when it gets its name; a store gets each file in one upload. A receipt is written
behind the files of its shard: files without a receipt count for nothing, wherever they are.

What a folder of this machine holds is not trusted (`_base/paths.py`): each file is a regular file, and the folders in it are
not links.

What cannot be read or written raises FormatError, and what may not be in the folder of a job (a link, a pipe) JobError. `read`,
`read_each` and `version` raise OSError, because their callers know what the file is for.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .._base.errors import InvalidOption, JobError
from .._base.paths import WHOLE_LIMIT, read_guarded, refuse_large, shown, status_of, url_of
from .._base.system import SYSTEM
from . import remote
from .atomic_files import UNFINISHED, Temporary, make_folder, readable, real, writable, write_file

__all__ = ["Folder", "LocalFolder", "RemoteFolder", "folder_at", "own_folder", "sync_folder"]

TEMPORARY = 21  # characters behind the name of a file that is being written


class _AnyFolder:
    """A path, as its errors name it; and what a folder does where nothing is to be done: a store has no folders and no
    unfinished files."""

    def __fspath__(self) -> str:
        return str(self)

    def make(self) -> None: ...

    def publish(self, here: Path, names: Iterable[str]) -> None: ...

    def remove_folder(self, name: str) -> None: ...

    def sweep(self, within: Collection[str], own: Callable[[str], object]) -> None: ...

    def being_written(self, within: Collection[str], own: Callable[[str], object]) -> Iterator[str]:
        return iter(())


@dataclass(frozen=True)
class LocalFolder(_AnyFolder):
    """A folder of this machine.

    Attributes: `path`, its own.
    """

    path: Path

    def __str__(self) -> str:
        return shown(self.path)

    @property
    def place(self) -> str:
        """Where it is, for a process in another folder."""
        return os.path.abspath(self.path)

    def at(self, name: str) -> str:
        """Where a file is, for a process in another folder."""
        return os.path.join(self.place, name)

    def exists(self) -> bool:
        """Whether there is such a folder."""
        return os.path.isdir(self.path)

    def make(self) -> None:
        """Makes the folder."""
        make_folder(self.path)

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return self._status(name) is not None

    def has_folder(self, name: str) -> bool:
        """Whether there is something of this name, which should be a folder."""
        return os.path.lexists(self.path / name)

    def _own(self, name: str) -> Path:
        """The path of a file."""
        path = self.path / name
        if path.parent != self.path:
            refuse_linked(path.parent)
        return path

    def _status(self, name: str) -> os.stat_result | None:
        try:
            return status_of(self._own(name))
        except OSError as problem:
            raise JobError(self, f"{name} cannot be read: {problem.strerror or problem}") from problem

    def names(self, within: Collection[str]) -> Iterator[str]:
        """The names of what is in the folder, and in folders of these names there, unless they are links."""
        with readable(self.path):
            for path in by_name(self.path):
                if path.name in within and path.is_dir() and not is_link(path):
                    yield from (f"{path.name}/{each.name}" for each in by_name(path))
                else:
                    yield path.name

    def sizes(self) -> Callable[[str], int | None]:
        """Says how large a file is; None if there is none. What it says raises what `has` raises."""

        def size(name: str) -> int | None:
            found = self._status(name)
            return None if found is None else found.st_size

        return size

    def version(self, name: str) -> tuple[object, ...]:
        """What changes when a file does."""
        facts = os.lstat(self.path / name)
        return facts.st_mtime_ns, facts.st_size, facts.st_ino

    def read(self, name: str, start: int = 0, stop: int | None = None) -> bytes:
        """The bytes of a file, or those of a range that are there."""
        return read_guarded(self._own(name), start, stop)

    def read_each(self, names: Sequence[str]) -> Iterator[bytes | None]:
        """The bytes of small files; None for one that is not there."""
        for name in names:
            data = None
            with suppress(FileNotFoundError):
                data = self.read(name)
            yield data

    def write(self, name: str, data: bytes) -> None:
        """Writes or replaces a file, completely or not at all."""
        path = self.path / name
        if path.parent != self.path:
            own_folder(path.parent)
        with writable(path):
            refuse_large(len(data))
        write_file(path, data, named=False)
        sync_folder(path.parent)

    def create(self, name: str, data: bytes) -> None:
        """As `write`, but a file that is there stays as it is."""
        path = self.path / name
        with writable(path):
            refuse_large(len(data))
            temporary = Temporary(real(path, follow=False))
            try:
                temporary.create()
                temporary.file.write(data)
                temporary.file.flush()
                SYSTEM.flush(temporary.file.fileno())
                with suppress(FileExistsError):
                    SYSTEM.add(temporary.file, temporary.name, str(path))
            finally:
                temporary.drop()
        sync_folder(self.path)

    @contextlib.contextmanager
    def staged(self) -> Iterator[Path]:
        """Where new files are written: the folder itself."""
        yield self.path

    @contextlib.contextmanager
    def fetched(self, names: Iterable[str]) -> Iterator[Path]:
        """A folder with those of these files that are there: the folder itself."""
        for name in names:
            self._status(name)
        yield self.path

    def remove(self, names: Iterable[str]) -> None:
        """Removes files, and flushes that to the disk; a file in a linked folder stays."""
        for path in (self.path / name for name in names):
            if path.parent == self.path or not is_link(path.parent):
                with writable(path), suppress(FileNotFoundError):
                    SYSTEM.remove(str(path))
        sync_folder(self.path)

    def remove_folder(self, name: str) -> None:
        """Removes a folder there, if it is empty."""
        with suppress(OSError):
            (self.path / name).rmdir()

    def sweep(self, within: Collection[str], own: Callable[[str], object]) -> None:
        """Removes temporary files of own names that no process has open."""
        for name in list(self._unfinished(within, own)):
            SYSTEM.remove_unheld(str(self.path / name))

    def being_written(self, within: Collection[str], own: Callable[[str], object]) -> Iterator[str]:
        """The own names of files that processes are writing now, of this machine or of others whose locks it sees."""
        for name in self._unfinished(within, own):
            if SYSTEM.is_held(str(self.path / name)):
                yield name[:-TEMPORARY]

    def _unfinished(self, within: Collection[str], own: Callable[[str], object]) -> Iterator[str]:
        for name in self.names(within):
            if UNFINISHED.fullmatch(name[-TEMPORARY:]) and own(name[:-TEMPORARY]):
                yield name


@dataclass(frozen=True)
class RemoteFolder(_AnyFolder):
    """A folder of a store.

    Attributes: `url`, its own, without a slash at its end; `path`, the same.
    """

    url: str

    @property
    def path(self) -> Path:
        """The URL as a path, which all functions of toksmith take for it."""
        return Path(self.url)

    def __str__(self) -> str:
        return self.url

    @property
    def place(self) -> str:
        """Where it is."""
        return self.url

    def at(self, name: str) -> str:
        """Where a file is."""
        return f"{self.url}/{name}"

    def exists(self) -> bool:
        """Whether there are files whose names begin so."""
        with readable(self.url):
            return bool(remote.listing(self.url))

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        with readable(self.at(name)):
            try:
                remote.facts_of(self.at(name))
                return True
            except FileNotFoundError:
                return False

    def has_folder(self, name: str) -> bool:
        """Whether a file's name begins so."""
        with readable(self.at(name)):
            return bool(remote.listing(self.at(name)))

    def names(self, within: Collection[str]) -> Iterator[str]:
        """As of `LocalFolder`."""
        with readable(self.url):
            found = remote.listing(self.url)
        for name in sorted(found):
            parts = name.split("/")
            if len(parts) == 1 or (len(parts) == 2 and parts[0] in within):
                yield name

    def sizes(self) -> Callable[[str], int | None]:
        """Says how large a file was when this was called; None if there was none."""
        with readable(self.url):
            return remote.listing(self.url).get

    def version(self, name: str) -> tuple[object, ...]:
        """What changes when a file does."""
        return remote.facts_of(self.at(name))

    def read(self, name: str, start: int = 0, stop: int | None = None) -> bytes:
        """As of `LocalFolder`."""
        if stop is None:
            refuse_large(remote.facts_of(self.at(name)).bytes)
            return remote.read(self.at(name))
        return remote.read(self.at(name), start, stop) if start < stop else b""

    def read_each(self, names: Sequence[str]) -> Iterator[bytes | None]:
        """As of `LocalFolder`, many at the same time."""
        for data in remote.read_each([self.at(name) for name in names], WHOLE_LIMIT + 1):
            refuse_large(len(data or b""))
            yield data

    def write(self, name: str, data: bytes) -> None:
        """Writes or replaces a file in one request."""
        with writable(self.at(name)):
            refuse_large(len(data))
            remote.write(self.at(name), data)

    def create(self, name: str, data: bytes) -> None:
        """As `write`, but a file that is there stays as it is."""
        with writable(self.at(name)):
            refuse_large(len(data))
            remote.create(self.at(name), data)

    @contextlib.contextmanager
    def staged(self) -> Iterator[Path]:
        """Where new files are written: a temporary folder of this machine."""
        with tempfile.TemporaryDirectory(prefix="toksmith-", ignore_cleanup_errors=True) as name:
            try:
                yield Path(name)
            except JobError as error:
                if error.folder != name:
                    raise
                raise JobError(self.url, error.problem) from error.__cause__

    def publish(self, here: Path, names: Iterable[str]) -> None:
        """Copies complete files from this machine, each in one upload, and removes them here."""
        for name in names:
            with writable(self.at(name)):
                remote.put(here / name, self.at(name))
                (here / name).unlink()

    @contextlib.contextmanager
    def fetched(self, names: Iterable[str]) -> Iterator[Path]:
        """A folder with copies of those of these files that are there."""
        with tempfile.TemporaryDirectory(prefix="toksmith-", ignore_cleanup_errors=True) as folder:
            for name in names:
                local = Path(folder, name)
                local.parent.mkdir(exist_ok=True)
                with readable(self.at(name)), suppress(FileNotFoundError):
                    remote.fetch(self.at(name), local, remote.facts_of(self.at(name)).bytes)
            yield Path(folder)

    def remove(self, names: Iterable[str]) -> None:
        """Removes files."""
        for name in names:
            with writable(self.at(name)):
                remote.remove([self.at(name)])


Folder = LocalFolder | RemoteFolder


def folder_at(path: str | os.PathLike[str], *, writing: bool = False) -> Folder:
    """The folder of a path or a URL."""
    url = url_of(path)
    if url is None:
        return LocalFolder(Path(path))
    if "//" in url.partition("://")[2]:
        raise InvalidOption("folder", url, "a URL without two slashes in a row, which paths do not keep")
    if writing and not remote.writes(url):
        raise InvalidOption("folder", url, "a folder of this machine, or a URL of s3://, gs:// or hf://")
    return RemoteFolder(url.rstrip("/"))


def by_name(folder: Path) -> list[Path]:
    """What is in a folder, in the same order on every system: by the characters of the names, large and small."""
    return sorted(folder.iterdir(), key=lambda path: path.name)


def own_folder(folder: Path) -> None:
    """Makes a folder in that of a job."""
    refuse_linked(folder)
    make_folder(folder)


def refuse_linked(folder: Path) -> None:
    """Raises JobError for a folder in that of a job that is a link."""
    if is_link(folder):
        said = f"{folder.name} is a link, and the job needs a folder of its own there; move {folder.name} away"
        raise JobError(folder.parent, said)


def is_link(path: Path) -> bool:
    """Whether there is a link of this name."""
    with suppress(OSError):
        return SYSTEM.is_link(os.lstat(path))
    return False


def sync_folder(folder: Path) -> None:
    """Flushes the names of a folder to the disk, if the system can do this for folders."""
    with writable(folder):
        SYSTEM.flush_folder(folder)
