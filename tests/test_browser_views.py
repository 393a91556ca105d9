"""Every view of the playground in a real Chromium: with every tokenizer, after one of them is removed, and on every kind of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browsing import TABS, TEXT, Seen, tokenizers, watched

import toksmith

NAMES = ("bytes", "small", "medium", "large")
# What a view says when it has its answer, where it does not say the same for all tokenizers.
FILLED = {"merges": ("#piece", "low"), "forest": ("#field-id", "108"), "vocabulary": ("#field-query", "l")}


@pytest.fixture(scope="module")
def toks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, toksmith.Tokenizer]:
    return tokenizers(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def playground(toks: dict[str, toksmith.Tokenizer]) -> Iterator[toksmith.Playground]:
    with toksmith.play(toks) as running:
        yield running


@pytest.fixture
def seen(browser: Any, playground: toksmith.Playground) -> Iterator[Seen]:
    with watched(browser, playground.url) as seen:
        yield seen


def choose(seen: Seen, name: str) -> None:
    """Ask the view in sight about one of the tokenizers that are compared."""
    choice = seen.page.locator("#panel .which select")
    if choice.is_visible():
        choice.select_option(label=name)


def check_view(seen: Seen, tab: str, name: str) -> None:
    """The view in sight has an answer about a tokenizer."""
    if tab in FILLED:
        seen.page.fill(*FILLED[tab])
    seen.page.wait_for_load_state("networkidle")
    seen.until("!document.querySelector('#panel .busy')")
    answer = "#panel .answer, #panel .player, #panel .rows"
    seen.until("selector => (document.querySelector(selector)?.innerText ?? '').trim() !== ''", answer)
    assert seen.page.locator("#panel .bad:visible").count() == 0, (tab, name, seen.words("#panel"))
    if tab == "tokens":
        seen.wait("#panel .ids-caption", f"Ids of {name}")


def test_every_view_answers_for_every_tokenizer_and_after_one_is_removed(seen: Seen) -> None:
    seen.open(text=TEXT)
    for name in NAMES[1:]:
        seen.page.check(f"input[value={name}]")
    for tab in TABS:
        seen.tab(tab)
        for name in NAMES:
            choose(seen, name)
            check_view(seen, tab, name)
    for tab in TABS:
        seen.tab(tab)
        choose(seen, "large")
        seen.page.uncheck("input[value=small]")
        for name in ("large", "medium", "bytes"):
            choose(seen, name)
            check_view(seen, tab, name)
        seen.page.check("input[value=small]")


def test_the_answers_are_those_of_the_tokenizer_that_is_chosen(seen: Seen, toks: dict[str, toksmith.Tokenizer]) -> None:
    seen.open(text="slowest low <|end|>")
    for name in NAMES[1:]:
        seen.page.check(f"input[value={name}]")
    seen.tab("specials")
    for name in NAMES:
        choose(seen, name)
        total = toks[name].count("slowest low <|end|>")
        seen.wait(".answer", f"As plain text: {total} token")
    seen.tab("tokens")
    seen.page.locator(".rows .t[data-w='2']").first.click()
    seen.page.get_by_role("button", name="Play its merges").click()
    steps = toksmith.explain.merges(toks["medium"], "slowest")
    seen.wait(".player", f"1 of {len(steps.steps) + 1}")
    assert seen.page.locator("#panel .which select").evaluate("each => each.selectedOptions[0].label") == "medium"
