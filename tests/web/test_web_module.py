"""The WebAssembly module of `make web` gives the ids, ranges, texts and trained files of the native engine, in node and in
Chromium.

`TOKSMITH_EXHAUSTIVE=1` runs more than a million cases.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

import drawn_models
import pytest
from conftest import DATA, ROOT
from drawn_texts import Drawing
from hard_texts import HARD_TEXTS
from hypothesis import HealthCheck, given, settings
from processors import LIMIT_S
from systems import lacking

import toksmith
from toksmith import Model, Tokenizer
from toksmith.errors import NotInVocabulary, ToksmithError

MODULE = ROOT / "build" / "web"
MODULES = ("toksmith.wasm", "toksmith-full.wasm")
NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium")
EVERYTHING = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
TEXTS = 100 if EVERYTHING else 20  # of each drawn model
SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<s>", '<\u200b\U000e0001\\ ">']
PUBLISHED = {"cl100k_base": "cl100k", "o200k_base": "o200k", "r50k_base": "gpt2", "llama3": "llama3"}

pytestmark = [
    pytest.mark.skipif(NODE is None, reason="lacks node"),
    pytest.mark.skipif(not (MODULE / "toksmith.wasm").exists(), reason="lacks build/web; run make web"),
]


def run(lines: Iterator[Any], module: str = MODULES[0]) -> int:
    """Run the cases in node, and return their number; each must be equal."""
    command = [str(NODE), str(Path(__file__).with_name("run_cases.mjs")), str(MODULE), module]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        for line in lines:
            process.stdin.write(json.dumps(line) + "\n")
        process.stdin.close()
        found = json.loads(process.stdout.read() or "{}")
    assert process.returncode == 0
    assert found["different"] == 0, found["differences"]
    print(f"{found['cases']:,} cases in {module}")
    return int(found["cases"])


def joined(text: str) -> str:
    """The text as JavaScript and the engine have it: surrogates in pairs are one character, others are U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def case(tok: Tokenizer, text: str, special: str) -> list[Any]:
    """A text with the native ids, or the name of the error, and the ranges in units of UTF-16."""
    try:
        found = tok.encode_with_offsets(joined(text), special=special)
    except ToksmithError as error:
        return [text, special, type(error).__name__, None]
    units = [0, *accumulate(1 + (char > "\uffff") for char in joined(text))]
    return [
        text,
        special,
        found.ids.tolist(),
        [[units[at] for at in ends.tolist()] for ends in (found.starts, found.ends)],
    ]


def cases(tok: Tokenizer, texts: Iterator[str], random: Random) -> Iterator[list[Any]]:
    """The texts with a drawn treatment of special tokens, and drawn ids with their text."""
    ids = tok.model.ids.tolist()
    for text in texts:
        yield case(tok, text, random.choice(["raise", "allow", "text", "text"]))
        if random.random() < 0.1 and ids:
            drawn = random.choices(ids, k=random.randrange(12))
            yield [drawn, tok.decode(drawn)]


def saved(tok: Tokenizer, path: Path) -> dict[str, Any]:
    """The line that loads the native file of a tokenizer."""
    tok.save(path)
    return {"file": str(path), "options": {}}


@pytest.fixture(scope="module")
def real() -> list[str]:
    """Texts of real corpora, if these are here."""
    files = sorted((DATA / "corpora").glob("*.jsonl.gz")) if DATA.exists() else []
    texts = []
    for path in files:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"][:5000] for line, _ in zip(lines, range(4), strict=False)]
    return texts


@pytest.mark.proof
def test_every_pattern_gives_the_native_ids(real: list[str], tmp_path: Path) -> None:
    drawn = 130_000 if EVERYTHING else 200

    def lines() -> Iterator[Any]:
        for seed, name in enumerate(toksmith.patterns()):
            corpus = [*HARD_TEXTS.values(), *Drawing(seed, real).texts(300)]
            tok = toksmith.train(corpus, 1200, pattern=name, special_tokens=SPECIAL_TOKENS, progress=False)
            yield saved(tok, tmp_path / f"{name}.toksmith")
            texts = [*HARD_TEXTS.values(), *(hard for row in toksmith.patterns()[name].hard_texts for hard in row[:1])]
            yield from cases(tok, iter([*texts, *real]), Random(seed))
            yield from cases(tok, Drawing(100 + seed, real).texts(drawn), Random(seed))

    assert run(lines()) > len(toksmith.patterns()) * drawn


