"""The cells of the lesson in the built site, in a real headless Chromium: `make docs-check` builds it and sets this up.

Each cell first shows the figure of the example above it. Changed cells show what the Python package computes.
"""

from __future__ import annotations

import doctest
import importlib.util
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import DATA, ROOT
from docs_site.cells import Cell, cells_of
from docs_site.dialect import parts
from docs_site.pages import place_of
from test_site_pages import NARROW, SITE, TOO_WIDE, WIDE, Opened, serve

import toksmith
from toksmith import reference

if not (SITE / "engine" / "toksmith.js").is_file():
    pytest.skip(f"lacks the engine in {SITE}; `make web`, then `make docs-check`", allow_module_level=True)

LESSON = sorted((ROOT / "docs" / "lesson").glob("*.md"))


PARAGRAPH = (
    "Byte-Pair Encoding (BPE) was initially developed as an algorithm to compress texts, and then used by OpenAI for "
    "tokenization when pretraining the GPT model. It’s used by a lot of Transformer models, including GPT, GPT-2, "
    "RoBERTa, BART, and DeBERTa."
)
TWO_LINES = "né न\n😄 egg"
ARTICLE = "corpora/taylorswift.txt"


class Placed(NamedTuple):
    """A cell with its place on its page, the figures that the example above it prints, and the files of that example."""

    cell: Cell
    place: int
    wants: list[str]
    needs: tuple[str, ...]


def placed_cells(page: Path) -> Iterator[Placed]:
    """The cells of a document, in order."""
    wants, needs, place, text = list[str](), tuple[str, ...](), 0, ""
    for part in parts(page.read_text(encoding="utf-8")):
        if part.language == "python":
            examples = doctest.DocTestParser().get_examples(part.text.removesuffix("```\n"))
            wants = [example.want for example in examples if example.want]
            asked = re.search(r"<!-- needs: (.*?) -->\s*\Z", text)
            needs = tuple(asked[1].split()) if asked else ()
        text = part.text
        for cell in cells_of(text, page.name) if part.language is None else ():
            yield Placed(cell, place, wants, needs)
            place += 1


def url_of(page: Path) -> str:
    """The address of a document's page below that of the site."""
    return place_of(f"docs/lesson/{page.name}").removesuffix("index.md").removesuffix(".md").rstrip("/") + "/"


def items(text: str) -> str:
    """A figure without brackets, commas and quotes, between single spaces."""
    return " " + " ".join(re.sub(r"[][(),'\"]", " ", text.replace("<BLANKLINE>", "")).split()) + " "


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    yield from serve(SITE)


class Cells(Opened):
    """A page of the lesson with its cells."""

    def cell(self, place: int) -> Any:
        """A cell, opened; its first figure is there."""
        cell = self.page.locator("div.cell").nth(place)
        if not cell.locator("details[open]").count():
            cell.locator("summary").click()
        cell.locator("form").wait_for()
        if not cell.get_attribute("data-exercise"):
            self.settle(place)
        return cell

    def settle(self, place: int) -> None:
        """Wait until a cell has a figure or says what is wrong."""
        self.until("place => Boolean(document.querySelectorAll('div.cell')[place].dataset.state)", place)

    def forget(self) -> None:
        """Forget the figures, so that `settle` waits for new ones."""
        self.page.evaluate("for (const each of document.querySelectorAll('div.cell')) each.dataset.state = ''")

    def give(self, place: int, **values: str) -> None:
        """Change values of a cell by their labels."""
        cell = self.cell(place)
        for label, value in values.items():
            named = cell.locator("label", has_text=re.compile("^" + label.replace("_", "[ -]")))
            made = named.locator("input, select, textarea")
            self.forget()
            made.select_option(value) if made.evaluate("each => each.tagName") == "SELECT" else made.fill(value)
            self.settle(place)

    def give_files(self, place: int, files: list[Path]) -> None:
        """Open files in a cell."""
        picker = self.cell(place).locator("input[type=file]")
        self.forget()
        picker.set_input_files(files)
        self.settle(place)

    def figure(self, place: int) -> str:
        """The printed lines of a cell, or what it says instead of them."""
        printed = self.cell(place).locator(".printed")
        return str(printed.inner_text()) if printed.count() else self.said(place)

    def said(self, place: int) -> str:
        """What a cell says."""
        return str(self.cell(place).locator(".said").inner_text())


