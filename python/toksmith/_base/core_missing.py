"""Explains in one sentence why the compiled core cannot be imported, and how to fix it.

It is imported only after such a failure.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES

SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
SUPPORTED = "toksmith runs on CPython 3.10 or newer of 64 bits, on Linux, macOS and Windows"
CORE = re.compile(r"_core\.(.*\.)?(so|pyd)")
INSTALLED = re.compile(r"toksmith-(?P<version>\d+\.\d+\.\d+)\.dist-info")


def explain_import_error(problem: ImportError, folder: str) -> str:
    """The explanation of a failed import of the core from the package's `folder`, with a remedy."""
    is_known = platform.python_implementation() == "CPython" and sys.platform in SYSTEMS and sys.maxsize > 1 << 32
    if not is_known:
        return f"{SUPPORTED}; this is {describe_python()}: use such a Python (toksmith.reference works here as well)"
    cores = [name for name in sorted(os.listdir(folder)) if CORE.fullmatch(name)]
    if not cores:
        return f"the compiled core of toksmith is missing from {folder!r}; {install_advice()}, or `make` in a clone"
    if not any(name == f"_core{suffix}" for name in cores for suffix in EXTENSION_SUFFIXES):
        built_for = ", ".join(name.removeprefix("_core.").rpartition(".")[0] or "another system" for name in cores)
        return f"the compiled core of toksmith was built for {built_for}, and this is {describe_python()}; {install_advice()}"
    if problem.path is not None:
        return f"the compiled core of toksmith cannot be loaded: {problem}; {install_advice()}"
    return str(problem)


def refuse_other_version(core: str, names: Sequence[str]) -> None:
    """Raises ImportError if an installed version is recorded next to the package (in a clone none is), and is not the core's."""
    versions = [match["version"] for name in names if (match := INSTALLED.fullmatch(name))]
    if versions and core not in versions:
        which = " and ".join(versions)
        raise ImportError(
            f"the compiled core of toksmith has version {core}, and the package {which}; {install_advice()}"
        )


def describe_python() -> str:
    bits = 64 if sys.maxsize > 1 << 32 else 32
    system = SYSTEMS.get(sys.platform, sys.platform)
    name = f"{platform.python_implementation()} {platform.python_version()}"
    suffix = " free-threaded" if "t" in getattr(sys, "abiflags", "") else ""
    return f"{name}{suffix} of {bits} bits on {system} {platform.machine()}".rstrip()


def install_advice() -> str:
    """The command that installs a core for this interpreter."""
    return f"install toksmith with `{os.path.basename(sys.executable) or 'python'} -m pip install --force-reinstall toksmith`"
