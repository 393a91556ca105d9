"""Files, proposals and the way back in the playground, in a real Chromium."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import IN_SIGHT, PASTE, PUT, Seen, watched

import toksmith

DROP = """(files) => {
  const data = new DataTransfer();
  for (const [name, content] of files) data.items.add(new File([Uint8Array.from(atob(content), (char) => char.charCodeAt(0))], name));
  document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def seen(browser: Any, toks: dict[str, toksmith.Tokenizer]) -> Iterator[Seen]:
    with (
        toksmith.play({"bytes": toks["bytes"], "small": toks["small"]}) as running,
        watched(browser, running.url) as seen,
    ):
        yield seen


def drop(seen: Seen, *files: tuple[str, bytes]) -> None:
    seen.page.evaluate(DROP, [[name, base64.b64encode(data).decode()] for name, data in files])
    seen.page.wait_for_selector("#ask-file[open]")


def test_a_dropped_file_is_a_text_which_can_be_undone(seen: Seen) -> None:
    seen.open(text="before")
    drop(seen, ("egg.md", "a golden नम egg".encode()))
    assert "egg.md" in seen.words("#ask-file")
    seen.page.keyboard.press("Enter")
    seen.settle(15)
    assert seen.page.input_value("#text") == "a golden नम egg"
    seen.page.click("#undo")
    seen.settle(6)
    assert seen.page.input_value("#text") == "before"
    seen.page.click("#clear")
    seen.wait("#counts", "0 tokens")
    seen.page.click("#undo")
    seen.settle(6)
    drop(seen, ("raw.txt", b"low \xff\xfe egg"))
    seen.page.click("text=As a text")
    seen.wait("#banner", "not all UTF-8")
    drop(seen, ("other.txt", b"x"))
    seen.page.click("#ask-file >> text=Cancel")
    assert seen.page.input_value("#text").startswith("low \ufffd")


@pytest.mark.parametrize("name", ["own.toksmith", "tokenizer.json", "own.tiktoken"])
def test_a_dropped_tokenizer_is_loaded(
    seen: Seen, toks: dict[str, toksmith.Tokenizer], tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    toks["medium"].save(path, allow_loss=["metadata", "added_tokens"] if name.endswith("tiktoken") else ())
    seen.open(text="slow goose")
    drop(seen, (name, path.read_bytes()))
    seen.page.click("#ask-file >> text=As a tokenizer")
    if name.endswith("tiktoken"):
        seen.wait("#ask-file", "choose the pattern")
        seen.page.select_option("#pattern", "o200k")
        seen.page.click("#ask-file >> text=As a tokenizer")
    seen.page.wait_for_selector(f"input[value='{name}']:checked")
    seen.until(
        "said => document.querySelector('#counts').textContent.includes(said)",
        f"{name} {toks['medium'].count('slow goose')} token",
    )
    drop(seen, (name, path.read_bytes()))
    seen.page.click("#ask-file >> text=As a tokenizer")
    if name.endswith("tiktoken"):
        seen.wait("#ask-file", "choose the pattern")
        seen.page.click("#ask-file >> text=As a tokenizer")
        seen.wait("#ask-file", "Choose the split pattern first")
        seen.page.select_option("#pattern", "o200k")
        seen.page.click("#ask-file >> text=As a tokenizer")
    seen.page.wait_for_selector(f"input[value='{name} (2)']:checked")


def test_back_and_forward_walk_the_views_and_keep_the_text(seen: Seen) -> None:
    seen.open(text="slow goose " * 20_000)
    seen.tab("forest")
    seen.wait(".answer h3", "Token")
    first = seen.words(".answer h3")
    seen.page.locator(".proposals button").nth(1).click()
    seen.until("said => document.querySelector('.answer h3').innerText !== said", first)
    seen.tab("budget")
    seen.wait(".answer", "8k")
    seen.page.go_back()
    seen.page.wait_for_selector("#tab-forest[aria-selected=true]")
    seen.page.go_back()
    seen.wait(".answer h3", first)
    seen.page.go_back()
    seen.page.wait_for_selector("#tab-tokens[aria-selected=true]")
    seen.page.go_forward()
    seen.wait(".answer h3", first)
    assert len(seen.page.evaluate("document.querySelector('#text').value")) >= 20_000
    seen.wait("#counts", "220,000 characters")


@pytest.mark.parametrize("text", ["", "slow goose lays\n", "\n\n"])
def test_every_view_opens_with_an_answer(seen: Seen, text: str) -> None:
    seen.open(text=text)
    seen.tab("merges")
    seen.wait(".player", "1 of")
    seen.tab("forest")
    seen.wait(".answer h3", "Token")
    seen.tab("vocabulary")
    seen.wait(".answer", "token")
    chips = seen.page.locator(".proposals button")
    chips.first.click()
    seen.page.wait_for_load_state("networkidle")
    assert seen.page.locator("#panel .bad:visible").count() == 0


def test_the_first_screen_is_a_text_its_tokens_and_one_number(
    browser: Any, toks: dict[str, toksmith.Tokenizer]
) -> None:
    for width, height in ((390, 844), (1440, 900)):
        view = {"width": width, "height": height}
        with toksmith.play(toks) as running, watched(browser, running.url, viewport=view) as seen:
            seen.page.goto(running.url)
            seen.until("document.querySelector('.rows .t') !== null")
            top = seen.page.locator(".rows .t").first.bounding_box()["y"]
            assert top < height / 2 and seen.page.evaluate(IN_SIGHT), (width, top)
            for folded in ("#share", "#theme", "#help", "#open", "#clear", "#special"):
                assert not seen.page.locator(folded).is_visible()
            seen.page.click("#more")
            seen.page.click("#more-text")
            assert seen.page.locator("#share").is_visible() and seen.page.locator("#clear").is_visible()
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_task_opens_its_view_that_was_shown_last(seen: Seen) -> None:
    seen.open(text="low")
    for task, tab in (("Compare", "edits"), ("See", "tokens"), ("Vocabulary", "forest"), ("Train", "trainer")):
        seen.page.click(f"[data-task={task}]")
        assert seen.page.get_attribute(f"#tab-{tab}", "aria-selected") == "true"
        assert seen.page.get_attribute(f"[data-task={task}]", "aria-current") == "true"
    seen.page.click("[data-task=Compare]")
    seen.page.click("#tab-languages")
    seen.page.click("[data-task=See]")
    seen.page.click("[data-task=Compare]")
    assert seen.page.get_attribute("#tab-languages", "aria-selected") == "true"


def test_a_sample_replaces_the_text_and_can_be_undone(seen: Seen) -> None:
    seen.open(text="kept")
    for name in seen.page.locator("#samples option").all_inner_texts()[1:]:
        seen.page.select_option("#samples", name)
        seen.settle(len(seen.page.input_value("#text")))
        assert seen.page.input_value("#text") != "kept"
        seen.page.click("#undo")
        assert seen.page.input_value("#text") == "kept"


def test_clear_is_undone_by_the_key_too(seen: Seen) -> None:
    seen.open(text="kept")
    seen.page.click("#clear")
    seen.page.keyboard.press("Control+z")
    assert seen.page.input_value("#text") == "kept"
    seen.page.click("#clear")
    seen.page.keyboard.type("x")
    assert not seen.page.locator("#undone").is_visible()
    seen.page.keyboard.press("Control+z")
    seen.page.wait_for_selector("#undone")  # the offer is back
    seen.page.keyboard.press("Control+z")
    assert seen.page.input_value("#text") == "kept"


@pytest.mark.parametrize("way", ["typed", "pasted", "deleted"])
def test_all_of_a_long_text_is_replaced(seen: Seen, way: str) -> None:
    long = "low slow\n" * 30_000
    seen.open(text="x")
    seen.page.evaluate(PUT, long)
    seen.settle(len(long))
    seen.page.focus("#text")
    seen.page.keyboard.press("Control+a")
    if way == "typed":
        seen.page.keyboard.type("egg")
    elif way == "pasted":
        seen.page.evaluate(PASTE, "egg")
    else:
        seen.page.keyboard.press("Delete")
        seen.page.keyboard.type("egg")
    seen.settle(3)
    assert seen.page.input_value("#text") == "egg" and seen.page.locator("#held").is_hidden()
    if way == "pasted":
        seen.page.click("#undo")
        seen.settle(len(long))


def test_an_opened_tokenizer_can_be_removed(seen: Seen) -> None:
    seen.open(text="low")
    assert seen.page.locator("[aria-label^='Remove ']").count() == 0, "the tokenizers of the command stay"
    drop(seen, ("vocab.txt", b"[UNK]\nlow\n##er\n"))
    seen.page.click("#ask-file >> text=As a tokenizer")
    seen.page.wait_for_selector("[aria-label='Remove vocab.txt']")
    seen.page.click("[aria-label='Remove vocab.txt']")
    seen.until("document.querySelector('input[value=\"vocab.txt\"]') === null")
    seen.settle(3)
    seen.live("vocab.txt is removed")
