"""Adds up files of counts in bounded memory: sorted files are read side by side, a few at a time, in several rounds.

A round reads `MOST_OPEN` files at once and writes one, until so few are left. First positions stay right over shards that
were counted apart, each from its own beginning: they are moved by the documents of the shards before (`moved`).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ... import _core
from ..._base.arguments import flag
from ..._base.errors import FormatError, InvalidOption, JobError
from ..._base.paths import shown
from ..._storage.atomic_files import AtomicFiles, writable
from ..._storage.folders import Folder, folder_at
from .files import SUFFIXES, Facts, suffix
from .sorted import CountFile, CountRows, CountWriter, count_file, rows_of

__all__ = ["MOST_OPEN", "CountSums", "MovedFile", "files_in", "in_memory", "into_file", "joined", "moved_files"]

MOST_OPEN = 32
MOST = 1 << 64
# The files of a job that counts, which `_jobs/make/count_shard.py` writes, and where a finished job lists them.
OF_JOBS = ".counts.parquet"
JOB, MANIFEST, SUMS = "job.json", "manifest.json", "SHA256SUMS"


class MovedFile(NamedTuple):
    """A file of counts, whose first positions are to be moved by so many documents."""

    file: CountFile
    moved: int

    @property
    def spans(self) -> list[Any]:
        """The stretches of the corpus that it covers, moved."""
        return [
            ((start[0] + self.moved, start[1]), (end[0] + self.moved, end[1])) for start, end in self.file.facts.spans
        ]


class CountSums(NamedTuple):
    """What a merged file has: its facts, how many pieces, their bytes in the corpus, and the digest of the counts."""

    facts: Facts
    positions: bool
    pieces: int
    bytes: int
    digest: str


def joined(spans: Sequence[Any]) -> tuple[Any, ...] | None:
    """The stretches of a corpus that several shards cover together; None if two overlap."""
    found: list[Any] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            return None
        if found and start == found[-1][1]:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return tuple(found)


def files_in(path: Path) -> tuple[list[Path], bool]:
    """The files of counts that a path names, and whether each continues the corpus of the one before.

    Raises:
        FormatError: It is a folder of an unfinished job, or one without files of counts; or the job's files are not regular files.
    """
    folder = folder_at(path)
    if not folder.exists():
        return [path], False
    try:
        return files_in_folder(folder)
    except JobError as error:
        raise FormatError(folder, None, error.problem) from error


def files_in_folder(folder: Folder) -> tuple[list[Path], bool]:
    """As `files_in`, of a folder."""
    if not folder.has(JOB):
        found = [folder.path / name for name in folder.names(()) if name.endswith(SUFFIXES)]
        if not found:
            raise FormatError(folder, None, f"the folder has no file of counts ({' or '.join(SUFFIXES)})")
        return found, False
    if not folder.has(SUMS):
        said = "the job is not finished; run it again, or complete its parts with count-pieces --finish"
        raise FormatError(folder, None, said)
    try:
        manifest = json.loads(folder.read(MANIFEST))
        is_of_counts = manifest["options"]["to"] == "counts"
        names = [(row[0], row[1]) for row in manifest["files"]]
        names = [(os.path.basename(name), size) for name, size in names if name.endswith(OF_JOBS)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as problem:
        raise FormatError(folder.path / MANIFEST, None, f"is not a manifest: {str(problem)[:200]}") from None
    if not is_of_counts:
        raise FormatError(folder, None, "is the folder of a job that encodes; expected one of a job that counts")
    size_of = folder.sizes()
    for name, size in names:
        if size_of(name) != size:
            said = f"is missing, or does not have the {size:,} bytes that the job wrote; run verify on the folder"
            raise FormatError(folder.path / name, None, said)
    return [folder.path / name for name, _ in names], True


def moved_files(paths: Sequence[Path], *, in_order: bool) -> list[MovedFile]:
    """The files that paths name, each moved to where it is in the corpus.

    Args:
        in_order: Whether each file continues the corpus of the one before, also over paths.
    Raises:
        FormatError: One cannot be read.
        InvalidOption: There are none, or they were split by different patterns.
    """
    flag(in_order, "in_order")
    found: list[MovedFile] = []
    end = 0
    for path in paths:
        names, continued = files_in(path)
        end = end if in_order else 0
        for name in names:
            file = count_file(name)
            spans = file.facts.spans
            moved = end - spans[0][0][0] if spans and (continued or in_order) else 0
            if found and file.facts.patterns != found[0].file.facts.patterns:
                allowed = (
                    f"counts with the same pattern; {shown(found[0].file.path)} has {found[0].file.facts.patterns}"
                )
                raise InvalidOption("counts", file.facts.patterns, f"{allowed}, and {shown(name)} another")
            if spans and spans[-1][1][0] + moved >= 1 << 63:
                raise InvalidOption("counts", spans[-1][1][0] + moved, "fewer than 2**63 documents")
            found.append(MovedFile(file, moved))
            end = spans[-1][1][0] + moved if spans else end
    if not found:
        named = ", ".join(map(shown, paths))
        raise InvalidOption("counts", named, "at least one file of counts; a job of no documents has none")
    return found


def summed(files: Sequence[MovedFile]) -> tuple[Facts, bool]:
    """The facts of all files together, and whether first positions are known."""
    facts = [each.file.facts for each in files]
    spans = joined([span for each in files for span in each.spans])
    long, rare = (
        tuple(map(sum, zip(*(getattr(each, name) for each in facts), strict=True))) for name in ("long", "rare")
    )
    together = Facts(
        facts[0].patterns,
        sum(each.documents for each in facts),
        (long[0], long[1]),
        (rare[0], rare[1], rare[2]),
        spans or (),
        sum(each.skipped for each in facts),
    )
    for number in (together.documents, together.skipped, *together.long, *together.rare):
        refuse_sum(number)
    return together, spans is not None and all(each.file.positions for each in files)


def refuse_sum(number: int) -> None:
    """Raises InvalidOption for a sum that 64 bits do not hold."""
    if number >= MOST:
        raise InvalidOption("counts", number, "sums below 2**64")


def into_file(files: Sequence[MovedFile], path: Path, least: int, folder: str | os.PathLike[str] | None) -> CountSums:
    """Writes the sums of files to one file, without pieces that occur fewer than `least` times.

    Args:
        folder: For the files of the rounds; None for the system's.
    Raises:
        FormatError: A file cannot be read or written.
    """
    suffix(shown(path))
    facts, positions = summed(files)
    with temporary_folder(folder) as rounds:
        few = in_rounds(files, rounds, positions=positions)
        if least > 1:  # the facts come first in the file, and tell what is left out
            facts = without_rare(facts, merged(few), least)
        with AtomicFiles([path]) as together:
            out = together.add(path)
            sums = RunningSums(facts)
            with CountWriter(out.file, shown(path), facts, positions=positions) as writer:
                for rows in kept(merged(few), least):
                    sums.add(rows)
                    writer.add(rows)
            together.place()
    return CountSums(facts, positions, sums.pieces, sums.bytes, f"{sums.digest % (1 << 128):032x}")


def in_memory(files: Sequence[MovedFile]) -> tuple[_core.CountedPieces, Facts]:
    """The sums of files, for training."""
    facts, positions = summed(files)
    blob, ends = bytearray(), array("Q")
    columns = [array("Q") for _ in range(3)]
    with temporary_folder(None) as rounds:
        for rows in merged(in_rounds(files, rounds, positions=positions)):
            for piece in rows.pieces:
                blob += piece
                ends.append(len(blob))
            for column, more in zip(columns, rows[1:] if positions else rows[1:2], strict=False):
                column.extend(more)
    arrays = [np.frombuffer(column, np.uint64) if column else np.empty(0, np.uint64) for column in (ends, *columns)]
    return _core.CountedPieces.kept(facts.patterns, bytes(blob), arrays, facts.core()), facts


@contextmanager
def temporary_folder(folder: str | os.PathLike[str] | None) -> Iterator[Path]:
    """A folder in another, None for the system's, that is removed with what is in it.

    Raises:
        FormatError: It cannot be made.
    """
    with writable(folder or tempfile.gettempdir()):
        made = tempfile.mkdtemp(prefix="toksmith-", dir=folder)
    try:
        yield Path(made)
    finally:
        with suppress(OSError):
            shutil.rmtree(made)


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file for one round.

    Raises:
        FormatError: It cannot be written.
    """
    with writable(path):
        file = open(path, "wb")  # noqa: SIM115 - closed below, where errors of closing are those of writing
    try:
        yield file
        with writable(path):
            file.close()
    finally:
        with suppress(OSError):
            file.close()


