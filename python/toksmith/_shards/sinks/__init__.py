"""The formats that a job writes: a row of `SINKS` and a file for each. `_rows.py` says what a sink is.

`EVERY_ROW` also has that of jobs that count.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import _arrow, _counts, _datatrove, _dolma, _joined, _litdata, _mds, _megatron, _npy
from ._rows import UNREADABLE, DocumentLengths, Sink, SinkRow, SinkRows, SinkSpec, lengths_of

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
    _npy.ROW,
    _megatron.ROW,
    _joined.NANOGPT,
    _joined.LLMC,
    _datatrove.ROW,
    _arrow.PARQUET,
    _arrow.HF,
    _mds.ROW,
    _dolma.ROW,
    _litdata.ROW,
)
SINKS: Mapping[str, SinkRow] = MappingProxyType({row.name: row for row in ROWS})
EVERY_ROW: Mapping[str, SinkRow] = MappingProxyType({**SINKS, _counts.COUNTS.name: _counts.COUNTS})
