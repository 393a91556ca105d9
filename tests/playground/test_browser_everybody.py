"""Accessibility of the playground: axe-core, sizes of targets, screen readers, copies and print.

`make test-browser` sets it up. axe-core is the script in the package axe-playwright-python; where it is missing the test says so.
"""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import pytest
from browsing import IN_SIGHT, TABS, TEXT, Seen, watched

import toksmith

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# Tokens in the rows are as wide as their text; the ids below choose the same tokens.
AXE = """async (rules) => {
  const options = { runOnly: rules, rules: { 'target-size': { selector: ':not(.rows .t)' } } };
  const found = await axe.run({ exclude: [] }, options);
  return found.violations.map((each) => `${each.impact} ${each.id}: ${each.nodes.slice(0, 2).map((node) => node.html.slice(0, 120)).join(' | ')}`);
}"""
SMALL = """() => [...document.querySelectorAll('button, select, input, summary, textarea, [role=tab], .id')]
  .filter((each) => each.checkVisibility()).map((each) => {
    const box = (each.type === 'checkbox' ? each.closest('label') : each).getBoundingClientRect();
    return [each.outerHTML.slice(0, 100), box.width, box.height];
  }).filter((each) => each[1] < 23.9 || each[2] < 23.9)"""
HEADINGS = "[...document.querySelectorAll('h1, h2, h3, h4')].filter((each) => each.checkVisibility()).map((each) => Number(each.tagName[1]))"
SELECT = """([from, to]) => {
  const at = (place, end) => { const found = document.querySelector(`.rows .t[data-i="${place}"]`); return end ? found.lastChild : found.firstChild; };
  const range = document.createRange();
  range.setStart(at(from, false), 0);
  range.setEnd(at(to, true), at(to, true).length);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}"""
OVERFLOW = "[document.documentElement.scrollWidth, innerWidth]"
ABOVE = "document.querySelector('.rows .t').getBoundingClientRect().bottom <= innerHeight"
SHEET = """() => {
  const card = document.querySelector('.card').getBoundingClientRect();
  const token = document.querySelector('.rows .t.on').getBoundingClientRect();
  return [getComputedStyle(document.querySelector('.card')).position, card.bottom - innerHeight, token.bottom <= card.top + 1];
}"""


