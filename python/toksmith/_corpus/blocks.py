"""A corpus as blocks of a few MiB for the core, in document order, the same for any number of threads.

Files are prefetched and unpacked, each on its own thread, while earlier blocks are counted. A bad file or row stops the
walk, or is skipped with a warning in the log.
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
from .._base.paths import path_or_url, url_of
from .._base.wording import number_of
from .._render.streams import LOG
from .._storage.remote import input_at
from ..errors import CorpusError
from . import Corpus, File, WholeFile, corpus_sources, kind_of
from .encode_files import PACKED, open_unpacked, refuse_long_row, wrap_corpus_errors
from .names import RowNames, names_of_column
from .parquet import (
    flatten_column,
    import_pyarrow,
    missing_text_problem,
    row_group_ranges,
    row_ranges,
    table_batches,
    text_size,
)
from .prefetch import prefetch_values, wait_for_demand

BLOCK_BYTES = 4 << 20
# A block of more bytes holds one long document.
LARGE_BYTES = 2 * BLOCK_BYTES
# For texts in memory. Threads start anew for each block, so these blocks are larger.
BATCH_BYTES, BATCH_DOCUMENTS = 4 * BLOCK_BYTES, 40_000
# Files of fewer bytes are not prefetched.
SMALL_BYTES = 1 << 18


@dataclass
class Skipped:
    """Counts skipped files and rows, if skipping is `allowed`."""

    allowed: bool
    count: int = 0

    def says(self, problem: CorpusError, rows: int = 1) -> None:
        """Logs an error and counts its rows, or raises it. A missing library always raises: all files of a kind need it."""
        if not self.allowed or isinstance(problem.__cause__, ImportError):
            raise problem
        self.count += rows
        LOG.warning("left out: %s", problem)


@dataclass(frozen=True)
class Texts:
    """Documents in memory; `places` has the file and the record of each, as in `Document`."""

    texts: list[str | bytes]
    places: list[tuple[str | None, int | None]]

    @property
    def size(self) -> int:
        """The approximate bytes."""
        return sum(map(len, self.texts))

    def count(self, counter: _core.Counter, skipped: Skipped, threads: int) -> None:
        counter.add(self.texts, threads)


@dataclass(frozen=True)
class JsonRows:
    """Whole lines of a `.jsonl` file.

    Attributes: `file`; `lines`; `first`, the number of the first line in the file, or in the part of it that is read; `start`,
    the byte offset of the first line.
    """

    file: File
    lines: bytes
    first: int = 0
    start: int = 0

    @property
    def size(self) -> int:
        return len(self.lines)

    def count(self, counter: _core.Counter, skipped: Skipped, threads: int) -> None:
        file, starts = self.file, list[NDArray[np.int64]]()

        def refuse(line: int, problem: str) -> None:
            if file.part is None or not file.part[0]:
                skipped.says(CorpusError(path_or_url(file.path), self.first + line, problem))
                return
            # The number of rows before a part is unknown, so the error names a byte.
            if not starts:
                feeds = np.flatnonzero(np.frombuffer(self.lines, np.uint8) == ord("\n"))
                starts.append(np.concatenate([[0], feeds + 1]))
            byte = self.start + int(starts[0][line])
            skipped.says(CorpusError(path_or_url(file.path), None, f"the row at byte {byte:,} {problem}"))

        counter.add_rows(self.lines, file.field, refuse, threads)


@dataclass(frozen=True)
class TableRows:
    """Rows of a Parquet or Arrow file from `first` on.

    Attributes: `blob`, the concatenated texts, and `ends`, the end of each; `there`, whether each row has a text, None if
    all rows have; `names` of the rows with a text, if the file is read with names.
    """

    file: File
    first: int
    blob: bytes
    ends: NDArray[np.uint64]
    there: NDArray[np.bool_] | None = None
    names: RowNames | None = None

    @property
    def size(self) -> int:
        """The bytes of the texts."""
        return len(self.blob)

    def count(self, counter: _core.Counter, skipped: Skipped, threads: int) -> None:
        counter.add_column(self.blob, self.ends, threads)
        if self.there is not None:
            missing = int(len(self.there) - self.there.sum())
            reason = f"a text is missing in {number_of(missing, 'row')}"
            skipped.says(CorpusError(path_or_url(self.file.path), None, reason), missing)


@dataclass(frozen=True)
class TextChunk:
    """The next bytes of a document that is a file; `last` marks its end."""

    data: bytes
    last: bool

    def count(self, counter: _core.Counter, skipped: Skipped, threads: int) -> None:
        counter.feed(self.data, self.last, threads)


@dataclass(frozen=True)
class Problem:
    """The error of a file that cannot be read further."""

    problem: CorpusError

    def count(self, counter: _core.Counter, skipped: Skipped, threads: int) -> None:
        skipped.says(self.problem)


Block = Texts | JsonRows | TableRows | TextChunk | Problem


def corpus_blocks(corpus: Corpus, threads: int, *, skip: bool) -> Iterator[Block]:
    """The blocks of a corpus, in order; prefetches up to `threads` files. `skip`: leave out table rows without text."""
    for block in blocks_and_files(corpus, threads, skip=skip):
        if isinstance(block, WholeFile):
            yield from stream_blocks(cast("BinaryIO", block.source))
        else:
            yield block


def blocks_and_files(corpus: Corpus, threads: int, *, skip: bool, whole: bool = False) -> Iterator[Block | WholeFile]:
    """Like `corpus_blocks`, but open files are not read yet; with `whole`, neither are files of one text, unless they are small."""
    pending: deque[Iterator[Block | WholeFile]] = deque()
    stop = Event()
    try:
        for source in group_sources(corpus):
            if isinstance(source, WholeFile):  # the corpus may close an open file before it yields the next
                while pending:
                    yield from pending.popleft()
                yield source
            elif isinstance(source, File):
                text = whole and kind_of(source.path) not in KINDS
                pending.append(
                    iter([WholeFile(source.path)]) if text else prefetch_values(read_blocks(source, skip), stop)
                )
            else:
                pending.append(iter([source]))
            while len(pending) > threads or (pending and isinstance(source, Texts) and len(pending) == 1):
                yield from pending.popleft()
        while pending:
            yield from pending.popleft()
    finally:
        stop.set()


def group_sources(corpus: Corpus) -> Iterator[Texts | Problem | WholeFile | File]:
    """The sources of a corpus, with texts in batches; small files of one text count as texts."""
    if type(corpus) is list and {*map(type, corpus)} <= {str, bytes}:
        yield from batch_text_list(corpus)
        return
    batch = Texts([], [])
    size = 0
    for number, source in enumerate(corpus_sources(corpus)):
        text = source if isinstance(source, (str, bytes)) else read_small_text(source)
        if isinstance(text, (str, bytes)):
            batch.texts.append(text)
            batch.places.append(document_place(source, None if isinstance(corpus, (str, bytes)) else number))
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


def batch_text_list(texts: list[Any]) -> Iterator[Texts]:
    """The batches of a list of texts; the same as from `group_sources`, which takes longer per text."""
    first = size = 0
    for end, length in enumerate(map(len, texts), 1):
        size += length
        if size > BATCH_BYTES or end - first == BATCH_DOCUMENTS or end == len(texts):
            yield Texts(texts[first:end], [(None, number) for number in range(first, end)])
            first, size = end, 0


def document_place(source: str | bytes | WholeFile | File, number: int | None) -> tuple[str | None, int | None]:
    """The file and the record of a text."""
    return (path_or_url(source.path), None) if isinstance(source, File) else (None, number)


def read_small_text(source: WholeFile | File) -> bytes | Problem | WholeFile | File:
    """The text of a small file of one text, or its error; any other source unchanged."""
    if isinstance(source, WholeFile) or kind_of(source.path) in KINDS or source.path.suffix in PACKED:
        return source
    if url_of(source.path) is not None:  # a request for its size takes as long as reading a small file
        return source
    try:
        with wrap_corpus_errors(source.path), open_unpacked(source.path) as file:
            status = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(status.st_mode) and status.st_size < SMALL_BYTES else source
    except CorpusError as problem:
        return Problem(problem)


def read_blocks(file: File, skip: bool) -> Iterator[Block]:
    """The blocks of a file; an error is the last block."""
    block: Block | None = None
    try:
        for block in KINDS.get(kind_of(file.path), text_blocks)(file, skip):
            yield block
    except CorpusError as problem:
        if isinstance(block, TextChunk):
            yield TextChunk(b"", last=True)
        yield Problem(problem)


def text_blocks(file: File, skip: bool) -> Iterator[Block]:
    with wrap_corpus_errors(file.path), open_unpacked(file.path) as stream:
        yield from stream_blocks(stream)


def stream_blocks(stream: BinaryIO) -> Iterator[Block]:
    """The blocks of one text: the rest of an open file."""
    data = None
    while data != b"":
        data = stream.read(BLOCK_BYTES)
        if not isinstance(data, bytes):
            raise WrongDocument(f"expected a file of bytes, not of {type(data).__name__}; open it in binary mode")
        yield TextChunk(data, last=not data)


def line_blocks(file: File, skip: bool) -> Iterator[Block]:
    """The rows of a `.jsonl` file, or of a part of it."""
    first = 0
    start, stop = file.part or (0, None)
    with local_file(file) as path, wrap_corpus_errors(file.path), open_unpacked(path) as stream:
        for place, data in whole_lines(stream, start, stop, longest=file.longest):
            yield JsonRows(file, data, first, place)
            first += _core.line_feeds(data)


def whole_lines(
    stream: BinaryIO, start: int = 0, stop: int | None = None, *, longest: int | None = None
) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, each with the byte offset of its first line; the last block can be empty."""
    parts: list[memoryview | bytes] = []
    place, at, size = start, start, 0
    if start:
        stream.seek(start)
    while data := stream.read(BLOCK_BYTES if stop is None else min(BLOCK_BYTES, stop - at)):
        at += len(data)
        end = data.rfind(b"\n") + 1
        refuse_long_row(size + (data.find(b"\n") + 1 or len(data)), longest)
        size = len(data) - end + (0 if end else size)
        parts.append(memoryview(data)[: end or None])
        if end:
            block = b"".join(parts)
            parts = [data[end:]]
            yield place, block
            place += len(block)
        if size > LARGE_BYTES:
            block = b""  # free the block before the long row
            wait_for_demand()
    yield place, b"".join(parts)


