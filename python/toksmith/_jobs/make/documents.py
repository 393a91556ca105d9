"""The documents of a shard, in order and in columns, by the rules of `docs/spec.md`, *Files to documents*.

Threads prefetch and unpack files. The threads that encode parse the blocks, one block per thread. A row without a text is
passed on with its reason; the job's option `errors` decides about it. A file that cannot be read to its end is always an error.
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
from ..._corpus.blocks import BATCH_DOCUMENTS, BLOCK_BYTES, KINDS, LARGE_BYTES
from ..._corpus.columns import TextColumn, UnparsedBlock, column_of, unparsed_blocks
from ..._corpus.encode_files import open_unpacked, refuse_long, wrap_corpus_errors
from ..._corpus.names import RowNames
from ..._corpus.prefetch import chain_prefetched, wait_for_demand
from ..plans.plan import Part, Plan, WorkerLimits, refuse_changed_input

# Files that are prefetched in addition to the current file. More would need memory and not be faster.
MOST_FILES_AHEAD = 2
UNKNOWN = -1


class JobRow(NamedTuple):
    """A row that cannot be encoded.

    Attributes: `before`, the number of texts before it in its `JobTexts`; `input`, the number of its file; `record`, its
    number in the file, None if unknown; `byte`, where it starts in a plain `.jsonl` file; `reason`; `row`, its bytes in a
    `.jsonl` file, else the text.
    """

    before: int
    input: int
    record: int | None
    byte: int | None
    reason: str
    row: bytes


class JobRows(NamedTuple):
    """Rows without a text; each `JobRow` is made on access.

    Attributes: `before`, for each row the number of texts before it in its `JobTexts`, ascending; `make`, which makes a
    `JobRow` from its index.
    """

    before: NDArray[np.int64]
    make: Callable[[int], JobRow]


NO_ROWS = JobRows(np.empty(0, np.int64), lambda place: JobRow(place, 0, None, None, "", b""))


class DocumentFacts(NamedTuple):
    """The facts of documents apart from their ids, in columns.

    Attributes: `inputs`, the numbers of the files; `records`, the rows in them, and `bytes`, where the rows start in plain
    `.jsonl` files, `UNKNOWN` if unknown; `sizes` of the texts, and their `digests` (sha256, V32); `names`, by the option
    `id_field`.
    """

    inputs: NDArray[np.int64]
    records: NDArray[np.int64]
    bytes: NDArray[np.int64]
    sizes: NDArray[np.uint64]
    digests: NDArray[np.void]
    names: RowNames

    def part(self, start: int, stop: int) -> DocumentFacts:
        columns: list[Any] = [column[start:stop] for column in self]
        return DocumentFacts(*columns)

    def kept(self, which: NDArray[np.bool_]) -> DocumentFacts:
        """The facts of the documents at which `which` is true."""
        columns: list[Any] = [*(column[which] for column in self[:-1]), self.names.kept(which)]
        return DocumentFacts(*columns)

    @staticmethod
    def none() -> DocumentFacts:
        no = np.empty(0, np.int64)
        return DocumentFacts(no, no, no, np.empty(0, np.uint64), np.empty(0, "V32"), RowNames.none(0))

    @staticmethod
    def joined(several: Sequence[DocumentFacts]) -> DocumentFacts:
        columns: list[Any] = [np.concatenate(column) for column in zip(*(part[:-1] for part in several), strict=True)]
        columns.append(RowNames.joined([part.names for part in several]))
        return DocumentFacts(*columns)


@dataclass(frozen=True)
class JobTexts:
    """Texts of a shard, and the rows without a text among them.

    Attributes: `texts`; `facts`, the facts of each; `bad` rows; `column`, the source of the texts, if it is a file of rows.
    """

    texts: _core.TextBlock
    facts: DocumentFacts
    bad: JobRows = NO_ROWS
    column: TextColumn | None = None

    def row(self, place: int) -> bytes:
        """The bytes to report for a text that cannot be encoded: its row of a `.jsonl` file, else the text."""
        return (self.column.row(place) if self.column is not None else b"") or self.texts.text(place)


class WholeText(NamedTuple):
    """The text of a file that is one document."""

    input: int
    text: bytes


class UnreadRows(NamedTuple):
    """Rows of a part, not parsed yet."""

    part: Part
    block: UnparsedBlock

    @property
    def size(self) -> int:
        """The approximate bytes of the rows."""
        return self.block.size

    def read(self, threads: int) -> JobTexts:
        return texts_of_column(self.part, column_of(self.block, threads), threads)


class UnreadTexts(NamedTuple):
    """Texts of whole files, not processed yet."""

    texts: Sequence[WholeText]
    size: int

    def read(self, threads: int) -> JobTexts:
        return texts_of_files(self.texts, threads)


UnreadBlock = UnreadRows | UnreadTexts


def documents_of(plan: Plan, number: int, room: WorkerLimits) -> Generator[UnreadBlock, None, None]:
    threads, longest, _ = room
    parts_read = (read_parts(plan, parts, longest) for parts in group_small_parts(plan, plan.shards[number]))
    texts: list[WholeText] = []
    size = 0
    with closing(chain_prefetched(parts_read, min(threads, MOST_FILES_AHEAD))) as blocks:
        for part, block in blocks:
            if isinstance(block, bytes):
                texts.append(WholeText(part.input, block))
                size += len(block)
                if size <= BLOCK_BYTES and len(texts) < BATCH_DOCUMENTS:
                    continue
            if texts:
                yield UnreadTexts(texts, size)
                texts, size = [], 0
            if not isinstance(block, bytes):
                yield UnreadRows(part, block)
    if texts:
        yield UnreadTexts(texts, size)


def group_small_parts(plan: Plan, parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Groups of parts for one thread: one large part, or several small parts."""
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
    """The approximate bytes of a part."""
    source = plan.inputs[part.input]
    is_plain = part.start is not None and part.stop is not None and Path(source.path).suffix == ".jsonl"
    return part.stop - part.start if is_plain else source.bytes  # type: ignore[operator]


