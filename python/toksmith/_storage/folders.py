"""A folder of files, local or at a URL, with one interface for both.

New files are written and completed on this machine (`staging_folder`), then `publish` puts them into the folder. For a local folder
both are one place, and a file exists as soon as it gets its name; a store gets each file in one upload. A receipt is written
after the files of its shard: files without a receipt are ignored.

The content of a local folder is not trusted (`_base/paths.py`): each file must be a regular file, and folders in it must not
be links.

A failed read or write raises FormatError; an entry that is not allowed in the folder of a job (a link, a pipe) raises
JobError. `read`, `read_each` and `version` raise OSError, because their callers know what the file is for.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .._base.paths import WHOLE_LIMIT, printable_path, read_guarded, refuse_large, status_of, url_of
from .._base.system import SYSTEM
from ..errors import FormatError, InvalidOption, JobError
from . import remote
from .atomic_files import (
    UNFINISHED,
    AtomicFiles,
    TemporaryFile,
    make_folder,
    resolve_path,
    wrap_read_errors,
    wrap_write_errors,
)
from .temporary_folder import temporary_folder

COMPARED_AT_A_TIME = 1 << 20
TEMPORARY_SUFFIX_LENGTH = 21  # characters appended to the name of a file that is being written


class _FolderDefaults:
    """The path as errors name it, and defaults that do nothing: a store has no folders and no unfinished files."""

    def __fspath__(self) -> str:
        return str(self)

    def make(self) -> None: ...

    def publish(self, here: Path, names: Iterable[str]) -> None: ...

    def remove_folder(self, name: str) -> None: ...

    def sweep(self, within: Collection[str], own: Callable[[str], object]) -> None: ...

    def names_being_written(self, within: Collection[str], own: Callable[[str], object]) -> Iterator[str]:
        return iter(())


@dataclass(frozen=True)
class LocalFolder(_FolderDefaults):
    path: Path

    def __str__(self) -> str:
        return printable_path(self.path)

    @property
    def place(self) -> str:
        """The absolute path, for a process with another working directory."""
        return os.path.abspath(self.path)

    def at(self, name: str) -> str:
        return os.path.join(self.place, name)

    def exists(self) -> bool:
        return os.path.isdir(self.path)

    def make(self) -> None:
        """Makes the folder; its parent must exist."""
        make_folder(self.path)

    def has(self, name: str) -> bool:
        return self._status(name) is not None

    def has_folder(self, name: str) -> bool:
        """Whether an entry of this name exists; it should be a folder."""
        return os.path.lexists(self.path / name)

    def _own(self, name: str) -> Path:
        """The path of a file; raises JobError if its folder is a link."""
        path = self.path / name
        if path.parent != self.path:
            refuse_linked(path.parent)
        return path

    def _status(self, name: str) -> os.stat_result | None:
        try:
            return status_of(self._own(name))
        except OSError as problem:
            raise JobError(self, f"{name} cannot be read: {problem.strerror or problem}") from problem

    def names(self, within: Collection[str], ending: str = "") -> list[str]:
        """The names of the entries of the folder, and of its subfolders named in `within`, unless these are links; only those
        with this ending. They have the same order on every system, where upper and lower case differ."""
        entered = {name for name in within if os.path.isdir(self.path / name) and not is_link(self.path / name)}
        with wrap_read_errors(self.path):
            found = [name for name in os.listdir(self.path) if name.endswith(ending) and name not in entered]
            for folder in entered:
                found += [f"{folder}/{name}" for name in os.listdir(self.path / folder) if name.endswith(ending)]
        return sorted(found)

    def names_in(self, folder: str) -> list[str]:
        """The names of the entries of a subfolder; none if it does not exist."""
        refuse_linked(self.path / folder)
        with wrap_read_errors(self.path / folder), suppress(FileNotFoundError, NotADirectoryError):
            return os.listdir(self.path / folder)
        return []

    def size(self, name: str) -> int | None:
        """The size of a file, None if it does not exist; errors as in `has`."""
        status = self._status(name)
        return None if status is None else status.st_size

    def sizes(self, listed: str = "") -> Callable[[str], int | None]:
        """The function `size`, which does not look for files that the subfolder `listed` lacked when `sizes` was called."""
        if not listed:
            return self.size
        there = {*self.names_in(listed)}
        start = f"{listed}/"
        return lambda name: (
            None if name.startswith(start) and name.removeprefix(start) not in there else self.size(name)
        )

    def listing(self, name: str) -> dict[str, tuple[int, float | None]]:
        """The files of a subfolder, with their sizes and the times when they were written, in seconds of the store's clock."""
        refuse_linked(self.path / name)
        found: dict[str, tuple[int, float | None]] = {}
        with wrap_read_errors(self.path / name), os.scandir(self.path / name) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    facts = entry.stat(follow_symlinks=False)
                    found[entry.name] = facts.st_size, facts.st_mtime
        return found

    def version(self, name: str) -> tuple[int, object]:
        """The size of a file, and a value that changes when the file changes."""
        facts = os.lstat(self.path / name)
        return facts.st_size, (facts.st_mtime_ns, facts.st_ino)

    def read(self, name: str, start: int = 0, stop: int | None = None) -> bytes:
        """The bytes of a file, or of a range, which is cut short at the file's end."""
        return read_guarded(self._own(name), start, stop)

    def read_each(self, names: Sequence[str]) -> Iterator[bytes | None]:
        """The bytes of small files; None for a missing file."""
        for name in names:
            data = None
            with suppress(FileNotFoundError):
                data = self.read(name)
            yield data

    def write(self, name: str, data: bytes | Path) -> None:
        """Writes or replaces a file, completely or not at all; `data` can be the path of a local file with the bytes."""
        path = self.path / name
        if path.parent != self.path:
            make_subfolder(path.parent)
        with AtomicFiles([path], named=0) as group:
            new = group.add(path)
            with wrap_write_errors(path):
                write_into(new.file, data)
            group.place()
        sync_folder(path.parent)

    def create(self, name: str, data: bytes | Path) -> bool:
        """Writes a file only if it does not exist; returns whether this call wrote it."""
        path = self.path / name
        if path.parent != self.path:
            make_subfolder(path.parent)
        with wrap_write_errors(path):
            temporary = TemporaryFile(resolve_path(path, follow=False))
            try:
                temporary.create()
                write_into(temporary.file, data)
                temporary.file.flush()
                SYSTEM.flush(temporary.file.fileno())
                SYSTEM.add(temporary.file, temporary.name, str(path))
            except FileExistsError:
                return False
            finally:
                temporary.drop()
        sync_folder(path.parent)
        return True

    @contextlib.contextmanager
    def staging_folder(self) -> Iterator[Path]:
        """The place for new files: the folder itself."""
        yield self.path

    @contextlib.contextmanager
    def fetch_files(self, names: Iterable[str]) -> Iterator[Path]:
        """A local folder with these files, as far as they exist: the folder itself."""
        for name in names:
            self._status(name)
        yield self.path

    def remove(self, names: Iterable[str]) -> None:
        """Removes files, and flushes the folder to the disk; a file in a linked folder stays."""
        for path in (self.path / name for name in names):
            if path.parent == self.path or not is_link(path.parent):
                with wrap_write_errors(path), suppress(FileNotFoundError):
                    SYSTEM.remove(str(path))
        sync_folder(self.path)

    def discard(self, names: Sequence[str]) -> None:
        """Removes files that do no harm: it ignores errors."""
        with suppress(FormatError, JobError):
            self.remove(names)

    def remove_folder(self, name: str) -> None:
        """Removes a subfolder, if it is empty."""
        with suppress(OSError):
            (self.path / name).rmdir()

    def sweep(self, within: Collection[str], own: Callable[[str], object]) -> None:
        """Removes temporary files that no process has open; `own` decides by the final name."""
        for name in list(self._unfinished(within, own)):
            SYSTEM.remove_unheld(str(self.path / name))

    def names_being_written(self, within: Collection[str], own: Callable[[str], object]) -> Iterator[str]:
        """The final names, if `own` accepts them, of files that processes write now, on any machine whose locks are visible."""
        for name in self._unfinished(within, own):
            if SYSTEM.is_held(str(self.path / name)):
                yield name[:-TEMPORARY_SUFFIX_LENGTH]

    def _unfinished(self, within: Collection[str], own: Callable[[str], object]) -> Iterator[str]:
        for name in self.names(within, ".tmp"):
            if UNFINISHED.fullmatch(name[-TEMPORARY_SUFFIX_LENGTH:]) and own(name[:-TEMPORARY_SUFFIX_LENGTH]):
                yield name


