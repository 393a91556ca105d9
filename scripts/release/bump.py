"""Gives the project a new version: `make bump VERSION=0.3.0`.

The number is in Cargo.toml. `PLACES` has a row for each copy of it, and `bump` rewrites all of them. In CHANGELOG.md the
list under *Unreleased* gets the number and the date, and an empty list takes its place.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
NUMBER = r"\d+\.\d+\.\d+"
UNRELEASED = "## [Unreleased]\n"
NOTHING = f"{UNRELEASED}\n### Ids change\n\nNone.\n"
CHANGELOG = "CHANGELOG.md"
MANUAL = "make/wheel/data/share/man/man1/toksmith.1"


class Place(NamedTuple):
    """A file that repeats the number or the date, and the text before it."""

    path: str
    before: str
    value: str = NUMBER
    times: int = 1


PLACES = (
    Place("Cargo.toml", r'^\[workspace\.package\]\nversion = "'),
    Place("Cargo.lock", r'^name = "toksmith-(?:core|guard|py|web)"\nversion = "', times=4),
    Place("crates/core/fuzz/Cargo.lock", r'^name = "toksmith-core"\nversion = "'),
    Place(MANUAL, r'\A\.TH TOKSMITH 1 "" "toksmith '),
    Place("CITATION.cff", r'^version: "?'),
)
DATES = (Place("CITATION.cff", r'^date-released: "?', value=r"\d{4}-\d\d-\d\d"),)


class Refused(Exception):
    """The version is invalid; the message has the reason."""


def read_values(root: Path, place: Place) -> list[str]:
    """The values at a place.

    Raises:
        Refused: The number of values differs from the row's.
    """
    text = (root / place.path).read_text(encoding="utf-8")
    values = re.findall(f"{place.before}({place.value})", text, re.MULTILINE)
    if len(values) != place.times:
        problem = f"expected {place.times} times {place.before!r} with a value, found {len(values)}"
        raise Refused(f"{place.path}: {problem}; mend the file or its row in scripts/release/bump.py")
    return values


def versions(root: Path) -> Iterator[tuple[str, str]]:
    """Every place of the number, with its value."""
    for place in PLACES:
        if (root / place.path).exists():
            yield from ((place.path, value) for value in read_values(root, place))


def current_version(root: Path) -> str:
    """The version of the project."""
    return read_values(root, PLACES[0])[0]


def write_value(root: Path, place: Place, value: str) -> None:
    """Write a value at a place, if the file exists."""
    path = root / place.path
    if path.exists():
        read_values(root, place)
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(f"({place.before}){place.value}", rf"\g<1>{value}", text, flags=re.MULTILINE), "utf-8")


def with_version_heading(changelog: str, version: str, date: str) -> str:
    """The changelog with the list under *Unreleased* as the section of a version."""
    _, mark, rest = changelog.partition(UNRELEASED)
    if not mark:
        raise Refused(f"{CHANGELOG}: has no line '{UNRELEASED.strip()}'; add it above the newest version")
    if not re.search(r"^- ", rest.split("\n## [")[0], re.MULTILINE):
        raise Refused(f"{CHANGELOG}: lists nothing under 'Unreleased'; say there what {version} changes")
    return changelog.replace(UNRELEASED, f"{NOTHING}\n## [{version}] - {date}\n", 1)


def bump(root: Path, version: str, date: str) -> None:
    """Give the project in `root` a version.

    Raises:
        Refused: The version is not newer, or a file does not match its row. No file is changed then.
    """
    if not re.fullmatch(NUMBER, version):
        raise Refused(f"{version!r} is not a version; expected three numbers, such as VERSION=0.3.0")
    old = current_version(root)
    if [*map(int, version.split("."))] <= [*map(int, old.split("."))]:
        raise Refused(f"{version} is not newer than {old}; versions only go up")
    changelog = with_version_heading((root / CHANGELOG).read_text(encoding="utf-8"), version, date)
    present = [place for place in (*PLACES, *DATES) if (root / place.path).exists()]
    for place in present:
        read_values(root, place)
    for place in present:
        write_value(root, place, date if place in DATES else version)
    (root / CHANGELOG).write_text(changelog, encoding="utf-8")


def main() -> None:
    """Set the version of the command line."""
    version = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        bump(ROOT, version, datetime.date.today().isoformat())
    except Refused as refused:
        sys.exit(f"toksmith: {refused}")
    print(f"{version}: {', '.join(dict.fromkeys(path for path, _ in versions(ROOT)))}, {CHANGELOG}")
    print(f"next: write docs/releases/{version}.md, then run make release-check")


if __name__ == "__main__":
    main()
