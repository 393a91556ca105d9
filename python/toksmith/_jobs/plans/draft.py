"""Cuts a corpus into shards, and writes the plan and its index input by input, so that no process holds all inputs of a job."""

from __future__ import annotations

import os
import shutil
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby
from json.encoder import encode_basestring_ascii as quote
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from ..._base.paths import path_or_url, url_of
from ..._corpus import Corpus, File, corpus_sources, is_inside
from ..._corpus.encode_files import wrap_corpus_errors
from ..._corpus.parquet import row_group_sizes
from ..._storage.atomic_files import wrap_write_errors
from ..._storage.folders import Folder
from ..._storage.remote import LocalInput, RemoteInput, input_at
from ...errors import InvalidOption
from .index import END, INPUTS, SHARDS, PlanFacts, write_index
from .plan import (
    HELD_PER_BYTE,
    JOB,
    Part,
    Plan,
    PlannedInput,
    holds_ids,
    is_table,
    part_unit,
    share_of,
    unpacked_factor,
)

ASKED_AT_ONCE = 16
LOOK_BYTES = 1 << 16
CutInput: TypeAlias = tuple[PlannedInput, list[tuple[Part, int]]]  # an input with its smallest parts, and their sizes


class Piece(NamedTuple):
    """A part of an input: its `size` as it is cut, and the bytes that its shard counts (`read`) and reserves (`held`) for it."""

    part: Part
    size: int
    read: int
    held: int


def input_row(source: PlannedInput) -> bytes:
    """`json.dumps(source)`, sooner."""
    version = quote(source.version) if isinstance(source.version, str) else source.version
    return f"[{quote(source.path)}, {source.bytes}, {version}, {quote(source.field)}]".encode()


def part_row(part: Part) -> bytes:
    """`json.dumps(part)`, sooner."""
    return str([*part]).replace("None", "null").encode()


