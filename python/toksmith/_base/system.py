"""Differences between operating systems: locks, renames, flushes, signals, output, memory, processors, folders.

Each kind of system has a class with the same methods. `SYSTEM` is the object for this machine. Other modules call it and
never test which system runs. Every class works on every system as far as its calls exist there, so tests run the methods
of `Windows` on Linux, with stand-ins for the modules that only Windows has.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, BinaryIO

# Windows refuses to rename or remove a file while any program has it open, such as a virus scanner that reads new files.
TRIES, FIRST_PAUSE_S = 10, 0.004  # the pause doubles after each try: four seconds in total
LOCK_PAUSE_S = 0.01
# Seconds. A file that was written to more recently can be closed and about to be renamed.
MOVING_S = 30
JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT of the Windows API


class Posix:
    """Linux, and every system without its own class here.

    Attributes: `lost_reader`, the numbers of the errors that writing to a pipe raises after its reader has closed it;
    `shown_name_errors`, the error handler for printing file names that are not Unicode; `unfollowed`, the flags of `os.open`
    that refuse a link and do not wait at a pipe, as far as the system has them; `frees_ports_late`, whether a port that was
    in use a minute ago needs SO_REUSEADDR, which on Windows would share a port that is in use now.
    """

    lost_reader: tuple[int, ...] = (errno.EPIPE,)
    shown_name_errors = "surrogateescape"
    frees_ports_late = True
    unfollowed = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

    def is_link(self, status: os.stat_result) -> bool:
        """Whether a result of `os.lstat` is a link or a junction of Windows, which leads to another folder too."""
        return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == JUNCTION

    # Files that are being written

    def lock(self, file: int, *, wait: bool) -> bool:
        """Locks a file until it is closed; False if that failed, also because the file system has no locks."""
        fcntl: Any = import_module("fcntl")
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            return True
        return False

    def hold(self, file: int) -> None:
        """Prevents `remove_unheld` in other processes from removing a file while it is open here."""
        self.lock(file, wait=True)

    def is_held(self, name: str) -> bool:
        """Whether a process holds a file. True also if that cannot be determined."""
        try:
            file = os.open(name, os.O_RDWR | self.unfollowed)
        except OSError:
            return False
        try:
            return not self.lock(file, wait=False)
        finally:
            os.close(file)

    def remove_unheld(self, name: str) -> None:
        """Removes a file that no process holds."""
        with contextlib.suppress(OSError):
            file = os.open(name, os.O_RDWR | self.unfollowed)
            try:
                if self.lock(file, wait=False):
                    os.unlink(name)
            finally:
                os.close(file)

    @contextlib.contextmanager
    def exclusive(self, folder: str) -> Iterator[int | None]:
        """Locks a folder against other processes that replace files in it; yields the open folder, or None on Windows."""
        file = os.open(folder, os.O_RDONLY)
        try:
            self.lock(file, wait=True)
            yield file
        finally:
            os.close(file)

    # Names

    def replace(self, file: BinaryIO, name: str, target: str) -> None:
        """Renames a file that is open here. It stays open and held if the system can do this."""
        os.replace(name, target)

    def move(self, name: str, target: str) -> None:
        """Renames a file that is not open here."""
        os.replace(name, target)

    def add(self, file: BinaryIO, name: str, target: str) -> None:
        """Gives an open file another name without replacing a file: a link, unlike a rename, never replaces."""
        os.link(name, target)

    def remove(self, name: str) -> None:
        os.unlink(name)

    # Flushing to the disk

    def flush(self, file: int) -> None:
        """Flushes an open file to the disk."""
        os.fsync(file)

    def flush_folder(self, folder: int | str | os.PathLike[str] | None) -> None:
        """Flushes the names of a folder to the disk, if the system can do this for folders; does nothing for None."""
        if folder is None:
            return
        descriptor = folder if isinstance(folder, int) else os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            if descriptor is not folder:
                os.close(descriptor)

    # The process

    def processors(self) -> int:
        """The number of processors that this process can run on."""
        affinity = getattr(os, "sched_getaffinity", None)  # Linux has it
        count = getattr(os, "process_cpu_count", os.cpu_count)  # Python 3.13 has it
        return len(affinity(0)) if affinity else count() or 1

    def become(self, program: list[str], environment: dict[str, str]) -> None:
        """Replaces this process by a program; OSError if there is none."""
        os.execvpe(program[0], program, environment)

    def peak_memory_mib(self) -> float | None:
        """The peak memory of the process; None if the system does not report it."""
        resource: Any = import_module("resource")
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024

    def cache_folder(self, home: str) -> str:
        """The user's folder for caches of toksmith."""
        return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "toksmith")


