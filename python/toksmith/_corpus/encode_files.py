"""Files of text to ids, a block at a time.

The core reads regular files itself, so that reading and encoding go on together. What it must not wait for (a pipe, the
terminal) and what has to be unpacked is read here and fed to it. Left out: rows of `.jsonl` files (`_corpus/`).
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
from .._base.errors import CorpusError, InvalidOption, ToksmithError
from .._base.paths import missing, regular, spelled, url_of
from .._storage.remote import copied

__all__ = [
    "PACKED",
    "Block",
    "around",
    "blocks",
    "encoded_file",
    "lines",
    "opened",
    "readable",
    "refuse_long",
    "refuse_long_row",
    "refuse_unpacked",
]

Block = tuple[NDArray[np.uint32], NDArray[np.uint64]]
FED_AT_A_TIME = 1 << 24
PACKED = (".gz", ".zst")
# A packed file may unpack to so many bytes, and to so many more for each of its own: far more than texts do.
UNPACKED_FREE, UNPACKED_PER_BYTE = 1 << 28, 1 << 6
# The longest row of a `.jsonl` file.
ROW_BYTES = 1 << 28
EVERYTHING = (1 << 64) - 1


def encoded_file(
    engine: _core.Engine,
    path: str | os.PathLike[str],
    *,
    separator: str | bytes | None,
    special: str | Collection[str],
    threads: int,
) -> Block:
    """The ids of a file and the ends of its documents; see `Tokenizer.encode_file`."""
    between = separator.encode() if isinstance(separator, str) else separator or b""
    if not between and separator is not None:
        raise InvalidOption("separator", separator, "at least one byte, or None for one document")
    found = list(blocks(engine, path, separator=between, special=special, threads=threads))
    if len(found) == 1:
        return found[0]
    before = np.cumsum([0, *(len(ids) for ids, _ in found)], dtype=np.uint64)
    ends = [ends + start for (_, ends), start in zip(found, before, strict=False)]
    return np.concatenate([ids for ids, _ in found]), np.concatenate(ends)


def blocks(
    engine: _core.Engine,
    source: str | os.PathLike[str] | BinaryIO,
    *,
    separator: bytes = b"",
    special: str | Collection[str],
    threads: int,
    limit: int = EVERYTHING,
) -> Iterator[Block]:
    """The ids of a file or of an open binary stream in order, each block with the ends of the documents that end in it.

    Args:
        limit: About how many bytes of a regular file make a block.
    Raises:
        CorpusError: The source cannot be read, or a file changes meanwhile.
    """
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        with readable(path):
            is_regular = regular(path)
        if is_regular and not path.endswith(PACKED):
            stream = _core.TextStream(engine, path, separator, special)
            while not stream.finished:
                yield stream.read(limit, threads)
            return
        with readable(path), opened(path) as file:
            yield from fed(_core.TextStream(engine, None, separator, special), file, threads)
        return
    yield from fed(_core.TextStream(engine, None, separator, special), source, threads)


def fed(stream: _core.TextStream, source: BinaryIO, threads: int) -> Iterator[Block]:
    """The blocks of a stream that gets the bytes of an open source."""
    while not stream.finished:
        data = source.read(FED_AT_A_TIME)
        if not isinstance(data, bytes):
            raise TypeError(f"expected a stream of bytes, not of {type(data).__name__}; open it in binary mode")
        stream.feed(data, not data)
        yield stream.read(EVERYTHING, threads)


def around(
    block: Block, first: NDArray[np.uint32], last: NDArray[np.uint32], which: NDArray[np.bool_] | None = None
) -> Block:
    """A block with the ids `first` (one or none) before and `last` (one or none) behind each document that ends in it.

    Args:
        block: The ids, and where documents end. With `first`, all of its documents begin in it.
        which: The documents to put them around; None for all.

    The core does it; the numpy below is its slow twin.
    """
    ids, ends = block
    more = len(first) + len(last)
    if not more:
        return block
    if os.environ.get("TOKSMITH_SLOW") != "1":
        one, other = (int(each[0]) if len(each) else None for each in (first, last))
        return _core.around(ids, ends, one, other, which)
    starts = np.concatenate([[0], ends[:-1].astype(np.intp)]) if len(ends) else np.empty(0, np.intp)
    edges = ([starts] if len(first) else []) + ([ends.astype(np.intp)] if len(last) else [])
    # A document's start comes before its end, and both before those of the next, also where documents are empty.
    places = np.stack(edges, axis=1)
    values = np.broadcast_to(np.concatenate([first, last]), places.shape)
    if which is not None:
        places, values = places[which], values[which]
    longer: NDArray[np.uint32] = np.insert(ids, places.ravel(), values.ravel())
    added = np.arange(1, len(ends) + 1) if which is None else np.cumsum(which)
    return longer, ends + (added * more).astype(np.uint64)


@contextmanager
def readable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turns what goes wrong in reading a file into CorpusError."""
    try:
        yield
    except ToksmithError:
        raise
    except (OSError, EOFError, ValueError) as problem:
        said = getattr(problem, "strerror", None) or problem
        if getattr(problem, "errno", None) == errno.ENOENT and url_of(path) is None:
            said = missing(path)
        raise CorpusError(spelled(path), None, f"cannot be read: {said}") from problem
    except MemoryError as problem:
        raise CorpusError(os.fsdecode(path), None, "cannot be read: there is not enough memory for it") from problem


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """The bytes of a file, unpacked. Of a URL, those of a copy, which has no name when this returns.

    Raises:
        OSError: It is a pipe or a device, or cannot be opened; in reading, also where it unpacks to far more than it is.
    """
    name = os.fspath(path)
    with ExitStack() as held:
        if (url := url_of(path)) is not None:
            name = os.fspath(held.enter_context(copied(url)))
        return opened_here(name)


