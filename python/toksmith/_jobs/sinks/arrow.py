"""Parquet, and the folder format of Hugging Face's `datasets`: a row for each document or packed row."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.paths import open_guarded
from ..._corpus.names import RowNames
from ..._corpus.parquet import import_pyarrow
from ..._storage.atomic_files import wrap_write_errors
from ..._storage.folders import Folder
from ..written import Receipt, ShardFiles, WrittenFile, write_small
from .rows import SinkRow, SinkRows, SinkSpec, lengths_of

ROWS_AT_A_TIME = 1 << 10
NO_ENDS = np.empty(0, np.uint64)
Batches = Callable[[Path, SinkSpec, Sequence[str]], Iterator[Any]]


class ArrowSink:
    """A Parquet file with `input_ids`, `n_tokens`, and `id` and `seq_lengths` if the job has them."""

    def __init__(self, files: ShardFiles, spec: SinkSpec, name: str) -> None:
        self._spec, self._arrow = spec, import_pyarrow(name)
        self._file = files.new(name)
        self._schema = schema_of(self._arrow, spec)
        self._writer: Any = None
        self._is_complete = False
        self._held = RowBuffer()
        files.at_end(self.give_up)

    def add(self, rows: SinkRows) -> None:
        if not len((rows := self._held.complete(rows)).ends):
            return
        arrow = self._arrow
        lengths = lengths_of(rows.ends)
        columns = [list_column(arrow, rows.ids, lengths), arrow.array(lengths.astype(np.int32))]
        if self._spec.named:
            columns.append(name_column(arrow, rows.names))
        if rows.pieces is not None:
            values = np.array([length for row in rows.pieces for length in row], np.int32)
            columns.append(list_column(arrow, values, np.array([len(row) for row in rows.pieces], np.int64)))
        self.write(arrow.record_batch(columns, schema=self._schema))

    def write(self, batch: Any) -> None:
        with wrap_write_errors(self._file.path):
            if self._writer is None:
                self._writer = self.open_writer()
            self._writer.write_batch(batch)

    def open_writer(self) -> Any:
        return self._arrow.parquet.ParquetWriter(self._file.file, self._schema, compression="zstd")

    def close(self) -> None:
        with wrap_write_errors(self._file.path):
            if self._writer is None:
                self._writer = self.open_writer()
            self._writer.close()
            self._is_complete = True

    def give_up(self) -> None:
        """Closes the writer of an incomplete file, which otherwise would write to the closed file later."""
        if self._writer is not None and not self._is_complete:
            with contextlib.suppress(OSError, ValueError):
                self._writer.close()


class RowBuffer:
    """Buffers documents until the end of a long document, because a row must be written in one call."""

    def __init__(self) -> None:
        self._ids = bytearray()  # grows without a copy where the system allows it
        self._ends: list[NDArray[np.uint64]] = []
        self._names: list[Any] = []

    def complete(self, rows: SinkRows) -> SinkRows:
        """The buffered documents if the last document has ended, else no documents."""
        has_ended = len(rows.ids) == (rows.ends[-1] if len(rows.ends) else 0)
        if has_ended and not self._ids:
            return rows
        self._ends.append(rows.ends + np.uint64(len(self._ids) // rows.ids.itemsize))
        self._names.append(rows.names)
        self._ids += np.ascontiguousarray(rows.ids).data.cast("B")
        if not has_ended or not len(rows.ends):
            return SinkRows(rows.ids[:0], NO_ENDS, [])
        ids = np.frombuffer(self._ids, rows.ids.dtype)
        complete_rows = SinkRows(ids, np.concatenate(self._ends), RowNames.joined(self._names))
        self._ids, self._ends, self._names = bytearray(), [], []
        return complete_rows


class StreamSink(ArrowSink):
    """The same rows as an Arrow stream, which `datasets` maps into memory."""

    def open_writer(self) -> Any:
        return self._arrow.ipc.new_stream(self._file.file, self._schema)


def schema_of(arrow: Any, spec: SinkSpec) -> Any:
    fields = [("input_ids", arrow.list_(arrow.int32())), ("n_tokens", arrow.int32())]
    fields += [("id", arrow.string())] if spec.named else []
    fields += [("seq_lengths", arrow.list_(arrow.int32()))] if spec.packed else []
    return arrow.schema(fields)


def list_column(arrow: Any, values: NDArray[Any], lengths: NDArray[np.int64]) -> Any:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return arrow.ListArray.from_arrays(offsets, arrow.array(values.astype(np.int32, copy=False)))


def name_column(arrow: Any, names: Sequence[str | None]) -> Any:
    if not isinstance(names, RowNames):
        return arrow.array(list(names), arrow.string())
    offsets = np.concatenate([np.zeros(1, np.uint64), names.ends]).astype(np.int32)
    validity = None if names.known.all() else arrow.py_buffer(np.packbits(names.known, bitorder="little"))
    return arrow.StringArray.from_buffers(len(names), arrow.py_buffer(offsets), arrow.py_buffer(names.blob), validity)


def parquet_name(spec: SinkSpec) -> str:
    return f"{spec.stem}.parquet"


def stream_name(spec: SinkSpec) -> str:
    """The name of a shard's file, in the scheme of `datasets`."""
    return f"data-{spec.number:05d}-of-{spec.shards:05d}.arrow"


