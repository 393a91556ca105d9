"""Which document of the repository is which page of the site: the table of its sections, in the order of its navigation."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

__all__ = ["API", "COMMAND_LINE", "ROOT", "SECTIONS", "Page", "pages", "place_of"]

ROOT = Path(__file__).resolve().parent.parent.parent

# Pages that `api` and `commands` write are listed where these words are the source of a row.
API, COMMAND_LINE = "the docstrings", "the commands"

# Documents outside docs/ whose page has another name.
PLACES = {
    "ARCHITECTURE.md": "architecture/index.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "LICENSE": "licence.md",
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
    """Where a file of the repository is on the site: `docs/guides/README.md` is `guides/index.md`."""
    if source in PLACES:
        return PLACES[source]
    path = PurePosixPath(source.removeprefix("docs/"))
    if path.suffix != ".md":
        return path.as_posix()
    name = "index.md" if path.name == "README.md" else path.name.lower()
    return path.with_name(name).as_posix()


def pages(root: Path = ROOT) -> list[Page]:
    """Every page that a document of the repository is, in the order of the navigation.

    Raises:
        SystemExit: A document of docs/ has no row.
    """
    found: dict[str, Page] = {}
    for section, rows in SECTIONS.items():
        for pattern, title in rows.items():
            for source in sources(root, pattern):
                own = title or title_of((root / source).read_text(encoding="utf-8"))
                found.setdefault(source, Page(section, own, source, place_of(source)))
    documents = {path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")}
    if missing := sorted(documents - found.keys()):
        raise SystemExit(f"{missing[0]} has no place on the site; add a row to SECTIONS in scripts/docs_site/pages.py")
    return [*found.values()]


def sources(root: Path, pattern: str) -> list[str]:
    """The documents that match, in the order of the numbers in their names; `10-code` follows `9-languages`."""
    matching = [path.relative_to(root).as_posix() for path in root.glob(pattern)]
    return sorted(
        matching, key=lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path)]
    )


def title_of(text: str) -> str:
    """The first heading of a document, without its marks."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"a document without a title begins with {text[:40]!r}; expected a line '# TITLE'")
    return re.sub(r"[`*]", "", found[1]).strip()
