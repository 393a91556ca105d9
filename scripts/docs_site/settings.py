"""The settings of the generator: docs/site/zensical.toml, and the values of a build: navigation, URLs, the version.

URLs are those of scripts/release/settings.py. While they are unset, links are relative. A site with an address also has
llms.txt, and the Markdown of each page next to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from release.settings import REPOSITORY, SITE

from .pages import ROOT

__all__ = ["Navigation", "settings"]

BASE = ROOT / "docs" / "site" / "zensical.toml"
MARK = "# What a build knows is written here.\n"
Navigation = Mapping[str, Sequence[tuple[str, str]]]


def settings(navigation: Navigation, version: str | None = None, repository: str = REPOSITORY, site: str = SITE) -> str:
    """The settings of one build; with a version, for a site that has several versions."""
    quoted = json.dumps
    sections = []
    for title, rows in navigation.items():
        pages = ", ".join(f"{{ {quoted(name, ensure_ascii=False)} = {quoted(place)} }}" for name, place in rows)
        sections.append(f"{{ {quoted(title)} = [{pages}] }}")
    lines, tables = [f"nav = [{', '.join(sections)}]"], []
    if repository:
        lines.append(f"repo_url = {quoted(repository)}")
    if site:
        address = "/".join(filter(None, [site.rstrip("/"), version]))
        lines.append(f"site_url = {quoted(address + '/')}")
        tables += ["[project.plugins.llmstxt]", 'full_output = "llms-full.txt"', "[project.plugins.llmstxt.sections]"]
        tables += [f"{quoted(title)} = {quoted([place for _, place in rows])}" for title, rows in navigation.items()]
    if version is not None:
        tables += ["[project.extra.version]", 'provider = "mike"', "alias = true"]
    base = BASE.read_text(encoding="utf-8").replace(MARK, "\n".join(lines) + "\n")
    return "\n".join([base, *tables, ""])
