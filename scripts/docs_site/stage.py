"""Usage: python -m docs_site.stage FOLDER [--version VERSION]: writes what the site's generator reads into FOLDER.

FOLDER gets `zensical.toml`, the Markdown of all pages in `pages/`, and the docstrings of compiled methods. The folder is
made anew. With a version, pages have the list of versions that `publish` keeps. Left out: building, which is the
generator's (`make docs`).
"""

from __future__ import annotations

import argparse
import inspect
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from release.settings import REPOSITORY

import toksmith

from . import links
from .api import api_pages
from .commands import command_pages
from .dialect import problems, site_text
from .pages import API, COMMAND_LINE, ROOT, SECTIONS, Page, pages, place_of
from .settings import settings
from .snapshots import embedded

__all__ = ["navigation", "stage"]

WRITERS = {API: api_pages, COMMAND_LINE: command_pages}
# Sources whose text is a page that the API writes.
SOURCES = {"python/toksmith/reference/__init__.py": "api/reference.md"}
COMPILED = ("encode", "encode_array")


def stage(folder: Path, version: str | None = None) -> list[str]:
    """Write everything; returns what is wrong with the documents, one line each."""
    shutil.rmtree(folder, ignore_errors=True)
    places = {page.source: page.place for page in pages()} | SOURCES
    titles = {page.source: page.title for page in pages()}
    site = links.Site(ROOT, places, REPOSITORY, titles)
    wrong = [line for page in pages() for line in copied(page, site, folder / "pages")]
    written = {source: [*write()] for source, write in WRITERS.items()}
    for place, _, text in (page for each in written.values() for page in each):
        put(folder / "pages" / place, text)
    shutil.copytree(ROOT / "docs" / "site" / "assets", folder / "pages" / "assets")
    shutil.copytree(ROOT / "docs" / "site" / "overrides", folder / "overrides")
    rows = {source: [(title, place) for place, title, _ in each] for source, each in written.items()}
    put(folder / "zensical.toml", settings(navigation(pages(), rows), version))
    methods = {f"toksmith._core.TextCalls.{name}": getattr(toksmith.Tokenizer, name) for name in COMPILED}
    put(folder / "compiled.json", json.dumps({name: inspect.getdoc(method) for name, method in methods.items()}))
    return wrong


def copied(page: Page, site: links.Site, folder: Path) -> Iterator[str]:
    """Write one document and the files beside it; gives what is wrong with it."""
    text = (site.root / page.source).read_text(encoding="utf-8")
    if not page.source.endswith(".md"):
        put(folder / page.place, f"# {page.title}\n\n```text\n{text.strip()}\n```\n")
        return
    yield from links.dead(text, page.source, site)
    yield from (f"{page.source}:{line}: has {problem}" for line, problem in problems(text))
    shown = site_text(text, lambda comment: embedded(comment, page.place, folder))
    made = links.linked(shown, page.source, site)
    put(folder / page.place, made.text)
    for file in made.files:
        if (site.root / file).is_file():
            (folder / place_of(file)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(site.root / file, folder / place_of(file))


def navigation(documents: list[Page], written: dict[str, list[tuple[str, str]]]) -> dict[str, list[tuple[str, str]]]:
    """The sections with the titles and paths of their pages, in the order of the table."""
    found: dict[str, list[tuple[str, str]]] = {}
    for section, rows in SECTIONS.items():
        found[section] = [(page.title, page.place) for page in documents if page.section == section]
        found[section] += [page for row in rows for page in written.get(row.source, [])]
    return found


def put(path: Path, text: str) -> None:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Stage; a document with a dead link ends the build."""
    parser = argparse.ArgumentParser(description="Write what the generator of the documentation site reads.")
    parser.add_argument("folder", type=Path, help="folder for zensical.toml and pages/; made anew")
    parser.add_argument("--version", help="the version of a site that has several")
    given = parser.parse_args()
    if wrong := stage(given.folder, given.version):
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
