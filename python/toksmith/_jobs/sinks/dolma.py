"""dolma's files, which OLMo-core reads: ids without a head in `.npy`, and a row for each document in `.csv.gz`.

The rows are `start,end,id,src,loc`, places counted in ids; `src` is empty, `loc` the number of the row. OLMo-core finds documents in a file of
the same machine by their last id, not by the rows, so that id must be nowhere else.
"""

from __future__ import annotations

import gzip
import itertools
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..._base.paths import open_guarded
from ..written import ShardFile, ShardFiles
from .rows import AT_A_TIME, DoesNotFit, SinkRow, SinkRows, SinkSpec, lengths_of, streamed

__all__ = ["ROW"]

BLOCK_BYTES = (1 << 16) - 1


class DolmaSink:
    """`part-00017.npy` and `part-00017.csv.gz`."""

    def __init__(self, files: ShardFiles, spec: SinkSpec) -> None:
        self._folder, self._count, self._documents = files.folder, 0, 0
        self._start = 0  # of the next document
        if spec.last is None:
            problem = "OLMo-core finds the end of a document by its last id, and this job has none; pass append="
            raise DoesNotFit(str(self._folder), problem)
        self._last = spec.last
        self._ids = files.new(f"{stem(spec)}.npy")
        self._rows = StoredGzip(files.new(f"{stem(spec)}.csv.gz"))

    def add(self, rows: SinkRows) -> None:
        """Writes documents.

        Raises:
            DoesNotFit: One does not end in the id that ends documents, or has it inside: OLMo-core would cut it there.
        """
        ends = rows.ends.astype(np.int64)
        if not np.array_equal(np.flatnonzero(rows.ids == self._last) + 1, ends):
            problem = "a document does not have the token of append= at its end alone, where OLMo-core cuts documents"
            raise DoesNotFit(
                str(self._folder), f"{problem}; pass another append=, or special= and empty= other than these"
            )
        self._ids.write(np.ascontiguousarray(rows.ids).data)
        lines = []
        for name, end in zip(rows.names, (ends + self._count).tolist(), strict=True):
            lines.append(f"{self._start},{end},{plain(name or '')},,{self._documents}\n")
            self._start = end
            self._documents += 1
        self._rows.write("".join(lines).encode())
        self._count += len(rows.ids)

    def close(self) -> None:
        """Completes the files."""
        self._rows.close()


def plain(name: str) -> str:
    """A name without what ends a cell or a line; OLMo-core and dolma split at both, quoted or not."""
    return "".join(" " if sign in ',"' or not sign.isprintable() else sign for sign in name)


def stem(spec: SinkSpec) -> str:
    """The names of a shard's files without their suffixes."""
    return f"part-{spec.stem}"


class StoredGzip:
    """A gzip file of stored blocks: its bytes do not depend on the library that packs, as those of packed blocks do."""

    def __init__(self, file: ShardFile) -> None:
        self._file, self._sum, self._size, self._held = file, 0, 0, b""
        file.write(b"\x1f\x8b\x08" + bytes(6) + b"\xff")

    def write(self, data: bytes) -> None:
        """Writes bytes behind those written before."""
        self._sum = zlib.crc32(data, self._sum)
        self._size += len(data)
        self._held += data
        whole = len(self._held) // BLOCK_BYTES * BLOCK_BYTES
        for at in range(0, whole, BLOCK_BYTES):
            self._block(self._held[at : at + BLOCK_BYTES], last=False)
        self._held = self._held[whole:]

    def close(self) -> None:
        """Writes the last block and the sum."""
        self._block(self._held, last=True)
        self._file.write(struct.pack("<II", self._sum, self._size & 0xFFFFFFFF))

    def _block(self, data: bytes, *, last: bool) -> None:
        self._file.write(struct.pack("<BHH", last, len(data), len(data) ^ 0xFFFF) + data)


def table_of(folder: Path, spec: SinkSpec) -> Iterator[tuple[NDArray[np.uint64], list[str | None]]]:
    """The ends of a shard's documents, and their names, many at a time."""
    with open_guarded(folder / f"{stem(spec)}.csv.gz") as file, gzip.open(file, "rt", encoding="utf-8") as rows:
        while some := [row.split(",") for row in itertools.islice(rows, AT_A_TIME)]:
            yield np.array([int(row[1]) for row in some], np.uint64), [row[2] or None for row in some]


def stream(folder: Path, spec: SinkSpec) -> Iterator[SinkRows]:
    """The documents of a shard, a few MiB at a time, with the names that they have in the files (`plain`)."""
    last = 0
    for ends, names in table_of(folder, spec):
        there, some = 0, lengths_of(ends - np.uint64(last))
        place = last * np.dtype(spec.dtype).itemsize
        for rows in streamed(folder / f"{stem(spec)}.npy", spec.dtype, [some], offset=place):
            yield rows._replace(names=names[there : there + len(rows.ends)])
            there += len(rows.ends)
        last = int(ends[-1])


def dtype(size: int) -> str:
    """The type that OLMo-core takes for a vocabulary, which has one byte for the smallest."""
    return "uint8" if size <= 1 << 8 else "uint16" if size <= 1 << 16 else "uint32"


ROW = SinkRow(
    "dolma",
    "dolma's .npy and .csv.gz, for OLMo-core",
    ("uint8", "uint16", "uint32"),
    dtype,
    DolmaSink,
    names=True,
    needs_last=True,
    stream=stream,
)