@dataclass(frozen=True)
class RemoteFolder(_FolderDefaults):
    """A folder of a store.

    Attributes: `url`, without a slash at its end.
    """

    url: str

    @property
    def path(self) -> Path:
        """The URL as a path, which all functions of toksmith accept."""
        return Path(self.url)

    def __str__(self) -> str:
        return self.url

    @property
    def place(self) -> str:
        return self.url

    def at(self, name: str) -> str:
        return f"{self.url}/{name}"

    def exists(self) -> bool:
        """Whether the store has a file in this folder."""
        with wrap_read_errors(self.url):
            return bool(remote.list_sizes(self.url))

    def has(self, name: str) -> bool:
        return self.size(name) is not None

    def size(self, name: str) -> int | None:
        with wrap_read_errors(self.at(name)):
            try:
                return remote.remote_facts(self.at(name)).bytes
            except FileNotFoundError:
                return None

    def has_folder(self, name: str) -> bool:
        """Whether the store has a file in this subfolder."""
        with wrap_read_errors(self.at(name)):
            return bool(remote.list_sizes(self.at(name)))

    def names(self, within: Collection[str]) -> list[str]:
        with wrap_read_errors(self.url):
            sizes = remote.list_sizes(self.url)
        folders = {"", *within}
        return [name for name in sorted(sizes) if name.count("/") < 2 and name.rpartition("/")[0] in folders]

    def names_in(self, folder: str) -> list[str]:
        with wrap_read_errors(self.at(folder)):
            return [*remote.list_files(self.at(folder))]

    def sizes(self, listed: str = "") -> Callable[[str], int | None]:
        """A function that gives the size that a file had when `sizes` was called, None if it did not exist."""
        with wrap_read_errors(self.url):
            return remote.list_sizes(self.url).get

    def listing(self, name: str) -> dict[str, tuple[int, float | None]]:
        """As in `LocalFolder`; None for the time if the store does not list it."""
        with wrap_read_errors(self.at(name)):
            infos = remote.list_files(self.at(name))
        return {file: (info["size"] or 0, remote.time_of_writing(info)) for file, info in infos.items()}

    def version(self, name: str) -> tuple[int, object]:
        return remote.remote_facts(self.at(name))

    def read(self, name: str, start: int = 0, stop: int | None = None) -> bytes:
        if stop is None:
            refuse_large(remote.remote_facts(self.at(name)).bytes)
            return remote.read_range(self.at(name))
        return remote.read_range(self.at(name), start, stop) if start < stop else b""

    def read_each(self, names: Sequence[str]) -> Iterator[bytes | None]:
        """As in `LocalFolder`; many are read at the same time."""
        for data in remote.read_small_files([self.at(name) for name in names], WHOLE_LIMIT + 1):
            refuse_large(len(data or b""))
            yield data

    def write(self, name: str, data: bytes | Path) -> None:
        """Writes or replaces a file in one request."""
        with wrap_write_errors(self.at(name)):
            remote.write_small_file(self.at(name), small_bytes(data))

    def create(self, name: str, data: bytes | Path) -> bool:
        """As in `LocalFolder`."""
        with wrap_write_errors(self.at(name)):
            return remote.create_if_absent(self.at(name), small_bytes(data))

    @contextlib.contextmanager
    def staging_folder(self) -> Iterator[Path]:
        """The place for new files: a local temporary folder."""
        with temporary_folder() as folder:
            try:
                yield folder
            except JobError as error:
                if error.folder != str(folder):
                    raise
                raise JobError(self.url, error.problem) from error.__cause__

    def publish(self, here: Path, names: Iterable[str]) -> None:
        """Uploads complete local files, each in one upload, and removes the local copies."""
        for name in names:
            with wrap_write_errors(self.at(name)):
                remote.upload_file(here / name, self.at(name))
                (here / name).unlink()

    @contextlib.contextmanager
    def fetch_files(self, names: Iterable[str]) -> Iterator[Path]:
        """A local folder with copies of these files, as far as they exist."""
        with temporary_folder() as folder:
            for name in names:
                local = folder / name
                local.parent.mkdir(exist_ok=True)
                with wrap_read_errors(self.at(name)), suppress(FileNotFoundError):
                    remote.download_file(self.at(name), local, remote.remote_facts(self.at(name)).bytes)
            yield folder

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            with wrap_write_errors(self.at(name)):
                remote.remove_files([self.at(name)])

    def discard(self, names: Sequence[str]) -> None:
        """As in `LocalFolder`, in as few requests as possible."""
        with suppress(FormatError):
            with wrap_write_errors(self.url):
                if not names or remote.remove_together([*map(self.at, names)]):
                    return
            self.remove(names)


