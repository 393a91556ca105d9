"""Counts in files: Parquet with everything, and lines for other tools. Left out: what counts mean."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import SEEK_END
from typing import Any, BinaryIO

import numpy as np

from ... import _core
from ..._base.errors import CorpusError, FormatError, InvalidOption
from ..._base.paths import Room, read_file, reason, regular, shown, spelled
from ..._corpus.encode_files import refuse_unpacked
from ..._corpus.parquet import bounded_batches, bytes_at, flat, parquet_file, pyarrow
from ..._storage.atomic_files import write_file
from ..._storage.remote import input_at

__all__ = [
    "HEAD",
    "KEY",
    "POSITIONS",
    "ROWS_IN_A_GROUP",
    "SUFFIXES",
    "Facts",
    "facts_of_parquet",
    "library",
    "parsed",
    "read_counts",
    "reading",
    "suffix",
    "write_counts",
    "write_parquet",
]

VERSION = 1
KEY = b"toksmith piece counts"
HEAD = b"# " + KEY + b": "
SUFFIXES = (".parquet", ".tsv")
MOST_BYTES = 1 << 33
POSITIONS = ("document", "byte")
# Of Parquet, so that a file can be read and written a part at a time.
ROWS_IN_A_GROUP = 1 << 16


@dataclass(frozen=True)
class Facts:
    """The facts in a file of counts, besides the pieces."""

    patterns: tuple[str, ...]
    documents: int = 0
    long: tuple[int, int] = (0, 0)
    rare: tuple[int, int, int] = (0, 0, 0)
    spans: Sequence[Any] = ()
    skipped: int = 0

    def dump(self) -> bytes:
        """One line of JSON."""
        return json.dumps({"version": VERSION, **asdict(self)}, ensure_ascii=True).encode()

    def core(self) -> tuple[int, tuple[int, int], tuple[int, int, int]]:
        """The facts for the core."""
        return self.documents, self.long, self.rare


def parsed(data: bytes, path: str) -> Facts:
    """The facts of a line of JSON."""
    try:
        fields = json.loads(data)
        if fields.pop("version") != VERSION:
            raise ValueError(f"its version is not {VERSION}")
        pairs = [tuple(map(numbers, span)) for span in fields.pop("spans")]
        patterns = tuple(map(str, fields.pop("patterns")))
        documents, skipped = numbers([fields.pop("documents"), fields.pop("skipped")])
        long, rare = numbers(fields.pop("long")), numbers(fields.pop("rare"))
        if fields or len(long) != 2 or len(rare) != 3 or any(list(map(len, pair)) != [2, 2] for pair in pairs):
            raise ValueError("a field has an unexpected value")
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as problem:
        raise FormatError(path, None, f"its facts are not what save() writes: {problem}") from problem
    return Facts(patterns, documents, (long[0], long[1]), (rare[0], rare[1], rare[2]), pairs, skipped)


def numbers(values: Any) -> tuple[int, ...]:
    """Some numbers of 64 bits."""
    found = tuple(values)
    if not all(type(value) is int and 0 <= value < 1 << 64 for value in found):
        raise ValueError(f"{found} are not numbers of 64 bits")
    return found


def suffix(path: str) -> str:
    """The suffix of a file's name."""
    for known in SUFFIXES:
        if path.endswith(known):
            return known
    raise FormatError(path, None, f"the suffix names no format; expected one of {', '.join(SUFFIXES)}")


def write_counts(core: _core.CountedPieces, facts: Facts, path: str | os.PathLike[str]) -> None:
    """Writes counts to a file; see `PieceCounts.save`."""
    if suffix(shown(path)) == ".tsv":
        write_file(path, HEAD + facts.dump() + b"\n" + core.lines())
        return
    out = io.BytesIO()
    write_parquet(core, facts, shown(path), out)
    write_file(path, out.getvalue())


def write_parquet(core: _core.CountedPieces, facts: Facts, name: str, out: BinaryIO) -> None:
    """Writes counts to an open Parquet file of this name."""
    arrow = library(name)
    blob, columns = core.columns()
    ends, *kept = columns if core.positions else columns[:2]
    offsets = arrow.py_buffer(np.concatenate([[0], ends.astype(np.int64)]).astype(np.int64))
    pieces = arrow.Array.from_buffers(arrow.large_binary(), len(ends), [None, offsets, arrow.py_buffer(blob)])
    names = ["piece", "count", *POSITIONS][: len(kept) + 1]
    table = arrow.table([pieces, *map(arrow.array, kept)], names=names).replace_schema_metadata({KEY: facts.dump()})
    # Pieces hardly repeat in one column: no dictionary.
    with arrow.parquet.ParquetWriter(out, table.schema, compression="zstd", use_dictionary=False) as writer:
        if len(table):
            writer.write_table(table, row_group_size=ROWS_IN_A_GROUP)


