"""Encodes files of text to ids, a block at a time.

The core reads regular files itself, so that reading and encoding overlap. Pipes and terminals, which the core must not wait
for, and packed files are read here and fed to it. Left out: rows of `.jsonl` files (`columns.py`).
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base.paths import check_regular, missing_file_message, path_or_url, url_of, utf16_warning
from .._render.streams import LOG
from .._storage.remote import temporary_copy
from ..errors import CorpusError, InvalidOption, ToksmithError

Block = tuple[NDArray[np.uint32], NDArray[np.uint64]]
FED_AT_A_TIME = 1 << 24
PACKED = (".gz", ".zst")
# A packed file may unpack to FREE bytes, plus PER_BYTE bytes for each packed byte: far more than texts do.
UNPACKED_FREE, UNPACKED_PER_BYTE = 1 << 28, 1 << 6
# The most bytes of a row of a `.jsonl` file.
ROW_BYTES = 1 << 28
EVERYTHING = (1 << 64) - 1


def encode_text_file(
    engine: _core.Engine,
    path: str | os.PathLike[str],
    *,
    separator: str | bytes | None,
    special: str | Collection[str],
    threads: int,
) -> Block:
    """The ids of a file and the ends of its documents; see `Tokenizer.encode_file`."""
    separator_bytes = separator.encode() if isinstance(separator, str) else separator or b""
    if not separator_bytes and separator is not None:
        raise InvalidOption("separator", separator, "at least one byte, or None for one document")
    parts = list(iter_encoded_blocks(engine, path, separator=separator_bytes, special=special, threads=threads))
    if len(parts) == 1:
        return parts[0]
    before = np.cumsum([0, *(len(ids) for ids, _ in parts)], dtype=np.uint64)
    ends = [ends + start for (_, ends), start in zip(parts, before, strict=False)]
    return np.concatenate([ids for ids, _ in parts]), np.concatenate(ends)


def iter_encoded_blocks(
    engine: _core.Engine,
    source: str | os.PathLike[str] | BinaryIO,
    *,
    separator: bytes = b"",
    special: str | Collection[str],
    threads: int,
    limit: int = EVERYTHING,
) -> Iterator[Block]:
    """The ids of a source in blocks with the ends of documents; `limit`: about the bytes of a regular file's block."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        with wrap_corpus_errors(path):
            is_regular = check_regular(path)
        if is_regular and not path.endswith(PACKED):
            stream = _core.TextStream(engine, path, separator, special)
            while not stream.finished:
                yield stream.read(limit, threads)
            return
        with wrap_corpus_errors(path), open_unpacked(path) as file:
            yield from feed_stream(_core.TextStream(engine, None, separator, special), file, threads)
        return
    yield from feed_stream(_core.TextStream(engine, None, separator, special), source, threads)


def feed_stream(stream: _core.TextStream, source: BinaryIO, threads: int) -> Iterator[Block]:
    while not stream.finished:
        data = source.read(FED_AT_A_TIME)
        if not isinstance(data, bytes):
            raise TypeError(f"expected a stream of bytes, not of {type(data).__name__}; open it in binary mode")
        stream.feed(data, not data)
        yield stream.read(EVERYTHING, threads)


def wrap_documents(
    block: Block, first: NDArray[np.uint32], last: NDArray[np.uint32], which: NDArray[np.bool_] | None = None
) -> Block:
    """A block with the ids `first` and `last` (one or none each) around documents that end in it (`which`; None: all).

    With `first`, all of its documents begin in it. The core does the work; the numpy code is its slow twin.
    """
    ids, ends = block
    extra = len(first) + len(last)
    if not extra:
        return block
    if os.environ.get("TOKSMITH_SLOW") != "1":
        first_id, last_id = (int(edge[0]) if len(edge) else None for edge in (first, last))
        return _core.around(ids, ends, first_id, last_id, which)
    starts = np.concatenate([[0], ends[:-1].astype(np.intp)]) if len(ends) else np.empty(0, np.intp)
    edges = ([starts] if len(first) else []) + ([ends.astype(np.intp)] if len(last) else [])
    # A document's start comes before its end, and both before the next document's, even for empty documents.
    places = np.stack(edges, axis=1)
    values = np.broadcast_to(np.concatenate([first, last]), places.shape)
    if which is not None:
        places, values = places[which], values[which]
    longer: NDArray[np.uint32] = np.insert(ids, places.ravel(), values.ravel())
    added = np.arange(1, len(ends) + 1) if which is None else np.cumsum(which)
    return longer, ends + (added * extra).astype(np.uint64)


