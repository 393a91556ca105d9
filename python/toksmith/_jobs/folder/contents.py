"""What is in a folder of shards: how many documents of which lengths, how well texts of each source are compressed, and the
first documents as text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ... import _render
from ..._base.arguments import whole_number
from ..._base.errors import InvalidOption, JobError, number_of
from ..._base.paths import shown
from ..._storage.folders import folder_at
from ..plans.options import COUNTS
from ..sinks import UNREADABLE
from .shard_folder import ReadShard, ShardFolder, shard_folder

__all__ = ["FirstDocument", "LengthBin", "ShardContents", "SourceSums", "shards"]

MOST_SHOWN_CHARS = 200
MOST_SHOWN_SOURCES = 20


@dataclass(frozen=True)
class LengthBin:
    """The documents of `least` to `most` ids: how many `documents`, and the `ids`
    of all of them."""

    least: int
    most: int
    documents: int
    ids: int


@dataclass(frozen=True)
class SourceSums:
    """What a source gave.

    Attributes: `source`, a file, or a folder where the corpus has several;
        `documents`, `ids` and `text_bytes`.
    """

    source: str
    documents: int
    ids: int
    text_bytes: int

    @property
    def bytes_per_id(self) -> float | None:
        """Bytes of text for one id on average, those that were appended and
        prepended included. None without ids."""
        return self.text_bytes / self.ids if self.ids else None


@dataclass(frozen=True)
class FirstDocument:
    """One of the first documents.

    Attributes: `shard` it is in; `ids`, how many; `text` that the first of
        them decode to, None without the tokenizer.
    """

    shard: int
    ids: int
    text: str | None


@dataclass(frozen=True)
class ShardContents(_render.Shown):
    """What is in a folder of shards.

    Attributes:
        folder: Of the shards; a URL as a path.
        to: The format of its files, and `dtype` the type of the ids.
        finished: Whether the job is finished; if not, all sums are of the
            shards that are done.
        shards: How many there are to be, and `done` how many are done.
        documents: How many, with `ids`, `text_bytes` of their texts, and
            `bad_rows` that were left out.
        lengths: How many documents have which lengths, in powers of 2; empty
            if the files do not tell documents apart.
        sources: By where documents are from, the largest first; empty if
            nobody knows.
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
        found = {**asdict(self), "folder": shown(self.folder)}
        found |= {name: [asdict(each) for each in getattr(self, name)] for name in ("lengths", "first")}
        found["sources"] = [{**asdict(each), "bytes_per_id": each.bytes_per_id} for each in self.sources]
        return found

    def _parts(self) -> Iterator[Any]:
        yield shown(self.folder)
        said = (
            f"{number_of(self.documents, 'document')}, {number_of(self.ids, 'id')}, {self.text_bytes:,} bytes of text"
        )
        state = "finished" if self.finished else f"not finished: {self.done:,} are done"
        facts = f"{number_of(self.shards, 'shard')} for {self.to} ({self.dtype}), {state}"
        yield _render.Line(facts)
        yield _render.Line(f"{said}; {number_of(self.bad_rows, 'bad row')}")
        if self.lengths:
            bars = [(span_of(each), float(each.documents), f"{each.documents:,}") for each in self.lengths]
            yield _render.Bars(bars, "documents by their ids")
        if self.sources:
            rows = [
                (
                    each.source,
                    f"{each.documents:,}",
                    f"{each.ids:,}",
                    "" if each.bytes_per_id is None else f"{each.bytes_per_id:.2f}",
                )
                for each in self.sources[:MOST_SHOWN_SOURCES]
            ]
            more = len(self.sources) - len(rows)
            caption = "by source" + (f" ({more:,} more in the JSON)" if more > 0 else "")
            yield _render.Table(("source", "documents", "ids", "bytes per id"), rows, caption)
        for each in self.first:
            text = "" if each.text is None else _render.token_text(each.text.encode())
            yield _render.Line(f"shard {each.shard}, {number_of(each.ids, 'id')}: {text}")


def span_of(bin: LengthBin) -> str:
    """The lengths of a bin."""
    return f"{bin.least:,}" if bin.least == bin.most else f"{bin.least:,} to {bin.most:,}"


