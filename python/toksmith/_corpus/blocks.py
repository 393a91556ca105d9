"""A corpus as blocks that the core counts: a few MiB each, in the order of the documents, the same for any threads.

Files are read and unpacked ahead, each on its own thread, while earlier blocks are counted. A bad file or row stops the
walk, or is left out with a warning in the log.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base.arguments import WrongDocument
from .._base.errors import CorpusError, number_of
from .._base.paths import spelled, url_of
from .._render.streams import LOG
from .._storage.remote import input_at
from . import Corpus, File, WholeFile, kind_of, sources
from .ahead import ahead, wait_to_be_asked
from .encode_files import PACKED, opened, readable, refuse_long_row
from .names import RowNames, names_of_column
from .parquet import batches, bytes_of, cut, flat, no_text, pyarrow, row_group_ranges

__all__ = [
    "KINDS",
    "LARGE_BYTES",
    "Block",
    "JsonRows",
    "Problem",
    "Skipped",
    "TableRows",
    "Texts",
    "blocks",
    "blocks_and_files",
    "file_here",
    "in_text",
    "read",
]

BLOCK_BYTES = 4 << 20
# A block of more bytes has one long document.
LARGE_BYTES = 2 * BLOCK_BYTES
# Texts that a program gives. Threads start anew for each block, so a block has more of them.
BATCH_BYTES, BATCH_DOCUMENTS = 4 * BLOCK_BYTES, 40_000
# Files of fewer bytes are read when their turn comes.
SMALL_BYTES = 1 << 18


@dataclass
class Skipped:
    """Counts the files and rows that were left out, if that is allowed."""

    allowed: bool
    count: int = 0

    def says(self, problem: CorpusError, rows: int = 1) -> None:
        """Logs an error and counts its rows, or raises it; a missing library always raises, because all such files need it."""
        if not self.allowed or isinstance(problem.__cause__, ImportError):
            raise problem
        self.count += rows
        LOG.warning("left out: %s", problem)


@dataclass(frozen=True)
class Texts:
    """Documents in memory; `places` are the file and the record of each, as in `Document`."""

    texts: list[str | bytes]
    places: list[tuple[str | None, int | None]]

    @property
    def size(self) -> int:
        """About its bytes."""
        return sum(map(len, self.texts))

    def count(self, counter: _core.Counter, skipped: Skipped, threads: int) -> None:
        """Counts the block."""
        counter.add(self.texts, threads)


@dataclass(frozen=True)
class JsonRows:
    """Some whole lines of a `.jsonl` file.

    Attributes: `file`; `lines`; `first`, the number of the first line in the file, or in the part of it that is read; `start`,
    the place of the first byte.
    """

    file: File
    lines: bytes
    first: int = 0
    start: int = 0

    @property
    def size(self) -> int:
        """Its bytes."""
        return len(self.lines)

    def count(self, counter: _core.Counter, skipped: Skipped, threads: int) -> None:
        """Counts the block."""
        file, starts = self.file, list[NDArray[np.int64]]()

        def refuse(line: int, problem: str) -> None:
            if file.part is None or not file.part[0]:
                skipped.says(CorpusError(spelled(file.path), self.first + line, problem))
                return
            # Nobody has counted the rows before a part.
            if not starts:
                feeds = np.flatnonzero(np.frombuffer(self.lines, np.uint8) == ord("\n"))
                starts.append(np.concatenate([[0], feeds + 1]))
            byte = self.start + int(starts[0][line])
            skipped.says(CorpusError(spelled(file.path), None, f"the row at byte {byte:,} {problem}"))

        counter.add_rows(self.lines, file.field, refuse, threads)


@dataclass(frozen=True)
class TableRows:
    """Rows of a Parquet or Arrow file from `first` on.

    Attributes: `blob`, their texts one after another, and `ends`, where each ends; `there`, whether each row has a text,
    None if all have; `names` of the rows with a text, if the file is read with names.
    """

    file: File
    first: int
    blob: bytes
    ends: NDArray[np.uint64]
    there: NDArray[np.bool_] | None = None
    names: RowNames | None = None

    @property
    def size(self) -> int:
        """The bytes of its texts."""
        return len(self.blob)

    def count(self, counter: _core.Counter, skipped: Skipped, threads: int) -> None:
        """Counts the block."""
        counter.add_column(self.blob, self.ends, threads)
        if self.there is not None:
            missing = int(len(self.there) - self.there.sum())
            said = f"a text is missing in {number_of(missing, 'row')}"
            skipped.says(CorpusError(spelled(self.file.path), None, said), missing)


@dataclass(frozen=True)
class Stretch:
    """The next bytes of a document that is a file; `last` ends it."""

    data: bytes
    last: bool

    def count(self, counter: _core.Counter, skipped: Skipped, threads: int) -> None:
        """Counts the block."""
        counter.feed(self.data, self.last, threads)


@dataclass(frozen=True)
class Problem:
    """A file that cannot be read further."""

    problem: CorpusError

    def count(self, counter: _core.Counter, skipped: Skipped, threads: int) -> None:
        """Says so."""
        skipped.says(self.problem)


Block = Texts | JsonRows | TableRows | Stretch | Problem


def blocks(corpus: Corpus, threads: int, *, skip: bool) -> Iterator[Block]:
    """The blocks of a corpus, in order. As many files are read ahead as there are threads; errors are those of
    `_corpus.parts`.

    Args:
        skip: Whether rows of Parquet files that have no text are left out.
    """
    for block in blocks_and_files(corpus, threads, skip=skip):
        if isinstance(block, WholeFile):
            yield from in_stream(cast("BinaryIO", block.source))
        else:
            yield block


def blocks_and_files(corpus: Corpus, threads: int, *, skip: bool, whole: bool = False) -> Iterator[Block | WholeFile]:
    """As `blocks`, but an open file is not read yet, and with `whole` no file that is one text, unless it is small."""
    waiting: deque[Iterator[Block | WholeFile]] = deque()
    stop = Event()
    try:
        for source in grouped(corpus):
            if isinstance(source, WholeFile):  # the caller may close an open file when it gives the next
                while waiting:
                    yield from waiting.popleft()
                yield source
            elif isinstance(source, File):
                text = whole and kind_of(source.path) not in KINDS
                waiting.append(iter([WholeFile(source.path)]) if text else ahead(read(source, skip), stop))
            else:
                waiting.append(iter([source]))
            while len(waiting) > threads or (waiting and isinstance(source, Texts) and len(waiting) == 1):
                yield from waiting.popleft()
        while waiting:
            yield from waiting.popleft()
    finally:
        stop.set()


def grouped(corpus: Corpus) -> Iterator[Texts | Problem | WholeFile | File]:
    """The sources of a corpus, with texts in batches; files of one small text are texts."""
    if type(corpus) is list and {*map(type, corpus)} <= {str, bytes}:
        yield from batches_of(corpus)
        return
    batch = Texts([], [])
    size = 0
    for number, source in enumerate(sources(corpus)):
        text = source if isinstance(source, (str, bytes)) else small_text(source)
        if isinstance(text, (str, bytes)):
            batch.texts.append(text)
            batch.places.append(place_of(source, None if isinstance(corpus, (str, bytes)) else number))
            size += len(text)
            if size <= BATCH_BYTES and len(batch.texts) < BATCH_DOCUMENTS:
                continue
        if batch.texts:
            yield batch
            batch, size = Texts([], []), 0
        if not isinstance(text, (str, bytes)):
            yield text
    if batch.texts:
        yield batch


def batches_of(texts: list[Any]) -> Iterator[Texts]:
    """The batches of a list that holds nothing but texts: those of `grouped`, which looks at each text longer."""
    first = size = 0
    for end, length in enumerate(map(len, texts), 1):
        size += length
        if size > BATCH_BYTES or end - first == BATCH_DOCUMENTS or end == len(texts):
            yield Texts(texts[first:end], [(None, number) for number in range(first, end)])
            first, size = end, 0


def place_of(source: str | bytes | WholeFile | File, number: int | None) -> tuple[str | None, int | None]:
    """The file and the record of a text."""
    return (spelled(source.path), None) if isinstance(source, File) else (None, number)


def small_text(source: WholeFile | File) -> bytes | Problem | WholeFile | File:
    """The text of a small file that is one text, or its error; any other source unchanged."""
    if isinstance(source, WholeFile) or kind_of(source.path) in KINDS or source.path.suffix in PACKED:
        return source
    if url_of(source.path) is not None:  # a question for its size takes as long as a small file
        return source
    try:
        with readable(source.path), opened(source.path) as file:
            status = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(status.st_mode) and status.st_size < SMALL_BYTES else source
    except CorpusError as problem:
        return Problem(problem)


def read(file: File, skip: bool) -> Iterator[Block]:
    """The blocks of a file; a problem is the last of them."""
    block: Block | None = None
    try:
        for block in KINDS.get(kind_of(file.path), in_text)(file, skip):
            yield block
    except CorpusError as problem:
        if isinstance(block, Stretch):
            yield Stretch(b"", last=True)
        yield Problem(problem)


def in_text(file: File, skip: bool) -> Iterator[Block]:
    """The blocks of one text."""
    with readable(file.path), opened(file.path) as stream:
        yield from in_stream(stream)


def in_stream(stream: BinaryIO) -> Iterator[Block]:
    """The blocks of one text, the rest of an open file."""
    data = None
    while data != b"":
        data = stream.read(BLOCK_BYTES)
        if not isinstance(data, bytes):
            raise WrongDocument(f"expected a file of bytes, not of {type(data).__name__}; open it in binary mode")
        yield Stretch(data, last=not data)


def in_lines(file: File, skip: bool) -> Iterator[Block]:
    """The rows of a `.jsonl` file, or of a part of it."""
    first = 0
    start, stop = file.part or (0, None)
    with file_here(file) as path, readable(file.path), opened(path) as stream:
        for place, data in whole_lines(stream, start, stop, longest=file.longest):
            yield JsonRows(file, data, first, place)
            first += _core.line_feeds(data)


def whole_lines(
    stream: BinaryIO, start: int = 0, stop: int | None = None, *, longest: int | None = None
) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, each with the place of its first byte; the last may be empty.

    Raises:
        OSError: A line is too long.
    """
    held: list[memoryview | bytes] = []
    place, at, size = start, start, 0
    if start:
        stream.seek(start)
    while data := stream.read(BLOCK_BYTES if stop is None else min(BLOCK_BYTES, stop - at)):
        at += len(data)
        end = data.rfind(b"\n") + 1
        refuse_long_row(size + (data.find(b"\n") + 1 or len(data)), longest)
        size = len(data) - end + (0 if end else size)
        held.append(memoryview(data)[: end or None])
        if end:
            block = b"".join(held)
            held = [data[end:]]
            yield place, block
            place += len(block)
        if size > LARGE_BYTES:
            block = b""  # so that one long row is in memory, and not the one before it
            wait_to_be_asked()
    yield place, b"".join(held)


