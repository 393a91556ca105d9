"""The playground's server: allowed origins, refused requests, and answers equal to the library's."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
import urllib.request
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import process, refused, run
from hard_texts import HARD_TEXTS
from hypothesis import given
from hypothesis import strategies as st
from processors import LIMIT_S
from systems import needs

import toksmith
from toksmith import _playground, _render, explain
from toksmith._playground import bundle, layout, server, views, words
from toksmith._playground.connections import MOST_CHUNKED, TURN, Bodies, FairConnection
from toksmith._playground.live_training import LiveTexts
from toksmith._playground.rows import Rows
from toksmith._playground.texts import Cut

PACKAGE = Path(_playground.__file__).parent
TEXT = "low lower नमस्ते 낮은 <|end|> 12345\n\tx  "


@pytest.fixture(scope="module")
def toks() -> dict[str, toksmith.Tokenizer]:
    corpus = "low lower lowest नमस्ते नमन 낮은 12345 12345"
    small = toksmith.train(corpus, merges=12, special_tokens=["<|end|>"], progress=False)
    large = toksmith.train(corpus, merges=40, special_tokens=["<|end|>"], progress=False)
    return {"small": small, "large": large}


@pytest.fixture(scope="module")
def playground(toks: dict[str, toksmith.Tokenizer]) -> Iterator[toksmith.types.Playground]:
    with toksmith.play(toks) as running:
        yield running


class Answer:
    """A response with its whole body."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.data = response.status, response.headers, response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.data)


def request(
    playground: toksmith.types.Playground, method: str, path: str, body: bytes | None = None, **headers: str
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", playground.port, timeout=LIMIT_S)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=body, headers=named)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def ask_view(playground: toksmith.types.Playground, view: str, **values: Any) -> Answer:
    return request(playground, "POST", f"/api/{view}", json.dumps(values).encode(), content_type="application/json")


# Origins and hosts


def test_the_page_and_its_files_are_served_with_a_policy(playground: toksmith.types.Playground) -> None:
    page = request(playground, "GET", "/")
    assert page.status == 200
    assert page.headers["content-type"].startswith("text/html")
    for name, value in server.HEADERS.items():
        assert page.headers[name] == value
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy
    assert "unsafe" not in policy
    named = re.findall(r'(?:src|href)="([^"]+)"', page.data.decode())
    assert {*named} == {"/static/main.js", "/static/page.css", "/static/icon.svg"}
    for path in named:
        assert request(playground, "GET", path).status == 200


def test_a_bundle_has_each_module_once_before_those_that_need_it(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<title>t</title>\n")
    modules = {
        "main": "import { a, b as c } from './one.js';\nimport * as two from './in/two.js';\nexport { a };",
        "one": "import { $ } from './in/two.js';\nexport const a = $;\nexport async function b() {}",
        "in/two": "export class $ {}",
    }
    (tmp_path / "in").mkdir()
    for name, code in modules.items():
        (tmp_path / f"{name}.js").write_text(code)
    made = bundle.first_files(tmp_path)["main.js"]
    assert [line.partition(" // ")[2] for line in made.splitlines() if " // " in line] == [
        "two.js",
        "one.js",
        "main.js",
    ]
    assert "const { a, b: c } = m1;" in made and "const two = m0;" in made and "return { a };" in made
    assert not re.search("import|export", made)
    for code, problem in (("export default 1;", "default"), ("import { a } from './main.js';", "imports itself")):
        (tmp_path / "one.js").write_text(code)
        with pytest.raises(ValueError, match=problem):
            bundle.first_files(tmp_path)


def test_nothing_in_the_page_is_inline_or_from_elsewhere() -> None:
    page = (PACKAGE / "static" / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*\bsrc=)|\bon\w+=|\bstyle=|<style", page)
    for file in sorted(each for each in (PACKAGE / "static").rglob("*") if each.is_file()):
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//[a-z]+\.[a-z]|@import|\binnerHTML\b|\beval\(|new Function", text), file.name


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1", "localhost:1", "127.0.0.1.example.org:{port}", "", "[::1]"]
)
@pytest.mark.parametrize("path", ["/", "/api/about", "/static/main.js"])
def test_a_foreign_host_is_refused(playground: toksmith.types.Playground, host: str, path: str) -> None:
    answer = request(playground, "GET", path, Host=host.format(port=playground.port))
    assert answer.status == 403
    assert str(playground.port) in answer.json["error"]
    assert answer.headers["content-security-policy"]


def test_two_hosts_and_none_are_refused(playground: toksmith.types.Playground) -> None:
    for hosts in ("", f"Host: localhost:{playground.port}\r\nHost: example.org\r\n"):
        with socket.create_connection(("127.0.0.1", playground.port), timeout=LIMIT_S) as raw:
            raw.sendall(f"GET / HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())
            assert raw.makefile("rb").readline().split()[1] in (b"400", b"403")


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}"])
def test_own_hosts_are_answered(playground: toksmith.types.Playground, host: str) -> None:
    assert request(playground, "GET", "/api/about", Host=host.format(port=playground.port)).status == 200


@pytest.mark.parametrize("origin", ["http://example.org", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_another_origin_is_refused(playground: toksmith.types.Playground, origin: str) -> None:
    origin = origin.format(port=playground.port)
    body = json.dumps({"text": "a", "tokenizers": ["small"], "last": 1}).encode()
    answer = request(playground, "POST", "/api/rows", body, Origin=origin, content_type="application/json")
    assert (answer.status, "another origin" in answer.json["error"]) == (403, True)
    own = f"http://localhost:{playground.port}"
    assert request(playground, "POST", "/api/rows", body, Origin=own, content_type="application/json").status == 200


def test_another_site_can_link_here_but_not_send_requests(playground: toksmith.types.Playground) -> None:
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert request(playground, "GET", "/", **link).status == 200
    assert request(playground, "GET", "/api/about", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors").status == 403
    assert request(playground, "POST", "/api/rows", b"{}", **link).status == 403
    assert request(playground, "GET", "/", Sec_Fetch_Site="same-site", Sec_Fetch_Mode="cors").status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/../_server.py",
        "/static/../_server.py",
        "/static/%2e%2e/_server.py",
        "/static/..%2f_server.py",
        "//etc/passwd",
        "/static/",
        "/static/none.js",
        "/static/index.html/..",
        "/static/%00",
        "/static/main.js/",
        "/index.html",
    ],
)
def test_no_path_leads_to_another_file(playground: toksmith.types.Playground, path: str) -> None:
    answer = request(playground, "GET", path)
    assert answer.status == 404
    assert b"import" not in answer.data and b"root:" not in answer.data


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "GET"])
def test_views_need_post(playground: toksmith.types.Playground, method: str) -> None:
    assert request(playground, method, "/api/rows").status in (404, 405)


