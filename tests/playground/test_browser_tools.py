"""The tools around the views in a real Chromium: models, earlier texts, prices, marks, links, frames, and one file."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import CONTRAST, NAMED, TEXT, Seen, watched

import toksmith


@pytest.fixture
def playground(toks: dict[str, toksmith.Tokenizer]) -> Iterator[toksmith.types.Playground]:
    with toksmith.play(toks) as running:
        yield running


def storage_keys(seen: Seen) -> list[str]:
    return sorted(seen.page.evaluate("Object.keys(localStorage)"))


def test_a_reload_right_after_a_change_keeps_it(seen: Seen) -> None:
    seen.open(text="low")
    seen.page.wait_for_timeout(500)  # the address has the first text
    seen.page.evaluate("document.querySelector('#text').value = 'slow goose'")
    with seen.page.expect_navigation():
        seen.page.evaluate(
            "document.querySelector('#text').dispatchEvent(new Event('input')); setTimeout(() => location.reload(), 20); 0"
        )
    seen.until("document.querySelector('#text')?.value === 'slow goose'")
    seen.page.goto("about:blank")
    seen.page.goto(seen.url)
    seen.until("document.querySelector('#counts').textContent.includes('token')")
    assert seen.page.input_value("#text") != "slow goose", "another address does not get it"


def test_the_lattice_of_a_unigram_model_ends_in_its_tokens(browser: Any) -> None:
    tok = toksmith.train("low lower lowest newest widest " * 9, 60, kind="unigram", progress=False)
    with toksmith.play({"uni": tok}) as running, watched(browser, running.url) as seen:
        seen.open(text="a newest low")
        seen.tab("merges")
        seen.page.fill("#piece", "newest")
        seen.wait(".player", "place 1 of 7")
        seen.page.get_by_role("button", name="Last step").click()
        seen.wait(".player", "the best path")
        [(ids, total)] = tok.encode_best("newest", 1)
        titles = seen.page.locator(".lattice .chosen").evaluate_all("all => all.map((each) => each.title)")
        assert titles == [f"id {id}" for id in ids]
        assert f"{abs(total):.2f}" in seen.words(".player .said")
        assert seen.page.locator("#panel .bad:visible").count() == 0


# Models


def test_models_are_used_or_say_how_to_get_them(
    seen: Seen, vocab_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOKSMITH_CACHE", str(vocab_dir))
    seen.open()
    seen.page.click("#models")
    seen.page.get_by_role("button", name="Use GPT-4o").wait_for()
    seen.wait(".models", "hf download Qwen/Qwen2.5-7B tokenizer.json")
    seen.page.get_by_role("button", name="Copy the line for DeepSeek-V3").click()
    seen.until(
        "async () => (await navigator.clipboard.readText()) === 'hf download deepseek-ai/DeepSeek-V3 tokenizer.json'"
    )
    assert seen.page.evaluate(NAMED) == []
    seen.page.get_by_role("button", name="Use GPT-2").click()
    seen.wait("#banner", "GPT-2 is there until the server stops")
    assert seen.page.is_checked("input[value='GPT-2']")
    seen.wait("#counts", f"GPT-2 {toksmith.load('gpt2').count(TEXT)} tokens")
    monkeypatch.setenv("TOKSMITH_CACHE", str(tmp_path))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    seen.page.click("#models")
    seen.page.get_by_role("button", name="Copy the line for GPT-4, GPT-3.5").wait_for()
    seen.wait(".models", "echo low | toksmith count -t gpt-4")


# Storage of the browser


def test_earlier_texts_are_kept_chosen_and_forgotten(seen: Seen) -> None:
    seen.open(text="the first text")
    seen.page.click("#earlier")
    seen.wait(".earlier", "the first text")
    seen.page.keyboard.press("Escape")
    seen.type("the second text\nof two lines")
    seen.page.click("#earlier")
    assert [each.split("\n")[0] for each in seen.page.locator(".earlier button").all_inner_texts()] == [
        "the second text",
        "the first text",
    ]
    seen.page.get_by_role("button", name="the first text").click()
    seen.settle(len("the first text"))
    seen.page.click("#undo")
    seen.settle(len("the second text\nof two lines"))
    seen.type("the second text\nof two lines, and more")
    seen.page.reload()
    seen.page.click("#more-text")
    seen.page.click("#earlier")
    texts = seen.page.evaluate("JSON.parse(localStorage.getItem('toksmith-texts')).map((each) => each.text)")
    assert texts == ["the second text\nof two lines, and more", "the first text"], "a longer version replaces its text"
    seen.page.click("#forget")
    seen.wait(".earlier", "None yet.")
    assert "toksmith-texts" not in storage_keys(seen)
    seen.page.uncheck("#earlier-on")
    seen.page.keyboard.press("Escape")
    seen.type("a secret")
    seen.page.click("#earlier")
    seen.wait(".earlier", "None yet.")


def test_foreign_values_in_the_storage_do_no_harm(seen: Seen) -> None:
    seen.open()
    for value in ("{", "7", '[null, {"text": 3}, {"text": "fine", "at": 5}]'):
        seen.page.evaluate(
            "value => { for (const name of ['texts', 'costs', 'remember', 'theme']) localStorage.setItem(`toksmith-${name}`, value); }",
            value,
        )
        seen.page.reload()
        seen.open()
        seen.page.evaluate("localStorage.setItem('toksmith-remember', 'yes')")
        seen.tab("budget")
        seen.wait(".answer", "1M")
        seen.page.click("#earlier")
        seen.wait("#earlier-texts", "Forget all")
        seen.page.keyboard.press("Escape")


def test_prices_are_entered_counted_and_kept(seen: Seen, toks: dict[str, toksmith.Tokenizer]) -> None:
    seen.open(text="low " * 500)
    seen.tab("budget")
    seen.page.click("#cost-add")
    tokens = toks["bytes"].count("low " * 500)
    for label, value in (
        ("Name of row 1", "mine"),
        ("per million tokens of input of row 1", "2.6"),
        ("per million tokens of output of row 1", "10"),
        ("tokens of output of row 1", "301"),
        ("calls of row 1", "1000"),
    ):
        seen.page.fill(f"[aria-label='{label}']", value)
    cost = (tokens * 2.6 + 301 * 10) * 1000 / 1e6
    seen.wait(".costs .figure", f"{cost:g}")
    seen.type("low")
    seen.wait(".costs .figure", f"{(toks['bytes'].count('low') * 2.6 + 301 * 10) * 1000 / 1e6:.4g}")
    seen.page.wait_for_timeout(700)  # the fragment follows after a pause in typing
    seen.page.reload()
    seen.wait(".costs", "cost")
    assert seen.page.input_value("[aria-label='Name of mine']") == "mine"
    seen.page.check("input[value=large]")
    seen.page.uncheck("input[value=bytes]")
    seen.wait(".costs .figure", "–")
    seen.page.select_option("[aria-label='Tokenizer of mine']", "large")
    seen.until("document.querySelector('.costs .figure').textContent !== '–'")
    seen.page.get_by_role("button", name="Remove mine").click()
    assert seen.page.locator(".costs tbody tr").count() == 0
    seen.page.click("#cost-add")
    seen.page.click("#cost-clear")
    assert "toksmith-costs" not in storage_keys(seen)


# Tokens


def test_the_pointer_links_tokens_and_ids(seen: Seen) -> None:
    seen.open()
    seen.page.check("input[value=large]")
    seen.page.locator(".rows .t[data-w='1']").first.wait_for()
    seen.page.hover(".rows .t[data-w='0'][data-i='3']")
    seen.page.wait_for_selector(".id.linked[data-i='3']")
    assert seen.page.locator(".rows .linked").count() >= 1
    seen.page.hover(".rows .t[data-w='1'][data-i='2']")
    seen.page.wait_for_selector(".rows .linked[data-w='1'][data-i='2']")
    assert seen.page.locator(".id.linked").count() == 0, "the ids are those of the other tokenizer"
    seen.page.hover(".id[data-i='5']")
    seen.page.wait_for_selector(".rows .linked[data-w='0'][data-i='5']")
    seen.wait(".card", "token 6 of")
    seen.page.mouse.move(2, 2)
    seen.until("document.querySelectorAll('.linked').length === 0")


def test_white_space_is_marked_or_not(seen: Seen) -> None:
    seen.open(text="low\tlow  low\nlow")
    assert "→" in seen.words(".rows") and "·" in seen.words(".rows")
    seen.page.uncheck("#marks")
    seen.until("!/[→·↵]/.test(document.querySelector('.rows').innerText)")
    seen.page.wait_for_timeout(700)  # the fragment follows after a pause in typing
    link = seen.page.evaluate("location.hash").removeprefix("#")
    again = Seen(seen.page.context.new_page(), seen.url).open(link, text=None)
    assert not again.page.is_checked("#marks")
    seen.page.check("#marks")
    seen.wait(".rows", "→")


# Sharing


def test_one_file_needs_no_server(seen: Seen, toks: dict[str, toksmith.Tokenizer], tmp_path: Path) -> None:
    seen.open()
    with seen.page.expect_download() as caught:
        seen.page.click("#one-file")
    path = tmp_path / caught.value.suggested_filename
    caught.value.save_as(path)
    assert path.read_text("utf-8") == toksmith.snapshot({"bytes": toks["bytes"]}, TEXT).html
    seen.page.select_option("#special", "raise")
    seen.page.click("#one-file")
    seen.wait("#banner", "<|end|>")


def test_a_frame_works_in_a_page_of_this_machine(seen: Seen, playground: toksmith.types.Playground) -> None:
    seen.open(text="low goose")
    seen.page.click("#frame")
    seen.live("the frame copied")
    frame = str(seen.page.evaluate("navigator.clipboard.readText()"))
    assert frame.startswith(f'<iframe src="{playground.url}?embed=1#1.')
    plain = frame.replace("?embed=1", "")

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((frame if self.path == "/embed" else plain).encode())

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = f"http://127.0.0.1:{server.server_port}"
        page = seen.page.context.new_page()
        page.goto(f"{host}/embed")
        inner = page.frame_locator("iframe")
        inner.locator("#counts", has_text="9 characters").wait_for()
        assert inner.locator("#text").input_value() == "low goose"
        assert not inner.locator("header").is_visible() and not inner.locator("#models").is_visible()
        assert inner.locator("#tasks").is_visible()
        page.goto(f"{host}/plain")
        page.wait_for_load_state("networkidle")
        assert page.frame_locator("iframe").locator("#counts").count() == 0, "only the address for frames can be framed"
        server.shutdown()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_dialogs_can_be_read(browser: Any, playground: toksmith.types.Playground, scheme: Any, width: int) -> None:
    with watched(browser, playground.url, viewport={"width": width, "height": 800}, color_scheme=scheme) as seen:
        seen.open(text="low goose")
        for dialog in ("#models", "#earlier"):
            seen.page.click(dialog)
            seen.until("!document.querySelector('dialog[open]').innerText.includes('Looking')")
            assert seen.page.evaluate(CONTRAST) == []
            assert seen.page.evaluate(
                "() => { const each = document.querySelector('dialog[open]'); return each.scrollWidth <= each.clientWidth; }"
            )
            seen.page.keyboard.press("Escape")
        seen.tab("budget")
        seen.page.click("#cost-add")
        assert seen.page.evaluate(NAMED) == []
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
