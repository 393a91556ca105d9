"""The formats that a job writes: a row of `SINKS` and a file for each. `_rows.py` says what a sink is."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import _arrow, _datatrove, _joined, _megatron, _npy
from ._rows import Sink, SinkRow, SinkRows, SinkSpec, lengths_of

__all__ = ["SINKS", "Sink", "SinkRow", "SinkRows", "SinkSpec", "lengths_of"]

ROWS = (
    _npy.ROW,
    _megatron.ROW,
    _joined.NANOGPT,
    _joined.LLMC,
    _datatrove.ROW,
    _arrow.PARQUET,
    _arrow.HF,
)
SINKS: Mapping[str, SinkRow] = MappingProxyType({row.name: row for row in ROWS})
