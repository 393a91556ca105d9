"""Formats with one file, or files of equal length, for the whole job: shards write parts, and `finish` joins them.

The parts stay in the folder `parts/` until the manifest is written, so a job needs disk space for its ids twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.paths import open_guarded
from ..._storage.atomic_files import wrap_read_errors
from ..._storage.folders import Folder
from ...errors import JobError
from ..written import Receipt, ShardFiles, WrittenFile
from .rows import DoesNotFit, SinkRow, SinkRows, SinkSpec

__all__ = ["LLMC", "NANOGPT"]

PARTS = "parts"
COPIED_AT_A_TIME = 1 << 22
# For each type of ids: the magic number of a file of llm.c, and its version.
LLMC_KINDS = {"uint16": (20240520, 1), "uint32": (20240801, 7)}
MOST = (1 << 31) - 1


class PartSink:
    """`parts/00017.ids`: only the ids."""

    def __init__(self, files: ShardFiles, spec: SinkSpec) -> None:
        self._file = files.new(f"{PARTS}/{spec.stem}.ids")

    def add(self, rows: SinkRows) -> None:
        self._file.write(np.ascontiguousarray(rows.ids).data)

    def close(self) -> None:
        """Does nothing: the file is complete."""


class PartReader:
    """The ids of all parts, in order."""

    def __init__(self, folder: Folder, receipts: Sequence[Receipt], dtype: str) -> None:
        self._folder = folder
        self._files = [file for receipt in receipts for file in receipt.files]
        self._dtype = np.dtype(dtype).newbyteorder("<")

    def read(self) -> Iterator[NDArray[Any]]:
        """The ids, a few MiB at a time; then JobError if the part does not match its receipt."""
        for part in self._files:
            digest = hashlib.sha256()
            path = self._folder.at(part.name)
            with (
                self._folder.fetch_files([part.name]) as local,
                wrap_read_errors(path),
                open_guarded(local / part.name) as file,
            ):
                while len(ids := np.fromfile(file, self._dtype, COPIED_AT_A_TIME)):
                    digest.update(ids.data)
                    yield ids
            if digest.hexdigest() != part.sha256:
                problem = f"{part.name} has changed since it was written; delete it, and run the job again"
                raise JobError(self._folder, problem)


def write_one_file(folder: Folder, receipts: Sequence[Receipt], spec: SinkSpec) -> list[WrittenFile]:
    """Writes nanoGPT's `train.bin`: the ids of all parts."""
    with folder.staging_folder() as local:
        with ShardFiles(local) as files:
            out = files.new("train.bin")
            for ids in PartReader(folder, receipts, spec.dtype).read():
                out.write(ids.data)
            written_files = list(files.place())
        folder.publish(local, files.names)
    return written_files


def write_equal_files(folder: Folder, receipts: Sequence[Receipt], spec: SinkSpec) -> list[WrittenFile]:
    """Writes llm.c's files, whose lengths differ by at most one id: a trainer refuses a file shorter than its batch."""
    total = sum(receipt.ids for receipt in receipts)
    if not total:
        raise DoesNotFit(str(folder), "there are no ids, and llm.c reads no file without ids")
    count = max(-(-total // MOST), min(len(receipts), total))
    sizes = [total // count + (number < total % count) for number in range(count)]
    blocks = PartReader(folder, receipts, spec.dtype).read()
    rest = np.empty(0, spec.dtype)
    written_files: list[WrittenFile] = []
    for number, size in enumerate(sizes):
        with folder.staging_folder() as local:
            with ShardFiles(local) as files:
                out = files.new(f"train_{number:06d}.bin")
                head = np.zeros(256, "<i4")
                head[:3] = (*LLMC_KINDS[spec.dtype], size)
                out.write(head.data)
                while size:
                    rest = rest if len(rest) else next(blocks)
                    out.write(rest[:size].data)
                    size, rest = size - len(rest[:size]), rest[size:]
                written_files += files.place()
            folder.publish(local, files.names)
    if next(blocks, None) is not None:
        raise JobError(
            str(folder), f"{PARTS}/ has more ids than the receipts; delete the receipts, and run the job again"
        )
    return written_files


NANOGPT = SinkRow(
    "nanogpt",
    "nanoGPT's train.bin: all ids in one file",
    ("uint16", "uint32"),
    lambda size: "uint16" if size <= 1 << 16 else "uint32",
    PartSink,
    finish=write_one_file,
    parts=PARTS,
    only_uint16=True,
)
LLMC = SinkRow(
    "llmc",
    "llm.c's .bin files with heads of 1,024 bytes, all of one length",
    ("uint16", "uint32"),
    lambda size: "uint16" if size <= 1 << 16 else "uint32",
    PartSink,
    finish=write_equal_files,
    parts=PARTS,
)
