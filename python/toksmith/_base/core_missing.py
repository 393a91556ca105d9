"""Why the compiled core does not work here, and what to do about it, in one sentence.

It is imported only where something is wrong.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES

__all__ = ["refuse_other_version", "told"]

SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
SUPPORTED = "toksmith runs on CPython 3.10 or newer of 64 bits, on Linux, macOS and Windows"
CORE = re.compile(r"_core\.(.*\.)?(so|pyd)")
INSTALLED = re.compile(r"toksmith-(?P<version>\d+\.\d+\.\d+)\.dist-info")


def told(problem: ImportError, folder: str) -> str:
    """The sentence.

    Args:
        problem: What importing the core raised.
        folder: That of the package.
    """
    is_known = platform.python_implementation() == "CPython" and sys.platform in SYSTEMS and sys.maxsize > 1 << 32
    if not is_known:
        return f"{SUPPORTED}; this is {here()}: use such a Python (toksmith.reference works here as well)"
    found = [name for name in sorted(os.listdir(folder)) if CORE.fullmatch(name)]
    if not found:
        return f"the compiled core of toksmith is missing from {folder!r}; {remedy()}, or `make` in a clone"
    if not any(name == f"_core{suffix}" for name in found for suffix in EXTENSION_SUFFIXES):
        built_for = ", ".join(name.removeprefix("_core.").rpartition(".")[0] or "another system" for name in found)
        return f"the compiled core of toksmith was built for {built_for}, and this is {here()}; {remedy()}"
    if problem.path is not None:
        return f"the compiled core of toksmith cannot be loaded: {problem}; {remedy()}"
    return str(problem)


def refuse_other_version(core: str, names: Sequence[str]) -> None:
    """Refuses a core that is left of another version of toksmith.

    Args:
        core: Its version.
        names: What is beside the package. In a clone nothing there says what was installed.
    Raises:
        ImportError: Other versions were installed there, and not that of the core.
    """
    versions = [found["version"] for name in names if (found := INSTALLED.fullmatch(name))]
    if versions and core not in versions:
        which = " and ".join(versions)
        raise ImportError(f"the compiled core of toksmith has version {core}, and the package {which}; {remedy()}")


def here() -> str:
    """This interpreter and machine, in words."""
    bits = 64 if sys.maxsize > 1 << 32 else 32
    system = SYSTEMS.get(sys.platform, sys.platform)
    name = f"{platform.python_implementation()} {platform.python_version()}"
    free = " free-threaded" if "t" in getattr(sys, "abiflags", "") else ""
    return f"{name}{free} of {bits} bits on {system} {platform.machine()}".rstrip()


def remedy() -> str:
    """The command that installs a core for this interpreter."""
    return f"install toksmith with `{os.path.basename(sys.executable) or 'python'} -m pip install --force-reinstall toksmith`"