def read_parts(plan: Plan, parts: Sequence[Part], longest: int | None) -> Iterator[tuple[Part, UnparsedBlock | bytes]]:
    """The content of parts: blocks of rows, or the text of a file that is one document."""
    for part in parts:
        source = plan.inputs[part.input]
        refuse_changed_input(source)
        path = Path(source.path)
        if kind_of(path) in KINDS:
            bounds = None if part.start is None or part.stop is None else (part.start, part.stop)
            file = File(path, source.field, plan.options.id_field, bounds, longest, facts=source.facts)
            for block in unparsed_blocks(file):
                yield part, block
        else:
            yield part, whole_text(path, longest, source.bytes)
        refuse_changed_input(source)


def whole_text(path: Path, longest: int | None, size: int) -> bytes:
    with wrap_corpus_errors(path), open_unpacked(path, size) as stream:
        text = stream.read(LARGE_BYTES)
        if len(text) == LARGE_BYTES:
            wait_for_demand()
            text += stream.read(-1 if longest is None else max(longest + 1 - LARGE_BYTES, 0))
        refuse_long(len(text), longest, "the text")
    return text


def texts_of_files(whole_texts: Sequence[WholeText], threads: int) -> JobTexts:
    ends = np.cumsum([len(text.text) for text in whole_texts], dtype=np.uint64)
    blob = whole_texts[0].text if len(whole_texts) == 1 else b"".join(text.text for text in whole_texts)
    texts = _core.TextBlock.from_values(blob, ends)
    unknown = np.full(len(whole_texts), UNKNOWN, np.int64)
    inputs = np.array([text.input for text in whole_texts], np.int64)
    return JobTexts(texts, document_facts(texts, (inputs, unknown, unknown), None, threads))


def texts_of_column(part: Part, column: TextColumn, threads: int) -> JobTexts:
    count = len(column.texts)
    # In a later part of a plain file the row numbers are unknown; in any other file, bytes do not locate a row.
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
    facts = document_facts(column.texts, (np.full(count, part.input, np.int64), records, places), column.names, threads)
    return JobTexts(column.texts, facts, bad, column)


def document_facts(
    texts: _core.TextBlock, places: tuple[NDArray[np.int64], ...], names: RowNames | None, threads: int
) -> DocumentFacts:
    """The facts of texts, from their inputs, records and bytes (`places`)."""
    sizes = np.diff(texts.ends, prepend=np.uint64(0))
    digests: NDArray[np.void] = np.frombuffer(texts.digests(threads), "V32")
    inputs, records, starts = places
    return DocumentFacts(inputs, records, starts, sizes, digests, RowNames.none(len(texts)) if names is None else names)
