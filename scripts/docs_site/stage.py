"""Usage: python -m docs_site.stage FOLDER [--version VERSION]: writes the input of the site's generator into FOLDER.

FOLDER gets `zensical.toml`, the Markdown of all pages in `pages/`, the engine for browsers in `pages/engine/` if `make web`
built it, and the docstrings of methods that are not in the sources. An existing folder is replaced. With a version, pages
have the list of versions that `publish` maintains. Building and the search for dead links are the generator's (`make docs`).
"""

from __future__ import annotations

import argparse
import inspect
import json
import posixpath
import re
import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import toksmith
from toksmith._playground.bundle import Bundle

from .api import api_pages
from .cells import embed_cell
from .commands import command_pages
from .dialect import parts, site_text, without_code
from .pages import API, COMMAND_LINE, ROOT, SECTIONS, Page, pages, place_of
from .playground import ENGINE, has_engine, link_playground, write_playground
from .settings import settings
from .snapshots import embed_snapshot

__all__ = ["link_document", "stage"]

WRITERS = {API: api_pages, COMMAND_LINE: command_pages}
# A source that the API pages include.
REFERENCE = Page("", "The reference", "python/toksmith/reference/__init__.py", "api/reference.md")
# The methods of `Tokenizer` whose docstrings are not in the sources, by the class that defines them.
MADE = {
    "_core.TextCalls": ("encode", "encode_array"),
    "_tokenizer.tokenizer.Tokenizer": ("acount", "acount_batch", "aencode", "aencode_batch", "achat"),
}
TARGET = re.compile(r"\]\((?![a-z][a-z0-9+.-]*:|//|#)(?P<path>[^()\s#]+)")


def stage(folder: Path, version: str | None = None) -> None:
    """Write everything."""
    shutil.rmtree(folder, ignore_errors=True)
    documents = pages()
    pages_by_source = {page.source: page for page in (*documents, REFERENCE)}
    for page in documents:
        text = (ROOT / page.source).read_text(encoding="utf-8")
        if page.source.endswith(".md"):
            text = "".join(link_document(text, page.source, pages_by_source, folder / "pages"))
            if has_engine() and (page.section == "Lesson" or page.source in ("README.md", "docs/playground.md")):
                text = link_playground(text, page.place)
            views = partial(embed, page=page, folder=folder / "pages")
            write_file(folder / "pages" / page.place, site_text(text, views))
        else:
            write_file(folder / "pages" / page.place, f"# {page.title}\n\n```text\n{text.strip()}\n```\n")
    navigation: dict[str, list[tuple[str, str]]] = {}
    for section, rows in SECTIONS.items():
        navigation[section] = [(page.title, page.place) for page in documents if page.section == section]
        for place, title, text in (written_page for row in rows if row in WRITERS for written_page in WRITERS[row]()):
            write_file(folder / "pages" / place, text)
            navigation[section].append((title, place))
    shutil.copytree(ROOT / "docs" / "site" / "assets", folder / "pages" / "assets")
    bundle, figures = Bundle(), ROOT / "docs" / "site" / "assets" / "figures.js"
    code, _ = bundle.translate(figures)
    write_file(folder / "pages" / "assets" / figures.name, f"{{\n{''.join(bundle.parts)}{code}}}\n")
    shutil.copytree(ROOT / "docs" / "site" / "overrides", folder / "overrides")
    if has_engine():
        shutil.copytree(ENGINE, folder / "pages" / "engine", ignore=shutil.ignore_patterns("*.md", ".*"))
    else:
        print("the site has no engine, and no page that needs it: make web builds it")
    write_file(folder / "zensical.toml", settings(navigation, version))
    docs = {
        f"toksmith.{owner}.{name}": inspect.getdoc(getattr(toksmith.Tokenizer, name))
        for owner, names in MADE.items()
        for name in names
    }
    write_file(folder / "compiled.json", json.dumps(docs))
    if has_engine():
        write_playground(folder / "pages" / "playground", "../engine/classic")


def embed(comment: str, page: Page, folder: Path) -> str:
    """The replacement of a comment of a page: a cell if the site has the engine, a view, or nothing."""
    return (embed_cell(comment, page.place) if has_engine() else "") or embed_snapshot(comment, page.place, folder)


def link_document(text: str, source: str, known: Mapping[str, Page], folder: Path) -> Iterator[str]:
    """The document `source` in parts, with the links of its page. Linked files of docs/ are copied into the folder.

    If the text of a link is the path of a document, it becomes the title of its page.

    Raises:
        SystemExit: A link leads to a repository file that is not a page and not in docs/.
    """
    for part in parts(text):
        end = 0
        for match in () if part.language is not None else TARGET.finditer(without_code(part.text)):
            preceding = part.text[end : match.start("path")]
            path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match["path"]))
            path = f"{path}/README.md" if f"{path}/README.md" in known else path
            if path in known:
                preceding = re.sub(
                    rf"\[(?:{re.escape(match['path'])}|{re.escape(path)})\]\($", f"[{known[path].title}](", preceding
                )
            elif path.startswith("docs/") and (ROOT / path).is_file():
                write_file(folder / place_of(path), (ROOT / path).read_bytes())
            else:
                raise SystemExit(
                    f"{source}: links to {match['path']!r}, which is no page of the site; link to a document"
                )
            place = known[path].place if path in known else place_of(path)
            yield preceding + posixpath.relpath(place, posixpath.dirname(known[source].place) or ".")
            end = match.end("path")
        yield part.text[end:]


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file, and create the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))


def main() -> None:
    """Stage."""
    parser = argparse.ArgumentParser(description="Write the input of the documentation site's generator.")
    parser.add_argument("folder", type=Path, help="folder for zensical.toml and pages/; replaced if it exists")
    parser.add_argument("--version", help="the version, for a site with several versions")
    options = parser.parse_args()
    stage(options.folder, options.version)


if __name__ == "__main__":
    main()
