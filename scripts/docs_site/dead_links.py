"""Usage: python -m docs_site.dead_links FOLDER: looks through the built site for links that lead nowhere.

A link inside of the site must lead to a file, and its anchor to an element of that page. Links must lead from the first
page to every other. Nothing that a browser loads by
itself (scripts, styles, pictures, frames) may be on another machine. Links to other sites are counted; `--outer` lists
them, for a checker that has the network.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["dead_links", "outer_links", "unreached"]

# What a browser loads without a click: the attributes of these elements, by their names.
LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}
NOT_LOADED = {"canonical", "next", "prev", "edit", "alternate"}


class Read(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[tuple[int, str, bool]] = []  # the line, the address, whether a browser loads it by itself
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element links to and how it is linked to."""
        found = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := found.get(name))}
        loaded = LOADED.get(tag, "")
        if tag == "a" and (address := found.get("href")) is not None:
            self.links.append((self.getpos()[0], address, False))
        elif loaded and (address := found.get(loaded)):
            self.links.append((self.getpos()[0], address, found.get("rel") not in NOT_LOADED))


def pages_of(site: Path) -> dict[Path, Read]:
    """Every page of a site, the one for missing pages aside: its links are those of a place that nobody knows."""
    return {page.resolve(): Read(page) for page in sorted(site.rglob("*.html")) if page.name != "404.html"}


def dead_links(site: Path) -> Iterator[str]:
    """One line for each link that leads nowhere, and for each thing that is loaded from elsewhere."""
    found = pages_of(site)
    for page, read in found.items():
        for line, address, loaded in read.links:
            where = f"{page.relative_to(site.resolve()).as_posix()}:{line}"
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if loaded and parts.scheme != "data":
                    yield f"{where}: loads {address} from another machine"
                continue
            target = target_of(page, unquote(parts.path), site.resolve())
            if not target.is_file():
                yield f"{where}: links to {address}, and there is no such file"
            elif parts.fragment and target in found and unquote(parts.fragment) not in found[target].anchors:
                yield f"{where}: links to {address}, and that page has no such anchor"


def unreached(site: Path) -> list[str]:
    """The pages that no links lead to from the first page."""
    found = pages_of(site)
    waiting = [(site / "index.html").resolve()]
    left = {*found} - {*waiting}
    while waiting:
        page = waiting.pop()
        parts = [urlsplit(address) for _, address, _ in found[page].links]
        targets = {target_of(page, unquote(each.path), site.resolve()) for each in parts if not each.netloc}
        waiting += targets & left
        left -= targets
    return sorted(f"{page.relative_to(site.resolve()).as_posix()}: no links lead to this page" for page in left)


def target_of(page: Path, path: str, site: Path) -> Path:
    """The file that a server gives for a path that a page links to."""
    target = page if not path else (site / path.lstrip("/") if path.startswith("/") else page.parent / path).resolve()
    return target / "index.html" if target.is_dir() else target


def outer_links(site: Path) -> list[str]:
    """The links to other sites, each once."""
    found = {address for read in pages_of(site).values() for _, address, _ in read.links}
    return sorted(address for address in found if urlsplit(address).scheme in ("http", "https"))


def main() -> None:
    """Look, and say what leads nowhere."""
    parser = argparse.ArgumentParser(description="Look for links of a built site that lead nowhere.")
    parser.add_argument("folder", type=Path, help="the built site")
    parser.add_argument("--outer", action="store_true", help="print the links to other sites, one a line")
    given = parser.parse_args()
    if not (given.folder / "index.html").is_file():
        raise SystemExit(f"{given.folder} has no index.html; run: make docs")
    if given.outer:
        print("\n".join(outer_links(given.folder)))
        return
    if wrong := [*dead_links(given.folder), *unreached(given.folder)]:
        raise SystemExit("\n".join(wrong))
    read = pages_of(given.folder)
    links = sum(len(each.links) for each in read.values())
    print(
        f"{len(read)} pages, each reached; {links} links, none of them dead; {len(outer_links(given.folder))} addresses elsewhere"
    )


if __name__ == "__main__":
    main()
