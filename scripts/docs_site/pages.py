"""The page of each document of the repository: the table of the site's sections, in the order of its navigation."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

__all__ = ["API", "COMMAND_LINE", "ROOT", "SECTIONS", "Page", "pages", "place_of"]

ROOT = Path(__file__).resolve().parent.parent.parent

# These words as the source of a row stand for the pages that `api` and `commands` write.
API, COMMAND_LINE = "the docstrings", "the commands"

# Documents outside docs/ with another page name.
PLACES = {
    "ARCHITECTURE.md": "architecture/index.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "LICENSE": "licence.md",
    "docs/playground.md": "guides/playground.md",  # playground/ is the page itself
}


class Page(NamedTuple):
    """One page: the section of the navigation, its title there, the document, and the path of its Markdown on the site."""

    section: str
    title: str
    source: str
    place: str


# By section, the title in the navigation of each path or pattern of paths; "": their own title.
SECTIONS: dict[str, dict[str, str]] = {
    "Start": {
        "README.md": "What toksmith is",
        "docs/tour.md": "The tour",
        "docs/coming-from.md": "Coming from another library",
    },
    "Lesson": {"docs/lesson/README.md": "The lesson", "docs/lesson/[0-9]*.md": ""},
    "Guides": {
        "docs/guides/README.md": "All guides",
        "docs/guides/*.md": "",
        "docs/study.md": "Study vocabulary sizes",
        "docs/graft.md": "Give a model another tokenizer",
        "docs/corpus.md": "From a corpus to shards",
        "docs/playground.md": "The playground",
        "docs/shell.md": "The command line",
    },
    "Python": {API: ""},
    "Commands": {COMMAND_LINE: ""},
    "Rules and files": {
        "docs/spec.md": "The specification",
        "docs/steps.md": "Steps of tokenizer.json",
        "docs/format.md": "The native file",
        "docs/sinks.md": "Formats of shards",
        "docs/buffers.md": "Flat buffers",
    },
    "Measured": {
        "docs/perf.md": "Speed and memory",
        "docs/robustness.md": "Robustness",
        "docs/proofs.md": "Proofs",
        "docs/clients.md": "Other libraries' tests",
    },
    "Project": {
        "ARCHITECTURE.md": "Architecture",
        "docs/architecture/*.md": "",
        "CONTRIBUTING.md": "How to contribute",
        "CHANGELOG.md": "Changes",
        "docs/versions.md": "Versions",
        "docs/releases/*.md": "",
        "SECURITY.md": "Security",
        "CODE_OF_CONDUCT.md": "Code of conduct",
        "LICENSE": "Licence",
    },
}


def place_of(source: str) -> str:
    """The path of a repository file on the site: `docs/guides/README.md` is `guides/index.md`."""
    if source in PLACES:
        return PLACES[source]
    path = PurePosixPath(source.removeprefix("docs/"))
    if path.suffix != ".md":
        return path.as_posix()
    name = "index.md" if path.name == "README.md" else path.name.lower()
    return path.with_name(name).as_posix()


def pages(root: Path = ROOT) -> list[Page]:
    """Every page of a document of the repository, in the order of the navigation.

    Raises:
        SystemExit: A document of docs/ has no row.
    """
    pages_by_source: dict[str, Page] = {}
    for section, rows in SECTIONS.items():
        for pattern, title in rows.items():
            for source in sources(root, pattern):
                page_title = title or title_of((root / source).read_text(encoding="utf-8"))
                pages_by_source.setdefault(source, Page(section, page_title, source, place_of(source)))
    documents = {path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")}
    if missing := sorted(documents - pages_by_source.keys()):
        raise SystemExit(f"{missing[0]} has no place on the site; add a row to SECTIONS in scripts/docs_site/pages.py")
    return [*pages_by_source.values()]


def sources(root: Path, pattern: str) -> list[str]:
    """The matching documents, in the order of the numbers in their names; `10-code` follows `9-languages`."""
    matching = [path.relative_to(root).as_posix() for path in root.glob(pattern)]
    return sorted(
        matching, key=lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path)]
    )


def title_of(text: str) -> str:
    """The first heading of a document, without markup."""
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    if heading is None:
        raise SystemExit(f"a document without a title begins with {text[:40]!r}; expected a line '# TITLE'")
    return re.sub(r"[`*]", "", heading[1]).strip()
