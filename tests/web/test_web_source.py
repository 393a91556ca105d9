"""The source of the playground in the page (`crates/web/js/playground`) gives the answers of the local server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from drawn_pieces import drawn_model
from drawn_texts import Drawing
from hard_texts import HARD_TEXTS

import toksmith
from toksmith._playground.views import Session, ViewRequest, answer_values
from toksmith.errors import ToksmithError

MODULE = ROOT / "build" / "web"
NODE = shutil.which("node")
TEXTS = 400 if os.environ.get("TOKSMITH_EXHAUSTIVE") else 20
SPECIAL_TOKENS = ["<|end|>", "<s>"]
LANGUAGES = {"English": "the goose lays a golden egg", "Deutsch": "die Gans legt ein goldenes Ei"}
# Measured by no page: half a cell for each bit of the code.
WIDTHS = range(1, 20)

pytestmark = [
    pytest.mark.skipif(NODE is None, reason="lacks node"),
    pytest.mark.skipif(not (MODULE / "toksmith.wasm").exists(), reason="lacks build/web; run make web"),
]


def answered(session: Session, view: str, text: str | None, values: dict[str, Any]) -> list[Any]:
    """A request with the answer of the server."""
    own = dict(values) if text is None else {**values, "text": text}
    try:
        answer = answer_values(view, ViewRequest(session, own))["result"]
    except ToksmithError as error:
        answer = {"error": type(error).__name__}
    if answer.get("refusal"):  # the advice has other names here
        found = re.fullmatch(r"(.* at offset )(\d+); .*", answer["refusal"], re.DOTALL)
        assert found and text
        answer["refusal"] = f"{found[1]}{len(text[: int(found[2])].encode('utf-16-le')) // 2}"
    return [view, text, values, answer]


def run(program: str, lines: Iterator[Any]) -> dict[str, Any]:
    """What a program of this folder finds in node; none of its answers may differ."""
    script = "".join(json.dumps(line) + "\n" for line in lines)
    command = [str(NODE), str(Path(__file__).with_name(program)), str(MODULE)]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["different"] == 0, "\n".join(found["shown"])
    return found


def compared(lines: Iterator[Any]) -> int:
    """The number of answers of the page's source that are those of the server."""
    return int(run("answers.mjs", lines)["answers"])


@pytest.fixture(scope="module")
def toks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, toksmith.Tokenizer]:
    corpus = [*HARD_TEXTS.values(), *Drawing(5).texts(200)]
    small = toksmith.train(corpus, 400, special_tokens=SPECIAL_TOKENS, progress=False)
    large = toksmith.train(corpus, 1500, pattern="gpt2", progress=False)
    ranks = toksmith.load(ROOT / "crates" / "core" / "examples" / "small.tiktoken", pattern="cl100k")
    (path := tmp_path_factory.mktemp("models") / "it.model").write_bytes(drawn_model(Random(1)))
    unigram = toksmith.train(corpus, 1100, kind="unigram", progress=False)
    return {"small": small, "large": large, "ranks": ranks, "pieces": toksmith.load(path), "unigram": unigram}


def start(toks: dict[str, toksmith.Tokenizer], folder: Path) -> Iterator[Any]:
    yield {"texts": LANGUAGES, "version": "1"}
    for name, tok in toks.items():
        tok.save(path := folder / f"{name}.toksmith")
        yield {"add": name, "file": str(path)}