def test_it_listens_on_this_machine_only(
    playground: toksmith.types.Playground, toks: dict[str, toksmith.Tokenizer]
) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(toksmith.errors.InvalidOption, match="loopback"):
            toksmith.play(toks, host=host)
    assert playground.url == f"http://127.0.0.1:{playground.port}/"


# Wrong requests


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff", b"null", b"1", b"[" * 100_000, b'{"text": 1}', b'{"a":NaN}']
)
def test_a_malformed_body_is_refused(playground: toksmith.types.Playground, body: bytes) -> None:
    answer = request(playground, "POST", "/api/rows", body, content_type="application/json")
    assert answer.status == 400, answer.data
    assert answer.json["error"]


def test_a_form_of_another_page_is_refused(playground: toksmith.types.Playground) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        assert request(playground, "POST", "/api/rows", b'{"text": "a"}', content_type=kind).status == 415
    assert request(playground, "POST", "/api/rows", b'{"text": "a"}').status == 415


@pytest.mark.parametrize(
    "view, values, said",
    [
        ("rows", {"text": "a", "tokenizers": ["none"]}, "none"),
        ("rows", {"text": "a", "tokenizers": []}, "1 to 4"),
        ("rows", {"text": "a", "tokenizers": ["small"] * 5}, "1 to 4"),
        ("rows", {"text": "a", "tokenizers": ["small"], "first": -1}, "first: “-1”"),
        ("rows", {"text": "a", "tokenizers": ["small"], "cells": 10**9}, "cells"),
        ("rows", {"text": "a", "tokenizers": ["small"], "special": "maybe"}, "special"),
        ("rows", {"text": "<|end|>", "tokenizers": ["small"], "special": "raise"}, "special token"),
        ("decode", {"tokenizers": ["small"], "ids": [10**6]}, "1000000"),
        ("decode", {"tokenizers": ["small"], "ids": [-1]}, "-1"),
        ("decode", {"tokenizers": ["small"], "ids": ["a"]}, "whole numbers"),
        ("tree", {"tokenizers": ["small"], "id": 10**6}, "1000000"),
        ("place", {"text": "a", "tokenizers": ["small"], "token": 5}, "token: “5”"),
        ("prompt", {"text": "a", "tokenizers": ["small"], "end": 2}, "the end of the prompt: “2”"),
        ("search", {"tokenizers": ["small"], "query": "zz", "by": "bytes"}, "hex"),
        ("search", {"tokenizers": ["small"], "query": "1", "by": "colour"}, "colour"),
        ("parity", {"tokenizers": ["small"], "lines": ["no colon"]}, "line 1"),
        ("merges", {"tokenizers": ["small"], "piece": "x" * 1000}, "512"),
        ("rows", {"text": "x" * (views.MOST_BYTES + 1), "tokenizers": ["small"]}, "10,000,000 bytes"),
    ],
)
def test_wrong_arguments_are_named(
    playground: toksmith.types.Playground, view: str, values: dict[str, Any], said: str
) -> None:
    answer = ask_view(playground, view, **values)
    assert answer.status == 400, answer.data
    assert said in answer.json["error"]
    assert len(answer.data) < 1000


