"""The version number is equal in every file, and `bump` changes all of them."""

from __future__ import annotations

import re
import shutil
from importlib import metadata
from pathlib import Path

import pytest
from conftest import ROOT
from release import bump

import toksmith


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that contain the number, in a separate folder, with one unreleased change."""
    for path in {bump.CHANGELOG, *(place.path for place in bump.PLACES)}:
        if (ROOT / path).exists():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, tmp_path / path)
    changelog = tmp_path / bump.CHANGELOG
    before, _, rest = changelog.read_text(encoding="utf-8").partition(bump.UNRELEASED)
    released = rest[rest.index("## [") :]
    changelog.write_text(f"{before}{bump.UNRELEASED}\n- Tokens sing.\n\n{released}", encoding="utf-8")
    return tmp_path


def test_every_place_has_the_number_of_the_core() -> None:
    found = [*bump.versions(ROOT)]
    assert len(found) >= 6
    assert {version for _, version in found} == {toksmith.__version__}


def test_a_bump_writes_every_place(copy: Path) -> None:
    (copy / "CITATION.cff").write_text('version: 0.2.0\ndate-released: "2026-11-24"\n', encoding="utf-8")
    before = {place.path: (copy / place.path).read_text(encoding="utf-8") for place in bump.PLACES}
    bump.bump(copy, "17.4.2", "2031-05-06")
    assert {version for _, version in bump.versions(copy)} == {"17.4.2"}
    for path, text in before.items():
        lines = zip(text.splitlines(), (copy / path).read_text(encoding="utf-8").splitlines(), strict=True)
        changed = [now for was, now in lines if was != now]
        assert all("17.4.2" in line or "2031-05-06" in line for line in changed)
        assert 1 <= len(changed) <= 4
    assert (copy / "CITATION.cff").read_text(encoding="utf-8") == 'version: 17.4.2\ndate-released: "2031-05-06"\n'


def test_a_bump_puts_a_heading_above_the_changes(copy: Path) -> None:
    bump.bump(copy, "17.4.2", "2031-05-06")
    text = (copy / bump.CHANGELOG).read_text(encoding="utf-8")
    assert f"{bump.NOTHING}\n## [17.4.2] - 2031-05-06\n\n- Tokens sing.\n" in text
    assert f"## [{toksmith.__version__}] - " in text


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("", "'' is not a version; expected three numbers"),
        ("1.2", "'1.2' is not a version"),
        ("v1.2.3", "'v1.2.3' is not a version"),
        ("1.2.3rc1", "'1.2.3rc1' is not a version"),
        ("0.0.9", f"0.0.9 is not newer than {toksmith.__version__}"),
        (toksmith.__version__, "is not newer than"),
    ],
)
def test_a_wrong_version_is_refused_and_nothing_is_written(copy: Path, version: str, problem: str) -> None:
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    with pytest.raises(bump.Refused, match=re.escape(problem)):
        bump.bump(copy, version, "2031-05-06")
    assert before == {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("path", "old", "new", "problem"),
    [
        ("CHANGELOG.md", "- Tokens sing.\n", "", "lists nothing under 'Unreleased'"),
        ("CHANGELOG.md", "## [Unreleased]", "## New", "has no line"),
        ("Cargo.lock", 'name = "toksmith-py"', 'name = "toksmith-python"', "Cargo.lock: expected 4 times"),
    ],
)
def test_a_file_of_an_unexpected_form_is_named(copy: Path, path: str, old: str, new: str, problem: str) -> None:
    text = (copy / path).read_text(encoding="utf-8")
    (copy / path).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(bump.Refused, match=re.escape(problem)):
        bump.bump(copy, "17.4.2", "2031-05-06")
    assert bump.current_version(copy) == toksmith.__version__


def test_the_current_version_has_release_notes() -> None:
    assert (ROOT / "docs" / "releases" / f"{toksmith.__version__}.md").is_file()


def test_an_installation_takes_at_most_60_mb_beside_numpy() -> None:
    names, size = ["toksmith"], 0
    for name in names:
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # another system or Python needs it
        paths = [Path(str(file.locate())) for file in distribution.files or ()]
        size += sum(path.stat().st_size for path in paths if path.is_file())
        needed = [text for text in distribution.requires or () if "extra ==" not in text]
        names += {re.split(r"[^\w.-]", text)[0].lower() for text in needed} - {*names, "numpy"}
    package = Path(toksmith.__file__).parent  # an editable installation does not list it
    size += sum(path.stat().st_size for path in package.rglob("*") if path.is_file())
    assert {"click", "markdown-it-py", "protobuf", "pygments", "regex", "rich"} <= {*names}
    assert 10_000_000 < size <= 60_000_000