@pytest.fixture
def seen(browser: Any, address: str) -> Iterator[Cells]:
    made = Cells(browser, address)
    yield made
    made.close()


def files_of(placed: Placed, folder: Path) -> list[Path]:
    """The files of an example: vocabularies, or the tokenizer that learned the article."""
    if ARTICLE in placed.needs and len(placed.needs) == 1:
        article = (DATA / ARTICLE).read_text(encoding="utf-8")
        small = folder / "small.toksmith"
        toksmith.train(article, 1000, pattern=None, ties="first_seen", progress=False).save(small)
        return [small]
    return [DATA / name for name in placed.needs if name.startswith("vocab/")]


# The figures of examples that save a picture.
OF_PICTURES: dict[tuple[str, str], Callable[[], str]] = {
    ("README.md", "tokens"): lambda: str(of_slow().encode("the slowest")),
    ("13-how-large.md", "targets"): lambda: "\n".join(pairs_of(of_slow(), "the slowest of all")),
    ("11-letters-and-numbers.md", "merges"): lambda: steps_of(
        toksmith.load(DATA / "vocab/cl100k_base.tiktoken", pattern="cl100k"), "strawberry"
    ),
}


def of_slow() -> toksmith.Tokenizer:
    return toksmith.train("low lower lowest slow slower slowest", 262, progress=False)


def pairs_of(tok: toksmith.Tokenizer, text: str) -> Iterator[str]:
    """Each token with the token that follows it, as the cell writes them."""
    named = [f"{tok.token_bytes(id).decode().replace(' ', '·')} {id}" for id in tok.encode(text)]
    yield from (f"{one} -> {other}" for one, other in pairwise(named))


def steps_of(tok: toksmith.Tokenizer, piece: str) -> str:
    """The symbols of a piece after each merge."""
    ranks = {
        (left, right): (rank, id) for rank, (left, right, id) in enumerate(tok.model.vocab.recover_merges().tolist())
    }
    ids, lines = [tok.token_id(bytes([byte])) for byte in piece.encode()], []
    while able := [(ranks[pair][0], at) for at, pair in enumerate(pairwise(ids)) if pair in ranks]:
        _, at = min(able)
        new = ranks[ids[at], ids[at + 1]][1]
        ids[at : at + 2] = [new]
        lines.append(f"rank {new}: {[tok.token_bytes(id).decode() for id in ids]}")  # the ids of cl100k are its ranks
    return "\n".join(lines)


@pytest.mark.parametrize("page", LESSON, ids=lambda page: page.stem)
def test_every_cell_first_shows_the_figure_of_its_example(seen: Cells, page: Path, tmp_path: Path) -> None:
    placed = [*placed_cells(page)]
    assert len(placed) > 0
    seen.open(url_of(page))
    assert seen.page.locator("div.cell").count() == len(placed)
    for each in placed:
        name = f"{page.name}, cell {each.place}"
        if each.cell.is_exercise:
            continue
        if each.cell.kind == "sweep":
            continue  # its text is short; test_a_sweep_of_the_article has the article
        if seen.cell(each.place).locator("input[type=file]").count() and each.needs:
            assert seen.figure(each.place), name  # with a tokenizer of the page
            if not all((DATA / need).is_file() for need in each.needs):
                continue
            seen.give_files(each.place, files_of(each, tmp_path))
        of_picture = OF_PICTURES.get((page.name, each.cell.kind))
        expected = "\n".join(each.wants) if each.wants else of_picture() if of_picture else ""
        lines = seen.figure(each.place).splitlines()
        assert lines and [line for line in lines if items(line) not in items(expected)] == [], name


