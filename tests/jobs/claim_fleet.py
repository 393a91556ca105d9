"""A simulated fleet of processes that claim shards: a clock that jumps from event to event, and a store in memory that counts.

`python tests/jobs/claim_fleet.py WORKERS SHARDS [SECONDS]` prints the requests of a worker for a shard, and the wasted work.
"""

import heapq
import itertools
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from toksmith._jobs.job import claims as _claims
from toksmith._jobs.job.claims import DONE, MADE, Claims, cut_blocks

HOUR_S = 3600.0
BACK_S = 300.0  # until a new worker takes the place of a preempted one


class Store:
    """A folder of a store: `now` in seconds of its clock, the files with size and time of writing, and the number of `requests`.

    It updates what `read_listing` reads from its `files`, for the blocks of `units`, with each file that is written.
    """

    def __init__(self, units: range = range(0)) -> None:
        self.now, self.requests = 1e9, 0
        self.files: dict[str, tuple[int, float | None]] = {}
        self._by_unit = cut_blocks(units).by_unit
        self.read: tuple[bytearray, dict[int, tuple[int, int, float | None]]] = bytearray(len(self._by_unit)), {}

    def has(self, name: str) -> bool:
        self.requests += 1
        return name.rpartition("/")[2] in self.files

    def write(self, name: str, data: bytes) -> None:
        self.requests += 1
        self.files[name.rpartition("/")[2]] = len(data), self.now
        unit, _, turn = name.rpartition("/")[2].partition(".")
        place, (states, last) = self._by_unit.get(unit), self.read
        if place is not None and len(data) == len(DONE):
            states[place] = MADE
            last.pop(place, None)
        elif place is not None and states[place] != MADE and (place not in last or last[place][0] <= int(turn)):
            last[place] = int(turn), len(data), self.now

    def create(self, name: str, data: bytes) -> bool:
        """As `create_if_absent`, in one request."""
        if name.rpartition("/")[2] in self.files:
            self.requests += 1
            return False
        self.write(name, data)
        return True

    def listing(self, folder: str) -> dict[str, tuple[int, float | None]]:
        self.requests += 1 + len(self.files) // 1000
        return self.files


@dataclass
class Outcome:
    """The end of a simulation.

    Attributes: `requests` of a worker for each shard; `wasted`, the share of the working time whose shards were not done or
    were done before; `idle`, the share of the time in which workers waited; `made`, how often each shard was made; `hours`.
    """

    requests: float
    wasted: float
    idle: float
    made: list[int]
    hours: float


class Fleet:
    """Workers that make `shards`, each in a drawn time of `shard_s` on average, while `preempted` of the workers vanish an hour.

    Each worker has a clock with a different time and rate.
    """

    def __init__(
        self,
        workers: int,
        shards: int,
        shard_s: float = 60.0,
        preempted: float = 0.05,
        seed: int = 1,
        store: Any = None,
    ) -> None:
        self.store, self.draw = store or Store(range(shards)), random.Random(seed)
        self.made, self.shard_s, self.preempted = [0] * shards, shard_s, preempted
        self.useful = self.busy = self.waited = 0.0
        self._order, self._events = itertools.count(), list[tuple[float, int, Callable[[], None]]]()
        self._start = self._end = self.store.now
        for _ in range(workers):
            self.at(self.draw.random(), self.add_worker)

    def at(self, seconds: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.store.now + seconds, next(self._order), call))

    def missing(self, block: range) -> list[int]:
        """As a run, which reads the index and each receipt; if a shard is made, it looks for its two files and the end of the job."""
        left = [number for number in block if not self.made[number]]
        self.store.requests += 1 + len(block) + (2 * (len(block) - len(left)) + 2 if len(left) < len(block) else 0)
        return left

    def add_worker(self) -> None:
        draw, store = random.Random(self.draw.random()), self.store
        ahead, rate = draw.uniform(-1e6, 1e6), draw.uniform(0.99, 1.01)
        store.requests += 2  # its first claim: whether the store creates a file only if it is absent
        pauses: list[float] = []
        claims = Claims(
            store,
            range(len(self.made)),
            self.missing,
            clock=lambda: store.now * rate + ahead,
            sleep=pauses.append,
            draw=draw,
        )
        alive, begun = [True], [0.0]

        def steps() -> Iterator[float]:
            while True:
                for number in claims.numbers():
                    begun[0] = store.now
                    yield draw.expovariate(1 / self.shard_s)
                    self.busy += store.now - begun[0]
                    self.useful += 0 if self.made[number] else store.now - begun[0]
                    self.made[number] += 1
                    self._end = store.now
                    self.store.requests += 1  # its receipt
                    begun[0] = 0.0
                    claims.record_made(number)
                if not claims.wait():
                    return
                self.waited += pauses[-1]
                yield pauses.pop()

        made = steps()

        def go_on() -> None:
            if alive[0]:
                seconds = next(made, None)
                alive[0] = seconds is not None
                if seconds is not None:
                    self.at(seconds, go_on)

        def renew() -> None:
            if alive[0]:
                claims.renew()
                self.at(_claims.RENEWED_AT * _claims.LEASE_S, renew)

        def vanish() -> None:
            if alive[0]:
                alive[0] = False
                self.busy += store.now - begun[0] if begun[0] else 0.0
                self.at(BACK_S, self.add_worker)

        self.at(draw.expovariate(self.preempted / HOUR_S) if self.preempted else 1e12, vanish)
        self.at(_claims.RENEWED_AT * _claims.LEASE_S, renew)
        go_on()

    def run(self) -> Outcome:
        with patch.object(_claims, "read_listing", self.read_listing):
            return self._run()

    def read_listing(self, *_: Any) -> Any:
        """As `read_listing`, for which a large fleet has no time."""
        states, last = self.store.read
        return states[:], last

    def _run(self) -> Outcome:
        while self._events:
            at, _, call = heapq.heappop(self._events)
            if at > 1e11:
                break
            self.store.now = at
            call()
        total = self.busy + self.waited
        shards = len(self.made)
        return Outcome(
            self.store.requests / shards,
            1 - self.useful / self.busy,
            self.waited / total,
            self.made,
            (self._end - self._start) / HOUR_S,
        )


if __name__ == "__main__":
    workers, shards = int(sys.argv[1]), int(sys.argv[2])
    done = Fleet(workers, shards, *map(float, sys.argv[3:4])).run()
    twice = sum(each > 1 for each in done.made)
    print(f"{workers:,} workers, {shards:,} shards: {done.requests:.2f} requests of a worker for a shard")
    print(
        f"{done.wasted:.2%} of the work wasted, {twice:,} shards made twice, {done.idle:.1%} waited, {done.hours:.2f} h"
    )
