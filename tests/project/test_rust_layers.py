"""The Rust core imports downwards only: ARCHITECTURE.md has the table, and this test reads it from there."""

import re
from collections import Counter
from pathlib import Path

import pytest
import rust_imports
from rust_imports import SOURCE, circles, folder, imports

ARCHITECTURE = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8")
TYPE = re.compile(
    r"^(?: *(?:pub(?:\([a-z]+\))? )?(?:struct|enum|trait|union)|(?:pub(?:\([a-z]+\))? )?type) ([A-Z]\w*)", re.MULTILINE
)
MOST_FILES = {"slow": 9, "fast": 13}  # and the pattern's own file


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading of ARCHITECTURE.md, without its first two lines."""
    section = ARCHITECTURE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_folder_imports_from_rows_below_its_own() -> None:
    floors = [[name.removesuffix("/").removesuffix(".rs") for name in names(cells[0])] for cells in rows("The core")]
    floor = {name: -place for place, row in enumerate(floors) for name in row}
    assert len(floor) == sum(map(len, floors)), "the table lists a folder twice"
    assert set(floor) == {folder(name) for name in imports()}, (
        "the folders of the table are not the folders of the core"
    )
    upward = [
        f"{name} imports {target}"
        for name, targets in imports().items()
        for target in sorted(targets)
        if folder(name) != folder(target) and floor[folder(target)] >= floor[folder(name)]
    ]
    assert not upward


def test_no_files_import_each_other() -> None:
    assert not circles(imports())


@pytest.mark.parametrize("path", MOST_FILES)
def test_a_file_before_imports_each_file_of_the_walk(path: str) -> None:
    """Each file of the walk is imported by one before it in the list."""
    (cells,) = [cells for cells in rows("One call of `encode`") if cells[0] == path]
    walk, graph = names(cells[1]), imports()
    assert len(walk) == len(set(walk)) <= MOST_FILES[path]
    for place, name in enumerate(walk[1:], 1):
        assert any(name in graph[before] for before in walk[:place]), f"no file before {name} imports it"


def test_no_type_has_the_name_of_another() -> None:
    found = Counter[str]()
    for name in imports():
        source = rust_imports.TESTS.sub("", (SOURCE / name).read_text(encoding="utf-8"))
        found.update(TYPE.findall(source))
    assert [name for name, count in found.items() if count > 1] == []


def test_circles_and_import_trees_are_read() -> None:
    """The helpers of the tests above, on cases by hand."""
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}}) == [["b", "c"]]
    assert rust_imports.leaves("crate::a::{self, b::{C, d}, E as F}") == [
        "crate::a::self",
        "crate::a::b::C",
        "crate::a::b::d",
        "crate::a::E",
    ]
    known = {("a",): "a/mod.rs", ("a", "b"): "a/b.rs"}
    assert rust_imports.resolve_module("crate::a::b::C", (), known) == ("a", "b")
    assert rust_imports.resolve_module("super::C", ("a", "b"), known) == ("a",)
    assert rust_imports.resolve_module("std::mem", (), known) is None