def in_columns(file: File, skip: bool) -> Iterator[Block]:
    """The rows of a Parquet or Arrow file, or of some of its row groups.

    Raises:
        CorpusError: As of `batches`; without `skip`, also of a row that has no text.
    """
    fields = (file.field,) if file.name is None else (file.field, file.name)
    arrow = pyarrow(spelled(file.path))
    with file_here(file) as path:
        for first, (texts, *others) in batches(path, fields, file.part, file.longest):
            for start, stop in cut(texts, BLOCK_BYTES):
                is_long = stop == start + 1 and bytes_of(texts, start) > LARGE_BYTES
                if is_long:
                    wait_to_be_asked()
                own = texts.slice(start, stop - start)
                there = None
                if own.null_count:
                    there = np.asarray(own.is_valid().to_numpy(zero_copy_only=False), np.bool_)
                    if not skip:
                        row, said = first + start + int(np.argmin(there)), no_text(file.field)
                        raise CorpusError(spelled(file.path), row, f"{said}; name the column with field=")
                names = names_of_column(others[0].slice(start, stop - start), arrow) if others else None
                names = names if names is None or there is None else names.kept(there)
                yield TableRows(file, first + start, *flat(own.drop_null()), there, names)
                if is_long:  # the next row is read to learn its length
                    wait_to_be_asked()


KINDS: dict[str, Callable[[File, bool], Iterator[Block]]] = {
    ".jsonl": in_lines,
    ".parquet": in_columns,
    ".arrow": in_columns,
}


@contextmanager
def file_here(file: File) -> Iterator[Path]:
    """A file of this machine that has the bytes that are read of a file, at their places. A copy of a URL is removed behind
    the block. Errors name the file itself.

    Raises:
        CorpusError: It cannot be read.
    """

    def ranges(size: int) -> list[tuple[int, int]] | None:
        if kind_of(file.path) == ".parquet":
            fields = (file.field,) if file.name is None else (file.field, file.name)
            return row_group_ranges(file.path, fields, file.part, size)
        return None if file.part is None else [file.part]

    with ExitStack() as held:
        with readable(file.path):
            path = held.enter_context(input_at(spelled(file.path)).here(ranges))
        try:
            yield path
        except CorpusError as error:
            if error.path != str(path) or path == file.path:
                raise
            raise CorpusError(spelled(file.path), error.record, error.problem) from error.__cause__
