"""Megatron's pairs of `.bin` and `.idx`: a sequence for each document.

The index has the magic bytes, the version, a code for the type, the numbers of sequences and of documents + 1, then the
lengths in tokens (i32), the offsets in bytes (i64), and the first sequence of each document (i64).
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.paths import open_guarded, status_of
from ..._storage.atomic_files import wrap_write_errors
from ..written import ShardFile, ShardFiles
from .rows import AT_A_TIME, DocumentLengths, DoesNotFit, SinkRow, SinkRows, SinkSpec, stream_ids

MAGIC = b"MMIDIDX\x00\x00"
HEAD = struct.Struct("<9sQBQQ")
CODES = {"uint16": 8, "int32": 4}
# Megatron chooses the type by the size of the vocabulary: from this size on, i32.
LEAST_I32 = 65_500
MOST = (1 << 31) - 1
HELD_BYTES = 1 << 24


class MegatronSink:
    """`00017_text_document.bin` and `.idx`. A shard without an id has no files: Megatron cannot map an empty `.bin`."""

    def __init__(self, files: ShardFiles, spec: SinkSpec) -> None:
        self._files, self._spec = files, spec
        self._bin: ShardFile | None = None
        # The index lists all documents three times, so the lengths are kept, in a temporary file if they are many.
        self._lengths: Any = tempfile.SpooledTemporaryFile(HELD_BYTES, dir=str(files.folder))  # noqa: SIM115
        self._count, self._own = 0, DocumentLengths()
        files.at_end(self._lengths.close)

    def add(self, rows: SinkRows) -> None:
        lengths = self._own.of(len(rows.ids), rows.ends)
        if len(lengths) and lengths.max() > MOST:
            raise DoesNotFit(
                str(self._files.folder), f"a document has more than {MOST:,} ids, the most that Megatron reads"
            )
        with wrap_write_errors(self._files.folder):
            self._lengths.write(lengths.astype("<i4").tobytes())
        self._count += len(lengths)
        if len(rows.ids):
            if self._bin is None:
                self._bin = self._files.new(f"{pair_stem(self._spec)}.bin")
            self._bin.write(np.ascontiguousarray(rows.ids).data)

    def close(self) -> None:
        if self._bin is not None:
            index = self._files.new(f"{pair_stem(self._spec)}.idx")
            for data in index_of(self._read_lengths, self._count, self._spec.dtype):
                index.write(data)

    def _read_lengths(self) -> Iterator[NDArray[np.int64]]:
        with wrap_write_errors(self._files.folder):  # seeking can write the buffer to the file
            self._lengths.seek(0)
        while data := self._lengths.read(4 * AT_A_TIME):
            yield np.frombuffer(data, "<i4").astype(np.int64)


def pair_stem(spec: SinkSpec) -> str:
    return f"{spec.stem}_text_document"


def index_of(lengths: Callable[[], Iterator[NDArray[np.int64]]], count: int, dtype: str) -> Iterator[bytes]:
    """Yields the parts of an index of `count` documents in bounded memory; calls `lengths` (in batches) twice."""
    yield HEAD.pack(MAGIC, 1, CODES[dtype], count, count + 1)
    for batch in lengths():
        yield batch.astype("<i4").tobytes()
    place = 0
    for batch in lengths():
        ends = place + np.cumsum(batch * np.dtype(dtype).itemsize)
        yield np.concatenate([[place], ends[:-1]]).astype("<i8").tobytes()
        place = int(ends[-1])
    for first in range(0, count + 1, AT_A_TIME):
        yield np.arange(first, min(first + AT_A_TIME, count + 1), dtype="<i8").tobytes()


def lengths_megatron(folder: Path, spec: SinkSpec) -> Iterator[NDArray[np.int64]]:
    path = folder / f"{pair_stem(spec)}.idx"
    if status_of(path) is None:
        return
    with open_guarded(path) as file:
        head = file.read(HEAD.size)
        if len(head) < HEAD.size or head[: len(MAGIC)] != MAGIC:
            raise ValueError(f"{path.name} is not an index of Megatron")
        remaining = HEAD.unpack(head)[3]
        while remaining:
            batch = np.fromfile(file, "<i4", min(remaining, AT_A_TIME)).astype(np.int64)
            if not len(batch):
                raise ValueError(f"{path.name} has fewer lengths than its head records")
            remaining -= len(batch)
            yield batch


def stream_megatron(folder: Path, spec: SinkSpec) -> Iterator[SinkRows]:
    path = folder / f"{pair_stem(spec)}.bin"
    return stream_ids(path, spec.dtype, lengths_megatron(folder, spec)) if status_of(path) is not None else iter(())


ROW = SinkRow(
    "megatron",
    "Megatron's .bin and .idx, a pair for each shard",
    ("uint16", "int32"),
    lambda size: "uint16" if size < LEAST_I32 else "int32",
    MegatronSink,
    lengths=lengths_megatron,
    stream=stream_megatron,
)
