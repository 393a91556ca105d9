"""The built documentation site in a real headless Chromium: `make docs-check` builds it and sets this up.

Every page is opened once, narrow and light, then made wide and dark. It must load nothing from another machine, print
nothing on the console, and need no horizontal scrolling.
"""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import CONTRAST
from conftest import ROOT
from docs_site import api
from docs_site.publish import publish
from docs_site.settings import settings
from docs_site.stage import write_file
from processors import LIMIT_S, until

import toksmith

SITE = ROOT / os.environ.get("TOKSMITH_SITE", "build/docs/site")
if not (SITE / "index.html").is_file():
    pytest.skip(f"lacks the built site in {SITE}; `make docs-check` builds it", allow_module_level=True)

# The playground, which is no document, has its tests in tests/playground.
PAGES = sorted(
    {path.relative_to(SITE).as_posix().removesuffix("index.html") for path in SITE.rglob("index.html")}
    - {"playground/"}
)
NARROW, WIDE = 390, 1440


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without logging."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def serve(folder: Path) -> Iterator[str]:
    """The address of a server of the folder, on this machine."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    yield from serve(SITE)


class Opened:
    """A page of the site, with its requests to other machines and its console messages."""

    def __init__(self, browser: Any, address: str, *, width: int = WIDE, scheme: str = "light") -> None:
        self.address = address
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            permissions=["clipboard-read", "clipboard-write"],
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * LIMIT_S)
        self.elsewhere: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", self.note)
        self.page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def note(self, request: Any) -> None:
        """Remember a request to another machine."""
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.elsewhere.append(request.url)

    def open(self, path: str = "") -> Any:
        """Go to a page, and wait for its scripts."""
        self.page.goto(self.address + path, wait_until="load")
        self.until("typeof document$ !== 'undefined'")
        return self.page

    def until(self, true: str, given: Any = None) -> None:
        """Wait until an expression of the page is true."""
        until(
            lambda: self.page.evaluate(true, given), f"{true} {given!r}", pause=lambda: self.page.wait_for_timeout(25)
        )

    def close(self) -> None:
        """Close the page; it must have no requests to other machines and no console messages."""
        self.context.close()
        assert self.elsewhere == []
        assert self.complaints == []


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Opened]:
    made = Opened(browser, address)
    yield made
    made.close()


TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const scrolls = (element) => { for (let at = element; at; at = at.parentElement) if (/auto|scroll|hidden/.test(getComputedStyle(at).overflowX)) return true; return false; };
  return [...document.querySelectorAll('.md-content *')].filter((each) => each.getBoundingClientRect().right > width + 1 && !scrolls(each))
    .map((each) => `${each.tagName}.${each.className} ${each.textContent.slice(0, 40)}`).slice(0, 3).concat(`${document.documentElement.scrollWidth} > ${width}`);
}"""
GROUND = "getComputedStyle(document.body).backgroundColor"
LEVELS = "[...document.querySelectorAll('.md-content :is(h1, h2, h3, h4, h5, h6)')].map((each) => [Number(each.tagName[1]), each.textContent])"
BROKEN = "[...document.images].filter((each) => each.complete && !each.naturalWidth).map((each) => each.src)"


def skipped_levels(headings: list[tuple[int, str]]) -> Iterator[str]:
    """The headings that are more than one level below the one before them."""
    before = 0
    for level, words in headings:
        if level > before + 1:
            yield f"h{level} after h{before}: {words}"
        before = level


@pytest.mark.parametrize("section", sorted({path.partition("/")[0] if "/" in path else "" for path in PAGES}))
def test_every_page_is_readable_narrow_and_wide_in_light_and_dark(browser: Any, address: str, section: str) -> None:
    seen = Opened(browser, address, width=NARROW)
    for path in PAGES:
        if (path.partition("/")[0] if "/" in path else "") != section:
            continue
        page = seen.open(path)
        assert page.evaluate(TOO_WIDE) == [], path
        assert page.evaluate(BROKEN) == [], path
        assert page.locator(".md-content h1").count() == 1, path
        assert [*skipped_levels(page.evaluate(LEVELS))] == [], path
        light = page.evaluate(GROUND)
        page.set_viewport_size({"width": WIDE, "height": 900})
        page.emulate_media(color_scheme="dark")
        seen.until(f"{GROUND} !== '{light}'")
        assert page.evaluate(TOO_WIDE) == [], path
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": NARROW, "height": 900})
    seen.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["", "perf/", "api/tokenizer/", "commands/train/", "lesson/3-training/"])
def test_text_has_enough_contrast(browser: Any, address: str, path: str, scheme: str) -> None:
    seen = Opened(browser, address, scheme=scheme)
    page = seen.open(path)
    page.evaluate(
        "for (const each of document.querySelectorAll('.md-skip, .md-header, .md-tabs, .md-sidebar, .md-footer, .md-top')) each.remove()"
    )
    assert page.evaluate(CONTRAST) == []
    seen.close()


def test_search_finds_special_tokens(opened: Opened) -> None:
    page = opened.open()
    page.click(".md-search__button")
    page.get_by_role("combobox", name="Search").fill("special tokens")
    page.get_by_role("option", name="special tokens", selected=True).wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"://[^/]+/[a-z]"))
    assert "special token" in page.inner_text(".md-content").lower()


