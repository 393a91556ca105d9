"""datatrove's files: `.ds` with the ids, `.ds.index` with the ends of documents (u64), `.ds.metadata` with three lines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..written import ShardFiles
from .rows import DocumentLengths, DoesNotFit, SinkRow, SinkRows, SinkSpec, lengths_from_ends, stream_ids


class DatatroveSink:
    """`00017.ds`, `00017.ds.index` and `00017.ds.metadata`."""

    def __init__(self, files: ShardFiles, spec: SinkSpec) -> None:
        self._folder, self._spec, self._count = files.folder, spec, 0
        self._lengths = DocumentLengths()
        names = (f"{spec.stem}.ds{suffix}" for suffix in ("", ".index", ".metadata"))
        self._ids, self._index, self._metadata = (files.new(name) for name in names)

    def add(self, rows: SinkRows) -> None:
        """Writes documents. Each must have ids: datatrove's positions would be wrong after an empty document."""
        if not self._lengths.of(len(rows.ids), rows.ends).all():
            problem = (
                "a document has no ids, after which datatrove reads wrong positions; pass empty='skip', or append="
            )
            raise DoesNotFit(str(self._folder), problem)
        self._index.write((rows.ends + np.uint64(self._count)).astype("<u8").tobytes())
        self._ids.write(np.ascontiguousarray(rows.ids).data)
        self._count += len(rows.ids)

    def close(self) -> None:
        size = np.dtype(self._spec.dtype).itemsize
        lines = (f"toksmith-{self._spec.tokenizer}|{size}", str(self._count), format_token_count(self._count))
        self._metadata.write("\n".join(lines).encode())


def format_token_count(number: int) -> str:
    """A number of tokens with three digits, as datatrove writes it: "1.23 kT"."""
    power = min(int(math.log10(number)), 32) if number else 0
    digits = f"{number / 10 ** (power // 3 * 3):.{2 - power % 3}f}"
    return f"{digits} {' kMGTPEZYRQ'[power // 3].strip()}T"


def lengths_datatrove(folder: Path, spec: SinkSpec) -> Iterator[NDArray[np.int64]]:
    return lengths_from_ends(folder / f"{spec.stem}.ds.index", "<u8")


def stream_datatrove(folder: Path, spec: SinkSpec) -> Iterator[SinkRows]:
    return stream_ids(folder / f"{spec.stem}.ds", spec.dtype, lengths_datatrove(folder, spec))


ROW = SinkRow(
    "datatrove",
    "datatrove's .ds files with their index",
    ("uint16", "uint32"),
    # datatrove uses uint32 for sizes above 65,536; at that size the largest id is 65,535.
    lambda size: "uint16" if size <= 1 << 16 else "uint32",
    DatatroveSink,
    lengths=lengths_datatrove,
    stream=stream_datatrove,
)
