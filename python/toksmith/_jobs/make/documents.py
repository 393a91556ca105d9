"""The documents of a shard, in order, by the rules of `docs/spec.md`, *Files to documents*: many at a time, in columns.

Threads read and unpack files ahead. What they read is parsed by whoever encodes it, one block on each thread. A row that has
no text is handed over with its reason; what becomes of it is the job's option. A file that cannot be read to its end is an error, whatever the option says.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._corpus import File, kind_of
from ..._corpus.ahead import in_turn, wait_to_be_asked
from ..._corpus.blocks import BATCH_DOCUMENTS, BLOCK_BYTES, KINDS, LARGE_BYTES
from ..._corpus.columns import TextColumn, Unparsed, column_of, unparsed
from ..._corpus.encode_files import opened, readable, refuse_long
from ..._corpus.names import RowNames
from ..plans.plan import Part, Plan, ShardRoom, unchanged

__all__ = ["UNKNOWN", "JobRow", "JobRows", "JobTexts", "Told", "UnreadBlock", "documents_of", "part_size"]

# Files that are read at once beside the one whose turn it is. More would take memory, and not become faster.
MOST_FILES_AHEAD = 2
UNKNOWN = -1


class JobRow(NamedTuple):
    """A row that cannot be encoded.

    Attributes: `before`, how many texts of its `JobTexts` come before it; `input`, the number of its file; `record`, its
    number there, None if that is not known; `byte` where it starts in a plain `.jsonl` file; `reason`; `row`, as it is in the
    file, of `.jsonl` files, else the text.
    """

    before: int
    input: int
    record: int | None
    byte: int | None
    reason: str
    row: bytes


class JobRows(NamedTuple):
    """Rows that have no text, each made when it is asked for.

    Attributes: `before`, of each how many texts of its `JobTexts` come before it, ascending; `make` gives one by its place.
    """

    before: NDArray[np.int64]
    make: Callable[[int], JobRow]


NO_ROWS = JobRows(np.empty(0, np.int64), lambda place: JobRow(place, 0, None, None, "", b""))


class Told(NamedTuple):
    """What is known of some documents beside their ids, a column for each fact.

    Attributes: `inputs`, numbers of files; `records` there, and `bytes` where the rows start in plain `.jsonl` files,
    `UNKNOWN` if that is not known; `sizes` of the texts, and their `digests` (sha256, V32); `names`, by the option `id_field`.
    """

    inputs: NDArray[np.int64]
    records: NDArray[np.int64]
    bytes: NDArray[np.int64]
    sizes: NDArray[np.uint64]
    digests: NDArray[np.void]
    names: RowNames

    def part(self, start: int, stop: int) -> Told:
        """Those of some documents."""
        columns: list[Any] = [column[start:stop] for column in self]
        return Told(*columns)

    def kept(self, which: NDArray[np.bool_]) -> Told:
        """Those that are chosen."""
        columns: list[Any] = [*(column[which] for column in self[:-1]), self.names.kept(which)]
        return Told(*columns)

    @staticmethod
    def none() -> Told:
        """Those of no documents."""
        no = np.empty(0, np.int64)
        return Told(no, no, no, np.empty(0, np.uint64), np.empty(0, "V32"), RowNames.none(0))

    @staticmethod
    def joined(several: Sequence[Told]) -> Told:
        """Those of all, one after another."""
        columns: list[Any] = [np.concatenate(column) for column in zip(*(each[:-1] for each in several), strict=True)]
        columns.append(RowNames.joined([each.names for each in several]))
        return Told(*columns)


@dataclass(frozen=True)
class JobTexts:
    """Some texts of a shard, and the rows among them that have none.

    Attributes: `texts`; `told`, of each; `bad` rows; `column`, where the texts are from, if that is a file of rows.
    """

    texts: _core.TextBlock
    told: Told
    bad: JobRows = NO_ROWS
    column: TextColumn | None = None

    def row(self, place: int) -> bytes:
        """What a text that cannot be encoded is kept as: the row of a `.jsonl` file, else the text."""
        return (self.column.row(place) if self.column is not None else b"") or self.texts.text(place)


class WholeText(NamedTuple):
    """A text that is a file."""

    input: int
    text: bytes


class UnreadRows(NamedTuple):
    """Rows of a part that nobody has parsed."""

    part: Part
    block: Unparsed

    @property
    def size(self) -> int:
        """About how many bytes they have."""
        return self.block.size

    def read(self, threads: int) -> JobTexts:
        """The texts in them."""
        return of_column(self.part, column_of(self.block, threads), threads)


class UnreadTexts(NamedTuple):
    """Texts that are files, of which nobody has looked at the bytes."""

    texts: Sequence[WholeText]
    size: int

    def read(self, threads: int) -> JobTexts:
        """The texts."""
        return of_whole(self.texts, threads)


UnreadBlock = UnreadRows | UnreadTexts


def documents_of(plan: Plan, number: int, room: ShardRoom) -> Generator[UnreadBlock, None, None]:
    """The documents of a shard of the plan.

    Raises:
        CorpusError: A file cannot be read, or is not as it was when the plan was made; or a document is too long.
    """
    threads, longest, _ = room
    read = (read_parts(plan, parts, longest) for parts in in_groups(plan, plan.shards[number]))
    waiting: list[WholeText] = []
    size = 0
    with closing(in_turn(read, min(threads, MOST_FILES_AHEAD))) as found:
        for part, block in found:
            if isinstance(block, bytes):
                waiting.append(WholeText(part.input, block))
                size += len(block)
                if size <= BLOCK_BYTES and len(waiting) < BATCH_DOCUMENTS:
                    continue
            if waiting:
                yield UnreadTexts(waiting, size)
                waiting, size = [], 0
            if not isinstance(block, bytes):
                yield UnreadRows(part, block)
    if waiting:
        yield UnreadTexts(waiting, size)


def in_groups(plan: Plan, parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Parts that one thread reads: a large one, or several small ones."""
    group: list[Part] = []
    size = 0
    for part in parts:
        group.append(part)
        size += part_size(plan, part)
        if size >= BLOCK_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def part_size(plan: Plan, part: Part) -> int:
    """About how many bytes of its file a part has."""
    found = plan.inputs[part.input]
    is_plain = part.start is not None and part.stop is not None and Path(found.path).suffix == ".jsonl"
    return part.stop - part.start if is_plain else found.bytes  # type: ignore[operator]