@contextmanager
def wrap_corpus_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except ToksmithError:
        raise
    except (OSError, EOFError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        if getattr(problem, "errno", None) == errno.ENOENT and url_of(path) is None:
            reason = missing_file_message(path)
        raise CorpusError(path_or_url(path), None, f"cannot be read: {reason}") from problem
    except MemoryError as problem:
        raise CorpusError(os.fsdecode(path), None, "cannot be read: there is not enough memory for it") from problem


def open_unpacked(path: str | os.PathLike[str], size: int | None = None) -> BinaryIO:
    """Opens a file for its unpacked bytes. A URL is copied first; the copy has no name any more when this returns. If the
    `size` is given, the store is not asked for it."""
    name = os.fspath(path)
    with ExitStack() as stack:
        if (url := url_of(path)) is not None:
            name = os.fspath(stack.enter_context(temporary_copy(url, size=size)))
        return open_local_unpacked(name)


def open_local_unpacked(name: str) -> BinaryIO:
    """Like `open_unpacked`, for a local file."""
    check_regular(name)
    if not name.endswith(PACKED):
        file = open(name, "rb")  # noqa: SIM115 - the caller closes it
        if file.seekable():  # not a pipe that the caller has open
            if warning := utf16_warning(name, file.raw.read(2) or b""):
                LOG.warning("%s", warning)
            file.raw.seek(0, os.SEEK_SET)
        return file
    if not os.path.getsize(name):
        raise OSError("it is empty, but even a packed empty text has a header: the file was probably cut short")
    return io.BufferedReader(UnpackedFile(name), 1 << 17)


def iter_rows(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a file of rows."""
    while line := stream.readline(ROW_BYTES + 1):
        refuse_long_row(len(line))
        yield line


def refuse_long_row(size: int, longest: int | None = None) -> None:
    """Raises OSError for a row of more than `ROW_BYTES` bytes, or of more than `longest`, which `max_memory` allows."""
    if size > ROW_BYTES:
        raise OSError(f"a row has more than {ROW_BYTES} bytes; put a line feed after each row")
    refuse_long(size, longest, "a row")


def refuse_long(size: int, longest: int | None, what: str) -> None:
    """Raises OSError if `what` has more than `longest` bytes, the most that `max_memory` allows."""
    if longest is not None and size > longest:
        raise OSError(
            f"{what} has more than {longest:,} bytes, the most that max_memory allows with these threads; "
            "raise max_memory, or use fewer threads"
        )


def refuse_unpacked(unpacked: int, size: int, what: str, advice: str) -> None:
    """Raises OSError if a part of a table unpacks to more than the limit for a file of `size` bytes."""
    most = UNPACKED_FREE + UNPACKED_PER_BYTE * size
    if unpacked > most:
        raise OSError(f"{what} unpacks to {unpacked:,} bytes; expected at most {most:,}. Write the file with {advice}")


class UnpackedFile(io.RawIOBase):
    """The unpacked bytes of a packed file, limited by its size."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._packed: _core.PackedFile | None = _core.PackedFile(path)
        self._most = self._left = UNPACKED_FREE + UNPACKED_PER_BYTE * os.stat(path).st_size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fills the buffer; only at the end of the file is it not full."""
        if self._packed is None:
            raise ValueError("the file is closed")
        view = memoryview(buffer).cast("B")
        data = self._packed.read(len(view))
        self._left -= len(data)
        if self._left < 0:
            problem = f"it unpacks to more than {self._most} bytes, far more than a text of its packed size"
            raise OSError(f"{problem}; if it is a text, unpack it first")
        view[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(FED_AT_A_TIME) or b"", b""))

    def close(self) -> None:
        self._packed = None
        super().close()
