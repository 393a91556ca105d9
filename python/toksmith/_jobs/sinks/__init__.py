"""The formats that a job writes: a row of `SINKS` and a module for each. `rows.py` defines a sink.

`EVERY_ROW` also has the format of jobs that count pieces (`make/count_shard.py`): one file of counts for each shard.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..written import ShardFiles
from . import arrow, datatrove, dolma, joined, litdata, mds, megatron, npy
from .rows import UNREADABLE, DocumentLengths, Sink, SinkRow, SinkRows, SinkSpec, lengths_of

__all__ = [
    "EVERY_ROW",
    "SINKS",
    "UNREADABLE",
    "DocumentLengths",
    "Sink",
    "SinkRow",
    "SinkRows",
    "SinkSpec",
    "counts_name",
    "lengths_of",
]


def counts_name(number: int) -> str:
    """The name of a shard's file of counts; `_training/counts/merge.py` finds the file by this name."""
    return f"{number:05d}.counts.parquet"


def takes_no_ids(files: ShardFiles, spec: SinkSpec) -> Sink:
    raise TypeError("a job that counts writes no ids")


ROWS = (
    npy.ROW,
    megatron.ROW,
    joined.NANOGPT,
    joined.LLMC,
    datatrove.ROW,
    arrow.PARQUET,
    arrow.HF,
    mds.ROW,
    dolma.ROW,
    litdata.ROW,
)
COUNTS = SinkRow(
    "counts",
    "counts of pieces, for training",
    ("uint64",),
    lambda size: "uint64",
    takes_no_ids,
    libraries=("pyarrow",),
)
SINKS: Mapping[str, SinkRow] = MappingProxyType({row.name: row for row in ROWS})
EVERY_ROW: Mapping[str, SinkRow] = MappingProxyType({**SINKS, COUNTS.name: COUNTS})
