"""The playground's page without a server (`make playground`), from files and over HTTP: what it shows is what the library gives.

The rules of `browsing` hold: no request leaves the page's folder, and no script complains.
"""

from __future__ import annotations

import functools
import re
import tempfile
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from browsing import CORPUS, PASTE, PUT, TEXT, Seen, watched
from conftest import ROOT
from docs_site.playground import fragment, has_engine, write_playground
from test_browser_everybody import AXE, OVERFLOW, RULES, axe_source
from test_browser_walks import drop

import toksmith

pytestmark = pytest.mark.skipif(not has_engine(), reason="lacks build/web; run make web")
# The storage is full, or the browser refuses it.
FULL = "IDBObjectStore.prototype.add = () => { throw new DOMException('no room', 'QuotaExceededError'); };"
REFUSED = (
    "Object.defineProperty(globalThis, 'indexedDB', { value: { open() { throw new Error('storage is off'); } } });"
)


WORKERS = "const Own = Worker; globalThis.Worker = class extends Own { constructor(url) { super(url); globalThis.last = this; } };"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without logging."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("static")
    write_playground(made)
    return made


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def addresses(folder: Path, served: str) -> dict[str, str]:
    return {"file": f"file://{folder}/index.html", "http": f"{served}index.html"}


@pytest.fixture(params=["file", "http"])
def static(browser: Any, addresses: dict[str, str], request: pytest.FixtureRequest) -> Iterator[Seen]:
    """The page in a new browser profile."""
    url = addresses[request.param]
    with watched(browser, url.removesuffix("index.html")) as seen:
        seen.url = url
        yield seen


def test_the_page_opens_with_tokenizers_and_gives_the_ids_of_the_library(static: Seen, tmp_path: Path) -> None:
    static.open(text=TEXT)
    (path := tmp_path / "own.toksmith").write_bytes(added(static))
    tok = toksmith.load(path)
    assert [label.rpartition(", id ")[2] for label in static.drawn()] == [*map(str, tok.encode(TEXT, special="text"))]
    static.type("lowest 😄")
    static.tab("merges")
    static.wait(".proposals", "lowest")
    static.wait(".player", "1 of ")
    static.tab("vocabulary")
    static.wait("#panel", "Tokens by length")
    assert static.page.locator("#tab-chat").count() == 0 and "toksmith play" in static.words("footer")


def added(seen: Seen) -> bytes:
    """Gives the page a tokenizer, by a drop, as its only one; returns its file."""
    tok = toksmith.train(CORPUS, merges=60, special_tokens=["<|end|>"], progress=False)
    data = native(tok)
    drop(seen, ("own.toksmith", data))
    seen.page.click("#ask-file >> text=As a tokenizer")
    seen.wait("#banner", "own.toksmith is kept in this browser")
    for name in ("docs", "code"):
        seen.page.uncheck(f"input[value={name}]")
    seen.until("document.querySelectorAll('.tokenizer :checked').length === 1")
    seen.settle(len(TEXT))
    return data


def native(tok: toksmith.Tokenizer) -> bytes:
    """The native file of a tokenizer."""
    with tempfile.TemporaryDirectory() as room:
        tok.save(path := Path(room) / "it.toksmith")
        return path.read_bytes()


def test_an_added_tokenizer_survives_a_reload_and_other_tabs_have_it(static: Seen) -> None:
    static.open(text=TEXT)
    added(static)
    counts = static.words("#counts")
    static.page.wait_for_timeout(700)  # the address follows
    static.page.reload()
    static.settle(len(TEXT))
    assert static.words("#counts") == counts
    other = Seen(static.page.context.new_page(), static.url).open(text=None)
    assert other.page.locator("input[value='own.toksmith']").count() == 1
    drop(other, ("own.toksmith", native(toksmith.train("low lower", merges=2))))
    other.page.click("#ask-file >> text=As a tokenizer")
    other.wait("#banner", "own.toksmith (2) is kept")
    static.page.wait_for_selector("input[value='own.toksmith (2)']")
    other.page.click("[aria-label='Remove own.toksmith']")
    static.wait("#banner", "Another tab removed own.toksmith")
    assert static.page.input_value("#text") == TEXT
    static.wait("#counts", "tokens")
    other.page.close()


@pytest.mark.parametrize("script", [FULL, REFUSED], ids=["full", "refused"])
def test_without_storage_a_tokenizer_is_there_until_the_page_is_closed(
    browser: Any, addresses: dict[str, str], script: str
) -> None:
    with watched(browser, addresses["http"].removesuffix("index.html")) as seen:
        seen.page.add_init_script(script)
        seen.open(text="low lower")
        drop(seen, ("small.toksmith", native(toksmith.train("low lower", merges=3))))
        seen.page.click("#ask-file >> text=As a tokenizer")
        seen.wait("#banner", "until this page is closed")
        assert re.search("no room|storage is off", seen.words("#banner"))
        seen.wait("#counts", "small.toksmith")


