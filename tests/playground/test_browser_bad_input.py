"""Every view of the playground with every kind of tokenizer and every kind of bad text, and when the server is gone.

A view gives an answer, or one plain sentence with the reason; it never breaks, and never mentions Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from browsing import CORPUS, PASTE, PUT, TABS, Seen
from test_browser_walks import drop
from trainings import trained

import toksmith

SPECIAL = "<|end|>"
KINDS: dict[str, dict[str, Any]] = {
    "bpe": {"vocab_size": 290},
    "characters": {"vocab_size": 80, "unit": "char"},
    "unigram": {"vocab_size": 80, "kind": "unigram"},
    "wordpiece": {"vocab_size": 80, "kind": "wordpiece"},
    "words": {"vocab_size": 20, "kind": "words"},
    "chars": {"kind": "chars"},
}
TEXTS = {
    "nothing": "",
    "one byte": "x",
    "one space": " ",
    "not UTF-8": b"low \xff\xfe egg \xe0\xa4",
    "a lone surrogate": "low \ud800 egg",
    "only special tokens": SPECIAL * 200,
    "controls": "\0\x1b[31m\r\n\x7f\u200b\u202e\u2028",
    "one long word": "x" * 20_000,
}
# The views that refuse some kinds of tokenizers, with a sentence.
MERGED = {"bpe", "characters"}
CLOSED = {"words", "chars"}  # kinds without a token for unknown text
REFUSES = {"merges": lambda kind: kind not in MERGED, "forest": lambda kind: kind not in MERGED}
# Marks of a fault, and names of Python, which no sentence for a reader contains.
FAULTS = re.compile(r"<Tokenizer|undefined|NaN|\[object|unexpected|Traceback|\b\w+Error\b|\b\w+=|\ufffd{2}")
FIVE = "the goose lays a golden egg नम 낮은 every day of the lowest year\n" * 72_000


@pytest.fixture(scope="module")
def toks() -> dict[str, toksmith.Tokenizer]:
    options = {"special_tokens": (SPECIAL,)}
    return {name: trained(CORPUS, **options, **{"vocab_size": None, **own}) for name, own in KINDS.items()}


@pytest.fixture(scope="module")
def playground(toks: dict[str, toksmith.Tokenizer]) -> Iterator[toksmith.types.Playground]:
    with toksmith.play({**toks, "broken": "no such file"}) as running:
        yield running


def take(seen: Seen, text: str | bytes) -> None:
    """Gives the page a text; invalid UTF-8 goes through a file."""
    if isinstance(text, str):
        seen.page.evaluate(PUT, text)
    else:
        drop(seen, ("raw.txt", text))
        seen.page.click("text=As a text")
        seen.wait("#banner", "not all UTF-8")


def text_of_view(seen: Seen, tab: str) -> str:
    """Opens a view, waits for its last answer, and returns its text."""
    seen.tab(tab)
    panel = f"document.querySelector('#panel').getAttribute('aria-labelledby') === 'tab-{tab}'"
    seen.until(f"{panel} && !document.querySelector('#panel .busy')")
    seen.page.wait_for_load_state("networkidle")
    seen.until("document.querySelector('#busy').hidden")
    return seen.words("#panel")


def check(seen: Seen, tab: str, kind: str) -> None:
    """Requires text in the visible view, without marks of a fault."""
    said = text_of_view(seen, tab)
    assert said.strip(), (tab, kind)
    bad = seen.page.locator("#panel .bad:visible, #problem:visible").all_inner_texts()
    for sentence in bad:
        own = re.sub("“[^”]*”", "", sentence)  # without quotations
        assert len(own) > 10 and not FAULTS.search(own), (tab, kind, sentence)
    if kind in CLOSED:
        bad = [each for each in bad if "is not in the vocabulary" not in each]
    if tab not in REFUSES or not REFUSES[tab](kind):
        assert not bad, (tab, kind, bad)


@pytest.mark.parametrize("text", TEXTS)
def test_every_view_takes_every_text_by_every_kind(seen: Seen, text: str) -> None:
    seen.open(text=None)
    take(seen, TEXTS[text])
    for kind in KINDS:
        seen.page.check(f"input[value={kind}]")
        for other in KINDS:
            if other != kind:
                seen.page.uncheck(f"input[value={other}]")
        for tab in TABS:
            check(seen, tab, kind)


@pytest.mark.parametrize("tab", TABS)
def test_every_view_takes_five_megabytes(seen: Seen, tab: str) -> None:
    seen.open(text="x")
    seen.page.evaluate(PASTE, FIVE)
    seen.settle(len(FIVE) + 1)
    check(seen, tab, "bpe")
    assert seen.nodes() <= 3000


def test_refusals_use_the_words_of_the_page(seen: Seen) -> None:
    seen.open(text=f"low {SPECIAL} egg")
    seen.page.select_option("#special", "raise")
    for tab in TABS:
        said = text_of_view(seen, tab)
        problems = seen.page.locator("#panel .bad:visible, #panel .warn:visible, #problem:visible").all_inner_texts()
        assert said.strip() and not any(FAULTS.search(each) for each in problems), (tab, problems)
    seen.tab("tokens")
    seen.wait("#problem", f"the text holds the special token {SPECIAL}")
    seen.page.select_option("#special", "text")
    seen.page.wait_for_selector("#problem", state="hidden")


NO_TOKENIZERS = {
    "goose.json": b'{"goose": "lays"}',
    "cut.toksmith": b"toksmith",
    "text.model": b"low lower lowest",
    "empty.tiktoken": b"",
    "noise.gguf": bytes(range(256)) * 40,
    "merges.txt": b"#version: 0.2\nl o\n",
}


@pytest.mark.parametrize("name", NO_TOKENIZERS)
def test_a_file_without_a_tokenizer_is_refused_and_changes_nothing(seen: Seen, name: str) -> None:
    seen.open(text="kept")
    before = seen.words("#tokenizers")
    drop(seen, (name, NO_TOKENIZERS[name]))
    seen.page.click("#ask-file >> text=As a tokenizer")
    seen.until("!document.querySelector('#ask-file .bad').hidden")
    said = seen.words("#ask-file .bad")
    if "choose the pattern" in said:
        seen.page.click("#ask-file >> text=As a tokenizer")
        seen.until("said => document.querySelector('#ask-file .bad').innerText !== said", said)
        said = seen.words("#ask-file .bad")
    assert {"merges.txt": "vocab.json"}.get(name, name) in said and not FAULTS.search(said) and "/tmp" not in said, said
    seen.page.click("#ask-file >> text=Cancel")
    assert seen.words("#tokenizers") == before and seen.page.input_value("#text") == "kept"


def test_every_view_says_that_the_server_is_gone_and_recovers(
    browser: Any, toks: dict[str, toksmith.Tokenizer]
) -> None:
    running = toksmith.play({"bpe": toks["bpe"], "unigram": toks["unigram"]})
    port = running.port
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    seen = Seen(context.new_page(), running.url).open(text="slow goose")
    for number, tab in enumerate(TABS):
        assert text_of_view(seen, tab).strip()
        running.stop()
        text = f"slow goose {number}"
        seen.page.fill("#text", text)
        seen.wait("#banner", "does not answer")
        assert seen.page.input_value("#text") == text
        assert not FAULTS.search(" ".join(seen.page.locator("#panel .bad:visible").all_inner_texts()))
        running = toksmith.play({"bpe": toks["bpe"]}, port=port)
        assert running.port == port
        seen.page.wait_for_selector("#banner", state="hidden")
        seen.settle(len(text))
        check(seen, tab, "bpe")
    running.stop()
    context.close()


def test_a_tokenizer_that_is_gone_with_the_server_is_named(browser: Any, toks: dict[str, toksmith.Tokenizer]) -> None:
    first = toksmith.play({"bpe": toks["bpe"], "words": toks["words"]})
    context = browser.new_context()
    seen = Seen(context.new_page(), first.url).open(text="low")
    seen.page.check("input[value=words]")
    first.stop()
    seen.page.fill("#text", "lower")
    seen.wait("#banner", "does not answer")
    with toksmith.play({"bpe": toks["bpe"]}, port=first.port):
        seen.wait("#banner", "words")
        seen.wait("#counts", "5 characters")
        assert seen.page.locator("input[value=words]").count() == 0
    context.close()


def test_every_view_works_next_to_a_tokenizer_that_fails_to_load(seen: Seen) -> None:
    seen.open(text="low")
    assert "broken could not be loaded" in seen.words("#tokenizers")
    for tab in TABS:
        check(seen, tab, "bpe")


def test_a_tokenizer_that_does_not_merge_is_named_by_its_kind(seen: Seen) -> None:
    seen.open(text="low")
    seen.page.check("input[value=unigram]")
    seen.page.uncheck("input[value=bpe]")
    text_of_view(seen, "forest")
    seen.wait("#panel .bad", "this view needs a tokenizer that merges; this one has the kind 'unigram'")
