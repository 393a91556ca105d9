"""The live trainer in a real Chromium: dragging, its switches, bad input, and the saved tokenizer."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import CONTRAST, NAMED, SHOTS, Seen, watched

import toksmith
from toksmith._playground import live_training

TEXTS = {
    "low.txt": b"low lower lowest slow slower slowest " * 20,
    "goose.txt": "the goose lays 낮은 egg ".encode() * 20,
}


@pytest.fixture(scope="module")
def playground() -> Iterator[toksmith.types.Playground]:
    tok = toksmith.train("low", merges=0, progress=False)
    with toksmith.play({"bytes": tok}) as running:
        yield running


def files(texts: dict[str, bytes]) -> list[Any]:
    return [{"name": name, "mimeType": "text/plain", "buffer": data} for name, data in texts.items()]


def open_trainer(seen: Seen, texts: dict[str, bytes] | None = None, text: str = "slowest goose") -> Seen:
    """The trainer, once it has drawn an answer about these texts."""
    seen.open(text=text).tab("trainer")
    seen.wait(".train-figures", "bytes per token")
    if texts is not None:
        seen.page.set_input_files("#train-files", files(texts))
        size = sum(map(len, texts.values()))
        seen.wait(".train-state", f"Trained on {size:,} byte")
    return seen


def train_tokenizer(texts: dict[str, bytes], size: int, **options: Any) -> toksmith.Tokenizer:
    return toksmith.train(
        [*texts.values()], size, min_count=2, max_token_bytes=live_training.LONGEST, progress=False, **options
    )


def until_drawn(seen: Seen, ids: list[int]) -> None:
    seen.until(
        "ids => JSON.stringify([...document.querySelectorAll('.train-sentence button')].map((b) => Number(b.dataset.id))) === JSON.stringify(ids)",
        ids,
    )


def test_the_trainer_opens_on_the_sentences_of_the_page(seen: Seen) -> None:
    open_trainer(seen)
    assert seen.page.locator(".train-languages tbody tr").count() == len(toksmith.metrics.LANGUAGES)
    assert "the page’s sentences" in seen.words(".train-list")
    for part in ("languages", "newest", "tree", "sentence"):
        assert seen.words(f".train-{part}").strip(), part


def test_dragging_draws_the_tokenizer_of_each_size(seen: Seen) -> None:
    open_trainer(seen, TEXTS)
    most = int(seen.page.get_attribute("#train-number", "max"))
    slider = seen.page.locator("#train-size")
    slider.focus()
    seen.page.keyboard.press("Home")
    seen.wait(".train-figures", "256 tokens")
    until_drawn(seen, [*b"slowest goose"])
    assert "No merge yet" in seen.words(".train-newest")
    for _ in range(4):
        seen.page.keyboard.press("ArrowRight")
    size = int(seen.page.input_value("#train-number"))
    assert 260 <= size < most, "a key is one token at least"
    seen.page.keyboard.press("PageUp")
    assert int(seen.page.input_value("#train-number")) == min(most, round(size * 1.5))
    seen.page.keyboard.press("PageDown")
    size = int(seen.page.input_value("#train-number"))
    own = train_tokenizer(TEXTS, size)
    until_drawn(seen, own.encode("slowest goose"))
    seen.wait(".train-figures", f"{sum(own.count(data) for data in TEXTS.values()):,} tokens for all texts")
    assert slider.get_attribute("aria-valuetext") == f"{size:,} tokens"
    seen.live(f"{size:,} tokens: ")
    box = slider.bounding_box()
    assert box is not None
    seen.page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
    seen.page.mouse.down()
    for part in (0.3, 0.5, 0.8, 1.0):
        seen.page.mouse.move(box["x"] + part * box["width"] - 2, box["y"] + box["height"] / 2)
    seen.page.mouse.up()
    until_drawn(seen, train_tokenizer(TEXTS, int(seen.page.input_value("#train-number"))).encode("slowest goose"))
    seen.page.fill("#train-number", "260")
    seen.page.keyboard.press("Enter")
    until_drawn(seen, train_tokenizer(TEXTS, 260).encode("slowest goose"))
    seen.page.fill("#train-number", "10")
    seen.page.keyboard.press("Enter")
    seen.wait(".train-state.bad", f"from 256 tokens, which need no merge, to {most:,}")
    assert seen.page.input_value("#train-number") == "260"


def test_every_answer_is_drawn_while_the_slider_moves(seen: Seen) -> None:
    open_trainer(seen, TEXTS)
    seen.page.evaluate(
        "() => { window.drawn = []; new MutationObserver(() => window.drawn.push(document.querySelector('.train-figure').innerText)).observe(document.querySelector('.train-figures'), { childList: true }); }"
    )
    seen.page.locator("#train-size").focus()
    seen.page.keyboard.press("Home")
    for _ in range(30):
        seen.page.keyboard.press("ArrowRight")
        seen.page.wait_for_timeout(20)
    size = int(seen.page.input_value("#train-number"))
    seen.wait(".train-figures", f"{size:,} tokens")
    assert seen.page.evaluate("new Set(window.drawn).size") > 3


def test_the_text_and_the_chosen_token_are_followed(seen: Seen) -> None:
    open_trainer(seen, TEXTS)
    seen.page.locator("#train-size").focus()
    seen.page.keyboard.press("End")
    size = int(seen.page.get_attribute("#train-number", "max"))
    own = train_tokenizer(TEXTS, size)
    until_drawn(seen, own.encode("slowest goose"))
    seen.type("the lowest egg")
    until_drawn(seen, own.encode("the lowest egg"))
    [first, *_] = own.encode("the lowest egg")
    seen.page.locator(".train-sentence button").first.click()
    seen.wait(".train-tree h3", f"the {first}")
    tree = toksmith.explain.token(own, first)
    assert seen.page.locator(".train-tree .forest li").count() == len(tree.nodes)
    seen.type("")
    seen.wait(".train-sentence", "Your text is empty")
    cut = "Your text is longer: its first 160 characters are cut here."
    seen.page.fill("#text", "🥚" * 160)
    seen.until("document.querySelectorAll('.train-sentence button').length > 0")
    assert cut not in seen.words("#panel")
    seen.page.fill("#text", "🥚" * 161)
    seen.wait("#panel", cut)


def test_switches_train_again(seen: Seen) -> None:
    open_trainer(seen, TEXTS, text="the goose lays")
    seen.page.fill("#train-number", "270")
    seen.page.keyboard.press("Enter")
    until_drawn(seen, train_tokenizer(TEXTS, 270).encode("the goose lays"))
    seen.page.select_option("#field-trainPattern", "")
    until_drawn(seen, train_tokenizer(TEXTS, 270, pattern=None).encode("the goose lays"))
    seen.page.select_option("#field-trainTies", "first_seen")
    until_drawn(seen, train_tokenizer(TEXTS, 270, pattern=None, ties="first_seen").encode("the goose lays"))
    seen.page.fill("#field-trainSpecial", "<|end|>")
    seen.page.keyboard.press("Enter")
    seen.wait(".train-state", "from 257 to")
    seen.page.fill("#field-trainSpecial", "a ab")
    seen.page.keyboard.press("Enter")
    seen.wait(".train-state.bad", "the special tokens")
    seen.page.fill("#field-trainSpecial", "")
    seen.page.keyboard.press("Enter")
    seen.wait(".train-state", "from 256 to")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("one byte", b"a", "there is nothing to drag"),
        ("one character", b"a" * 1000, "1,000 bytes"),
        ("not UTF-8", b"\xff\xfe\x00" * 50, "150 bytes"),
        ("nothing", b"", "at least one byte"),
    ],
)
def test_small_and_odd_texts_give_a_message(seen: Seen, name: str, data: bytes, said: str) -> None:
    open_trainer(seen)
    seen.page.set_input_files("#train-files", files({f"{name}.txt": data}))
    seen.wait(".train-state", said)
    if not data:
        assert seen.page.is_disabled("#train-size")
    seen.page.get_by_role("button", name="Remove all").click()
    seen.wait(".train-state", "Add a text to train on.")
    seen.page.get_by_role("button", name="Add your text").click()
    seen.wait(".train-state", "Trained on 13 bytes")


def test_a_text_beyond_the_limits_is_refused_and_changes_nothing(seen: Seen) -> None:
    open_trainer(seen, TEXTS)
    seen.page.set_input_files("#train-files", files({"long.txt": b"x" * 10_000_000}))
    seen.wait(".train-texts .bad", "the limit is 10,000,000. Nothing was added.")
    seen.page.set_input_files("#train-files", files({f"{number}.txt": b"x" for number in range(39)}))
    seen.wait(".train-texts .bad", "41 texts; the limit is 40")
    assert seen.page.locator(".train-list li").count() == 2
    seen.page.get_by_role("button", name="Remove low").click()
    seen.wait(".train-state", f"Trained on {len(TEXTS['goose.txt']):,} bytes")


def test_a_training_can_be_cancelled(seen: Seen) -> None:
    open_trainer(seen)
    seen.page.evaluate(
        """() => {
          const own = window.fetch;
          window.stopped = 0;
          window.fetch = (url, options) => {
            if (url === '/api/stop_training') window.stopped += 1;
            if (url !== '/api/train' || window.through) return own(url, options);
            return new Promise((_, fail) => options.signal.addEventListener('abort', () => fail(options.signal.reason)));
          };
        }"""
    )
    seen.page.select_option("#field-trainTies", "first_seen")
    seen.page.wait_for_selector("#busy:visible")
    seen.page.click("#cancel")
    seen.wait(".train-state.bad", "You cancelled this")
    seen.until("window.stopped === 1")
    seen.page.evaluate("window.through = true")
    seen.page.get_by_role("button", name="Train again").click()
    seen.wait(".train-figures", "bytes per token")


def test_texts_that_the_server_forgot_are_sent_again(seen: Seen) -> None:
    open_trainer(seen, TEXTS)
    for number in range(3):
        with watched(seen.page.context.browser, seen.url) as other:
            open_trainer(other, {"other.txt": f"low {number} low {number}".encode()})
    seen.page.locator("#train-size").focus()
    seen.page.select_option("#field-trainTies", "first_seen")
    seen.wait(".train-state", "Trained on")
    size = int(seen.page.input_value("#train-number"))
    until_drawn(seen, train_tokenizer(TEXTS, size, ties="first_seen").encode("slowest goose"))
    assert [said for said in seen.complaints if "status of 409" in said], "the server had forgotten them"
    seen.complaints = [said for said in seen.complaints if "status of 409" not in said]


def test_the_tokenizer_is_kept_and_saved(seen: Seen, tmp_path: Path) -> None:
    open_trainer(seen, TEXTS)
    seen.page.fill("#train-number", "262")
    seen.page.keyboard.press("Enter")
    own = train_tokenizer(TEXTS, 262)
    until_drawn(seen, own.encode("slowest goose"))
    with seen.page.expect_download() as caught:
        seen.page.click("#train-save")
    path = tmp_path / caught.value.suggested_filename
    caught.value.save_as(path)
    assert path.name == "trained-262.toksmith" and toksmith.load(path) == own
    seen.page.select_option("#train-format", "stoi")
    seen.page.click("#train-save")
    seen.wait(".train-save .bad", "The format stoi cannot hold kind")
    seen.page.select_option("#train-format", "gpt2")
    seen.page.click("#train-save")
    seen.wait(".train-save .bad", "The format gpt2 cannot hold splitters")
    with seen.page.expect_download() as caught:
        seen.page.click("text=Save without splitters")
    assert caught.value.suggested_filename == "trained-262-gpt2.zip"
    seen.page.click("#train-keep")
    seen.wait("#banner", "trained 262 is there until the server stops")
    assert seen.page.is_checked("input[value='trained 262']")
    seen.tab("tokens")
    seen.wait("#counts", f"trained 262 {len(own.encode('slowest goose'))} token")


def test_files_are_dropped_on_the_texts(seen: Seen) -> None:
    open_trainer(seen)
    seen.page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File(['drop drop drop'], 'dropped.txt'));
          document.querySelector('.train-texts').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
        }"""
    )
    seen.wait(".train-list", "dropped 14 bytes")
    assert not seen.page.is_visible("#ask-file")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_trainer_has_contrast_and_names(
    browser: Any, playground: toksmith.types.Playground, scheme: Any, width: int
) -> None:
    with watched(browser, playground.url, viewport={"width": width, "height": 800}, color_scheme=scheme) as seen:
        open_trainer(seen, text="낮은 नमस्ते goose " * 40)
        assert seen.page.evaluate(CONTRAST) == []
        assert seen.page.evaluate(NAMED) == []
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        small = "[...document.querySelectorAll('.trainer button, .trainer input, .trainer select')].filter((each) => each.checkVisibility() && (each.offsetHeight < 24 || each.offsetWidth < 24)).map((each) => each.outerHTML)"
        assert seen.page.evaluate(small) == []


