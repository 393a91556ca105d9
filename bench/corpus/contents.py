"""Hashes the ids that a program wrote: equal if and only if documents and ids are equal.

The readers follow the layouts of the formats, and use no code of toksmith.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Array = Any
Part = tuple[Array, Array]  # the number of ids of each document; all ids
AT_ONCE = 1 << 24
MEGATRON_TYPES = {1: np.uint8, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 8: np.uint16}


def hash_of(folder: Path, form: str) -> str:
    """The number of documents and ids, and a hash of them, for the files in a folder in the order of their names."""
    lengths_hash, ids_hash = hashlib.sha256(), hashlib.sha256()
    documents = total = 0
    for lengths, ids in FORMS[form](folder):
        documents += len(lengths)
        total += len(ids)
        lengths_hash.update(np.ascontiguousarray(lengths, np.int64).data)
        for start in range(0, len(ids), AT_ONCE):
            ids_hash.update(np.ascontiguousarray(ids[start : start + AT_ONCE], np.uint32).data)
    return f"{documents} documents, {total} ids, {lengths_hash.hexdigest()[:12]} {ids_hash.hexdigest()[:12]}"


def of_megatron(folder: Path) -> Iterator[Part]:
    """`.bin` and `.idx`: a header of 34 bytes, then the lengths."""
    for path in sorted(folder.glob("*.idx")):
        head = path.read_bytes()[:34]
        kind, sequences = head[17], struct.unpack("<Q", head[18:26])[0]
        lengths = np.fromfile(path, np.int32, count=sequences, offset=34)
        yield lengths, np.memmap(path.with_suffix(".bin"), MEGATRON_TYPES[kind], "r")


def of_datatrove(folder: Path) -> Iterator[Part]:
    """`.ds` with ids of two or four bytes, and the ends of the documents in `.ds.index`."""
    for path in sorted(folder.glob("*.ds")):
        ends = np.fromfile(path.with_suffix(".ds.index"), np.uint64).astype(np.int64)
        if size := path.stat().st_size:
            yield np.diff(ends, prepend=0), np.memmap(path, f"u{size // ends[-1]}", "r")


def of_datasets(folder: Path) -> Iterator[Part]:
    """A dataset of `save_to_disk`: a column of lists in the Arrow files of `state.json`."""
    import pyarrow

    for file in json.loads((folder / "state.json").read_bytes())["_data_files"]:
        with pyarrow.memory_map(str(folder / file["filename"])) as source:
            for batch in pyarrow.ipc.open_stream(source):
                column = batch.column("input_ids")
                yield np.diff(column.offsets.to_numpy()), column.flatten().to_numpy()


FORMS: dict[str, Callable[[Path], Iterator[Part]]] = {
    "megatron": of_megatron,
    "datatrove": of_datatrove,
    "hf": of_datasets,
}
