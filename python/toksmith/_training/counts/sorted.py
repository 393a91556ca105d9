"""Reads and writes sorted files of counts a few thousand rows at a time; the bytes equal those of `PieceCounts.save`."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ... import _core
from ..._base.paths import check_regular, printable_path
from ..._corpus.encode_files import open_unpacked
from ..._corpus.parquet import bounded_batches, bytes_at, parquet_file
from ..._storage.atomic_files import wrap_write_errors
from ...errors import FormatError, InvalidOption
from .files import (
    HEAD,
    KEY,
    POSITIONS,
    ROWS_IN_A_GROUP,
    Facts,
    facts_of_parquet,
    parse_facts,
    read_errors,
    require_pyarrow,
    suffix_of,
)

ROWS_IN_A_BATCH = 1 << 12
BYTES_OF_LINES = 1 << 18


class CountRows(NamedTuple):
    """Some pieces with their counts and first positions; the lists of positions are empty if these are unknown."""

    pieces: list[bytes]
    counts: list[int]
    documents: list[int]
    bytes: list[int]

    def part(self, start: int, stop: int) -> CountRows:
        return CountRows(
            self.pieces[start:stop], self.counts[start:stop], self.documents[start:stop], self.bytes[start:stop]
        )


class CountFile(NamedTuple):
    """A file of counts before its rows are read.

    Attributes: `facts` in it; `positions`, whether it has first positions; `rows`, their number, None if not recorded.
    """

    path: Path
    facts: Facts
    positions: bool
    rows: int | None


def count_file(path: Path) -> CountFile:
    name = printable_path(path)
    with read_errors(name):
        if suffix_of(name) == ".parquet":
            arrow = require_pyarrow(name)
            check_regular(path)
            with parquet_file(path, arrow) as file:
                facts = facts_of_parquet(file.schema_arrow, name)
                rows = file.metadata.num_rows
                return CountFile(path, facts, POSITIONS[0] in file.schema_arrow.names or not rows, rows)
        with open_unpacked(path) as lines:
            head = lines.readline()
    if not head.startswith(HEAD):
        allowed = f"the pattern that split the pieces of {name}; load it with PieceCounts.load(pattern=…), and save it"
        raise InvalidOption("pattern", None, allowed)
    return CountFile(path, parse_facts(head[len(HEAD) :], name), positions=False, rows=None)


def rows_of(file: CountFile, moved: int = 0) -> Generator[CountRows, None, None]:
    """The rows of a file, with first positions `moved` documents later."""
    name, last, before = printable_path(file.path), b"", 0
    with read_errors(name):
        for rows in parquet_rows(file, name) if suffix_of(name) == ".parquet" else line_rows(file, name):
            previous = [last, *rows.pieces[:-1]]
            if not all(map(bytes.__lt__, previous, rows.pieces)):
                place = next(n for n, (old, new) in enumerate(zip(previous, rows.pieces, strict=True)) if old >= new)
                message = "the piece is empty, or does not follow the piece of the row before in byte order"
                raise FormatError(name, f"row {before + place + 1}", f"{message}; load and save the file to sort it")
            if not all(rows.counts):
                raise FormatError(
                    name, f"row {before + rows.counts.index(0) + 1}", "the count is 0; expected 1 or more"
                )
            last, before = rows.pieces[-1], before + len(rows.pieces)
            yield rows._replace(documents=[document + moved for document in rows.documents]) if moved else rows


def parquet_rows(file: CountFile, name: str) -> Iterator[CountRows]:
    arrow = require_pyarrow(name)
    with parquet_file(file.path, arrow) as table, bytes_at(file.path) as source:
        names, groups = table.schema_arrow.names, range(table.num_row_groups)
        for batch in bounded_batches(source, table, names, groups, arrow, most=ROWS_IN_A_BATCH):
            if len(batch):
                pieces = batch.column(0).cast(arrow.large_binary()).to_pylist()
                numbers = [column.cast(arrow.uint64()).to_pylist() for column in batch.columns[1:]]
                if any(None in column for column in (pieces, *numbers)):
                    raise FormatError(name, None, "has nulls; expected a value in every row")
                yield CountRows(pieces, *[*numbers, [], []][:3])


def line_rows(file: CountFile, name: str) -> Iterator[CountRows]:
    with open_unpacked(file.path) as source:
        source.readline()
        number = 2
        while data := source.read(BYTES_OF_LINES) + source.readline():
            blob, (ends, counts, *_) = _core.CountedPieces.from_lines([], data, number, Facts(()).core()).columns()
            places = [0, *ends.tolist()]
            pieces = [blob[start:end] for start, end in pairwise(places)]
            yield CountRows(pieces, counts.tolist(), [], [])
            number += data.count(b"\n")


class CountWriter:
    """Writes a file of counts from rows in the order of the pieces' bytes; the end of its `with` block completes the file.

    Args of the constructor: `file`, open for writing; `name`, whose suffix decides the format; `positions`, whether the rows
    have first positions, which a Parquet file then stores.
    """

    def __init__(self, file: BinaryIO, name: str, facts: Facts, *, positions: bool) -> None:
        self._file, self._name, self._positions = file, name, positions
        self._held = CountRows([], [], [], [])
        self._writer: Any = None
        if suffix_of(name) == ".tsv":
            with wrap_write_errors(name):
                file.write(HEAD + facts.dump() + b"\n")
            return
        self._arrow = arrow = require_pyarrow(name)
        numbers = ("count", *POSITIONS) if positions else ("count",)
        fields = [("piece", arrow.large_binary()), *((column, arrow.uint64()) for column in numbers)]
        self._schema = arrow.schema(fields).with_metadata({KEY: facts.dump()})
        # Without a dictionary, because pieces hardly repeat in a column.
        with wrap_write_errors(name):
            self._writer = arrow.parquet.ParquetWriter(file, self._schema, compression="zstd", use_dictionary=False)

    def __enter__(self) -> CountWriter:  # noqa: PYI034 - `Self` came with Python 3.11
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        elif self._writer is not None:  # otherwise its finalizer would write to the closed file
            with suppress(OSError, ValueError):
                self._writer.close()

    def add(self, rows: CountRows) -> None:
        buffer = self._held
        buffer.pieces.extend(rows.pieces)
        buffer.counts.extend(rows.counts)
        buffer.documents.extend(rows.documents)
        buffer.bytes.extend(rows.bytes)
        while len(self._held.pieces) >= ROWS_IN_A_GROUP:
            with wrap_write_errors(self._name):
                self._write_group(ROWS_IN_A_GROUP)

    def close(self) -> None:
        with wrap_write_errors(self._name):
            if self._held.pieces:
                self._write_group(len(self._held.pieces))
            if self._writer is not None:
                self._writer.close()

    def _write_group(self, size: int) -> None:
        pieces, counts, documents, places = self._held.part(0, size)
        for column in (self._held.pieces, self._held.counts, self._held.documents, self._held.bytes):
            del column[:size]
        if self._writer is None:
            ends = np.cumsum([len(piece) for piece in pieces], dtype=np.uint64)
            columns = [ends, np.array(counts, np.uint64), *[np.empty(0, np.uint64)] * 2]
            self._file.write(_core.CountedPieces.from_columns([], b"".join(pieces), columns, Facts(()).core()).lines())
            return
        arrow = self._arrow
        numbers = [counts, documents, places] if self._positions else [counts]
        table = [arrow.array(pieces, arrow.large_binary()), *(arrow.array(data, arrow.uint64()) for data in numbers)]
        self._writer.write_table(arrow.table(table, schema=self._schema), row_group_size=ROWS_IN_A_GROUP)