def test_a_link_restores_the_size_and_the_switches(seen: Seen) -> None:
    open_trainer(seen)
    seen.page.fill("#train-number", "300")
    seen.page.keyboard.press("Enter")
    seen.page.select_option("#field-trainPattern", "gpt2")
    seen.wait(".train-figures", "300 tokens")
    seen.page.wait_for_timeout(700)  # the fragment follows after a pause in typing
    link = seen.page.evaluate("location.hash").removeprefix("#")
    again = Seen(seen.page.context.new_page(), seen.url).open(link, text=None)
    again.wait(".train-figures", "300 tokens")
    assert again.page.input_value("#field-trainPattern") == "gpt2"


def beginning(path: Path, most: int) -> bytes:
    """The first documents of a corpus."""
    found = b""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        while len(found) < most:
            found += json.loads(next(lines))["text"].encode() + b"\n"
    return found


@pytest.mark.parametrize("size", [256, 500, 2000, 16000])
def test_film(browser: Any, size: int, corpora_dir: Path, tmp_path: Path) -> None:
    """Takes the film of the guide, a picture for each size; with TOKSMITH_PICTURES=1 the committed ones."""
    names = ("english", "code", "hindi", "korean")
    texts = {f"{name}.txt": beginning(corpora_dir / f"{name}.jsonl.gz", 500_000) for name in names}
    tok = toksmith.train("low", merges=0, progress=False)
    view = {"width": 760, "height": 720}
    with toksmith.play({"bytes": tok}) as running, watched(browser, running.url, viewport=view) as seen:
        open_trainer(seen, texts, text="A countryman has a goose that lays a golden egg. 거위가 알을 낳는다.")
        seen.page.fill("#train-number", str(size))
        seen.page.keyboard.press("Enter")
        seen.wait(".train-figures", f"{size:,} tokens")
        seen.page.locator(".train-drag").evaluate("each => scrollTo(0, each.getBoundingClientRect().top + scrollY)")
        seen.page.wait_for_timeout(300)
        folder = SHOTS if os.environ.get("TOKSMITH_PICTURES") else tmp_path
        folder.mkdir(exist_ok=True)
        path = folder / f"playground-trainer-{size}.png"
        seen.page.screenshot(path=path)
        assert path.stat().st_size > 5000