def write_hf_info(folder: Folder, receipts: Sequence[Receipt], spec: SinkSpec) -> list[WrittenFile]:
    """Writes `dataset_info.json` and `state.json`, which `datasets.load_from_disk` needs."""
    files = [file for receipt in receipts for file in receipt.files]
    ints = {"feature": {"dtype": "int32", "_type": "Value"}, "_type": "Sequence"}
    features: dict[str, Any] = {"input_ids": ints, "n_tokens": {"dtype": "int32", "_type": "Value"}}
    features |= {"id": {"dtype": "string", "_type": "Value"}} if spec.named else {}
    features |= {"seq_lengths": ints} if spec.packed else {}
    info = {"citation": "", "description": "", "features": features, "homepage": "", "license": ""}
    fingerprint = hashlib.sha256("".join(file.sha256 for file in files).encode()).hexdigest()[:16]
    state: dict[str, Any] = {"_data_files": [{"filename": file.name} for file in files], "_fingerprint": fingerprint}
    state |= {"_format_columns": None, "_format_kwargs": {}, "_format_type": None}
    state |= {"_output_all_columns": False, "_split": None}
    for name, value in (("dataset_info.json", info), ("state.json", state)):
        files.append(write_small(folder, name, (json.dumps(value, indent=2) + "\n").encode()))
    return files


def parquet_batches(folder: Path, spec: SinkSpec, columns: Sequence[str]) -> Iterator[Any]:
    arrow = import_pyarrow(parquet_name(spec))
    with open_guarded(folder / parquet_name(spec)) as source, arrow.parquet.ParquetFile(source) as file:
        yield from file.iter_batches(ROWS_AT_A_TIME, columns=list(columns))


def stream_batches(folder: Path, spec: SinkSpec, columns: Sequence[str]) -> Iterator[Any]:
    arrow = import_pyarrow(stream_name(spec))
    with open_guarded(folder / stream_name(spec)) as file, arrow.ipc.open_stream(file) as stream:
        for batch in stream:
            batch.validate(full=True)  # an offset in the file can point outside its buffers
            yield batch.select(list(columns))


def length_reader(batches: Batches) -> Callable[[Path, SinkSpec], Iterator[NDArray[np.int64]]]:
    def lengths(folder: Path, spec: SinkSpec) -> Iterator[NDArray[np.int64]]:
        for batch in batches(folder, spec, ["n_tokens"]):
            yield batch.column(0).to_numpy().astype(np.int64)

    return lengths


def document_reader(batches: Batches) -> Callable[[Path, SinkSpec], Iterator[SinkRows]]:
    def stream(folder: Path, spec: SinkSpec) -> Iterator[SinkRows]:
        for batch in batches(folder, spec, ["input_ids", "id"] if spec.named else ["input_ids"]):
            offsets = batch.column(0).offsets.to_numpy()
            ids = batch.column(0).values.to_numpy()[offsets[0] : offsets[-1]]
            names = batch.column(1).to_pylist() if spec.named else [None] * len(batch)
            yield SinkRows(ids, (offsets[1:] - offsets[0]).astype(np.uint64), names)

    return stream


def arrow_row(name: str, what: str, **own: Any) -> SinkRow:
    own |= {"libraries": ("pyarrow",), "packs": True, "names": True, "batched": True}
    return SinkRow(name, what, ("int32",), lambda size: "int32", **own)


PARQUET = arrow_row(
    "parquet",
    "Parquet, a row for each document",
    open=lambda files, spec: ArrowSink(files, spec, parquet_name(spec)),
    lengths=length_reader(parquet_batches),
    stream=document_reader(parquet_batches),
)
HF = arrow_row(
    "hf",
    "a folder for datasets.load_from_disk",
    open=lambda files, spec: StreamSink(files, spec, stream_name(spec)),
    finish=write_hf_info,
    lengths=length_reader(stream_batches),
    stream=document_reader(stream_batches),
)
