"""Awaitable calls: the results and errors of the plain calls, short ones on the event loop and long ones in a bounded pool."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from processors import LIMIT_S, run_script
from systems import needs

import toksmith
from toksmith import Tokenizer
from toksmith._base.threads import processor_count
from toksmith._tokenizer.awaitable import LONG, make_awaitable

FORMS = ("count", "count_batch", "encode", "encode_batch", "chat")
CORPUS = ["low lower lowest", "é 中文 flows \ud800", b"\xff slow", "<|end|>"]
MESSAGES = [{"role": "user", "content": "low<|end|>"}, {"role": "assistant", "content": "lower"}]
Options = dict[str, Any]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train("low lower lowest slow", 280, special_tokens=["<|end|>"], progress=False)


def both(tok: Tokenizer, name: str, *args: Any, **options: Any) -> list[Any]:
    """What the plain call and the awaitable one return or raise, as values that compare."""

    async def call() -> Any:
        return await getattr(tok, f"a{name}")(*args, **options)

    return [outcome(lambda: getattr(tok, name)(*args, **options)), outcome(lambda: asyncio.run(call()))]


def outcome(call: Callable[[], Any]) -> Any:
    """The result as a value that compares, or the error with its type."""
    try:
        found = call()
    except Exception as error:  # noqa: BLE001 - any error must be the same
        return type(error), str(error), getattr(error, "index", None)
    if isinstance(found, toksmith.types.ChatEncoding):
        return {
            name: getattr(found, name) if name == "disarmed" else list(getattr(found, name)) for name in vars(found)
        }
    return found.tolist() if hasattr(found, "tolist") else found


@pytest.mark.parametrize("copies", [1, LONG])
@pytest.mark.parametrize("special", ["raise", "text", "allow", {"<|end|>"}, 5])
def test_an_awaitable_call_is_the_plain_one(tok: Tokenizer, copies: int, special: Any) -> None:
    for text in [*CORPUS, 7, None]:
        long = text * copies if isinstance(text, (str, bytes)) else text
        for name in ("count", "encode"):
            plain, awaited = both(tok, name, long, special=special)
            assert awaited == plain
            plain, awaited = both(tok, f"{name}_batch", ["low", long], special=special, threads=1)
            assert awaited == plain


@pytest.mark.parametrize("copies", [1, LONG])
def test_an_awaitable_chat_is_the_plain_one(tok: Tokenizer, copies: int) -> None:
    for last in ("low", "<|end|>", 5, None, ["low"], "\ud800"):
        messages = [*MESSAGES, {"role": "user", "content": last, "note": "x" * copies}]
        for template in ("plain", "no such", "{{ messages[9].content + 1 }}", "{{"):
            plain, awaited = both(tok, "chat", messages, template=template, add_generation_prompt=True)
            assert awaited == plain
    for odd in (5, [5], {}, [{}]):
        plain, awaited = both(tok, "chat", odd, template="plain", continue_final_message=True)
        assert awaited == plain


def test_the_outcomes_differ_where_the_calls_do(tok: Tokenizer) -> None:
    """So the tests above can fail."""
    assert both(tok, "count", "low")[0] != both(tok, "count", "low lower")[1]
    assert both(tok, "encode", "<|end|>")[0] != both(tok, "encode", "low<|end|>")[1]


def test_wrong_arguments_are_the_errors_of_python(tok: Tokenizer) -> None:
    for options in ({"treads": 1}, {"special": "text", "text": "low"}):
        plain, awaited = both(tok, "count", "low", **options)
        assert plain[0] is TypeError and awaited == plain


@pytest.mark.parametrize("name", FORMS)
def test_an_awaitable_form_has_the_signature_and_a_text_of_its_own(name: str) -> None:
    form = getattr(Tokenizer, f"a{name}")
    assert asyncio.iscoroutinefunction(form) and form.__name__ == f"a{name}"
    assert f"As `{name}`" in form.__doc__


where = make_awaitable(lambda *args, **options: threading.current_thread().name)
cyclic: list[Any] = []
cyclic.append(cyclic)


@pytest.mark.parametrize(
    ("value", "in_pool"),
    [
        *[("a" * (LONG - 1), False), ("a" * LONG, True), (b"a" * LONG, True), (None, False), (3, False), (1.5, False)],
        *[
            (["low"] * 50, False),
            (["low"] * 100, True),
            ([{"role": "user"}] * 30, False),
            ([{"a": ["a" * LONG]}], True),
        ],
        *[({"<|end|>"}, False), (Path("folder"), False), (MappingProxyType({"a": 1}), False)],
        *[(iter(["low"]), True), (bytearray(b"low"), True), (range(3), True), (cyclic, True)],
    ],
    ids=lambda value: type(value).__name__,
)
def test_long_and_unknown_work_runs_in_the_pool(value: Any, in_pool: bool) -> None:
    for call in (lambda: where(None, value), lambda: where(None, option=value)):
        assert asyncio.run(call()).startswith("toksmith") == in_pool


def test_a_call_in_the_pool_has_the_context_of_its_task() -> None:
    variable = ContextVar("variable", default="none")
    read = make_awaitable(lambda _self, _text: variable.get())

    async def call() -> str:
        variable.set("of the task")
        return await read(None, "a" * LONG)

    assert asyncio.run(call()) == "of the task"


class Blocked:
    """Calls that wait in the pool until `free`."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.running, self.most, self.ended, self.lock = 0, 0, 0, threading.Lock()
        self.call: Callable[..., Coroutine[Any, Any, None]] = make_awaitable(self.wait)

    def wait(self, _text: str, _more: str = "a" * LONG) -> None:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        assert self.free.wait(LIMIT_S)
        with self.lock:
            self.running, self.ended = self.running - 1, self.ended + 1


