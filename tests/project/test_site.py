"""The sources of the documentation site: every name and document has a page.

`make docs` builds the site, and tests/project/test_site_pages.py checks the built pages.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from docs_site import api, commands, dialect, pages, settings
from docs_site.cells import cells_of, embed_cell
from docs_site.docstrings import as_markdown
from docs_site.playground import has_engine
from docs_site.publish import publish
from docs_site.snapshots import embed_snapshot
from docs_site.stage import link_document, stage
from release import settings as owned
from systems import needs

import toksmith
from toksmith._cli import COMMANDS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGES = pages.pages()


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    stage(folder)
    return folder


def nav_of(folder: Path) -> list[str]:
    """The paths that the settings list, in order."""
    project = tomllib.loads((folder / "zensical.toml").read_text(encoding="utf-8"))["project"]
    return [place for section in project["nav"] for rows in section.values() for row in rows for place in row.values()]


def test_every_page_is_in_the_navigation_once(staged: Path) -> None:
    listed = nav_of(staged)
    written = {path.relative_to(staged / "pages").as_posix() for path in (staged / "pages").rglob("*.md")}
    assert len(listed) == len({*listed}) and {*listed} == written
    assert listed[0] == "index.md"
    assert listed.index("lesson/9-languages.md") + 1 == listed.index("lesson/10-code-and-data.md")


def test_the_front_page_and_the_lesson_link_to_the_playground_where_it_can_be_built(staged: Path) -> None:
    folder = staged / "pages"
    assert (folder / "playground" / "index.html").is_file() == has_engine() == (folder / "engine").is_dir()
    for path in (folder / "index.md", *(folder / "lesson").glob("*.md")):
        links = re.findall(r"\((?:\.\./)?playground/index\.html[#)]", path.read_text("utf-8"))
        assert bool(links) == has_engine(), path


def test_no_setting_names_another_machine(staged: Path) -> None:
    text = (staged / "zensical.toml").read_text(encoding="utf-8")
    known = tuple(filter(None, [owned.REPOSITORY, owned.SITE]))
    assert all(url.startswith(known) for url in re.findall(r"https?://[^\"\s]+", text))
    project = tomllib.loads(text)["project"]
    assert project["theme"]["font"] is False
    assert "analytics" not in project["extra"]
    assert not re.search(r"https?:|@import", (staged / "pages" / "assets" / "site.css").read_text(encoding="utf-8"))


def test_urls_and_versions_are_settings() -> None:
    pages, repository = {"Start": [("Home", "index.md")]}, "https://code.invalid/toksmith"
    project = tomllib.loads(settings.settings(pages, "0.2", repository, "https://docs.invalid/"))["project"]
    assert project["repo_url"] == repository and project["site_url"] == "https://docs.invalid/0.2/"
    assert project["extra"]["version"] == {"provider": "mike", "alias": True}
    unset = tomllib.loads(settings.settings(pages, None, "", ""))["project"]
    assert "repo_url" not in unset and "site_url" not in unset and "version" not in unset["extra"]
    assert project["plugins"]["llmstxt"]["sections"] == {"Start": ["index.md"]} and "llmstxt" not in unset["plugins"]


def test_every_public_name_is_on_one_page_of_the_api() -> None:
    assert api.table_errors() == []
    text = "\n".join(page for _, _, page in api.api_pages())
    shown = re.findall(r"^::: toksmith\.(\S+)$", text, re.MULTILINE)
    assert len(shown) == len({*shown})
    wanted = {*toksmith.__all__} - {"corpus", "errors", "types", "ToksmithError"}
    for module in ("explain", "metrics", "corpus", "errors", "types"):
        wanted |= {f"{module}.{name}" for name in getattr(toksmith, module).__all__}
    wanted |= {f"compat.{name}" for name in toksmith.compat.__all__} - {"compat.install"} | {"compat._install.install"}
    wanted |= {"compat.tiktoken.Encoding", "reference.training"}
    assert wanted <= {*shown}


def test_a_name_without_a_page_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    area = api.AREAS[0]
    monkeypatch.setattr(api, "AREAS", (area._replace(names="Tokenizer train strange"), *api.AREAS[1:-1]))
    found = api.table_errors()
    assert "toksmith.errors.FormatError is on no page" in found
    assert "toksmith.strange is on a page and is not public" in found
    assert "toksmith.train is on two pages" in found


def test_every_command_has_a_page_with_all_its_options() -> None:
    found = {place: text for place, _, text in commands.command_pages()}
    assert {f"commands/{row.name.replace(' ', '-')}.md" for row in COMMANDS} == {*found} - {"commands/index.md"}
    for row in COMMANDS:
        text = found[f"commands/{row.name.replace(' ', '-')}.md"]
        assert f"$ {row.example}\n" in text and "--help" in text.partition("Options:")[2]
        assert f"]({row.name.replace(' ', '-')}.md)" in found["commands/index.md"]


def test_links_become_those_of_the_site(tmp_path: Path) -> None:
    text = "[`a`](../spec.md#terms) [b](../../README.md) ![c](../pictures/speed.svg) [e](https://e.invalid) [f](#g) "
    text += "[../spec.md](../spec.md) [docs/spec.md](../spec.md) [h](../lesson/) `[i](../spec.md)`"
    known = {page.source: page for page in PAGES}
    assert "".join(link_document(text, "docs/guides/README.md", known, tmp_path)) == (
        "[`a`](../spec.md#terms) [b](../index.md) ![c](../pictures/speed.svg) [e](https://e.invalid) [f](#g) "
        "[The specification](../spec.md) [The specification](../spec.md) [h](../lesson/index.md) `[i](../spec.md)`"
    )
    assert (tmp_path / "pictures" / "speed.svg").is_file()
    for target in ("c.md", "../Makefile"):
        with pytest.raises(SystemExit, match=re.escape(f"docs/spec.md: links to '{target}'")):
            [*link_document(f"[c]({target})", "docs/spec.md", known, tmp_path)]


def test_examples_on_the_site_are_those_of_the_documents(staged: Path) -> None:
    """A block is the document's, but for the mark of an empty line; so the tests of documents run the examples of the site."""
    for page in PAGES:
        if page.source.endswith(".md"):
            own = [
                part.text for part in dialect.parts((ROOT / page.source).read_text(encoding="utf-8")) if part.language
            ]
            text = (staged / "pages" / page.place).read_text(encoding="utf-8")
            shown = [part.text for part in dialect.parts(text) if part.language]
            plain = [re.sub(r"^<BLANKLINE>$", "", block, flags=re.MULTILINE).splitlines()[1:] for block in own]
            assert [block.splitlines()[1:] for block in shown] == plain


