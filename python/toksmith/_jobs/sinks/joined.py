"""Formats with one file, or files of equal length, for the whole job: shards write parts, and `finish` joins them.

The parts stay in the folder `parts/` until the manifest is written, so a job needs disk space for its ids twice.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.paths import open_guarded
from ..._storage.atomic_files import wrap_read_errors
from ..._storage.folders import Folder
from ...errors import InvalidOption, JobError
from ..written import Receipt, ShardFiles, WrittenFile
from .rows import DoesNotFit, SinkRow, SinkRows, SinkSpec, split_ids

PARTS = "parts"
SIDES = ("train", "val")
COPIED_AT_A_TIME = 1 << 22
# For each type of ids: the magic number of a file of llm.c, and its version.
LLMC_KINDS = {"uint16": (20240520, 1), "uint32": (20240801, 7)}
MOST = (1 << 31) - 1


class PartSink:
    """`parts/00017.ids`; with `val` also `parts/00017.val`: where each document for validation begins and ends (u64), in ids.

    A hash of the ids chooses the document, so it does not depend on the shards, and equal documents are never on both sides.
    """

    def __init__(self, files: ShardFiles, spec: SinkSpec) -> None:
        self._file = files.new(f"{PARTS}/{spec.stem}.ids")
        self._limit = None if spec.val is None else int(spec.val * 2**64)
        self._ranges = None if spec.val is None else files.new(f"{PARTS}/{spec.stem}.val")
        self._begin = self._end = 0
        self._digest = hashlib.blake2b(digest_size=8)

    def add(self, rows: SinkRows) -> None:
        ids = np.ascontiguousarray(rows.ids)
        self._file.write(ids.data)
        if self._limit is None or self._ranges is None:
            return
        chosen: list[int] = []
        for document in split_ids(ids, rows.ends):
            self._digest.update(document.data)
            self._end += len(document)
            if int.from_bytes(self._digest.digest(), "little") < self._limit:
                chosen += self._begin, self._end
            self._begin, self._digest = self._end, hashlib.blake2b(digest_size=8)
        rest = ids[int(rows.ends[-1]) if len(rows.ends) else 0 :]  # a long document continues in the next rows
        self._digest.update(rest.data)
        self._end += len(rest)
        self._ranges.write(np.array(chosen, "<u8").data)

    def close(self) -> None:
        """Does nothing: the files are complete."""


class PartReader:
    """The ids of all parts, in order: side 0 is for training, side 1 for validation.

    Attributes: `sizes`, the number of ids of each side; one side without `val`.
    """

    def __init__(self, folder: Folder, receipts: Sequence[Receipt], spec: SinkSpec) -> None:
        self._folder = folder
        self._files = [file for receipt in receipts for file in receipt.files if file.name.endswith(".ids")]
        self._dtype = np.dtype(spec.dtype).newbyteorder("<")
        self._ends = read_validation_ends(folder, receipts)
        total, held_out = sum(receipt.ids for receipt in receipts), int((self._ends[1::2] - self._ends[::2]).sum())
        self.sizes = [total] if spec.val is None else [total - held_out, held_out]
        if spec.val is not None and 0 in self.sizes:
            documents = sum(receipt.documents for receipt in receipts)
            problem = f"val={spec.val} leaves no ids for {('training', 'validation')[self.sizes.index(0)]}"
            advice = "pass another val, or more documents, and force=True"
            raise DoesNotFit(str(folder), f"{problem}: {documents:,} documents; {advice}")

    def read(self, side: int) -> Iterator[NDArray[Any]]:
        """The ids of a side, a few MiB at a time; then JobError if a part does not match its receipt."""
        at = 0
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
                    first, last = np.searchsorted(self._ends, [at, at + len(ids)], "right").tolist()
                    cuts = [0, *(self._ends[first:last] - at).tolist(), len(ids)]
                    for number, (start, stop) in enumerate(pairwise(cuts), first):
                        if number % 2 == side and start < stop:
                            yield ids[start:stop]
                    at += len(ids)
            refuse_change(self._folder, part, digest.hexdigest())


def refuse_change(folder: Folder, part: WrittenFile, sha256: str) -> None:
    if sha256 != part.sha256:
        problem = f"{part.name} has changed since it was written; delete it, and run the job again"
        raise JobError(folder, problem)


def read_validation_ends(folder: Folder, receipts: Sequence[Receipt]) -> NDArray[np.int64]:
    """The places in all ids where documents for validation begin and end, in turn; JobError if a part has changed."""
    ends, before = [np.zeros(0, np.int64)], 0
    for receipt in receipts:
        for part in receipt.files:
            if part.name.endswith(".val"):
                with wrap_read_errors(folder.at(part.name)):
                    data = folder.read(part.name)
                refuse_change(folder, part, hashlib.sha256(data).hexdigest())
                ends.append(np.frombuffer(data, "<u8").astype(np.int64) + before)
        before += receipt.ids
    return np.concatenate(ends)


def write_nanogpt(folder: Folder, receipts: Sequence[Receipt], spec: SinkSpec) -> list[WrittenFile]:
    """Writes nanoGPT's `train.bin`, `val.bin` if the job has `val`, and `meta.pkl` with the size of the vocabulary."""
    reader = PartReader(folder, receipts, spec)
    with folder.staging_folder() as local:
        with ShardFiles(local) as files:
            for side in range(len(reader.sizes)):
                out = files.new(f"{SIDES[side]}.bin")
                for ids in reader.read(side):
                    out.write(ids.data)
            files.new("meta.pkl").write(pickle.dumps({"vocab_size": spec.vocab_size}, 4))
            written_files = list(files.place())
        folder.publish(local, files.names)
    return written_files