class MacOS(Posix):
    """macOS: as `Posix`, except for these methods."""

    def flush(self, file: int) -> None:
        """As `Posix.flush`; `fsync` alone leaves bytes in the disk's cache here."""
        fcntl: Any = import_module("fcntl")
        try:
            fcntl.fcntl(file, fcntl.F_FULLFSYNC)
        except OSError:  # not every file system has it
            os.fsync(file)

    def peak_memory_mib(self) -> float | None:
        """As `Posix.peak_memory_mib`; the system counts bytes here."""
        kib = super().peak_memory_mib()
        return None if kib is None else kib / 1024

    def cache_folder(self, home: str) -> str:
        return os.path.join(home, "Library", "Caches", "toksmith")


class Windows(Posix):
    """Windows, where an open file cannot be removed or renamed, folders cannot be opened, and pipes end with another error."""

    lost_reader = (errno.EPIPE, errno.EINVAL)
    shown_name_errors = "backslashreplace"
    frees_ports_late = False

    def hold(self, file: int) -> None:
        """Does nothing: a file cannot be removed while it is open."""

    def is_held(self, name: str) -> bool:
        """Whether a process has the file open: then it cannot be renamed, not even to its own name."""
        try:
            os.rename(name, name)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def remove_unheld(self, name: str) -> None:
        """Removes a file that no process has open, unless it was just closed: then its writer can be about to rename it."""
        with contextlib.suppress(OSError):
            if time.time() - os.stat(name).st_mtime > MOVING_S:
                os.unlink(name)

    @contextlib.contextmanager
    def exclusive(self, folder: str) -> Iterator[int | None]:
        """As `Posix.exclusive`, by a file in the user's temporary folder, because a folder cannot be locked."""
        import hashlib  # slow to import, as is the next
        import tempfile

        msvcrt: Any = import_module("msvcrt")
        path = os.path.normcase(os.path.realpath(folder)).encode("utf-8", "surrogatepass")
        name = f"toksmith-{hashlib.sha256(path).hexdigest()[:32]}.lock"
        file = os.open(os.path.join(tempfile.gettempdir(), name), os.O_RDWR | os.O_CREAT)
        try:
            while True:
                try:
                    msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
                    break
                except PermissionError:  # another process, or another thread, has locked it
                    time.sleep(LOCK_PAUSE_S)
            try:
                yield None
            finally:
                msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
        finally:
            os.close(file)

    def replace(self, file: BinaryIO, name: str, target: str) -> None:
        """Closes the file, and then renames it."""
        file.close()
        self.move(name, target)

    def move(self, name: str, target: str) -> None:
        """Renames a file; if a program has the file or the target open, waits until it is closed."""
        retry_while_open(lambda: os.replace(name, target))

    def add(self, file: BinaryIO, name: str, target: str) -> None:
        """As `Posix.add`: renaming replaces nothing here, and not every disk has links."""
        file.close()
        retry_while_open(lambda: os.rename(name, target))

    def remove(self, name: str) -> None:
        """Removes a file; if a program has it open, waits until it is closed."""
        retry_while_open(lambda: os.unlink(name))

    def flush_folder(self, folder: int | str | os.PathLike[str] | None) -> None:
        """Does nothing: the file system flushes names by itself."""

    def become(self, program: list[str], environment: dict[str, str]) -> None:
        """Runs a program and exits with its exit code: a process cannot be replaced here."""
        sys.exit(subprocess.call(program, env=environment))

    def peak_memory_mib(self) -> float | None:
        import ctypes  # slow to import

        class Counters(ctypes.Structure):
            """PROCESS_MEMORY_COUNTERS of the Windows API."""

            _fields_ = (
                ("size", ctypes.c_uint32),
                ("faults", ctypes.c_uint32),
                ("peak", ctypes.c_size_t),
                ("others", ctypes.c_size_t * 7),
            )

        library: Any = ctypes
        system = library.WinDLL("kernel32")
        system.GetCurrentProcess.restype = ctypes.c_void_p
        system.K32GetProcessMemoryInfo.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
        counters = Counters(size=ctypes.sizeof(Counters))
        succeeded = system.K32GetProcessMemoryInfo(system.GetCurrentProcess(), ctypes.byref(counters), counters.size)
        return float(counters.peak) / (1 << 20) if succeeded else None

    def cache_folder(self, home: str) -> str:
        local = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return os.path.join(local, "toksmith", "cache")


def retry_while_open(change: Callable[[], None]) -> None:
    """Retries a change of a name while another program has the file open."""
    pause_s = FIRST_PAUSE_S
    for attempt in range(1, TRIES + 1):
        try:
            change()
            return
        except PermissionError as error:
            if attempt == TRIES:
                problem = (
                    "another program has the file open, or permissions forbid it; close the file there, and repeat"
                )
                final_error = OSError(problem)
                final_error.errno = error.errno
                raise final_error from error
        time.sleep(pause_s)
        pause_s *= 2


KINDS: dict[str, type[Posix]] = {"win32": Windows, "darwin": MacOS}
SYSTEM: Posix = KINDS.get(sys.platform, Posix)()
