"""Calls: arguments that lie, change while they are read, are too many, or are something else."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..attack import SECONDS_LONG, SEED, Attack, Call, require
from ..subjects import LIBRARIES, OURS, TIKTOKEN, TOKENIZERS, small

TEXT = "def low(self): return 5\n" * 400


class Lying(list[Any]):
    """A list that reports a wrong length."""

    def __init__(self, content: list[Any], length: int) -> None:
        super().__init__(content)
        self.length = length

    def __len__(self) -> int:
        return self.length


def wrong_ids(library: str, folder: Path) -> Iterator[Call]:
    """Ids that no vocabulary has."""
    subject = small(library, folder)

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
    """A million texts without a character."""
    subject = small(library, folder)
    yield lambda: require(len(subject.batch([""] * 1_000_000)) == 1_000_000, "another number of results")


def lying(library: str, folder: Path) -> Iterator[Call]:
    """Lists of texts and of ids whose length is a lie."""
    subject = small(library, folder)
    for length in (0, 1, 4, 10**6, 2**40, 2**62):
        yield lambda: subject.batch(Lying(["a", "b", "c"], length)) and "answers"  # noqa: B023 - called before the next
        yield lambda: subject.decode(Lying([5, 6, 7], length)) and "answers"  # noqa: B023


def changing(library: str, folder: Path) -> Iterator[Call]:
    """A list of texts and an array of ids that another thread changes while they are read."""
    subject = small(library, folder)
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
    """128 threads that begin to encode at once, each a text of its own."""
    subject = small(library, folder)
    draw = random.Random(SEED)
    texts = ["".join(draw.choices("aeinorst  ", k=50_000)) for _ in range(128)]
    due = [subject.encode(text) for text in texts]
    found: list[bool] = []

    def call() -> None:
        together = threading.Barrier(128)

        def work(place: int) -> None:
            together.wait()
            found.append(subject.encode(texts[place]) == due[place])

        threads = [threading.Thread(target=work, args=(place,)) for place in range(128)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        require(found == [True] * 128, "other ids")

    yield call


def wrong_types(library: str, folder: Path) -> Iterator[Call]:
    """Values that are not a text, a list of texts or a list of ids."""
    subject = small(library, folder)
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
            yield lambda: asked(call, thing)  # noqa: B023 - called before the next


def asked(call: Callable[[Any], object], thing: Any) -> str:
    """Calls, and reports that it returned."""
    call(thing)
    return "answers"


CALLS = (
    Attack("decode: ids out of range, negative, huge, NaN or not numbers", LIBRARIES, wrong_ids),
    Attack("batch: a million empty texts", LIBRARIES, empty_batch, seconds=SECONDS_LONG),
    Attack("batch and decode: a list whose `__len__` lies", LIBRARIES, lying),
    Attack(
        "batch and decode: a caller that changes its lists and arrays during the call",
        (OURS, TIKTOKEN, TOKENIZERS),
        changing,
    ),
    Attack("128 threads at once", LIBRARIES, many_threads, seconds=SECONDS_LONG, gigabytes=64, most_mb=600),
    Attack("encode, batch and decode: arguments of other types", LIBRARIES, wrong_types),
)
