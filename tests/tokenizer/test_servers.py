"""One tokenizer in a server: a long call in a thread lets an event loop and other threads encode meanwhile.

Each test stops the interpreter from switching threads: then another thread runs during a call only if the call releases
the lock. So the tests count calls and need no clock.
"""

import asyncio
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from bench import servers
from processors import LIMIT_S

import toksmith
from toksmith import Tokenizer, reference

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
    assert servers.main(["--engines", "nothing", "--clients", "3", "--seconds", "0.01", "--no-pauses"]) == 0
    rows = [line for line in capfd.readouterr().out.splitlines() if line.startswith("| nothing |")]
    assert [row.split(" | ")[1:3] for row in rows] == [
        ["3 short", "loop"],
        ["3 short", "thread"],
        ["2 short, 1 of 5 MB", "loop"],
        ["2 short, 1 of 5 MB", "long in thread"],
    ]
