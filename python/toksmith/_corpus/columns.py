"""Columns of texts from the rows of files, which the core parses on all threads and keeps in its memory.

Left out: texts in memory, and files of one text, which `_corpus/encode_files.py` encodes in parts. `TOKSMITH_SLOW=1` reads
rows one at a time in Python (`column_of_rows_slow`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base.paths import path_or_url
from ..errors import CorpusError
from . import Document, File, kind_of
from .blocks import KINDS, JsonRows, TableRows
from .encode_files import iter_rows as rows_of
from .names import RowNames, name_in_row, names_of_rows
from .parquet import missing_text_problem
from .prefetch import is_slow


class BadRow(NamedTuple):
    """A row without a text.

    Attributes: `before`, the number of texts before it in the column; `record`, its number; `byte`, where it starts, None in
    tables; `reason`, what is wrong; `row`, its bytes in the file, empty in tables.
    """

    before: int
    record: int
    byte: int | None
    reason: str
    row: bytes


@dataclass(frozen=True)
class RowsWithoutText:
    """Rows without a text. All rows of a block can be bad, so each `BadRow` is made on access.

    Attributes: `before`, for each row the number of texts before it in the column, ascending; `make`, which makes a `BadRow`
    from its index.
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
    """Texts of a file's rows, and the rows without a text.

    Attributes: `texts`; `path` of the file; `unicode`, whether texts are `str` (`.jsonl`) or `bytes` (tables); `records`,
    the number of each text's row in the file, or in the part of it that is read; `places`, where each of these rows starts in
    the unpacked file, None in tables; `names`, if the file is read with names; `bad` rows; `lines`, the bytes of all rows in
    the file, and `start`, where the first row starts.
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
        """The bytes of a text's row in the file; empty in tables."""
        if self.places is None:
            return b""
        start = int(self.places[place]) - self.start
        return self.lines[start : self.lines.find(b"\n", start) + 1 or None]

    def documents(self) -> Iterator[Document]:
        """The texts before the first bad row, each with its file and record; then the error of that row."""
        last = self.bad[0].before if self.bad else len(self.texts)
        for place, record in enumerate(self.records[:last].tolist()):
            text = self.texts.text(place)
            yield Document(text.decode() if self.unicode else text, self.path, record)
        self.refuse_bad()

    def refuse_bad(self) -> None:
        """Raises CorpusError for the first bad row."""
        if self.bad:
            problem = self.bad[0].reason if self.unicode else f"{self.bad[0].reason}; name the column with field="
            raise CorpusError(self.path, self.bad[0].record, problem)

    def good(self) -> TextColumn:
        """The column of the rows before the first bad row."""
        last = self.bad[0].before
        return TextColumn(self.texts.first(last), self.path, self.unicode, self.records[:last])


UnparsedBlock = JsonRows | TableRows


def unparsed_blocks(file: File) -> Iterator[UnparsedBlock]:
    """The blocks of a file of rows, for `column_of`."""
    for block in KINDS[kind_of(file.path)](file, True):
        if isinstance(block, (JsonRows, TableRows)):
            yield block


def column_of(block: UnparsedBlock, threads: int) -> TextColumn:
    if isinstance(block, TableRows):
        return column_of_table(block)
    return column_of_rows_slow(block) if is_slow() else column_of_rows(block, threads)


def columns_in(file: File) -> Iterator[TextColumn]:
    return (column_of(block, 1) for block in unparsed_blocks(file))


def column_of_rows(block: JsonRows, threads: int) -> TextColumn:
    path, first, file = path_or_url(block.file.path), block.first, block.file
    try:
        texts = _core.TextBlock.from_rows(block.lines, file.field, file.name, threads)
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


def column_of_table(block: TableRows) -> TextColumn:
    texts = _core.TextBlock.from_values(block.blob, block.ends)
    bad = NO_ROWS
    records = texts.lines + np.uint64(block.first)
    if block.there is not None:
        records = np.flatnonzero(block.there).astype(np.uint64) + np.uint64(block.first)
        missing, reason = np.flatnonzero(~block.there), missing_text_problem(block.file.field)
        before = np.cumsum(block.there, dtype=np.int64)[missing]

        def bad_row(place: int) -> BadRow:
            return BadRow(int(before[place]), block.first + int(missing[place]), None, reason, b"")

        bad = RowsWithoutText(before, bad_row)
    return TextColumn(texts, path_or_url(block.file.path), False, records, None, block.names, bad)


class OneRow(NamedTuple):
    """A row that is not blank.

    Attributes: `line`, its number; `start`, its first byte; `text`, None with a `reason`; `name`; `row`, its bytes.
    """

    line: int
    start: int
    text: bytes | None
    name: str | None
    reason: str
    row: bytes


def parse_each_row(block: bytes, field: str, name: str | None) -> Iterator[OneRow]:
    """The rows of a block of whole lines, with the names from the field `name`."""
    start = 0
    for number, row in enumerate(rows_of(io.BytesIO(block))):
        try:
            text = _core.row_text(row, field)
        except ValueError as problem:
            yield OneRow(number, start, None, None, str(problem), row)
        else:
            if text is not None:
                yield OneRow(
                    number, start, text.encode(), None if name is None else name_in_row(row, field, name), "", row
                )
        start += len(row)


def column_of_rows_slow(block: JsonRows) -> TextColumn:
    """Like `column_of_rows`, one row at a time."""
    file, first, start = block.file, block.first, block.start
    good: list[OneRow] = []
    bad: list[BadRow] = []
    for item in parse_each_row(block.lines, file.field, file.name):
        if item.text is None:
            bad.append(BadRow(len(good), first + item.line, start + item.start, item.reason, item.row))
        else:
            good.append(item)
    contents = [item.text or b"" for item in good]
    texts = _core.TextBlock.from_values(
        b"".join(contents), np.cumsum([len(text) for text in contents], dtype=np.uint64)
    )
    records = np.array([first + item.line for item in good], np.uint64)
    places = np.array([start + item.start for item in good], np.uint64)
    names = None if file.name is None else RowNames.of(item.name for item in good)
    rows = RowsWithoutText(np.array([row.before for row in bad], np.int64), bad.__getitem__)
    return TextColumn(texts, path_or_url(file.path), True, records, places, names, rows, block.lines, start)
