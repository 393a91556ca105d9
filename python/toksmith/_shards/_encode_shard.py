"""The rows of a shard: a document's text, its ids, special tokens around them, and the packing of rows.

Everything that decides an id of a shard is here. SinkRows that have no text, and texts that cannot be encoded, are left out or
are errors, as the plan says.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._errors import CorpusError
from .._tokenizer import Tokenizer
from ._around import around
from ._documents import JobDocument, documents_of
from ._durable import ShardFile, ShardFiles
from ._encode import OF_A_TEXT, special_id
from ._packing import packed
from ._plan import Plan
from .sinks import SinkRows, SinkSpec, lengths_of

__all__ = ["EncodedDocuments", "EncodedShard", "ShardTally", "Told"]

BYTES_IN_A_BATCH = 1 << 23
DOCUMENTS_IN_A_BATCH = 1 << 16


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


class Told(NamedTuple):
    """What is known of a document beside its ids: `digest` is the sha256 of its text."""

    input: int
    record: int | None
    byte: int | None
    id: str | None
    text_bytes: int
    digest: bytes


class EncodedDocuments(NamedTuple):
    """Some documents: `ids[ends[i - 1]:ends[i]]` are those of document i."""

    told: list[Told]
    ids: NDArray[np.uint32]
    ends: NDArray[np.uint64]


class EncodedShard:
    """The documents of a shard on their way to its files."""

    def __init__(self, plan: Plan, tok: Tokenizer, files: ShardFiles, tally: ShardTally, *, threads: int) -> None:
        self._plan, self._tok, self._files, self._tally = plan, tok, files, tally
        self._threads = threads
        self._beside: dict[str, ShardFile] = {}
        self._first, self._last = (
            np.array([] if content is None else [special_id(tok, content)], np.uint32)
            for content in (plan.options.prepend, plan.options.append)
        )

    def complete(self, number: int) -> Iterator[EncodedDocuments]:
        """The documents of a shard of the plan, in batches, with special tokens around their ids."""
        waiting: list[JobDocument] = []
        size = 0
        for part in self._plan.shards[number]:
            for document in documents_of(self._plan, part):
                if document.text is None:
                    self._leave_out(number, document)
                    continue
                waiting.append(document)
                size += len(document.text)
                if size > BYTES_IN_A_BATCH or len(waiting) >= DOCUMENTS_IN_A_BATCH:
                    yield self._wrapped(*self._encoded(number, waiting))
                    waiting, size = [], 0
        yield self._wrapped(*self._encoded(number, waiting))

    def rows(self, found: Iterable[EncodedDocuments], spec: SinkSpec) -> Iterator[SinkRows]:
        """What the sink writes."""
        options, dtype = self._plan.options, np.dtype(spec.dtype).newbyteorder("<")
        blocks = (self._counted(each, spec.number) for each in found)
        if options.pack is None:
            for told, ids, ends in blocks:
                self._tally.ids += len(ids)
                yield SinkRows(ids.astype(dtype), ends, [each.id for each in told])
            return
        pad = None if options.pad is None else special_id(self._tok, options.pad)
        both = ((ids, ends) for _, ids, ends in blocks)
        for ids, ends, pieces in packed(both, options.pack, options.length or 1, pad):
            self._tally.ids += len(ids)
            yield SinkRows(ids.astype(dtype), ends, [None] * len(ends), pieces)

    def _counted(self, found: EncodedDocuments, number: int) -> EncodedDocuments:
        self._tally.documents += len(found.told)
        for told in found.told:
            self._tally.digest.update(told.digest)
            self._tally.text_bytes += told.text_bytes
        if self._plan.options.sources:
            file = self._file(f"sources/{number:05d}.jsonl")
            for told in found.told:
                file.write(line_of({**self._place(told), "id": told.id}))
        return found

    def _encoded(self, number: int, documents: list[JobDocument]) -> tuple[list[JobDocument], Any, Any]:
        special: Any = self._plan.options.special
        try:
            texts = [document.text or b"" for document in documents]
            found = self._tok.encode_ragged(texts, special=special, threads=self._threads)
            return documents, found.ids, found.ends
        except OF_A_TEXT:
            pass
        # One at a time, to find those that the error is about.
        kept, parts = [], []
        for document in documents:
            try:
                parts.append(self._tok.encode_array(document.text or b"", special=special, threads=self._threads))
                kept.append(document)
            except OF_A_TEXT as error:
                self._leave_out(number, document._replace(reason=str(error)), error)
        ends = np.cumsum([len(part) for part in parts], dtype=np.uint64)
        return kept, np.concatenate([np.empty(0, np.uint32), *parts]), ends

    def _wrapped(
        self, documents: list[JobDocument], ids: NDArray[np.uint32], ends: NDArray[np.uint64]
    ) -> EncodedDocuments:
        filled = lengths_of(ends) > 0
        self._tally.empty += int(len(filled) - filled.sum())
        if self._plan.options.empty == "skip" and not filled.all():
            documents = [each for each, is_filled in zip(documents, filled, strict=True) if is_filled]
            ends, filled = ends[filled], filled[filled]
        if self._plan.options.special not in ("raise", "text"):
            own = np.array(sorted(self._tok.special_tokens.values()), np.uint32)
            for id, count in zip(*np.unique(ids[np.isin(ids, own)], return_counts=True), strict=True):
                self._tally.special[int(id)] = self._tally.special.get(int(id), 0) + int(count)
        which = filled if self._plan.options.empty == "keep" else None
        return EncodedDocuments(
            [told(each) for each in documents], *around((ids, ends), self._first, self._last, which)
        )

    def _leave_out(self, number: int, document: JobDocument, cause: Exception | None = None) -> None:
        """Counts a row that cannot be encoded, or raises its error.

        Raises:
            CorpusError: The job stops at such rows, or this shard alone has more than the whole job may have.
        """
        options, path = self._plan.options, self._plan.inputs[document.input].path
        at = f"the row at byte {document.byte:,} " if document.record is None and document.byte is not None else ""
        said = at + document.reason
        if options.errors == "stop":
            raise CorpusError(path, document.record, said) from cause
        self._tally.bad_rows += 1
        if options.errors == "quarantine":
            self._file(f"quarantine/{number:05d}.jsonl").write(line_of(quarantined(self._place(document), document)))
        if options.max_errors is not None and self._tally.bad_rows > options.max_errors:
            said = f"the shard has more than {options.max_errors:,} rows that cannot be encoded; the last: {said}"
            raise CorpusError(path, document.record, f"{said}; raise max_errors, or look at the file")

    def _place(self, document: JobDocument | Told) -> dict[str, Any]:
        path = self._plan.inputs[document.input].path
        return {"path": path, "record": document.record, "byte": document.byte}

    def _file(self, name: str) -> ShardFile:
        if name not in self._beside:
            self._beside[name] = self._files.new(name)
        return self._beside[name]


def told(document: JobDocument) -> Told:
    """What is known of a document beside its ids."""
    text = document.text or b""
    digest = hashlib.sha256(text).digest()
    return Told(document.input, document.record, document.byte, document.id, len(text), digest)


def quarantined(place: dict[str, Any], document: JobDocument) -> dict[str, Any]:
    """The row of a file of rows that were left out."""
    row = {**place, "reason": document.reason}
    data = document.row or document.text or b""
    try:
        return {**row, "row": data.decode()}
    except UnicodeDecodeError:
        return {**row, "row_base64": base64.b64encode(data).decode()}


def line_of(row: dict[str, Any]) -> bytes:
    """A row of JSON lines."""
    return (json.dumps(row) + "\n").encode()
