"""Calls: arguments with false lengths, that change during the call, too many, or of other types."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..attack import SECONDS_LONG, SEED, Attack, Call, require
from ..subjects import LIBRARIES, OURS, TIKTOKEN, TOKENIZERS, small_subject

TEXT = "def low(self): return 5\n" * 400


class WrongLengthList(list[Any]):
    """A list that reports a wrong length."""

    def __init__(self, content: list[Any], length: int) -> None:
        super().__init__(content)
        self.length = length

    def __len__(self) -> int:
        return self.length


def wrong_ids(library: str, folder: Path) -> Iterator[Call]:
    """Ids outside the vocabulary."""
    subject = small_subject(library, folder)

    def call(id: Any) -> str:
        text = subject.decode([5, id, 6])
        require(text != subject.decode([5, 6]), "the id is dropped silently")
        return "text"

    for id in (
        -1,
        1000,
        2**31 - 1,
        2**31,
        2**32 - 1,
        2**32,
        2**32 + 5,
        2**63,
        2**64,
        2**70,
        -(2**70),
        float("nan"),
        1.5,
        None,
        "5",
        b"5",
    ):
        yield lambda: call(id)  # noqa: B023 - called before the next


def empty_batch(library: str, folder: Path) -> Iterator[Call]:
    """A million empty texts."""
    subject = small_subject(library, folder)
    yield lambda: require(len(subject.batch([""] * 1_000_000)) == 1_000_000, "another number of results")


def wrong_lengths(library: str, folder: Path) -> Iterator[Call]:
    """Lists of texts and of ids that report a wrong length."""
    subject = small_subject(library, folder)
    for length in (0, 1, 4, 10**6, 2**40, 2**62):
        yield lambda: subject.batch(WrongLengthList(["a", "b", "c"], length)) and "answers"  # noqa: B023 - called before the next
        yield lambda: subject.decode(WrongLengthList([5, 6, 7], length)) and "answers"  # noqa: B023


def changing_arguments(library: str, folder: Path) -> Iterator[Call]:
    """A list of texts and an array of ids that another thread changes while the call reads them."""
    subject = small_subject(library, folder)
    texts, ids = [TEXT] * 100, np.full(2_000_000, 300, np.uint32)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            texts[-1] = "x" * (len(texts[-1]) % 7)
            texts.append(texts.pop())
            ids[::1000] = 0xFFFF_FFFF
            ids[::1000] = 5

    def beside(call: Callable[[], object]) -> None:
        stop.clear()
        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(5):
                call()
        finally:
            stop.set()
            thread.join()

    yield lambda: beside(lambda: subject.batch(texts))
    yield lambda: beside(lambda: subject.decode(ids if library == OURS else ids[:20_000].tolist()))


def many_threads(library: str, folder: Path) -> Iterator[Call]:
    """128 threads that begin to encode at once, each its own text."""
    subject = small_subject(library, folder)
    draw = random.Random(SEED)
    texts = ["".join(draw.choices("aeinorst  ", k=50_000)) for _ in range(128)]
    due = [subject.encode(text) for text in texts]
    matches: list[bool] = []

    def call() -> None:
        together = threading.Barrier(128)

        def work(place: int) -> None:
            together.wait()
            matches.append(subject.encode(texts[place]) == due[place])

        threads = [threading.Thread(target=work, args=(place,)) for place in range(128)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        require(matches == [True] * 128, "other ids")

    yield call


def wrong_types(library: str, folder: Path) -> Iterator[Call]:
    """Values that are not a text, a list of texts or a list of ids."""
    subject = small_subject(library, folder)
    things: tuple[Any, ...] = (
        None,
        5,
        1.5,
        object(),
        {},
        {"a": 1},
        [None],
        [5.5],
        [["a"]],
        ["a", 5],
        range(3),
        np.zeros((2, 2)),
        np.array(["a"]),
        b"\xff",
    )
    for thing in things:
        for call in (subject.encode, subject.batch, subject.decode):
            yield lambda: call_and_report(call, thing)  # noqa: B023 - called before the next


def call_and_report(call: Callable[[Any], object], thing: Any) -> str:
    """Make a call, and report that it returned."""
    call(thing)
    return "answers"


CALLS = (
    Attack("decode: ids out of range, negative, huge, NaN or not numbers", LIBRARIES, wrong_ids),
    Attack("batch: a million empty texts", LIBRARIES, empty_batch, seconds=SECONDS_LONG),
    Attack("batch and decode: a list whose `__len__` lies", LIBRARIES, wrong_lengths),
    Attack(
        "batch and decode: a caller that changes its lists and arrays during the call",
        (OURS, TIKTOKEN, TOKENIZERS),
        changing_arguments,
    ),
    Attack("128 threads at once", LIBRARIES, many_threads, seconds=SECONDS_LONG, gigabytes=64, most_mb=600),
    Attack("encode, batch and decode: arguments of other types", LIBRARIES, wrong_types),
)
