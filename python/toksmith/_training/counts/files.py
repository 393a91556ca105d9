"""Reads and writes files of counts: Parquet with all fields, and lines of text for other tools."""

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
from numpy.typing import NDArray

from ... import _core
from ..._base.paths import Room, check_regular, describe_error, path_or_url, printable_path, read_file
from ..._corpus.encode_files import refuse_unpacked
from ..._corpus.parquet import bounded_batches, bytes_at, flatten_column, import_pyarrow, parquet_file
from ..._storage.atomic_files import write_file
from ..._storage.remote import input_at
from ...errors import CorpusError, FormatError, InvalidOption

VERSION = 1
KEY = b"toksmith piece counts"
HEAD = b"# " + KEY + b": "
SUFFIXES = (".parquet", ".tsv")
MOST_BYTES = 1 << 33
POSITIONS = ("document", "byte")
# Rows of a Parquet row group, so that a file can be read and written a part at a time.
ROWS_IN_A_GROUP = 1 << 16


@dataclass(frozen=True)
class Facts:
    """The facts in a file of counts, in addition to the pieces."""

    patterns: tuple[str, ...]
    documents: int = 0
    long: tuple[int, int] = (0, 0)
    rare: tuple[int, int, int] = (0, 0, 0)
    spans: Sequence[Any] = ()
    skipped: int = 0

    def dump(self) -> bytes:
        return json.dumps({"version": VERSION, **asdict(self)}, ensure_ascii=True).encode()

    def core(self) -> tuple[int, tuple[int, int], tuple[int, int, int]]:
        return self.documents, self.long, self.rare


def parse_facts(data: bytes, path: str) -> Facts:
    try:
        fields = json.loads(data)
        if fields.pop("version") != VERSION:
            raise ValueError(f"its version is not {VERSION}")
        pairs = [tuple(map(check_uint64s, span)) for span in fields.pop("spans")]
        patterns = tuple(map(str, fields.pop("patterns")))
        documents, skipped = check_uint64s([fields.pop("documents"), fields.pop("skipped")])
        long, rare = check_uint64s(fields.pop("long")), check_uint64s(fields.pop("rare"))
        if fields or len(long) != 2 or len(rare) != 3 or any(list(map(len, pair)) != [2, 2] for pair in pairs):
            raise ValueError("a field has an unexpected value")
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as problem:
        raise FormatError(path, None, f"its facts are not what save() writes: {problem}") from problem
    return Facts(patterns, documents, (long[0], long[1]), (rare[0], rare[1], rare[2]), pairs, skipped)


def check_uint64s(values: Any) -> tuple[int, ...]:
    integers = tuple(values)
    if not all(type(value) is int and 0 <= value < 1 << 64 for value in integers):
        raise ValueError(f"{integers} are not numbers of 64 bits")
    return integers


def suffix_of(path: str) -> str:
    for candidate in SUFFIXES:
        if path.endswith(candidate):
            return candidate
    raise FormatError(path, None, f"the suffix names no format; expected one of {', '.join(SUFFIXES)}")


def write_counts(core: _core.CountedPieces, facts: Facts, path: str | os.PathLike[str]) -> None:
    """Writes counts to a file; see `PieceCounts.save`."""
    if suffix_of(printable_path(path)) == ".tsv":
        write_file(path, HEAD + facts.dump() + b"\n" + core.lines())
        return
    out = io.BytesIO()
    write_parquet(core, facts, printable_path(path), out)
    write_file(path, out.getvalue())


def write_parquet(core: _core.CountedPieces, facts: Facts, name: str, out: BinaryIO) -> None:
    """Writes counts to an open Parquet file; errors name it `name`."""
    arrow = require_pyarrow(name)
    blob, columns = core.columns()
    table = count_table(blob, columns if core.positions else columns[:2], facts, arrow)
    # Without a dictionary, because pieces hardly repeat in a column.
    with arrow.parquet.ParquetWriter(out, table.schema, compression="zstd", use_dictionary=False) as writer:
        if len(table):
            writer.write_table(table, row_group_size=ROWS_IN_A_GROUP)


def count_table(blob: bytes, columns: Sequence[NDArray[np.uint64]], facts: Facts, arrow: Any) -> Any:
    """The Arrow table of a file: the pieces, given their bytes and ends, and the other columns."""
    ends, *rest = columns
    offsets = arrow.py_buffer(np.concatenate([[0], ends.astype(np.int64)]).astype(np.int64))
    pieces = arrow.Array.from_buffers(arrow.large_binary(), len(ends), [None, offsets, arrow.py_buffer(blob)])
    names = ["piece", "count", *POSITIONS][: len(columns)]
    return arrow.table([pieces, *map(arrow.array, rest)], names=names).replace_schema_metadata({KEY: facts.dump()})


