"""Whether the project is ready for a release, as far as one machine can say: `make release-check`.

A row in `CHECKS` for each question. All of them run, and the end lists every problem by the name of its check. What only
the owners can decide is listed as unset and is no failure. Names on the command line choose checks.
"""

from __future__ import annotations

import difflib
import importlib
import os
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from release import archives, bump, clean_source, package_page, settings

ROOT = bump.ROOT
TOOLS = ROOT / ".venv-release" / "bin"
WHEELS = ROOT / "build" / "wheels"
FLOOR = "manylinux_2_17"
LAST_LINES = 15


def ran(*command: str, **more: str) -> list[str]:
    """Run a command in the project; the end of what it printed, if it failed."""
    path = os.pathsep.join([str(TOOLS), str(ROOT / "target" / "tools" / "bin"), os.environ["PATH"]])
    given = {**os.environ, "PATH": path, **more}
    done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else (done.stdout + done.stderr).strip().splitlines()[-LAST_LINES:]


def printed(*command: str) -> str:
    """What a command of the project prints."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    return done.stdout if done.returncode == 0 else f"{command[0]} failed: {done.stderr}"


def wheels() -> list[Path]:
    """The wheels to be released."""
    return sorted(WHEELS.glob("*.whl"))


def source() -> Path:
    """The source distribution to be released."""
    return WHEELS / f"toksmith-{bump.current(ROOT)}.tar.gz"


def numbers() -> Iterator[str]:
    """Every place has the number of Cargo.toml, and the version is in the changelog and has notes."""
    version = bump.current(ROOT)
    for path, found in bump.versions(ROOT):
        if found != version:
            yield f"{path}: {found}, expected {version}"
    if f"\n## [{version}] - " not in (ROOT / bump.CHANGELOG).read_text(encoding="utf-8"):
        yield f"{bump.CHANGELOG}: has no section [{version}]; make bump heads it"
    if not (ROOT / "docs" / "releases" / f"{version}.md").is_file():
        yield f"docs/releases/{version}.md: is missing; write what users can do now and have to change"


def written() -> Iterator[str]:
    """The files that a program writes are as it writes them."""
    yield from (f"{path}: is outdated; run make manual" for path in package_page.outdated(ROOT))
    if printed(".venv/bin/toksmith", "help", "--man") != (ROOT / bump.MANUAL).read_text(encoding="utf-8"):
        yield f"{bump.MANUAL}: is outdated; run make manual"


def classifiers() -> Iterator[str]:
    """The package index knows every classifier."""
    known: set[str] = importlib.import_module("trove_classifiers").classifiers
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^classifiers = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    found = re.findall(r'"([^"]+)"', listed[1]) if listed else []
    if not found:
        yield "pyproject.toml: has no classifiers"
    yield from (f"pyproject.toml: {each!r} is not a classifier" for each in found if each not in known)


def contents() -> Iterator[str]:
    """Each wheel, and the source distribution, contain what they should and nothing else."""
    version = bump.current(ROOT)
    if not wheels():
        yield f"{WHEELS} has no wheel; run make wheels"
    for path in wheels():
        yield from archives.wheel(path, ROOT, version)
    yield from archives.source(source(), ROOT, version)


def floor() -> Iterator[str]:
    """Each wheel for Linux runs on the glibc of manylinux2014."""
    if not sys.platform.startswith("linux"):
        return
    for path in wheels():
        said = printed(str(TOOLS / "auditwheel"), "show", str(path))
        if f'"{FLOOR}_{os.uname().machine}"' not in " ".join(said.split()):
            yield f"{path.name}: {' '.join(said.split())}"


def notices() -> Iterator[str]:
    """NOTICES.txt has the licences of the crates in Cargo.lock."""
    wanted = printed("bash", "scripts/release/notices.sh").splitlines()
    has = (ROOT / "NOTICES.txt").read_text(encoding="utf-8").splitlines()
    changed = difflib.unified_diff(has, wanted, "NOTICES.txt", "make notices", lineterm="", n=0)
    yield from list(changed)[:LAST_LINES]


def clean() -> list[str]:
    """The source distribution builds and passes `make quick` without git and with an empty home."""
    real = Path(sys.base_prefix) / "bin" / f"python{sysconfig.get_python_version()}"
    return clean_source.run(source(), ROOT / "target" / "source", real)


class Check(NamedTuple):
    """A check: its name and what it finds wrong."""

    name: str
    problems: Callable[[], Iterator[str] | list[str]]


CORE = ("--package", "toksmith-core")
CHECKS = (
    Check("numbers", numbers),
    Check("written", written),
    Check("classifiers", classifiers),
    Check("contents", contents),
    Check("glibc", floor),
    Check("page", lambda: ran("twine", "check", "--strict", *map(str, [*wheels(), source()]))),
    Check("licences", lambda: ran("cargo", "deny", "--offline", "--locked", "check", "licenses", "bans", "sources")),
    Check("notices", notices),
    Check("documentation", lambda: ran("cargo", "doc", "--locked", "--no-deps", *CORE, RUSTDOCFLAGS="-D warnings")),
    Check("examples", lambda: ran("cargo", "test", "--locked", "--doc", *CORE)),
    Check("crate", lambda: ran("cargo", "publish", "--dry-run", "--locked", "--allow-dirty", *CORE)),
    Check("workflows", lambda: ran("bash", "scripts/release/workflows.sh")),
    Check("installed", lambda: ran("bash", "scripts/try_wheel.sh", str(WHEELS), PYTHON=sys.executable)),
    Check("source", clean),
)


def checked(rows: tuple[Check, ...]) -> Mapping[str, list[str]]:
    """What each check finds wrong."""
    found: dict[str, list[str]] = {}
    for row in rows:
        start = time.monotonic()
        try:
            found[row.name] = list(row.problems())
        except (OSError, bump.Refused) as problem:
            found[row.name] = [str(problem)]
        print(f"{'FAILED' if found[row.name] else 'ok':6} {row.name}: {time.monotonic() - start:.1f} s", flush=True)
    return found


def main() -> None:
    """Run the checks of the command line, or all."""
    names = sys.argv[1:] or [row.name for row in CHECKS]
    unknown = {*names} - {row.name for row in CHECKS}
    if unknown:
        sys.exit(f"there is no check {', '.join(sorted(unknown))}; there are: {', '.join(row.name for row in CHECKS)}")
    found = checked(tuple(row for row in CHECKS if row.name in names))
    for name, problems in found.items():
        for problem in problems:
            print(f"{name}: {problem}")
    for setting in settings.unset():
        print(f"unset: {setting}")
    failed = [name for name, problems in found.items() if problems]
    if failed:
        sys.exit(f"not ready: {', '.join(failed)}")
    print(f"ready, as far as this machine can say: {len(found)} checks")


if __name__ == "__main__":
    main()