def test_a_sweep_of_the_article(seen: Cells) -> None:
    if not (DATA / ARTICLE).is_file():
        pytest.skip(f"lacks {ARTICLE} in TOKSMITH_TEST_DATA")
    article = (DATA / ARTICLE).read_text(encoding="utf-8")
    page = next(page for page in LESSON if page.name.startswith("13-"))
    cell = next(each for each in placed_cells(page) if each.cell.kind == "sweep")
    seen.open(url_of(page))
    seen.give(
        cell.place, Sizes_of_the_vocabulary="256, 512, 4096", Text=article[150_000:], Training_text=article[:150_000]
    )
    wanted = items("\n".join(cell.wants))
    assert all(items(line) in wanted for line in seen.figure(cell.place).splitlines())


def shower(seen: Cells, chapter: int) -> Callable[..., str]:
    """Opens a chapter; the function changes values of a cell, the n-th of its kind, and returns the new figure."""
    page = next(page for page in LESSON if page.name.startswith(f"{chapter}-"))
    cells = [each for each in placed_cells(page) if not each.cell.is_exercise]
    seen.open(url_of(page))

    def show(kind: str, which: int = 0, **values: str) -> str:
        place = [each.place for each in cells if each.cell.kind == kind][which]
        seen.give(place, **values)
        return seen.figure(place)

    return show


def trained(text: str, merges: int, **options: Any) -> toksmith.Tokenizer:
    return toksmith.train(text, merges=merges, progress=False, **options)


def test_a_walk_through_chapter_1_with_other_texts(seen: Cells) -> None:
    show = shower(seen, 1)
    text = TWO_LINES
    assert show("code_points", Text=text) == str([ord(char) for char in text])
    assert show("lengths", Text="ab\n👨‍👩‍👧") == "(2, 5)"
    chars = toksmith.train("banana band", kind="chars", progress=False)
    assert show("chars", Training_text="banana band", Text="bad ban") == str(chars.encode("bad ban"))
    assert show("words", Training_text="rain or sun", Text="rain or sun") == "['rain', ' or', ' sun']"
    for merges in (0, 3, 40):
        tok = trained("the egg, the eggs and the goose", merges)
        shown = show(
            "tokens", Training_text="the egg, the eggs and the goose", Merges=str(merges), Text="the geese’s eggs"
        )
        assert shown == str([tok.token_bytes(id).decode(errors="replace") for id in tok.encode("the geese’s eggs")])


def test_a_walk_through_chapter_2_with_other_texts(seen: Cells) -> None:
    show, text = shower(seen, 2), TWO_LINES
    assert show("utf8", Text="ßক") == "ß 223 [195, 159]\nক 2453 [224, 166, 149]"
    assert show("bits", Text="é") == "'11000011 10101001'"
    assert show("sizes", Text=text) == "\n".join(f"{len(line)} {len(line.encode())}" for line in text.split("\n"))
    assert show("encodings", Text=text) == str([len(text.encode(form)) for form in ("utf-8", "utf-16-le", "utf-32-le")])
    drawn = str(toksmith.explain.sizes(text)).partition("encoded\n")[2]
    assert [line.split() for line in show("encodings", 1, Text=text).splitlines()] == [
        line.split() for line in drawn.splitlines()
    ]
    assert show("tokens", Text=text) == str([*text.encode()])