def read_counts(path: str | os.PathLike[str], patterns: tuple[str, ...] | None) -> tuple[_core.CountedPieces, Facts]:
    """The counts of a file; see `PieceCounts.load`."""
    name = printable_path(path)
    reader = read_parquet if suffix_of(name) == ".parquet" else read_lines
    with read_errors(name), input_at(path_or_url(path)).local_copy(lambda size: None) as local:
        return reader(local, name, patterns)


@contextmanager
def read_errors(name: str) -> Iterator[None]:
    try:
        yield
    except MemoryError as problem:
        raise FormatError(name, None, "cannot be read: there is not enough memory for it") from problem
    except (OSError, ValueError, NotImplementedError) as problem:
        if isinstance(problem, FormatError) and not problem.path:
            raise FormatError(name, problem.place, problem.problem) from None
        if isinstance(problem, (FormatError, InvalidOption)):
            raise
        raise FormatError(name, None, f"cannot be read: {describe_error(problem, name)}") from problem


def read_lines(path: Any, name: str, patterns: tuple[str, ...] | None) -> tuple[_core.CountedPieces, Facts]:
    data = read_file(path, lambda ends: Room(MOST_BYTES, "counts"))
    if data.startswith(HEAD):
        head, _, data = data.partition(b"\n")
        facts = parse_facts(head[len(HEAD) :], name)
        if patterns is not None:
            raise InvalidOption("pattern", list(patterns), f"no value, because {name} contains its own")
        return _core.CountedPieces.from_lines(facts.patterns, data, 2, facts.core()), facts
    if patterns is None:
        raise InvalidOption(
            "pattern", None, f"the pattern that split the pieces of {name}, because the file does not contain it"
        )
    facts = Facts(patterns)
    return _core.CountedPieces.from_lines(patterns, data, 1, facts.core()), facts


def read_parquet(path: Any, name: str, patterns: tuple[str, ...] | None) -> tuple[_core.CountedPieces, Facts]:
    arrow = require_pyarrow(name)
    check_regular(path)
    try:
        table, facts = read_table(path, name, arrow)
    except arrow.ArrowException as problem:
        raise FormatError(name, None, f"cannot be read: {problem}") from problem
    if patterns is not None:
        raise InvalidOption("pattern", list(patterns), f"no value, because {name} contains its own")
    if any(column.null_count for column in table.columns):
        raise FormatError(name, None, f"has nulls in the columns {table.schema.names}; expected a value in every row")
    try:
        pieces = table.column(0).cast(arrow.large_binary()).combine_chunks()
        columns_of_numbers = [column.cast(arrow.uint64()).to_numpy() for column in table.columns[1:]]
    except arrow.ArrowException as problem:
        raise FormatError(name, None, f"has a column with a type that save() does not write: {problem}") from problem
    blob, ends = flatten_column(pieces)
    none = np.empty(0, np.uint64)
    columns = [np.ascontiguousarray(column) for column in [ends, *columns_of_numbers, none, none][:4]]
    return _core.CountedPieces.from_columns(facts.patterns, blob, columns, facts.core()), facts


def read_table(path: Any, name: str, arrow: Any) -> tuple[Any, Facts]:
    batches, unpacked = [], 0
    with parquet_file(path, arrow) as file, bytes_at(path) as source:
        schema = file.schema_arrow
        facts, size = facts_of_parquet(schema, name), source.seek(0, SEEK_END)
        for batch in bounded_batches(source, file, schema.names, range(file.num_row_groups), arrow):
            unpacked += batch.nbytes
            refuse_unpacked(unpacked, size, "the file", "counts of fewer pieces")
            batches.append(batch)
    return arrow.Table.from_batches(batches, schema), facts


def facts_of_parquet(schema: Any, name: str) -> Facts:
    data = (schema.metadata or {}).get(KEY)
    if data is None:
        raise FormatError(name, None, "is not a file of counts: it lacks the facts that save() writes")
    expected = [["piece", "count", *POSITIONS], ["piece", "count"]]
    if schema.names not in expected:
        raise FormatError(name, None, f"has the columns {schema.names}; expected {expected[0]}")
    return parse_facts(data, name)


def require_pyarrow(path: str) -> Any:
    try:
        return import_pyarrow(path)
    except CorpusError as missing:
        raise FormatError(path, None, missing.problem) from missing