def test_a_copied_example_is_what_a_reader_types(opened: Opened) -> None:
    page = opened.open("lesson/")
    block = page.locator(".highlight", has_text="toksmith.train").first
    block.hover()
    block.locator(".md-code__button[data-md-type=copy]").click()
    assert page.evaluate("navigator.clipboard.readText()").splitlines() == [
        "import toksmith",
        'tok = toksmith.train("low lower lowest slow slower slowest", 262)',
        'toksmith.explain.flow(tok, "the slowest").save_svg("flow.svg")',
    ]
    page = opened.open("commands/explain-text/")
    block = page.locator(".highlight", has_text="$ toksmith explain text").first
    block.hover()
    block.locator(".md-code__button[data-md-type=copy]").click()
    assert page.evaluate("navigator.clipboard.readText()") == "toksmith explain text -t gpt2 --text 'Hello, world'"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_views_of_tokens_fit_and_play_inside_of_pages(browser: Any, address: str, scheme: str) -> None:
    shown = [path for path in PAGES if 'class="view"' in (SITE / path / "index.html").read_text(encoding="utf-8")]
    assert {path.partition("/")[0] for path in shown} >= {"lesson", "guides"}
    seen = Opened(browser, address, width=NARROW, scheme=scheme)
    for path in shown:
        page = seen.open(path)
        for place in range(page.locator("iframe.view").count()):
            frame = page.locator("iframe.view").nth(place)
            frame.scroll_into_view_if_needed()
            view = frame.content_frame
            view.locator(".player .said").wait_for()
            view.get_by_label("Last step").click()
            view.get_by_label("Step back").click()
            assert re.search(r"merge \d|the end", view.locator(".said").inner_text()), path
            wide = view.locator("html").evaluate("(root) => root.scrollWidth - root.clientWidth")
            assert wide == 0, path
    view = seen.open("lesson/3-training/").frame_locator("iframe.view").first
    view.get_by_label("Last step").click()
    view.get_by_label("Step back").click()
    assert view.locator(".said").inner_text().endswith("rank 2, of 1 pair.")
    seen.close()


def test_the_reader_chooses_the_colours(opened: Opened) -> None:
    page = opened.open()
    found = [page.evaluate(GROUND)]
    for _ in range(2):
        page.locator("[data-md-component=palette] label:visible").first.click()
        page.wait_for_timeout(300)
        found.append(page.evaluate(GROUND))
    assert found[0] == found[1] != found[2]
    opened.open("tour/")
    assert page.evaluate(GROUND) == found[2]


def test_every_public_name_has_its_anchor() -> None:
    built = "\n".join(path.read_text(encoding="utf-8") for path in (SITE / "api").rglob("*.html"))
    anchors = {*re.findall(r'id="(toksmith[^"]*)"', built)}
    wanted = {f"toksmith.{name}" for name in toksmith.__all__ if name not in {*api.BY_SUBJECT, "ToksmithError"}}
    for module in ("explain", "metrics", *api.BY_SUBJECT):
        wanted |= {f"toksmith.{module}.{name}" for name in getattr(toksmith, module).__all__}
    methods = [name for name in dir(toksmith.Tokenizer) if not name.startswith("_")]
    wanted |= {f"toksmith.Tokenizer.{name}" for name in methods}
    assert wanted - anchors == set()


def build_site(folder: Path, version: str) -> Path:
    """A site of two pages, built with the settings of `make docs-publish`."""
    for name, text in {"index.md": "# Home\n", "tour.md": "# Tour\n"}.items():
        write_file(folder / "pages" / name, text)
    navigation = {"Start": [("Home", "index.md"), ("Tour", "tour.md")]}
    write_file(folder / "zensical.toml", settings(navigation, version, "", "https://docs.invalid/"))
    for part, target in {"assets": "pages/assets", "overrides": "overrides"}.items():
        shutil.copytree(ROOT / "docs" / "site" / part, folder / target)
    subprocess.run(
        [ROOT / ".venv-docs/bin/zensical", "build", "--strict", "--config-file", folder / "zensical.toml"],
        check=True, capture_output=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": "scripts"},
    )  # fmt: skip
    return folder / "site"


@pytest.fixture
def versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of two versions, as a host serves the branch of the published site."""
    repository, folder = tmp_path / "repository", tmp_path / "host"
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A tester")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tester@example.invalid")
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    for version in ("0.9", "0.10"):
        publish(build_site(tmp_path / version, version), version, "pages", repository)
    subprocess.run(["git", "clone", "--quiet", "--branch", "pages", repository, folder], check=True)
    yield from serve(folder)


def test_a_reader_of_an_old_version_finds_the_newest(browser: Any, versions: str) -> None:
    seen = Opened(browser, versions)
    banner = "[data-md-component=outdated]"
    page = seen.page
    page.goto(versions)
    page.wait_for_url("**/latest/")
    seen.until("document.querySelectorAll('.md-version__link').length === 2")
    assert page.locator(".md-version__link").all_text_contents() == ["0.10latest", "0.9"]
    assert page.locator(banner).is_hidden()
    seen.open("0.9/tour/")
    seen.until("document.querySelector('.md-version__current')?.textContent.includes('0.9')")
    seen.until(f"document.querySelector('{banner}').checkVisibility()")
    assert "not the newest version" in page.inner_text(banner)
    page.click(f"{banner} a")
    page.wait_for_url("**/latest/")
    seen.open("0.10/tour/")
    seen.until("document.querySelector('.md-version__current')?.textContent.includes('0.10')")
    assert page.locator(banner).is_hidden()
    page.hover(".md-version")
    page.click(".md-version__link:has-text('0.9')")
    page.wait_for_url("**/0.9/tour/")
    seen.close()