def opened_here(name: str) -> BinaryIO:
    """As `opened`, of a file of this machine."""
    regular(name)
    if not name.endswith(PACKED):
        return open(name, "rb")
    if not os.path.getsize(name):
        raise OSError("it is empty, but a packed file of no text has a header: it was probably cut short")
    return io.BufferedReader(Unpacked(name), 1 << 17)


def lines(stream: BinaryIO) -> Iterator[bytes]:
    """The rows of a file of rows.

    Raises:
        OSError: One is too long.
    """
    while line := stream.readline(ROW_BYTES + 1):
        refuse_long_row(len(line))
        yield line


def refuse_long_row(size: int, longest: int | None = None) -> None:
    """Raises OSError for a row of more bytes than one may have, or than a limit of memory allows."""
    if size > ROW_BYTES:
        raise OSError(f"a row has more than {ROW_BYTES} bytes; put a line feed behind each row")
    refuse_long(size, longest, "a row")


def refuse_long(size: int, longest: int | None, what: str) -> None:
    """Raises OSError for something of more bytes than a limit of memory allows."""
    if longest is not None and size > longest:
        raise OSError(
            f"{what} has more than {longest:,} bytes, the most that max_memory allows with these threads; "
            "raise max_memory, or use fewer threads"
        )


def refuse_unpacked(unpacked: int, size: int, what: str, advice: str) -> None:
    """Raises OSError for a part of a table that unpacks to more bytes than a part of a file of `size` bytes may."""
    most = UNPACKED_FREE + UNPACKED_PER_BYTE * size
    if unpacked > most:
        raise OSError(f"{what} unpacks to {unpacked:,} bytes; expected at most {most:,}. Write the file with {advice}")


class Unpacked(io.RawIOBase):
    """The bytes of a packed file, which are no more than a file of its size can hold of text."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._packed: _core.PackedFile | None = _core.PackedFile(path)
        self._most = self._left = UNPACKED_FREE + UNPACKED_PER_BYTE * os.stat(path).st_size

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fills the buffer; it is not full at the end only."""
        if self._packed is None:
            raise ValueError("the file is closed")
        view = memoryview(buffer).cast("B")
        data = self._packed.read(len(view))
        self._left -= len(data)
        if self._left < 0:
            problem = f"it unpacks to more than {self._most} bytes, which no text of its size does"
            raise OSError(f"{problem}; if it is one, unpack it first")
        view[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        """All that is left."""
        return b"".join(iter(lambda: self.read(FED_AT_A_TIME) or b"", b""))

    def close(self) -> None:
        """Closes the file."""
        self._packed = None
        super().close()