def test_a_file_of_ranks_asks_for_its_pattern(static: Seen) -> None:
    static.open(text="low lower")
    drop(static, ("small.tiktoken", (ROOT / "crates" / "core" / "examples" / "small.tiktoken").read_bytes()))
    static.page.click("#ask-file >> text=As a tokenizer")
    static.wait("#ask-file", "choose the pattern")
    static.page.select_option("#pattern", "cl100k")
    static.page.click("#ask-file >> text=As a tokenizer")
    static.wait("#banner", "small.tiktoken is kept")


@pytest.mark.parametrize("data", [b"", b"no tokenizer", b"{}", b"\x00\xff" * 99, b"toksmith 1\n", b"\n\x05wrong"])
def test_a_file_that_is_no_tokenizer_is_refused(static: Seen, data: bytes) -> None:
    static.open(text="low lower")
    drop(static, ("wrong.toksmith", data))
    static.page.click("#ask-file >> text=As a tokenizer")
    static.page.wait_for_selector("#ask-file .bad:visible")
    said = static.words("#ask-file .bad")
    assert len(said) > 10 and not re.search(r"undefined|TypeError|\[object|stopped", said), said
    static.page.click("#ask-file >> text=Cancel")
    static.type("lowest")


def test_the_page_trains_and_uses_what_it_trained(static: Seen) -> None:
    static.open(text="low lower lowest " * 30)
    static.tab("trainer")
    static.page.click("text=Remove all")
    static.page.click("text=Add your text")
    static.wait(".train-figures", "merges")
    static.page.fill("#train-number", "260")
    static.page.press("#train-number", "Enter")
    static.wait(".train-figures", "260 tokens")
    static.page.click("#train-keep")
    static.wait("#banner", "trained 260 is kept in this browser")
    tok = toksmith.train("low lower lowest " * 30, 260, progress=False)
    static.wait("#counts", f"trained 260 {tok.count('low lower lowest ' * 30)} tokens")


def test_a_training_that_is_cancelled_says_so_and_can_begin_again(static: Seen) -> None:
    static.open(text="low")
    static.page.evaluate(PUT, "".join(f"{number * 7919 % 100_003} " for number in range(400_000)))
    static.wait("#counts", "2,3")
    static.tab("trainer")
    static.page.select_option("#field-trainPattern", "")
    static.page.click("text=Remove all")
    static.page.click("text=Add your text")
    static.page.click("#cancel")
    static.wait(".train-state", "You cancelled this.")
    static.type("low lower")
    static.page.click("text=Remove all")
    static.page.click("text=Add your text")
    static.wait(".train-figures", "merges")


def test_an_engine_that_stops_starts_again(browser: Any, addresses: dict[str, str]) -> None:
    with watched(browser, addresses["file"].removesuffix("index.html")) as seen:
        seen.url = addresses["file"]
        seen.page.add_init_script(WORKERS)
        seen.open(text=TEXT)
        added(seen)
        seen.page.evaluate("last.onerror({ message: 'out of memory' })")
        seen.type("low lower")
        assert seen.page.locator("input[value='own.toksmith']:checked").count() == 1


def test_hard_texts_say_what_is_wrong(static: Seen) -> None:
    static.open(text="before")
    static.page.evaluate(
        PASTE.replace("(text)", "(size)").replace("'text/plain', text", "'text/plain', 'x'.repeat(size)"), 100_000_000
    )
    static.wait("#banner", "the limit is 10,000,000")
    assert static.page.input_value("#text") == "before"
    static.page.evaluate(PUT, "low \ud800 egg")
    static.wait("#counts", "9 characters")
    static.wait("#counts", "half of a character")


def test_a_browser_without_webassembly_is_told(browser: Any, addresses: dict[str, str]) -> None:
    with watched(browser, addresses["file"].removesuffix("index.html")) as seen:
        seen.page.add_init_script("delete globalThis.WebAssembly")
        seen.page.goto(addresses["file"])
        seen.wait("#banner", "runs no WebAssembly")


def test_links_open_their_text_and_a_view_without_a_server_says_so(static: Seen) -> None:
    static.open(fragment({"text": "né न 😄", "tab": "chat"}), text=None)
    assert static.page.input_value("#text") == "né न 😄"
    static.wait("#banner", "“chat” of the link needs a server: toksmith play")
    static.page.wait_for_selector("#tab-tokens[aria-selected=true]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing(browser: Any, addresses: dict[str, str], width: int, scheme: str) -> None:
    options = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
    with watched(browser, addresses["http"].removesuffix("index.html"), **options) as seen:
        seen.url = addresses["http"]
        seen.open(text=TEXT)
        seen.page.add_script_tag(content=axe_source())
        for tab in seen.page.evaluate("[...document.querySelectorAll('[role=tab]')].map((each) => each.dataset.tab)"):
            seen.tab(tab)
            seen.page.wait_for_timeout(300)
            assert seen.page.evaluate(AXE, list(RULES)) == [], tab
            scroll, inner = seen.page.evaluate(OVERFLOW)
            assert scroll <= inner, tab
