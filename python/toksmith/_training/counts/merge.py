"""Adds up files of counts in bounded memory: a merge of sorted files in rounds.

A round reads `MOST_OPEN` files at once and writes one file, until at most `MOST_OPEN` files remain. Shards that were counted
separately, each from document 0, get correct first positions: these are moved by the documents of earlier shards (`moved`).
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ... import _core
from ..._base.arguments import check_flag
from ..._base.paths import printable_path
from ..._base.threads import thread_count
from ..._corpus.prefetch import write_in_background
from ..._storage.atomic_files import AtomicFiles, wrap_write_errors
from ..._storage.folders import Folder, folder_at
from ..._storage.temporary_folder import temporary_folder
from ...errors import FormatError, InvalidOption, JobError
from .files import SUFFIXES, Facts, suffix_of
from .sorted import NONE, CountFile, CountRows, CountWriter, count_file, join_rows, row_groups, rows_of

MOST_OPEN = 32
MOST = 1 << 64
# The files of a counting job, which `_jobs/make/count_shard.py` writes, and the files in which a finished job lists them.
OF_JOBS = ".counts.parquet"
JOB, MANIFEST, SUMS = "job.json", "manifest.json", "SHA256SUMS"


class MovedFile(NamedTuple):
    """A file of counts, with the number of documents by which its first positions are moved."""

    file: CountFile
    moved: int

    @property
    def spans(self) -> list[Any]:
        """The stretches of the corpus that it covers, moved."""
        return [
            ((start[0] + self.moved, start[1]), (end[0] + self.moved, end[1])) for start, end in self.file.facts.spans
        ]


class CountSums(NamedTuple):
    """The facts of a merged file, its number of pieces, their bytes in the corpus, and the digest of the counts."""

    facts: Facts
    positions: bool
    pieces: int
    bytes: int
    digest: str


def join_spans(spans: Sequence[Any]) -> tuple[Any, ...] | None:
    """The stretches of a corpus that several shards cover together; None if two overlap."""
    stretches: list[Any] = []
    for start, end in sorted(spans):
        if stretches and start < stretches[-1][1]:
            return None
        if stretches and start == stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
    return tuple(stretches)


def find_count_files(path: Path) -> tuple[list[Path], bool]:
    """The files of counts that a path names, and whether each continues the corpus of the previous file."""
    folder = folder_at(path)
    if not folder.exists():
        return [path], False
    try:
        return files_in_folder(folder)
    except JobError as error:
        raise FormatError(folder, None, error.problem) from error


def files_in_folder(folder: Folder) -> tuple[list[Path], bool]:
    """As `find_count_files`, for a folder."""
    if not folder.has(JOB):
        paths = [folder.path / name for name in folder.names(()) if name.endswith(SUFFIXES)]
        if not paths:
            raise FormatError(folder, None, f"the folder has no file of counts ({' or '.join(SUFFIXES)})")
        return paths, False
    if not folder.has(SUMS):
        message = "the job is not finished; run it again, or complete its parts with 'corpus count' --finish"
        raise FormatError(folder, None, message)
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
            message = f"is missing, or does not have the {size:,} bytes that the job wrote; run verify on the folder"
            raise FormatError(folder.path / name, None, message)
    return [folder.path / name for name, _ in names], True


def locate_count_files(paths: Sequence[Path], *, in_order: bool) -> list[MovedFile]:
    """The files that paths name, at their positions; `in_order`: each path continues the corpus of the previous."""
    check_flag(in_order, "in_order")
    files: list[MovedFile] = []
    end = 0
    for path in paths:
        names, continued = find_count_files(path)
        end = end if in_order else 0
        for name in names:
            file = count_file(name)
            spans = file.facts.spans
            offset = end - spans[0][0][0] if spans and (continued or in_order) else 0
            if files and file.facts.patterns != files[0].file.facts.patterns:
                allowed = f"counts with the same pattern; {printable_path(files[0].file.path)} has {files[0].file.facts.patterns}"
                raise InvalidOption("counts", file.facts.patterns, f"{allowed}, and {printable_path(name)} another")
            if spans and spans[-1][1][0] + offset >= 1 << 63:
                raise InvalidOption("counts", spans[-1][1][0] + offset, "fewer than 2**63 documents")
            files.append(MovedFile(file, offset))
            end = spans[-1][1][0] + offset if spans else end
    if not files:
        names_text = ", ".join(map(printable_path, paths))
        raise InvalidOption("counts", names_text, "at least one file of counts; a job of no documents has none")
    return files


def sum_facts(files: Sequence[MovedFile]) -> tuple[Facts, bool]:
    """The summed facts of all files, and whether first positions are known."""
    facts = [each.file.facts for each in files]
    spans = join_spans([span for each in files for span in each.spans])
    long, rare = (
        tuple(map(sum, zip(*(getattr(each, name) for each in facts), strict=True))) for name in ("long", "rare")
    )
    sums = Facts(
        facts[0].patterns,
        sum(each.documents for each in facts),
        (long[0], long[1]),
        (rare[0], rare[1], rare[2]),
        spans or (),
        sum(each.skipped for each in facts),
    )
    for number in (sums.documents, sums.skipped, *sums.long, *sums.rare):
        refuse_sum(number)
    return sums, spans is not None and all(each.file.positions for each in files)


def refuse_sum(number: int) -> None:
    if number >= MOST:
        raise InvalidOption("counts", number, "sums below 2**64")


def merge_into_file(
    files: Sequence[MovedFile], path: Path, least: int, folder: str | os.PathLike[str] | None
) -> CountSums:
    """Writes the sums of files to one file, without pieces below `least` occurrences; the rounds use `folder`."""
    suffix_of(printable_path(path))
    facts, positions = sum_facts(files)
    with temporary_folder(folder) as rounds:
        remaining = merge_in_rounds(files, rounds, positions=positions)
        if least > 1:  # the facts come first in the file, and record the left-out pieces
            facts = add_rare_facts(facts, merge_rows(remaining, positions=False), least)
        with AtomicFiles([path]) as output:
            out = output.add(path)
            sums = (0, facts.long[1] + facts.rare[1], 0)
            with CountWriter(out.file, printable_path(path), facts, positions=positions) as writer:
                parts = merge_rows(remaining, positions=positions)
                groups = row_groups(rows.where(rows.counts >= np.uint64(least)) for rows in parts)
                for added in write_in_background(groups, writer.write_group):
                    sums = (sums[0] + added[0], sums[1] + added[1], (sums[2] + added[2]) % (1 << 128))
                    refuse_sum(sums[1])
            output.place()
    return CountSums(facts, positions, sums[0], sums[1], f"{sums[2]:032x}")


def merge_in_memory(files: Sequence[MovedFile]) -> tuple[_core.CountedPieces, Facts]:
    """The sums of files, for training."""
    facts, positions = sum_facts(files)
    with temporary_folder() as folder:
        remaining = merge_in_rounds(files, folder, positions=positions)
        rows = join_rows([*merge_rows(remaining, positions=positions)])
    return _core.CountedPieces.from_columns(facts.patterns, rows.blob, rows.columns, facts.core()), facts


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    with wrap_write_errors(path):
        file = open(path, "wb")  # noqa: SIM115 - closed below, where errors of closing count as write errors
    try:
        yield file
        with wrap_write_errors(path):
            file.close()
    finally:
        with suppress(OSError):
            file.close()


def merge_in_rounds(files: Sequence[MovedFile], folder: Path, *, positions: bool) -> list[MovedFile]:
    """At most `MOST_OPEN` files with the sums of all; a file of an earlier round is removed as soon as it is read."""
    lines = not positions and all(suffix_of(source.file.path.name) == ".tsv" for source in files)
    remaining, number = list(files), 0
    while len(remaining) > MOST_OPEN:
        next_round = []
        for first in range(0, len(remaining), MOST_OPEN):
            batch = remaining[first : first + MOST_OPEN]
            path = folder / f"{number}{'.tsv' if lines else '.parquet'}"
            number += 1
            facts = replace(sum_facts(batch)[0], spans=[])
            with new_file(path) as file, CountWriter(file, str(path), facts, positions=positions) as writer:
                deque(write_in_background(row_groups(merge_rows(batch, positions=positions)), writer.write_group), 0)
            next_round.append(MovedFile(CountFile(path, facts, positions, None), 0))
            for source in batch:
                if source.file.path.parent == folder:
                    with suppress(OSError):  # the folder is removed anyway
                        source.file.path.unlink()
        remaining = next_round
    return remaining


class Head:
    """The rows of a file that were read, and how many of these are merged; `pool` reads the next rows meanwhile."""

    def __init__(self, reader: Iterator[CountRows], pool: Executor) -> None:
        self._reader, self._pool = reader, pool
        self._next, self.rows, self.merged = self._read(), CountRows(b"", NONE, NONE), 0

    def _read(self) -> Future[CountRows]:
        return self._pool.submit(next, self._reader, CountRows(b"", NONE, NONE))

    def fill(self) -> bool:
        """Takes the next rows if all are merged; False at the end of the file."""
        if self.merged == len(self.rows.ends):
            self.rows, self.merged = self._next.result(), 0
            self._next = self._read()
        return len(self.rows.ends) > 0


def merge_rows(files: Sequence[MovedFile], *, positions: bool) -> Generator[CountRows, None, None]:
    """The summed rows of files in the order of the pieces, a part at a time."""
    threads = thread_count(None)
    with ExitStack() as open_files:
        readers = [
            open_files.enter_context(closing(rows_of(each.file, each.moved, positions=positions))) for each in files
        ]
        pool = open_files.enter_context(ThreadPoolExecutor(threads))
        heads = [Head(reader, pool) for reader in readers]
        while heads := [head for head in heads if head.fill()]:
            runs = [(head.rows.blob, head.rows.columns, head.merged) for head in heads]
            (blob, columns), merged = _core.merge_rows(runs, threads)
            for head, place in zip(heads, merged, strict=True):
                head.merged = place
            yield CountRows(blob, *columns[: 4 if positions else 2])


def add_rare_facts(facts: Facts, parts: Iterator[CountRows], least: int) -> Facts:
    """The facts with the pieces below `least` left out: their number, their bytes, and the highest count of two adjacent bytes."""
    pieces = size = 0
    pairs = np.zeros(1 << 16, np.uint64)
    for part in parts:
        rows = part.where(part.counts < np.uint64(least))
        pieces, size = pieces + sum(rows.counts.tolist()), size + rows.core().bytes
        codes = np.frombuffer(rows.blob, np.uint8).astype(np.intp)
        counts = np.repeat(rows.counts, np.diff(rows.ends, prepend=np.uint64(0)).astype(np.intp))
        counts[rows.ends.astype(np.intp) - 1] = 0  # the last byte of a piece and the next byte are not a pair
        np.add.at(pairs, codes[:-1] << 8 | codes[1:], counts[:-1])
    added_facts = (pieces, size, int(pairs.max()))
    rare = tuple(map(int.__add__, facts.rare, added_facts))
    for number in rare:
        refuse_sum(number)
    return replace(facts, rare=(rare[0], rare[1], rare[2]))
