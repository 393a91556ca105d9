"""A page in a real headless Chromium, for the tests of pages: the browser, a playground, and a recorder of a page.

Every test of the playground checks general rules of its page: no request leaves this machine, no script reports an
error, and the page has at most 3,000 nodes. The fixture `browser` is in conftest.py.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from processors import LIMIT_S, until
from systems import lacking

import toksmith

api = pytest.importorskip("playwright.sync_api", reason="lacks playwright; `make test-browser` installs it")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("TOKSMITH_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
if CHROMIUM is None:
    pytest.skip("lacks Chromium; `make test-browser` installs Debian's", allow_module_level=True)

CORPUS = "low lower lowest slow slower slowest नमस्ते नमन 낮은 낮다 12345 12345 the goose lays a golden egg " * 3
TEXT = "slow goose\n\tनम 낮은 <|end|> egg  "
MOST_NODES = 3000
STATIC = Path(toksmith.__file__).parent / "_playground" / "static"


def tokenizers(folder: Path) -> dict[str, toksmith.Tokenizer]:
    """Tokenizers of several sizes; the largest as ranks, which look up whole pieces."""
    sizes = {"bytes": 0, "small": 15, "medium": 30, "large": 60, "spare": 5}
    options: dict[str, Any] = {"special_tokens": ["<|end|>"], "progress": False}
    made = {name: toksmith.train(CORPUS, merges=merges, **options) for name, merges in sizes.items()}
    ranks = folder / "large.tiktoken"
    made["large"].save(ranks, allow_loss=["metadata"])
    made["large"] = toksmith.load(ranks, pattern="o200k", special_tokens=made["large"].special_tokens)
    return made


@contextlib.contextmanager
def launched() -> Iterator[Any]:
    """A running Chromium."""
    with api.sync_playwright() as playwright:
        # Chromium cannot build a sandbox as root.
        arguments = ["--no-sandbox"] if lacking("permissions") else []
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield running
        running.close()


class Seen:
    """A page with a record of its requests, errors and use."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.stopped: set[str] = set()  # requests that the policy stopped before they went out
        page.set_default_timeout(1000 * LIMIT_S)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("requestfailed", lambda failed: self.stopped.add(failed.url) if "csp" in str(failed.failure) else None)
        page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, fragment: str = "", text: str | None = TEXT) -> Seen:
        self.page.goto(f"{self.url}#{fragment}" if fragment else self.url)
        self.until("document.querySelector('#counts').textContent.includes('token')")
        for name in ("more", "more-text"):  # what the first screen folds away
            if self.page.locator(f"#{name}[aria-expanded=false]").is_visible():
                self.page.click(f"#{name}")
        if text is not None:
            self.type(text)
        return self

    def type(self, text: str) -> None:
        """Enter a text into the box, and wait for its tokens."""
        self.page.fill("#text", text)
        self.settle(len(text))

    def settle(self, chars: int) -> None:
        said = f"{chars:,} character"
        self.until("said => document.querySelector('#counts').textContent.includes(said)", said)

    def until(self, true: str, given: Any = None) -> None:
        """Wait until an expression of the page is true; polled from here, as the page's policy allows no `eval`."""
        until(
            lambda: self.page.evaluate(true, given), f"{true} {given!r}", pause=lambda: self.page.wait_for_timeout(25)
        )

    def tab(self, name: str) -> None:
        """Choose a view by its tab, or in a narrow window from the list."""
        if self.page.is_visible("#view"):
            self.page.select_option("#view", name)
        else:
            if not self.page.is_visible(f"#tab-{name}"):
                self.page.evaluate(f"document.querySelector('#tab-{name}').click()")
                return
            self.page.click(f"#tab-{name}")

    def words(self, selector: str) -> str:
        return str(self.page.inner_text(selector))

    def wait(self, selector: str, said: str) -> None:
        """Wait until an element has this text."""
        found = "([selector, said]) => document.querySelector(selector)?.innerText.includes(said)"
        self.until(found, [selector, said])

    def live(self, said: str) -> None:
        self.until("said => document.querySelector('#live').textContent.includes(said)", said)

    def nodes(self) -> int:
        return int(self.page.evaluate("document.querySelectorAll('*').length"))

    def drawn(self, which: int = 0) -> list[str]:
        """The visible tokens in order, each with everything that is drawn for it."""
        return [str(each) for each in self.page.evaluate(DRAWN, which)]


