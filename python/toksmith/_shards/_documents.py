"""The documents of a part of an input, in order, by the rules of `docs/spec.md`, *Files to documents*.

A row that has no text is handed over with its reason; what becomes of it is the job's option. A file that cannot be read
to its end is an error, whatever the option says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from .. import _core
from .._corpus import kind_of
from .._corpus._parquet import batches, flat
from .._encode_files import lines, opened, readable
from ._plan import Part, Plan, PlannedInput, unchanged

__all__ = ["JobDocument", "documents_of"]


class JobDocument(NamedTuple):
    """A document, or a row that has no text.

    Attributes: `text`, or None with a `reason`; `input` its number, `record` its row there (None if that is not known),
    `byte` where the row starts in a plain `.jsonl` file, `id` by the option `id_field`; `row` as it is in the file, of
    `.jsonl` files.
    """

    text: bytes | None
    input: int
    record: int | None
    byte: int | None = None
    id: str | None = None
    reason: str = ""
    row: bytes = b""


def documents_of(plan: Plan, part: Part) -> Iterator[JobDocument]:
    """The documents of a part.

    Raises:
        CorpusError: The file cannot be read, or is not as it was when the plan was made.
    """
    found = plan.inputs[part.input]
    unchanged(found)
    path = Path(found.path)
    kind = kind_of(path)
    if kind == ".parquet":
        yield from in_columns(part, found, plan.options.id_field)
    elif kind == ".jsonl":
        with readable(path), opened(path) as stream:
            yield from in_rows(part, found, stream, plan.options.id_field)
    else:
        with readable(path), opened(path) as stream:
            text = stream.read()
        yield JobDocument(text, part.input, None)
    unchanged(found)


def in_rows(part: Part, found: PlannedInput, stream: BinaryIO, id_field: str | None) -> Iterator[JobDocument]:
    """The rows of a `.jsonl` file, from the byte `start` to the byte `stop` of a plain one."""
    place = part.start or 0
    if place:
        stream.seek(place)
    for number, line in enumerate(lines(stream)):
        if part.stop is not None and place >= part.stop:
            return
        # Behind the start of the file nobody has counted the rows.
        where = (part.input, None if part.start else number, None if part.stop is None else place)
        place += len(line)
        try:
            text = _core.row_text(line, found.field)
        except ValueError as problem:
            yield JobDocument(None, *where, None, str(problem), line)
            continue
        if text is not None:
            yield JobDocument(text.encode(), *where, id_of(line, id_field), row=line)


def id_of(line: bytes, field: str | None) -> str | None:
    """The value of a field as text; None if the row does not have it."""
    if field is None:
        return None
    try:
        value = json.loads(line.removeprefix(b"\xef\xbb\xbf")).get(field)
    except (ValueError, RecursionError):  # rows may be nested deeper than Python reads them
        return None
    if isinstance(value, str):  # JSON may name half of a pair of UTF-16, which is not a character
        return value.encode("utf-8", "replace").decode()
    return None if value is None else json.dumps(value)


def in_columns(part: Part, found: PlannedInput, id_field: str | None) -> Iterator[JobDocument]:
    """The rows of some row groups of a Parquet file."""
    fields = (found.field,) if id_field is None else (found.field, id_field)
    groups = None if part.start is None or part.stop is None else (part.start, part.stop)
    for first, (texts, *others) in batches(Path(found.path), fields, groups):
        there = texts.is_valid().to_pylist()
        ids: list[Any] = others[0].to_pylist() if others else [None] * len(there)
        blob, ends, start = *flat(texts.drop_null()), 0
        place = iter(ends.tolist())
        for record, (is_there, id) in enumerate(zip(there, ids, strict=True), first):
            if not is_there:
                reason = f"has no text in the column {found.field!r}"
                yield JobDocument(None, part.input, record, None, None, reason)
                continue
            end = next(place)
            yield JobDocument(blob[start:end], part.input, record, None, None if id is None else str(id))
            start = end