def read_parts(plan: Plan, parts: Sequence[Part], longest: int | None) -> Iterator[tuple[Part, Unparsed | bytes]]:
    """What parts have: blocks of rows, and the text of a file that is one.

    Raises:
        CorpusError: As of `documents_of`.
    """
    for part in parts:
        found = plan.inputs[part.input]
        unchanged(found)
        path = Path(found.path)
        if kind_of(path) in KINDS:
            own = None if part.start is None or part.stop is None else (part.start, part.stop)
            for block in unparsed(File(path, found.field, plan.options.id_field, own, longest)):
                yield part, block
        else:
            yield part, whole_text(path, longest)
        unchanged(found)


def whole_text(path: Path, longest: int | None) -> bytes:
    """The text that a file is.

    Raises:
        CorpusError: It cannot be read, or is too long.
    """
    with readable(path), opened(path) as stream:
        text = stream.read(LARGE_BYTES)
        if len(text) == LARGE_BYTES:
            wait_to_be_asked()
            text += stream.read(-1 if longest is None else max(longest + 1 - LARGE_BYTES, 0))
        refuse_long(len(text), longest, "the text")
    return text


def of_whole(found: Sequence[WholeText], threads: int) -> JobTexts:
    """Texts that are files."""
    ends = np.cumsum([len(each.text) for each in found], dtype=np.uint64)
    blob = found[0].text if len(found) == 1 else b"".join(each.text for each in found)
    texts = _core.TextBlock.of_values(blob, ends)
    unknown = np.full(len(found), UNKNOWN, np.int64)
    inputs = np.array([each.input for each in found], np.int64)
    return JobTexts(texts, told(texts, (inputs, unknown, unknown), None, threads))


def of_column(part: Part, column: TextColumn, threads: int) -> JobTexts:
    """The rows of a part."""
    count = len(column.texts)
    # Behind the start of a plain file nobody has counted the rows, and in another file bytes are no places.
    has_records = column.places is None or not part.start
    has_bytes = column.places is not None and part.stop is not None
    unknown = np.full(count, UNKNOWN, np.int64)
    records = column.records.astype(np.int64) if has_records else unknown
    places = column.places.astype(np.int64) if has_bytes and column.places is not None else unknown

    def bad_row(place: int) -> JobRow:
        row = column.bad[place]
        record, byte = row.record if has_records else None, row.byte if has_bytes else None
        return JobRow(row.before, part.input, record, byte, *row[3:])

    bad = JobRows(column.bad.before, bad_row) if len(column.bad) else NO_ROWS
    facts = told(column.texts, (np.full(count, part.input, np.int64), records, places), column.names, threads)
    return JobTexts(column.texts, facts, bad, column)


def told(texts: _core.TextBlock, places: tuple[NDArray[np.int64], ...], names: RowNames | None, threads: int) -> Told:
    """What is known of texts: their inputs, records and bytes, and what they are."""
    sizes = np.diff(texts.ends, prepend=np.uint64(0))
    digests: NDArray[np.void] = np.frombuffer(texts.digests(threads), "V32")
    inputs, records, starts = places
    return Told(inputs, records, starts, sizes, digests, RowNames.none(len(texts)) if names is None else names)
