"""A stand-in for Windows on Linux: open files cannot be renamed or removed, folders cannot be opened, links are refused.

`Windows` of `_base/system.py` becomes the system of every module of the package, and `msvcrt` uses Linux's locks.
`/proc` lists the files that this process has open or mapped.
"""

import ctypes
import errno
import os
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toksmith._base import system


def open_files() -> Iterator[str]:
    """The files that this process has open or mapped."""
    for entry in Path("/proc/self/fd").iterdir():
        try:
            yield os.readlink(entry)
        except OSError:  # closed meanwhile
            continue
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        if len(words := line.split(maxsplit=5)) == 6:
            yield words[5]


def locate_file(path: Any, folder: int | None = None) -> str:
    """The whole path; relative to an open folder, if one is given."""
    start = os.readlink(f"/proc/self/fd/{folder}") if folder is not None else os.getcwd()
    name = os.path.join(start, os.fsdecode(path))
    return os.path.join(os.path.realpath(os.path.dirname(name)), os.path.basename(name))


def locking(file: int, mode: int, size: int) -> None:
    """`msvcrt.locking`: a lock that another process holds is a PermissionError."""
    import fcntl  # exists on Linux

    assert size == 1
    try:
        fcntl.flock(file, fcntl.LOCK_UN if mode == 0 else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, "Permission denied") from None


MSVCRT: Any = types.ModuleType("msvcrt")
MSVCRT.LK_UNLCK, MSVCRT.LK_NBLCK, MSVCRT.locking = 0, 2, locking


def library(memory: Callable[..., int]) -> Callable[[str], Any]:
    """`ctypes.WinDLL` for the library that reports the memory of a process, through this call."""

    def open_checked(name: str) -> Any:
        assert name == "kernel32"
        return types.SimpleNamespace(GetCurrentProcess=lambda: 77, K32GetProcessMemoryInfo=memory)

    return open_checked


def be_windows(patch: pytest.MonkeyPatch) -> system.Windows:
    """Make the package run as on Windows, and the calls of `os` behave so."""
    import toksmith

    for name in toksmith.__all__:  # a later import would find this machine's system
        getattr(toksmith, name)
    windows = system.Windows()
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] == "toksmith" and isinstance(vars(module).get("SYSTEM"), system.Posix):
            patch.setattr(module, "SYSTEM", windows)
    patch.setitem(sys.modules, "msvcrt", MSVCRT)
    patch.setattr(ctypes, "WinDLL", library(lambda *_: 0), raising=False)
    for name, kept in (("replace", False), ("rename", True)):
        patch.setattr(os, name, moving(getattr(os, name), keeps_target=kept))
    patch.setattr(os, "unlink", removing(os.unlink))
    patch.setattr(os, "link", refuse_link)
    patch.setattr(os, "open", opening(os.open))
    return windows


def refuse_open(*names: str) -> None:
    """Refuse open files, as Windows does."""
    if {*names} & {*open_files()}:
        raise PermissionError(errno.EACCES, "The process cannot access the file because it is being used", names[0])


def moving(real: Any, *, keeps_target: bool) -> Any:
    def move_checked(old: Any, new: Any, **more: Any) -> None:
        names = locate_file(old), locate_file(new)
        if not os.path.lexists(names[0]):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), names[0])
        refuse_open(*names)
        if keeps_target and names[0] != names[1] and os.path.lexists(names[1]):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), names[1])
        real(old, new, **more)

    return move_checked


def removing(real: Any) -> Any:
    def remove_checked(path: Any, *, dir_fd: int | None = None) -> None:
        refuse_open(locate_file(path, dir_fd))
        real(path, dir_fd=dir_fd)

    return remove_checked


def refuse_link(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSYS, "this disk has no links")


def opening(real: Any) -> Any:
    def open_checked(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        ours = "toksmith" in (sys._getframe(1).f_globals.get("__name__") or "").split(".")
        if ours and os.path.isdir(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return int(real(path, flags, *rest, **more))

    return open_checked
