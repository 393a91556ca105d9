"""A corpus as columns: the texts of rows, which the core reads on all threads and keeps in memory of its own.

Texts that the caller has in memory stay as they are, and files that are one text are not read here: `_corpus/encode_files.py`
encodes them in parts. `TOKSMITH_SLOW=1` reads rows one at a time in Python (`slowly`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base.errors import CorpusError
from .._base.paths import spelled
from . import Document, File, kind_of
from .ahead import is_slow
from .blocks import KINDS, JsonRows, TableRows
from .encode_files import lines as rows_of
from .names import RowNames, name_in, names_of_rows
from .parquet import no_text

__all__ = ["BadRow", "RowsWithoutText", "TextColumn", "Unparsed", "column_of", "columns_in", "unparsed"]


class BadRow(NamedTuple):
    """A row that has no text.

    Attributes: `before`, how many texts of the column come before it; `record`, its number; `byte` where it starts, None in
    tables; `reason`, what is wrong; `row` as it is in the file, empty in tables.
    """

    before: int
    record: int
    byte: int | None
    reason: str
    row: bytes


@dataclass(frozen=True)
class RowsWithoutText:
    """Rows that have no text. There may be as many as lines, so each is made when it is asked for.

    Attributes: `before`, of each how many texts of the column come before it, ascending; `make` gives one by its place.
    """

    before: NDArray[np.int64]
    make: Callable[[int], BadRow]

    def __len__(self) -> int:
        return len(self.before)

    def __getitem__(self, place: int) -> BadRow:
        return self.make(place)

    def __iter__(self) -> Iterator[BadRow]:
        return map(self.make, range(len(self)))


NO_ROWS = RowsWithoutText(np.empty(0, np.int64), lambda place: BadRow(place, 0, None, "", b""))


@dataclass(frozen=True)
class TextColumn:
    """Texts of a file's rows, and the rows among them that have none.

    Attributes: `texts`; `path` of the file; `unicode`, whether they are `str` (`.jsonl`) or `bytes` (tables); `records`,
    the number of each row in the file, or in the part of it that is read; `places`, where each row starts in the unpacked
    file, None in tables; `names`, if the file is read with names; `bad` rows; `lines`, the rows as they are in the file, and
    `start`, where the first of them starts.
    """

    texts: _core.TextBlock
    path: str
    unicode: bool
    records: NDArray[np.uint64]
    places: NDArray[np.uint64] | None = None
    names: RowNames | None = None
    bad: RowsWithoutText = NO_ROWS
    lines: bytes = b""
    start: int = 0

    def row(self, place: int) -> bytes:
        """The row of a text as it is in the file; empty in tables."""
        if self.places is None:
            return b""
        start = int(self.places[place]) - self.start
        return self.lines[start : self.lines.find(b"\n", start) + 1 or None]

    def documents(self) -> Iterator[Document]:
        """The texts, each with its place.

        Raises:
            CorpusError: Behind those that come before the first bad row.
        """
        last = self.bad[0].before if self.bad else len(self.texts)
        for place, record in enumerate(self.records[:last].tolist()):
            text = self.texts.text(place)
            yield Document(text.decode() if self.unicode else text, self.path, record)
        self.refuse_bad()

    def refuse_bad(self) -> None:
        """Raises CorpusError for the first bad row."""
        if self.bad:
            said = self.bad[0].reason if self.unicode else f"{self.bad[0].reason}; name the column with field="
            raise CorpusError(self.path, self.bad[0].record, said)

    def good(self) -> TextColumn:
        """The column of the rows before the first bad one."""
        last = self.bad[0].before
        return TextColumn(self.texts.first(last), self.path, self.unicode, self.records[:last])


Unparsed = JsonRows | TableRows


def unparsed(file: File) -> Iterator[Unparsed]:
    """The blocks of a file of rows, of which `column_of` makes columns.

    Raises:
        CorpusError: The file cannot be read.
    """
    for block in KINDS[kind_of(file.path)](file, True):
        if isinstance(block, (JsonRows, TableRows)):
            yield block


def column_of(block: Unparsed, threads: int) -> TextColumn:
    """The column of a block."""
    if isinstance(block, TableRows):
        return of_table(block)
    return slowly(block) if is_slow() else of_rows(block, threads)


def columns_in(file: File) -> Iterator[TextColumn]:
    """The columns of one file of rows."""
    return (column_of(block, 1) for block in unparsed(file))


def of_rows(block: JsonRows, threads: int) -> TextColumn:
    """The column of some rows of `.jsonl`."""
    path, first, file = spelled(block.file.path), block.first, block.file
    try:
        texts = _core.TextBlock.of_rows(block.lines, file.field, file.name, threads)
    except CorpusError as error:
        raise CorpusError(path, None, error.problem) from None
    lines, (bad_lines, bad_starts) = texts.lines, texts.bad
    before = np.searchsorted(lines, bad_lines)

    def bad_row(place: int) -> BadRow:
        line, start = int(bad_lines[place]), int(bad_starts[place])
        row = block.lines[start : block.lines.find(b"\n", start) + 1 or None]
        reason = _core.TextBlock.problem_of(row, file.field, file.name)
        return BadRow(int(before[place]), first + line, block.start + start, reason, row)

    names = names_of_rows(texts, block.lines, file.field, file.name)
    starts = texts.starts + np.uint64(block.start)
    records = lines + np.uint64(first)
    return TextColumn(
        texts, path, True, records, starts, names, RowsWithoutText(before, bad_row), block.lines, block.start
    )


def of_table(block: TableRows) -> TextColumn:
    """The column of some rows of a table."""
    texts = _core.TextBlock.of_values(block.blob, block.ends)
    bad = NO_ROWS
    records = texts.lines + np.uint64(block.first)
    if block.there is not None:
        records = np.flatnonzero(block.there).astype(np.uint64) + np.uint64(block.first)
        missing, reason = np.flatnonzero(~block.there), no_text(block.file.field)
        before = np.cumsum(block.there, dtype=np.int64)[missing]

        def bad_row(place: int) -> BadRow:
            return BadRow(int(before[place]), block.first + int(missing[place]), None, reason, b"")

        bad = RowsWithoutText(before, bad_row)
    return TextColumn(texts, spelled(block.file.path), False, records, None, block.names, bad)


class OneRow(NamedTuple):
    """A row that is not blank.

    Attributes: `line`, its number; `start`, its first byte; `text`, None with a `reason`; `name`; `row`, as it is.
    """

    line: int
    start: int
    text: bytes | None
    name: str | None
    reason: str
    row: bytes


def one_by_one(block: bytes, field: str, name: str | None) -> Iterator[OneRow]:
    """The rows of a block of whole lines, with the names in the field `name`."""
    start = 0
    for number, row in enumerate(rows_of(io.BytesIO(block))):
        try:
            text = _core.row_text(row, field)
        except ValueError as problem:
            yield OneRow(number, start, None, None, str(problem), row)
        else:
            if text is not None:
                yield OneRow(number, start, text.encode(), None if name is None else name_in(row, field, name), "", row)
        start += len(row)


def slowly(block: JsonRows) -> TextColumn:
    """As `of_rows`, one row at a time."""
    file, first, start = block.file, block.first, block.start
    good: list[OneRow] = []
    bad: list[BadRow] = []
    for each in one_by_one(block.lines, file.field, file.name):
        if each.text is None:
            bad.append(BadRow(len(good), first + each.line, start + each.start, each.reason, each.row))
        else:
            good.append(each)
    every = [each.text or b"" for each in good]
    texts = _core.TextBlock.of_values(b"".join(every), np.cumsum([len(text) for text in every], dtype=np.uint64))
    records = np.array([first + each.line for each in good], np.uint64)
    places = np.array([start + each.start for each in good], np.uint64)
    names = None if file.name is None else RowNames.of(each.name for each in good)
    rows = RowsWithoutText(np.array([row.before for row in bad], np.int64), bad.__getitem__)
    return TextColumn(texts, spelled(file.path), True, records, places, names, rows, block.lines, start)