class PlanDraft:
    """A plan and its index in the local folder `here`, made from `head`, the plan without inputs and shards."""

    def __init__(self, head: Plan, here: Path) -> None:
        self._head, self._here = head, here
        self._lines, self._shards = array("q"), array("q")  # as `write_index` takes them
        self._bytes, self._tables, self._held = 0, False, 0

    def write(self, inputs: Iterable[CutInput]) -> None:
        """Writes all inputs, at least one, in order; errors as in `cut_corpus`, or FormatError."""
        with open(self._here / JOB, "w+b") as job, open(self._here / "shards", "w+b") as below:
            pieces = group_parts(self._pieces(inputs, job), self._head.options.shard_size)
            for number, group in groupby(pieces, itemgetter(0)):
                self._add_shard(number, (piece for _, piece in group), below)
            with wrap_write_errors(self._here):
                job.seek(-len(b",\n"), os.SEEK_END)
                job.write(SHARDS)
                below.seek(0)
                shutil.copyfileobj(below, job)
                job.write(END)
                job.flush()
        facts = PlanFacts(len(self._lines) - 1, len(self._shards) // 3, self._bytes, self._tables, self._held)
        with wrap_write_errors(self._here):
            write_index(self._here, JOB, facts, self._lines, self._shards)

    def _write(self, file: BinaryIO, data: bytes) -> int:
        try:
            return file.write(data)
        except OSError:
            with wrap_write_errors(self._here):
                raise

    def _pieces(self, inputs: Iterable[CutInput], job: BinaryIO) -> Iterator[Piece]:
        """Writes the line of each input, and yields its parts."""
        end, holds = self._write(job, self._head.head() + INPUTS), holds_ids(self._head.options)
        for number, (source, parts) in enumerate(inputs):
            self._lines.append(end)
            end += self._write(job, b"  %b,\n" % input_row(source))
            self._bytes += source.bytes
            self._tables = self._tables or is_table(source)
            most = parts[-1][0].stop or 0 if parts else 0
            reserved = source.bytes * unpacked_factor(source) if holds else 0
            for part, size in parts:
                yield Piece(
                    Part(number, part.start, part.stop),
                    size,
                    share_of(source.bytes, part, most),
                    share_of(reserved, part, most),
                )
        self._lines.append(end - 1)

    def _add_shard(self, number: int, pieces: Iterator[Piece], below: BinaryIO) -> None:
        separator, read, held = b",\n  [" if number else b"  [", 0, 0
        inputs: list[int] = []  # the first and the last
        for piece in pieces:
            self._write(below, separator + part_row(piece.part))
            separator, inputs = b", ", [*inputs[:1], piece.part.input]
            read, held = read + piece.read, held + piece.held
        self._write(below, b"]")
        self._shards.extend((inputs[0], inputs[-1], read))
        self._held = max(self._held, HELD_PER_BYTE * held)


def cut_corpus(corpus: Corpus, shard_size: int, folder: Folder) -> Iterator[CutInput]:
    """The inputs of a corpus with their smallest parts, for shards of about `shard_size` bytes of the files.

    Files in the folder of a planned job are skipped, so that a corpus can contain this folder.
    """
    inputs = read_ahead(sources_of_job(corpus, folder), shard_size)
    first = next(inputs, None)
    if first is None:
        raise InvalidOption("corpus", corpus, "at least one file outside the folder of the job")
    yield first
    yield from inputs


def sources_of_job(corpus: Corpus, folder: Folder) -> Iterator[File]:
    """The files of a corpus outside the folder of a planned job; raises InvalidOption for other sources."""
    is_planned = folder.has(JOB)
    base = url_of(folder.path) or os.path.realpath(folder.path)
    below = os.path.join(base, "")
    for source in corpus_sources(corpus, folder.path if is_planned else None):
        if not isinstance(source, File):
            raise InvalidOption("corpus", source, "paths or toksmith.files(…), because the shards of a job read files")
        real = source.real or url_of(source.path)
        if is_inside(source.path, folder.path) if real is None else real == base or real.startswith(below):
            if folder.has(JOB):  # another process has planned the job
                continue
            allowed = f"a folder outside the corpus (the corpus has {path_or_url(source.path)!r})"
            raise InvalidOption("folder", str(folder), allowed)
        yield source


def read_ahead(sources: Iterable[File], step: int) -> Iterator[CutInput]:
    """The inputs with their smallest parts, in order. A store is asked for `ASKED_AT_ONCE` files at the same time."""
    waiting: deque[Future[CutInput]] = deque()
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        try:
            for source in sources:
                while waiting and (len(waiting) == 4 * ASKED_AT_ONCE or waiting[0].done()):
                    yield waiting.popleft().result()
                if not waiting and not asks_store(source, step):
                    yield plan_input(source, step)
                else:
                    waiting.append(pool.submit(plan_input, source, step))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def asks_store(file: File, step: int) -> bool:
    """Whether planning a file needs more of a store than its listing: an unlisted file, or one that is cut where rows begin."""
    if file.facts is None:
        return file.real is None and url_of(file.path) is not None
    unit = part_unit(str(file.path))
    return unit == "group" or (unit == "byte" and file.facts.bytes > step)


def plan_input(file: File, step: int) -> CutInput:
    """An input, with its smallest parts."""
    planned_input = make_input(file)
    return planned_input, [*cut_input(planned_input, step)]


def make_input(file: File) -> PlannedInput:
    path = url_of(file.path) or os.path.abspath(file.path)
    with wrap_corpus_errors(path):
        return PlannedInput(path, *(file.facts or input_at(path).facts()), file.field)


def cut_input(planned_input: PlannedInput, step: int) -> Iterator[tuple[Part, int]]:
    """The smallest parts into which a file can be cut, with their sizes; their input is 0."""
    unit = part_unit(planned_input.path)
    if unit == "group":
        for group, size in enumerate(
            row_group_sizes(Path(planned_input.path), planned_input.field, planned_input.bytes)
        ):
            yield Part(0, group, group + 1), size
    elif unit == "byte":
        start = 0
        if 0 < planned_input.bytes <= step:
            yield Part(0, 0, planned_input.bytes), planned_input.bytes
            return
        for stop in row_starts(input_at(planned_input.path), planned_input.bytes, step):
            yield Part(0, start, stop), stop - start
            start = stop
    else:
        yield Part(0), planned_input.bytes


def row_starts(file: LocalInput | RemoteInput, size: int, step: int) -> Iterator[int]:
    """The ends of the parts of a plain `.jsonl` file: each at the first row that starts `step` bytes or more after the last end."""
    place = 0
    while place < size:
        place += step
        if place < size:
            place -= 1
            with wrap_corpus_errors(file.path):
                while data := file.read(place, min(place + LOOK_BYTES, size)):
                    if end := data.find(b"\n") + 1:
                        break
                    place += len(data)
            place = place + end if data else size
        yield min(place, size)


def group_parts(pieces: Iterable[Piece], most: int) -> Iterator[tuple[int, Piece]]:
    """The parts with the number of their shard, which has at most `most` bytes or one part. Adjacent parts become one."""
    shard, size = 0, 0
    last: Piece | None = None
    for piece in pieces:
        is_new = last is not None and size + piece.size > most
        if last is not None and not is_new and is_adjacent(last.part, piece.part):
            part = last.part._replace(stop=piece.part.stop)
            last = Piece(part, last.size + piece.size, last.read + piece.read, last.held + piece.held)
        else:
            if last is not None:
                yield shard, last
            last = piece
        shard, size = (shard + 1, piece.size) if is_new else (shard, size + piece.size)
    if last is not None:
        yield shard, last


def is_adjacent(part: Part, later: Part) -> bool:
    return part.input == later.input and part.stop is not None and part.stop == later.start
