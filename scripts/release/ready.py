"""Checks whether the project is ready for a release, as far as one machine can: `make release-check`.

`CHECKS` has a row for each question. All checks run, and the end lists every problem by the name of its check. Settings
that only the owners can decide are listed as unset, and are not failures. Names on the command line select checks.
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


def run_command(*command: str, **more: str) -> list[str]:
    """Run a command in the project; return the end of its output if it failed."""
    path = os.pathsep.join([str(TOOLS), str(ROOT / "target" / "tools" / "bin"), os.environ["PATH"]])
    variables = {**os.environ, "PATH": path, **more}
    process = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    return [] if process.returncode == 0 else (process.stdout + process.stderr).strip().splitlines()[-LAST_LINES:]


def command_output(*command: str) -> str:
    """The output of a command of the project."""
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    return process.stdout if process.returncode == 0 else f"{command[0]} failed: {process.stderr}"


def wheels() -> list[Path]:
    """The wheels of the release."""
    return sorted(WHEELS.glob("*.whl"))


def source() -> Path:
    """The source distribution of the release."""
    return WHEELS / f"toksmith-{bump.current_version(ROOT)}.tar.gz"


def check_numbers() -> Iterator[str]:
    """Every place has the number of Cargo.toml, and the changelog and the notes have the version."""
    version = bump.current_version(ROOT)
    for path, value in bump.versions(ROOT):
        if value != version:
            yield f"{path}: {value}, expected {version}"
    if f"\n## [{version}] - " not in (ROOT / bump.CHANGELOG).read_text(encoding="utf-8"):
        yield f"{bump.CHANGELOG}: has no section [{version}]; make bump heads it"
    if not (ROOT / "docs" / "releases" / f"{version}.md").is_file():
        yield f"docs/releases/{version}.md: is missing; write what users can do now and have to change"


def check_generated() -> Iterator[str]:
    """Generated files are up to date."""
    yield from (f"{path}: is outdated; run make manual" for path in package_page.outdated_files(ROOT))
    if command_output(".venv/bin/toksmith", "help", "--man") != (ROOT / bump.MANUAL).read_text(encoding="utf-8"):
        yield f"{bump.MANUAL}: is outdated; run make manual"


def classifiers() -> Iterator[str]:
    """The package index knows every classifier."""
    accepted: set[str] = importlib.import_module("trove_classifiers").classifiers
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^classifiers = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    names = re.findall(r'"([^"]+)"', listed[1]) if listed else []
    if not names:
        yield "pyproject.toml: has no classifiers"
    yield from (f"pyproject.toml: {each!r} is not a classifier" for each in names if each not in accepted)


def contents() -> Iterator[str]:
    """Each wheel and the source distribution contain the expected files and no others."""
    version = bump.current_version(ROOT)
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
        report = command_output(str(TOOLS / "auditwheel"), "show", str(path))
        if f'"{FLOOR}_{os.uname().machine}"' not in " ".join(report.split()):
            yield f"{path.name}: {' '.join(report.split())}"


def notices() -> Iterator[str]:
    """NOTICES.txt has the licences of the crates in Cargo.lock."""
    expected = command_output("bash", "scripts/release/notices.sh").splitlines()
    has = (ROOT / "NOTICES.txt").read_text(encoding="utf-8").splitlines()
    changed = difflib.unified_diff(has, expected, "NOTICES.txt", "make notices", lineterm="", n=0)
    yield from list(changed)[:LAST_LINES]


def check_clean_build() -> list[str]:
    """The source distribution builds and passes `make quick` without git and with an empty home."""
    real = Path(sys.base_prefix) / "bin" / f"python{sysconfig.get_python_version()}"
    return clean_source.run(source(), ROOT / "target" / "source", real)


class Check(NamedTuple):
    """A check: its name, and the function that returns its problems."""

    name: str
    problems: Callable[[], Iterator[str] | list[str]]


CORE = ("--package", "toksmith-core")
CHECKS = (
    Check("numbers", check_numbers),
    Check("written", check_generated),
    Check("classifiers", classifiers),
    Check("contents", contents),
    Check("glibc", floor),
    Check("page", lambda: run_command("twine", "check", "--strict", *map(str, [*wheels(), source()]))),
    Check(
        "licences",
        lambda: run_command("cargo", "deny", "--offline", "--locked", "check", "licenses", "bans", "sources"),
    ),
    Check("notices", notices),
    Check(
        "documentation", lambda: run_command("cargo", "doc", "--locked", "--no-deps", *CORE, RUSTDOCFLAGS="-D warnings")
    ),
    Check("examples", lambda: run_command("cargo", "test", "--locked", "--doc", *CORE)),
    Check("crate", lambda: run_command("cargo", "publish", "--dry-run", "--locked", "--allow-dirty", *CORE)),
    Check("workflows", lambda: run_command("bash", "scripts/release/workflows.sh")),
    Check("installed", lambda: run_command("bash", "scripts/try_wheel.sh", str(WHEELS), PYTHON=sys.executable)),
    Check("source", check_clean_build),
)


def run_checks(rows: tuple[Check, ...]) -> Mapping[str, list[str]]:
    """The problems of each check."""
    problems: dict[str, list[str]] = {}
    for row in rows:
        start = time.monotonic()
        try:
            problems[row.name] = list(row.problems())
        except (OSError, bump.Refused) as problem:
            problems[row.name] = [str(problem)]
        print(f"{'FAILED' if problems[row.name] else 'ok':6} {row.name}: {time.monotonic() - start:.1f} s", flush=True)
    return problems


def main() -> None:
    """Run the checks of the command line, or all."""
    names = sys.argv[1:] or [row.name for row in CHECKS]
    unknown = {*names} - {row.name for row in CHECKS}
    if unknown:
        sys.exit(f"there is no check {', '.join(sorted(unknown))}; there are: {', '.join(row.name for row in CHECKS)}")
    problems_by_check = run_checks(tuple(row for row in CHECKS if row.name in names))
    for name, problems in problems_by_check.items():
        for problem in problems:
            print(f"{name}: {problem}")
    for setting in settings.unset_settings():
        print(f"unset: {setting}")
    failed = [name for name, problems in problems_by_check.items() if problems]
    if failed:
        sys.exit(f"not ready: {', '.join(failed)}")
    print(f"ready, as far as this machine can say: {len(problems_by_check)} checks")


if __name__ == "__main__":
    main()
