"""The page of the package: README.md as the package index shows it, where no relative link leads anywhere.

A link into the repository becomes one to its page there, at the tag of the version. While the repository's URL is unset,
the text of such a link stays and the link goes, and so do pictures. Blocks of code stay as they are.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from release import bump, settings

PAGE = "make/PACKAGE.md"
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:|#")


def page(readme: str, url: str, version: str) -> str:
    """The page for a README, of the repository at `url` (empty: unset), in a version."""
    parts: list[str] = []
    end = 0
    for block in BLOCK.finditer(readme):
        parts += [linked(readme[end : block.start()], url, version), block[0]]
        end = block.end()
    found = "".join([*parts, linked(readme[end:], url, version)])
    return re.sub(r"\n{3,}", "\n\n", found)


def linked(prose: str, url: str, version: str) -> str:
    """Prose with absolute links."""

    def link(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        if ELSEWHERE.match(target):
            return match[0]
        if not url:
            return "" if picture else text
        return f"{picture}[{text}]({url}/{'raw' if picture else 'blob'}/v{version}/{target})"

    return LINK.sub(link, prose)


def relative(text: str) -> list[str]:
    """The targets of the links that only work in the repository."""
    prose = BLOCK.sub("", text)
    return [match["target"] for match in LINK.finditer(prose) if not ELSEWHERE.match(match["target"])]


def outdated(root: Path) -> dict[str, str]:
    """By path, the text that each file that a program writes should have and has not."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    wanted = page(readme, settings.REPOSITORY, bump.current(root))
    path = root / PAGE
    has = path.read_text(encoding="utf-8") if path.exists() else None
    return settings.outdated(root) | ({} if has == wanted else {PAGE: wanted})


def main() -> None:
    """Write what is outdated; with --check, name it and exit with 1."""
    found = outdated(bump.ROOT)
    if "--check" in sys.argv:
        sys.exit(f"outdated: {', '.join(found)}; run make manual" if found else 0)
    for path, text in found.items():
        (bump.ROOT / path).write_text(text, encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
