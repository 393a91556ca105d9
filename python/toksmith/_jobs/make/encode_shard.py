"""Encodes the documents of a shard to rows of ids, with special tokens around them, and packs rows.

This module decides every id of a shard. Rows without a text, and texts that cannot be encoded, are skipped or raise errors,
by the options of the plan.
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
from ..._corpus.blocks import LARGE_BYTES
from ..._corpus.encode_files import Block, wrap_documents
from ..._corpus.prefetch import is_slow, map_ordered
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import CorpusError
from ..one_file import TEXT_ERRORS, special_id
from ..plans.plan import HeldIdsLimit, Plan, WorkerLimits
from ..sinks import SINKS, SinkRows, SinkSpec, lengths_of
from ..written import ShardFile, ShardFiles
from .documents import UNKNOWN, DocumentFacts, JobRow, JobRows, JobTexts, UnreadBlock, documents_of
from .packing import limit_held_ids, pack_rows

# Batches for formats whose bytes depend on how many documents are added at once; independent of how files are read.
BYTES_IN_A_BATCH = 1 << 23
DOCUMENTS_IN_A_BATCH = 1 << 16
# A longer text goes to the sink in parts. It fills a batch, so it is the last document of its batch.
LONG_BYTES = LARGE_BYTES
BYTES_IN_A_PART, IDS_IN_A_PART = 1 << 21, 1 << 20


@dataclass
class ShardTally:
    """The sums of a shard so far; `digest` hashes the sha256 of each text."""

    documents: int = 0
    ids: int = 0
    text_bytes: int = 0
    empty: int = 0
    bad_rows: int = 0
    special: dict[int, int] = field(default_factory=dict)
    digest: Any = field(default_factory=hashlib.sha256)


class EncodedDocuments(NamedTuple):
    """Documents: `ids[ends[i - 1]:ends[i]]` are the ids of document i. Ids after the last end belong to a document that
    continues in the next value."""

    facts: DocumentFacts
    ids: NDArray[np.uint32]
    ends: NDArray[np.uint64]

    def part(self, start: int, stop: int) -> EncodedDocuments:
        first = int(self.ends[start - 1]) if start else 0
        ends = self.ends[start:stop]
        last = int(ends[-1]) if len(ends) else first
        return EncodedDocuments(self.facts.part(start, stop), self.ids[first:last], ends - np.uint64(first))

    @staticmethod
    def joined(several: Sequence[EncodedDocuments]) -> EncodedDocuments:
        if len(several) == 1:
            return several[0]
        before = np.cumsum([0, *(len(part.ids) for part in several)], dtype=np.uint64)
        ends = [part.ends + start for part, start in zip(several, before, strict=False)]
        facts = DocumentFacts.joined([part.facts for part in several])
        return EncodedDocuments(facts, np.concatenate([part.ids for part in several]), np.concatenate(ends))


NO_IDS, NO_ENDS = np.empty(0, np.uint32), np.empty(0, np.uint64)
NO_DOCUMENTS = EncodedDocuments(DocumentFacts.none(), NO_IDS, NO_ENDS)


class EncodedTexts(NamedTuple):
    """The result of encoding a block: the successes, `which` has their indices (None: all), and the failures.

    Attributes: `facts`, the facts of all texts, and the `bad` rows among them; `documents`; `which`; `failed`; `long`, the
    indices of texts of `block` that are among the documents, but not encoded yet.
    """

    facts: DocumentFacts
    bad: JobRows
    documents: EncodedDocuments
    which: NDArray[np.int64] | None = None
    failed: Sequence[tuple[JobRow, Exception]] = ()
    long: Collection[int] = ()
    block: JobTexts | None = None


class EncodedShard:
    """Encodes the documents of a shard for its sink."""

    def __init__(self, plan: Plan, tok: Tokenizer, files: ShardFiles, tally: ShardTally, *, room: WorkerLimits) -> None:
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
            yield from self._batch_documents(number, texts)

    def _encoded(self, blocks: Iterable[UnreadBlock]) -> Generator[EncodedTexts, None, None]:
        """The ids of blocks, in order: one block per thread, or a large block on all threads."""
        threads = self._room.threads

        def encoded(block: UnreadBlock, own: int) -> EncodedTexts:
            return self._encode_block(block.read(own), own)

        return map_ordered(encoded, blocks, threads, lambda block: block.size > LARGE_BYTES)

    def _batch_documents(self, number: int, blocks: Iterable[EncodedTexts]) -> Iterator[EncodedDocuments]:
        batched = SINKS[self._plan.options.to].batched or self._plan.options.errors == "quarantine"
        pending: list[EncodedDocuments] = []
        failures: list[tuple[JobRow, Exception]] = []  # rows are reported in an order that does not depend on blocks
        batch, has_yielded = Batch(), False
        for encoded in blocks:
            start = 0
            for stop, is_full in batch.pieces(encoded.facts.sizes):
                edges = np.searchsorted(encoded.bad.before, [start, stop + (not is_full)]).tolist()
                self._leave_out_bad(number, encoded.bad, range(*edges))
                failures += [failure for failure in encoded.failed if start <= failure[0].before < stop]
                if is_full:
                    self._leave_out_all(number, failures)
                    failures = []
                is_long = stop > start and stop - 1 in encoded.long
                pending.append(self._add_special(slice_documents(encoded, start, stop - is_long)))
                if is_full or not batched:
                    before = EncodedDocuments.joined(pending)
                    pending, has_yielded = [], True
                    if is_long:
                        yield from self._with_long(number, before, encoded.block, stop - 1)
                    else:
                        yield before
                start = stop
        self._leave_out_all(number, failures)
        if pending or not has_yielded:
            yield EncodedDocuments.joined(pending or [NO_DOCUMENTS])

    def rows(self, batch: Iterable[EncodedDocuments], spec: SinkSpec) -> Generator[SinkRows, None, None]:
        options, dtype = self._plan.options, np.dtype(spec.dtype).newbyteorder("<")
        blocks = (self._count_documents(documents, spec.number) for documents in batch)
        if options.pack is None:
            for facts, ids, ends in blocks:
                self._tally.ids += len(ids)
                yield SinkRows(cast_ids(ids, dtype), ends, facts.names)
            return
        pad = None if options.pad is None else special_id(self._tok, options.pad)
        pairs: Iterable[Block] = ((ids, ends) for _, ids, ends in blocks)
        if options.pack == "best-fit":
            pairs = limit_held_ids(pairs, HeldIdsLimit(spec.number, self._room))
        for ids, ends, pieces in pack_rows(pairs, options.pack, options.length or 1, pad):
            self._tally.ids += len(ids)
            yield SinkRows(cast_ids(ids, dtype), ends, [None] * len(ends), pieces)

    def _count_documents(self, batch: EncodedDocuments, number: int) -> EncodedDocuments:
        facts = batch.facts
        self._tally.documents += len(facts.inputs)
        self._tally.digest.update(facts.digests.tobytes())
        self._tally.text_bytes += int(facts.sizes.sum())
        if self._plan.options.sources:
            file = self._file(f"sources/{number:05d}.jsonl")
            columns = (facts.inputs.tolist(), none_if_unknown(facts.records), none_if_unknown(facts.bytes), facts.names)
            for input, record, byte, name in zip(*columns, strict=True):
                file.write(json_line({**self._place(input, record, byte), "id": name}))
        return batch

    def _encode_block(self, block: JobTexts, threads: int) -> EncodedTexts:
        if self._has_parts and (block.facts.sizes > LONG_BYTES).any():
            return self._one_at_a_time(block)
        special: Any = self._plan.options.special
        engine, count = self._tok._engine, len(block.texts)
        try:
            if count == 1:  # a long text is cut for all threads
                ids = engine.encode_array(block.texts.text(0), special, "replace", threads)
                ends = np.array([len(ids)], np.uint64)
            else:
                ids, ends = engine.encode_block(block.texts, special, threads)
            return EncodedTexts(block.facts, block.bad, EncodedDocuments(block.facts, ids, ends))
        except TEXT_ERRORS:
            return self._one_at_a_time(block)

    def _one_at_a_time(self, block: JobTexts) -> EncodedTexts:
        """Like `_encode_block`, and finds the texts that cannot be encoded; long texts are encoded when they are written."""
        special: Any = self._plan.options.special
        engine, sizes, count = self._tok._engine, block.facts.sizes, len(block.texts)
        long = {*np.flatnonzero(sizes > LONG_BYTES).tolist()} if self._has_parts else set[int]()
        parts, failed, is_encoded = [NO_IDS], [], np.ones(count, np.bool_)
        for place in range(count):
            try:
                if place in long:
                    self._check_long(block, place)
                    parts.append(NO_IDS)
                else:
                    parts.append(engine.encode_array(block.texts.text(place), special, "replace", 1))
            except TEXT_ERRORS as error:
                is_encoded[place] = False
                failed.append((failed_row(block, place, error), error))
        ends = np.cumsum([len(part) for part in parts[1:]], dtype=np.uint64)
        documents = EncodedDocuments(block.facts.kept(is_encoded), np.concatenate(parts), ends)
        which = np.flatnonzero(is_encoded)
        return EncodedTexts(block.facts, block.bad, documents, which, failed, long.intersection(which.tolist()), block)

    def _check_long(self, block: JobTexts, place: int) -> None:
        """Encodes a long text in advance, unless the job stops at errors: no part of a skipped text may be in a file."""
        if self._plan.options.errors != "stop":
            for _ in self._parts(block, place):
                pass

    def _parts(self, block: JobTexts, place: int) -> Iterator[NDArray[np.uint32]]:
        """The ids of a long text, a few MiB at a time if its pattern allows it."""
        text = _core.TextParts(self._tok._engine, block.texts, place, self._plan.options.special)
        while not text.finished:
            ids = text.read(BYTES_IN_A_PART, self._room.threads)
            for start in range(0, len(ids), IDS_IN_A_PART):
                yield ids[start : start + IDS_IN_A_PART]

    def _with_long(
        self, number: int, before: EncodedDocuments, block: JobTexts | None, place: int
    ) -> Iterator[EncodedDocuments]:
        """Documents, and then a long document in parts."""
        if block is None:
            return
        facts, parts = block.facts.part(place, place + 1), self._parts(block, place)
        try:
            first = next(parts, NO_IDS)
            if not len(first):
                nothing = EncodedDocuments(facts, NO_IDS, np.zeros(1, np.uint64))
                yield EncodedDocuments.joined([before, self._add_special(nothing)])
                return
            self._tally_special(first)
            yield before._replace(ids=np.concatenate([before.ids, self._first, first]))
            for ids in parts:
                self._tally_special(ids)
                yield EncodedDocuments(DocumentFacts.none(), ids, NO_ENDS)
        except TEXT_ERRORS as error:
            self._leave_out(number, failed_row(block, place, error), error)
        yield EncodedDocuments(facts, self._last, np.array([len(self._last)], np.uint64))

    def _add_special(self, batch: EncodedDocuments) -> EncodedDocuments:
        facts, ids, ends = batch
        has_ids = lengths_of(ends) > 0
        self._tally.empty += int(len(has_ids) - has_ids.sum())
        if self._plan.options.empty == "skip" and not has_ids.all():
            facts = facts.kept(has_ids)
            ends, has_ids = ends[has_ids], has_ids[has_ids]
        self._tally_special(ids)
        which = has_ids if self._plan.options.empty == "keep" else None
        return EncodedDocuments(facts, *wrap_documents((ids, ends), self._first, self._last, which))

    def _tally_special(self, ids: NDArray[np.uint32]) -> None:
        if self._plan.options.special not in ("raise", "text"):
            special_ids = np.array(sorted(self._tok.special_tokens.values()), np.uint32)
            for id, count in zip(*np.unique(ids[np.isin(ids, special_ids)], return_counts=True), strict=True):
                self._tally.special[int(id)] = self._tally.special.get(int(id), 0) + int(count)

    def _leave_out_bad(self, number: int, rows: JobRows, places: range) -> None:
        """Counts rows without a text, or raises an error; rows that are only counted are not made."""
        options = self._plan.options
        if options.errors == "skip":
            allowed = len(places) if options.max_errors is None else options.max_errors - self._tally.bad_rows
            skipped = min(len(places), allowed)
            self._tally.bad_rows += skipped
            places = places[skipped:]
        for place in places:
            self._leave_out(number, rows.make(place))

    def _leave_out_all(self, number: int, rows: Iterable[tuple[JobRow, Exception]]) -> None:
        for row, cause in rows:
            self._leave_out(number, row, cause)

    def _leave_out(self, number: int, row: JobRow, cause: Exception | None = None) -> None:
        """Counts a row that cannot be encoded; raises if the job stops at it, or the shard exceeds `max_errors`."""
        options, path = self._plan.options, self._plan.inputs[row.input].path
        at = f"the row at byte {row.byte:,} " if row.record is None and row.byte is not None else ""
        problem = at + row.reason
        if options.errors == "stop":
            advice = "" if row.row or cause else "; name the column with field="  # only rows of tables have no bytes
            raise CorpusError(path, row.record, problem + advice) from cause
        self._tally.bad_rows += 1
        if options.errors == "quarantine":
            place = self._place(row.input, row.record, row.byte)
            self._file(f"quarantine/{number:05d}.jsonl").write(json_line(quarantine_row(place, row)))
        if options.max_errors is not None and self._tally.bad_rows > options.max_errors:
            problem = f"the shard has more than {options.max_errors:,} rows that cannot be encoded; the last: {problem}"
            raise CorpusError(path, row.record, f"{problem}; raise max_errors, or look at the file")

    def _place(self, input: int, record: int | None, byte: int | None) -> dict[str, Any]:
        return {"path": self._plan.inputs[input].path, "record": record, "byte": byte}

    def _file(self, name: str) -> ShardFile:
        if name not in self._beside:
            self._beside[name] = self._files.new(name)
        return self._beside[name]


class Batch:
    """The fill of the current batch."""

    def __init__(self) -> None:
        self._size = self._count = 0

    def pieces(self, sizes: NDArray[np.uint64]) -> Iterator[tuple[int, bool]]:
        """The ends at which the next texts are cut, and whether a batch is full there; the last piece can be empty."""
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


def cast_ids(ids: NDArray[np.uint32], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The ids in the type of a sink: without a copy if the sizes of the types are equal."""
    if dtype.itemsize == ids.itemsize:
        return ids.astype("<u4", copy=False).view(dtype)
    return ids.astype(dtype)


def failed_row(block: JobTexts, place: int, error: Exception) -> JobRow:
    facts = block.facts.part(place, place + 1)
    (record,), (byte,) = none_if_unknown(facts.records), none_if_unknown(facts.bytes)
    return JobRow(place, int(facts.inputs[0]), record, byte, str(error), block.row(place))


def slice_documents(batch: EncodedTexts, start: int, stop: int) -> EncodedDocuments:
    if batch.which is not None:
        start, stop = np.searchsorted(batch.which, (start, stop)).tolist()
    return batch.documents.part(start, stop)


def none_if_unknown(column: NDArray[np.int64]) -> list[int | None]:
    """The numbers of a column; None for `UNKNOWN`."""
    return [None if number == UNKNOWN else number for number in column.tolist()]


def quarantine_row(place: dict[str, Any], row: JobRow) -> dict[str, Any]:
    entry = {**place, "reason": row.reason}
    try:
        return {**entry, "row": row.row.decode()}
    except UnicodeDecodeError:
        return {**entry, "row_base64": base64.b64encode(row.row).decode()}


def json_line(row: dict[str, Any]) -> bytes:
    return (json.dumps(row) + "\n").encode()
