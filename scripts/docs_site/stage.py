"""Usage: python -m docs_site.stage FOLDER [--version VERSION]: writes what the site's generator reads into FOLDER.

FOLDER gets `zensical.toml`, the Markdown of all pages in `pages/`, and the docstrings of compiled methods. The folder is
made anew. With a version, pages have the list of versions that `publish` keeps. Left out: building and looking for dead
links, which are the generator's (`make docs`).
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

from .api import api_pages
from .commands import command_pages
from .dialect import parts, site_text, without_code
from .pages import API, COMMAND_LINE, ROOT, SECTIONS, Page, pages, place_of
from .settings import settings
from .snapshots import embedded

__all__ = ["linked", "stage"]

WRITERS = {API: api_pages, COMMAND_LINE: command_pages}
# A source whose text is a page that the API writes.
REFERENCE = Page("", "The reference", "python/toksmith/reference/__init__.py", "api/reference.md")
COMPILED = ("encode", "encode_array")
TARGET = re.compile(r"\]\((?![a-z][a-z0-9+.-]*:|//|#)(?P<path>[^()\s#]+)")


def stage(folder: Path, version: str | None = None) -> None:
    """Write everything."""
    shutil.rmtree(folder, ignore_errors=True)
    documents = pages()
    known = {page.source: page for page in (*documents, REFERENCE)}
    for page in documents:
        text = (ROOT / page.source).read_text(encoding="utf-8")
        if page.source.endswith(".md"):
            text = "".join(linked(text, page.source, known, folder / "pages"))
            views = partial(embedded, place=page.place, folder=folder / "pages")
            put(folder / "pages" / page.place, site_text(text, views))
        else:
            put(folder / "pages" / page.place, f"# {page.title}\n\n```text\n{text.strip()}\n```\n")
    navigation: dict[str, list[tuple[str, str]]] = {}
    for section, rows in SECTIONS.items():
        navigation[section] = [(page.title, page.place) for page in documents if page.section == section]
        for place, title, text in (made for row in rows if row in WRITERS for made in WRITERS[row]()):
            put(folder / "pages" / place, text)
            navigation[section].append((title, place))
    shutil.copytree(ROOT / "docs" / "site" / "assets", folder / "pages" / "assets")
    shutil.copytree(ROOT / "docs" / "site" / "overrides", folder / "overrides")
    put(folder / "zensical.toml", settings(navigation, version))
    methods = {f"toksmith._core.TextCalls.{name}": getattr(toksmith.Tokenizer, name) for name in COMPILED}
    put(folder / "compiled.json", json.dumps({name: inspect.getdoc(method) for name, method in methods.items()}))


def linked(text: str, source: str, known: Mapping[str, Page], folder: Path) -> Iterator[str]:
    """The document `source` in parts, with the links of its page. Files of docs/ that it links to are copied into the folder.

    Where the words of a link are the path of a document, they become the title of its page.

    Raises:
        SystemExit: A link leads to a file of the repository that is no page and not in docs/.
    """
    for part in parts(text):
        end = 0
        for found in () if part.language is not None else TARGET.finditer(without_code(part.text)):
            before = part.text[end : found.start("path")]
            path = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["path"]))
            path = f"{path}/README.md" if f"{path}/README.md" in known else path
            if path in known:
                before = re.sub(
                    rf"\[(?:{re.escape(found['path'])}|{re.escape(path)})\]\($", f"[{known[path].title}](", before
                )
            elif path.startswith("docs/") and (ROOT / path).is_file():
                put(folder / place_of(path), (ROOT / path).read_bytes())
            else:
                raise SystemExit(
                    f"{source}: links to {found['path']!r}, which is no page of the site; link to a document"
                )
            place = known[path].place if path in known else place_of(path)
            yield before + posixpath.relpath(place, posixpath.dirname(known[source].place) or ".")
            end = found.end("path")
        yield part.text[end:]


def put(path: Path, content: str | bytes) -> None:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))


def main() -> None:
    """Stage."""
    parser = argparse.ArgumentParser(description="Write what the generator of the documentation site reads.")
    parser.add_argument("folder", type=Path, help="folder for zensical.toml and pages/; made anew")
    parser.add_argument("--version", help="the version of a site that has several")
    given = parser.parse_args()
    stage(given.folder, given.version)


if __name__ == "__main__":
    main()
