"""One tokenizer in a server: a long call in a thread lets an event loop and other threads encode meanwhile.

Each test stops the interpreter from switching threads: then another thread runs during a call only if the call releases
the lock. So the tests count calls and need no clock.
"""

import asyncio
import json
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from bench import servers
from processors import LIMIT_S

import toksmith
from toksmith import Tokenizer, reference
from toksmith._base.threads import processor_count
from toksmith._tokenizer.awaitable import make_pool

with open(reference.__file__, encoding="utf-8") as file:
    SHORT = file.read()[:200]
LONG = SHORT * 5000  # 1 MB, below the length from which a call takes all processors
LONGER = LONG * 3
LOCKED = not sysconfig.get_config_var("Py_GIL_DISABLED")


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train(SHORT, 300, progress=False)


@pytest.fixture(autouse=True)
def switch_only_in_calls() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(LIMIT_S)
    yield
    sys.setswitchinterval(interval)


CALLS: dict[str, Callable[[Tokenizer], object]] = {
    "encode": lambda tok: tok.encode(LONG),
    "encode on all processors": lambda tok: tok.encode(LONGER),
    "encode of bytes": lambda tok: tok.encode(LONG.encode()),
    "encode_array": lambda tok: tok.encode_array(LONG),
    "encode_batch": lambda tok: tok.encode_batch([LONG], threads=1),
    "encode_ragged": lambda tok: tok.encode_ragged([LONG] * 2, threads=2),
    "encode_with_offsets": lambda tok: tok.encode_with_offsets(LONG),
    "count": lambda tok: tok.count(LONG),
    "count on all processors": lambda tok: tok.count(LONGER),
    "count_batch": lambda tok: tok.count_batch([LONG]),
    "decode": lambda tok: tok.decode(list(range(256)) * 4000, errors="replace"),
    "decode_bytes": lambda tok: tok.decode_bytes(list(range(256)) * 4000),
    "pieces": lambda tok: tok.split(LONG),
    "truncate": lambda tok: tok.truncate(LONG, 10**6),
    "chunk": lambda tok: tok.chunk(LONG, 10**5),
    "session": lambda tok: tok.session(LONG),
}


def count_meanwhile(tok: Tokenizer, call: Callable[[Tokenizer], object], tries: int = 200) -> int:
    """The number of short texts that an event loop encodes during a long call of a thread.

    The thread repeats the call until there is one: on a busy machine the call can end before the loop gets a processor.
    """
    within, count = threading.Event(), 0

    def work() -> None:
        within.set()
        for _ in range(tries):
            call(tok)
            if count:
                break
        within.clear()

    async def loop() -> None:
        nonlocal count
        task = asyncio.create_task(asyncio.to_thread(work))
        while not task.done():
            inside = within.is_set()
            tok.encode(SHORT)
            count += inside and within.is_set()
            await asyncio.sleep(0)
        await task

    asyncio.run(loop())
    return count


@pytest.mark.parametrize("name", CALLS)
def test_an_event_loop_encodes_while_a_thread_is_within_a_long_call(name: str, tok: Tokenizer) -> None:
    assert count_meanwhile(tok, CALLS[name]) > 0


@pytest.mark.skipif(not LOCKED, reason="lacks the interpreter's lock: this build of Python is free-threaded")
def test_a_call_that_holds_the_lock_blocks_the_event_loop(tok: Tokenizer) -> None:
    """So the test above can fail."""
    assert count_meanwhile(tok, lambda _: sum(range(100_000)), tries=20) == 0


@pytest.mark.skipif(not LOCKED, reason="lacks the interpreter's lock: this build of Python is free-threaded")
def test_a_short_call_does_not_hand_the_lock_over(tok: Tokenizer) -> None:
    """It would wait for every other thread: a call of a microsecond would take milliseconds."""
    calls: list[Callable[[Tokenizer], object]] = [
        lambda tok: [tok.encode(SHORT) for _ in range(2000)],
        lambda tok: [tok.count(SHORT) for _ in range(2000)],
        lambda tok: [tok.decode(range(200)) for _ in range(2000)],
    ]
    for call in calls:
        assert count_meanwhile(tok, call, tries=10) == 0


