"""The rows of a shard: a document's text, its ids, special tokens around them, and the packing of rows.

Everything that decides an id of a shard is here. Rows that have no text, and texts that cannot be encoded, are left out or
are errors, as the plan says.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._base.errors import CorpusError
from ..._corpus.ahead import is_slow, made_in_order
from ..._corpus.blocks import LARGE_BYTES
from ..._corpus.encode_files import Block, around
from ..._tokenizer.tokenizer import Tokenizer
from ..one_file import OF_A_TEXT, special_id
from ..plans.plan import HeldRoom, Plan, ShardRoom
from ..sinks import SINKS, SinkRows, SinkSpec, lengths_of
from ..written import ShardFile, ShardFiles
from .documents import UNKNOWN, JobRow, JobRows, JobTexts, Told, UnreadBlock, documents_of
from .packing import packed, within

__all__ = ["EncodedDocuments", "EncodedShard", "ShardTally"]

# Formats whose bytes depend on how many documents are added at once get so many, however files are read.
BYTES_IN_A_BATCH = 1 << 23
DOCUMENTS_IN_A_BATCH = 1 << 16
# A longer text goes to the sink in parts. It fills a batch, so that it is the last document of one.
LONG_BYTES = LARGE_BYTES
BYTES_IN_A_PART, IDS_IN_A_PART = 1 << 21, 1 << 20


@dataclass
class ShardTally:
    """What a shard has so far; `digest` goes over the sha256 of each text."""

    documents: int = 0
    ids: int = 0
    text_bytes: int = 0
    empty: int = 0
    bad_rows: int = 0
    special: dict[int, int] = field(default_factory=dict)
    digest: Any = field(default_factory=hashlib.sha256)


class EncodedDocuments(NamedTuple):
    """Some documents: `ids[ends[i - 1]:ends[i]]` are those of document i. Ids behind the last end are of a document that goes on
    in the next value, and ends there or later."""

    told: Told
    ids: NDArray[np.uint32]
    ends: NDArray[np.uint64]

    def part(self, start: int, stop: int) -> EncodedDocuments:
        """Some of them."""
        first = int(self.ends[start - 1]) if start else 0
        ends = self.ends[start:stop]
        last = int(ends[-1]) if len(ends) else first
        return EncodedDocuments(self.told.part(start, stop), self.ids[first:last], ends - np.uint64(first))

    @staticmethod
    def joined(several: Sequence[EncodedDocuments]) -> EncodedDocuments:
        """All of them, one after another."""
        if len(several) == 1:
            return several[0]
        before = np.cumsum([0, *(len(each.ids) for each in several)], dtype=np.uint64)
        ends = [each.ends + start for each, start in zip(several, before, strict=False)]
        told = Told.joined([each.told for each in several])
        return EncodedDocuments(told, np.concatenate([each.ids for each in several]), np.concatenate(ends))


NO_IDS, NO_ENDS = np.empty(0, np.uint32), np.empty(0, np.uint64)
NOTHING = EncodedDocuments(Told.none(), NO_IDS, NO_ENDS)


class EncodedTexts(NamedTuple):
    """Those of some texts that can be encoded, `which` of the texts they are (None: all), and the others.

    Attributes: `told`, of all texts, and the `bad` rows among them; `documents`; `which`; `failed`; `long`, the numbers of
    texts of `block` that are among the documents, but whose ids nobody has made.
    """

    told: Told
    bad: JobRows
    documents: EncodedDocuments
    which: NDArray[np.int64] | None = None
    failed: Sequence[tuple[JobRow, Exception]] = ()
    long: Collection[int] = ()
    block: JobTexts | None = None


class EncodedShard:
    """The documents of a shard on their way to its files."""

    def __init__(self, plan: Plan, tok: Tokenizer, files: ShardFiles, tally: ShardTally, *, room: ShardRoom) -> None:
        self._plan, self._tok, self._files, self._tally = plan, tok, files, tally
        self._room = room
        self._has_parts = plan.options.shuffle is None and plan.options.pack is None and not is_slow()
        self._beside: dict[str, ShardFile] = {}
        self._first, self._last = (
            np.array([] if content is None else [special_id(tok, content)], np.uint32)
            for content in (plan.options.prepend, plan.options.append)
        )

    def complete(self, number: int) -> Generator[EncodedDocuments, None, None]:
        """The documents of a shard of the plan, with special tokens around their ids."""
        with closing(documents_of(self._plan, number, self._room)) as blocks, closing(self._encoded(blocks)) as texts:
            yield from self._batched(number, texts)

    def _encoded(self, blocks: Iterable[UnreadBlock]) -> Generator[EncodedTexts, None, None]:
        """The ids of blocks, in order: a block on each thread, or one that is large on all of them."""
        threads = self._room.threads

        def encoded(block: UnreadBlock, own: int) -> EncodedTexts:
            return self._of_texts(block.read(own), own)

        return made_in_order(encoded, blocks, threads, lambda block: block.size > LARGE_BYTES)

    def _batched(self, number: int, blocks: Iterable[EncodedTexts]) -> Iterator[EncodedDocuments]:
        batched = SINKS[self._plan.options.to].batched or self._plan.options.errors == "quarantine"
        held: list[EncodedDocuments] = []
        late: list[tuple[JobRow, Exception]] = []  # rows are left out in an order that blocks do not change
        batch, any_yet = Batch(), False
        for encoded in blocks:
            start = 0
            for stop, is_full in batch.pieces(encoded.told.sizes):
                edges = np.searchsorted(encoded.bad.before, [start, stop + (not is_full)]).tolist()
                self._leave_out_bad(number, encoded.bad, range(*edges))
                late += [each for each in encoded.failed if start <= each[0].before < stop]
                if is_full:
                    self._leave_out_all(number, late)
                    late = []
                is_long = stop > start and stop - 1 in encoded.long
                held.append(self._wrapped(part_of(encoded, start, stop - is_long)))
                if is_full or not batched:
                    before = EncodedDocuments.joined(held)
                    held, any_yet = [], True
                    if is_long:
                        yield from self._with_long(number, before, encoded.block, stop - 1)
                    else:
                        yield before
                start = stop
        self._leave_out_all(number, late)
        if held or not any_yet:
            yield EncodedDocuments.joined(held or [NOTHING])

    def rows(self, found: Iterable[EncodedDocuments], spec: SinkSpec) -> Generator[SinkRows, None, None]:
        """What the sink writes."""
        options, dtype = self._plan.options, np.dtype(spec.dtype).newbyteorder("<")
        blocks = (self._counted(each, spec.number) for each in found)
        if options.pack is None:
            for told, ids, ends in blocks:
                self._tally.ids += len(ids)
                yield SinkRows(written_as(ids, dtype), ends, told.names)
            return
        pad = None if options.pad is None else special_id(self._tok, options.pad)
        both: Iterable[Block] = ((ids, ends) for _, ids, ends in blocks)
        if options.pack == "best-fit":
            both = within(both, HeldRoom(spec.number, self._room))
        for ids, ends, pieces in packed(both, options.pack, options.length or 1, pad):
            self._tally.ids += len(ids)
            yield SinkRows(written_as(ids, dtype), ends, [None] * len(ends), pieces)

    def _counted(self, found: EncodedDocuments, number: int) -> EncodedDocuments:
        told = found.told
        self._tally.documents += len(told.inputs)
        self._tally.digest.update(told.digests.tobytes())
        self._tally.text_bytes += int(told.sizes.sum())
        if self._plan.options.sources:
            file = self._file(f"sources/{number:05d}.jsonl")
            columns = (told.inputs.tolist(), known(told.records), known(told.bytes), told.names)
            for input, record, byte, name in zip(*columns, strict=True):
                file.write(line_of({**self._place(input, record, byte), "id": name}))
        return found

    def _of_texts(self, block: JobTexts, threads: int) -> EncodedTexts:
        if self._has_parts and (block.told.sizes > LONG_BYTES).any():
            return self._one_at_a_time(block)
        special: Any = self._plan.options.special
        engine, count = self._tok._engine, len(block.texts)
        try:
            if count == 1:  # which may be long, and is then cut for all threads
                ids = engine.encode_array(block.texts.text(0), special, "replace", threads)
                ends = np.array([len(ids)], np.uint64)
            else:
                ids, ends = engine.encode_block(block.texts, special, threads)
            return EncodedTexts(block.told, block.bad, EncodedDocuments(block.told, ids, ends))
        except OF_A_TEXT:
            return self._one_at_a_time(block)

    def _one_at_a_time(self, block: JobTexts) -> EncodedTexts:
        """As `_of_texts`, and finds the texts that cannot be encoded; the ids of long ones are made when they are written."""
        special: Any = self._plan.options.special
        engine, sizes, count = self._tok._engine, block.told.sizes, len(block.texts)
        long = {*np.flatnonzero(sizes > LONG_BYTES).tolist()} if self._has_parts else set[int]()
        parts, failed, kept = [NO_IDS], [], np.ones(count, np.bool_)
        for place in range(count):
            try:
                if place in long:
                    self._check_long(block, place)
                    parts.append(NO_IDS)
                else:
                    parts.append(engine.encode_array(block.texts.text(place), special, "replace", 1))
            except OF_A_TEXT as error:
                kept[place] = False
                failed.append((failed_row(block, place, error), error))
        ends = np.cumsum([len(part) for part in parts[1:]], dtype=np.uint64)
        documents = EncodedDocuments(block.told.kept(kept), np.concatenate(parts), ends)
        which = np.flatnonzero(kept)
        return EncodedTexts(block.told, block.bad, documents, which, failed, long.intersection(which.tolist()), block)

    def _check_long(self, block: JobTexts, place: int) -> None:
        """A text that is left out has no part in a file, so unless the job stops at it, it is encoded twice."""
        if self._plan.options.errors != "stop":
            for _ in self._parts(block, place):
                pass

    def _parts(self, block: JobTexts, place: int) -> Iterator[NDArray[np.uint32]]:
        """The ids of a long text, a few MiB at a time where its pattern allows it."""
        text = _core.TextParts(self._tok._engine, block.texts, place, self._plan.options.special)
        while not text.finished:
            ids = text.read(BYTES_IN_A_PART, self._room.threads)
            for start in range(0, len(ids), IDS_IN_A_PART):
                yield ids[start : start + IDS_IN_A_PART]

    def _with_long(
        self, number: int, before: EncodedDocuments, block: JobTexts | None, place: int
    ) -> Iterator[EncodedDocuments]:
        """Documents, and behind them a long one in parts."""
        if block is None:
            return
        told, parts = block.told.part(place, place + 1), self._parts(block, place)
        try:
            first = next(parts, NO_IDS)
            if not len(first):
                nothing = EncodedDocuments(told, NO_IDS, np.zeros(1, np.uint64))
                yield EncodedDocuments.joined([before, self._wrapped(nothing)])
                return
            self._tally_special(first)
            yield before._replace(ids=np.concatenate([before.ids, self._first, first]))
            for ids in parts:
                self._tally_special(ids)
                yield EncodedDocuments(Told.none(), ids, NO_ENDS)
        except OF_A_TEXT as error:
            self._leave_out(number, failed_row(block, place, error), error)
        yield EncodedDocuments(told, self._last, np.array([len(self._last)], np.uint64))

    def _wrapped(self, found: EncodedDocuments) -> EncodedDocuments:
        told, ids, ends = found
        filled = lengths_of(ends) > 0
        self._tally.empty += int(len(filled) - filled.sum())
        if self._plan.options.empty == "skip" and not filled.all():
            told = told.kept(filled)
            ends, filled = ends[filled], filled[filled]
        self._tally_special(ids)
        which = filled if self._plan.options.empty == "keep" else None
        return EncodedDocuments(told, *around((ids, ends), self._first, self._last, which))

    def _tally_special(self, ids: NDArray[np.uint32]) -> None:
        """Counts the special tokens in texts."""
        if self._plan.options.special not in ("raise", "text"):
            own = np.array(sorted(self._tok.special_tokens.values()), np.uint32)
            for id, count in zip(*np.unique(ids[np.isin(ids, own)], return_counts=True), strict=True):
                self._tally.special[int(id)] = self._tally.special.get(int(id), 0) + int(count)

    def _leave_out_bad(self, number: int, rows: JobRows, places: range) -> None:
        """Counts some of the rows that have no text, or raises the error of one; those that are only counted are not made."""
        options = self._plan.options
        if options.errors == "skip":
            more = len(places) if options.max_errors is None else options.max_errors - self._tally.bad_rows
            counted = min(len(places), more)
            self._tally.bad_rows += counted
            places = places[counted:]
        for place in places:
            self._leave_out(number, rows.make(place))

    def _leave_out_all(self, number: int, rows: Iterable[tuple[JobRow, Exception]]) -> None:
        for row, cause in rows:
            self._leave_out(number, row, cause)

    def _leave_out(self, number: int, row: JobRow, cause: Exception | None = None) -> None:
        """Counts a row that cannot be encoded, or raises its error.

        Raises:
            CorpusError: The job stops at such rows, or this shard alone has more than the whole job may have.
        """
        options, path = self._plan.options, self._plan.inputs[row.input].path
        at = f"the row at byte {row.byte:,} " if row.record is None and row.byte is not None else ""
        said = at + row.reason
        if options.errors == "stop":
            advice = "" if row.row or cause else "; name the column with field="  # only rows of tables have no bytes
            raise CorpusError(path, row.record, said + advice) from cause
        self._tally.bad_rows += 1
        if options.errors == "quarantine":
            place = self._place(row.input, row.record, row.byte)
            self._file(f"quarantine/{number:05d}.jsonl").write(line_of(quarantined(place, row)))
        if options.max_errors is not None and self._tally.bad_rows > options.max_errors:
            said = f"the shard has more than {options.max_errors:,} rows that cannot be encoded; the last: {said}"
            raise CorpusError(path, row.record, f"{said}; raise max_errors, or look at the file")

    def _place(self, input: int, record: int | None, byte: int | None) -> dict[str, Any]:
        return {"path": self._plan.inputs[input].path, "record": record, "byte": byte}

    def _file(self, name: str) -> ShardFile:
        if name not in self._beside:
            self._beside[name] = self._files.new(name)
        return self._beside[name]


class Batch:
    """How much of a batch is there."""

    def __init__(self) -> None:
        self._size = self._count = 0

    def pieces(self, sizes: NDArray[np.uint64]) -> Iterator[tuple[int, bool]]:
        """Where the next texts are cut, and whether a batch is full there; the last piece may be empty."""
        ends = np.cumsum(sizes, dtype=np.int64)
        start = before = 0
        while start < len(sizes):
            full = int(np.searchsorted(ends, before + BYTES_IN_A_BATCH - self._size, side="right"))
            full = max(start, min(full, start + DOCUMENTS_IN_A_BATCH - self._count - 1))
            if full >= len(sizes):
                break
            yield full + 1, True
            start, before = full + 1, int(ends[full])
            self._size = self._count = 0
        self._size += (int(ends[-1]) if len(ends) else 0) - before
        self._count += len(sizes) - start
        yield len(sizes), False


def written_as(ids: NDArray[np.uint32], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The ids in the type of a sink: the same memory, if its values have as many bytes."""
    if dtype.itemsize == ids.itemsize:
        return ids.astype("<u4", copy=False).view(dtype)
    return ids.astype(dtype)


def failed_row(block: JobTexts, place: int, error: Exception) -> JobRow:
    """A text that cannot be encoded."""
    facts = block.told.part(place, place + 1)
    (record,), (byte,) = known(facts.records), known(facts.bytes)
    return JobRow(place, int(facts.inputs[0]), record, byte, str(error), block.row(place))


def part_of(found: EncodedTexts, start: int, stop: int) -> EncodedDocuments:
    """The documents among some of the texts."""
    if found.which is not None:
        start, stop = np.searchsorted(found.which, (start, stop)).tolist()
    return found.documents.part(start, stop)


def known(column: NDArray[np.int64]) -> list[int | None]:
    """The numbers of a column, and None for those that are not known."""
    return [None if number == UNKNOWN else number for number in column.tolist()]


def quarantined(place: dict[str, Any], row: JobRow) -> dict[str, Any]:
    """The row of a file of rows that were left out."""
    found = {**place, "reason": row.reason}
    try:
        return {**found, "row": row.row.decode()}
    except UnicodeDecodeError:
        return {**found, "row_base64": base64.b64encode(row.row).decode()}


def line_of(row: dict[str, Any]) -> bytes:
    """A row of JSON lines."""
    return (json.dumps(row) + "\n").encode()