def test_a_walk_through_chapter_3_with_other_texts(seen: Cells) -> None:
    show = shower(seen, 3)
    ids = [4, 4, 4, 1, 4, 4]
    assert show("pairs", Ids=str(ids)) == str(reference.pair_counts(ids))
    assert show("replace", Ids=str(ids), Pair="4, 4", New_id="7") == str(reference.replace_pair(ids, (4, 4), 7))
    grams = str(toksmith.explain.ngrams("banana bandana", 3)).splitlines()
    lines = show("ngrams", Text="banana bandana", Characters_of_an_n_gram="3").splitlines()
    assert [line.split() for line in lines[:8]] == [line.split() for line in (grams[0], *grams[3:10])]
    for ties in ("lowest_ids", "first_seen"):
        for merges in (1, 5, 60):
            tok = trained("banana bandana", merges, pattern=None, ties=ties)
            shown = show("steps", 1, Training_text="banana bandana", Merges=str(merges), Equal_counts=ties)
            rows = [line.split() for line in shown.splitlines()[1:]]
            record = tok.model.training
            assert record is not None
            tokens = [tok.token_bytes(id).decode().replace(" ", "·") for *_, id in tok.model.merges.tolist()]
            assert [(row[2], row[-2], row[-1]) for row in rows] == [
                (str(count), token, str(left))
                for count, token, left in zip(record.counts, tokens, record.left, strict=True)
            ]
    corpus = "the egg, the eggs and the goose. " * 3
    for pattern in ("gpt2", "o200k", r"\w+", ""):
        tok = trained(corpus, 12, pattern=pattern or None, ties="first_seen")
        shown = show("learned", Training_text=corpus, Merges="12", Split_pattern=pattern)
        assert shown == str([(left, right) for left, right, _ in tok.model.merges.tolist()][:10])
    tok = trained(corpus, 9, pattern=None, ties="first_seen")
    shown = show("training", Training_text=corpus, Merges="9")
    record = tok.model.training
    assert record is not None and shown.splitlines() == [
        f"({left}, {right}) -> {id} {tok.token_bytes(id)!r}: {count} times, {rest} ids left"
        for (left, right, id), count, rest in zip(tok.model.merges.tolist(), record.counts, record.left, strict=True)
    ]
    tok = toksmith.train(corpus, min_count=2, pattern=None, ties="first_seen", progress=False)
    assert show("exhausted", Training_text=corpus) == str((len(tok.model.merges), tok.count(corpus), "no pair repeats"))


def test_a_walk_through_chapter_4_with_other_texts(seen: Cells) -> None:
    show = shower(seen, 4)
    tok = trained(PARAGRAPH, 35, pattern=None, ties="first_seen")
    told = "a model of “worlds” \U0001f604"
    assert show("tokens", Merges="35", Text=told) == str(tok.encode(told))
    assert [line.split(": ", 1)[1] for line in show("merges", Merges="35", Text="words in order").splitlines()] == [
        line.split(": ", 1)[1] for line in steps_of(tok, "words in order").splitlines()
    ]
    assert show("decode", Merges="35", Ids=str(tok.encode(told))) == repr(told)
    assert show("decode", 1, Ids="240, 159, 65") == repr(b"\xf0\x9fA")
    streamed = trained(PARAGRAPH, 20, pattern=None, ties="first_seen")
    ids, decoder = streamed.encode(told), streamed.decoder()
    assert show("stream", Text=told).splitlines() == [
        str(ids),
        str([streamed.decode([id]) for id in ids]),
        str([decoder.feed(id) for id in ids]),
    ]


def test_exercises_check_answers(seen: Cells) -> None:
    spec = importlib.util.spec_from_file_location("lesson_check", ROOT / "docs" / "lesson" / "exercises" / "check.py")
    assert spec is not None and spec.loader is not None
    checks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checks)
    low = toksmith.train("low lower lowest", merges=3, pattern=None, ties="first_seen", progress=False)
    special = toksmith.train("low low", merges=1, special_tokens=["<|end|>"], progress=False)
    right: dict[tuple[str, int], object] = {
        ("1-", 1): [ord(char) for char in "naïve"],
        ("1-", 2): toksmith.train("hello there", kind="chars", progress=False).encode("three"),
        ("2-", 1): [195, 159],
        ("2-", 2): repr(" ".join(f"{byte:08b}" for byte in "€".encode())),
        ("3-", 1): reference.pair_counts([1, 2, 1, 2, 1]),
        ("3-", 2): reference.replace_pair([1, 1, 1, 2, 1, 1], (1, 1), 9),
        ("3-", 3): checks.learned("low lower lowest", 3),
        ("4-", 1): low.encode("slow low"),
        ("4-", 2): repr(low.decode([115, 257, 32, 257])),
        ("6-", 1): [
            piece.decode() for piece in reference.split("It's 10 o'clock.", toksmith.patterns()["gpt2"].regexes)
        ],
        ("5-", 1): [(116, 111), (128, 32)],
        ("6-", 2): special.encode("low<|end|>", special="allow"),
        ("7-", 1): 2,
        ("7-", 2): [300, 1, 2, 301, 3, 302],
        ("8-", 1): [256, 256, 97],
        ("9-", 1): "3 3\n2 6\n4 12",
        ("10", 1): toksmith.train("    x = 1\n    y = 2", merges=3, pattern=None).count("    y = 2"),
        ("11", 1): ["123", "456", "7", " ", "89"],
        ("12", 1): toksmith.train("is it so it is", merges=4).encode("so it is "),
        ("13", 1): [3, 4, 5],
        ("14", 1): 5,
        ("15", 1): 1,
    }
    for page in LESSON:
        exercises = [each.place for each in placed_cells(page) if each.cell.is_exercise]
        assert page.name == "README.md" or exercises, page.name
        seen.open(url_of(page))
        for number, place in enumerate(exercises, 1):
            cell = seen.cell(place)
            answer = cell.get_by_label("Your answer, or what your code prints")
            check = cell.get_by_role("button", name="Check", exact=True)
            check.click()
            cell.get_by_text("Type an answer first.").wait_for()
            cell.get_by_role("button", name="Show the answer").click()
            shown = seen.figure(place)
            assert shown == str(right.pop((page.name[:2], number))), page.name
            answer.fill(shown)
            check.click()
            cell.get_by_text("Right.", exact=True).wait_for()
            answer.fill(f"{shown}, 5")
            check.click()
            cell.get_by_text(re.compile(r"are right; you have \d+ of \d+\.|Item \d+ differs")).wait_for()
            answer.fill("'strange'")
            check.click()
            cell.get_by_text("Item 1 differs: you have strange.").wait_for()
    assert right == {}


