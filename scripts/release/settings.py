"""The settings of a release that only its owners can make. An empty one is unset, and `make release-check` lists it.

`make manual` writes them to the files of `COPIES` and to the page of the package.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

# The repository on the web, without a slash at the end; every other URL of the project follows from it.
REPOSITORY = ""
# The documentation site, optional: without an address its pages are the same, but have no site map.
SITE = ""


class Copy(NamedTuple):
    """A file that repeats the repository's URL: the line before the copy, and the lines made from the URL."""

    path: str
    behind: str
    lines: Callable[[str], tuple[str, ...]]


COPIES = (
    Copy(
        "pyproject.toml",
        "# The URLs of the project: scripts/release/settings.py has them, and `make manual` writes them here.\n",
        lambda url: (
            "[project.urls]",
            f'Repository = "{url}"',
            f'Documentation = "{url}/tree/main/docs"',
            f'Changelog = "{url}/blob/main/CHANGELOG.md"',
            f'Issues = "{url}/issues"',
        ),
    ),
    Copy(
        "crates/core/Cargo.toml",
        "# The repository: scripts/release/settings.py has it.\n",
        lambda url: (f'repository = "{url}"',),
    ),
)


def unset_settings() -> list[str]:
    """One line for each setting that the owners have not made."""
    return [] if REPOSITORY else ["REPOSITORY in scripts/release/settings.py: the URL of the repository"]


def with_url_lines(text: str, copy: Copy, url: str) -> str:
    """The text of a file with the lines for a URL, in place of the lines for an earlier URL.

    Raises:
        ValueError: The line before them is missing.
    """
    head, mark, rest = text.partition(copy.behind)
    if not mark:
        raise ValueError(f"{copy.path}: has no line {copy.behind.strip()!r}; put it back")
    lines = rest.split("\n")
    keys = [line.split("=")[0].split('"')[0] for line in copy.lines("")]
    while lines and lines[0] and lines[0].split("=")[0] in keys:
        lines.pop(0)
    return head + mark + "\n".join([*(copy.lines(url) if url else ()), *lines])


def outdated_files(root: Path, url: str = REPOSITORY) -> dict[str, str]:
    """The expected text of each outdated file, by path."""
    texts = {copy.path: (root / copy.path).read_text(encoding="utf-8") for copy in COPIES}
    expected = {copy.path: with_url_lines(texts[copy.path], copy, url) for copy in COPIES}
    return {path: text for path, text in expected.items() if text != texts[path]}
