"""What sinks are given, and what a sink is: a row of `SINKS` (`__init__.py`) with a class of these methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .._durable import ShardFiles
    from .._receipts import Receipt, WrittenFile

__all__ = ["Sink", "SinkRow", "SinkRows", "SinkSpec", "lengths_of", "ragged"]


class SinkRows(NamedTuple):
    """Some documents: those of the ids `ids[ends[i - 1]:ends[i]]`; or packed rows, with the lengths of their pieces.

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
    shards are; `read` gives the documents of a shard back, None if the files do not tell them apart; `parts` is the
    folder of files that `finish` replaces; `libraries` whose version decides bytes; `packs` whether it holds packed rows;
    `batched` whether bytes depend on how many documents are added at once.
    """

    name: str
    what: str
    dtypes: tuple[str, ...]
    dtype: Callable[[int], str]
    open: Callable[[ShardFiles, SinkSpec], Sink]
    finish: Callable[[Path, Sequence[Receipt], SinkSpec], list[WrittenFile]] | None = None
    read: Callable[[Path, SinkSpec], Iterator[NDArray[Any]]] | None = None
    parts: str | None = None
    libraries: tuple[str, ...] = ()
    packs: bool = False
    batched: bool = False


def lengths_of(ends: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How long the documents are that end there."""
    places = ends.astype(np.int64)
    lengths: NDArray[np.int64] = places - np.concatenate([np.zeros(1, np.int64), places])[: len(places)]
    return lengths


def ragged(ids: NDArray[Any], ends: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The documents that end there."""
    start = 0
    for end in ends.tolist():
        yield ids[start:end]
        start = end
