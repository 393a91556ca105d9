"""Snapshots in a real headless Chromium, by mouse and by keyboard; `make test-browser` sets it up.

Every page loads only itself, and no script complains.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import CONTRAST, NAMED, SHOTS
from processors import LIMIT_S
from test_playground_snapshot import HOSTILE, LARGE, SMALL, TEXT, UNIGRAM

import toksmith
from toksmith import explain

LIVE = ".unseen"


class Opened:
    """A page opened from a file, with its requests and its complaints."""

    def __init__(self, context: Any, path: Path) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(1000 * LIMIT_S)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.as_uri())
        self.url = path.as_uri()

    def words(self, selector: str) -> str:
        return str(self.page.locator(selector).first.inner_text())

    def focused(self) -> str:
        return str(self.page.evaluate("document.activeElement.dataset.i ?? document.activeElement.id"))


Open = Callable[..., Opened]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a snapshot, or any HTML, in a separate window."""
    pages: list[Opened] = []
    contexts = []

    def open(made: toksmith.types.Snapshot | str, width: int = 1440, **options: Any) -> Opened:
        path = tmp_path / f"{len(pages)}.html"
        path.write_text(made if isinstance(made, str) else made.html, encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **options))
        pages.append(Opened(contexts[-1], path))
        return pages[-1]

    yield open
    for each in pages:
        assert each.requests == [each.url]
        assert each.complaints == []
    for context in contexts:
        context.close()


def test_pointer_and_keys_show_the_card_of_a_token(opened: Open) -> None:
    seen = opened(toksmith.snapshot(LARGE, " goose lays low"))
    tree = explain.token(LARGE, LARGE.encode(" goose lays low")[0])
    root = tree.nodes[tree.roots[0]]
    assert root.left is not None
    seen.page.locator(".t[data-i='0']").hover()
    said = seen.words(".card")
    assert all(
        each in said
        for each in (str(tree.id), tree.token.hex(" ").upper(), str(root.rank), str(tree.nodes[root.left].id))
    )
    seen.page.mouse.move(2, 2)
    assert "Point at a token" in seen.words(".card")
    seen.page.locator(".t[data-i='0']").focus()
    seen.page.keyboard.press("ArrowRight")
    assert seen.focused() == "1" and "token 2 of" in seen.page.text_content(LIVE)
    seen.page.keyboard.press("End")
    assert seen.focused() == str(LARGE.count(" goose lays low") - 1)
    seen.page.keyboard.press("ArrowRight")
    seen.page.keyboard.press("Home")
    assert seen.focused() == "0"
    assert seen.page.locator("[aria-selected=true]").count() == seen.page.locator(".text [tabindex='0']").count() == 1
    seen.page.keyboard.press("Enter")
    assert "merge 1 of" in seen.words(".player") and seen.focused().endswith("step")


def test_lines_are_walked_by_keys(opened: Open) -> None:
    seen = opened(toksmith.snapshot(SMALL, "low lower\nslow slower\nन egg"), width=390)
    seen.page.locator(".t[data-i='0']").focus()
    tops = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        tops.append(seen.page.evaluate("document.activeElement.getBoundingClientRect().top"))
        seen.page.keyboard.press(key)
    assert tops == sorted({*tops})
    assert seen.page.evaluate("document.activeElement.getBoundingClientRect().top") < tops[-1] + 1


def test_merges_equal_the_library(opened: Open) -> None:
    seen = opened(toksmith.snapshot(LARGE, " slowest नमन"))
    steps = explain.merges(LARGE, " slowest")
    seen.page.locator(".t[data-i='0']").click()
    seen.page.click("text=Play its merges")
    for number, step in enumerate(steps.steps, 1):
        assert f"merge {number} of {len(steps.steps)}" in seen.words(".said")
        ids = seen.page.locator(".symbol small").all_inner_texts()
        assert ids == [str(symbol.id) for symbol in step.symbols]
        ranks = seen.page.locator(".pair:not(.none)").all_inner_texts()
        assert ranks == [f"{candidate.rank:,}" for candidate in step.candidates]
        assert seen.words(".pair.chosen") == f"{step.chosen.rank:,}"
        seen.page.click("[aria-label=Step]")
    assert f"ids: {' '.join(map(str, steps.ids))}" in seen.words(".player")
    seen.page.click("[aria-label='First step']")
    seen.page.get_by_role("button", name="Play", exact=True).click()
    seen.page.wait_for_function("() => true")
    seen.page.locator(".said", has_text="2 of").wait_for()
    seen.page.click("text=Pause")
    seen.page.get_by_label("Piece").select_option("1")
    assert seen.page.locator(".symbol").count() == len(explain.merges(LARGE, " नमन").steps[0].symbols)


