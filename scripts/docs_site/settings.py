"""The settings of the generator: docs/site/zensical.toml, and what only a build knows: navigation, URLs, the version.

URLs are those of scripts/release/settings.py. While they are unset, pages have no links to the repository, and no address
of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from release.settings import REPOSITORY, SITE

from .pages import ROOT
from .relative import NOWHERE

__all__ = ["Navigation", "settings"]

BASE = ROOT / "docs" / "site" / "zensical.toml"
MARK = "# What a build knows is written here.\n"
Navigation = Mapping[str, Sequence[tuple[str, str]]]


def settings(navigation: Navigation, version: str | None = None, repository: str = REPOSITORY, site: str = SITE) -> str:
    """The settings of one build; with a version, those of a site that has several."""
    base = BASE.read_text(encoding="utf-8")
    if base.count(MARK) != 1:
        raise SystemExit(f"{BASE}: expected the line {MARK.strip()!r} once, in the table [project]")
    lines = [f"nav = {nav(navigation)}"]
    lines.append(f"site_url = {json.dumps(address(site, version))}")
    if repository:
        lines.append(f"repo_url = {json.dumps(repository)}")
    tables = ["[project.plugins.llmstxt.sections]"]
    tables += [
        f"{json.dumps(title)} = {json.dumps([place for _, place in rows])}" for title, rows in navigation.items()
    ]
    if version is not None:
        tables += ["[project.extra.version]", 'provider = "mike"', "alias = true"]
    return base.replace(MARK, "\n".join(lines) + "\n") + "\n" + "\n".join(tables) + "\n"


def address(site: str, version: str | None) -> str:
    """Where the site will be."""
    return "/".join(filter(None, [site.rstrip("/"), version])) + "/" if site else NOWHERE


def nav(navigation: Navigation) -> str:
    """The navigation as a value of TOML."""
    sections = []
    for title, rows in navigation.items():
        inner = ", ".join(f"{{ {json.dumps(name, ensure_ascii=False)} = {json.dumps(place)} }}" for name, place in rows)
        sections.append(f"{{ {json.dumps(title)} = [{inner}] }}")
    return f"[{', '.join(sections)}]"
