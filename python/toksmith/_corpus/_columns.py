"""A corpus as columns: the texts of rows, which the core reads on all threads and keeps in memory of its own.

Texts that the caller has in memory stay as they are, and files that are one text are not read here: `_encode_files.py`
encodes them in parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .. import _core
from .._errors import CorpusError
from . import Corpus, Document, WholeFile
from ._blocks import JsonRows, ParquetRows, Problem, Texts, blocks_and_files

__all__ = ["TextColumn", "Texts", "columns_of"]


@dataclass(frozen=True)
class TextColumn:
    """Texts of a file's rows.

    Attributes: `column` has them; `first` is the number of the row that the column's line 0 has in the file `path`;
    `unicode` says whether the texts are `str` (`.jsonl`) or `bytes` (Parquet).
    """

    column: _core.TextBlock
    path: str
    first: int
    unicode: bool

    def documents(self) -> Iterator[Document]:
        """The texts, each with its place."""
        for place, line in enumerate(self.column.lines.tolist()):
            text = self.column.text(place)
            yield Document(text.decode() if self.unicode else text, self.path, self.first + line)


def columns_of(corpus: Corpus, threads: int) -> Iterator[Texts | TextColumn | WholeFile]:
    """The documents of a corpus, in order, many at a time. As many files are read ahead as there are threads.

    Raises:
        CorpusError: A file cannot be read, or a row has no text. The documents before it come first.
    """
    for block in blocks_and_files(corpus, threads, skip=False, whole=True):
        if isinstance(block, JsonRows):
            yield from of_rows(block, threads)
        elif isinstance(block, ParquetRows):
            column = _core.TextBlock.of_values(block.blob, block.ends)
            yield TextColumn(column, str(block.path), block.first, unicode=False)
        elif isinstance(block, Problem):
            raise block.problem
        elif isinstance(block, (Texts, WholeFile)):
            yield block


def of_rows(block: JsonRows, threads: int) -> Iterator[TextColumn]:
    """The column of some rows, up to the first that has no text."""
    path, first = str(block.of.file.path), block.of.next
    try:
        column = _core.TextBlock.of_rows(block.lines, block.of.file.field, threads)
    except CorpusError as error:
        raise CorpusError(path, None, error.problem) from None
    block.of.next += column.count
    if not (problems := column.problems):
        yield TextColumn(column, path, first, unicode=True)
        return
    line, problem = problems[0]
    yield TextColumn(column.first(int(np.searchsorted(column.lines, line))), path, first, unicode=True)
    raise CorpusError(path, first + line, problem)