def shards(folder: str | os.PathLike[str], *, first: int = 3) -> ShardContents:
    r"""What is in the folder of a job, finished or not, or in a folder that
    `merge_shards` wrote.

    Args:
        folder: Of the shards, or its URL.
        first: How many documents to show as text.
    Raises:
        InvalidOption: `first` is negative.
        JobError: There are no shards of toksmith, a file is damaged, or the job
            counts.
    Cost: reads the lengths of all documents, and the ids of the first ones.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.jsonl").write_text('{"text": "low"}\n{"text": "lower"}\n')
    ...     _ = toksmith.plan(tok, Path(folder), f"{folder}/out").run(progress=False)
    ...     found = toksmith.shards(f"{folder}/out")
    >>> found.documents, found.ids, [each.text for each in found.first]
    (2, 4, ['low', 'lower'])
    """
    if whole_number(first, "first") < 0:
        raise InvalidOption("first", first, "at least 0")
    found = shard_folder(folder_at(folder))
    if found.options["to"] == COUNTS:
        said = (
            "this job counts pieces and has no shards of ids; look at it with status, or load it with PieceCounts.load"
        )
        raise JobError(found.folder, said)
    return ShardContents(
        folder=found.folder.path,
        to=found.options["to"],
        dtype=found.options["dtype"],
        finished=found.finished,
        shards=found.planned,
        done=len(found.shards),
        documents=sum(each.documents for each in found.shards),
        ids=sum(each.ids for each in found.shards),
        text_bytes=sum(each.text_bytes for each in found.shards),
        bad_rows=found.bad_rows,
        lengths=tuple(lengths_in(found)),
        sources=tuple(sources_of(found)),
        first=tuple(first_documents(found, first)),
    )


def lengths_in(found: ShardFolder) -> Iterator[LengthBin]:
    """How many documents have which lengths: 0, 1, 2 to 3, 4 to 7 and so on."""
    if not found.row.apart or found.options["pack"] is not None:
        return
    documents, ids = (np.zeros(64, np.int64) for _ in range(2))
    for shard in found.shards:
        seen = 0
        for some in shard_lengths(found, shard):
            bins = np.frexp(some.astype(np.float64))[1]  # 0 for 0, else one more than the power of 2 in it
            np.add.at(documents, bins, 1)
            np.add.at(ids, bins, some)
            seen += len(some)
        documents[0] += shard.documents - seen  # files that are left out because they would be empty
    for power in range(64):
        if documents[power]:
            least, most = (0, 0) if not power else (1 << (power - 1), (1 << power) - 1)
            yield LengthBin(least, most, int(documents[power]), int(ids[power]))


def shard_lengths(found: ShardFolder, shard: ReadShard) -> Iterator[np.ndarray[Any, np.dtype[np.int64]]]:
    """The lengths of a shard's documents, some at a time.

    Raises:
        JobError: They cannot be read.
    """
    row, spec = found.row, found.spec(shard.number)
    with found.folder.fetched(shard.files) as here:
        try:
            yield from row.lengths_in(here, spec)
        except UNREADABLE as problem:
            said = f"shard {shard.number} cannot be read: {str(problem)[:200]}; run verify on the folder"
            raise JobError(found.folder, said) from problem


def sources_of(found: ShardFolder) -> Iterator[SourceSums]:
    """The sums of each folder of inputs, or of each file where there is one folder."""
    if any(shard.inputs is None for shard in found.shards):
        return
    folders = [os.path.dirname(path) for path in found.inputs]
    names = folders if len({*folders}) > 1 else found.inputs
    sums: dict[str, tuple[int, int, int]] = {}
    for shard in found.shards:
        for input, documents, ids, size in shard.inputs or ():
            if not 0 <= input < len(names):
                raise JobError(
                    str(found.folder), f"the receipt of shard {shard.number} names an input that is not there"
                )
            before = sums.get(names[input], (0, 0, 0))
            sums[names[input]] = (before[0] + documents, before[1] + ids, before[2] + size)
    for name in sorted(sums, key=lambda name: (-sums[name][1], name)):
        yield SourceSums(name, *sums[name])


def first_documents(found: ShardFolder, most: int) -> Iterator[FirstDocument]:
    """The first documents, decoded."""
    if not most or not found.row.apart:
        return
    tok = found.load()
    for shard in found.shards:
        rows = found.rows(shard)
        for some in rows:
            start = 0
            for end in some.ends.tolist():
                ids = some.ids[start : min(end, start + MOST_SHOWN_CHARS)].tolist()
                text = None if tok is None else tok.decode(ids)[:MOST_SHOWN_CHARS]
                yield FirstDocument(shard.number, end - start, text)
                start, most = end, most - 1
                if not most:
                    return
