"""Packs documents into rows of one length.

`chunk` concatenates all documents and cuts the result. `best-fit` cuts only documents that are longer than a row, takes
the pieces by length, the longest first, and puts each into the fullest row with room for it (best-fit decreasing, Ding et
al., arXiv 2404.10830). Packing stays inside a shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ..._corpus.encode_files import Block
from ..plans.plan import HeldIdsLimit

Packed = tuple[NDArray[np.uint32], NDArray[np.uint64], list[list[int]]]


def pack_rows(blocks: Iterable[Block], how: str, length: int, pad: int | None) -> Iterator[Packed]:
    """Rows of at most `length` ids, filled up with `pad` unless None, and the lengths of each row's pieces."""
    rows = best_fit_rows(blocks, length) if how == "best-fit" else chunk_rows(blocks, length)
    ids: list[NDArray[np.uint32]] = []
    ends: list[int] = []
    lengths: list[list[int]] = []
    size = 0
    for pieces in rows:
        row_size = sum(map(len, pieces))
        ids += pieces
        if pad is not None and row_size < length:
            ids.append(np.full(length - row_size, pad, np.uint32))
            row_size = length
        size += row_size
        ends.append(size)
        lengths.append([len(piece) for piece in pieces])
        if size > 1 << 22:
            yield np.concatenate(ids), np.array(ends, np.uint64), lengths
            ids, ends, lengths, size = [], [], [], 0
    if ends:
        yield np.concatenate(ids), np.array(ends, np.uint64), lengths


def documents_in(blocks: Iterable[Block]) -> Iterator[NDArray[np.uint32]]:
    for ids, ends in blocks:
        start = 0
        for end in ends.tolist():
            if end > start:
                yield ids[start:end]
            start = end


def chunk_rows(blocks: Iterable[Block], length: int) -> Iterator[list[NDArray[np.uint32]]]:
    """Rows cut from the concatenated documents; the last row can be shorter."""
    row: list[NDArray[np.uint32]] = []
    room = length
    for document in documents_in(blocks):
        while len(document):
            row.append(document[:room])
            document = document[len(row[-1]) :]
            room -= len(row[-1])
            if not room:
                yield row
                row, room = [], length
    if row:
        yield row


def limit_held_ids(blocks: Iterable[Block], held: HeldIdsLimit) -> Iterator[Block]:
    """The blocks, as long as all of them together fit into the memory; errors as in `HeldIdsLimit.add`."""
    for ids, ends in blocks:
        held.add(len(ends), len(ids))
        yield ids, ends


def best_fit_rows(blocks: Iterable[Block], length: int) -> Iterator[list[NDArray[np.uint32]]]:
    """Rows, with each piece in the fullest row that had room for it."""
    pieces = [
        document[start : start + length]
        for document in documents_in(blocks)
        for start in range(0, len(document), length)
    ]
    free = FreeRoom(length)
    rows: list[list[NDArray[np.uint32]]] = []
    for piece in sorted(pieces, key=len, reverse=True):  # a stable sort: pieces of equal length keep their order
        if (number := free.take(len(piece))) is None:
            number = len(rows)
            rows.append([])
            room = length
        else:
            room = length - sum(map(len, rows[number]))
        rows[number].append(piece)
        free.put(room - len(piece), number)
    yield from rows


class FreeRoom:
    """Rows by their free room, in a segment tree over all sizes: finds the fullest row with enough of it in O(log length)."""

    def __init__(self, length: int) -> None:
        self._leaves = 1 << length.bit_length()
        self._rows: list[list[int]] = [[] for _ in range(length + 1)]
        self._there = bytearray(2 * self._leaves)

    def put(self, room: int, row: int) -> None:
        self._rows[room].append(row)
        if len(self._rows[room]) == 1:
            self._mark(room, there=1)

    def take(self, room: int) -> int | None:
        """Removes the row with the least sufficient room, of several the last added; None if no row has enough."""
        node = self._leaves + room
        if not self._there[node]:
            while node > 1 and (node & 1 or not self._there[node + 1]):
                node >>= 1
            if node <= 1:
                return None
            node += 1
            while node < self._leaves:
                node = 2 * node if self._there[2 * node] else 2 * node + 1
        free = node - self._leaves
        row = self._rows[free].pop()
        if not self._rows[free]:
            self._mark(free, there=0)
        return row

    def _mark(self, room: int, *, there: int) -> None:
        node = self._leaves + room
        self._there[node] = there
        while node > 1:
            node >>= 1
            self._there[node] = self._there[2 * node] | self._there[2 * node + 1]