def test_the_pool_is_bounded_and_short_calls_pass_it(tok: Tokenizer) -> None:
    blocked, bound = Blocked(), max(2, processor_count())

    async def main() -> None:
        tasks = [asyncio.create_task(blocked.call("a", "a" * LONG)) for _ in range(bound + 5)]
        long = asyncio.create_task(tok.acount("low " * LONG))
        while blocked.running < bound:
            await asyncio.sleep(0.001)
        assert await tok.acount("low lower") == tok.count("low lower")
        assert not long.done()
        for cancelled in (tasks[0], tasks[-1]):  # one that runs, and one that waits
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
        blocked.free.set()
        await asyncio.gather(*tasks[1:-1])
        assert await long == tok.count("low " * LONG)

    asyncio.run(main())
    assert (blocked.most, blocked.running, blocked.ended) == (bound, 0, bound + 4)


def test_a_cancelled_call_leaves_the_tokenizer_as_it_was(tok: Tokenizer) -> None:
    text = "low slow lowest " * LONG

    async def main() -> None:
        for _ in range(5):
            task = asyncio.create_task(tok.aencode(text))
            await asyncio.sleep(0)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await tok.aencode(text) == tok.encode(text)

    asyncio.run(main())


@needs("fork")
def test_a_forked_child_has_a_pool_too() -> None:
    run_script(
        """
        import asyncio, os, sys, warnings
        import toksmith
        warnings.simplefilter("ignore")  # Python warns about a fork with threads
        tok = toksmith.train("low lower", 260, progress=False)
        text = "low " * 100_000
        expected = asyncio.run(tok.acount(text))
        child = os.fork()
        if child == 0:
            os._exit(asyncio.run(tok.acount(text)) != expected)
        assert os.waitpid(child, 0)[1] == 0
        """
    )


def test_an_awaitable_call_needs_no_asyncio_before() -> None:
    run_script(
        """
        import sys
        import toksmith
        tok = toksmith.train("low lower", 260, progress=False)
        call = tok.acount("low")
        try:
            call.send(None)
        except StopIteration as done:
            assert done.value == 1
        assert "asyncio" not in sys.modules
        """
    )
