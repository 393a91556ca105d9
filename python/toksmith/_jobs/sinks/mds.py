"""MDS, the format of MosaicML Streaming: a sample for each document, or for each packed row.

A file has the number of samples (u32), their offsets (u32), the configuration as JSON, and the samples: the size of each
column (u32), then the columns, in the order of their names. Ids are an array of one dimension: a byte with the number of
dimensions and the width of the length, then the length and the values. `index.json` lists the files.
"""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.paths import open_guarded, status_of
from ..._storage.folders import Folder
from ..written import Receipt, ShardFiles, WrittenFile, write_small
from .offsets import OffsetsFirst, items_of, read_places
from .rows import AT_A_TIME, IDS_AT_A_TIME, DoesNotFit, SinkRow, SinkRows, SinkSpec, lengths_of

WIDTHS = ("<B", "<H", "<I")  # of the length of an array


class MdsSink:
    """`shard.00017.mds`. A shard without documents has no file."""

    def __init__(self, files: ShardFiles, spec: SinkSpec) -> None:
        self._files, self._spec = files, spec
        self._out: OffsetsFirst | None = None
        self._begun: list[NDArray[Any]] = []  # the parts of a long document: its size must precede its ids

    def add(self, rows: SinkRows) -> None:
        """Writes documents. Each must have ids: the format has no empty arrays."""
        last_end = int(rows.ends[-1]) if len(rows.ends) else 0
        beginning = rows.ids[last_end:]
        if len(rows.ends) and self._begun:
            rows = self._ended(rows)
        if not lengths_of(rows.ends).all():
            problem = "a document has no ids, and MDS has no empty arrays; pass empty='skip', or append="
            raise DoesNotFit(str(self._files.folder), problem)
        if len(rows.ends):
            self._write(rows)
        if len(beginning):
            self._begun.append(beginning)

    def _ended(self, rows: SinkRows) -> SinkRows:
        """Writes the first document, which began in earlier rows, and returns the others."""
        end = int(rows.ends[0])
        ids = [*self._begun, rows.ids[:end]]
        self._begun = []
        head = array_head(sum(map(len, ids)))
        size = len(head) + sum(part.nbytes for part in ids)
        columns = [(rows.names[0] or "").encode()] if self._spec.named else []
        start = struct.pack(f"<{len(columns) + 1}I", *map(len, columns), size) + b"".join(columns) + head
        out = self._open_file()
        out.add(start, np.array([len(start) - len(head) + size], np.int64))
        for part in ids:
            out.add(part.data, np.empty(0, np.int64))
        return SinkRows(rows.ids[end:], rows.ends[1:] - rows.ends[0], rows.names[1:])

    def _open_file(self) -> OffsetsFirst:
        if self._out is None:
            self._out = OffsetsFirst(self._files, mds_name(self._spec))
        return self._out

    def _write(self, rows: SinkRows) -> None:
        parts: list[bytes] = []
        lengths = []
        start = 0
        for index, end in enumerate(rows.ends.tolist()):
            columns = [(rows.names[index] or "").encode()] if self._spec.named else []
            columns += [array_bytes(np.array(rows.pieces[index], "<i4"))] if rows.pieces is not None else []
            columns.append(array_bytes(rows.ids[start:end]))
            sample = struct.pack(f"<{len(columns)}I", *map(len, columns)) + b"".join(columns)
            parts.append(sample)
            lengths.append(len(sample))
            start = end
        self._open_file().add(b"".join(parts), np.array(lengths, np.int64))

    def close(self) -> None:
        if self._out is not None:
            self._out.close(json.dumps(config_of(self._spec), sort_keys=True).encode())


def array_bytes(values: NDArray[Any]) -> bytes:
    return array_head(len(values)) + values.tobytes()


def array_head(count: int) -> bytes:
    code = 0 if count < 1 << 8 else 1 if count < 1 << 16 else 2
    return bytes([1 << 2 | code]) + struct.pack(WIDTHS[code], count)


def config_of(spec: SinkSpec) -> dict[str, Any]:
    """The configuration of the columns, which each file and the index hold."""
    columns = {"id": "str"} if spec.named else {}
    columns |= {"seq_lengths": "ndarray:int32"} if spec.packed else {}
    columns |= {"tokens": f"ndarray:{spec.dtype}"}
    facts: dict[str, Any] = {"column_names": [*columns], "column_encodings": [*columns.values()]}
    facts |= {"column_sizes": [None] * len(columns), "compression": None, "format": "mds", "hashes": ["sha256"]}
    return facts | {"size_limit": None, "version": 2}


def mds_name(spec: SinkSpec) -> str:
    return f"shard.{spec.stem}.mds"


def write_mds_index(folder: Folder, receipts: Sequence[Receipt], spec: SinkSpec) -> list[WrittenFile]:
    files = [file for receipt in receipts for file in receipt.files]
    shards = []
    for file in files:
        data = {"basename": file.name, "bytes": file.bytes, "hashes": {"sha256": file.sha256}}
        samples = items_of(folder, file.name)
        shards.append(config_of(spec) | {"raw_data": data, "samples": samples, "zip_data": None})
    index = json.dumps({"shards": shards, "version": 2}, sort_keys=True)
    return [*files, write_small(folder, "index.json", index.encode())]


def stream_mds(folder: Path, spec: SinkSpec) -> Iterator[SinkRows]:
    """The documents of a shard, a few MiB at a time, with their names."""
    path = folder / mds_name(spec)
    if status_of(path) is None:
        return
    with open_guarded(path) as file:
        places = read_places(file)
        file.seek(int(places[0]))
        start, count = 0, len(places) - 1
        while start < count:
            most = places[start] + IDS_AT_A_TIME * np.dtype(spec.dtype).itemsize
            stop = min(max(int(np.searchsorted(places, most, "right")) - 1, start + 1), start + AT_A_TIME)
            data = memoryview(file.read(int(places[stop] - places[start])))
            edges = itertools.pairwise((places[start : stop + 1] - places[start]).tolist())
            yield samples_of([data[first:last] for first, last in edges], spec)
            start = stop


def samples_of(samples: Sequence[memoryview], spec: SinkSpec) -> SinkRows:
    """The documents of samples. An empty name means that the document has none."""
    columns = len(config_of(spec)["column_names"])
    sizes = struct.Struct(f"<{columns}I")
    parts: list[NDArray[Any]] = []
    names: list[str | None] = []
    for sample in samples:
        column_sizes = sizes.unpack_from(sample)
        # The name is the first column, and the ids are the last one.
        names.append(str(sample[sizes.size :][: column_sizes[0]], "utf-8") or None if spec.named else None)
        ids = sample[sizes.size + sum(column_sizes[:-1]) :]
        parts.append(np.frombuffer(ids, np.dtype(spec.dtype).newbyteorder("<"), offset=1 + (1 << (ids[0] & 3))))
    return SinkRows(np.concatenate(parts), np.cumsum([len(part) for part in parts], dtype=np.uint64), names)


ROW = SinkRow(
    "mds",
    "MosaicML Streaming's .mds files with index.json",
    ("uint16", "uint32"),
    lambda size: "uint16" if size <= 1 << 16 else "uint32",
    MdsSink,
    finish=write_mds_index,
    stream=stream_mds,
    packs=True,
    names=True,
)
