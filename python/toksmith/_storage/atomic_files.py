"""Writes files completely or not at all: one, or several together.

A file is written beside its target under another name, and then renamed to the target, so no reader sees it half
written. Several files are renamed one after another. To keep readers from mixing files of two runs, a note is written
first, when all files are complete and on the disk: it says which file replaces which target. From then on the new files
count. If the process dies, `settle` finishes the renames; readers call it too. The note is removed last.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from .._base.errors import FormatError
from .._base.paths import open_guarded, reason, status_of, url_of
from .._base.system import SYSTEM

__all__ = [
    "UNFINISHED",
    "AtomicFiles",
    "NewFile",
    "Temporary",
    "current",
    "make_folder",
    "readable",
    "real",
    "settle",
    "settled",
    "sweep",
    "writable",
    "write_file",
    "write_files",
]

Path = str | os.PathLike[str]
State = list[int] | None
UNFINISHED = re.compile(r"\.[0-9a-f]{16}\.tmp")
NOTE_BYTES = 1 << 20
SENT_AT_A_TIME = 32 << 20


def write_file(path: Path, data: bytes, *, named: bool = True) -> None:
    """Writes `data` to a file, which keeps its old content (or does not exist) until the new content is complete.

    The file keeps its permissions. A link that the user has `named` is followed: its target is replaced, not the link.
    Another link is refused.
    """
    write_files([(path, data)], named=None if named else 0)


def write_files(files: Sequence[tuple[Path, bytes]], *, named: int | None = None) -> None:
    """As `write_file` for files that belong together: after `settle`, all files are old or all are new. `named` is as of `AtomicFiles`."""
    with AtomicFiles([path for path, _ in files], named=named) as together:
        for path, data in files:
            written = together.add(path)
            with writable(path):
                written.file.write(data)
        together.place()


class AtomicFiles:
    """New files for some paths, to be written in a `with` block; `place` renames them to their targets.

    Args of the constructor: `paths` of all of them, of which the user has `named` so many, from the first; None for all. Only
    these may be links, which are followed. A note lies beside the first.
    """

    def __init__(self, paths: Sequence[Path], *, named: int | None = None) -> None:
        self._paths, self._first, self._named = paths, paths[0], paths[:named]
        self._targets: list[str] = []
        self._new: list[NewFile] = []

    def __enter__(self) -> AtomicFiles:  # noqa: PYI034 - `Self` came with Python 3.11
        with writable(self._first):
            self._targets = [real(path, follow=path in self._named) for path in self._paths]
            if os.path.lexists(note := note_of(self._targets)):
                with writable(note), SYSTEM.exclusive(os.path.dirname(note)):
                    settle_now(note, self._targets)
        return self

    def add(self, path: Path) -> NewFile:
        """A new file for this path."""
        with writable(path):
            target = real(path, follow=path in self._named)
            if path not in self._named:
                status_of(target)
            new = NewFile(path, target, self._targets)
            self._new.append(new)  # before it exists, so that the block removes it wherever Ctrl-C comes
            new.create()
        return new

    def complete(self) -> list[str]:
        """Gives the system what is buffered, so that whoever reads the temporary names that it returns finds all bytes."""
        for new in self._new:
            with writable(new.path):
                new.file.flush()
        return [new.name for new in self._new]

    def seal(self) -> None:
        """Flushes all of them to the disk; `place` does it if nobody has."""
        for new in self._new:
            with writable(new.path):
                new.seal()

    def place(self) -> None:
        """Flushes all of them to the disk, and then renames them, in the order in which they were added."""
        self.seal()
        if len(self._new) == 1:
            with writable(self._first):
                self._new[0].move()
            return
        note = note_of(self._targets)
        with writable(self._first), SYSTEM.exclusive(os.path.dirname(note)) as folder:
            settle_now(note, self._targets)
            sweep(note, self._targets)
            write_note(note, self._new)
            SYSTEM.flush_folder(folder)
            try:
                self._new[0].move()
            except OSError:
                SYSTEM.remove(note)  # nothing was renamed: the old files still count
                raise
            for new in self._new[1:]:
                new.move()
            SYSTEM.flush_folder(folder)
            SYSTEM.remove(note)

    def __exit__(self, *_: object) -> None:
        for new in self._new:
            new.close()
        with contextlib.suppress(OSError, ValueError):
            noted = {name for _, name, _ in listed(note_of(self._targets), self._targets)}
            for new in self._new:
                if new.name not in noted:
                    with contextlib.suppress(OSError):
                        SYSTEM.remove(new.name)


class Temporary:
    """A file beside a target, which `SYSTEM` holds for as long as it is open.

    It has its name before it exists. So its owner can remove it, even if Ctrl-C comes between its creation and the next
    instruction.

    Attributes: `name`; `file`, open for writing, once `create` has returned.
    """

    file: BinaryIO

    def __init__(self, target: str) -> None:
        self._target = target
        self.name = temporary_name(target)

    def create(self) -> None:
        """Creates and holds the file."""
        while True:
            self.file = open(self.name, "xb")  # noqa: SIM115 - the owner closes it
            SYSTEM.hold(self.file.fileno())  # for `sweep` of another process, which may be about to remove it
            if os.fstat(self.file.fileno()).st_nlink:
                return
            self.file.close()  # it was removed
            self.name = temporary_name(self._target)

    def close(self) -> None:
        """Closes the file, if it is open; writing the buffered rest may fail."""
        with contextlib.suppress(OSError, AttributeError):
            self.file.close()

    def drop(self) -> None:
        """Closes the file and removes it."""
        self.close()
        with contextlib.suppress(OSError):
            SYSTEM.remove(self.name)


class NewFile(Temporary):
    """One of the files that belong together.

    Attributes: those of `Temporary`; `path` as requested.

    Args of the constructor: `target`, the path without links, and `targets`, those of all files that belong together.
    """

    def __init__(self, path: Path, target: str, targets: Sequence[str]) -> None:
        self.path = path
        if url_of(path) is not None:
            raise OSError("only the folder of a job may be a URL; name a file of this machine")
        if not os.path.isdir(folder := os.path.dirname(target)):
            raise OSError(f"there is no folder {folder!r}; make it first")
        self._mode = replaceable_mode(target)
        sweep(target, targets)
        super().__init__(target)
        self._unsent, self._is_sealed = 0, False

    def write(self, data: bytes | memoryview) -> None:
        """Writes bytes behind those before, and sends them to the disk now and then, so that little is left at the end."""
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
        """Renames the file to its target. It is still open, where the system can do this, so that `sweep` does not remove it."""
        SYSTEM.replace(self.file, self.name, self._target)

    def entry(self) -> dict[str, object]:
        """The entry of the file in a note: how its name ends, and what it replaces."""
        return {"new": self.name[len(self._target) :], "replaces": state(self._target)}


def temporary_name(target: str) -> str:
    """A name beside the target that no other file has."""
    return f"{target}.{os.urandom(8).hex()}.tmp"


def sweep(target: str, targets: Sequence[str]) -> None:
    """Removes leftovers of killed processes beside a target, except those that a note of these targets names."""
    folder, own = os.path.split(target)
    with contextlib.suppress(OSError):
        with os.scandir(folder) as found:
            names = [entry.name for entry in found if entry.name.startswith(own)]
        left = [os.path.join(folder, name) for name in names if UNFINISHED.fullmatch(name, len(own))]
        noted = {name for _, name, _ in listed(note_of(targets), targets)} if left else set()
        for name in left:
            if name not in noted:
                SYSTEM.remove_unheld(name)


# The note


def real(path: Path, *, follow: bool = True) -> str:
    """The path without links; without `follow`, the last name stays as it is."""
    if follow:
        return os.path.realpath(os.fsdecode(path))
    folder, name = os.path.split(os.fsdecode(path))
    return os.path.join(os.path.realpath(folder), name)


def note_of(targets: Sequence[str]) -> str:
    """The path of the note for these files, which is beside the first."""
    return f"{targets[0]}.pending"


def write_note(note: str, files: Sequence[NewFile]) -> None:
    """Writes the note, with one entry for each target, in their order."""
    data = json.dumps({"files": [new.entry() for new in files]}, indent=1).encode()
    temporary = Temporary(note)
    try:
        temporary.create()
        temporary.file.write(data)
        temporary.file.flush()
        SYSTEM.flush(temporary.file.fileno())
        SYSTEM.replace(temporary.file, temporary.name, note)
    finally:
        temporary.drop()


def listed(note: str, targets: Sequence[str]) -> list[tuple[str, str, State]]:
    """The content of a note: each target, the file that replaces it, and what was there before. Empty without a note.

    A note may come with files from anywhere. It says no more than how the names of `temporary_name` end, so that no file
    is touched that is not beside a target.
    """
    try:
        with open_guarded(note) as file:
            data = file.read(NOTE_BYTES)
    except FileNotFoundError:
        return []
    try:
        entries = zip(targets, json.loads(data)["files"], strict=True)
        found = [(to, to + entry["new"], entry["replaces"]) for to, entry in entries]
        if not all(UNFINISHED.fullmatch(new, len(to)) for to, new, _ in found):
            raise ValueError(note)
        return found
    except (ValueError, KeyError, TypeError, RecursionError):
        raise OSError(f"{note!r} is not a note of toksmith; delete it") from None


def settle(paths: Sequence[Path]) -> dict[str, str]:
    """Finishes the renames of files that belong together, if their writer died before it had done so.

    Returns: for each path that cannot be replaced (in a read-only folder) the path without links and the file with its
        current content. See `current`.
    Raises:
        FormatError: The note cannot be read.
    """
    try:
        note = note_of([real(paths[0])])
    except ValueError:  # the name holds a NUL character
        return {}
    if not os.path.lexists(note):
        return {}
    with settled(paths) as waiting:
        return waiting


@contextlib.contextmanager
def settled(paths: Sequence[Path]) -> Iterator[dict[str, str]]:
    """Settles these files, and keeps others from replacing them until the block ends; yields the result of `settle`.

    It cannot keep others out of a folder that may not be read.
    """
    targets = [real(path) for path in paths]
    note, waiting = note_of(targets), {}
    with contextlib.ExitStack() as held:
        with readable(note):
            with contextlib.suppress(OSError):
                held.enter_context(SYSTEM.exclusive(os.path.dirname(note)))
            # Under the lock, because a later note belongs to another writer.
            try:
                settle_now(note, targets)
            except OSError:
                left = listed(note, targets)
                waiting = {to: new for to, new, replaced in left if os.path.lexists(new) and state(to) == replaced}
        yield waiting


def current(path: Path, waiting: Mapping[str, str]) -> Path:
    """The file with the current content of a path, by the result of `settle`."""
    return waiting.get(real(path), path) if waiting else path


def settle_now(note: str, targets: Sequence[str]) -> None:
    """Does what the note says, except for targets that somebody has written to since."""
    if not os.path.lexists(note):
        return
    for to, new, replaced in listed(note, targets):
        if os.path.lexists(new):
            if state(to) == replaced:
                SYSTEM.move(new, to)
            else:
                SYSTEM.remove(new)
    SYSTEM.remove(note)


def state(path: str) -> State:
    """The identity of the file with this name; None if there is none."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns]


