"""`make release-check` names every problem of an archive."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest
from release import archives

VERSION = "1.2.3"
INFO, FILES = f"toksmith-{VERSION}.dist-info", f"toksmith-{VERSION}.data"
METADATA = """Metadata-Version: 2.4
Name: toksmith
Version: 1.2.3
Author: The toksmith developers
License-Expression: MIT
Requires-Python: >=3.10
Description-Content-Type: text/markdown
Keywords: bpe
Classifier: Typing :: Typed

# toksmith
"""
CRATES = [{"name": f"crate{number}", "version": "1.0.0"} for number in range(30)]
LIST = {"bomFormat": "CycloneDX", "components": [{"name": "toksmith-core", "version": VERSION}, *CRATES]}
CORE = "toksmith/_core.cpython-313-x86_64-linux-gnu.so"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A working copy with a package of two files, and leftovers that no archive contains."""
    for name in ("__init__.py", "py.typed", "__pycache__/a.pyc", "_core.abi3.so"):
        path = tmp_path / "copy" / "python" / "toksmith" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for name in ("tests/test_a.py", "crates/core/src/lib.rs"):
        path = tmp_path / "copy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / "copy"


def right_wheel() -> dict[str, str]:
    """The files of a complete wheel."""
    found = dict.fromkeys(["toksmith/__init__.py", "toksmith/py.typed", CORE, f"{FILES}/{archives.MANUAL}"], "")
    found |= {f"{INFO}/licenses/{name}": "" for name in archives.LICENCES}
    return found | {f"{INFO}/METADATA": METADATA, f"{INFO}/sboms/toksmith-py.cyclonedx.json": json.dumps(LIST)}


def problems(files: dict[str, str], root: Path) -> list[str]:
    path = root.parent / "toksmith.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return [*archives.wheel(path, root, VERSION)]


def test_a_right_wheel_has_no_problem(root: Path) -> None:
    assert problems(right_wheel(), root) == []


@pytest.mark.parametrize("name", right_wheel())
def test_a_file_that_a_wheel_lacks_is_named(root: Path, name: str) -> None:
    (problem,) = problems({key: text for key, text in right_wheel().items() if key != name}, root)
    assert name in problem or (name == CORE and "one compiled core" in problem) or "list of its crates" in problem


@pytest.mark.parametrize("name", ["tests/test_a.py", "toksmith/__pycache__/a.pyc", "toksmith/own.txt", "other.pth"])
def test_a_file_that_a_wheel_should_not_contain_is_named(root: Path, name: str) -> None:
    assert problems({**right_wheel(), name: ""}, root) == [f"toksmith.whl: should not contain {name}"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Version: 1.2.3", "Version: 1.2.4", "Version is '1.2.4', expected '1.2.3'"),
        ("Author: The toksmith developers\n", "", "Author is None"),
        ("Classifier: Typing :: Typed\n", "", "lacks the classifier"),
        ("Keywords: bpe\n", "", "lacks keywords"),
        ("# toksmith", "", "the description"),
    ],
)
def test_wrong_metadata_is_named(root: Path, old: str, new: str, said: str) -> None:
    (problem,) = problems({**right_wheel(), f"{INFO}/METADATA": METADATA.replace(old, new)}, root)
    assert said in problem


@pytest.mark.parametrize(
    "listed",
    [{**LIST, "bomFormat": "other"}, {**LIST, "components": CRATES}, {**LIST, "components": LIST["components"][:5]}],
)
def test_a_list_without_crates_is_refused(root: Path, listed: dict[str, object]) -> None:
    (problem,) = problems({**right_wheel(), f"{INFO}/sboms/toksmith-py.cyclonedx.json": json.dumps(listed)}, root)
    assert "lacks a list of its crates" in problem


def source_problems(names: list[str], root: Path) -> list[str]:
    path = root.parent / f"toksmith-{VERSION}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    return [*archives.source(path, root, VERSION)]


def test_a_source_distribution_has_the_tests_and_no_leftovers(root: Path) -> None:
    own = [*archives.FILES, *sorted(archives.working_copy_files(root))]
    assert {"tests/test_a.py", "crates/core/src/lib.rs", "python/toksmith/py.typed"} <= {*own}
    names = [f"toksmith-{VERSION}/{name}" for name in own]
    assert source_problems(names, root) == []
    for name in own:
        found = source_problems([each for each in names if each != f"toksmith-{VERSION}/{name}"], root)
        assert found == [f"toksmith-{VERSION}.tar.gz: lacks {name}"]
    for name in ("python/toksmith/_core.so", "tests/__pycache__/a.pyc", "target/a"):
        found = source_problems([*names, f"toksmith-{VERSION}/{name}"], root)
        assert found == [f"toksmith-{VERSION}.tar.gz: should not contain {name}"]
    assert source_problems([*names, "other/a"], root)[0].endswith("other/a is not in toksmith-1.2.3/")
