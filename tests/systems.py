"""The needs of tests from their system, by name: without one the test is skipped, and the skip names it.

    @needs("fork", "proc")
    def test_...

No other file of the tests checks the system (`test_system.py`). On Linux, as root or not, every need is met except
`permissions` for root, `free threads` for most interpreters, and `git` where it is not installed.
"""

import importlib.util
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

__all__ = ["NEEDS", "WINDOWS", "lacking", "needs", "require"]

WINDOWS = os.name == "nt"


class Need(NamedTuple):
    """The text of a skip, and whether the system meets the need."""

    said: str
    met: Callable[[], bool]


def has_links() -> bool:
    """Whether this user can make symbolic links: Windows requires a privilege."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            Path(folder, "link").symlink_to("nowhere")
        except (OSError, NotImplementedError):
            return False
    return True


def has_any_names() -> bool:
    """Whether a file can have a name that is not Unicode: on macOS and Windows it cannot."""
    if WINDOWS:
        return False
    with tempfile.TemporaryDirectory() as folder:
        try:
            Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).touch()
        except OSError:
            return False
    return True


NEEDS = {
    "any names": Need("names of files that are not Unicode", has_any_names),
    "descriptors": Need("open files that have names (/dev/fd)", lambda: not WINDOWS and Path("/dev/fd").exists()),
    "fork": Need("os.fork", lambda: hasattr(os, "fork")),
    "free threads": Need("a free-threaded interpreter", lambda: bool(sysconfig.get_config_var("Py_GIL_DISABLED"))),
    "full device": Need("/dev/full", lambda: Path("/dev/full").exists()),
    "limits": Need(
        "limits on the memory and the files of a process", lambda: bool(importlib.util.find_spec("resource"))
    ),
    "git": Need("git", lambda: shutil.which("git") is not None),
    "links": Need("symbolic links, or the privilege to make them", has_links),
    "locks": Need("locks of files between processes", lambda: bool(importlib.util.find_spec("fcntl"))),
    "permissions": Need("a user whom permissions bind", lambda: getattr(os, "geteuid", lambda: 0)() != 0),
    "pipes": Need("pipes that have names", lambda: hasattr(os, "mkfifo")),
    "posix": Need("permissions and signals of POSIX", lambda: os.name == "posix"),
    "proc": Need("/proc, with the memory, the time and the files of a process", lambda: sys.platform == "linux"),
    "sha256sum": Need("sha256sum", lambda: shutil.which("sha256sum") is not None),
    "signals": Need("signals that reach one process", lambda: os.name == "posix"),
    "terminals": Need("pseudo-terminals", lambda: hasattr(os, "openpty")),
}


@cache
def lacking(name: str) -> str:
    """What the system lacks, as text; empty if the need is met."""
    need = NEEDS[name]
    return "" if need.met() else f"lacks {need.said}"


def needs(*names: str) -> pytest.MarkDecorator:
    """The mark of a test that is skipped if the system lacks one of these."""
    lacks = list(filter(None, map(lacking, names)))
    return pytest.mark.skipif(bool(lacks), reason=", ".join(lacks) or "nothing is lacking")


def require(*names: str) -> None:
    """Skip the rest of a test if the system lacks one of these."""
    if lacks := list(filter(None, map(lacking, names))):
        pytest.skip(", ".join(lacks))