def read_counts(path: str | os.PathLike[str], patterns: tuple[str, ...] | None) -> tuple[_core.CountedPieces, Facts]:
    """The counts of a file; see `PieceCounts.load`."""
    name = shown(path)
    read = parquet if suffix(name) == ".parquet" else lines
    with reading(name), input_at(spelled(path)).here(lambda size: None) as here:
        return read(here, name, patterns)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turns what goes wrong in reading a file of counts into errors that name it."""
    try:
        yield
    except MemoryError as problem:
        raise FormatError(name, None, "cannot be read: there is not enough memory for it") from problem
    except (OSError, ValueError, NotImplementedError) as problem:
        if isinstance(problem, FormatError) and not problem.path:
            raise FormatError(name, problem.place, problem.problem) from None
        if isinstance(problem, (FormatError, InvalidOption)):
            raise
        raise FormatError(name, None, f"cannot be read: {reason(problem, name)}") from problem


def lines(path: Any, name: str, patterns: tuple[str, ...] | None) -> tuple[_core.CountedPieces, Facts]:
    """The counts of a file of lines."""
    data = read_file(path, lambda ends: Room(MOST_BYTES, "counts"))
    if data.startswith(HEAD):
        head, _, data = data.partition(b"\n")
        facts = parsed(head[len(HEAD) :], name)
        if patterns is not None:
            raise InvalidOption("pattern", list(patterns), f"no value, because {name} contains its own")
        return _core.CountedPieces.of_lines(facts.patterns, data, 2, facts.core()), facts
    if patterns is None:
        raise InvalidOption(
            "pattern", None, f"the pattern that split the pieces of {name}, because the file does not contain it"
        )
    facts = Facts(patterns)
    return _core.CountedPieces.of_lines(patterns, data, 1, facts.core()), facts


def parquet(path: Any, name: str, patterns: tuple[str, ...] | None) -> tuple[_core.CountedPieces, Facts]:
    """The counts of a Parquet file."""
    arrow = library(name)
    regular(path)
    try:
        table, facts = table_of(path, name, arrow)
    except arrow.ArrowException as problem:
        raise FormatError(name, None, f"cannot be read: {problem}") from problem
    if patterns is not None:
        raise InvalidOption("pattern", list(patterns), f"no value, because {name} contains its own")
    if any(column.null_count for column in table.columns):
        raise FormatError(name, None, f"has nulls in the columns {table.schema.names}; expected a value in every row")
    try:
        pieces = table.column(0).cast(arrow.large_binary()).combine_chunks()
        kept = [column.cast(arrow.uint64()).to_numpy() for column in table.columns[1:]]
    except arrow.ArrowException as problem:
        raise FormatError(name, None, f"has a column with a type that save() does not write: {problem}") from problem
    blob, ends = flat(pieces)
    none = np.empty(0, np.uint64)
    columns = [np.ascontiguousarray(column) for column in [ends, *kept, none, none][:4]]
    return _core.CountedPieces.kept(facts.patterns, blob, columns, facts.core()), facts


def table_of(path: Any, name: str, arrow: Any) -> tuple[Any, Facts]:
    """The rows of a Parquet file and its facts.

    Raises:
        OSError: The rows unpack to too much.
    """
    found, unpacked = [], 0
    with parquet_file(path, arrow) as file, bytes_at(path) as source:
        schema = file.schema_arrow
        facts, size = facts_of_parquet(schema, name), source.seek(0, SEEK_END)
        for batch in bounded_batches(source, file, schema.names, range(file.num_row_groups), arrow):
            unpacked += batch.nbytes
            refuse_unpacked(unpacked, size, "the file", "counts of fewer pieces")
            found.append(batch)
    return arrow.Table.from_batches(found, schema), facts


def facts_of_parquet(schema: Any, name: str) -> Facts:
    """The facts of a Parquet file.

    Raises:
        FormatError: It is not a file of counts.
    """
    data = (schema.metadata or {}).get(KEY)
    if data is None:
        raise FormatError(name, None, "is not a file of counts: it lacks the facts that save() writes")
    expected = [["piece", "count", *POSITIONS], ["piece", "count"]]
    if schema.names not in expected:
        raise FormatError(name, None, f"has the columns {schema.names}; expected {expected[0]}")
    return parsed(data, name)


def library(path: str) -> Any:
    """The module `pyarrow`."""
    try:
        return pyarrow(path)
    except CorpusError as missing:
        raise FormatError(path, None, missing.problem) from missing