def test_nothing_plays_by_itself_where_less_motion_is_requested(opened: Open) -> None:
    seen = opened(toksmith.snapshot(LARGE, " slowest"), reduced_motion="reduce")
    assert seen.page.get_by_role("button", name="Play", exact=True).is_disabled()


def test_the_slice_is_searched(opened: Open) -> None:
    seen = opened(toksmith.snapshot(LARGE, "low", vocabulary=10**6))
    for by, query in (("text", "lo"), ("text", "न"), ("bytes", "6f 77"), ("bytes", "e0 ?? a8"), ("id", "256-260")):
        seen.page.get_by_label("Search by").select_option(by)
        seen.page.get_by_label("for", exact=True).fill(query)
        found = explain.search(LARGE, query, by=by)  # type: ignore[arg-type]
        assert seen.page.locator(".answer tbody td:first-child").all_inner_texts() == [
            str(each.id) for each in found.found
        ]
        assert f"{len(found.found)} token" in seen.page.text_content(LIVE)
    for by, query, said in (("bytes", "x", "hex digits"), ("id", "low", "such as 318"), ("text", "zz", "0 tokens")):
        seen.page.get_by_label("Search by").select_option(by)
        seen.page.get_by_label("for", exact=True).fill(query)
        assert said in seen.words(".answer")
    seen.page.locator(".t[data-i='0']").click()
    seen.page.locator(".card button.link").last.click()
    assert seen.page.locator(".answer tbody tr").count() == 1


def test_several_tokenizers_have_their_own_merges_and_vocabularies(opened: Open) -> None:
    seen = opened(toksmith.snapshot({"small": SMALL, "unigram": UNIGRAM, "large": LARGE}, TEXT))
    assert seen.page.locator(".text").count() == 3
    seen.page.get_by_label("Tokenizer").first.select_option("large")
    assert seen.page.get_by_label("Tokenizer").last.input_value() == "2"
    before = seen.words(".answer")
    seen.page.get_by_label("Tokenizer").first.select_option("unigram")
    assert "does not merge" in seen.words(".unplayed") and not seen.page.locator(".player").is_visible()
    assert seen.words(".answer") != before
    last = seen.page.locator(".text").nth(1).locator(".t").last
    last.click()
    assert "unigram" in seen.words(".card") and "Play its merges" not in seen.words(".card")
    last.focus()
    seen.page.keyboard.press("ArrowLeft")
    assert seen.page.locator(".text [tabindex='0']").count() == 3, "the tabulator key reaches each text"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_is_executed(opened: Open, text: str | bytes) -> None:
    seen = opened(toksmith.snapshot(SMALL, text, pieces=[text], vocabulary=100))
    seen.page.on("dialog", lambda dialog: seen.complaints.append(dialog.message))
    count = len(SMALL.encode(text, special="text"))
    assert len({*seen.page.locator("[data-i]").evaluate_all("all => all.map((each) => each.dataset.i)")}) == count
    if count:
        seen.page.locator("[data-i='0']").first.click()
        assert str(SMALL.encode(text, special="text")[0]) in seen.words(".card")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_a_page_is_readable_in_both_schemes_and_in_narrow_windows(opened: Open, scheme: str, width: int) -> None:
    made = toksmith.snapshot({"small": SMALL, "large": LARGE}, f"{TEXT}{'x' * 200} {TEXT * 20}", special="allow")
    seen = opened(made, width, color_scheme=scheme)
    seen.page.locator(".t[data-i='3']").first.click()
    assert seen.page.evaluate(CONTRAST) == []
    assert seen.page.evaluate(NAMED) == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.page.locator("[aria-live], [role=status], [role=alert]").count() == 1
    dark = seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"
    assert dark == (scheme == "dark")
    bottom = seen.page.locator(".card").bounding_box()
    assert bottom["y"] + bottom["height"] <= 900, "the card is in sight"


