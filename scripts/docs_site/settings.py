"""The settings of the generator: docs/site/zensical.toml, and what only a build knows: navigation, URLs, the version.

URLs are those of pyproject.toml's `[project.urls]`, Repository and Documentation. While they are unset, pages have no
links to the repository, and no address of their own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .pages import ROOT
from .relative import NOWHERE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Navigation", "settings", "urls"]

BASE = ROOT / "docs" / "site" / "zensical.toml"
MARK = "# What a build knows is written here.\n"
Navigation = Mapping[str, Sequence[tuple[str, str]]]


def urls(root: Path = ROOT) -> dict[str, str]:
    """The project's URLs by name; none while they are unset."""
    with (root / "pyproject.toml").open("rb") as file:
        found: dict[str, str] = tomllib.load(file)["project"].get("urls", {})
    return found


def settings(navigation: Navigation, known: Mapping[str, str], version: str | None = None) -> str:
    """The settings of one build; with a version, those of a site that has several."""
    base = BASE.read_text(encoding="utf-8")
    if base.count(MARK) != 1:
        raise SystemExit(f"{BASE}: expected the line {MARK.strip()!r} once, in the table [project]")
    lines = [f"nav = {nav(navigation)}"]
    lines.append(f"site_url = {json.dumps(address(known, version))}")
    if repository := known.get("Repository"):
        lines.append(f"repo_url = {json.dumps(repository)}")
    tables = ["[project.plugins.llmstxt.sections]"]
    tables += [
        f"{json.dumps(title)} = {json.dumps([place for _, place in rows])}" for title, rows in navigation.items()
    ]
    if version is not None:
        tables += ["[project.extra.version]", 'provider = "mike"', "alias = true"]
    return base.replace(MARK, "\n".join(lines) + "\n") + "\n" + "\n".join(tables) + "\n"


def address(known: Mapping[str, str], version: str | None) -> str:
    """Where the site will be; documents that are read in the repository are no site."""
    site, repository = known.get("Documentation", ""), known.get("Repository", "")
    if not site or (repository and site.startswith(repository)):
        return NOWHERE
    return "/".join(filter(None, [site.rstrip("/"), version])) + "/"


def nav(navigation: Navigation) -> str:
    """The navigation as a value of TOML."""
    sections = []
    for title, rows in navigation.items():
        inner = ", ".join(f"{{ {json.dumps(name, ensure_ascii=False)} = {json.dumps(place)} }}" for name, place in rows)
        sections.append(f"{{ {json.dumps(title)} = [{inner}] }}")
    return f"[{', '.join(sections)}]"
