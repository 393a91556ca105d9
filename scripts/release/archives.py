"""Checks the contents of a wheel and a source distribution: each function reports missing and unexpected files."""

from __future__ import annotations

import email
import email.message
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

# Fields of the metadata, and their required values.
FIELDS = {
    "Name": "toksmith",
    "Author": "The toksmith developers",
    "License-Expression": "MIT",
    "Requires-Python": ">=3.10",
    "Description-Content-Type": "text/markdown",
}
LICENCES = ("LICENSE", "NOTICES.txt")
MANUAL = "data/share/man/man1/toksmith.1"
CORE = re.compile(r"toksmith/_core\.[^/]*\.(so|pyd)")
# Leftovers of a working copy, which must not be in an archive.
LEFTOVERS = re.compile(r"(^|/)(__pycache__|\.git|\.venv[^/]*|target|\.[a-z]+_cache|\.hypothesis)/|\.pyc$")
COMPILED = re.compile(r"\.(so|pyd|dll|dylib)$")
# Files that the build and the tests of an unpacked source distribution need.
FOLDERS = ("bench", "crates", "docs", "make", "python", "scripts", "tests")
FILES = ("Cargo.lock", "Cargo.toml", "LICENSE", "Makefile", "NOTICES.txt", "PKG-INFO", "README.md", "pyproject.toml")


def package_files(root: Path) -> set[str]:
    """The files of the package in a working copy, by their names in a wheel."""
    folder = root / "python"
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {path for path in paths if not LEFTOVERS.search(path) and not COMPILED.search(path)}


def wheel(path: Path, root: Path, version: str) -> Iterator[str]:
    """The problems of a wheel of that version."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        about, data = f"toksmith-{version}.dist-info", f"toksmith-{version}.data"
        files = {name for name in names if name.startswith("toksmith/")}
        cores = {name for name in files if CORE.fullmatch(name)}
        if len(cores) != 1:
            yield f"{path.name}: expected one compiled core, found {sorted(cores)}"
        yield from (f"{path.name}: lacks {name}" for name in sorted(package_files(root) - files))
        more = files - package_files(root) - cores
        more |= {name for name in names if name.split("/")[0] not in ("toksmith", about, data)}
        yield from (f"{path.name}: should not contain {name}" for name in sorted(more))
        needed = {f"{about}/licenses/{name}" for name in LICENCES} | {f"{data}/{MANUAL}", f"{about}/METADATA"}
        yield from (f"{path.name}: lacks {name}" for name in sorted(needed - names))
        if f"{about}/METADATA" in names:
            fields = email.message_from_bytes(archive.read(f"{about}/METADATA"))
            yield from (f"{path.name}: {problem}" for problem in metadata(fields, version))
        lists = [name for name in names if name.startswith(f"{about}/sboms/")]
        if not any(lists_crates(json.loads(archive.read(name)), version) for name in lists):
            yield f"{path.name}: lacks a list of its crates (CycloneDX) in {about}/sboms/"


def metadata(said: email.message.Message, version: str) -> Iterator[str]:
    """The problems of the metadata."""
    for field, expected in {**FIELDS, "Version": version}.items():
        # A content type can be followed by its charset and variant.
        if said[field] is None or said[field].partition(";")[0] != expected:
            yield f"METADATA: {field} is {said[field]!r}, expected {expected!r}"
    if "Typing :: Typed" not in said.get_all("Classifier", []):
        yield "METADATA: lacks the classifier 'Typing :: Typed'"
    if not said["Keywords"]:
        yield "METADATA: lacks keywords"
    if not str(said.get_payload() or "").startswith("# toksmith"):
        yield "METADATA: the description is not the page of the package"


def lists_crates(listed: dict[str, object], version: str) -> bool:
    """Whether this list of crates has the core and the crates that it is built from."""
    components = listed.get("components")
    crates = {(each["name"], each["version"]) for each in components} if isinstance(components, list) else set()
    return listed.get("bomFormat") == "CycloneDX" and ("toksmith-core", version) in crates and len(crates) > 20


def source(path: Path, root: Path, version: str) -> Iterator[str]:
    """The problems of a source distribution of that version."""
    with tarfile.open(path) as archive:
        members = archive.getmembers()
    top = f"toksmith-{version}"
    names = {str(PurePosixPath(*PurePosixPath(member.name).parts[1:])) for member in members}
    strays = {member.name for member in members if PurePosixPath(member.name).parts[0] != top}
    yield from (f"{path.name}: {name} is not in {top}/" for name in sorted(strays))
    yield from (f"{path.name}: lacks {name}" for name in sorted({*FILES} - names))
    bad = {name for name in names if LEFTOVERS.search(name) or COMPILED.search(name)}
    yield from (f"{path.name}: should not contain {name}" for name in sorted(bad))
    yield from (f"{path.name}: lacks {name}" for name in sorted(working_copy_files(root) - names))


def working_copy_files(root: Path) -> set[str]:
    """The files of a working copy in the folders of a source distribution."""
    paths = (path.relative_to(root).as_posix() for folder in FOLDERS for path in (root / folder).rglob("*"))
    return {
        name for name in paths if (root / name).is_file() and not LEFTOVERS.search(name) and not COMPILED.search(name)
    }
