"""The formats that a job writes: a row of `SINKS` and a file for each. `rows.py` says what a sink is.

`EVERY_ROW` also has that of jobs that count.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import arrow, counts, datatrove, dolma, joined, litdata, mds, megatron, npy
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
    "lengths_of",
]

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
SINKS: Mapping[str, SinkRow] = MappingProxyType({row.name: row for row in ROWS})
EVERY_ROW: Mapping[str, SinkRow] = MappingProxyType({**SINKS, counts.COUNTS.name: counts.COUNTS})
