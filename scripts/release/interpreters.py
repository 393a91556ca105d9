"""Lists the CPythons of this machine that toksmith supports, one of each version: a line with its path and tags.

It searches PATH, the folders of pyenv and uv, and the folders of `TOKSMITH_PYTHONS`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

OLDEST, NEWEST = (3, 10), (3, 14)
ASK = """
import platform, sys, sysconfig
free = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print(platform.python_implementation(), *sys.version_info[:2], free, sep=",")
"""
PLACES = ("~/.pyenv/versions/*/bin", "~/.local/share/uv/python/*/bin")


class Interpreter(NamedTuple):
    """A Python and the tags of a wheel for it."""

    path: Path
    tags: str


def parse_tags(said: str) -> str | None:
    """The tags for the version line of an interpreter; None if toksmith does not support it."""
    name, *version, free = said.strip().split(",")
    major, minor = map(int, version)
    # The free-threaded build of 3.13 was experimental, and extension modules need not support it.
    if name != "CPython" or not OLDEST <= (major, minor) <= NEWEST or (free and minor < 14):
        return None
    return f"cp{major}{minor}-cp{major}{minor}{free}"


def read_tags(path: Path) -> str | None:
    """The tags of the interpreter at a path; None if it does not run, such as a launcher of a missing version."""
    ran = subprocess.run([path, "-I", "-c", ASK], capture_output=True, text=True, check=False)
    return parse_tags(ran.stdout) if ran.returncode == 0 else None


def candidates() -> Iterator[Path]:
    """Every program that can be a Python, best known places last."""
    folders = [Path(each) for each in os.environ.get("TOKSMITH_PYTHONS", "").split(os.pathsep) if each]
    for place in PLACES:
        base, _, pattern = place.partition("*")
        folders += sorted(Path(base).expanduser().glob(f"*{pattern}"))
    folders += [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep) if each]
    for folder in folders:
        yield from sorted(folder.glob("python3.[0-9][0-9]")) + sorted(folder.glob("python3.[0-9][0-9]t"))


def find_interpreters() -> list[Interpreter]:
    """One interpreter for each version, oldest first."""
    by_tags: dict[str, Interpreter] = {}
    for path in candidates():
        tag = read_tags(path) if os.access(path, os.X_OK) else None
        if tag is not None:
            by_tags.setdefault(tag, Interpreter(path, tag))
    return [by_tags[tag] for tag in sorted(by_tags)]


if __name__ == "__main__":
    for each in find_interpreters():
        print(each.path, each.tags)
