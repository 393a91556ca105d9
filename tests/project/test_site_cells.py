"""The cells of the lesson in the built site, in a real headless Chromium: `make docs-check` builds it and sets this up.

Each cell first shows the figure of the example above it. Changed cells show what the Python package computes.
"""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import DATA, ROOT
from docs_site.cells import Cell, cells_of
from docs_site.dialect import parts
from docs_site.pages import place_of
from test_site_pages import NARROW, SITE, TOO_WIDE, WIDE, Opened, serve

if not (SITE / "engine" / "toksmith.js").is_file():
    pytest.skip(f"lacks the engine in {SITE}; `make web`, then `make docs-check`", allow_module_level=True)

LESSON = sorted((ROOT / "docs" / "lesson").glob("*.md"))


class Placed(NamedTuple):
    """A cell with its place on its page, the figures that the example above it prints, and the files of that example."""

    cell: Cell
    place: int
    wants: list[str]
    needs: tuple[str, ...]


def placed_cells(page: Path) -> Iterator[Placed]:
    """The cells of a document, in order."""
    text, end = page.read_text(encoding="utf-8"), 0
    wants: list[str] = []
    needs: tuple[str, ...] = ()
    place = 0
    asked: list[str] = []
    for part in parts(text):
        if part.language == "python":
            wants = [example.want for example in doctest.DocTestParser().get_examples(part.text) if example.want]
            needs = tuple(asked[-1].split()) if asked else ()
        elif part.language is None:
            asked = re.findall(r"<!-- needs: (.*?) -->\s*\Z", part.text)
            for cell in cells_of(part.text, page.name):
                yield Placed(cell, place, wants, needs)
                place += 1
        end += len(part.text)


def url_of(page: Path) -> str:
    return place_of(f"docs/lesson/{page.name}").removesuffix("index.md").removesuffix(".md").rstrip("/") + "/"


def plain(text: str) -> str:
    """A figure with single spaces; an empty line of a doctest is empty."""
    return " ".join(text.replace("<BLANKLINE>", "").split())


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    yield from serve(SITE)


class Cells(Opened):
    """A page of the lesson with its cells."""

    def unfold(self, place: int) -> Any:
        """Open a cell, and wait for its controls and its figure."""
        cell = self.page.locator("div.cell").nth(place)
        if not cell.locator("details[open]").count():
            cell.locator("summary").click()
        cell.locator("form").wait_for()
        if not cell.get_attribute("data-exercise"):
            self.until("place => document.querySelectorAll('div.cell')[place].dataset.state", place)
        return cell

    def figure(self, place: int) -> str:
        """The printed lines of a cell, or what it says instead."""
        cell = self.unfold(place)
        printed = cell.locator(".printed")
        return str(printed.inner_text() if printed.count() else cell.locator(".said").inner_text())
