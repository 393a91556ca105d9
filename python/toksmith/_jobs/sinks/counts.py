"""Counts of pieces: what a job writes that counts (`make/count_shard.py`), one file for each shard."""

from __future__ import annotations

from ..written import ShardFiles
from .rows import Sink, SinkRow, SinkSpec

__all__ = ["COUNTS", "counts_name"]


def counts_name(number: int) -> str:
    """The name of a shard's file, by which `_training/counts/merge.py` finds it."""
    return f"{number:05d}.counts.parquet"


def takes_no_ids(files: ShardFiles, spec: SinkSpec) -> Sink:
    """Counts are not made of ids.

    Raises:
        TypeError: Always.
    """
    raise TypeError("a job that counts writes no ids")


COUNTS = SinkRow(
    "counts",
    "counts of pieces, for training",
    ("uint64",),
    lambda size: "uint64",
    takes_no_ids,
    libraries=("pyarrow",),
)
