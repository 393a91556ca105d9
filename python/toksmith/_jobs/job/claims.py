"""Claims: any number of processes that come and go share the units of a job, without a fixed number of parts.

The units of a round are cut into blocks, large ones first and single units last. A process claims a block when it creates the
file `claims/UNIT.TURN`, where UNIT is the block's first unit and TURN the number of earlier claims of the block, so no two
processes make the same claim. The size of the file gives its state: done, given up, or held, for a time that grows with the size. The
holder writes its claims again before half of that time has passed, and makes them longer if its units take long. If a claim is
older than its time, another process takes the next turn.

Ages are differences of two times of the store: the claim's, and that of a file `claims/clock` which the process that asks has
just written. Clocks of machines are not compared. A process measures only the age of its own claims, by its own clock.

A process tries blocks at random, the next size after some tries in a row failed, and lists the claims when it knows of no free block.

A process that finds no block waits, because holders can vanish, or it leaves by chance: about `SPARE` wait, and one for each
`SPARE` blocks that are held.

Claims save work, and correctness does not depend on them: if two processes hold a block, because a store cannot create a file
only if it is absent or because a lease ended too early, both write equal bytes.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ..._storage.folders import Folder
from ...errors import FormatError, JobError
from ..folder.job_files import CLAIMS

LEASE_S = 600.0
MOST_LEASES = 6  # in one claim
RENEWED_AT = 0.4  # of a lease
TRIES = 8  # failed in a row, before smaller blocks are tried
LARGEST_BLOCK = 64
LARGE_BLOCKS = 240  # blocks have a size if a job has this number of units for each square of the size
PAGE = 1000  # files that a store lists in a request
PAUSE_S = 4
SPARE = 8
DONE, GIVEN_UP = b"done\n", b"given up\n"  # a claim that is held has another size
CLOCK = f"{CLAIMS}/clock"
FREE, TAKEN, MADE = range(3)  # what a process knows of a block


class ClaimPlace(NamedTuple):
    """A turn of a block: its first unit, and the number of earlier claims."""

    unit: int
    turn: int

    @property
    def name(self) -> str:
        return f"{CLAIMS}/{self.unit:05d}.{self.turn}"


@dataclass
class HeldClaim:
    """A block of this process: its `place`, the units that are `left`, the time of the process when it last wrote the claim, and
    the number of `leases` of that claim."""

    place: ClaimPlace
    left: set[int]
    since: float
    leases: int


class Blocks(NamedTuple):
    """The blocks of some units: the `places` of the blocks of each size, and the place of each block `by_unit`, its first as in names."""

    blocks: list[range]
    places: list[range]
    by_unit: dict[str, int]


@lru_cache(maxsize=2)
def cut_blocks(units: range) -> Blocks:
    """The units in blocks of each size, the largest first. Each size but the last gets half of the units that are left."""
    size, start = 1, units.start
    while size < LARGEST_BLOCK and (2 * size) ** 2 * LARGE_BLOCKS <= len(units):
        size *= 2
    blocks, places = list[range](), list[range]()
    while size:
        stop = units.stop if size == 1 else start + (units.stop - start) // 2 // size * size
        more = [range(first, first + size) for first in range(start, stop, size)]
        places.append(range(len(blocks), len(blocks) + len(more)))
        blocks += more
        size, start = size // 2, stop
    return Blocks(blocks, places, {f"{block.start:05d}": place for place, block in enumerate(blocks)})


def read_listing(
    listing: Mapping[str, tuple[int, float | None]], by_unit: Mapping[str, int]
) -> tuple[bytearray, dict[int, tuple[int, int, float | None]]]:
    """The states of the blocks, made or free; and by the place of each block that is not made, its last claim: turn, size, and time
    of writing."""
    states, last = bytearray(len(by_unit)), dict[int, tuple[int, int, float | None]]()
    for name, (size, written) in listing.items():
        unit, _, turn = name.partition(".")
        place = by_unit.get(unit)
        if place is None or not (turn.isascii() and turn.isdigit()):
            continue
        if size == len(DONE):
            states[place] = MADE
        elif place not in last or last[place][0] < int(turn):
            last[place] = int(turn), size, written
    return states, {place: claim for place, claim in last.items() if states[place] != MADE}


def spare_processes(busy: int) -> float:
    """About how many processes wait while others hold `busy` blocks."""
    return SPARE + busy / SPARE


def reopen_blocks(folder: Folder, units: range, missing: AbstractSet[int]) -> None:
    """Gives up the claims that mark blocks as done of which units are missing: files were lost after a process had made them."""
    blocks, _, by_unit = cut_blocks(units)
    for name, (size, _) in folder.listing(CLAIMS).items():
        place = by_unit.get(name.partition(".")[0])
        if size == len(DONE) and place is not None and not missing.isdisjoint(blocks[place]):
            folder.write(f"{CLAIMS}/{name}", GIVEN_UP)


class Claims:
    """The claims of one process on the units of a round; a context, in which a thread renews them.

    Args of the constructor: `missing` gives the units of a block that are not done; `clock` in seconds, which `sleep` waits;
    `draw` decides the order of the blocks.

    Attributes: `busy`, the number of blocks that were not done and not free when the claims were last listed.
    """

    def __init__(
        self,
        folder: Folder,
        units: range,
        missing: Callable[[range], list[int]],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        draw: random.Random | None = None,
    ) -> None:
        self._folder, self._missing = folder, missing
        self._clock, self._sleep, self._draw = clock, sleep, draw or random.Random()
        self._held: dict[range, HeldClaim] = {}
        self._blocks = cut_blocks(units)
        self._states = bytearray(len(self._blocks.blocks))  # of each block, as far as this process knows
        self._turns: dict[int, int] = {}  # by the place of a block whose claim ended: the turn to claim
        self.busy, self._pause, self._waits, self._stays = 0, 0.0, False, True
        self._body = os.urandom(16).hex().encode() + b"\n"  # once for each lease
        self._leases, self._begun = 1, dict[int, float]()  # by unit: when this process began it
        self._lock, self._ended = threading.RLock(), threading.Event()

    def __enter__(self) -> Claims:  # noqa: PYI034 - `Self` came with Python 3.11
        threading.Thread(target=self._renew_until_the_end, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for block in [*self._held]:
            self._let_go(block, GIVEN_UP)

    def numbers(self) -> Iterator[int]:
        """Units to make, from blocks that this process claims, until it finds no block to claim. `record_made` gets each made unit."""
        for block, held in self._claimed_blocks():
            missing = self._missing(block)
            held.left = {*missing}
            if not missing:
                self._let_go(block, DONE)
            for number in missing:
                if block not in self._held:  # another process has it now
                    break
                self._begun[number] = self._clock()
                yield number

    def record_made(self, number: int) -> None:
        """Records a made unit; a block is done after its last unit."""
        now = self._clock()
        leases = (now - self._begun.pop(number, now)) / LEASE_S
        self._leases = min(max(1, self._leases - 1, int(4 * leases)), MOST_LEASES)
        for block, held in [*self._held.items()]:
            held.left.discard(number)
            if number in block and not held.left:
                self._let_go(block, DONE)

    def wait(self) -> bool:
        """Waits until a block may be free: longer each time, and `PAUSE_S` for each page of a listing at first.

        Returns: False if all blocks are done; or if others hold them, and enough other processes wait to take them over.
        """
        if self.busy and self._stays:
            self._sleep(self._pause)
            self._pause, self._waits = min(2 * self._pause, LEASE_S / 2), True
            return True
        return False

    def renew(self) -> None:
        """Writes the claims again whose time is half over, or will be at the next call. A claim that was not renewed in time is
        lost if another process has taken the next turn."""
        for block, held in [*self._held.items()]:
            now, half_s = self._clock(), LEASE_S * held.leases / 2
            if now - held.since + RENEWED_AT * LEASE_S < half_s:
                continue
            # The next time is early enough; if not, another process takes the block.
            with suppress(FormatError, JobError), self._lock:
                after = held.place._replace(turn=held.place.turn + 1)
                if now - held.since > half_s and self._folder.has(after.name):
                    self._held.pop(block, None)
                elif block in self._held:
                    leases = self._leases
                    self._folder.write(held.place.name, self._body * leases)
                    held.leases, held.since = leases, now

    def _renew_until_the_end(self) -> None:
        while not self._ended.wait(RENEWED_AT * LEASE_S):
            self.renew()

    def _let_go(self, block: range, state: bytes) -> None:
        with self._lock, suppress(FormatError, JobError):  # the claim then ends with its lease
            if held := self._held.pop(block, None):
                self._folder.write(held.place.name, state)

    def _claimed_blocks(self) -> Iterator[tuple[range, HeldClaim]]:
        failed = 0
        while True:
            place = self._free_place()
            if place is None:
                if not self._look():
                    return
                continue
            self._states[place] = TAKEN
            block = self._blocks.blocks[place]
            claim, now = ClaimPlace(block.start, self._turns.get(place, 0)), self._clock()
            if self._folder.create(claim.name, self._body * self._leases):
                failed, self._pause, self._waits = 0, 0.0, False
                held = self._held[block] = HeldClaim(claim, {*block}, now, self._leases)
                yield block, held
            elif (failed := failed + 1) == TRIES:  # most blocks of this size are claimed
                failed, size = 0, next(each for each in self._blocks.places if place in each)
                if self._draw.random() * (1 + len(self._blocks.blocks) // PAGE) < 1:  # seldom, where a listing is long
                    self._look()
                else:
                    known = self._states[size.start : size.stop]
                    self._states[size.start : size.stop] = known.replace(bytes([FREE]), bytes([TAKEN]))

    def _free_place(self) -> int | None:
        """The place of a free block of the largest size, from a random place on; None if there is none."""
        for places in self._blocks.places:
            start = self._draw.choice(places) if places else places.start
            for first, stop in ((start, places.stop), (places.start, start)):
                if (found := self._states.find(FREE, first, stop)) >= 0:
                    return found
        return None

    def _look(self) -> bool:
        """Lists the claims: which blocks are free, and how many are held. Returns whether any is free."""
        self._folder.write(CLOCK, self._body)
        listing = self._folder.listing(CLAIMS)
        now = listing.get("clock", (0, None))[1]
        if now is None:
            problem = "its store does not list when a file was written, so claims have no age"
            raise JobError(self._folder, f"{problem}; give each process a part: --part I/N")
        states, last = read_listing(listing, self._blocks.by_unit)
        before = spare_processes(self.busy) if self._waits else 0.0
        self._states, self.busy = states, 0
        for place, (number, size, written) in last.items():
            block = self._blocks.blocks[place]
            if (held := self._held.get(block)) and held.place.turn < number:
                self._held.pop(block, None)
            leases = min(max(1, size // len(self._body)), MOST_LEASES)
            if size != len(GIVEN_UP) and (written is None or abs(now - written) <= LEASE_S * leases):
                states[place] = TAKEN
                self.busy += 1
            else:
                self._turns[place] = number + 1
        self._pause = max(self._pause, 1 + PAUSE_S * (len(listing) // PAGE))
        self._stays = self._draw.random() * (before or self.busy) < spare_processes(self.busy)
        return FREE in states