def test_a_page_prints_its_tokens(opened: Open) -> None:
    seen = opened(toksmith.snapshot(LARGE, TEXT), color_scheme="dark")
    seen.page.emulate_media(media="print", color_scheme="dark")
    assert seen.page.locator(".t").first.is_visible() and seen.page.locator(".symbols").is_visible()
    assert not seen.page.locator(".card, .controls, .vocabulary").first.is_visible()
    page = seen.page.evaluate("getComputedStyle(document.querySelector('.toksmith-snapshot')).backgroundColor")
    assert page == "rgb(255, 255, 255)"
    assert seen.page.evaluate(CONTRAST) == []


def test_tokens_are_visible_without_scripts(opened: Open) -> None:
    seen = opened(toksmith.snapshot(LARGE, TEXT), java_script_enabled=False)
    assert seen.page.locator(".tokens .t").first.is_visible()
    assert not seen.page.locator(".merges").is_visible() and not seen.page.locator(".vocabulary").is_visible()


HOST = """<!DOCTYPE html><html lang="en" style="color-scheme: dark"><head><meta charset="utf-8"><title>host</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; {policy}">
</head><body bgcolor="#15171a"><h2 class="title">Host</h2><p class="body">x</p>{parts}</body></html>"""


def test_several_fragments_are_in_one_page(opened: Open) -> None:
    made = [
        toksmith.snapshot({name: tok}, TEXT, title=name, fragment=True)
        for name, tok in (("small", SMALL), ("large", LARGE))
    ]
    seen = opened(HOST.format(policy=made[0].policy, parts="".join(each.html for each in made)))
    ids = seen.page.locator("[id]").evaluate_all("all => all.map((each) => each.id)")
    assert len(ids) == len({*ids}) > 5
    for place, tok in enumerate((SMALL, LARGE)):
        part = seen.page.locator(".toksmith-snapshot").nth(place)
        part.locator("[data-i='1']").first.click()
        assert str(tok.encode(TEXT, special="text")[1]) in part.locator(".card").inner_text()
        assert part.get_by_label("Step", exact=True).last.is_visible()
        background = part.evaluate("each => getComputedStyle(each).backgroundColor")
        assert background == "rgb(21, 23, 26)", "the scheme is that of the page"
    assert seen.page.locator("h2.title").evaluate("each => getComputedStyle(each).fontSize") == "24px"
    assert seen.page.evaluate(CONTRAST) == []


FABLE = "A countryman has a goose that lays a golden egg every day.\n한 시골 사람에게 매일 황금알을 낳는 거위가 있다.\n"


@pytest.mark.parametrize("shot", ["snapshot", "snapshot-narrow"])
def test_screenshots(opened: Open, shot: str, vocab_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes the pictures of the guide; with TOKSMITH_PICTURES=1 the committed ones."""
    monkeypatch.setenv("TOKSMITH_CACHE", str(vocab_dir))
    narrow = shot == "snapshot-narrow"
    made = toksmith.snapshot("cl100k_base", FABLE, title="A goose and its tokens")
    seen = opened(made, 390 if narrow else 1100, color_scheme="dark" if narrow else "light")
    seen.page.locator("[data-i='1']").first.click()
    seen.page.click("text=Play its merges")
    for _ in range(5):
        seen.page.click("[aria-label=Step]")
    seen.page.get_by_label("for", exact=True).fill("egg")
    folder = SHOTS if os.environ.get("TOKSMITH_PICTURES") else tmp_path
    path = folder / f"playground-{shot}.png"
    seen.page.screenshot(path=path, full_page=True)
    assert path.stat().st_size > 10_000
