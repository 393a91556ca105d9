"""Tests the source distribution in a clean environment: unpacked, with cargo, without git, and with an empty home.

`make quick` runs there; it builds the package with the available programs and runs its tests.
"""

from __future__ import annotations

import os
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

# Variables for package sources; the rest of the caller's environment is left out.
KEPT = ("PIP_", "SSL_", "CARGO_HTTP_", "CARGO_NET_")


def programs(folder: Path, path: str) -> None:
    """Fill a folder with links to every program on a path, except git."""
    for each in map(Path, path.split(os.pathsep)):
        for program in sorted(each.iterdir()) if each.is_dir() else ():
            link = folder / program.name
            if not program.name.startswith("git") and os.access(program, os.X_OK) and not link.exists():
                link.symlink_to(program)


def environment(room: Path, target: Path, python: Path) -> dict[str, str]:
    """A clean environment: its home is empty, and cargo keeps its downloaded crates."""
    (room / "bin").mkdir()
    (room / "home").mkdir()
    home = Path.home()
    cargo = Path(os.environ.get("CARGO_HOME") or home / ".cargo")
    programs(room / "bin", os.pathsep.join([str(cargo / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]))
    return {name: value for name, value in os.environ.items() if name.startswith(KEPT)} | {
        "CARGO_HOME": str(cargo),
        "CARGO_TARGET_DIR": str(target),
        "HOME": str(room / "home"),
        "LANG": "C.UTF-8",
        "PATH": str(room / "bin"),
        "PYTHON": str(python),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME") or str(home / ".rustup"),
        "UV": "",
    }


def run(path: Path, target: Path, python: Path) -> list[str]:
    """Unpack a source distribution and run its tests; return the end of the output if they failed."""
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        variables: Mapping[str, str] = environment(room, target, python)
        with tarfile.open(path) as archive:
            archive.extractall(room / "source", filter="data")
        (source,) = (room / "source").iterdir()
        for each in source.rglob("*"):
            os.utime(each)  # cargo compares file times
        ran = subprocess.run(["make", "quick"], cwd=source, env=variables, capture_output=True, text=True, check=False)
    print("".join(f"    {line}\n" for line in ran.stdout.splitlines()[-4:]), end="")
    return (
        [] if ran.returncode == 0 else [f"make quick: {line}" for line in (ran.stdout + ran.stderr).splitlines()[-30:]]
    )
