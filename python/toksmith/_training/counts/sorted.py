"""Reads and writes sorted files of counts a few thousand rows at a time; the bytes equal those of `PieceCounts.save`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._base.paths import check_regular, printable_path
from ..._corpus.encode_files import open_unpacked
from ..._corpus.parquet import bounded_batches, bytes_at, flatten_column, parquet_file
from ..._storage.atomic_files import wrap_write_errors
from ...errors import FormatError, InvalidOption
from .files import (
    HEAD,
    POSITIONS,
    ROWS_IN_A_GROUP,
    Facts,
    count_table,
    facts_of_parquet,
    parse_facts,
    read_errors,
    require_pyarrow,
    suffix_of,
)

ROWS_IN_A_BATCH = 1 << 13
BYTES_OF_LINES = 1 << 18
FAR = np.uint64(1 << 63)
NONE = np.empty(0, np.uint64)


class CountRows(NamedTuple):
    """Some pieces, by their bytes and ends, with their counts and first positions; the columns of positions are empty if
    these are unknown.
    """

    blob: bytes
    ends: NDArray[np.uint64]
    counts: NDArray[np.uint64]
    documents: NDArray[np.uint64] = NONE
    bytes: NDArray[np.uint64] = NONE

    @property
    def columns(self) -> list[NDArray[np.uint64]]:
        return [self.ends, self.counts, self.documents, self.bytes]

    def part(self, start: int, stop: int) -> CountRows:
        first, last = (int(self.ends[row - 1]) if row else 0 for row in (start, stop))
        ends, *columns = (column[start:stop] for column in self.columns)
        return CountRows(self.blob[first:last], ends - np.uint64(first), *columns)

    def where(self, chosen: NDArray[np.bool_]) -> CountRows:
        lengths = np.diff(self.ends, prepend=np.uint64(0))
        blob = np.frombuffer(self.blob, np.uint8)[np.repeat(chosen, lengths.astype(np.intp))]
        columns = (column[chosen] if len(column) else column for column in self.columns[1:])
        return CountRows(blob.tobytes(), np.cumsum(lengths[chosen], dtype=np.uint64), *columns)

    def core(self) -> _core.CountedPieces:
        """The counts without positions."""
        return _core.CountedPieces.from_columns([], self.blob, [self.ends, self.counts, NONE, NONE], Facts(()).core())


def join_rows(parts: Sequence[CountRows]) -> CountRows:
    """The rows of all parts, in order."""
    starts = np.cumsum([0, *(len(rows.blob) for rows in parts)], dtype=np.uint64)
    ends = [rows.ends + start for rows, start in zip(parts, starts, strict=False)]
    columns = (np.concatenate([NONE, *column]) for column in [ends, *zip(*(rows[2:] for rows in parts), strict=True)])
    return CountRows(b"".join(rows.blob for rows in parts), *columns) if parts else CountRows(b"", NONE, NONE)


def row_groups(parts: Iterable[CountRows]) -> Generator[CountRows, None, None]:
    """The same rows in the groups of a file."""
    held: list[CountRows] = []
    for part in parts:
        held.append(part)
        while sum(len(rows.ends) for rows in held) >= ROWS_IN_A_GROUP:
            rows = join_rows(held)
            yield rows.part(0, ROWS_IN_A_GROUP)
            held = [rows.part(ROWS_IN_A_GROUP, len(rows.ends))]
    if len((rows := join_rows(held)).ends):
        yield rows


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


def rows_of(file: CountFile, moved: int, *, positions: bool) -> Generator[CountRows, None, None]:
    """The rows of a file, with first positions `moved` documents later, or without positions."""
    name, last, before = printable_path(file.path), b"", 0
    with read_errors(name):
        is_table = suffix_of(name) == ".parquet"
        for rows in parquet_rows(file, name, positions=positions) if is_table else line_rows(file):
            _core.check_rows(last, before, rows.blob, rows.columns)
            if moved and (rows.documents >= FAR).any():
                place = f"row {before + int(np.argmax(rows.documents >= FAR)) + 1}"
                raise FormatError(name, place, "the number of the document is 2**63 or more; count the corpus again")
            last, before = rows.part(len(rows.ends) - 1, len(rows.ends)).blob, before + len(rows.ends)
            yield rows._replace(documents=rows.documents + np.uint64(moved)) if moved else rows


def parquet_rows(file: CountFile, name: str, *, positions: bool) -> Iterator[CountRows]:
    arrow = require_pyarrow(name)
    with parquet_file(file.path, arrow) as table, bytes_at(file.path) as source:
        names, groups = table.schema_arrow.names[: None if positions else 2], range(table.num_row_groups)
        for batch in bounded_batches(source, table, names, groups, arrow, most=ROWS_IN_A_BATCH):
            if any(column.null_count for column in batch.columns):
                raise FormatError(name, None, "has nulls; expected a value in every row")
            if len(batch):
                pieces, *numbers = batch.columns
                blob, ends = flatten_column(pieces.cast(arrow.large_binary()))
                yield CountRows(blob, ends, *(column.cast(arrow.uint64()).to_numpy() for column in numbers))


def line_rows(file: CountFile) -> Iterator[CountRows]:
    with open_unpacked(file.path) as source:
        source.readline()
        number = 2
        while data := source.read(BYTES_OF_LINES) + source.readline():
            blob, columns = _core.CountedPieces.from_lines([], data, number, Facts(()).core()).columns()
            yield CountRows(blob, *columns[:2])
            number += data.count(b"\n")


class CountWriter:
    """Writes a file of counts from groups of rows in the order of the pieces' bytes; the end of its `with` block completes
    the file.

    Args of the constructor: `file`, open for writing; `name`, whose suffix decides the format; `positions`, whether the rows
    have first positions, which a Parquet file then stores.
    """

    def __init__(self, file: BinaryIO, name: str, facts: Facts, *, positions: bool) -> None:
        self._file, self._name, self._facts, self._columns = file, name, facts, 4 if positions else 2
        self._writer: Any = None
        if suffix_of(name) == ".tsv":
            with wrap_write_errors(name):
                file.write(HEAD + facts.dump() + b"\n")
            return
        self._arrow = arrow = require_pyarrow(name)
        schema = count_table(b"", [NONE] * self._columns, facts, arrow).schema
        # Without a dictionary, because pieces hardly repeat in a column.
        with wrap_write_errors(name):
            self._writer = arrow.parquet.ParquetWriter(file, schema, compression="zstd", use_dictionary=False)

    def __enter__(self) -> CountWriter:  # noqa: PYI034 - `Self` came with Python 3.11
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._writer is not None:
            if kind is None:
                with wrap_write_errors(self._name):
                    self._writer.close()
            with suppress(OSError, ValueError):  # otherwise its finalizer would write to the closed file
                self._writer.close()

    def write_group(self, rows: CountRows) -> tuple[int, int, int]:
        """Writes rows; returns the number of pieces, the bytes of all occurrences, and the digest."""
        core = rows.core()
        with wrap_write_errors(self._name):
            if self._writer is None:
                self._file.write(core.lines())
            else:
                table = count_table(rows.blob, rows.columns[: self._columns], self._facts, self._arrow)
                self._writer.write_table(table, row_group_size=ROWS_IN_A_GROUP)
        return core.unique, core.bytes, int(core.digest, 16)