@pytest.mark.parametrize(
    ("page", "kind", "values", "said"),
    [
        ("6-split-patterns-and-special-tokens", "split", {"Split_pattern": "[a-"}, "expected a regex"),
        ("3-training", "steps", {"Training_text": ""}, "The training text is empty"),
        ("3-training", "steps", {"Merges": "-3"}, "Merges: expected a whole number from 0 to 8,000."),
        ("3-training", "pairs", {"Ids": "1, x"}, "'1, x': expected whole numbers"),
        ("4-encoding-and-decoding", "decode", {"Ids": "275, 276"}, "id 276 at position 1 is out of range"),
        ("1-characters", "tokens", {"Text": "a" * 200_001}, "200,001 characters are too long for a cell"),
        ("1-characters", "chars", {"Text": "hole😄"}, "'😄' is not in the vocabulary (offset 4)"),
        ("1-characters", "words", {"Text": "it will rain tomorrow"}, "' tomorrow' is not in the vocabulary (offset 12)"),
        ("6-split-patterns-and-special-tokens", "tokens", {"A_special_token_in_the_text": "raise"}, "holds the special token"),
    ],
)  # fmt: skip
def test_a_cell_says_what_is_wrong(seen: Cells, page: str, kind: str, values: dict[str, str], said: str) -> None:
    document = ROOT / "docs" / "lesson" / f"{page}.md"
    fitting = [
        each
        for each in placed_cells(document)
        if each.cell.kind == kind and ("specials" in each.cell.values or "raise" not in str(values))
    ]
    seen.open(f"lesson/{page}/")
    seen.give(fitting[0].place, **values)
    assert said in seen.said(fitting[0].place)
    assert seen.cell(fitting[0].place).locator(".printed").count() == 0
    cell = seen.cell(fitting[0].place)
    seen.forget()
    cell.get_by_role("button", name="Reset").click()
    seen.settle(fitting[0].place)
    assert cell.locator(".printed").count() == 1


def test_half_of_a_pair_and_a_file_that_is_no_tokenizer_are_refused(seen: Cells, tmp_path: Path) -> None:
    seen.open("lesson/1-characters/")
    seen.cell(0)
    seen.forget()
    seen.page.evaluate("""() => {
      const box = document.querySelector('div.cell textarea');
      box.value = 'a\\ud83d';
      box.dispatchEvent(new Event('input', { bubbles: true }));
    }""")
    seen.settle(0)
    assert "place 1 has half of a UTF-16 pair" in seen.said(0)
    seen.open("lesson/9-languages/")
    cell = seen.cell(0)
    figure = seen.figure(0)
    strange = tmp_path / "strange.json"
    strange.write_bytes(b"\xff\x00 no tokenizer")
    for file, said in ((strange, "the file begins with"), (tmp_path / "mine.tiktoken", "does not have its pattern")):
        file.write_bytes(file.read_bytes() if file.exists() else b"YQ== 0\n")
        cell.locator("input[type=file]").set_input_files([file])
        cell.get_by_text(said).wait_for()
        assert seen.figure(0) == figure


