"""The live trainer on the server: its texts, its training, its sizes, and the tokenizers that it saves."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from processors import LIMIT_S, processor_s

import toksmith
from toksmith import explain
from toksmith._playground import live_training, server, views
from toksmith._playground.live_training import LiveTexts, Stopped, TrainingWatch, measure_at, train_on
from toksmith._playground.views import trainer

TEXTS = {"English": "low lower lowest slow slower slowest " * 5, "Hindi": "नमस्ते नमन नमस्ते " * 5}


@pytest.fixture
def session() -> views.Session:
    tok = toksmith.train("low", merges=0, progress=False)
    return views.Session({"bytes": tok}, {}, {"English": "low lower lowest low", "Korean": "낮은 낮다 낮은"})


def ask(session: views.Session, view: str, **values: Any) -> Any:
    return views.answer_values(view, views.ViewRequest(session, values))["result"]


def send_texts(session: views.Session, **texts: str | bytes) -> str:
    """Sends texts and returns their key."""
    listed = [
        {"name": name, "text": text}
        if isinstance(text, str)
        else {"name": name, "data": base64.b64encode(text).decode()}
        for name, text in texts.items()
    ]
    return str(ask(session, "corpus", texts=listed)["corpus"])


# Texts


def test_texts_are_kept_by_name_and_in_bytes(session: views.Session) -> None:
    found = ask(session, "corpus", texts=[{"name": "a", "text": "é"}, {"name": "a", "data": "/w=="}], sentences=True)
    assert found["texts"] == [
        {"name": "English", "bytes": 20, "whole": True},
        {"name": "Korean", "bytes": 20, "whole": True},
        {"name": "a", "bytes": 2, "whole": True},
        {"name": "a (2)", "bytes": 1, "whole": False},
    ]
    assert found["bytes"] == 43
    assert found["corpus"] != send_texts(session, a="é")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"texts": []}, "at least one byte"),
        ({"texts": [{"name": "a", "text": ""}]}, "at least one byte"),
        ({"texts": [{"name": "a", "text": "x"}] * 41}, "1 to 40 texts"),
        ({"texts": [{"name": "a", "text": "x" * 5_000_001}] * 2}, "at most 10,000,000 bytes in all"),
        ({"texts": [{"name": "a", "data": "?"}]}, "base64"),
        ({"texts": ["a"]}, "for each text a name"),
        ({"texts": "a"}, "a list of texts"),
    ],
)
def test_wrong_texts_are_refused(session: views.Session, values: Any, said: str) -> None:
    with pytest.raises(toksmith.errors.InvalidOption, match=said):
        ask(session, "corpus", **values)


def test_evicted_texts_are_requested_again(session: views.Session) -> None:
    key = send_texts(session, a="low low")
    ask(session, "train", corpus=key)
    for number in range(views.KEPT["corpus"]):
        send_texts(session, a=f"low {number}")
    answer = server.answer_view(session, "train", "", json.dumps({"corpus": key}).encode())
    assert (answer.status_code, json.loads(bytes(answer.body))["kind"]) == (409, "UnknownText")


# Sizes


@pytest.mark.parametrize("pattern", ["o200k", "gpt2", None])
@pytest.mark.parametrize("ties", ["lowest_ids", "first_seen"])
def test_every_size_equals_a_training_at_that_size(session: views.Session, pattern: str | None, ties: Any) -> None:
    key = send_texts(session, **TEXTS)
    options = {"corpus": key, "pattern": pattern, "ties": ties, "special_tokens": ["<|end|>"]}
    about = ask(session, "train", **options)
    assert about["least"] == 257 and about["bytes"] == sum(len(text.encode()) for text in TEXTS.values())
    for size in {about["least"], about["least"] + 1, (about["least"] + about["most"]) // 2, about["most"]}:
        own = toksmith.train(
            [*TEXTS.values()],
            size,
            pattern=pattern,
            ties=ties,
            special_tokens=["<|end|>"],
            min_count=2,
            max_token_bytes=live_training.LONGEST,
            progress=False,
        )
        found = ask(session, "trained", **options, size=size, sentence="slowest नमन <|end|>")
        ids = own.encode("slowest नमन <|end|>", special="text")
        assert [each["id"] for each in found["sentence"]] == ids
        assert "".join(each["shown"] for each in found["sentence"]).startswith("slowest")
        totals = {name: own.count(text) for name, text in TEXTS.items()}
        assert {each["name"]: each["tokens"] for each in found["languages"]} == totals
        assert found["tokens"] == sum(totals.values()), "the record of the training counts the whole texts"
        for each in found["languages"]:
            assert each["per_word"] == toksmith.metrics.measure(own, [TEXTS[each["name"]]])["fertility"]
        if found["merges"]:
            newest = len(own) - 2  # before the special token
            assert found["newest"][0]["id"] == newest == found["tree"]["id"]
            tree = explain.token(own, newest).to_dict()
            assert [node["hex"] for node in found["tree"]["nodes"]] == [node["hex"] for node in tree["nodes"]]
        assert about["curve"][0] == [257, about["bytes"]] and about["curve"][-1][0] == about["most"]


def test_a_tree_has_only_the_merges_of_its_size(session: views.Session) -> None:
    key = send_texts(session, **TEXTS)
    about = ask(session, "train", corpus=key)
    for size in range(about["least"] + 1, about["most"] + 1, 3):
        own = measure_at(trainer.training_of(views.ViewRequest(session, {"corpus": key})), size, b"").tok
        found = ask(session, "trained", corpus=key, size=size, sentence="", id=ord("o"))
        assert found["tree"]["children"] == views.page_values(explain.token(own, ord("o")).to_dict()["children"])


def test_only_the_beginnings_of_long_texts_are_measured() -> None:
    texts = LiveTexts({"a": "é".encode() * 1000, "b": b"low " * 10, "c": b"\x80" * 500})
    cut = texts.beginnings(303)
    assert [len(data) for data in cut.values()] == [100, 40, 101 - 3]
    assert cut["a"].decode() == "é" * 50


@pytest.mark.parametrize(
    ("text", "merges"), [("a", 0), ("aaaa", 1), (b"\xff\xfe\xff\xfe", 0), ("\x00" * 9, 3), ("<|end|>", 0)]
)
def test_texts_of_one_character_train(session: views.Session, text: str | bytes, merges: int) -> None:
    key = send_texts(session, a=text)
    about = ask(session, "train", corpus=key, special_tokens=["<|end|>"])
    assert about["most"] - about["least"] >= min(merges, 1)
    found = ask(session, "trained", corpus=key, special_tokens=["<|end|>"], size=about["least"], sentence="aa")
    assert len(found["sentence"]) == 2 and found["newest"] == [] and found["tree"] is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"size": 255}, "no merges"),
        ({"size": 100_000}, "all that were learned"),
        ({"size": "256"}, "a whole number"),
        ({"size": 256, "pattern": "none"}, "pattern"),
        ({"size": 256, "ties": "highest"}, "lowest_ids or first_seen"),
        ({"size": 256, "special_tokens": ["a", "ab"]}, "special_tokens"),
        ({"size": 256, "sentence": "x" * 1001}, "at most 1,000"),
    ],
)
def test_wrong_options_are_refused(session: views.Session, values: Any, said: str) -> None:
    with pytest.raises(toksmith.ToksmithError, match=said):
        ask(session, "trained", corpus=send_texts(session, **TEXTS), **values)


def test_a_training_with_too_many_merges_trains_again_with_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_training, "MOST_MERGES", 0)
    monkeypatch.setattr(live_training, "MOST_SIZE", 260)
    texts = LiveTexts({"a": TEXTS["English"].encode()})
    counts = toksmith.corpus.count([*texts.by_name.values()], progress=False)
    found = train_on(counts, texts, "lowest_ids", [], lambda _: None)
    assert found.most == 260
    monkeypatch.setattr(live_training, "MOST_MERGES", 10**6)
    assert train_on(counts, texts, "lowest_ids", [], lambda _: None).largest == found.largest


# Stopping


def test_the_last_training_goes_on_and_the_others_stop() -> None:
    watch = TrainingWatch()
    first, second = watch.begin(), watch.begin()
    second(None)
    with pytest.raises(Stopped, match="stopped"):
        first(None)
    watch.stop()
    with pytest.raises(Stopped):
        second(None)


def test_a_request_stops_a_training(session: views.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(counts: Any, texts: Any, ties: Any, special: Any, check: Any) -> None:
        begun.set()
        go_on.wait(LIMIT_S)
        check(None)

    monkeypatch.setattr(trainer, "train_on", slow)
    key = send_texts(session, **TEXTS)
    raised: list[Exception] = []

    def run() -> None:
        try:
            ask(session, "train", corpus=key)
        except toksmith.ToksmithError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(LIMIT_S)
    ask(session, "stop_training")
    go_on.set()
    thread.join(LIMIT_S)
    assert [type(error) for error in raised] == [Stopped]
    monkeypatch.undo()
    assert ask(session, "train", corpus=key)["most"] > 256, "it can be trained again"


# Keeping


def test_a_trained_tokenizer_becomes_one_of_the_page(session: views.Session) -> None:
    key = send_texts(session, **TEXTS)
    for name in ("trained", "trained (2)"):
        found = ask(session, "trained_tokenizer", corpus=key, size=262, name="trained")
        assert found["name"] == name == found["about"]["tokenizers"][-1]["name"]
    assert len(session.toks["trained"]) == 262
    ids = ask(session, "all_ids", text="slow", tokenizers=["trained"])["ids"]
    assert ids == session.toks["trained"].encode("slow")


@pytest.mark.parametrize("format", toksmith.formats())
def test_a_trained_tokenizer_is_saved_in_every_format_that_can_hold_it(
    session: views.Session, format: str, tmp_path: Path
) -> None:
    values = {"corpus": send_texts(session, **TEXTS), "size": 270, "format": format, "special_tokens": ["<|end|>"]}
    found = ask(session, "trained_file", **values)
    if "cannot" in found:
        assert all(said.startswith(f"The format {format} cannot hold ") and "(" not in said for said in found["cannot"])
        if found["without"] is None:
            return
        assert found["without"]
        found = ask(session, "trained_file", **values, without=found["without"])
    data = base64.b64decode(found["data"])
    if found["name"].endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            packed.extractall(tmp_path)
        paths = [path for path in tmp_path.iterdir() if path.suffix != ".vocab"]
    else:
        paths = [tmp_path / found["name"]]
        paths[0].write_bytes(data)
    row = toksmith.formats()[format]
    given: dict[str, Any] = {"pattern": "o200k"} if "pattern" in row.arguments else {}
    if "special_tokens" in row.arguments:
        given["special_tokens"] = {"<|end|>": 269}
    again = toksmith.load(tmp_path if len(paths) > 1 else paths[0], format=format, **given)
    own = measure_at(trainer.training_of(views.ViewRequest(session, dict(values))), 270, b"").tok
    assert again.decode(again.encode("slowest नमन")) == "slowest नमन"
    if format != "gpt2":  # it was saved without its pattern
        assert again.encode("slowest नमन") == own.encode("slowest नमन")


# Speed


@pytest.mark.proof
@pytest.mark.alone
@pytest.mark.skipif("TOKSMITH_SPEED" not in os.environ, reason="measures speed: lacks TOKSMITH_SPEED=1")
def test_the_time_of_a_step_of_the_slider(session: views.Session, corpora_dir: Path) -> None:
    texts = {}
    for path in sorted(corpora_dir.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            text = "".join(json.loads(line)["text"] for line in lines)
        texts[path.name] = text.encode()[:1_100_000]
    key = send_texts(session, **texts)
    taken = processor_s(lambda: ask(session, "train", corpus=key))
    print(f"\n{sum(map(len, texts.values())):,} bytes: training takes {taken:.2f} s of processor time")
    sentence = "A countryman has a goose that lays a golden egg. " * 3

    def ask_next(sizes: Iterator[int]) -> None:
        ask(session, "trained", corpus=key, sentence=sentence, size=next(sizes))

    for size in (300, 1000, 8000, 32_000, 65_000):
        step = processor_s(partial(ask_next, iter(range(size, size + 9))), 5)
        print(f"a step to {size:,} tokens takes {1000 * step:.0f} ms")