Folder = LocalFolder | RemoteFolder


def folder_at(path: str | os.PathLike[str], *, writing: bool = False) -> Folder:
    url = url_of(path)
    if url is None:
        return LocalFolder(Path(path))
    if "//" in url.partition("://")[2]:
        raise InvalidOption("folder", url, "a URL without two slashes in a row, which paths do not keep")
    if writing and not remote.is_writable(url):
        raise InvalidOption("folder", url, "a folder of this machine, or a URL of s3://, gs:// or hf://")
    return RemoteFolder(url.rstrip("/"))


def is_same_file(folder: Folder, name: str, local: Path) -> bool:
    """Whether a folder has this file, with the bytes of a local file."""
    with suppress(OSError, FormatError), open(local, "rb") as file:
        size = os.path.getsize(local)
        return folder.version(name)[0] == size and all(
            folder.read(name, at, min(at + COMPARED_AT_A_TIME, size)) == file.read(COMPARED_AT_A_TIME)
            for at in range(0, size, COMPARED_AT_A_TIME)
        )
    return False


def write_into(file: BinaryIO, data: bytes | Path) -> None:
    refuse_large(len(data) if isinstance(data, bytes) else os.path.getsize(data))
    with io.BytesIO(data) if isinstance(data, bytes) else open(data, "rb") as source:
        shutil.copyfileobj(source, file, COMPARED_AT_A_TIME)


def small_bytes(data: bytes | Path) -> bytes:
    data = data if isinstance(data, bytes) else data.read_bytes()
    refuse_large(len(data))
    return data


def make_subfolder(folder: Path) -> None:
    refuse_linked(folder)
    make_folder(folder)


def refuse_linked(folder: Path) -> None:
    """Raises JobError if a subfolder of a job's folder is a link."""
    if is_link(folder):
        problem = f"{folder.name} is a link, and the job needs a folder of its own there; move {folder.name} away"
        raise JobError(folder.parent, problem)


def is_link(path: Path) -> bool:
    with suppress(OSError):
        return SYSTEM.is_link(os.lstat(path))
    return False


def sync_folder(folder: Path) -> None:
    """Flushes the entries of a folder to the disk, if the system can flush folders."""
    with wrap_write_errors(folder):
        SYSTEM.flush_folder(folder)
