"""`.npy` files: the ids of a shard, and the ends of its documents in a second file, as in `corpus.encode`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..written import HEADER_BYTES, GrowingArray, ShardFiles
from .rows import SinkRow, SinkRows, SinkSpec, lengths_from_ends, stream_ids


class NpySink:
    """`00017.npy` and `00017.ends.npy`."""

    def __init__(self, files: ShardFiles, spec: SinkSpec) -> None:
        names = (f"{spec.stem}.npy", f"{spec.stem}.ends.npy")
        ids, ends = (files.folder / name for name in names)
        # The receipt has sums of the whole files instead.
        self._ids = GrowingArray(files.together(names[0]), ids, spec.dtype, is_summed=False)
        self._ends = GrowingArray(files.together(names[1]), ends, "uint64", is_summed=False)

    def add(self, rows: SinkRows) -> None:
        self._ends.append(rows.ends + np.uint64(self._ids.count))
        self._ids.append(rows.ids)

    def close(self) -> None:
        self._ids.finish()
        self._ends.finish()


def lengths_npy(folder: Path, spec: SinkSpec) -> Iterator[NDArray[np.int64]]:
    return lengths_from_ends(folder / f"{spec.stem}.ends.npy", "<u8", offset=HEADER_BYTES)


def stream_npy(folder: Path, spec: SinkSpec) -> Iterator[SinkRows]:
    return stream_ids(folder / f"{spec.stem}.npy", spec.dtype, lengths_npy(folder, spec), offset=HEADER_BYTES)


ROW = SinkRow(
    "npy",
    "numpy arrays: the ids, and the ends of documents",
    ("uint16", "uint32"),
    lambda size: "uint16" if size <= 1 << 16 else "uint32",
    NpySink,
    lengths=lengths_npy,
    stream=stream_npy,
)
