"""A file of a corpus on this machine: the file itself, or behind a URL a copy of what is read of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .._base.errors import CorpusError
from .._base.paths import spelled
from .._storage.remote import input_at
from . import File, kind_of
from .encode_files import readable
from .parquet import row_group_ranges

__all__ = ["file_here"]


@contextmanager
def file_here(file: File) -> Iterator[Path]:
    """A file of this machine that has the bytes that are read of a file, at their places. A copy of a URL is removed behind
    the block. Errors name the file itself.

    Raises:
        CorpusError: It cannot be read.
    """

    def ranges(size: int) -> list[tuple[int, int]] | None:
        if kind_of(file.path) == ".parquet":
            fields = (file.field,) if file.name is None else (file.field, file.name)
            return row_group_ranges(file.path, fields, file.part, size)
        return None if file.part is None else [file.part]

    with ExitStack() as held:
        with readable(file.path):
            path = held.enter_context(input_at(spelled(file.path)).here(ranges))
        try:
            yield path
        except CorpusError as error:
            if error.path != str(path) or path == file.path:
                raise
            raise CorpusError(spelled(file.path), error.record, error.problem) from error.__cause__