def test_text_that_python_markdown_reads_differently_is_changed() -> None:
    text = "Say:\n- one\n- two\n\n<!-- needs: a -->\n```python\n>>> 1\n<BLANKLINE>\n```\n\n| `a\\|b` | c |\n|---|---|\n"
    made = "Say:\n\n- one\n- two\n\n```pycon\n>>> 1\n\n```\n\n| `a|b` | c |\n|---|---|\n"
    assert dialect.site_text(text) == made
    spaced = dialect.site_text("A token ` yes` or ` ` or `a\\n  `, ``b`c`` and `` `d `` and `e\nf`.")
    assert spaced == (
        "A token <code>&#32;yes</code> or <code>&#32;</code> or <code>a&#92;n&#32;&#32;</code>, ``b`c`` and `` `d `` and `e\nf`."
    )
    assert dialect.site_text("<!-- view: x -->\n", lambda comment: f"({comment})\n") == "(<!-- view: x -->)\n"


def test_docstrings_become_markdown() -> None:
    text = "The ids.\n\nArgs:\n    a: One.\nRaises: as `encode`,\n    or not.\nCost: one pass.\n\n>>> f(1)\n<BLANKLINE>\n2\n"
    assert as_markdown(text) == (
        "The ids.\n\nArgs:\n    a: One.\n\n**Raises:** as `encode`,\nor not.\n\n**Cost:** one pass.\n\n"
        "```pycon\n>>> f(1)\n\n2\n```"
    )
    assert (
        as_markdown("A.\n\nRaises:\n    as `encode`; more\n    of it.\n")
        == "A.\n\n**Raises:** as `encode`; more\nof it."
    )
    named = "A.\n\nRaises:\n    UnknownId: no such id."
    assert as_markdown(named) == named
    two = "A.\n\nRaises:\n    UnknownId, ModelError: as\n    `encode`, or so.\nB."
    assert as_markdown(two) == "A.\n\nRaises:\n    UnknownId, ModelError: as\n        `encode`, or so.\nB."
    assert as_markdown("As docs/a/README.md says (`docs/b.md`).\n\n>>> 'docs/b.md'") == (
        "As [`docs/a/README.md`](../a/index.md) says ([`docs/b.md`](../b.md)).\n\n```pycon\n>>> 'docs/b.md'\n```"
    )
    assert as_markdown("A.\n\n>>> 1\n1\n\nB.") == "A.\n\n```pycon\n>>> 1\n1\n```\n\nB."


def test_cells_become_elements_for_the_script() -> None:
    made = embed_cell(r'<!-- cell: tokens(text="a `b` <c>\n" "\"d\"_*", merges=3, pattern=None) -->', "lesson/x.md")
    found = re.fullmatch(r'\n<div class="cell" data-kind="tokens" data-values="([^"<>`*_]+)"></div>\n\n', made)
    assert found and json.loads(html.unescape(found[1])) == {"text": 'a `b` <c>\n"d"_*', "merges": 3, "pattern": None}
    assert 'data-exercise="1"' in embed_cell("<!-- exercise: split(text='a') -->", "lesson/x.md")
    assert embed_cell("<!-- needs: a.txt -->", "lesson/x.md") == ""
    for wrong in ("tokens(", "tokens", "tokens(text=name)", "tokens('a')", "a.b(text='a')"):
        with pytest.raises(SystemExit, match=re.escape(f"lesson/x.md: <!-- cell: {wrong} --> is not a cell")):
            embed_cell(f"<!-- cell: {wrong} -->", "lesson/x.md")


