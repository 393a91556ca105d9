"""Bounds on the playground's server: lengths of texts, simultaneous work, and the end of work.

The tests use no clock: they hold views with events, and count the views that began.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from processors import LIMIT_S, until
from systems import needs
from test_playground import Parts, ask_view, request

import toksmith
from toksmith._playground import server, views
from toksmith._playground.connections import Bodies, values_of
from toksmith._playground.views import folder as _folder
from toksmith._playground.views import view_request as _asked


@pytest.fixture(scope="module")
def toks() -> dict[str, toksmith.Tokenizer]:
    small, large = (toksmith.train("low lower lowest", merges=each, progress=False) for each in (3, 8))
    return {"small": small, "large": large}


@pytest.fixture
def playground(toks: dict[str, toksmith.Tokenizer]) -> Iterator[toksmith.types.Playground]:
    with toksmith.play(toks) as running:
        yield running


class Held:
    """A view that begins, and waits for an event."""

    def __init__(self) -> None:
        self.begun, self.given_up = 0, 0
        self.go_on = threading.Event()

    def __call__(self, asked: views.ViewRequest) -> dict[str, Any]:
        self.begun += 1
        assert self.go_on.wait(LIMIT_S)
        try:
            asked.go_on()
        except views.ClientLeft:
            self.given_up += 1
            raise
        return {}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """The view `lint` waits, and counts as long."""
    view = Held()
    monkeypatch.setattr(views, "VIEWS", {**views.VIEWS, "lint": view})
    monkeypatch.setattr(views, "LONG", frozenset({"lint"}))
    yield view
    view.go_on.set()


def open_request(playground: toksmith.types.Playground, view: str) -> socket.socket:
    """A connection with an unanswered request."""
    raw = socket.create_connection(("127.0.0.1", playground.port), timeout=LIMIT_S)
    head = f"POST /api/{view} HTTP/1.1\r\nHost: localhost:{playground.port}\r\nContent-Type: application/json\r\n"
    raw.sendall(f"{head}Content-Length: 2\r\n\r\n{{}}".encode())
    return raw


# Lengths of texts


@pytest.mark.parametrize("view", [*views.MOST, "rows"])
def test_a_text_that_is_too_long_for_a_view_is_refused(
    view: str, toks: dict[str, toksmith.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    most = views.MOST.get(view, 100_000)
    monkeypatch.setattr(views, "MOST_AT_ONCE", most)
    name = {"merges": "piece", "search": "query", "chat": "messages", "chat_change": "before"}.get(view, "text")
    questions = [(most + 1, ["small"])]
    if name == "text":  # the limit is for all tokenizers together
        questions.append((most // 2 + 1, ["small", "large"]))
    for size, names in questions:
        asked = views.ViewRequest(views.Session(toks, {}, {}), {name: "\n" * size, "tokenizers": names})
        with pytest.raises(toksmith.errors.InvalidOption, match=rf"{most:,} bytes.*command or Python") as caught:
            views.answer_values(view, asked)
        assert caught.value.argument == name
        assert ("2 tokenizers" in str(caught.value)) == (len(names) == 2)


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True])
def test_the_limit_is_in_bytes_and_holds_for_cached_texts(known: bool, toks: dict[str, toksmith.Tokenizer]) -> None:
    session, most = views.Session(toks, {}, {}), views.MOST["tokens"]
    for size in (most // 3, most // 3 + 1):
        values = {"tokenizers": ["small"], "text": "낮" * size}
        if known:
            values["key"] = views.answer_values("counts", views.ViewRequest(session, values))["key"]
            del values["text"]
        question = views.ViewRequest(session, values)
        if 3 * size > most:
            with pytest.raises(toksmith.errors.InvalidOption, match=f"{3 * size:,} bytes"):
                views.answer_values("tokens", question)
        else:
            assert views.answer_values("tokens", question)["result"]


def test_the_longest_text_has_an_answer_in_every_window(toks: dict[str, toksmith.Tokenizer]) -> None:
    """One tokenizer takes a text of the largest size in every view that the page requests while it shows a text."""
    session, text = views.Session(toks, {}, {}), "low lower\n" * 10_000
    for view in ("counts", "rows", "ids", "differences", "difference", "place", "piece", "prompt", "specials", "lint"):
        assert views.MOST.get(view, views.MOST_AT_ONCE) >= views.MOST_BYTES
        values = {"tokenizers": ["small"], "text": text, "token": 0, "last": 10}
        assert views.answer_values(view, views.ViewRequest(session, values))["result"]


def test_ids_of_long_tokens_are_refused_before_they_are_decoded(toks: dict[str, toksmith.Tokenizer]) -> None:
    session, tok = views.Session(toks, {}, {}), toks["large"]
    longest = max(range(len(tok)), key=lambda id: len(tok.token_bytes(id)))
    many = _asked.MOST_AT_ONCE // len(tok.token_bytes(longest)) + 1
    with pytest.raises(toksmith.errors.InvalidOption, match="at most 20,000,000 bytes"):
        views.answer_values("decode", views.ViewRequest(session, {"tokenizers": ["large"], "ids": [longest] * many}))


def test_a_long_conversation_is_refused(toks: dict[str, toksmith.Tokenizer]) -> None:
    messages = json.dumps([{"role": "user", "content": ""}] * 201)
    with pytest.raises(toksmith.errors.InvalidOption, match=r"at most 200 here.*toksmith explain chat"):
        views.answer_values(
            "chat", views.ViewRequest(views.Session(toks, {}, {}), {"tokenizers": ["small"], "messages": messages})
        )


@pytest.mark.parametrize("value", ["[]", "{}", '""', "0"])
def test_a_body_of_many_values_is_not_read(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toksmith._playground.connections.MOST_VALUES", 1000)
    few, many = (f"[{','.join([value] * count)}]".encode() for count in (400, 1001))
    assert values_of(few) == json.loads(few)
    with pytest.raises(ValueError, match="1,000 are allowed"):
        values_of(many)


def test_brackets_inside_of_a_text_are_not_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toksmith._playground.connections.MOST_VALUES", 10)
    for text in ("[" * 1000, ",{" * 1000, '"\\' * 1000, "\\" * 1001, '\\"' * 999):
        assert values_of(json.dumps({"text": text}).encode()) == {"text": text}


def test_bodies_share_one_limit() -> None:
    bodies = Bodies(1000)

    async def two() -> tuple[object, object]:
        first: Any = Parts(600)
        second: Any = Parts(600)
        async with bodies.receive(first, 1000) as one:
            async with bodies.receive(second, 1000) as other:
                assert bodies.held == 600
            return one, other

    one, other = asyncio.run(two())
    assert one == b"a" * 600 and isinstance(other, tuple) and other[0] == 503 and "1,000 bytes" in other[1]
    assert bodies.held == 0
    assert asyncio.run(two())[0] == b"a" * 600, "the limit is free again"


# Simultaneous work


def test_few_long_questions_run_others_wait_and_the_rest_is_refused(
    playground: toksmith.types.Playground, held: Held
) -> None:
    running, waiting = server.LONG_TURNS
    many = running + waiting + 3
    with ThreadPoolExecutor(many) as pool:
        answers = [pool.submit(ask_view, playground, "lint") for _ in range(many)]
        until(lambda: sum(each.done() for each in answers) == 3, "three are refused")
        refused = [each.result() for each in answers if each.done()]
        assert [each.status for each in refused] == [503] * 3 and "ask again" in refused[0].json["error"]
        assert held.begun == running
        assert request(playground, "GET", "/api/about").status == 200
        assert ask_view(playground, "counts", text="low", tokenizers=["small"]).status == 200
        held.go_on.set()
        assert [each.result(LIMIT_S).status for each in answers].count(200) == running + waiting


def test_long_texts_and_some_views_are_long_questions(toks: dict[str, toksmith.Tokenizer]) -> None:
    session = views.Session(toks, {}, {})
    long, short = (session.keep("a" * (views.SHORT + more)) for more in (1, 0))
    for values, expected in (
        ({"key": long}, True),
        ({"base": long, "edits": [[0, 0, "b"]]}, True),
        ({"text": "a" * views.SHORT}, True),
        ({"key": short}, False),
        ({"key": "unknown"}, False),
        ({"key": [1]}, False),
        ({"text": "low"}, False),
    ):
        assert views.is_long(session, "rows", json.dumps(values).encode()) is expected, values
    assert views.is_long(session, "train", b"{}") and not views.is_long(session, "stop_training", b"{}")
    assert not views.is_long(session, "rows", b"[1]") and not views.is_long(session, "rows", b"?")
    assert {*views.VIEWS} > views.LONG and {*views.MOST} < {*views.VIEWS}


# The end of work


def test_work_ends_when_its_client_has_left(playground: toksmith.types.Playground, held: Held) -> None:
    running, _ = server.LONG_TURNS
    connections = [open_request(playground, "lint") for _ in range(running + 3)]
    until(lambda: held.begun == running, "some run")
    for each in connections:
        each.close()
    answered = ask_view(playground, "counts", text="low", tokenizers=["small"])  # after the ends of those connections
    assert answered.status == 200
    held.go_on.set()
    until(lambda: held.given_up == running, "the running ones are given up")
    assert ask_view(playground, "lint").status == 200
    assert held.begun == running + 1, "the waiting ones never begin"


def test_a_view_notices_between_its_steps_that_the_client_left(
    toks: dict[str, toksmith.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_folder, "STEP", 1)
    calls, left, folder = 0, threading.Event(), toksmith.explain.folder

    def left_during_the_first(*given: Any, **named: Any) -> toksmith.explain.FolderMap:
        nonlocal calls
        calls += 1
        left.set()
        return folder(*given, **named)

    monkeypatch.setattr("toksmith.explain.folder", left_during_the_first)
    session = views.Session(toks, {}, {})
    with pytest.raises(views.ClientLeft):
        views.answer_values("folder", views.ViewRequest(session, {"tokenizers": ["small"]}, left))
    assert calls == 1
    for view in ("rows", "tokens", "stability", "doctor"):
        values = {"tokenizers": ["small", "large"], "text": "low"}
        with pytest.raises(views.ClientLeft):
            views.answer_values(view, views.ViewRequest(session, values, left))


def test_the_folder_in_steps_is_the_folder_at_once(
    toks: dict[str, toksmith.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"tokenizers": ["small"]}
    found = []
    for step in (1, 1 << 30):
        monkeypatch.setattr(_folder, "STEP", step)
        found.append(views.answer_values("folder", views.ViewRequest(views.Session(toks, {}, {}), values))["result"])
    assert found[0] == found[1]


def test_a_training_ends_when_its_client_has_left(toks: dict[str, toksmith.Tokenizer]) -> None:
    session, left = views.Session(toks, {}, {"en": "low lower lowest " * 50}), threading.Event()
    key = views.answer_values("corpus", views.ViewRequest(session, {"sentences": True}))["result"]["corpus"]
    left.set()
    with pytest.raises(views.ClientLeft):
        views.answer_values("train", views.ViewRequest(session, {"corpus": key}, left))
    assert views.answer_values("train", views.ViewRequest(session, {"corpus": key}))["result"]["most"] > 256


def test_stop_does_not_wait_for_views(toks: dict[str, toksmith.Tokenizer], held: Held) -> None:
    playground = toksmith.play(toks)
    connections = [open_request(playground, "lint") for _ in range(5)]
    until(lambda: held.begun == 2, "some run")
    playground.stop()
    assert not held.go_on.is_set()
    for each in connections:
        assert each.makefile("rb").readline().split()[1] == b"503"
        each.close()


HELD = """
import signal, sys, threading, toksmith
from toksmith._playground import views as _views
signal.signal(signal.SIGINT, signal.default_int_handler)
begun = threading.Event()
def never(asked):
    print("begun", flush=True)
    threading.Event().wait()
_views.VIEWS = {**_views.VIEWS, "lint": never}
playground = toksmith.play(toksmith.train("low", merges=0, progress=False))
print(playground.port, flush=True)
playground.wait()
"""


@pytest.mark.slow
@needs("signals")
def test_ctrl_c_ends_the_program_while_a_view_runs(tmp_path: Path) -> None:
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HELD], text=True, env={**os.environ}, **pipes) as ran:
        assert ran.stdout is not None
        port = int(ran.stdout.readline())
        with open_request(type("At", (), {"port": port})(), "lint"):
            assert ran.stdout.readline() == "begun\n"
            ran.send_signal(signal.SIGINT)
            try:
                _, said = ran.communicate(timeout=LIMIT_S)  # the view would never end
            finally:
                ran.kill()
    assert (ran.returncode, said) == (0, "")