# One valid question to each view, and for each argument values of wrong types and beyond all ranges.
TRAINED: dict[str, Any] = {"texts": [{"name": "low", "text": "low lower"}, {"name": "wrong", "data": "/2xvdw=="}]}
CORPUS = LiveTexts({"low": b"low lower", "wrong": b"\xfflow"}).key
ANSWERS: dict[str, dict[str, Any]] = {
    "counts": {"text": TEXT},
    "rows": {"text": TEXT, "cells": 20, "first": 0, "last": 5},
    "differences": {"text": TEXT},
    "measured": {"widths": {"न": 11}},
    "opened": {"files": {"vocab.txt": "W1VOS10KbG93CiMjZXIK"}, "name": "low", "pattern": None},
    "closed": {"name": "low"},
    "proposed": {"text": TEXT},
    "ids": {"text": TEXT, "of": "large", "first": 0, "last": 5},
    "all_ids": {"text": TEXT, "of": "large"},
    "decode": {"ids": [97, 98], "of": "large"},
    "place": {"text": TEXT, "cells": 20, "of": "large", "token": 1},
    "difference": {"text": TEXT, "cells": 20, "after": 2, "back": True},
    "piece": {"text": TEXT, "byte": 3, "of": "large"},
    "repair": {"text": TEXT, "names": ["space at the end"]},
    "chat_change": {"before": '[{"role": "user", "content": "low"}]', "messages": "[]", "template": "plain"},
    "models": {"maker": "Meta"},
    "model": {"source": "gpt2", "add": True},
    "saved": {"text": TEXT, "title": "Low"},
    "folder_areas": {"folder": "", "inside": "views/", "wide": 800, "high": 600},
    "folder_files": {"folder": "key", "name": "src", "files": {"a.txt": "bG93", "b": None}},
    "folder_wanted": {"paths": ["a", "b/c"], "ignores": {".gitignore": "b"}},
    "corpus": TRAINED,
    "train": {"corpus": CORPUS, "pattern": "gpt2", "ties": "first_seen", "special_tokens": ["<|end|>"]},
    "stop_training": {"corpus": CORPUS},
    "trained_tokenizer": {"corpus": CORPUS, "size": 257, "name": "new"},
    "trained_file": {"corpus": CORPUS, "size": 257, "format": "gpt2", "without": ["splitters"]},
}
RESULTS: dict[str, dict[str, Any]] = {  # of the library, which can be exported
    "tokens": {"text": TEXT},
    "merges": {"piece": "lower", "of": "large"},
    "tree": {"id": 258},
    "history": {"id": 258},
    "budget": {"text": TEXT, "context": 7},
    "parity": {"lines": ["a: low", "b: lowest"]},
    "prompt": {"text": TEXT, "end": 6},
    "lint": {"text": TEXT},
    "specials": {"text": TEXT},
    "search": {"query": "lo", "by": "text"},
    "lengths": {},
    "doctor": {},
    "fairness": {"texts": {"en": "low", "ko": "낮은"}, "reference": "en"},
    "chat": {"messages": '[{"role": "user", "content": "low<|end|>"}]', "template": "plain", "of": "large"},
    "stability": {"text": TEXT, "typed": "e"},
    "edit": {"text": TEXT, "typed": "e", "at": 3},
    "folder": {"folder": "", "of": "large"},
    "trained": {"corpus": CORPUS, "size": 257, "sentence": TEXT, "id": 258},
}
QUESTIONS = ANSWERS | RESULTS
HOSTILE = [
    *(None, True, False, -1, 0, 1, 255, 10**9, 2**31, 2**32, 2**53, 2**53 + 1, 2**63, 2**64, -(2**64), 10**4000, 0.5),
    *(float("nan"), float("inf"), -0.0, 1e308),
    *("", "0", "300", "\x00", "\ud800", "x" * 5000, "\u202e" * 40, "[", "(a+)+$"),
    *([], [[]], [None], ["small"], ["\ud800"], [-1], [2**64], [10**4000], [0.5], [True], {}, {"a": 1}, [{}] * 300),
]


