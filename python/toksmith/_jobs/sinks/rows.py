"""The interface of sinks: their input, and the row of `SINKS` (`__init__.py`) and the class that make a sink."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._base.paths import open_guarded
from ...errors import JobError

if TYPE_CHECKING:
    from ..._storage.folders import Folder
    from ..written import Receipt, ShardFiles, WrittenFile

AT_A_TIME = 1 << 16  # documents
# Exceptions that reading a damaged file can raise.
UNREADABLE = (OSError, ValueError, KeyError, EOFError, IndexError, struct.error, zlib.error)
IDS_AT_A_TIME = 1 << 21


class DoesNotFit(JobError):
    """The documents do not fit the format; another format may hold them."""


class SinkRows(NamedTuple):
    """Documents, with the ids `ids[ends[i - 1]:ends[i]]`; or packed rows, with the lengths of their pieces. Ids after the last
    end belong to a long document that continues in the next rows.

    Attributes: `ids` in the type of the sink; `ends` uint64; `names` of the documents by `id_field`; `pieces` of packed
    rows, else None.
    """

    ids: NDArray[Any]
    ends: NDArray[np.uint64]
    names: Sequence[str | None]
    pieces: Sequence[Sequence[int]] | None = None


class SinkSpec(NamedTuple):
    """The facts of its job that a sink gets.

    Attributes: `number` of its shard, of `shards`; `dtype` of the ids; `vocab_size`; `tokenizer`, the first digits of its
    fingerprint; `named`, whether documents have names; `packed`, whether they are packed rows; `last`, the id that ends each
    document, or None; `val`, the share of documents for validation, or None.
    """

    number: int
    shards: int
    dtype: str
    vocab_size: int
    tokenizer: str
    named: bool
    packed: bool
    last: int | None
    val: float | None = None

    @property
    def stem(self) -> str:
        """The first part of the names of the shard's files."""
        return f"{self.number:05d}"


class Sink(Protocol):
    """The files of a shard in one format. The caller names them after `close` has completed them."""

    def add(self, rows: SinkRows) -> None:
        """Appends documents."""

    def close(self) -> None:
        """Completes the files."""


class SinkRow(NamedTuple):
    """A format of files of ids.

    Attributes: `name`; `what`, a description for help; `dtypes`, its types, and `dtype`, the type for a size of vocabulary;
    `open` makes the sink of a shard; `finish` completes the folder and returns the resulting files, None if the files of the
    shards are the result; `stream` reads the documents of a shard in batches, in bounded memory, None if the files do not
    separate them; `parts`, the folder of files that `finish` replaces; `libraries`, whose versions decide bytes; `packs`,
    whether it holds packed rows; `names`, whether it holds names of documents; `needs_last`, whether each document must end
    in the token of `append`; `batched`, whether bytes depend on how many documents are added at once; `splits`, whether it
    has a file for validation; `lengths` reads only the lengths of a shard's documents, in batches, None to use `stream`.
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
    splits: bool = False
    lengths: Callable[[Path, SinkSpec], Iterator[NDArray[np.int64]]] | None = None

    @property
    def apart(self) -> bool:
        """Whether the files separate documents, so that documents can be read back."""
        return self.stream is not None

    def rows(self, folder: Path, spec: SinkSpec) -> Iterator[SinkRows]:
        """The documents of a shard in batches; empty if the files do not separate documents."""
        return iter(()) if self.stream is None else self.stream(folder, spec)

    def documents(self, folder: Path, spec: SinkSpec) -> Iterator[NDArray[Any]]:
        for rows in self.rows(folder, spec):
            yield from split_ids(rows.ids, rows.ends)

    def lengths_in(self, folder: Path, spec: SinkSpec) -> Iterator[NDArray[np.int64]]:
        if self.lengths is not None:
            return self.lengths(folder, spec)
        return (lengths_of(rows.ends) for rows in self.rows(folder, spec))


def lengths_of(ends: NDArray[np.uint64]) -> NDArray[np.int64]:
    places = ends.astype(np.int64)
    lengths: NDArray[np.int64] = places - np.concatenate([np.zeros(1, np.int64), places])[: len(places)]
    return lengths


class DocumentLengths:
    """Computes the lengths of documents that can continue in the next batch."""

    def __init__(self) -> None:
        self._begun = 0

    def of(self, count: int, ends: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The lengths of the documents that end in the next `count` ids."""
        lengths = lengths_of(ends)
        tail = count
        if len(lengths):
            lengths[0] += self._begun
            tail, self._begun = count - int(ends[-1]), 0
        self._begun += tail
        return lengths


def lengths_from_ends(path: Path, dtype: str, *, offset: int = 0) -> Iterator[NDArray[np.int64]]:
    last = 0
    with open_guarded(path) as file:
        file.seek(offset)
        while len(ends := np.fromfile(file, dtype, AT_A_TIME).astype(np.int64)):
            yield np.diff(ends, prepend=last)
            last = int(ends[-1])


def stream_ids(path: Path, dtype: str, lengths: Iterable[NDArray[np.int64]], *, offset: int = 0) -> Iterator[SinkRows]:
    """The documents of a file of ids, a few MiB at a time; a longer document is a separate batch."""
    with open_guarded(path) as file:
        file.seek(offset)
        for batch in lengths:
            ends = np.cumsum(batch)
            start = 0
            while start < len(ends):
                before = int(ends[start - 1]) if start else 0
                stop = max(int(np.searchsorted(ends, before + IDS_AT_A_TIME, "right")), start + 1)
                ids = np.fromfile(file, np.dtype(dtype).newbyteorder("<"), int(ends[stop - 1]) - before)
                if len(ids) != ends[stop - 1] - before:
                    raise ValueError(f"{path.name} has fewer ids than its documents")
                yield SinkRows(ids, (ends[start:stop] - before).astype(np.uint64), [None] * (stop - start))
                start = stop


def split_ids(ids: NDArray[Any], ends: NDArray[Any]) -> Iterator[NDArray[Any]]:
    start = 0
    for end in ends.tolist():
        yield ids[start:end]
        start = end
