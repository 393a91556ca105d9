"""Megatron's pairs `.bin` and `.idx`: a sequence for each document.

The index has the magic bytes, the version, a code for the type, the numbers of sequences and of documents + 1, then the
lengths in tokens (i32), the places in bytes (i64), and the first sequence of each document (i64).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._errors import JobError
from .._durable import ShardFile, ShardFiles
from ._rows import SinkRow, SinkRows, SinkSpec, lengths_of, ragged

__all__ = ["HEAD", "LEAST_I32", "MAGIC", "ROW", "index_of", "read_index"]

MAGIC = b"MMIDIDX\x00\x00"
HEAD = struct.Struct("<9sQBQQ")
CODES = {"uint16": 8, "int32": 4}
# Megatron takes a type by the size of the vocabulary, and one that is this large has i32.
LEAST_I32 = 65_500
MOST = (1 << 31) - 1


class MegatronSink:
    """`00017_text_document.bin` and `.idx`. A shard without an id has no files: Megatron cannot map an empty `.bin`."""

    def __init__(self, files: ShardFiles, spec: SinkSpec) -> None:
        self._files, self._spec = files, spec
        self._bin: ShardFile | None = None
        self._lengths: list[NDArray[np.int64]] = []

    def add(self, rows: SinkRows) -> None:
        """Writes documents."""
        lengths = lengths_of(rows.ends)
        if len(lengths) and lengths.max() > MOST:
            raise JobError(
                str(self._files.folder), f"a document has more than {MOST:,} ids, the most that Megatron reads"
            )
        self._lengths.append(lengths)
        if len(rows.ids):
            if self._bin is None:
                self._bin = self._files.new(f"{stem(self._spec)}.bin")
            self._bin.write(np.ascontiguousarray(rows.ids).data)

    def close(self) -> None:
        """Completes the files."""
        if self._bin is not None:
            lengths = np.concatenate(self._lengths)
            index = self._files.new(f"{stem(self._spec)}.idx")
            for data in index_of(lengths, self._spec.dtype, np.arange(len(lengths) + 1)):
                index.write(data)


def stem(spec: SinkSpec) -> str:
    """The name of a pair without its suffixes."""
    return f"{spec.stem}_text_document"


def index_of(lengths: NDArray[np.int64], dtype: str, documents: NDArray[np.int64]) -> Iterator[bytes]:
    """The parts of an index.

    Args:
        documents: The first sequence of each document, and the number of sequences.
    """
    yield HEAD.pack(MAGIC, 1, CODES[dtype], len(lengths), len(documents))
    yield lengths.astype("<i4").tobytes()
    places = np.zeros(len(lengths), "<i8")
    np.cumsum(lengths[:-1] * np.dtype(dtype).itemsize, out=places[1:])
    yield places.tobytes()
    yield documents.astype("<i8").tobytes()


def read_index(data: bytes) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
    """The type of the ids, the lengths of the sequences, and the first sequences of the documents.

    Raises:
        ValueError: It is not an index of Megatron's.
    """
    if len(data) < HEAD.size:
        raise ValueError("it is shorter than the head of an index")
    magic, version, code, sequences, documents = HEAD.unpack_from(data)
    names = {code: name for name, code in CODES.items()}
    if (magic, version) != (MAGIC, 1) or code not in names:
        raise ValueError("it does not begin as an index of uint16 or int32 ids does")
    if len(data) != HEAD.size + 12 * sequences + 8 * documents:
        raise ValueError("its size is not that of its numbers of sequences and documents")
    lengths = np.frombuffer(data, "<i4", sequences, HEAD.size).astype(np.int64)
    firsts = np.frombuffer(data, "<i8", documents, HEAD.size + 12 * sequences)
    return names[code], lengths, firsts


def read(folder: Path, spec: SinkSpec) -> Iterator[NDArray[Any]]:
    """The documents of a shard."""
    path = folder / f"{stem(spec)}.idx"
    if not path.exists():
        return iter(())
    dtype, lengths, _ = read_index(path.read_bytes())
    return ragged(np.fromfile(path.with_suffix(".bin"), np.dtype(dtype).newbyteorder("<")), np.cumsum(lengths))


ROW = SinkRow(
    "megatron",
    "Megatron's .bin and .idx, a pair for each shard",
    ("uint16", "int32"),
    lambda size: "uint16" if size < LEAST_I32 else "int32",
    MegatronSink,
    read=read,
)