def in_rounds(files: Sequence[MovedFile], folder: Path, *, positions: bool) -> list[MovedFile]:
    """At most `MOST_OPEN` files with the sums of all; those of earlier rounds are removed as soon as they are read."""
    lines = not positions and all(suffix(each.file.path.name) == ".tsv" for each in files)
    made, number = list(files), 0
    while len(made) > MOST_OPEN:
        next_round = []
        for first in range(0, len(made), MOST_OPEN):
            some = made[first : first + MOST_OPEN]
            path = folder / f"{number}{'.tsv' if lines else '.parquet'}"
            number += 1
            facts = replace(summed(some)[0], spans=[])
            with new_file(path) as file, CountWriter(file, str(path), facts, positions=positions) as writer:
                for rows in merged(some):
                    writer.add(rows)
            next_round.append(MovedFile(CountFile(path, facts, positions, None), 0))
            for each in some:
                if each.file.path.parent == folder:
                    with suppress(OSError):  # the folder is removed anyway
                        each.file.path.unlink()
        made = next_round
    return made


class Head:
    """The rows of a file that are next."""

    def __init__(self, rows: Iterator[CountRows]) -> None:
        self._rows = rows
        self.place = 0
        self.rows = CountRows([], [], [], [])

    def filled(self) -> bool:
        """Reads on if all rows are taken; whether there are any."""
        if self.place == len(self.rows.pieces):
            self.rows, self.place = next(self._rows, CountRows([], [], [], [])), 0
        return bool(self.rows.pieces)

    def upto(self, last: bytes) -> CountRows:
        """Takes the rows up to a piece."""
        start, self.place = self.place, bisect_right(self.rows.pieces, last, self.place)
        return self.rows.part(start, self.place)


