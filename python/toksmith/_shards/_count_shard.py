"""One shard of a job that counts: its documents become a file of counts, with first positions from its own beginning.

Whoever adds up the shards moves the positions by the documents of the shards before (`_counts/_merge.py`). The core reads the
rows; one thread reads and unpacks ahead of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from threading import Event
from typing import BinaryIO

from .. import _core
from .._atomic_files import writable
from .._corpus import kind_of
from .._corpus._ahead import ahead
from .._corpus._parquet import batches, flat
from .._counts._files import Facts, write_parquet
from .._encode_files import opened, readable, refuse_long_row
from .._errors import CorpusError, number_of
from .._files import shown
from ._durable import ShardFiles
from ._plan import JobOptions, Part, Plan, unchanged
from ._receipts import Receipt, facts_of_file
from .sinks._counts import counts_name

__all__ = ["counted_shard"]

BYTES_IN_A_BLOCK = 4 << 20
# Of the table of a process; more goes to files without names. It changes no count.
MOST_MEMORY = 1 << 30


@dataclass
class BadRows:
    """The rows without a text so far: errors, or counted, as the job says."""

    options: JobOptions
    count: int = 0

    def says(self, path: str, record: int | None, problem: str, rows: int = 1) -> None:
        """Counts rows that have no text.

        Raises:
            CorpusError: The job stops at such rows, or the shard alone has more than the whole job may have.
        """
        if self.options.errors == "stop":
            raise CorpusError(path, record, problem)
        self.count += rows
        if (most := self.options.max_errors) is not None and self.count > most:
            said = f"the shard has more than {most:,} rows without a text; the last: {problem}; raise max_errors"
            raise CorpusError(path, record, f"{said}, or look at the file")


@dataclass(frozen=True)
class RowBlock:
    """Whole lines of a `.jsonl` file; `line` is the number of the first one, or None if nobody knows, then `byte` is its
    place."""

    path: str
    field: str
    lines: bytes
    line: int | None
    byte: int

    def count(self, counter: _core.Counter, bad: BadRows, threads: int) -> None:
        """Counts the block."""

        def refuse(line: int, problem: str) -> None:
            if self.line is not None:
                bad.says(self.path, self.line + line, problem)
                return
            before = self.lines.split(b"\n", line)[:line]
            byte = self.byte + sum(map(len, before)) + line
            bad.says(self.path, None, f"the row at byte {byte:,} {problem}")

        counter.add_rows(self.lines, self.field, refuse, threads)


@dataclass(frozen=True)
class ColumnBlock:
    """Rows of a Parquet file: their texts as one, where each ends, and how many rows have none."""

    path: str
    field: str
    blob: bytes
    ends: object
    missing: int

    def count(self, counter: _core.Counter, bad: BadRows, threads: int) -> None:
        """Counts the block."""
        if self.missing:
            said = f"a text is missing in {number_of(self.missing, 'row')} of the column {self.field!r}"
            bad.says(self.path, None, said, self.missing)
        counter.add_column(self.blob, self.ends, threads)  # type: ignore[arg-type]


@dataclass(frozen=True)
class StretchBlock:
    """The next bytes of a document that is a file; `last` ends it."""

    data: bytes
    last: bool

    def count(self, counter: _core.Counter, bad: BadRows, threads: int) -> None:
        """Counts the block."""
        counter.feed(self.data, self.last, threads)


Counted = RowBlock | ColumnBlock | StretchBlock


def counted_shard(plan: Plan, number: int, folder: Path, threads: int) -> Receipt:
    """The file of a shard, in a folder; errors are those of `run_shard`."""
    options, name, stop = plan.options, counts_name(number), Event()
    patterns = tuple(options.patterns or ())
    counter = _core.Counter(patterns, (0, 0), MOST_MEMORY, tempfile.gettempdir(), options.max_piece_bytes)
    bad = BadRows(options)
    with ShardFiles(folder) as files:
        out = files.new(name)  # first, so that the folder shows which shards are being made
        try:
            for block in ahead(chain.from_iterable(blocks_of(plan, part) for part in plan.shards[number]), stop):
                block.count(counter, bad, threads)
        finally:
            stop.set()
        end = counter.next
        counts = counter.finish(1, threads)
        facts = Facts(patterns, counts.documents, counts.long, counts.rare, [((0, 0), end)], bad.count)
        with writable(out.path):
            write_parquet(counts, facts, shown(out.path), out.file)
        files.place()
    return Receipt(
        shard=number,
        documents=counts.documents,
        ids=int(counts.columns()[1][1].sum()),
        text_bytes=counts.bytes,
        empty=0,
        bad_rows=bad.count,
        special_tokens={},
        text_sha256=counts.digest,
        files=(facts_of_file(folder, name),),
    )


def blocks_of(plan: Plan, part: Part) -> Iterator[Counted]:
    """The blocks of a part, in order.

    Raises:
        CorpusError: The file cannot be read, or is not as it was when the plan was made.
    """
    found = plan.inputs[part.input]
    unchanged(found)
    path = Path(found.path)
    kind = kind_of(path)
    if kind == ".parquet":
        groups = None if part.start is None or part.stop is None else (part.start, part.stop)
        for _, (texts,) in batches(path, (found.field,), groups):
            yield ColumnBlock(found.path, found.field, *flat(texts.drop_null()), texts.null_count)
    else:
        with readable(path), opened(path) as stream:
            yield from rows_in(part, found.path, found.field, stream) if kind == ".jsonl" else text_in(stream)
    unchanged(found)


def text_in(stream: BinaryIO) -> Iterator[StretchBlock]:
    """The blocks of one text."""
    data = None
    while data != b"":
        data = stream.read(BYTES_IN_A_BLOCK)
        yield StretchBlock(data, last=not data)


def rows_in(part: Part, path: str, field: str, stream: BinaryIO) -> Iterator[RowBlock]:
    """The rows of a `.jsonl` file, from the byte `start` to the byte `stop` of a plain one, in whole lines."""
    place = part.start or 0
    if place:
        stream.seek(place)
    line = None if place else 0
    held, size = [], 0
    while data := stream.read(
        BYTES_IN_A_BLOCK if part.stop is None else min(BYTES_IN_A_BLOCK, part.stop - place - size)
    ):
        end = data.rfind(b"\n") + 1
        refuse_long_row(size + (data.find(b"\n") + 1 or len(data)))
        held.append(data[: end or None])
        size += len(held[-1])
        if not end:
            continue
        lines = b"".join(held)
        yield RowBlock(path, field, lines, line, place)
        place, line = place + size, None if line is None else line + lines.count(b"\n")
        held = [data[end:]] if end < len(data) else []
        size = sum(map(len, held))
    if held:
        yield RowBlock(path, field, b"".join(held), line, place)