def test_each_cell_of_the_lesson_has_a_kind_and_values_that_the_scripts_know() -> None:
    assets = ROOT / "docs" / "site" / "assets"
    script, figures = ((assets / name).read_text(encoding="utf-8") for name in ("cells.js", "figures.js"))
    kinds = {
        *re.findall(
            r"^    (?:async )?(\w+)(?:\(|: )",
            figures.partition("const KINDS = {")[2].partition("\n  };")[0],
            re.MULTILINE,
        )
    }
    labels = {*re.findall(r"(\w+): \"", script.partition("const LABELS = {")[2].partition("};")[0])}
    settings_of_kinds = {"shows", "unit", "min_count", "most", "form", "names", "files"}
    pages_with_cells = 0
    for path in sorted((ROOT / "docs" / "lesson").glob("*.md")):
        cells = [*cells_of(path.read_text(encoding="utf-8"), path.name)]
        pages_with_cells += bool(cells)
        assert {cell.kind for cell in cells} <= kinds, path.name
        assert {name for cell in cells for name in cell.values} <= labels | settings_of_kinds, path.name
    assert pages_with_cells == 16


def test_cells_have_the_colours_of_the_views_of_tokens() -> None:
    static = Path(toksmith.__file__).parent / "_playground" / "static" / "parts.css"
    colours = [
        dict(re.findall(r"--([\w-]+): (light-dark\([^)]*\))", path.read_text(encoding="utf-8")))
        for path in (ROOT / "docs" / "site" / "assets" / "site.css", static)
    ]
    assert colours[0] and colours[0].items() <= colours[1].items()


def git(repository: Path, *words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True, cwd=repository).stdout


@needs("git")
def test_versions_are_published_into_a_branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A tester")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tester@example.invalid")
    repository, site = tmp_path / "repository", tmp_path / "site"
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch=main")
    (repository / "kept.txt").write_text("kept", encoding="utf-8")
    site.mkdir()
    for version in ("0.9", "0.10", "0.2", "0.9"):
        (site / "index.html").write_text(f"<p>{version}", encoding="utf-8")
        (site / f"only-{version}.html").write_text(version, encoding="utf-8")
        publish(site, version, "pages", repository)
        (site / f"only-{version}.html").unlink()
    listed = git(repository, "ls-tree", "-r", "--name-only", "pages").split()
    versions = [
        f"{version}/{name}" for version in ("0.10", "0.2", "0.9") for name in ("index.html", f"only-{version}.html")
    ]
    assert listed == [
        ".nojekyll",
        *versions,
        "index.html",
        "latest/index.html",
        "latest/only-0.10.html",
        "versions.json",
    ]
    assert json.loads(git(repository, "show", "pages:versions.json")) == [
        {"version": "0.10", "title": "0.10", "aliases": ["latest"]},
        {"version": "0.9", "title": "0.9", "aliases": []},
        {"version": "0.2", "title": "0.2", "aliases": []},
    ]
    assert git(repository, "log", "--format=%s", "pages").splitlines()[0] == "docs: version 0.9"
    assert git(repository, "rev-list", "--count", "pages").strip() == "4"
    assert git(repository, "status", "--porcelain").strip() == "?? kept.txt"
    assert git(repository, "show", "pages:latest/index.html") == "<p>0.10"


class Snapshot:
    """The part of a result of `toksmith.snapshot` that a page needs."""

    def save(self, path: Path) -> None:
        path.write_text("<p>view", encoding="utf-8")


def test_a_page_shows_the_snapshots_that_it_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toksmith, "snapshot", lambda text: Snapshot(), raising=False)
    monkeypatch.setattr(toksmith, "__all__", [*toksmith.__all__, "snapshot"])
    asked = '<!-- snapshot: toksmith.snapshot(\n    "a"\n) -->'
    shown = [embed_snapshot(asked, place, tmp_path) for place in ("lesson/1.md", "lesson/1.md", "lesson/index.md")]
    sources = [re.findall(r'src="([^"]*)"', each) for each in shown]
    assert sources == [["1-view-1.html"], ["1-view-2.html"], ["index-view-1.html"]]
    assert (tmp_path / "lesson" / "index-view-1.html").read_text(encoding="utf-8") == "<p>view"
    assert embed_snapshot("<!-- needs: corpora/a.txt -->", "a.md", tmp_path) == ""
    with pytest.raises(SystemExit, match=r"a\.md: <!-- snapshot: strange -->.*NameError"):
        embed_snapshot("<!-- snapshot: strange -->", "a.md", tmp_path)
    monkeypatch.setattr(toksmith, "__all__", ["train"])
    assert embed_snapshot(asked, "a.md", tmp_path) == ""
