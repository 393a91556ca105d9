"""Formats that are one file, or files of equal length, for the whole job: shards write parts, `finish` joins them.

The parts lie in the folder `parts/` until the manifest is written, so a job needs the room for its ids twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import JobError
from ..._base.paths import open_guarded
from ..._storage.atomic_files import readable
from ..._storage.folders import Folder
from ..written import Receipt, ShardFiles, WrittenFile
from .rows import DoesNotFit, SinkRow, SinkRows, SinkSpec

__all__ = ["LLMC", "NANOGPT"]

PARTS = "parts"
COPIED_AT_A_TIME = 1 << 22
# By the type of the ids: the number that a file of llm.c begins with, and its version.
LLMC_KINDS = {"uint16": (20240520, 1), "uint32": (20240801, 7)}
MOST = (1 << 31) - 1


class PartSink:
    """`parts/00017.ids`: the ids and nothing else."""

    def __init__(self, files: ShardFiles, spec: SinkSpec) -> None:
        self._file = files.new(f"{PARTS}/{spec.stem}.ids")

    def add(self, rows: SinkRows) -> None:
        """Writes documents."""
        self._file.write(np.ascontiguousarray(rows.ids).data)

    def close(self) -> None:
        """Does nothing: the file is complete."""


class PartReader:
    """The ids of all parts, one after another."""

    def __init__(self, folder: Folder, receipts: Sequence[Receipt], dtype: str) -> None:
        self._folder = folder
        self._files = [each for receipt in receipts for each in receipt.files]
        self._dtype = np.dtype(dtype).newbyteorder("<")

    def read(self) -> Iterator[NDArray[Any]]:
        """The ids, a few MiB at a time.

        Raises:
            JobError: Behind the last ids of a part: it is not the one of its receipt.
        """
        for part in self._files:
            digest = hashlib.sha256()
            path = self._folder.at(part.name)
            with self._folder.fetched([part.name]) as here, readable(path), open_guarded(here / part.name) as file:
                while len(ids := np.fromfile(file, self._dtype, COPIED_AT_A_TIME)):
                    digest.update(ids.data)
                    yield ids
            if digest.hexdigest() != part.sha256:
                said = f"{part.name} has another content than was written; delete it, and run the job again"
                raise JobError(self._folder, said)


def one_file(folder: Folder, receipts: Sequence[Receipt], spec: SinkSpec) -> list[WrittenFile]:
    """nanoGPT's `train.bin`: the ids of all parts."""
    with folder.staged() as here:
        with ShardFiles(here) as files:
            out = files.new("train.bin")
            for ids in PartReader(folder, receipts, spec.dtype).read():
                out.write(ids.data)
            found = list(files.place())
        folder.publish(here, files.names)
    return found


def equal_files(folder: Folder, receipts: Sequence[Receipt], spec: SinkSpec) -> list[WrittenFile]:
    """llm.c's files, which differ by at most one id in length: a trainer refuses a file that is shorter than its batch.

    Raises:
        DoesNotFit: There is no id, which llm.c cannot read.
    """
    total = sum(receipt.ids for receipt in receipts)
    if not total:
        raise DoesNotFit(str(folder), "there are no ids, and llm.c reads no file without ids")
    count = max(-(-total // MOST), min(len(receipts), total))
    sizes = [total // count + (number < total % count) for number in range(count)]
    blocks = PartReader(folder, receipts, spec.dtype).read()
    left = np.empty(0, spec.dtype)
    found: list[WrittenFile] = []
    for number, size in enumerate(sizes):
        with folder.staged() as here:
            with ShardFiles(here) as files:
                out = files.new(f"train_{number:06d}.bin")
                head = np.zeros(256, "<i4")
                head[:3] = (*LLMC_KINDS[spec.dtype], size)
                out.write(head.data)
                while size:
                    left = left if len(left) else next(blocks)
                    out.write(left[:size].data)
                    size, left = size - len(left[:size]), left[size:]
                found += files.place()
            folder.publish(here, files.names)
    if next(blocks, None) is not None:
        raise JobError(
            str(folder), f"{PARTS}/ has more ids than the receipts say; delete the receipts, and run it again"
        )
    return found


NANOGPT = SinkRow(
    "nanogpt",
    "nanoGPT's train.bin: all ids in one file",
    ("uint16", "uint32"),
    lambda size: "uint16" if size <= 1 << 16 else "uint32",
    PartSink,
    finish=one_file,
    parts=PARTS,
)
LLMC = SinkRow(
    "llmc",
    "llm.c's .bin files with heads of 1,024 bytes, all of one length",
    ("uint16", "uint32"),
    lambda size: "uint16" if size <= 1 << 16 else "uint32",
    PartSink,
    finish=equal_files,
    parts=PARTS,
)
