"""The slow twin of the core's walk over the rows of a block: a Python loop, one row at a time, under `TOKSMITH_SLOW=1`."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import NamedTuple

from .. import _core
from .encode_files import lines
from .names import name_in

__all__ = ["OneRow", "one_by_one"]


class OneRow(NamedTuple):
    """A row that is not blank.

    Attributes: `line`, its number; `start`, its first byte; `text`, None with a `reason`; `name`; `row`, as it is.
    """

    line: int
    start: int
    text: bytes | None
    name: str | None
    reason: str
    row: bytes


def one_by_one(block: bytes, field: str, name: str | None) -> Iterator[OneRow]:
    """The rows of a block of whole lines, with the names in the field `name`."""
    start = 0
    for number, row in enumerate(lines(io.BytesIO(block))):
        try:
            text = _core.row_text(row, field)
        except ValueError as problem:
            yield OneRow(number, start, None, None, str(problem), row)
        else:
            if text is not None:
                yield OneRow(number, start, text.encode(), None if name is None else name_in(row, field, name), "", row)
        start += len(row)