@pytest.mark.proof
def test_drawn_models_give_the_native_ids(tmp_path: Path) -> None:
    drawn: list[Model] = []

    @settings(max_examples=3000 if EVERYTHING else 60, database=None, suppress_health_check=list(HealthCheck))
    @given(drawn_models.models())
    def draw(model: Model) -> None:
        steps: dict[str, Any] = dict.fromkeys(("normalizers", "splitters", "decoders", "post"), ())
        plain: dict[str, Any] = {"byte_fallback": False, "end_of_word_suffix": "", "continuing_subword_prefix": ""}
        unknown = None if model.kind == "bpe" else model.unknown_id
        if model.kind != "unigram":
            model = dataclasses.replace(
                model, scores=None, max_piece_chars=None, unknown_id=unknown, training=None, **steps, **plain
            )
            drawn.append(model)

    def lines() -> Iterator[Any]:
        for number, model in enumerate(drawn):
            tok, random = Tokenizer(model), Random(number)
            yield saved(tok, tmp_path / f"{number}.toksmith")
            parts = [*(token.decode(errors="replace") for token in model.tokens), *"abcdef é€"]
            texts = ("".join(random.choices(parts[-60:], k=random.randrange(30))) for _ in range(TEXTS))
            yield from cases(tok, texts, random)

    draw()
    assert len(drawn) > 20
    assert run(lines()) >= TEXTS * len(drawn)


@pytest.mark.proof
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_vocabularies_give_the_native_ids(name: str, module: str, real: list[str]) -> None:
    path = DATA / "vocab" / f"{name}.tiktoken"
    if not path.exists():
        pytest.skip(f"lacks {path}")
    special = {content: 1 << 18 | place for place, content in enumerate(SPECIAL_TOKENS)}
    tok = toksmith.load(path, pattern=PUBLISHED[name], special_tokens=special)
    options = {"pattern": PUBLISHED[name], "specialTokens": special}

    def lines() -> Iterator[Any]:
        yield {"file": str(path), "options": options}
        yield from cases(tok, iter([*HARD_TEXTS.values(), *real]), Random(1))
        yield from cases(tok, Drawing(7, real).texts(20_000 if EVERYTHING else 100), Random(2))

    assert run(lines(), module) > 100


@pytest.mark.proof
def test_training_gives_the_native_file(real: list[str], tmp_path: Path) -> None:
    trainings = 400 if EVERYTHING else 8

    def lines() -> Iterator[Any]:
        for seed in range(trainings):
            random = Random(seed)
            pattern = random.choice([*toksmith.patterns(), r"\w+|\W"])
            corpus = [joined(text) for text in Drawing(seed, real).texts(random.choice([1, 30, 400]))]
            corpus += [*random.choice([[], list(HARD_TEXTS.values())[:5]]), "a"]
            special = random.sample(SPECIAL_TOKENS, random.randrange(5))
            size, least = random.choice([260, 300, 1000, 4096]), random.choice([1, 1, 2, 3])
            tok = toksmith.train(corpus, size, pattern=pattern, special_tokens=special, min_count=least, progress=False)
            tok.save(path := tmp_path / f"{seed}.toksmith")
            options = {"vocabSize": size, "pattern": pattern, "specialTokens": special, "minCount": least}
            yield {"train": corpus, "options": options, "file": str(path)}

    assert run(lines()) == trainings


def test_the_interface(tmp_path: Path) -> None:
    ranks = ROOT / "crates" / "core" / "examples" / "small.tiktoken"
    tok = toksmith.load(ranks, pattern="gpt2", special_tokens={"<|end|>": 299})
    tok.save(native := tmp_path / "small.toksmith")
    command = [NODE, Path(__file__).with_name("interface.mjs"), MODULE, ranks, native]
    subprocess.run([*map(str, command)], check=True)


