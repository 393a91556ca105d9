"""Links of a document as links of its page: to another page, to a file beside the pages, or to the repository.

A link to a document becomes one to its page; where its words are the document's path, they become the page's title. A
picture or program of docs/ is copied beside the pages. Any other file of the repository is linked by the repository's URL;
while that is unset, the words of the link stay without a link.
`dead` names links to what is not there.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from .dialect import parts, without_code
from .pages import place_of

__all__ = ["Linked", "Site", "anchors", "dead", "linked", "links", "target_of"]

# [words](target "title"), also with a picture for words: the words may hold one level of brackets.
LINK = re.compile(
    r"(?P<words>!?\[(?:[^\[\]]|\[[^\[\]]*\](?:\([^()]*\))?)*\])\((?P<target>[^()\s]+)(?P<title> \"[^\"]*\")?\)"
)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//")


class Linked(NamedTuple):
    """A text for the site, and the files that it needs beside the pages."""

    text: str
    files: set[str]


class Site(NamedTuple):
    """What links are resolved against: the page of each document, pages of sources, the repository; titles of pages."""

    root: Path
    places: Mapping[str, str]
    url: str = ""
    titles: Mapping[str, str] = {}


def links(text: str) -> Iterator[tuple[int, str]]:
    """The line and the target of each link, those in code aside."""
    for part in parts(text):
        if part.language is not None:
            continue
        shown = without_code(part.text)
        for found in LINK.finditer(shown):
            yield part.line + shown.count("\n", 0, found.start()), found["target"]


def target_of(source: str, target: str, site: Site) -> tuple[str, str]:
    """The file of the repository that a link of `source` means, and the anchor; the file is "" for a link to elsewhere."""
    if site.url and target.startswith(site.url):
        target = re.sub(r"^/(?:blob|tree|raw)/[^/]+/", "/", target.removeprefix(site.url.rstrip("/")))
    if ELSEWHERE.match(target):
        return "", ""
    path, _, anchor = target.partition("#")
    if not path:
        return source, anchor
    found = posixpath.normpath(
        posixpath.join("" if path.startswith("/") else posixpath.dirname(source), path.lstrip("/"))
    )
    readme = posixpath.join(found, "README.md")
    return (readme if readme in site.places else found), anchor


def linked(text: str, source: str, site: Site) -> Linked:
    """The text of the document `source` with the links of its page."""
    files: set[str] = set()
    made = [part.text if part.language is not None else changed(part.text, source, site, files) for part in parts(text)]
    return Linked("".join(made), files)


def changed(text: str, source: str, site: Site, files: set[str]) -> str:
    """Text outside of fenced blocks with the links of its page; adds to `files` what they need beside the pages."""
    made: list[str] = []
    end = 0
    for found in LINK.finditer(without_code(text)):
        words = text[slice(*found.span("words"))]
        words = words[0] + changed(words[1:], source, site, files)  # a picture may be the words of a link
        words = titled(words, source, found["target"], site)
        new = new_target(source, found["target"], site)
        if new is None:
            made += [text[end : found.start()], words.removeprefix("[").removesuffix("]")]
        else:
            made += [text[end : found.start()], f"{words}({new}{found['title'] or ''})"]
            path, _ = target_of(source, found["target"], site)
            files |= {path} if path.startswith("docs/") and path not in site.places else set()
        end = found.end()
    return "".join([*made, text[end:]])


def titled(words: str, source: str, target: str, site: Site) -> str:
    """The words of a link in brackets: the title of the page where they are the path of its document."""
    path, _ = target_of(source, target, site)
    said = words.strip("[]`")
    same = path in site.titles and path in (said, target_of(source, said, site)[0])
    return f"[{site.titles[path]}]" if same else words


def new_target(source: str, target: str, site: Site) -> str | None:
    """The target on the site; None where it has none."""
    path, anchor = target_of(source, target, site)
    ending = f"#{anchor}" if anchor else ""
    if not path:
        return target
    if path == source:
        return ending
    if path in site.places or path.startswith("docs/"):
        here = posixpath.dirname(site.places[source])
        return posixpath.relpath(site.places.get(path) or place_of(path), here or ".") + ending
    return f"{site.url.rstrip('/')}/blob/HEAD/{path}{ending}" if site.url else None


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, by the rule of the site, which is that of code hosts."""
    found: dict[str, int] = {}
    for part in parts(text):
        for heading in re.findall(r"^#{1,6} (.+?)(?: #+)?$", part.text, re.MULTILINE) if part.language is None else ():
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
            slug = re.sub(r"[^\w\- ]", "", unicodedata.normalize("NFC", words)).strip().lower().replace(" ", "-")
            found[slug] = found.get(slug, -1) + 1
    return {f"{slug}_{number}" if number else slug for slug, count in found.items() for number in range(count + 1)}


def dead(text: str, source: str, site: Site) -> Iterator[str]:
    """One line for each link of a document to a file or a heading that is not there."""
    for line, target in links(text):
        path, anchor = target_of(source, target, site)
        if not path:
            continue
        if not (site.root / path).exists():
            yield f"{source}:{line}: links to {target!r}, and there is no {path}"
        elif anchor and path.endswith(".md"):
            known = anchors((site.root / path).read_text(encoding="utf-8"))
            if anchor not in known:
                yield f"{source}:{line}: links to {target!r}, and {path} has no such heading"