# Which files may be replaced, and the errors


def replaceable_mode(target: str) -> int | None:
    """The permissions of the file that is replaced; None if there is none yet.

    Replacing a file needs no permission for it, so a file that was made read-only on purpose is refused here.
    """
    try:
        found = os.lstat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found):
        raise IsADirectoryError(target)
    if not stat.S_ISREG(found):
        raise OSError("it is not a regular file; name a file that can be replaced")
    if not found & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise OSError("the file is read-only; make it writable, delete it, or choose another name")
    return stat.S_IMODE(found)


@contextlib.contextmanager
def readable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Converts errors in reading a file to FormatError."""
    try:
        yield
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {reason(error, path)}") from error


@contextlib.contextmanager
def writable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Converts errors in writing a file to FormatError."""
    try:
        yield
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(path, None, f"cannot be written: {reason(error, path)}") from error


def make_folder(path: str | os.PathLike[str]) -> None:
    """Makes the folder of this path; its parent must exist."""
    try:
        if not os.path.isdir(path):
            os.mkdir(path)
    except (OSError, ValueError) as error:
        if isinstance(error, FileExistsError) and os.path.isdir(path):
            return  # another process made it meanwhile
        problem = "it is a file; a folder is expected" if os.path.lexists(path) else reason(error, path)
        if isinstance(error, FileNotFoundError):
            problem = f"there is no folder {os.path.dirname(os.path.abspath(path))!r}; make it first"
        raise FormatError(path, None, f"cannot be written: {problem}") from error
