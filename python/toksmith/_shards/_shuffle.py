"""The order of a shuffled job: by a keyed hash of (seed, number of the input, place in it), whatever the shards are.

Round 1: each shard of the plan writes its documents sorted by their hashes. Round 2: each of as many shards reads the
documents of its range of hashes from all files of round 1, and sorts them. So a shard needs memory for about its own ids.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._atomic_files import readable
from .._corpus import kind_of
from ._durable import ShardFiles
from ._encode_shard import EncodedDocuments, Told
from ._plan import Plan

__all__ = ["BUCKETS", "Bucket", "key_of", "write_buckets"]

BUCKETS = "buckets"
COLUMNS = [("key", "<u8"), ("input", "<u8"), ("place", "<u8"), ("length", "<u8"), ("bytes", "<u8"), ("digest", "V32")]
TABLE = np.dtype(COLUMNS)
IDS_IN_A_BATCH = 1 << 22


def key_of(seed: int, input: int, place: int) -> int:
    """The hash of a document, of 64 bits."""
    data = struct.pack("<QQ", input, place)
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=struct.pack("<Q", seed)).digest(), "little")


def write_buckets(plan: Plan, files: ShardFiles, number: int, found: Iterable[EncodedDocuments]) -> None:
    """Round 1: `buckets/00017.table` and `.ids`, in the order of the hashes."""
    seed = plan.options.shuffle or 0
    rows: list[tuple[Any, ...]] = []
    documents: list[NDArray[np.uint32]] = []
    for told, ids, ends in found:
        start = 0
        for each, end in zip(told, ends.tolist(), strict=True):
            place = each.byte if each.byte is not None else each.record or 0
            key = key_of(seed, each.input, place)
            rows.append((key, each.input, place, end - start, each.text_bytes, each.digest))
            documents.append(ids[start:end])
            start = end
    table = np.array(rows, TABLE)
    order = np.lexsort((table["place"], table["input"], table["key"]))
    table_file, ids_file = (files.new(f"{BUCKETS}/{number:05d}.{name}") for name in ("table", "ids"))
    table_file.write(table[order].tobytes())
    for index in order.tolist():
        ids_file.write(documents[index].astype("<u4").tobytes())


class Bucket:
    """The documents of one range of hashes, of all shards of round 1."""

    def __init__(self, plan: Plan, folder: Path, number: int) -> None:
        self._plan, self._folder = plan, folder
        count = len(plan.shards)
        self._from, self._to = (-(-(edge << 64) // count) for edge in (number, number + 1))

    def documents(self) -> Iterator[EncodedDocuments]:
        """The documents in the order of their hashes, in batches."""
        tables, parts = zip(*map(self._part, range(len(self._plan.shards))), strict=True)
        table, ids = np.concatenate(tables), np.concatenate(parts)
        ends = np.cumsum(table["length"], dtype=np.int64)
        told: list[Told] = []
        found: list[NDArray[np.uint32]] = []
        size = 0
        for index in np.lexsort((table["place"], table["input"], table["key"])).tolist():
            row = table[index]
            end = int(ends[index])
            found.append(ids[end - int(row["length"]) : end])
            told.append(self._told(row))
            size += len(found[-1])
            if size > IDS_IN_A_BATCH:
                yield batch_of(told, found)
                told, found, size = [], [], 0
        yield batch_of(told, found)

    def _part(self, number: int) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        path = self._folder / BUCKETS / f"{number:05d}.table"
        with readable(path):
            table = np.fromfile(path, TABLE)
        keys = table["key"]
        start = int(np.searchsorted(keys, np.uint64(self._from)))
        stop = len(keys) if self._to >> 64 else int(np.searchsorted(keys, np.uint64(self._to)))
        before, count = int(table["length"][:start].sum()), int(table["length"][start:stop].sum())
        with readable(ids := path.with_suffix(".ids")):
            return table[start:stop], np.fromfile(ids, "<u4", count, offset=4 * before)

    def _told(self, row: Any) -> Told:
        input, place = int(row["input"]), int(row["place"])
        path = Path(self._plan.inputs[input].path)
        plain = path.suffix == ".jsonl" and kind_of(path) == ".jsonl"
        record, byte = (None, place) if plain else (place, None)
        return Told(input, record, byte, None, int(row["bytes"]), row["digest"].tobytes())


def batch_of(told: list[Told], found: list[NDArray[np.uint32]]) -> EncodedDocuments:
    """Documents one after another."""
    ends = np.cumsum([len(ids) for ids in found], dtype=np.uint64)
    return EncodedDocuments(told, np.concatenate([np.empty(0, np.uint32), *found]).astype(np.uint32), ends)
