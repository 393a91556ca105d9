"""Files of text to ids, a block at a time.

The core reads regular files itself, so that reading and encoding go on together. What it must not wait for (a pipe, the
terminal) and what has to be unpacked is read here and fed to it. Left out: rows of `.jsonl` files (`_corpus/`).
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._errors import CorpusError, InvalidOption, ToksmithError
from ._paths import regular

__all__ = ["PACKED", "Block", "blocks", "encoded_file", "lines", "opened", "readable", "refuse_long_row"]

Block = tuple[NDArray[np.uint32], NDArray[np.uint64]]
FED_AT_A_TIME = 1 << 24
PACKED = (".gz", ".zst")
# What so many packed bytes unpack to, 128 KiB from four at the worst, must fit in memory.
UNPACKED_AT_A_TIME = 1 << 12
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


@contextmanager
def readable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turns what goes wrong in reading a file into CorpusError."""
    try:
        yield
    except ToksmithError:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as problem:
        raise CorpusError(os.fsdecode(path), None, f"cannot be read: {problem}") from problem
    except MemoryError as problem:
        raise CorpusError(os.fsdecode(path), None, "cannot be read: there is not enough memory for it") from problem


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """The bytes of a file, unpacked.

    Raises:
        CorpusError: It is packed with zstd, and the library for that is not installed.
        OSError: It is a pipe or a device, or cannot be opened; in reading, also where it unpacks to far more than it is.
    """
    name = os.fspath(path)
    regular(name)
    if not name.endswith(PACKED):
        return open(name, "rb")
    gz = name.endswith(".gz")
    raw = cast("io.RawIOBase", gzip.open(name)) if gz else Zstd(name)  # noqa: SIM115 - closed with what unpacks it
    return cast("BinaryIO", io.BufferedReader(Unpacked(raw, os.stat(name).st_size), 1 << 17))


def lines(stream: BinaryIO) -> Iterator[bytes]:
    """The rows of a file of rows.

    Raises:
        OSError: One is too long.
    """
    while line := stream.readline(ROW_BYTES + 1):
        refuse_long_row(len(line))
        yield line


def refuse_long_row(size: int) -> None:
    """Raises OSError for a row of more bytes than one may have."""
    if size > ROW_BYTES:
        raise OSError(f"a row has more than {ROW_BYTES} bytes; put a line feed behind each row")


class Unpacked(io.RawIOBase):
    """The bytes of a packed file, which are no more than a file of its size can hold of text."""

    def __init__(self, raw: io.RawIOBase, size: int) -> None:
        super().__init__()
        self._raw, self._left = raw, UNPACKED_FREE + UNPACKED_PER_BYTE * size
        self._most = self._left

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fills as much of the buffer as is there at once; 0 at the end."""
        size = self._raw.readinto(buffer) or 0
        self._left -= size
        if self._left < 0:
            problem = f"it unpacks to more than {self._most} bytes, which no text of its size does"
            raise OSError(f"{problem}; if it is one, unpack it first")
        return size

    def readall(self) -> bytes:
        """All that is left."""
        return b"".join(iter(lambda: self.read(FED_AT_A_TIME) or b"", b""))

    def close(self) -> None:
        """Closes the file."""
        self._raw.close()
        super().close()


class Zstd(io.RawIOBase):
    """The bytes of a `.zst` file, of any number of frames. A file that ends inside a frame is an error, as in `gzip`."""

    def __init__(self, path: str) -> None:
        super().__init__()
        try:
            import zstandard
        except ImportError as missing:
            problem = ".zst files need the library zstandard: pip install 'toksmith[zstd]'"
            raise CorpusError(path, None, problem) from missing
        self._library = zstandard
        self._file = open(path, "rb")  # noqa: SIM115 - closed with this
        self._frame: Any = None
        self._packed, self._left = b"", io.BytesIO()

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fills as much of the buffer as is there at once; 0 at the end."""
        while not (size := self._left.readinto(buffer)):
            self._packed = self._packed or self._file.read(UNPACKED_AT_A_TIME)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("the file ends inside of a zstd frame; it is cut short")
                return 0
            self._unpack()
        return size

    def _unpack(self) -> None:
        frame = self._frame or self._library.ZstdDecompressor().decompressobj()
        try:
            self._left = io.BytesIO(frame.decompress(self._packed))
        except self._library.ZstdError as problem:
            raise OSError(str(problem)) from problem
        self._packed = frame.unused_data if frame.eof else b""
        self._frame = None if frame.eof else frame

    def close(self) -> None:
        """Closes the file."""
        if hasattr(self, "_file"):
            self._file.close()
        super().close()