def merged(files: Sequence[MovedFile]) -> Iterator[CountRows]:
    """The rows of files as one file, a part at a time.

    Raises:
        FormatError: A file cannot be read, or is not sorted.
        InvalidOption: A sum does not fit in 64 bits.
    """
    with ExitStack() as open_files:
        heads = []
        for each in files:
            rows = rows_of(each.file, each.moved)
            open_files.callback(rows.close)
            heads.append(Head(rows))
        while heads := [head for head in heads if head.filled()]:
            # No file has more rows up to this piece than those that are here.
            last = min(head.rows.pieces[-1] for head in heads)
            yield added([head.upto(last) for head in heads])


def added(parts: Sequence[CountRows]) -> CountRows:
    """Some sorted rows as one, in the order of the pieces' bytes."""
    totals: dict[bytes, int] = {}
    firsts: dict[bytes, tuple[int, int]] = {}
    for rows in parts:
        for piece, count in zip(rows.pieces, rows.counts, strict=True):
            totals[piece] = totals.get(piece, 0) + count
        for piece, document, byte in zip(rows.pieces, rows.documents, rows.bytes, strict=False):
            place = (document, byte)
            if place < firsts.setdefault(piece, place):
                firsts[piece] = place
    pieces = sorted(totals)
    counts = [totals[piece] for piece in pieces]
    refuse_sum(max(counts))
    places = [firsts[piece] for piece in pieces] if len(firsts) == len(pieces) else []
    return CountRows(pieces, counts, [place[0] for place in places], [place[1] for place in places])


def kept(parts: Iterator[CountRows], least: int) -> Iterator[CountRows]:
    """The rows whose counts are large enough."""
    for rows in parts:
        if least <= 1:
            yield rows
            continue
        enough = [count >= least for count in rows.counts]
        numbers = (list(compress(column, enough)) for column in (rows.counts, rows.documents, rows.bytes))
        yield CountRows(list(compress(rows.pieces, enough)), *numbers)


def without_rare(facts: Facts, parts: Iterator[CountRows], least: int) -> Facts:
    """The facts without pieces that occur fewer times: how many those are, and the most of two bytes side by side."""
    pieces = size = 0
    pairs = np.zeros(1 << 16, np.uint64)
    for rows in parts:
        for piece, count in zip(rows.pieces, rows.counts, strict=True):
            if count < least:
                pieces, size = pieces + count, size + count * len(piece)
                codes = np.frombuffer(piece, np.uint8).astype(np.intp)
                np.add.at(pairs, codes[:-1] << 8 | codes[1:], np.uint64(count))
    more = (pieces, size, int(pairs.max()))
    rare = tuple(map(int.__add__, facts.rare, more))
    for number in rare:
        refuse_sum(number)
    return replace(facts, rare=(rare[0], rare[1], rare[2]))


class RunningSums:
    """What rows add up to."""

    def __init__(self, facts: Facts) -> None:
        self.pieces = self.digest = 0
        self.bytes = facts.long[1] + facts.rare[1]

    def add(self, rows: CountRows) -> None:
        """Adds rows."""
        self.pieces += len(rows.pieces)
        for piece, count in zip(rows.pieces, rows.counts, strict=True):
            self.bytes += len(piece) * count
            self.digest += count * int.from_bytes(hashlib.sha256(piece).digest()[:16], "little")
        refuse_sum(self.bytes)