DRAWN = """which => {
  const found = new Map();
  for (const each of document.querySelectorAll(`.rows .t[data-w="${which}"]`)) found.set(Number(each.dataset.i), each.getAttribute('aria-label') ?? found.get(Number(each.dataset.i)));
  return [...found].sort((a, b) => a[0] - b[0]).map((each) => each[1]);
}"""


@contextlib.contextmanager
def watched(browser: Any, url: str, *, most_nodes: int = MOST_NODES, **options: Any) -> Iterator[Seen]:
    """A page of a playground, checked against the general rules."""
    viewport = {"width": 1200, "height": 900}
    context = browser.new_context(
        **{"viewport": viewport, "permissions": ["clipboard-read", "clipboard-write"], **options}
    )
    seen = Seen(context.new_page(), url)
    yield seen
    assert [asked for asked in seen.requests if not asked.startswith((url, "blob:"))] == []
    assert [said for said in seen.complaints if "status of 400" not in said] == []
    assert seen.nodes() <= most_nodes
    context.close()


SHOTS = ROOT / "docs" / "pictures"
# The views by name, in the order of their tabs: the rows of static/views.js.
TABS = tuple(
    name.strip()
    for names in re.findall(r"^  \['[^']+', \[([\w, ]+)\]\],$", (STATIC / "views.js").read_text("utf-8"), re.MULTILINE)
    for name in names.split(",")
)
PUT = """(text) => {
  const box = document.querySelector('#text');
  box.value = text;
  box.dispatchEvent(new Event('input'));
}"""
LONG_TASKS = """() => {
  window.tasks = [];
  new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((each) => each.duration))).observe({ type: 'longtask' });
}"""
PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData('text/plain', text);
  const box = document.querySelector('#text');
  box.focus();
  box.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
}"""
IN_SIGHT = """() => {
  const rows = document.querySelector('.rows').getBoundingClientRect();
  return [...document.querySelectorAll('.rows .row')].some((row) => { const at = row.getBoundingClientRect(); return at.top < rows.bottom && at.bottom > rows.top; });
}"""
CONTRAST = """() => {
  const luminance = (rgb) => rgb.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const parse = (color) => { const found = color.match(/[\\d.]+/g).map(Number); return found.length < 4 ? [...found, 1] : found; };
  const behind = (element) => { for (let at = element; at; at = at.parentElement) { const color = parse(getComputedStyle(at).backgroundColor); if (color[3] === 1) return color; } return [255, 255, 255, 1]; };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility({ visibilityProperty: true }) || element.closest('.unseen, noscript, :disabled, option, .tokenizer:has(:disabled)')) continue;
    const one = luminance(parse(getComputedStyle(element).color)), other = luminance(behind(element));
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) bad.push(`${element.tagName}.${element.className} ${walker.currentNode.textContent.trim().slice(0, 20)}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(bad)];
}"""
TICKS = """() => {
  const probe = document.body.appendChild(document.createElement('i'));
  const hex = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color.match(/\\d+/g).map(Number);
  };
  const luminance = (color) => color.map((value) => value / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  const edges = ['--tick', '--alone', '--accent'].flatMap((edge) => ['--c0', '--c1', '--c2', '--c3', '--c4', '--page'].map((name) => ratio(luminance(hex(edge)), luminance(hex(name)))));
  return Math.min(...edges, ratio(luminance(hex('--line')), luminance(hex('--page'))));
}"""
NAMED = """() => [...document.querySelectorAll('button, input, select, textarea, [role=tab], [role=option], [role=listbox], [role=tabpanel]')].filter((each) => each.checkVisibility()).filter((each) => {
  const labels = each.labels?.length ? [...each.labels].map((label) => label.innerText).join(' ') : '';
  const by = (each.getAttribute('aria-labelledby') ?? '').split(' ').map((id) => document.getElementById(id)?.innerText ?? '').join('');
  return !(labels || by || each.getAttribute('aria-label') || each.innerText || each.title).trim();
}).map((each) => each.outerHTML.slice(0, 100))"""
