"""LitData's chunks for its `TokensLoader`: an item for each document, and `index.json`.

A chunk has the number of items (u32), their offsets (u32), and the ids. The loader cuts the ids of a chunk into rows of one
length, without regard to documents; it never reads the rest at the end of a chunk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.paths import open_guarded, status_of
from ..._storage.folders import Folder
from ..written import Receipt, ShardFiles, WrittenFile, write_small
from .offsets import OffsetsFirst, items_of, read_places
from .rows import DocumentLengths, SinkRow, SinkRows, SinkSpec, stream_ids

FORMATS = {"uint16": "no_header_tensor:20", "int32": "no_header_tensor:16"}
# LitData's tree of an item: one tensor.
ITEM = '[1, {"type": null, "context": null, "children_spec": []}]'


class LitdataSink:
    """`chunk-0-00017.bin`. A shard without an id has no file, because the loader cannot map an empty array."""

    def __init__(self, files: ShardFiles, spec: SinkSpec) -> None:
        self._files, self._spec = files, spec
        self._out: OffsetsFirst | None = None
        self._own = DocumentLengths()
        self._before: list[NDArray[np.int64]] = []  # the lengths of the documents before the first ids

    def add(self, rows: SinkRows) -> None:
        lengths = self._own.of(len(rows.ids), rows.ends) * np.dtype(self._spec.dtype).itemsize
        if self._out is None:
            self._before.append(lengths)
            if not len(rows.ids):
                return
            self._out = OffsetsFirst(self._files, chunk_name(self._spec))
            lengths = np.concatenate(self._before)
        self._out.add(np.ascontiguousarray(rows.ids).data, lengths)

    def close(self) -> None:
        if self._out is not None:
            self._out.close()


def chunk_name(spec: SinkSpec) -> str:
    return f"chunk-0-{spec.stem}.bin"


def write_litdata_index(folder: Folder, receipts: Sequence[Receipt], spec: SinkSpec) -> list[WrittenFile]:
    files = [file for receipt in receipts for file in receipt.files]
    chunks: list[dict[str, Any]] = []
    for file in files:
        items = items_of(folder, file.name)
        dim = (file.bytes - 4 * (items + 2)) // np.dtype(spec.dtype).itemsize
        chunks.append({"chunk_bytes": file.bytes, "chunk_size": items, "dim": dim, "filename": file.name})
    config: dict[str, Any] = {"chunk_bytes": max((file.bytes for file in files), default=0), "chunk_size": None}
    config |= {"compression": None, "data_format": [FORMATS[spec.dtype]], "data_spec": ITEM, "encryption": None}
    index = json.dumps({"chunks": chunks, "config": config | {"item_loader": "TokensLoader"}}, sort_keys=True)
    return [*files, write_small(folder, "index.json", index.encode())]


def lengths_litdata(folder: Path, spec: SinkSpec) -> Iterator[NDArray[np.int64]]:
    path = folder / chunk_name(spec)
    if status_of(path) is None:
        return
    with open_guarded(path) as file:
        places = read_places(file)
    yield np.diff(places) // np.dtype(spec.dtype).itemsize


def stream_litdata(folder: Path, spec: SinkSpec) -> Iterator[SinkRows]:
    path = folder / chunk_name(spec)
    for batch in lengths_litdata(folder, spec):
        yield from stream_ids(path, spec.dtype, [batch], offset=4 * (len(batch) + 2))


ROW = SinkRow(
    "litdata",
    "LitData's chunks for its TokensLoader, with index.json",
    ("uint16", "int32"),
    lambda size: "uint16" if size <= 1 << 16 else "int32",
    LitdataSink,
    finish=write_litdata_index,
    lengths=lengths_litdata,
    stream=stream_litdata,
)
