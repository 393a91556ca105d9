"""Shuffles the documents of a job by a keyed hash of (seed, number of the input, place in it), for any shards.

Round 1: each shard of the plan writes its documents sorted by their hashes. Round 2: each of equally many shards reads the
documents of its range of hashes from all files of round 1, and sorts them. So a shard needs memory for about its own ids,
independent of the other shards.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._corpus import kind_of
from ..._corpus.blocks import KINDS
from ..._corpus.names import RowNames
from ..._storage.atomic_files import wrap_read_errors
from ..._storage.folders import Folder
from ...errors import JobError
from ..plans.plan import HeldIdsLimit, Plan, WorkerLimits
from ..sinks.rows import lengths_of, split_ids
from ..written import ShardFiles, receipt_name
from .documents import UNKNOWN, DocumentFacts
from .encode_shard import EncodedDocuments

BUCKETS = "buckets"
# A document has `length` ids in the file of ids, from `start` on.
NUMBERS = ("key", "input", "place", "start", "length", "bytes")
TABLE = np.dtype([*((name, "<u8") for name in NUMBERS), ("digest", "V32")])
IDS_IN_A_BATCH = 1 << 22
ROWS_BESIDE = 1 << 10


def document_key(seed: int, input: int, place: int) -> int:
    data = struct.pack("<QQ", input, place)
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=struct.pack("<Q", seed)).digest(), "little")


def write_buckets(
    plan: Plan, files: ShardFiles, number: int, batches: Iterable[EncodedDocuments], *, room: WorkerLimits
) -> None:
    """Round 1: writes `buckets/00017.table` and `.ids`, in the order of the hashes."""
    seed, room_left = plan.options.shuffle or 0, HeldIdsLimit(number, room)
    tables: list[NDArray[Any]] = [np.empty(0, TABLE)]
    documents: list[NDArray[np.uint32]] = []
    for facts, ids, ends in batches:
        room_left.add(len(ends), len(ids))
        places = np.where(facts.bytes == UNKNOWN, np.maximum(facts.records, 0), facts.bytes)
        rows = np.empty(len(places), TABLE)
        rows["input"], rows["place"], rows["length"] = facts.inputs, places, lengths_of(ends)
        rows["bytes"], rows["digest"] = facts.sizes, facts.digests
        pairs = zip(facts.inputs.tolist(), places.tolist(), strict=True)
        rows["key"] = np.array([document_key(seed, input, place) for input, place in pairs], np.uint64)
        tables.append(rows)
        documents += split_ids(ids, ends)
    table = np.concatenate(tables)
    order = np.lexsort((table["place"], table["input"], table["key"]))
    table = table[order]
    table["start"] = np.cumsum(table["length"]) - table["length"]
    table_file, ids_file = (files.new(f"{BUCKETS}/{number:05d}.{name}") for name in ("table", "ids"))
    table_file.write(table.tobytes())
    for index in order.tolist():
        ids_file.write(documents[index].astype("<u4", copy=False).tobytes())


def size_problem(name: str, size: int, expected: str, number: int) -> str:
    """The error message for a file of the first round with a wrong size."""
    problem = f"{name} has {size:,} bytes, expected {expected}: it was changed or cut short"
    return f"{problem}; delete {receipt_name(number)}, and run the job again"


class Bucket:
    """The documents of one range of hashes, from all shards of round 1."""

    def __init__(self, plan: Plan, folder: Folder, number: int, room: WorkerLimits) -> None:
        self._plan, self._folder, self._held = plan, folder, HeldIdsLimit(number + plan.final.start, room)
        self._sizes = folder.sizes()
        count = len(plan.shards)
        self._from, self._to = (-(-(edge << 64) // count) for edge in (number, number + 1))
        paths = [Path(input.path) for input in plan.inputs]
        self._plain = np.array([path.suffix == ".jsonl" for path in paths], np.bool_)
        self._whole = np.array([kind_of(path) not in KINDS for path in paths], np.bool_)  # files of one text

    def documents(self) -> Generator[EncodedDocuments, None, None]:
        """The documents in the order of their hashes, in batches."""
        tables, parts = zip(*map(self._part, range(len(self._plan.shards))), strict=True)
        table, ids = np.concatenate(tables), np.concatenate(parts)
        ends = np.cumsum(table["length"], dtype=np.int64)
        order = np.lexsort((table["place"], table["input"], table["key"]))
        sizes = np.cumsum(table["length"][order], dtype=np.int64)
        start = 0
        while start < len(order):
            before = int(sizes[start - 1]) if start else 0
            stop = min(int(np.searchsorted(sizes, before + IDS_IN_A_BATCH, side="right")) + 1, len(order))
            rows = order[start:stop]
            lengths = table["length"][rows]
            edges = zip((ends[rows] - lengths.astype(np.int64)).tolist(), ends[rows].tolist(), strict=True)
            batch_ids = np.concatenate([ids[first:last] for first, last in edges])
            yield EncodedDocuments(self._facts_of_rows(table[rows]), batch_ids, np.cumsum(lengths, dtype=np.uint64))
            start = stop
        if not len(order):
            yield EncodedDocuments(self._facts_of_rows(table), np.empty(0, np.uint32), np.empty(0, np.uint64))

    def _part(self, number: int) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """The rows and ids of a shard of round 1 in this range."""
        name = f"{BUCKETS}/{number:05d}"
        table = self._rows(number)
        if not len(table):
            return table, np.empty(0, np.uint32)
        start, stop = int(table["start"][0]), int(table["start"][-1]) + int(table["length"][-1])
        self._held.add(len(table), stop - start)
        with wrap_read_errors(self._folder.at(f"{name}.ids")):
            data = self._folder.read(f"{name}.ids", 4 * start, 4 * stop)
        if len(data) != 4 * (stop - start):
            size = 4 * start + len(data)
            raise JobError(self._folder, size_problem(f"{name}.ids", size, f"at least {4 * stop:,}", number))
        return table, np.frombuffer(data, "<u4")

    def _rows(self, number: int) -> NDArray[Any]:
        """The rows of a table in this range. Keys are hashes, so a key gives its approximate place in the sorted table: the
        rows at this place with a margin are read, and more if needed. All tables together can be larger than memory."""
        name = f"{BUCKETS}/{number:05d}.table"
        with wrap_read_errors(self._folder.at(name)):
            size = self._sizes(name)
            size = len(self._folder.read(name)) if size is None else size
            count, rest = divmod(size, TABLE.itemsize)
            if rest:
                expected = f"a multiple of {TABLE.itemsize}"
                raise JobError(self._folder, size_problem(name, size, expected, number))
            margin = ROWS_BESIDE
            while True:
                first = max((count * self._from >> 64) - margin, 0)
                last = min((count * self._to >> 64) + margin, count)
                data = self._folder.read(name, first * TABLE.itemsize, last * TABLE.itemsize)
                rows = np.frombuffer(data, TABLE)
                start = int(np.searchsorted(rows["key"], np.uint64(self._from)))
                stop = len(rows) if self._to >> 64 else int(np.searchsorted(rows["key"], np.uint64(self._to)))
                if (start or not first) and (stop < len(rows) or last == count):
                    return rows[start:stop].copy()
                margin *= 8

    def _facts_of_rows(self, rows: NDArray[Any]) -> DocumentFacts:
        inputs, places = rows["input"].astype(np.int64), rows["place"].astype(np.int64)
        plain = self._plain[inputs]
        records = np.where(plain | self._whole[inputs], UNKNOWN, places)
        starts = np.where(plain, places, UNKNOWN)
        digests = np.ascontiguousarray(rows["digest"])
        return DocumentFacts(
            inputs, records, starts, rows["bytes"].astype(np.uint64), digests, RowNames.none(len(rows))
        )
