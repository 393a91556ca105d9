"""dolma's files for OLMo-core: ids without a header in `.npy`, and a row for each document in `.csv.gz`.

The rows are `start,end,id,src,loc`, with places counted in ids; `src` is empty, `loc` is the number of the row. In a local
file OLMo-core finds documents by their last id, not by the rows, so this id must not occur inside a document.
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
from .rows import AT_A_TIME, DoesNotFit, SinkRow, SinkRows, SinkSpec, lengths_of, stream_ids

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
        self._ids = files.new(f"{files_stem(spec)}.npy")
        self._rows = StoredGzip(files.new(f"{files_stem(spec)}.csv.gz"))

    def add(self, rows: SinkRows) -> None:
        """Writes documents. Each must have the id of `append` at its end only: OLMo-core would cut it elsewhere."""
        ends = rows.ends.astype(np.int64)
        if not np.array_equal(np.flatnonzero(rows.ids == self._last) + 1, ends):
            problem = "a document does not have the token of append= only at its end, where OLMo-core cuts documents"
            raise DoesNotFit(str(self._folder), f"{problem}; pass another append=, or other special= and empty=")
        self._ids.write(np.ascontiguousarray(rows.ids).data)
        lines = []
        for name, end in zip(rows.names, (ends + self._count).tolist(), strict=True):
            lines.append(f"{self._start},{end},{clean_name(name or '')},,{self._documents}\n")
            self._start = end
            self._documents += 1
        self._rows.write("".join(lines).encode())
        self._count += len(rows.ids)

    def close(self) -> None:
        self._rows.close()


def clean_name(name: str) -> str:
    """A name without the characters that end a cell or a line; OLMo-core and dolma split at both, quoted or not."""
    return "".join(" " if sign in ',"' or not sign.isprintable() else sign for sign in name)


def files_stem(spec: SinkSpec) -> str:
    return f"part-{spec.stem}"


class StoredGzip:
    """A gzip file of stored blocks: unlike compressed blocks, their bytes do not depend on the compression library."""

    def __init__(self, file: ShardFile) -> None:
        self._file, self._sum, self._size, self._held = file, 0, 0, b""
        file.write(b"\x1f\x8b\x08" + bytes(6) + b"\xff")

    def write(self, data: bytes) -> None:
        self._sum = zlib.crc32(data, self._sum)
        self._size += len(data)
        self._held += data
        complete = len(self._held) // BLOCK_BYTES * BLOCK_BYTES
        for at in range(0, complete, BLOCK_BYTES):
            self._block(self._held[at : at + BLOCK_BYTES], last=False)
        self._held = self._held[complete:]

    def close(self) -> None:
        self._block(self._held, last=True)
        self._file.write(struct.pack("<II", self._sum, self._size & 0xFFFFFFFF))

    def _block(self, data: bytes, *, last: bool) -> None:
        self._file.write(struct.pack("<BHH", last, len(data), len(data) ^ 0xFFFF) + data)


def read_csv(folder: Path, spec: SinkSpec) -> Iterator[tuple[NDArray[np.uint64], list[str | None]]]:
    """The ends and the names of a shard's documents, in batches."""
    with open_guarded(folder / f"{files_stem(spec)}.csv.gz") as file, gzip.open(file, "rt", encoding="utf-8") as rows:
        while batch := [row.split(",") for row in itertools.islice(rows, AT_A_TIME)]:
            yield np.array([int(row[1]) for row in batch], np.uint64), [row[2] or None for row in batch]


def stream_dolma(folder: Path, spec: SinkSpec) -> Iterator[SinkRows]:
    """The documents of a shard, a few MiB at a time, with their names in the files (see `clean_name`)."""
    last = 0
    for ends, names in read_csv(folder, spec):
        first, lengths = 0, lengths_of(ends - np.uint64(last))
        place = last * np.dtype(spec.dtype).itemsize
        for rows in stream_ids(folder / f"{files_stem(spec)}.npy", spec.dtype, [lengths], offset=place):
            yield rows._replace(names=names[first : first + len(rows.ends)])
            first += len(rows.ends)
        last = int(ends[-1])


def dtype_for_size(size: int) -> str:
    """The type that OLMo-core expects for a vocabulary size; one byte for the smallest."""
    return "uint8" if size <= 1 << 8 else "uint16" if size <= 1 << 16 else "uint32"


ROW = SinkRow(
    "dolma",
    "dolma's .npy and .csv.gz, for OLMo-core",
    ("uint8", "uint16", "uint32"),
    dtype_for_size,
    DolmaSink,
    names=True,
    needs_last=True,
    stream=stream_dolma,
)