def choose_nanogpt_dtype(size: int) -> str:
    if size <= 1 << 16:
        return "uint16"
    allowed = "'npy' or another format, or a tokenizer of at most 65,536 ids (such as 'gpt2', or your own)"
    raise InvalidOption("to", "nanogpt", f"{allowed}: nanoGPT reads ids of 16 bits, and this tokenizer has {size:,}")


def write_llmc(folder: Folder, receipts: Sequence[Receipt], spec: SinkSpec) -> list[WrittenFile]:
    """Writes llm.c's files; the lengths of a side differ by at most one id: a trainer refuses a file shorter than its batch."""
    reader = PartReader(folder, receipts, spec)
    if not sum(reader.sizes):
        raise DoesNotFit(str(folder), "there are no ids, and llm.c reads no file without ids")
    written_files: list[WrittenFile] = []
    for side, total in enumerate(reader.sizes):
        count = max(-(-total // MOST), min(1 if side else len(receipts), total))
        blocks = reader.read(side)
        rest = np.empty(0, spec.dtype)
        for number in range(count):
            size = total // count + (number < total % count)
            with folder.staging_folder() as local:
                with ShardFiles(local) as files:
                    out = files.new(f"{SIDES[side]}_{number:06d}.bin")
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
            problem = f"{PARTS}/ has more ids than the receipts; delete the receipts, and run the job again"
            raise JobError(str(folder), problem)
    return written_files


NANOGPT = SinkRow(
    "nanogpt",
    "nanoGPT's train.bin, val.bin and meta.pkl",
    ("uint16",),
    choose_nanogpt_dtype,
    PartSink,
    finish=write_nanogpt,
    parts=PARTS,
    splits=True,
)
LLMC = SinkRow(
    "llmc",
    "llm.c's .bin files with heads of 1,024 bytes, all of one length",
    ("uint16", "uint32"),
    lambda size: "uint16" if size <= 1 << 16 else "uint32",
    PartSink,
    finish=write_llmc,
    parts=PARTS,
    splits=True,
)