@pytest.mark.parametrize("view", views.VIEWS)
def test_no_value_of_an_argument_breaks_a_view(toks: dict[str, toksmith.Tokenizer], view: str) -> None:
    session = views.Session(toks, {}, toksmith.metrics.LANGUAGES)
    plain = {"tokenizers": ["small", "large"], "special": "text", **QUESTIONS[view]}
    server.answer_view(session, "corpus", "", json.dumps(TRAINED).encode())
    server.answer_view(session, "opened", "", json.dumps(ANSWERS["opened"]).encode())
    statuses = []
    for name in {**plain, "key": "", "of": ""}:
        for place, value in enumerate(HOSTILE):
            for format in ("", "json") if view in RESULTS and place % 6 == 0 else ("",):
                answer = server.answer_view(session, view, format, json.dumps({**plain, name: value}).encode())
                statuses.append(answer.status_code)
                assert answer.status_code in (200, 400, 409), (name, value, answer.body)
                if answer.status_code != 200:
                    said = json.loads(bytes(answer.body))["error"]
                    assert said and "\n" not in said and "unexpected" not in said, (name, value, said)
    assert {200, 400} <= set(statuses)


@pytest.mark.parametrize("number", [b"9" * 5000, b"-" + b"9" * 5000, b"1" * 100_000])
def test_a_number_of_many_digits_is_refused(playground: toksmith.types.Playground, number: bytes) -> None:
    for name in (b"first", b"text", b"tokenizers", b"other"):
        answer = request(
            playground, "POST", "/api/rows", b'{"%b": %b}' % (name, number), content_type="application/json"
        )
        assert (answer.status, "digits" in answer.json["error"]) == (400, True)


def test_the_error_for_an_unknown_view_lists_the_views(playground: toksmith.types.Playground) -> None:
    answer = ask_view(playground, "nothing")
    assert answer.status == 404 and "lint" in answer.json["error"]
    assert ask_view(playground, "lint.exe").status == 404
    assert ask_view(playground, "rows.html", text="a", tokenizers=["small"]).status == 400