def test_without_the_engine_the_page_stays_as_it_is(browser: Any, address: str) -> None:
    seen = Cells(browser, address)
    seen.page.route("**/engine/**", lambda route: route.abort())
    page = seen.open("lesson/1-characters/")
    seen.cell(0)
    assert seen.figure(0) == "[104, 233, 108, 108, 111]"  # needs no engine
    seen.cell(3)
    assert "The engine could not be loaded" in seen.said(3)
    assert page.locator(".highlight", has_text="itos").is_visible()
    seen.context.close()
    for options in ({"java_script_enabled": False}, {}):
        context = browser.new_context(**options)
        plain = context.new_page()
        plain.add_init_script("delete globalThis.WebAssembly")
        plain.goto(f"{address}lesson/1-characters/")
        assert plain.locator("div.cell").count() > 0 and plain.locator("div.cell summary").count() == 0
        context.close()


def test_the_engine_is_loaded_once_and_only_on_request(seen: Cells) -> None:
    asked: list[str] = []
    seen.page.on("request", lambda request: asked.append(request.url))
    page = seen.open("lesson/4-encoding-and-decoding/")
    page.wait_for_load_state("networkidle")
    assert not [url for url in asked if "engine/" in url or "figures.js" in url]
    for place in (0, 1, 2):
        seen.cell(place)
    assert [url.rpartition("/")[2] for url in asked if "engine/" in url].count("toksmith.wasm") == 1


def test_cells_work_in_a_page_that_is_opened_as_a_file(browser: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto((SITE / "lesson" / "4-encoding-and-decoding" / "index.html").as_uri())
    page.locator("div.cell summary").first.click()
    printed = page.locator("div.cell .printed").first
    printed.wait_for()
    assert printed.inner_text() == "[104, 263, 108, 111, 272, 266, 108, 100, 33]"
    context.close()


def test_a_cell_is_used_with_the_keyboard(seen: Cells) -> None:
    page = seen.open("lesson/4-encoding-and-decoding/")
    page.locator("div.cell summary").first.focus()
    page.keyboard.press("Enter")
    seen.settle(0)
    for _ in range(5):
        page.keyboard.press("Tab")
    page.keyboard.press("Control+a")
    seen.forget()
    page.keyboard.type("hello")
    seen.until("document.querySelector('div.cell .said').textContent.startsWith('4 tokens')")
    assert seen.figure(0) == "[104, 263, 108, 111]"
    assert seen.cell(0).locator("[role=status]").count() == 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Reset"


@pytest.mark.parametrize(("width", "scheme"), [(NARROW, "light"), (WIDE, "dark")])
def test_open_cells_fit_and_axe_finds_nothing_serious(browser: Any, address: str, width: int, scheme: str) -> None:
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("lacks axe-playwright-python; `make test-browser` installs it")
    source = (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")
    seen = Cells(browser, address, width=width, scheme=scheme)
    for page in LESSON:
        seen.open(url_of(page))
        for each in placed_cells(page):
            seen.cell(each.place)
            if each.cell.is_exercise:
                seen.cell(each.place).get_by_role("button", name="Show the answer").click()
                seen.settle(each.place)
        assert seen.page.evaluate(TOO_WIDE) == [], page.name
        seen.page.evaluate(source)
        problems = seen.page.evaluate("""async () => (await axe.run('.md-content div.cell', { iframes: false })).violations
          .filter((each) => ['serious', 'critical'].includes(each.impact)).map((each) => `${each.id}: ${each.nodes[0].html.slice(0, 150)}`)""")
        assert problems == [], page.name
    seen.close()
