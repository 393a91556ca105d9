"""The index of a plan, `job.index`: facts about all inputs, and where `job.json` has the lines of each shard.

A worker reads the head of the index, the row of its shard, and the lines of `job.json` that the row names, so its cost does not
depend on the number of inputs. The head is `HEAD` bytes: a checksum and a JSON object. A row is `ROW` bytes: where the lines of
the shard's inputs start in `job.json`, and their length; the same for the line of its parts; the bytes that it reads of its
inputs; and a checksum of all of these. `job.json` decides: where the index does not match it, the whole plan is read.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..._storage.folders import Folder

INDEX = "job.index"
VERSION = 1
HEAD, SUM = 1 << 10, 16
WIDTHS = (14, 12, 14, 12, 19)
ROW = sum(WIDTHS) + len(WIDTHS) + SUM + 1
# What is before the lines of the inputs in `job.json`, before the lines of the shards, and after them.
INPUTS, SHARDS, END = b',\n "inputs": [\n', b'\n ],\n "shards": [\n', b"\n ]\n}\n"
READ_BYTES = 1 << 20
READ_TOGETHER = 1 << 13  # rows


@dataclass(frozen=True)
class PlanFacts:
    """Facts about a whole plan.

    Attributes: the numbers of `inputs` and `shards`; `bytes` of all inputs; whether any input is one of the `tables`;
    `held`, the bytes to reserve for the ids of the largest shard.
    """

    inputs: int
    shards: int
    bytes: int
    tables: bool
    held: int


class IndexedLines(NamedTuple):
    """The lines of a shard in `job.json`: of its inputs, and of its parts."""

    inputs: bytes
    parts: bytes


class IndexMismatch(Exception):
    """An index that cannot be used."""


class PlanIndex:
    """An index, opened by `open_index`.

    Attributes: `folder`; `facts`; `head`, the start of `job.json` up to the inputs; `job_sum`, the checksum of all of it.
    """

    def __init__(self, folder: Folder, job: str, facts: PlanFacts, head: bytes, job_sum: str) -> None:
        self.facts, self.head, self.job_sum = facts, head, job_sum
        self.folder, self._job = folder, job
        self._last = 0, b""  # the rows that were read last, and the shard of the first

    def lines(self, number: int) -> IndexedLines:
        """The lines of a shard; raises IndexMismatch if they are not those of the plan."""
        row = self._rows(number, number + 1)
        at, length, parts_at, parts_length, _ = map(int, row[: -SUM - 1].split())
        inputs = self.folder.read(self._job, at, at + length)
        parts = self.folder.read(self._job, parts_at, parts_at + parts_length)
        if row[-SUM - 1 : -1] != check_sum(number, (row[: -SUM - 1], inputs, parts)):
            raise IndexMismatch(f"the lines of shard {number} differ")
        return IndexedLines(inputs, parts)

    def sizes(self, shards: Sequence[int]) -> list[int]:
        """The bytes of the inputs that each of these shards reads; raises as `lines`, or ValueError."""
        first, stop = (min(shards), max(shards) + 1) if shards else (0, 0)
        if stop - first > READ_TOGETHER and len(shards) < self.facts.shards:
            return [int(self._rows(number, number + 1)[: -SUM - 1].split()[-1]) for number in shards]
        rows = np.frombuffer(self._rows(first, stop), np.uint8).reshape(-1, ROW)
        if len(shards) < len(rows):
            rows = rows[[number - first for number in shards]]
        column = rows[:, -SUM - 2 - WIDTHS[-1] : -SUM - 2]
        sizes: list[int] = np.ascontiguousarray(column).view(f"S{WIDTHS[-1]}").ravel().astype(np.int64).tolist()
        return sizes

    def _rows(self, start: int, stop: int) -> bytes:
        first, rows = self._last
        if start < first or ROW * (stop - first) > len(rows):
            first, rows = start, self.folder.read(INDEX, HEAD + ROW * start, HEAD + ROW * stop)
            if len(rows) != ROW * (stop - start):
                raise IndexMismatch(f"it has no row of shard {stop - 1}")
            if stop - start <= READ_TOGETHER:  # the shards of a block are made next
                self._last = first, rows
        return rows[ROW * (start - first) : ROW * (stop - first)]


def check_sum(number: int, parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256(b"%d" % number)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:SUM].encode()


def write_index(here: Path, job: str, facts: PlanFacts, lines: Sequence[int], shards: Sequence[int]) -> None:
    """Writes the index of a plan beside it.

    Args: `here`, a local folder; `job`, the name of the plan; `lines`, where the line of each input starts in it, and where the
    last one ends; `shards`, three numbers for each: its first and last input, and the bytes that it reads.
    """
    with open(here / job, "rb") as plan, open(here / job, "rb") as parts, open(here / INDEX, "wb") as index:

        def read(start: int, stop: int) -> Iterator[bytes]:
            plan.seek(start)
            return (plan.read(min(READ_BYTES, stop - at)) for at in range(start, stop, READ_BYTES))

        head, size = lines[0] - len(INPUTS), plan.seek(0, os.SEEK_END)
        values = {"toksmith_index": VERSION, "head": head, "head_sum": check_sum(0, read(0, head)).decode()}
        values |= {"job": size, "job_sum": check_sum(0, read(0, size)).decode(), "facts": asdict(facts)}
        text = json.dumps(values).encode()
        index.write((check_sum(0, [text]) + b" " + text).ljust(HEAD - 1) + b"\n")
        place = parts.seek(lines[-1] + len(SHARDS) - 1)  # the first byte of `SHARDS` ends the last line
        for number in range(facts.shards):
            first, last, reads = shards[3 * number : 3 * number + 3]
            start, stop, line = lines[first], lines[last + 1], parts.readline()
            row = b"%14d %12d %14d %12d %19d " % (start, stop - start, place, len(line), reads)
            index.write(row + check_sum(number, chain([row], read(start, stop), [line])) + b"\n")
            place += len(line)


def open_index(folder: Folder, job: str) -> PlanIndex | None:
    """The index in a folder, of the plan with the name `job`; None if there is none.

    Raises:
        IndexMismatch: It is damaged, or the index of another plan; or one of the errors of reading JSON.
    """
    try:
        line = folder.read(INDEX, 0, HEAD)
    except FileNotFoundError:
        return None
    sum_, _, text = line.rstrip().partition(b" ")
    if len(line) != HEAD or sum_ != check_sum(0, [text]):
        raise IndexMismatch("its head is damaged")
    values = json.loads(text)
    if values["toksmith_index"] != VERSION:
        raise IndexMismatch(f"toksmith_index, its version, is not {VERSION}")
    facts = PlanFacts(**values["facts"])
    if values["job"] != (now := folder.version(job)[0]):
        raise IndexMismatch(f"{job} has {now:,} bytes, and {values['job']:,} when it was planned")
    head = folder.read(job, 0, values["head"])
    if check_sum(0, [head]).decode() != values["head_sum"]:
        raise IndexMismatch(f"the start of {job} differs")
    return PlanIndex(folder, job, facts, head, values["job_sum"])
