"""Writes the page of the package: README.md for the package index, where relative links do not work.

A link into the repository becomes an absolute one, at the tag of the version. While the repository's URL is unset, such
a link becomes plain text, and pictures are removed. Blocks of code stay unchanged.
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
    """The page for a README, of the repository at `url` (empty if unset), in a version."""
    parts: list[str] = []
    end = 0
    for block in BLOCK.finditer(readme):
        parts += [absolute_links(readme[end : block.start()], url, version), block[0]]
        end = block.end()
    joined = "".join([*parts, absolute_links(readme[end:], url, version)])
    return re.sub(r"\n{3,}", "\n\n", joined)


def absolute_links(prose: str, url: str, version: str) -> str:
    """Prose with absolute links."""

    def link(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        if ELSEWHERE.match(target):
            return match[0]
        if not url:
            return "" if picture else text
        return f"{picture}[{text}]({url}/{'raw' if picture else 'blob'}/v{version}/{target})"

    return LINK.sub(link, prose)


def relative_links(text: str) -> list[str]:
    """The targets of the links that work only in the repository."""
    prose = BLOCK.sub("", text)
    return [match["target"] for match in LINK.finditer(prose) if not ELSEWHERE.match(match["target"])]


def outdated_files(root: Path) -> dict[str, str]:
    """The expected text of each outdated generated file, by path."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    expected = page(readme, settings.REPOSITORY, bump.current_version(root))
    path = root / PAGE
    has = path.read_text(encoding="utf-8") if path.exists() else None
    return settings.outdated_files(root) | ({} if has == expected else {PAGE: expected})


def main() -> None:
    """Write the outdated files; with --check, list them and exit with 1."""
    texts = outdated_files(bump.ROOT)
    if "--check" in sys.argv:
        sys.exit(f"outdated: {', '.join(texts)}; run make manual" if texts else 0)
    for path, text in texts.items():
        (bump.ROOT / path).write_text(text, encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
