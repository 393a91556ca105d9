"""Describes a folder of shards: lengths of documents, compression of each source, and the first documents as text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ... import _render
from ..._base.arguments import check_int
from ..._base.paths import printable_path
from ..._base.wording import number_of
from ..._storage.folders import folder_at
from ...errors import InvalidOption, JobError
from ..plans.options import COUNTS
from ..sinks import UNREADABLE
from .shard_folder import ReadShard, ShardFolder, shard_folder

MOST_SHOWN_CHARS = 200
MOST_SHOWN_SOURCES = 20


@dataclass(frozen=True)
class LengthBin:
    """The documents of `least` to `most` ids: the number of `documents`, and the
    number of their `ids`."""

    least: int
    most: int
    documents: int
    ids: int


@dataclass(frozen=True)
class SourceSums:
    """The sums of a source.

    Attributes: `source`, a file, or a folder where the corpus has several;
        `documents`, `ids` and `text_bytes`.
    """

    source: str
    documents: int
    ids: int
    text_bytes: int

    @property
    def bytes_per_id(self) -> float | None:
        """Mean bytes of text per id, including appended and prepended ids. None
        without ids."""
        return self.text_bytes / self.ids if self.ids else None


@dataclass(frozen=True)
class FirstDocument:
    """One of the first documents.

    Attributes: `shard`, its shard; `ids`, their number; `text`, decoded from
        the first ids, None without the tokenizer.
    """

    shard: int
    ids: int
    text: str | None


@dataclass(frozen=True)
class ShardContents(_render.Shown):
    """The content of a folder of shards.

    Attributes:
        folder: The folder of the shards; a URL as a path.
        to: The format of its files, with `dtype`, the type of the ids.
        finished: Whether the job is finished; if not, all sums are of the
            shards that are done.
        shards: The number of planned shards, with `done`, the number of
            finished shards.
        documents: Their number, with the numbers of `ids`, of `text_bytes`
            and of `bad_rows` that were left out.
        lengths: A histogram of documents by length, in powers of 2; empty if
            the files do not separate documents.
        sources: Sums for each source of documents, the largest first; empty if
            unknown.
        first: The first documents, or packed rows.
    """

    folder: Path
    to: str
    dtype: str
    finished: bool
    shards: int
    done: int
    documents: int
    ids: int
    text_bytes: int
    bad_rows: int
    lengths: tuple[LengthBin, ...]
    sources: tuple[SourceSums, ...]
    first: tuple[FirstDocument, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON values."""
        values = {**asdict(self), "folder": printable_path(self.folder)}
        values |= {name: [asdict(item) for item in getattr(self, name)] for name in ("lengths", "first")}
        values["sources"] = [{**asdict(item), "bytes_per_id": item.bytes_per_id} for item in self.sources]
        return values

    def _parts(self) -> Iterator[Any]:
        yield printable_path(self.folder)
        sums = (
            f"{number_of(self.documents, 'document')}, {number_of(self.ids, 'id')}, {self.text_bytes:,} bytes of text"
        )
        state = "finished" if self.finished else f"not finished: {self.done:,} are done"
        facts = f"{number_of(self.shards, 'shard')} for {self.to} ({self.dtype}), {state}"
        yield _render.Line(facts)
        yield _render.Line(f"{sums}; {number_of(self.bad_rows, 'bad row')}")
        if self.lengths:
            bars = [(span_of(item), float(item.documents), f"{item.documents:,}") for item in self.lengths]
            yield _render.Bars(bars, "documents by their ids")
        if self.sources:
            rows = [
                (
                    item.source,
                    f"{item.documents:,}",
                    f"{item.ids:,}",
                    "" if item.bytes_per_id is None else f"{item.bytes_per_id:.2f}",
                )
                for item in self.sources[:MOST_SHOWN_SOURCES]
            ]
            more = len(self.sources) - len(rows)
            caption = "by source" + (f" ({more:,} more in the JSON)" if more > 0 else "")
            yield _render.Table(("source", "documents", "ids", "bytes per id"), rows, caption)
        for item in self.first:
            text = "" if item.text is None else _render.token_text(item.text.encode())
            yield _render.Line(f"shard {item.shard}, {number_of(item.ids, 'id')}: {text}")


def span_of(bin: LengthBin) -> str:
    return f"{bin.least:,}" if bin.least == bin.most else f"{bin.least:,} to {bin.most:,}"


