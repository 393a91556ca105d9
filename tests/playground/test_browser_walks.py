"""Files, proposals and the way back in the playground, in a real Chromium."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Seen, watched

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
