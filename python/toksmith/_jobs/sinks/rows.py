"""What sinks are given, and what a sink is: a row of `SINKS` (`__init__.py`) with a class of these methods."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import JobError
from ..._base.paths import open_guarded

if TYPE_CHECKING:
    from ..._storage.folders import Folder
    from ..written import Receipt, ShardFiles, WrittenFile

__all__ = [
    "AT_A_TIME",
    "IDS_AT_A_TIME",
    "UNREADABLE",
    "DocumentLengths",
    "DoesNotFit",
    "Sink",
    "SinkRow",
    "SinkRows",
    "SinkSpec",
    "lengths_in",
    "lengths_of",
    "ragged",
    "streamed",
]

AT_A_TIME = 1 << 16  # documents
# What reading a damaged file of some format may raise.
UNREADABLE = (OSError, ValueError, KeyError, EOFError, IndexError, struct.error, zlib.error)
IDS_AT_A_TIME = 1 << 21


class DoesNotFit(JobError):
    """The documents do not fit the format; another format may have room for them."""


class SinkRows(NamedTuple):
    """Some documents: those of the ids `ids[ends[i - 1]:ends[i]]`; or packed rows, with the lengths of their pieces. Ids behind
    the last end are of a long document that goes on in the next rows, and ends there or later.

    Attributes: `ids` in the type of the sink; `ends` uint64; `names` of the documents by `id_field`; `pieces` of packed
    rows, else None.
    """

    ids: NDArray[Any]
    ends: NDArray[np.uint64]
    names: Sequence[str | None]
    pieces: Sequence[Sequence[int]] | None = None


class SinkSpec(NamedTuple):
    """What a sink knows of its job.

    Attributes: `number` of its shard, of `shards`; `dtype` of the ids; `vocab_size`; `tokenizer`, the first digits of its
    fingerprint; `named` whether documents have ids, `packed` whether they are packed rows; `last` the id that ends each
    document, or None.
    """

    number: int
    shards: int
    dtype: str
    vocab_size: int
    tokenizer: str
    named: bool
    packed: bool
    last: int | None

    @property
    def stem(self) -> str:
        """How the names of the shard's files begin."""
        return f"{self.number:05d}"


class Sink(Protocol):
    """The files of a shard in some format. They get their names by the caller, when `close` has completed them."""

    def add(self, rows: SinkRows) -> None:
        """Writes documents behind those written before."""

    def close(self) -> None:
        """Completes the files."""


class SinkRow(NamedTuple):
    """A format of files of ids.

    Attributes: `name`; `what` it is, for help; `dtypes` that it has, and `dtype` the one for a size of vocabulary; `open`
    makes the sink of a shard; `finish` completes the folder and says which files are the result, None if those of the
    shards are; `stream` gives the documents of a shard back, many at a time, in bounded memory: None if the files do not tell
    them apart; `parts` is the folder of files that `finish` replaces; `libraries` whose version decides bytes; `packs` whether it holds packed rows, `names`
    whether it holds names of documents, `needs_last` whether each document must end in the token of `append`;
    `batched` whether bytes depend on how many documents are added at once; `lengths` reads only how long the documents of a
    shard are, many at a time: None where `stream` must do.
    """

    name: str
    what: str
    dtypes: tuple[str, ...]
    dtype: Callable[[int], str]
    open: Callable[[ShardFiles, SinkSpec], Sink]
    finish: Callable[[Folder, Sequence[Receipt], SinkSpec], list[WrittenFile]] | None = None
    stream: Callable[[Path, SinkSpec], Iterator[SinkRows]] | None = None
    parts: str | None = None
    libraries: tuple[str, ...] = ()
    packs: bool = False
    names: bool = False
    needs_last: bool = False
    batched: bool = False
    lengths: Callable[[Path, SinkSpec], Iterator[NDArray[np.int64]]] | None = None

    @property
    def apart(self) -> bool:
        """Whether the files tell documents apart, so that they can be read back."""
        return self.stream is not None

    def rows(self, folder: Path, spec: SinkSpec) -> Iterator[SinkRows]:
        """The documents of a shard, many at a time; nothing if the files do not tell them apart."""
        return iter(()) if self.stream is None else self.stream(folder, spec)

    def documents(self, folder: Path, spec: SinkSpec) -> Iterator[NDArray[Any]]:
        """The ids of each document of a shard."""
        for rows in self.rows(folder, spec):
            yield from ragged(rows.ids, rows.ends)

    def lengths_in(self, folder: Path, spec: SinkSpec) -> Iterator[NDArray[np.int64]]:
        """How long the documents of a shard are, many at a time."""
        if self.lengths is not None:
            return self.lengths(folder, spec)
        return (lengths_of(rows.ends) for rows in self.rows(folder, spec))


def lengths_of(ends: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How long the documents are that end there."""
    places = ends.astype(np.int64)
    lengths: NDArray[np.int64] = places - np.concatenate([np.zeros(1, np.int64), places])[: len(places)]
    return lengths


class DocumentLengths:
    """How long documents are, some of which come in parts."""

    def __init__(self) -> None:
        self._begun = 0

    def of(self, count: int, ends: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The lengths of the documents that end in the next `count` ids."""
        lengths = lengths_of(ends)
        left = count
        if len(lengths):
            lengths[0] += self._begun
            left, self._begun = count - int(ends[-1]), 0
        self._begun += left
        return lengths


def lengths_in(path: Path, dtype: str, *, offset: int = 0) -> Iterator[NDArray[np.int64]]:
    """The lengths of documents, by a file of their ends."""
    last = 0
    with open_guarded(path) as file:
        file.seek(offset)
        while len(ends := np.fromfile(file, dtype, AT_A_TIME).astype(np.int64)):
            yield np.diff(ends, prepend=last)
            last = int(ends[-1])


def streamed(path: Path, dtype: str, lengths: Iterable[NDArray[np.int64]], *, offset: int = 0) -> Iterator[SinkRows]:
    """The documents of a file of ids, a few MiB at a time; a longer document comes alone.

    Raises:
        ValueError: The file has fewer ids.
    """
    with open_guarded(path) as file:
        file.seek(offset)
        for some in lengths:
            ends = np.cumsum(some)
            start = 0
            while start < len(ends):
                before = int(ends[start - 1]) if start else 0
                stop = max(int(np.searchsorted(ends, before + IDS_AT_A_TIME, "right")), start + 1)
                ids = np.fromfile(file, np.dtype(dtype).newbyteorder("<"), int(ends[stop - 1]) - before)
                if len(ids) != ends[stop - 1] - before:
                    raise ValueError(f"{path.name} has fewer ids than its documents")
                yield SinkRows(ids, (ends[start:stop] - before).astype(np.uint64), [None] * (stop - start))
                start = stop


def ragged(ids: NDArray[Any], ends: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The documents that end there."""
    start = 0
    for end in ends.tolist():
        yield ids[start:end]
        start = end
