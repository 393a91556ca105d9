"""Files that appear whole or not at all: one, or several together.

A file is written beside its target, under a name of its own, and then takes the target's place, which no reader sees half
done. Several take their places one after another. So that nobody takes files of two runs for one, a note is written first,
when all of them are complete and on the disk: it says which file is to take which place. From then on the new files count.
`settle` puts in place what a process that died has left to do; readers ask it too. The note goes last.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from ._errors import FormatError
from ._files import reason, shown

if sys.platform != "win32":
    import fcntl

__all__ = ["NewFile", "Together", "current", "settle", "settled", "writable", "write_file", "write_files"]

Path = str | os.PathLike[str]
State = list[int] | None
UNFINISHED = re.compile(r"\.[0-9a-f]{16}\.tmp")
NOTE_BYTES = 1 << 20


def write_file(path: Path, data: bytes) -> None:
    """Puts `data` into a file, which holds its old content (or does not exist) until it holds all of the new.

    It keeps its permissions. A link is followed: the file that it names is replaced, not the link.

    Raises:
        FormatError: The folder is missing, or the target is read-only, a folder or a device, or the disk is full.
            Nothing has changed.
    """
    write_files([(path, data)])


def write_files(files: Sequence[tuple[Path, bytes]]) -> None:
    """As `write_file` for files that belong together: whoever asks `settle` finds all old or all new."""
    with Together([path for path, _ in files]) as together:
        for path, data in files:
            written = together.add(path)
            with writable(path):
                written.file.write(data)
        together.place()


class Together:
    """New files for some paths, to be written in a `with` block; they take their places when it says `place`.

    Args of the constructor: `paths` of all of them. A note lies beside the first.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths, self._first = paths, paths[0]
        self._new: list[NewFile] = []

    def __enter__(self) -> Together:  # noqa: PYI034 - `Self` came with Python 3.11
        with writable(self._first):
            if os.path.lexists(note := note_of(self._first)):
                with exclusive(os.path.dirname(note)):
                    settle_now(note, self._paths)
        return self

    def add(self, path: Path) -> NewFile:
        """A new file for this path."""
        with writable(path):
            self._new.append(NewFile(path, self._paths))
        return self._new[-1]

    def place(self) -> None:
        """Puts all of them on the disk, and then in their places, in the order in which they were added."""
        for new in self._new:
            with writable(new.path):
                new.seal()
        if len(self._new) == 1:
            with writable(self._first):
                self._new[0].move()
            return
        note = note_of(self._first)
        with writable(self._first), exclusive(os.path.dirname(note)) as folder:
            settle_now(note, self._paths)
            sweep(note, self._paths)
            write_note(note, self._new)
            sync(folder)
            try:
                self._new[0].move()
            except OSError:
                os.unlink(note)  # no place was taken: the old files still count
                raise
            for new in self._new[1:]:
                new.move()
            sync(folder)
            os.unlink(note)

    def __exit__(self, *_: object) -> None:
        for new in self._new:
            new.close()
        with contextlib.suppress(OSError, ValueError):
            noted = {name for _, name, _ in listed(note_of(self._first), self._paths)}
            for new in self._new:
                if new.name not in noted:
                    with contextlib.suppress(OSError):
                        os.unlink(new.name)


class NewFile:
    """A file that is being written, and that only its writer knows.

    Attributes: `path` as it was asked for; `file`, open for writing; `name`, where it lies until it has its place.
    """

    def __init__(self, path: Path, paths: Sequence[Path]) -> None:
        self.path = path
        self._target = real(path)
        if not os.path.isdir(folder := os.path.dirname(self._target)):
            raise OSError(f"there is no folder {folder!r}; make it first")
        self._mode = replaceable_mode(self._target)
        sweep(self._target, paths)
        self.name, self.file = created(self._target)

    def seal(self) -> None:
        """Writes everything to the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())
        if self._mode is not None:
            os.chmod(self.name, self._mode)

    def move(self) -> None:
        """Takes the place. Elsewhere than on Windows the file is still open, so that `sweep` lets it be."""
        if sys.platform == "win32":
            self.file.close()
        os.replace(self.name, self._target)

    def entry(self, folder: str) -> dict[str, object]:
        """What a note in this folder says of the file."""
        names = {"to": self._target, "from": self.name}
        with contextlib.suppress(ValueError):  # another drive
            names = {key: os.path.relpath(name, folder) for key, name in names.items()}
        return {**names, "replaces": state(self._target)}

    def close(self) -> None:
        """Closes it, which may fail in writing what is still buffered."""
        with contextlib.suppress(OSError):
            self.file.close()


def created(target: str) -> tuple[str, BinaryIO]:
    """A new file beside the target, locked for as long as it is open."""
    while True:
        name = f"{target}.{secrets.token_hex(8)}.tmp"
        file = open(name, "xb")  # noqa: SIM115 - it is closed by whoever asked for it
        try:
            lock(file.fileno(), wait=False)
            if os.fstat(file.fileno()).st_nlink:
                return name, file
            file.close()  # `sweep` of another process came between
        except BaseException:
            drop(name, file)
            raise


def drop(name: str, file: BinaryIO) -> None:
    """Closes a file, which may fail in writing what is still buffered, and removes it."""
    for do in (file.close, lambda: os.unlink(name)):
        with contextlib.suppress(OSError):
            do()


def sweep(target: str, paths: Sequence[Path]) -> None:
    """Removes what processes that were killed have left beside a target, but for what a note of these paths names."""
    folder, own = os.path.split(target)
    with contextlib.suppress(OSError):
        with os.scandir(folder) as found:
            names = [entry.name for entry in found if entry.name.startswith(own)]
        left = [os.path.join(folder, name) for name in names if UNFINISHED.fullmatch(name, len(own))]
        noted = {name for _, name, _ in listed(note_of(paths[0]), paths)} if left else set()
        for name in left:
            if name not in noted:
                remove_unless_locked(name)


def remove_unless_locked(name: str) -> None:
    """Removes a file that no process is writing: its writer keeps it locked, and on Windows open."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            os.unlink(name)
            return
        file = os.open(name, os.O_RDWR)
        try:
            if lock(file, wait=False):
                os.unlink(name)
        finally:
            os.close(file)


