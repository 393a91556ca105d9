"""Old names say their remedy once, work as long as docs/versions.md promises, and do not outlive it."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import toksmith
from toksmith._base import deprecated
from toksmith._base.deprecated import DEPRECATED, Deprecated

KEPT = 2  # minor versions that an old name works in, as docs/versions.md says


def numbers(version: str) -> list[int]:
    return [int(each) for each in version.split(".")]


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deprecated, "_SAID", set())


@pytest.mark.parametrize("row", DEPRECATED, ids=lambda row: row.old)
def test_an_old_name_works_for_two_minor_versions_and_is_then_removed(row: Deprecated) -> None:
    since, end = numbers(row.since), numbers(row.removed_in)
    assert end[0] > since[0] or end[1] >= since[1] + KEPT
    assert end > numbers(toksmith.__version__), f"remove {row.old}, as promised"


@pytest.mark.parametrize("row", DEPRECATED, ids=lambda row: row.old)
def test_the_remedy_is_said_once(row: Deprecated) -> None:
    said: list[str] = []
    deprecated.warn(row.old, said.append)
    deprecated.warn(row.old, said.append)
    assert len(said) == 1
    assert said[0].startswith(f"{row.old} is now {row.new}, because ") and row.removed_in in said[0]


def test_in_python_it_is_a_warning_at_the_line_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Deprecated("tok.old", "tok.new", "0.2.0", "0.4.0", "one thing has one name")
    monkeypatch.setattr(deprecated, "DEPRECATED", (row,))

    def old() -> None:  # what a method under an old name does
        deprecated.warn("tok.old")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        old()
        old()
    found: list[Any] = caught
    assert [(each.category, each.filename, str(each.message)) for each in found] == [
        (
            DeprecationWarning,
            __file__,
            "tok.old is now tok.new, because one thing has one name; 0.4.0 removes the old name",
        )
    ]


def test_a_name_without_a_row_is_a_mistake_of_ours() -> None:
    with pytest.raises(StopIteration):
        deprecated.warn("no such name")
