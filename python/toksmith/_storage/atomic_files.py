"""Writes one file, or several together, completely or not at all.

A file is written next to its target under a temporary name, and then renamed to the target, so no reader finds it half
written. Several files are renamed one after another. To keep readers from mixing files of two runs, a note is written
first, when all files are complete and on the disk: it records which file replaces which target. From then on the new
files are valid. If the process dies, `finish_renames` finishes the renames; readers call it too. The note is removed last.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from .._base.paths import describe_error, open_guarded, status_of, url_of
from .._base.system import SYSTEM
from ..errors import FormatError

Path = str | os.PathLike[str]
State = list[int] | None
UNFINISHED = re.compile(r"\.[0-9a-f]{16}\.tmp")
NOTE_BYTES = 1 << 20
SENT_AT_A_TIME = 32 << 20


def write_file(path: Path, data: bytes, *, named: bool = True) -> None:
    """Writes `data` to a file, which keeps its old content (or stays absent) until the new content is complete.

    The file keeps its permissions. With `named` (the user gave the path), a link is followed: its target is replaced, not
    the link. Without it, a link is refused.
    """
    write_files([(path, data)], named=None if named else 0)


def write_files(files: Sequence[tuple[Path, bytes]], *, named: int | None = None) -> None:
    """Like `write_file` for a group: after `finish_renames`, all files are old or all are new. `named`: see `AtomicFiles`."""
    with AtomicFiles([path for path, _ in files], named=named) as group:
        for path, data in files:
            new = group.add(path)
            with wrap_write_errors(path):
                new.file.write(data)
        group.place()


class AtomicFiles:
    """New files for some paths, to be written in a `with` block; `place` renames them to their targets.

    Args of the constructor: `paths` of all files; `named`, the number of leading paths that the user gave (None: all). Only
    these can be links, which are followed. The note is next to the first file.
    """

    def __init__(self, paths: Sequence[Path], *, named: int | None = None) -> None:
        self._paths, self._first, self._named = paths, paths[0], paths[:named]
        self._targets: list[str] = []
        self._new: list[NewFile] = []

    def __enter__(self) -> AtomicFiles:  # noqa: PYI034 - `Self` came with Python 3.11
        with wrap_write_errors(self._first):
            self._targets = [resolve_path(path, follow=path in self._named) for path in self._paths]
            if os.path.lexists(note := note_path(self._targets)):
                with wrap_write_errors(note), SYSTEM.exclusive(os.path.dirname(note)):
                    apply_note(note, self._targets)
        return self

    def add(self, path: Path) -> NewFile:
        with wrap_write_errors(path):
            target = resolve_path(path, follow=path in self._named)
            if path not in self._named:
                status_of(target)
            if self._named:  # the folder of a job is swept once for all of its files
                remove_leftovers(target, self._targets)
            new = NewFile(path, target)
            self._new.append(new)  # before it exists, so that the block removes it wherever Ctrl-C comes
            new.create()
        return new

    def complete(self) -> list[str]:
        """Flushes all buffers to the system, so that all bytes can be read from the temporary names that it returns."""
        for new in self._new:
            with wrap_write_errors(new.path):
                new.file.flush()
        return [new.name for new in self._new]

    def seal(self) -> None:
        """Flushes all files to the disk; `place` calls it too."""
        for new in self._new:
            with wrap_write_errors(new.path):
                new.seal()

    def place(self) -> None:
        """Flushes all files to the disk, and then renames them, in the order in which they were added."""
        self.seal()
        if len(self._new) == 1:
            with wrap_write_errors(self._first):
                self._new[0].move()
            return
        note = note_path(self._targets)
        with wrap_write_errors(self._first), SYSTEM.exclusive(os.path.dirname(note)) as folder:
            apply_note(note, self._targets)
            remove_leftovers(note, self._targets)
            write_note(note, self._new)
            SYSTEM.flush_folder(folder)
            try:
                self._new[0].move()
            except OSError:
                SYSTEM.remove(note)  # no file was renamed: the old files are still valid
                raise
            for new in self._new[1:]:
                new.move()
            SYSTEM.flush_folder(folder)
            SYSTEM.remove(note)

    def __exit__(self, *_: object) -> None:
        for new in self._new:
            new.close()
        with contextlib.suppress(OSError, ValueError):
            pending_names = {name for _, name, _ in read_note(note_path(self._targets), self._targets)}
            for new in self._new:
                if new.name not in pending_names:
                    with contextlib.suppress(OSError):
                        SYSTEM.remove(new.name)


class TemporaryFile:
    """A file next to a target, which `SYSTEM` locks for as long as it is open.

    The name is chosen before the file exists, so its owner can remove it even if Ctrl-C comes between its creation and the
    next instruction.

    Attributes: `name`; `file`, open for writing, once `create` has returned.
    """

    file: BinaryIO

    def __init__(self, target: str) -> None:
        self._target = target
        self.name = temporary_name(target)

    def create(self) -> None:
        while True:
            self.file = open(self.name, "xb")  # noqa: SIM115 - the owner closes it
            SYSTEM.hold(self.file.fileno())  # `remove_leftovers` in another process may be about to remove it
            if os.fstat(self.file.fileno()).st_nlink:
                return
            self.file.close()  # it was removed
            self.name = temporary_name(self._target)

    def close(self) -> None:
        """Closes the file, if it is open; an error in writing the buffered rest is ignored."""
        with contextlib.suppress(OSError, AttributeError):
            self.file.close()

    def drop(self) -> None:
        self.close()
        with contextlib.suppress(OSError):
            SYSTEM.remove(self.name)


class NewFile(TemporaryFile):
    """One file of a group.

    Attributes: as in `TemporaryFile`; `path` as requested.

    Args of the constructor: `target`, the path with links resolved.
    """

    def __init__(self, path: Path, target: str) -> None:
        self.path = path
        if url_of(path) is not None:
            raise OSError("only the folder of a job may be a URL; name a file of this machine")
        if not os.path.isdir(folder := os.path.dirname(target)):
            raise OSError(f"there is no folder {folder!r}; make it first")
        self._mode = replaceable_mode(target)
        super().__init__(target)
        self._unsent, self._is_sealed = 0, False

    def write(self, data: bytes | memoryview) -> None:
        """Appends bytes, and flushes to the disk after each `SENT_AT_A_TIME` bytes, so that little is left for the end."""
        self.file.write(data)
        self._unsent += memoryview(data).nbytes
        if self._unsent >= SENT_AT_A_TIME:
            self._unsent = 0
            self.file.flush()
            SYSTEM.flush(self.file.fileno())

    def seal(self) -> None:
        """Writes everything to the disk, once."""
        if self._is_sealed:
            return
        self._is_sealed = True
        self.file.flush()
        SYSTEM.flush(self.file.fileno())
        if self._mode is not None:
            os.chmod(self.name, self._mode)

    def move(self) -> None:
        """Renames the file to its target. It stays open where the system allows that, so that `remove_leftovers` does not remove it."""
        SYSTEM.replace(self.file, self.name, self._target)

    def note_entry(self) -> dict[str, object]:
        """The entry of the file in a note: the suffix of its name, and the identity of the file that it replaces."""
        return {"new": self.name[len(self._target) :], "replaces": file_identity(self._target)}


def temporary_name(target: str) -> str:
    return f"{target}.{os.urandom(8).hex()}.tmp"


def remove_leftovers(target: str, targets: Sequence[str]) -> None:
    """Removes files that killed processes left next to a target, except the files that the note of these targets names."""
    folder, target_name = os.path.split(target)
    with contextlib.suppress(OSError):
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(target_name)]
        leftovers = [os.path.join(folder, name) for name in names if UNFINISHED.fullmatch(name, len(target_name))]
        pending_names = {name for _, name, _ in read_note(note_path(targets), targets)} if leftovers else set()
        for name in leftovers:
            if name not in pending_names:
                SYSTEM.remove_unheld(name)


# The note


def resolve_path(path: Path, *, follow: bool = True) -> str:
    """The path with links resolved; without `follow`, the last name stays unchanged."""
    if follow:
        return os.path.realpath(os.fsdecode(path))
    folder, name = os.path.split(os.fsdecode(path))
    return os.path.join(os.path.realpath(folder), name)


def note_path(targets: Sequence[str]) -> str:
    """The path of the note for these files, which is next to the first."""
    return f"{targets[0]}.pending"


def write_note(note: str, files: Sequence[NewFile]) -> None:
    """Writes the note: one entry for each target, in their order."""
    data = json.dumps({"files": [new.note_entry() for new in files]}, indent=1).encode()
    temporary = TemporaryFile(note)
    try:
        temporary.create()
        temporary.file.write(data)
        temporary.file.flush()
        SYSTEM.flush(temporary.file.fileno())
        SYSTEM.replace(temporary.file, temporary.name, note)
    finally:
        temporary.drop()


def read_note(note: str, targets: Sequence[str]) -> list[tuple[str, str, State]]:
    """The content of a note: each target, the file that replaces it, and the state of the old file. Empty without a note.

    A note can come with files from an untrusted source. It holds only the suffixes of the names of `temporary_name`, so
    that only files next to a target are touched.
    """
    try:
        with open_guarded(note) as file:
            data = file.read(NOTE_BYTES)
    except FileNotFoundError:
        return []
    try:
        entries = zip(targets, json.loads(data)["files"], strict=True)
        renames = [(to, to + entry["new"], entry["replaces"]) for to, entry in entries]
        if not all(UNFINISHED.fullmatch(new, len(to)) for to, new, _ in renames):
            raise ValueError(note)
        return renames
    except (ValueError, KeyError, TypeError, RecursionError):
        raise OSError(f"{note!r} is not a note of toksmith; delete it") from None


def finish_renames(paths: Sequence[Path]) -> dict[str, str]:
    """Finishes the renames of a group of files, if their writer died before it finished them.

    Returns: for each path that cannot be replaced (in a read-only folder) the path with links resolved and the file with
        its current content. See `current_path`.
    """
    try:
        note = note_path([resolve_path(paths[0])])
    except ValueError:  # the name holds a NUL character
        return {}
    if not os.path.lexists(note):
        return {}
    with lock_renamed(paths) as pending:
        return pending


@contextlib.contextmanager
def lock_renamed(paths: Sequence[Path]) -> Iterator[dict[str, str]]:
    """Settles these files, and keeps other processes from replacing them until the block ends; yields as `finish_renames` returns.

    In a folder that this process is not allowed to read, other processes can still replace them.
    """
    targets = [resolve_path(path) for path in paths]
    note, pending = note_path(targets), {}
    with contextlib.ExitStack() as stack:
        with wrap_read_errors(note):
            with contextlib.suppress(OSError):
                stack.enter_context(SYSTEM.exclusive(os.path.dirname(note)))
            # Under the lock, because a later note is from another writer.
            try:
                apply_note(note, targets)
            except OSError:
                renames = read_note(note, targets)
                pending = {
                    to: new for to, new, replaced in renames if os.path.lexists(new) and file_identity(to) == replaced
                }
        yield pending


def current_path(path: Path, waiting: Mapping[str, str]) -> Path:
    """The file with the current content of a path, by the result of `finish_renames`."""
    return waiting.get(resolve_path(path), path) if waiting else path


def apply_note(note: str, targets: Sequence[str]) -> None:
    """Finishes the renames that the note lists, except for targets that changed after the note."""
    if not os.path.lexists(note):
        return
    for to, new, replaced in read_note(note, targets):
        if os.path.lexists(new):
            if file_identity(to) == replaced:
                SYSTEM.move(new, to)
            else:
                SYSTEM.remove(new)
    SYSTEM.remove(note)


def file_identity(path: str) -> State:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    return [status.st_ino, status.st_size, status.st_mtime_ns]


# Files that can be replaced, and the errors


def replaceable_mode(target: str) -> int | None:
    """The permissions of the file to replace; None if it does not exist.

    Replacing a file needs no write permission for it, so a file that was made read-only on purpose is refused here.
    """
    try:
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(target)
    if not stat.S_ISREG(mode):
        raise OSError("it is not a regular file; name a file that can be replaced")
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise OSError("the file is read-only; make it writable, delete it, or choose another name")
    return stat.S_IMODE(mode)


@contextlib.contextmanager
def wrap_read_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {describe_error(error, path)}") from error


@contextlib.contextmanager
def wrap_write_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(path, None, f"cannot be written: {describe_error(error, path)}") from error


def make_folder(path: str | os.PathLike[str]) -> None:
    """Makes the folder of this path; its parent must exist."""
    try:
        if not os.path.isdir(path):
            os.mkdir(path)
    except (OSError, ValueError) as error:
        if isinstance(error, FileExistsError) and os.path.isdir(path):
            return  # another process has made it
        problem = (
            "it is a file; a folder is expected"
            if os.path.lexists(os.path.abspath(path))
            else describe_error(error, path)
        )
        if isinstance(error, FileNotFoundError):
            problem = f"there is no folder {os.path.dirname(os.path.abspath(path))!r}; make it first"
        raise FormatError(path, None, f"cannot be written: {problem}") from error