def lock(file: int, *, wait: bool) -> bool:
    """Whether nobody else has the lock of a file, which is then ours until it is closed.

    False also where the file system knows no locks.
    """
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            return True
    return False


@contextlib.contextmanager
def exclusive(folder: str) -> Iterator[int | None]:
    """Keeps others from putting files of this folder in place meanwhile; gives the open folder, None on Windows."""
    if sys.platform == "win32":
        yield None
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        lock(file, wait=True)
        yield file
    finally:
        os.close(file)


def sync(folder: int | None) -> None:
    """The names in a folder are on the disk after it, where the system can say so of a folder."""
    if folder is not None:
        try:
            os.fsync(folder)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise


# The note


def real(path: Path) -> str:
    """The path without links."""
    return os.path.realpath(os.fsdecode(path))


def note_of(first: Path) -> str:
    """Where the note lies of files of which this is the first."""
    return f"{real(first)}.pending"


def write_note(note: str, files: Sequence[NewFile]) -> None:
    """Says which files are to take which places."""
    folder = os.path.dirname(note)
    data = json.dumps({"files": [new.entry(folder) for new in files]}, indent=1).encode()
    name, file = created(note)
    try:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        if sys.platform == "win32":
            file.close()
        os.replace(name, note)
    finally:
        drop(name, file)


def listed(note: str, paths: Sequence[Path]) -> list[tuple[str, str, State]]:
    """What a note says: each place, the file that is to take it, and what was there before. Nothing where there is none.

    A note may come with files from anywhere. It counts only where it moves to these paths what lies beside each under such
    a name as `created` gives; no other file is touched.
    """
    folder, own = os.path.dirname(note), [real(path) for path in paths]

    def absolute(name: str) -> str:
        return os.path.normpath(os.path.join(folder, name))

    try:
        with open(note, "rb") as file:
            data = file.read(NOTE_BYTES)
    except FileNotFoundError:
        return []
    try:
        entries = json.loads(data)["files"]
        found = [(absolute(entry["to"]), absolute(entry["from"]), entry["replaces"]) for entry in entries]
        if not all(to in own and new.startswith(to) and UNFINISHED.fullmatch(new, len(to)) for to, new, _ in found):
            raise ValueError(note)
        return found
    except (ValueError, KeyError, TypeError, RecursionError):
        raise OSError(f"{note!r} is not a note of toksmith; delete it") from None


def settle(paths: Sequence[Path]) -> dict[str, str]:
    """Puts files in place that belong together and whose writer died before it had done so.

    Returns: where the current content of a path lies that cannot be put in place, as in a folder that may only be read:
        the path without links, and that of the file. See `current`.
    Raises:
        FormatError: The note that says so cannot be read.
    """
    try:
        note = note_of(paths[0])
    except ValueError:  # the name holds a NUL character
        return {}
    if not os.path.lexists(note):
        return {}
    with settled(paths) as waiting:
        return waiting


@contextlib.contextmanager
def settled(paths: Sequence[Path]) -> Iterator[dict[str, str]]:
    """Settles these files, and keeps others from putting new ones in place until the block ends; gives what `settle` gives.

    On Windows, and in a folder that may not be read, nobody is kept from it.
    """
    note = note_of(paths[0])
    with contextlib.ExitStack() as held:
        with readable(note):
            with contextlib.suppress(OSError):
                held.enter_context(exclusive(os.path.dirname(note)))
            # Under the lock, since what another writer notes later is for that writer to settle.
            waiting = unsettled(note, paths)
        yield waiting


def unsettled(note: str, paths: Sequence[Path]) -> dict[str, str]:
    """What is left of a note when all is in place that can be put there."""
    try:
        settle_now(note, paths)
    except OSError:
        return {to: new for to, new, replaced in listed(note, paths) if os.path.lexists(new) and state(to) == replaced}
    return {}


def current(path: Path, waiting: Mapping[str, str]) -> Path:
    """Where the content of a path lies, by what `settle` gave."""
    return waiting.get(real(path), path) if waiting else path


def settle_now(note: str, paths: Sequence[Path]) -> None:
    """Does what the note says. A place that somebody has written to since is left alone."""
    if not os.path.lexists(note):
        return
    for to, new, replaced in listed(note, paths):
        if os.path.lexists(new):
            if state(to) == replaced:
                os.replace(new, to)
            else:
                os.unlink(new)
    os.unlink(note)


def state(path: str) -> State:
    """What tells the file of this name from another, None where there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns]


# What may be replaced


def replaceable_mode(target: str) -> int | None:
    """The permissions of the file that is to be replaced, None where there is none yet.

    Replacing needs no permission of the old file, so one that was made read-only on purpose is refused here.
    """
    try:
        found = os.stat(target).st_mode
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
def readable(path: Path) -> Iterator[None]:
    """Turns what goes wrong in reading a file into FormatError."""
    try:
        yield
    except OSError as error:
        raise FormatError(shown(path), None, f"cannot be read: {reason(error, path)}") from error


@contextlib.contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turns what goes wrong in writing a file into FormatError."""
    try:
        yield
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(shown(path), None, f"cannot be written: {reason(error, path)}") from error
