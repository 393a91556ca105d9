"""Files of text to ids, a block at a time.

The core reads regular files itself, so that reading and encoding go on together. What it must not wait for (a pipe, the
terminal) and what has to be unpacked is read here and fed to it. Left out: rows of `.jsonl` files (`_corpus.py`).
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._errors import CorpusError, InvalidOption, ToksmithError

__all__ = ["Block", "blocks", "encoded_file", "readable"]

Block = tuple[NDArray[np.uint32], NDArray[np.uint64]]
FED_AT_A_TIME = 1 << 24
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
            regular = stat.S_ISREG(os.stat(path).st_mode)
        if regular and not path.endswith(".gz"):
            stream = _core.TextStream(engine, path, separator, special)
            while not stream.finished:
                yield stream.read(limit, threads)
            return
        with readable(path), gzip.open(path) if path.endswith(".gz") else open(path, "rb") as opened:
            yield from fed(_core.TextStream(engine, None, separator, special), opened, threads)
        return
    yield from fed(_core.TextStream(engine, None, separator, special), source, threads)


def fed(stream: _core.TextStream, source: BinaryIO | gzip.GzipFile, threads: int) -> Iterator[Block]:
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