def requests(random: Random, text: str, toks: dict[str, toksmith.Tokenizer]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Views of a text with drawn values."""
    names = random.sample([*toks], random.randrange(1, 4))
    size = len(text.encode())
    shared = {"tokenizers": names, "special": random.choice(["text", "allow"])}
    one = {**shared, "of": random.choice(names)}
    cells = {"cells": random.choice([1, 7, 20, 80]), "marks": random.random() < 0.5}
    first = random.choice([0, 0, 3])
    yield "counts", shared
    yield "rows", {**shared, **cells, "first": first, "last": first + random.choice([1, 20])}
    yield "differences", shared
    yield "difference", {**shared, **cells, "after": random.randrange(-1, size + 1), "back": random.random() < 0.5}
    yield "ids", {**one, "first": first, "last": 50}
    yield "all_ids", one
    yield "place", {**one, **cells, "token": 0}
    yield "piece", {**one, "byte": random.randrange(size + 1)}
    yield "tokens", shared
    yield "specials", {"tokenizers": names}
    yield "prompt", {**one, "end": random.randrange(len(text) + 1)}
    yield "budget", {**shared, "context": random.choice([0, 3, 1000])}
    typed = {**shared, "typed": random.choice(["e", " ", "नम", "<s>"])}
    yield "edit", {**typed, "at": random.randrange(len(text) + 1)}
    if size < 500:
        yield "stability", typed
    yield "proposed", {"tokenizers": names}


@pytest.mark.proof
def test_texts_have_the_answers_of_the_server(toks: dict[str, toksmith.Tokenizer], tmp_path: Path) -> None:
    session = Session(toks, {}, LANGUAGES)
    random = Random(1)
    texts = ["", "a<|end|>b<s>", *HARD_TEXTS.values(), *Drawing(2).texts(TEXTS)]
    texts = [text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")[:3000] for text in texts]

    def lines() -> Iterator[Any]:
        yield from start(toks, tmp_path)
        widths = {char: WIDTHS[ord(char) % len(WIDTHS)] for text in texts for char in text}
        every = "".join(widths)
        session.widths.of(every, np.frombuffer(every.encode("utf-32-le"), np.uint32))  # as the first rows do
        session.widths.take(widths)
        yield ["measured", None, {"widths": widths}, {"wanted": ""}]
        for text in texts:
            for view, values in requests(random, text, toks):
                yield answered(session, view, text, values)

    assert compared(lines()) > 10 * len(texts)


def test_tokens_have_the_answers_of_the_server(toks: dict[str, toksmith.Tokenizer], tmp_path: Path) -> None:
    session = Session(toks, {}, LANGUAGES)
    random = Random(2)

    def lines() -> Iterator[Any]:
        yield from start(toks, tmp_path)
        yield answered(session, "lengths", None, {"tokenizers": [*toks]})
        for name, tok in toks.items():
            about = {"tokenizers": [name]}
            for id in random.sample(tok.model.ids.tolist(), min(40, len(tok.model.ids))):
                yield answered(session, "tree", None, {**about, "id": id})
                yield answered(session, "history", None, {**about, "id": id})
                query = tok.decode([id])
                yield answered(session, "search", None, {**about, "query": query, "by": "text"})
                yield answered(session, "merges", None, {**about, "piece": query * random.randrange(4)})
                yield answered(session, "decode", None, {**about, "ids": random.choices(tok.model.ids.tolist(), k=9)})
            for query, by in [
                ("20 ??", "bytes"),
                ("2", "bytes"),
                ("97-99", "id"),
                ("x", "id"),
                ("lo", "text"),
                ("", "name"),
            ]:
                yield answered(session, "search", None, {**about, "query": query, "by": by})
            yield answered(session, "merges", None, {**about, "piece": "a" * 513})

        for texts in (["English: low lower", "日本: 低い", "x:"], ["a: b", "c:  d : e", "a: f"], ["no colon"], []):
            yield answered(session, "parity", None, {"tokenizers": [*toks][:1], "lines": texts})

    assert compared(lines()) > 200


def test_the_trainer_has_the_answers_of_the_server(toks: dict[str, toksmith.Tokenizer], tmp_path: Path) -> None:
    session = Session(toks, {}, LANGUAGES)
    texts = [
        {"name": f"text {place}", "text": text}
        for place, text in enumerate(["low lower lowest " * 20, "näher 日本 a" * 9])
    ]

    def lines() -> Iterator[Any]:
        yield from start(toks, tmp_path)
        for sentences, pattern in ((True, "o200k"), (False, None)):
            corpus = answered(session, "corpus", None, {"texts": texts, "sentences": sentences})
            yield corpus
            about = {"corpus": corpus[3]["corpus"], "pattern": pattern, "special_tokens": SPECIAL_TOKENS}
            train = answered(session, "train", None, about)
            yield train
            least, most = train[3]["least"], train[3]["most"]
            for size in {least, least + 1, (least + most) // 2, most}:
                yield answered(session, "trained", None, {**about, "size": size, "sentence": "the lowest näher!"})
            yield answered(session, "trained", None, {**about, "size": most, "id": 97})

    assert compared(lines()) == 14


LINE = "the goose lays\n\ta golden egg नमस्ते 낮은 every   day of the lowest year 12345 "
LONG_TEXTS = {
    "lines": LINE * 400,
    "line": LINE.replace("\n", " ") * 400,
    "no space": "한국어" * 6000,
    "raw": "ab" * 15_000,
}
NEW = ["", "x", " ", "\n", "नम", "goose\nlow", "<|end|>", "\ud800", "lowest " * 60]


def edited(random: Random, text: str, rounds: int) -> Iterator[str]:
    """A text, and the text after each of some drawn edits."""
    yield text
    for _ in range(rounds):
        start = random.choice([0, len(text), random.randrange(len(text) + 1)])
        end = min(len(text), start + random.choice([0, 0, 1, 40]))
        yield (text := text[:start] + random.choice(NEW) + text[end:])


@pytest.mark.slow
def test_an_edited_text_is_answered_as_if_it_were_new(toks: dict[str, toksmith.Tokenizer], tmp_path: Path) -> None:
    random = Random(3)
    rounds = 100 if os.environ.get("TOKSMITH_EXHAUSTIVE") else 5
    toks = {**toks, "raw": toksmith.train("ab abc b" * 9, merges=9, pattern=None, special_tokens=["<|end|>"])}
    names = [["small"], ["small", "large"], ["ranks", "raw"], ["pieces", "large"]]

    def lines() -> Iterator[Any]:
        yield {"files": {each["add"]: each["file"] for each in start(toks, tmp_path) if "add" in each}}
        for text in LONG_TEXTS.values():
            for tokenizers in names:
                for special in ("text", "allow"):
                    values = {"tokenizers": tokenizers, "special": special, "cells": random.choice([7, 30, 80])}
                    yield {"texts": [*edited(random, text, rounds)], "values": values}

    found = run("edits.mjs", lines())
    assert found["texts"] == len(LONG_TEXTS) * len(names) * 2 * (rounds + 1)
    for name in {name for group in names for name in group} - {"pieces"}:  # which has no cuts
        size, encoded = found["bytes"][name]
        assert 0 < encoded < size / 2, name