def merging(tok: Tokenizer, pieces: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The pieces with their merges, or the name of the error."""
    for piece in pieces:
        try:
            found = toksmith.explain.merges(tok, piece)
        except NotInVocabulary:  # the module leaves the symbol without an id
            continue
        except ToksmithError as error:
            yield {"piece": piece, "merges": type(error).__name__}
            continue
        steps = [[plain(step.symbols), *([*each] for each in (step.candidates, step.chosen))] for step in found.steps]
        yield {"piece": piece, "merges": [found.whole_id, steps, plain(found.merged)]}


def plain(symbols: Iterable[Any]) -> list[Any]:
    return [[symbol.id, list(symbol.token)] for symbol in symbols]


def test_merges_are_those_of_the_package(tmp_path: Path) -> None:
    tok = toksmith.load(ROOT / "crates" / "core" / "examples" / "small.tiktoken", pattern="gpt2")
    characters = toksmith.train(["low lower", "\u00fcber"], 300, unit="char", progress=False)
    kinds = [toksmith.train(["low lower lowest"], 60, kind=kind, progress=False) for kind in ("wordpiece", "unigram")]

    def lines() -> Iterator[Any]:
        for number, each in enumerate([tok, characters, *kinds]):
            yield saved(each, tmp_path / f"{number}.toksmith")
            yield from merging(each, ["the", "thethe", "\u00fcber", "a", "", "lower", "ranran", "a" * 513])

    assert run(lines()) > 25


@pytest.mark.proof
@pytest.mark.skipif(CHROMIUM is None, reason="lacks Chromium; `make test-browser` installs Debian's")
def test_a_page_gives_the_native_ids(real: list[str], tmp_path: Path) -> None:
    corpus = [*HARD_TEXTS.values(), *Drawing(1, real).texts(300)]
    tok = toksmith.train(corpus, 1200, special_tokens=SPECIAL_TOKENS, progress=False)
    texts = [*corpus, *real, *Drawing(2, real).texts(20_000 if EVERYTHING else 200)]
    clean = [joined(text) for text in corpus if text]
    toksmith.train(clean, 600, progress=False).save(trained := tmp_path / "trained.toksmith")
    training = {"train": clean, "options": {"vocabSize": 600}, "file": str(trained)}
    lines = [saved(tok, tmp_path / "page.toksmith"), *cases(tok, iter(texts), Random(3)), training]
    page = [json.dumps(line) for line in lines]
    found = in_page("\n".join(page), tmp_path)
    assert found["different"] == 0, found
    assert found["cases"] > len(texts)


@pytest.mark.skipif(CHROMIUM is None, reason="lacks Chromium; `make test-browser` installs Debian's")
def test_a_page_that_is_opened_as_a_file_trains_and_answers(tmp_path: Path) -> None:
    found = in_page("", tmp_path, f"file://{Path(__file__).with_name('file.html')}#")
    assert found == {"low": [257], "words": 1, "found": 2}


def in_page(lines: str, folder: Path, page: str = "") -> Any:
    """What a page posts in a headless Chromium: one that is opened as a file, or `page.html` after it ran these lines."""
    found: list[Any] = []
    done = threading.Event()

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            root = {"module": MODULE, "tests": Path(__file__).parent}.get(path.split("/")[1])
            return path if root is None else str(root / path.split("/", 2)[2])

        def do_POST(self) -> None:
            found.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            done.set()

        def log_message(self, *_: object) -> None:
            pass

    (folder / "lines.json").write_text(lines, "utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{server.server_port}"
        url = f"{page}{origin}" if page else f"{origin}/tests/page.html#{folder}/lines.json"
        flags = ["--headless=new", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
        flags += ["--no-sandbox"] if lacking("permissions") else []  # Chromium cannot build one as root
        with subprocess.Popen([str(CHROMIUM), *flags, url], stderr=subprocess.DEVNULL) as browser:
            done.wait(LIMIT_S)
            browser.terminate()
        server.shutdown()
    assert found, "the page posted nothing"
    return found[0]