def test_a_body_beyond_the_limit_is_refused_and_not_kept(
    playground: toksmith.types.Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_BODY", 1_000_000)
    answer = request(playground, "POST", "/api/rows", b'"' + b"a" * 5_000_000, content_type="application/json")
    assert answer.status == 413
    assert "1,000,000" in answer.json["error"]


class Parts:
    """A request whose body comes in many parts."""

    def __init__(self, count: int, **headers: str) -> None:
        self.count, self.headers, self.taken = (
            count,
            {name.replace("_", "-"): said for name, said in headers.items()},
            0,
        )

    async def stream(self) -> AsyncIterator[bytes]:
        for _ in range(self.count):
            self.taken += 1
            yield b"a"


def received(parts: Parts, most: int) -> bytes | tuple[int, str]:
    request: Any = parts

    async def read() -> bytes | tuple[int, str]:
        async with Bodies(1 << 40).receive(request, most) as data:
            return data

    return asyncio.run(read())


def test_a_body_in_many_parts_takes_linear_time() -> None:
    def least_s(count: int) -> float:
        times = []
        for _ in range(3):
            before_s = time.process_time()
            assert received(Parts(count), count) == b"a" * count
            times.append(time.process_time() - before_s)
        return min(times)

    few_s, many_s = least_s(5000), least_s(40_000)
    assert many_s < 24 * few_s, "earlier parts are not copied for each part"


@pytest.mark.slow
def test_a_body_in_chunks_ends_at_its_own_limit(playground: toksmith.types.Playground) -> None:
    parts = Parts(10 * MOST_CHUNKED, transfer_encoding="chunked")
    refusal = received(parts, 10 * MOST_CHUNKED)
    assert isinstance(refusal, tuple) and refusal[0] == 413
    assert parts.taken == MOST_CHUNKED + 1
    for count, status in ((MOST_CHUNKED // 10, b"400"), (MOST_CHUNKED * 2, b"413")):
        with socket.create_connection(("127.0.0.1", playground.port), timeout=LIMIT_S) as raw:
            head = f"POST /api/rows HTTP/1.1\r\nHost: localhost:{playground.port}\r\nContent-Type: application/json\r\n"
            with contextlib.suppress(ConnectionError):
                raw.sendall(
                    head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * count + b"0\r\n\r\n"
                )
            assert raw.makefile("rb").readline().split()[1] == status


def test_a_connection_takes_short_turns(playground: toksmith.types.Playground, monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[int] = []
    taken = FairConnection.data_received

    def data_received(self: FairConnection, data: bytes) -> None:
        turns.append(len(data))
        taken(self, data)

    monkeypatch.setattr(FairConnection, "data_received", data_received)
    assert (
        request(playground, "POST", "/api/rows", b"[" + b"a" * 500_000, content_type="application/json").status == 400
    )
    assert sum(turns) > 500_000 and max(turns) <= TURN


def test_an_evicted_text_is_requested_again(playground: toksmith.types.Playground) -> None:
    first = ask_view(playground, "rows", text="gone", tokenizers=["small"], last=5).json
    again = ask_view(playground, "rows", key=first["key"], tokenizers=["small"], last=5).json
    assert again == first
    for number in range(views.KEPT["text"]):
        ask_view(playground, "rows", text=f"text {number}", tokenizers=["small"], last=5)
    answer = ask_view(playground, "rows", key=first["key"], tokenizers=["small"], last=5)
    assert (answer.status, answer.json["kind"]) == (409, "UnknownText")


@pytest.mark.slow
def test_many_simultaneous_requests_are_answered(playground: toksmith.types.Playground) -> None:
    def one(number: int) -> int:
        return ask_view(playground, "rows", text=f"low {number % 7}", tokenizers=["small", "large"], last=5).status

    with ThreadPoolExecutor(64) as pool:
        statuses = list(pool.map(one, range(300)))
    assert statuses == [200] * 300


# Answers


def rows_of(found: explain.Differences, cells: int) -> Rows:
    """A comparison in rows."""
    cuts = []
    for each in found.cuts.values():
        known = {view.id: (_render.token_text(view.token), view.special) for view in each.tokens}
        cuts.append(Cut(np.asarray(each.ids), np.asarray(each.ends), known.__getitem__))
    frame = layout.Frame(cells, layout.Widths(), cuts)
    return Rows(found.text, layout.row_starts(found.text.decode(), frame), cuts)


def check_rows(found: explain.Differences, cells: int) -> None:
    """The rows of a comparison draw every byte of the text once, and begin every token once."""
    rows = rows_of(found, cells)
    window = rows.window(0, len(rows))
    assert (window["starts"][0], window["starts"][-1]) == (0, len(found.text))
    parts = [found.text[start:end] for start, end in pairwise(rows.starts)]
    for cuts, drawn in zip(found.cuts.values(), window["cuts"], strict=True):
        begun = [run for row in drawn["rows"] for run in flat(row) if run[2] & 1]
        assert [place for place, _, _ in begun] == list(range(len(cuts.ids)))
        assert [bare(text_of_row(row)) for row in drawn["rows"]] == [bare(_render.token_text(part)) for part in parts]
        for place, (id, _, start, end, *_) in enumerate(drawn["tokens"]):
            assert (id, end) == (cuts.ids[place], cuts.ends[place])
            assert start == (cuts.ends[place - 1] if place else 0)


@pytest.mark.slow
def test_rows_hold_every_byte_and_every_token_once(toks: dict[str, toksmith.Tokenizer]) -> None:
    for text in [TEXT, "", "\n", "a" * 300, *HARD_TEXTS.values()]:
        for cells in (1, 7, 80):
            check_rows(explain.differences(toks, text), cells)


def test_rows_of_a_tokenizer_that_normalizes_hold_the_original_text(vocab_dir: Path) -> None:
    tok = toksmith.load(vocab_dir / "mistral_v1.model")
    found = explain.differences(tok, " low  नम\n낮은 x")
    check_rows(found, 6)
    [cuts] = rows_of(found, 80).window(0, 1)["cuts"]
    assert cuts["tokens"][0][2:4] == [0, 0], "a character of the normalizer has an empty span"
    for text in HARD_TEXTS.values():
        rows_of(explain.differences(tok, text), 20).window(0, 5)


def row_starts_one_by_one(text: str, cells: int) -> list[int]:
    """The rule of rows, line by line and in characters."""
    found, at = [], 0
    for line in text.splitlines(keepends=True) if "\n" in text else [text]:
        line_end = at + len(line)
        while at < line_end:
            found.append(at)
            widths = layout.Widths().of(text, np.frombuffer(text.encode("utf-32-le"), np.uint32)).tolist()
            if sum(widths[at:line_end]) <= 10 * cells:
                break
            full = at + 1
            while sum(widths[at : full + 1]) <= 10 * cells:
                full += 1
            space = text.rfind(" ", max(at + 1, full - layout.BREAK_WITHIN), full + 1)
            at = space if space > at else full
        at = line_end
    return [len(text[:place].encode()) for place in [*found, len(text)]]


@given(st.text("ab \n낮☀", max_size=60), st.integers(1, 9))
def test_rows_begin_as_a_plain_implementation_says(text: str, cells: int) -> None:
    assert layout.row_starts(text, layout.Frame(cells, layout.Widths())).tolist() == row_starts_one_by_one(text, cells)


@pytest.mark.slow
def test_rows_of_many_lines_keep_little(toks: dict[str, toksmith.Tokenizer]) -> None:
    text = "a\n" * 100_000
    session = views.Session(toks, {}, {})
    names = [*toks]
    views.answer_values("rows", views.ViewRequest(session, {"text": "a\n", "tokenizers": names}))  # fills the caches
    tracemalloc.start()
    try:
        views.answer_values("rows", views.ViewRequest(session, {"text": text, "tokenizers": names, "last": 50}))
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(text) < kept < 48 * len(text), f"{kept / len(text):.0f} bytes are kept for each byte of a text"


def flat(row: list[Any]) -> Iterator[list[Any]]:
    """The runs of a row, including the runs of shared characters."""
    for each in row:
        yield from [each] if isinstance(each[0], int) else each[1]


def bare(text: str) -> str:
    """A drawing without circles under marks; each cut before a mark adds one."""
    return text.replace("◌", "")


def text_of_row(row: list[Any]) -> str:
    return "".join(run[1] if isinstance(run[0], int) else run[0] for run in row)


def test_a_character_that_tokens_share_is_drawn_once(toks: dict[str, toksmith.Tokenizer]) -> None:
    bytes_only = toksmith.train("a", merges=0, pattern=None, progress=False)
    [row] = rows_of(explain.differences(bytes_only, "a낮"), 80).window(0, 1)["cuts"][0]["rows"]
    assert row == [[0, "a", 1], ["낮", [[1, 1, 1], [2, 1, 1], [3, 1, 1]]]]


def test_any_window_is_a_part_of_the_whole(toks: dict[str, toksmith.Tokenizer]) -> None:
    rows = rows_of(explain.differences(toks, TEXT * 20), 10)
    whole = rows.window(0, len(rows))
    for first in range(0, len(rows), 3):
        part = rows.window(first, first + 4)
        assert part["starts"] == whole["starts"][first : first + 5]
        for cuts, own in zip(whole["cuts"], part["cuts"], strict=True):
            assert own["rows"] == cuts["rows"][first : first + 4]
            assert own["tokens"] == cuts["tokens"][own["first"] : own["first"] + len(own["tokens"])]
    assert rows.window(10**9, 10**9 + 1)["cuts"][0]["rows"] == []


def test_rows_and_differences_equal_the_library(
    playground: toksmith.types.Playground, toks: dict[str, toksmith.Tokenizer]
) -> None:
    values = {"text": TEXT, "tokenizers": [*toks], "cells": 20}
    found = ask_view(playground, "rows", **values, last=50).json["result"]
    compared = explain.differences(toks, TEXT)
    assert found["bytes"] == len(TEXT.encode()) and found["chars"] == len(TEXT)
    assert [cuts["total"] for cuts in found["cuts"]] == [len(cuts.ids) for cuts in compared.cuts.values()]
    total = ask_view(playground, "differences", text=TEXT, tokenizers=[*toks]).json["result"]["total"]
    assert total == len(compared.differences) > 2
    first = ask_view(playground, "counts", text=TEXT, tokenizers=[*toks]).json["result"]
    assert first == {
        "bytes": found["bytes"],
        "chars": found["chars"],
        "totals": [cuts["total"] for cuts in found["cuts"]],
    }
    after, seen = -1, []
    for _ in range(len(compared.differences) + 1):
        each = ask_view(playground, "difference", **values, after=after).json["result"]
        after = each["start"]
        seen.append(after)
    assert seen[:-1] == [found.start for found in compared.differences]
    assert seen[-1] == seen[0]
    back = ask_view(playground, "difference", **values, after=seen[1], back=True).json["result"]
    assert back["start"] == seen[0]


def test_ids_places_and_pieces_equal_the_library(
    playground: toksmith.types.Playground, toks: dict[str, toksmith.Tokenizer]
) -> None:
    values = {"text": TEXT, "tokenizers": [*toks], "cells": 20}
    tok = toks["large"]
    ids = tok.encode(TEXT, special="text")
    found = ask_view(playground, "ids", **values, of="large", last=100).json["result"]
    assert [id for id, *_ in found["tokens"]] == ids and found["total"] == len(ids)
    assert ask_view(playground, "all_ids", **values, of="large").json["result"] == {"ids": ids}
    decoded = ask_view(playground, "decode", tokenizers=[*toks], of="large", ids=ids).json["result"]
    assert decoded["text"] == TEXT
    ends = explain.differences(tok, TEXT).cuts.popitem()[1].ends
    place = ask_view(playground, "place", **values, of="large", token=3).json["result"]
    assert place["span"] == [ends[2], ends[3]]
    piece = ask_view(playground, "piece", **values, of="large", byte=ends[2]).json["result"]
    pieces = [(start, end) for start, end, _ in explain.text(tok, TEXT).rows()]
    assert (piece["start"], piece["end"]) in pieces
    assert piece["piece"].encode() == TEXT.encode()[piece["start"] : piece["end"]]


@pytest.mark.slow
def test_every_result_is_answered_and_exported(playground: toksmith.types.Playground) -> None:
    ask_view(playground, "corpus", **TRAINED)
    for view, values in RESULTS.items():
        plain = ask_view(playground, view, tokenizers=["large"], **values)
        assert plain.status == 200, plain.data
        for format, (kind, _) in views.EXPORTS.items():
            made = ask_view(playground, f"{view}.{format}", tokenizers=["large"], **values)
            assert made.status == 200, made.data
            assert made.headers["content-type"].startswith(kind)
        exported = ask_view(playground, f"{view}.json", tokenizers=["large"], **values).json
        name = "trained 257" if view == "trained" else "large"
        assert [*exported["tokenizers"]] == [name] and len(exported["tokenizers"][name]) == 64


def test_answers_equal_the_library(playground: toksmith.types.Playground, toks: dict[str, toksmith.Tokenizer]) -> None:
    tree = ask_view(playground, "tree.json", tokenizers=["large"], id=260).json["result"]
    expected = json.loads(explain.token(toks["large"], 260).to_json())
    assert tree == {**expected, "tokenizer": "large"}, "with the name of the page"
    lint = ask_view(playground, "lint", tokenizers=["large"], text="a\u00ad b ").json["result"]
    assert [each["name"] for each in lint["findings"]] == ["soft hyphen", "space at the end"]
    names = ["soft hyphen"]
    repaired = ask_view(playground, "repair", tokenizers=["large"], text="a\u00ad b ", names=names).json["result"]
    assert repaired == {"text": "a b "}
    own = ask_view(playground, "parity", tokenizers=["large"], lines=["a: low", "b: lowest low"]).json["result"]
    assert [each["name"] for each in own["languages"]] == ["a", "b"]
    default = ask_view(playground, "parity", tokenizers=["large"]).json["result"]
    assert default["reference"] == "English" and len(default["languages"]) == 24


def test_a_page_names_no_file_as_a_template(playground: toksmith.types.Playground, tmp_path: Path) -> None:
    file = tmp_path / "own.jinja"
    file.write_text("{{ 'low' }}", encoding="utf-8")
    for template in (str(file), str(tmp_path), "/etc/passwd"):
        refused = ask_view(playground, "chat", tokenizers=["large"], messages="[]", template=template)
        assert refused.status == 400 and "expected Jinja" in refused.json["error"]


def test_results_have_the_names_of_the_page(
    playground: toksmith.types.Playground, toks: dict[str, toksmith.Tokenizer]
) -> None:
    described = f"{toks['large'].model.kind}, {len(toks['large'])} tokens"
    for view, values in RESULTS.items():
        if view == "trained":  # its tokenizer is not on the page yet
            continue
        for format in ("json", "html", "svg"):
            made = ask_view(
                playground, f"{view}.{format}", **{"tokenizers": ["small", "large"], **values, "of": "large"}
            )
            said = made.data.decode().replace("\xa0", " ").replace("&#160;", " ")
            assert "large" in said and described not in said, (view, format)


@pytest.mark.parametrize(
    "error, said",
    [
        (
            toksmith.errors.SpecialTokenInText("<|end|>", 3),
            (
                "the text holds the special token <|end|>, which this page is set to refuse; "
                "choose “plain text” or “allowed” under Special tokens"
            ),
        ),
        (
            toksmith.errors.InvalidOption("end", -1, "0 to 4"),
            "the end of the prompt: “-1” is not possible; expected 0 to 4",
        ),
        (
            toksmith.errors.NotInVocabulary(b"\xe0", 0),
            ("“<E0>” (at character 0) is not in the vocabulary, and this tokenizer has no token for unknown text"),
        ),
        (toksmith.errors.FormatError("a.json", 3, "expected a list"), "a.json:3: expected a list"),
        (
            toksmith.errors.UnknownFormat("a.png", None, "any words"),
            "a.png is not a tokenizer in a format that toksmith reads",
        ),
    ],
)
def test_errors_use_the_words_of_the_page(error: toksmith.ToksmithError, said: str) -> None:
    assert words.message_of(error) == said


def test_invalid_utf8_is_shown_as_bytes(playground: toksmith.types.Playground) -> None:
    answer = ask_view(playground, "decode", tokenizers=["small"], ids=[0xE0, 0xA4, 0x61]).json["result"]
    assert answer == {"text": None, "shown": "<E0><A4>a", "bytes": 3}
    assert ask_view(playground, "decode", tokenizers=["small"], ids=[]).json["result"]["text"] == ""


def test_lone_surrogates_come_and_go(playground: toksmith.types.Playground) -> None:
    values = {"text": "a\ud800 b\u202e ", "tokenizers": ["large"]}
    assert ask_view(playground, "rows", **values, last=3).status == 200
    names = ["space at the end"]
    assert ask_view(playground, "repair", **values, names=names).json["result"]["text"] == "a\ud800 b\u202e"
    for format in views.EXPORTS:
        assert ask_view(playground, f"tokens.{format}", **values).status == 200


# Start and end


def test_what_cannot_be_loaded_is_named_and_the_others_work(
    tmp_path: Path, toks: dict[str, toksmith.Tokenizer]
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    with toksmith.play({"good": toks["small"], "bad": broken, "none": "no such file"}) as running:
        about = request(running, "GET", "/api/about").json
        assert running.tokenizers == ("good",) and {*running.failed} == {"bad", "none"}
        assert about["failed"] == dict(running.failed) and "broken.json" in about["failed"]["bad"]
        assert ask_view(running, "rows", text="low", tokenizers=["good"], last=1).status == 200
    with pytest.raises(toksmith.errors.FormatError):
        toksmith.play(broken)
    with pytest.raises(toksmith.errors.InvalidOption):
        toksmith.play([])


@pytest.mark.slow
def test_the_next_free_port_is_taken(toks: dict[str, toksmith.Tokenizer]) -> None:
    with toksmith.play(toks) as first, toksmith.play(toks, port=first.port) as second:
        assert first.port < second.port < first.port + _playground.PORTS_TRIED
    with toksmith.play(toks, port=first.port) as again:
        assert again.port == first.port


def test_a_stopped_server_frees_its_port_and_says_so_in_one_line(toks: dict[str, toksmith.Tokenizer]) -> None:
    running = toksmith.play(toks)
    assert repr(running) == f"<Playground {running.url}>" and running.url in running._repr_html_()
    ended = threading.Thread(target=running.wait)
    ended.start()
    running.stop()
    running.stop()
    ended.join(LIMIT_S)
    assert not ended.is_alive()
    with pytest.raises(ConnectionRefusedError):
        request(running, "GET", "/")


def test_files_and_tokenizers_have_names(tmp_path: Path, toks: dict[str, toksmith.Tokenizer]) -> None:
    path = tmp_path / "own.toksmith"
    toks["small"].save(path)
    with toksmith.play([path, toks["large"], path]) as running:
        assert running.tokenizers == ("own.toksmith", "tokenizer 2", "own.toksmith (3)")


@pytest.mark.slow
def test_the_command_names_a_missing_file(tmp_path: Path) -> None:
    ran = process("play", str(tmp_path / "none.toksmith"))
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert b"none.toksmith" in ran.stderr and ran.stderr.count(b"\n") == 1


@pytest.mark.slow
@needs("signals")
def test_the_command_serves_until_it_is_interrupted(tmp_path: Path, toks: dict[str, toksmith.Tokenizer]) -> None:
    path = tmp_path / "own.toksmith"
    toks["small"].save(path)
    (tmp_path / "texts").mkdir()
    for name, text in (("en", "low lower\n"), ("ko", "낮은\n")):
        (tmp_path / "texts" / f"{name}.txt").write_text(text, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        # The process that starts the tests can ignore SIGINT, and children inherit that.
        code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from toksmith._cli import main; main()"
        command = [sys.executable, "-c", code, "play", str(path), str(tmp_path / "none.json"), "--json"]
        more = ["--port", str(port), "--texts", str(tmp_path / "texts")]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(
            [*command, *more], encoding="utf-8", env=os.environ | {"PYTHONUNBUFFERED": "1"}, **pipes
        ) as ran:
            assert ran.stdout is not None
            said = json.loads(ran.stdout.readline())
            with urllib.request.urlopen(f"{said['url']}api/about", timeout=LIMIT_S) as answer:
                about = json.load(answer)
            ran.send_signal(signal.SIGINT)
            try:
                _, warned = ran.communicate(timeout=LIMIT_S)
            finally:
                ran.kill()
    assert [each["name"] for each in about["tokenizers"]] == ["own.toksmith"] == said["tokenizers"]
    assert about["languages"] == ["en", "ko"]
    assert [*about["failed"]] == ["none.json"]
    assert f"port {port} is in use" in warned and "none.json is left out" in warned
    assert ran.returncode == 0


@pytest.mark.parametrize("missing", ["uvicorn", "starlette.applications"])
def test_a_missing_extra_is_named(
    missing: str, tmp_path: Path, toks: dict[str, toksmith.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "toksmith._playground.server")
    with pytest.raises(ImportError, match=rf"needs {missing}: pip install 'toksmith\[play\]'"):
        toksmith.play(toks)
    path = tmp_path / "own.toksmith"
    toks["small"].save(path)
    refused(run("play", path), "toksmith[play]")