def table_blocks(file: File, skip: bool) -> Iterator[Block]:
    """The rows of a Parquet or Arrow file, or of some row groups. Without `skip`, a row without a text is an error."""
    fields = (file.field,) if file.name is None else (file.field, file.name)
    arrow = import_pyarrow(path_or_url(file.path))
    with local_file(file) as path:
        for first, (texts, *others) in table_batches(path, fields, file.part, file.longest):
            for start, stop in row_ranges(texts, BLOCK_BYTES):
                is_long = stop == start + 1 and text_size(texts, start) > LARGE_BYTES
                if is_long:
                    wait_for_demand()
                chunk = texts.slice(start, stop - start)
                has_text = None
                if chunk.null_count:
                    has_text = np.asarray(chunk.is_valid().to_numpy(zero_copy_only=False), np.bool_)
                    if not skip:
                        row, problem = first + start + int(np.argmin(has_text)), missing_text_problem(file.field)
                        raise CorpusError(path_or_url(file.path), row, f"{problem}; name the column with field=")
                names = names_of_column(others[0].slice(start, stop - start), arrow) if others else None
                names = names if names is None or has_text is None else names.kept(has_text)
                yield TableRows(file, first + start, *flatten_column(chunk.drop_null()), has_text, names)
                if is_long:  # the next row is read to learn its length
                    wait_for_demand()


KINDS: dict[str, Callable[[File, bool], Iterator[Block]]] = {
    ".jsonl": line_blocks,
    ".parquet": table_blocks,
    ".arrow": table_blocks,
}


@contextmanager
def local_file(file: File) -> Iterator[Path]:
    """A local file with the bytes of `file` that are read, at their places. A copy of a URL is removed after the block.
    Errors name the original file.
    """

    def ranges(size: int) -> list[tuple[int, int]] | None:
        if kind_of(file.path) == ".parquet":
            fields = (file.field,) if file.name is None else (file.field, file.name)
            return row_group_ranges(file.path, fields, file.part, size)
        return None if file.part is None else [file.part]

    with ExitStack() as stack:
        with wrap_corpus_errors(file.path):
            size = None if file.facts is None else file.facts.bytes
            path = stack.enter_context(input_at(path_or_url(file.path)).local_copy(ranges, size))
        try:
            yield path
        except CorpusError as error:
            if error.path != str(path) or path == file.path:
                raise
            raise CorpusError(path_or_url(file.path), error.record, error.problem) from error.__cause__