def show(folder: str | os.PathLike[str], *, first: int = 3) -> ShardContents:
    r"""The content of the folder of a job, finished or not, or of a folder that
    `corpus.merge` wrote.

    Args:
        folder: The folder of the shards, or its URL.
        first: The number of documents to show as text.
    Raises:
        InvalidOption: `first` is negative.
        JobError: There are no shards of toksmith, a file is damaged, or the job
            counts.
    Cost: reads the lengths of all documents, and the ids of the first.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.jsonl").write_text('{"text": "low"}\n{"text": "lower"}\n')
    ...     _ = toksmith.corpus.plan(tok, Path(folder), f"{folder}/out").run(progress=False)
    ...     found = toksmith.corpus.show(f"{folder}/out")
    >>> found.documents, found.ids, [each.text for each in found.first]
    (2, 4, ['low', 'lower'])
    """
    if check_int(first, "first") < 0:
        raise InvalidOption("first", first, "at least 0")
    source = shard_folder(folder_at(folder))
    if source.options["to"] == COUNTS:
        problem = (
            "this job counts pieces and has no shards of ids; look at it with status, or load it with PieceCounts.load"
        )
        raise JobError(source.folder, problem)
    return ShardContents(
        folder=source.folder.path,
        to=source.options["to"],
        dtype=source.options["dtype"],
        finished=source.finished,
        shards=source.planned,
        done=len(source.shards),
        documents=sum(shard.documents for shard in source.shards),
        ids=sum(shard.ids for shard in source.shards),
        text_bytes=sum(shard.text_bytes for shard in source.shards),
        bad_rows=source.bad_rows,
        lengths=tuple(length_histogram(source)),
        sources=tuple(source_sums(source)),
        first=tuple(first_documents(source, first)),
    )


def length_histogram(folder: ShardFolder) -> Iterator[LengthBin]:
    """A histogram of documents by length: 0, 1, 2 to 3, 4 to 7 and so on."""
    if not folder.row.apart or folder.options["pack"] is not None:
        return
    documents, ids = (np.zeros(64, np.int64) for _ in range(2))
    for shard in folder.shards:
        count = 0
        for lengths in shard_lengths(folder, shard):
            bins = np.frexp(lengths.astype(np.float64))[1]  # 0 for 0, else floor(log2) + 1
            np.add.at(documents, bins, 1)
            np.add.at(ids, bins, lengths)
            count += len(lengths)
        documents[0] += shard.documents - count  # a shard without ids can have no files
    for power in range(64):
        if documents[power]:
            least, most = (0, 0) if not power else (1 << (power - 1), (1 << power) - 1)
            yield LengthBin(least, most, int(documents[power]), int(ids[power]))


def shard_lengths(folder: ShardFolder, shard: ReadShard) -> Iterator[np.ndarray[Any, np.dtype[np.int64]]]:
    """The lengths of a shard's documents, in batches."""
    row, spec = folder.row, folder.spec(shard.number)
    with folder.folder.fetch_files(shard.files) as local:
        try:
            yield from row.lengths_in(local, spec)
        except UNREADABLE as problem:
            message = f"shard {shard.number} cannot be read: {str(problem)[:200]}; run verify on the folder"
            raise JobError(folder.folder, message) from problem


def source_sums(folder: ShardFolder) -> Iterator[SourceSums]:
    """The sums of each folder of inputs; of each file if there is only one folder."""
    if any(shard.inputs is None for shard in folder.shards):
        return
    folders = [os.path.dirname(path) for path in folder.inputs]
    names = folders if len({*folders}) > 1 else folder.inputs
    sums: dict[str, tuple[int, int, int]] = {}
    for shard in folder.shards:
        for input, documents, ids, size in shard.inputs or ():
            if not 0 <= input < len(names):
                raise JobError(
                    str(folder.folder), f"the receipt of shard {shard.number} names an input that does not exist"
                )
            before = sums.get(names[input], (0, 0, 0))
            sums[names[input]] = (before[0] + documents, before[1] + ids, before[2] + size)
    for name in sorted(sums, key=lambda name: (-sums[name][1], name)):
        yield SourceSums(name, *sums[name])


def first_documents(folder: ShardFolder, most: int) -> Iterator[FirstDocument]:
    if not most or not folder.row.apart:
        return
    tok = folder.load()
    for shard in folder.shards:
        rows = folder.rows(shard)
        for batch in rows:
            start = 0
            for end in batch.ends.tolist():
                ids = batch.ids[start : min(end, start + MOST_SHOWN_CHARS)].tolist()
                text = None if tok is None else tok.decode(ids)[:MOST_SHOWN_CHARS]
                yield FirstDocument(shard.number, end - start, text)
                start, most = end, most - 1
                if not most:
                    return