def axe_source() -> str:
    """The script of axe-core, from the package that ships it."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("lacks axe-playwright-python; `make test-browser` installs it")
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def open_page(browser: Any, playground: toksmith.types.Playground, **options: Any) -> Any:
    return watched(browser, playground.url, **options)


def open_view(seen: Seen, tab: str) -> None:
    """Open a view, and wait for all of it."""
    seen.tab(tab)
    for _ in range(2):  # a view can send a second request after its first answer
        seen.page.wait_for_timeout(250)
        seen.until("document.querySelector('#busy').hidden && !document.body.classList.contains('busy')")
    if tab == "vocabulary":
        seen.wait("#panel", "Health of")
    if tab == "tokens":
        seen.page.locator(".rows .t[data-i='4']").first.click()
        seen.wait(".card", "merged from")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing(browser: Any, playground: toksmith.types.Playground, width: int, scheme: str) -> None:
    source = axe_source()
    size = {"width": width, "height": 900}
    with open_page(browser, playground, viewport=size, color_scheme=scheme, reduced_motion="reduce") as seen:
        seen.open(text=TEXT)
        seen.page.evaluate(source)
        seen.page.check("input[value=small]")
        for tab in TABS:
            open_view(seen, tab)
            assert seen.page.evaluate(AXE, RULES) == [], tab
            assert seen.page.evaluate(SMALL) == [], tab
            levels = seen.page.evaluate(HEADINGS)
            steps = itertools.pairwise(levels)
            assert levels[0] == 1 and all(after <= before + 1 for before, after in steps), (tab, levels)
            wide, room = seen.page.evaluate(OVERFLOW)
            assert wide <= room, tab


def test_tokens_are_heard_in_words(browser: Any, playground: toksmith.types.Playground) -> None:
    with open_page(browser, playground) as seen:
        seen.open(text=" slow\n\tन")
        names = seen.page.locator(".rows [role=option]").evaluate_all("all => all.map((each) => each.ariaLabel)")
        assert [name.split(", id")[0] for name in names[:6]] == ["space", "s", "l", "o", "w", "new line"]
        assert names[6].startswith("tab, id") and names[7].startswith("byte E0, id")
        assert seen.page.locator(".id").first.get_attribute("aria-label").endswith(", space")
        seen.tab("prompt")
        seen.wait(".answer", "Healed")
        heard = seen.page.locator("#panel [aria-label]").evaluate_all("all => all.map((each) => each.ariaLabel)")
        assert heard and not any(mark in each for each in heard for mark in "·↵→")


def test_copied_tokens_are_their_text(browser: Any, playground: toksmith.types.Playground) -> None:
    with open_page(browser, playground) as seen:
        seen.open(text="a slow\n\tनम egg")
        seen.page.evaluate("document.activeElement.blur()")
        read = "navigator.clipboard.readText()"
        for first, last, copied in ((0, 5, "a slow"), (1, 6, " slow\n"), (7, 9, "\tन"), (8, 8, "न")):
            seen.page.evaluate(SELECT, [first, last])
            seen.page.keyboard.press("Control+c")
            assert seen.page.evaluate(read) == copied
        seen.page.evaluate("getSelection().removeAllRanges()")
        seen.page.locator(".rows .t[data-i='2']").first.click()
        seen.page.evaluate("getSelection().removeAllRanges()")
        seen.page.keyboard.press("Control+c")
        assert seen.page.evaluate(read) == "s"
        seen.page.focus("#text")
        seen.page.keyboard.press("Control+a")
        seen.page.keyboard.press("Control+c")
        assert seen.page.evaluate(read) == "a slow\n\tनम egg", "the box copies as boxes do"


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1200, 760), (720, 450), (640, 400)])
def test_tokens_are_above_the_fold(
    browser: Any, playground: toksmith.types.Playground, width: int, height: int
) -> None:
    """Of a window of 1,440 pixels at 100 % and 200 %, and of 1,280 at 200 %, with two tokenizers."""
    with open_page(browser, playground, viewport={"width": width, "height": height}) as seen:
        seen.open(text=TEXT)
        seen.page.check("input[value=small]")
        seen.wait("#panel", "cut differently")
        seen.page.evaluate("scrollTo(0, 0)")
        seen.until(IN_SIGHT)
        assert seen.page.evaluate(ABOVE)
        text, rows = (seen.page.locator(each).bounding_box() for each in ("#text", ".rows"))
        assert text["x"] + text["width"] <= rows["x"], "they are side by side"


def test_the_card_is_a_sheet_on_a_telephone(browser: Any, playground: toksmith.types.Playground) -> None:
    with open_page(browser, playground, viewport={"width": 390, "height": 844}) as seen:
        seen.open(text=TEXT)
        assert not seen.page.is_visible(".card")
        seen.page.locator(".rows .t[data-i='4']").first.click()
        seen.wait(".card", "merged from")
        position, below, free = seen.page.evaluate(SHEET)
        assert position == "fixed" and abs(below) < 1 and free, "the token is above the sheet"
        seen.page.locator(".card .close").click()
        assert not seen.page.is_visible(".card")
        seen.page.select_option("#view", "budget")
        seen.wait(".answer", "8k")
        assert not seen.page.is_visible(".card")


def test_paper_has_the_text_and_the_view_and_no_controls(browser: Any, playground: toksmith.types.Playground) -> None:
    with open_page(browser, playground, color_scheme="dark") as seen:
        seen.open(text=f"{TEXT}\n" * 30)
        seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        seen.page.emulate_media(media="print")
        assert seen.page.is_visible("#printed") and TEXT.strip()[:10] in seen.words("#printed")
        shown = seen.page.locator("button, select, input, textarea, [role=tab]").evaluate_all(
            "all => all.filter((each) => each.checkVisibility()).length"
        )
        assert shown == 0 and seen.words("#panel h2") == "Tokens" and not seen.page.is_visible(".switch")
        style = seen.page.evaluate("getComputedStyle(document.querySelector('#printed')).unicodeBidi")
        assert style == "plaintext", "each line of the text runs in its direction"
        assert seen.page.locator(".row").count() > 12, "all rows of the page, not only the visible ones"
        assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        seen.page.emulate_media(media="screen")
        seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert not seen.page.is_visible("#printed")
        assert seen.page.pdf(format="A4").startswith(b"%PDF")


def test_forced_colours_keep_cuts_and_choices(browser: Any, playground: toksmith.types.Playground) -> None:
    with open_page(browser, playground, forced_colors="active") as seen:
        seen.open(text=TEXT)
        style = "([selector, name]) => getComputedStyle(document.querySelector(selector))[name]"
        assert seen.page.evaluate(style, [".rows .t.s", "borderLeftStyle"]) == "solid"
        chosen, other = (
            seen.page.evaluate(style, [f"#tabs [aria-selected={on}]", "backgroundColor"]) for on in ("true", "false")
        )
        assert chosen != other


def exports() -> dict[str, str]:
    """Each kind of page that the library writes, with right-to-left text."""
    tok = toksmith.train([TEXT * 9, "نص عربي"], 290, progress=False)
    text = f"{TEXT}\nنص عربي a"
    folder = toksmith.explain.folder(tok, {"a.txt": text, "b/Cargo.lock": TEXT})
    compared = toksmith.compare({"own": tok, "other": tok}, {"en": TEXT, "ar": "نص عربي"})
    return {
        "text": toksmith.explain.text(tok, text).to_html(),
        "merges": toksmith.explain.merges(tok, " lowest").to_html(),
        "folder": folder.to_html(),
        "compare": compared.to_html(),
        "snapshot": toksmith.snapshot(tok, text).html,
        "notebook": f"<html lang=en><title>a</title><main><h1>a</h1>{toksmith.explain.text(tok, text)._repr_html_()}",
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["text", "merges", "folder", "compare", "snapshot", "notebook"])
def test_axe_finds_nothing_in_exports(browser: Any, name: str, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 390, "height": 844}, bypass_csp=True)
    page = context.new_page()
    page.set_content(exports()[name])
    page.evaluate(axe_source())
    assert page.evaluate(AXE, RULES) == []
    assert page.locator("h1").count() == 1
    if name in ("text", "snapshot", "notebook"):
        whole = page.get_by_text("نص عربي", exact=False).first
        assert whole.is_visible(), "the letters are joined in the whole text above the tokens"
    context.close()