@pytest.mark.slow
def test_simultaneous_calls_have_separate_sessions(tok: Tokenizer) -> None:
    """A call without a free session makes one, so two simultaneous calls leave two sessions."""
    expected, own = tok.encode(LONG), Tokenizer(tok.model)
    barrier = threading.Barrier(2)

    def work() -> bool:
        barrier.wait()
        return all(own.encode(LONG) == expected for _ in range(50))

    with ThreadPoolExecutor(2) as pool:
        assert all(done.result(timeout=LIMIT_S) for done in [pool.submit(work), pool.submit(work)])
    assert own.memory().sessions == 2
    own.release()
    assert own.memory().sessions == 0


@pytest.mark.slow
def test_the_measurement_runs(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("uvicorn", reason="lacks uvicorn; tests/requirements.txt has it")
    arguments = ["--engines", "nothing;guide", "--clients", "100", "--seconds", "0.01", "--rounds", "1", "--no-pauses"]
    assert servers.main(arguments) == 0
    rows = [line.split(" | ")[:3] for line in capfd.readouterr().out.splitlines() if line.startswith(("| no", "| gui"))]
    ways = [("| nothing", way) for way in ("thread", "loop", "long in thread")]
    ways += [("| guide", path) for path in ("count", "tokenize", "chat")]
    assert rows == [[name, clients, way] for name, way in ways for clients in ("100 short", "99 short, 1 of 5 MB")]


# The server of docs/guides/serve.md


class Served:
    """The server of the guide, called without a network."""

    def __init__(self) -> None:
        self.tok = toksmith.train(SHORT, 300, special_tokens=["<|im_start|>", "<|im_end|>"], progress=False)
        self.app = servers.guide_app(self.tok, "chatml")

    async def post(self, path: str, body: object) -> tuple[int, Any]:
        """The status and the value of an answer. Each body comes in two parts; one that is not `bytes` is sent as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        half = len(data) // 2
        parts = iter([(data[:half], True), (data[half:], False)])
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            part, more = next(parts)
            return {"type": "http.request", "body": part, "more_body": more}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": path, "headers": [], "query_string": b""}
        await self.app(scope, receive, send)
        return sent[0]["status"], json.loads(b"".join(message.get("body", b"") for message in sent))

    def ask(self, path: str, body: object) -> tuple[int, Any]:
        """One request, as in `post`."""
        return asyncio.run(self.post(path, body))


@pytest.fixture(scope="module")
def served() -> Served:
    pytest.importorskip("starlette", reason="lacks starlette; tests/requirements.txt has it")
    return Served()


@pytest.mark.parametrize("text", ["", SHORT, "a<|im_end|>", "\ud800 é 中文", LONG], ids=len)
def test_the_server_of_the_guide_answers_as_the_tokenizer(served: Served, text: str) -> None:
    tok, messages = served.tok, [{"role": "user", "content": f"{text}?"}]

    def found(ids: list[int], strs: list[str] | None = None) -> tuple[int, dict[str, Any]]:
        return 200, {"count": len(ids), "max_model_len": 128_000, "tokens": ids, "token_strs": strs}

    ids = tok.encode(text, special="text")
    strs = [tok.token_bytes(id).decode(errors="replace") for id in ids]
    assert served.ask("/tokenize", {"model": "any", "prompt": text}) == found(ids)
    assert served.ask("/tokenize", {"prompt": text, "return_token_strs": True}) == found(ids, strs)
    assert served.ask("/count", {"prompt": text}) == (200, {"count": len(ids)})
    assert served.ask("/detokenize", {"tokens": ids}) == (200, {"prompt": tok.decode(ids)})
    chat = tok.chat(messages, template="chatml", add_generation_prompt=True).ids.tolist()
    assert served.ask("/chat", {"messages": messages}) == found(chat)
    assert served.ask("/tokenize", {"messages": messages}) == found(chat)
    chat = tok.chat(messages, template="chatml", continue_final_message=True).ids.tolist()
    options = {"add_generation_prompt": False, "continue_final_message": True, "tools": None, "chat_template": "{{"}
    assert served.ask("/chat", {"messages": messages, **options}) == found(chat)


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/count", b"{", 400, "Expecting property name"),
        ("/count", b"\xff", 400, "can't decode byte 0xff"),
        ("/count", b"", 400, "Expecting value"),
        ("/count", b"[" * 100_000, 400, "JSON array"),
        ("/count", [1], 400, "must be a mapping"),
        ("/count", {}, 400, "'prompt'"),
        ("/count", {"prompt": 5}, 400, "text: expected str or bytes, not int"),
        ("/tokenize", {"prompt": ["a"]}, 400, "text: expected str or bytes, not list"),
        ("/tokenize", {"prompt": "a", "add_special_tokens": "yes"}, 400, "add_special_tokens"),
        ("/tokenize", {"messages": None}, 400, "messages"),
        ("/chat", {"messages": {"role": "user"}}, 400, "messages"),
        ("/chat", {"messages": ["a"]}, 400, "message 0: expected a mapping with role and content, not str"),
        ("/chat", {"messages": [{"content": "a"}]}, 400, "role"),
        ("/chat", {"messages": [{"role": "user", "content": 5}]}, 400, "int"),
        ("/chat", {"messages": [{"role": "user", "content": "a"}], "tools": 7}, 400, "tools"),
        ("/chat", {"messages": [], "continue_final_message": True}, 400, "continue_final_message"),
        ("/detokenize", {"tokens": [300]}, 400, "id 300 at position 0 is out of range"),
        ("/detokenize", {"tokens": [97, -1]}, 400, "id -1 at position 1 is out of range"),
        ("/detokenize", {"tokens": [2**70]}, 400, "is out of range"),
        ("/detokenize", {"tokens": ["a"]}, 400, "position 0: expected an integer id, not str"),
        ("/detokenize", {"tokens": "a"}, 400, "not a text"),
        ("/detokenize", {"tokens": None}, 400, "not NoneType"),
        ("/count", b" " * 8_000_001, 413, "more than 8,000,000 bytes"),
    ],
)
def test_a_wrong_request_gets_the_message_of_its_error(
    served: Served, path: str, body: object, status: int, said: str
) -> None:
    got, answer = served.ask(path, body)
    assert (got, answer["error"]["code"]) == (status, status)
    assert said in answer["error"]["message"]


def test_a_client_of_5_mb_does_not_hold_up_100_others(served: Served) -> None:
    """Every thread of the pool is busy, so the long request waits; the others are answered meanwhile."""
    tok, free, pool = served.tok, threading.Event(), make_pool(os.getpid())
    long = {"prompt": (SHORT * 25_000)[:5_000_000]}

    async def client(number: int) -> None:
        for turn in range(5):
            text = f"{SHORT[number:]} {turn}"
            ids = tok.encode(text)
            _, answer = await served.post("/tokenize", {"prompt": text})
            assert answer["tokens"] == ids
            assert await served.post("/count", {"prompt": text}) == (200, {"count": len(ids)})
            assert await served.post("/detokenize", {"tokens": ids}) == (200, {"prompt": text})

    async def main() -> None:
        busy = [pool.submit(free.wait, LIMIT_S) for _ in range(max(2, processor_count()))]
        try:
            asked = [asyncio.create_task(served.post(path, long)) for path in ("/tokenize", "/count")]
            await asyncio.gather(*map(client, range(99)))
            assert not any(task.done() for task in asked)
        finally:
            free.set()
        count = tok.count(long["prompt"])
        (_, tokens), counted = await asyncio.gather(*asked)
        assert tokens["tokens"] == tok.encode(long["prompt"]) and counted == (200, {"count": count})
        assert all(each.result() for each in busy)

    asyncio.run(main())
