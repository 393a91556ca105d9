"""Usage: python -m docs_site.relative FOLDER: makes a built site one that works at any address.

The generator writes llms.txt and the Markdown of pages only for a site with an address. While the project has none, the
settings give it `NOWHERE`, and here every link to it becomes relative; what only an address can have goes: the canonical
links of pages, and the map of the site.
"""

from __future__ import annotations

import posixpath
import re
import sys
from functools import partial
from pathlib import Path

__all__ = ["NOWHERE", "make_relative"]

NOWHERE = "https://site.invalid/"  # a name that no machine may have (RFC 2606)
CANONICAL = re.compile(rf'\s*<link rel="canonical" href="?{NOWHERE}[^>]*>')
LINK = re.compile(rf"{NOWHERE}([^\s)>\"'`\]]*)")


def make_relative(folder: Path) -> int:
    """Change the files of a site; returns how many changed."""
    changed = 0
    (folder / "sitemap.xml").unlink(missing_ok=True)
    (folder / "sitemap.xml.gz").unlink(missing_ok=True)
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".html", ".md", ".txt") or not path.is_file():
            continue
        before = path.read_text(encoding="utf-8")
        here = path.parent.relative_to(folder).as_posix()
        after = LINK.sub(partial(relative_link, here), CANONICAL.sub("", before))
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed += 1
    return changed


def relative_link(here: str, found: re.Match[str]) -> str:
    """An address of the site, which was found in a file of the folder `here`, as a relative one."""
    return relative(found[1], here)


def relative(path: str, here: str) -> str:
    """A path of the site as it is linked from a folder of it."""
    target, mark, anchor = path.partition("#")
    ending = "/" if target.endswith("/") or not target else ""
    return f"{posixpath.relpath(target or '.', here)}{ending}{mark}{anchor}"


def main() -> None:
    """Change a site."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    print(f"{make_relative(Path(sys.argv[1]))} files without an address of their own")


if __name__ == "__main__":
    main()
