"""Documents of a corpus: texts in memory, files and folders, one after another, in a fixed order.

A `.txt` file is one document, a `.jsonl` file has one in each line; `.gz` is opened. Other files are one document.
Files are read as bytes, so that text that is no UTF-8 is kept as it is.
"""

from __future__ import annotations

import glob
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ._errors import CorpusError, InvalidOption

__all__ = ["Corpus", "Files", "documents", "files"]

SUFFIXES_IN_FOLDERS = (".txt", ".jsonl", ".txt.gz", ".jsonl.gz")
NOT_READ_YET = (".parquet", ".zst")


@dataclass(frozen=True)
class Files:
    """Files named by globs, made by `files`."""

    globs: tuple[str, ...]
    field: str = "text"

    def paths(self) -> Iterator[Path]:
        """The files, each glob's sorted by name; a file that two globs name comes once."""
        seen: set[str] = set()
        for pattern in self.globs:
            found = sorted(glob.glob(pattern, recursive=True))
            if not found:
                raise CorpusError(pattern, None, "no file has this name")
            for name in found:
                if name not in seen:
                    seen.add(name)
                    yield Path(name)


Corpus = str | bytes | os.PathLike[str] | Files | Iterable[str | bytes | os.PathLike[str]]


def files(*globs: str | os.PathLike[str], field: str = "text") -> Files:
    """Names the files of a corpus, for `train`.

    Args:
        globs: Paths, `*`, `?`, `[…]` and `**` allowed.
        field: The field of a `.jsonl` row that holds the text.

    >>> import toksmith
    >>> toksmith.files("data/*.jsonl", field="content")
    Files(globs=('data/*.jsonl',), field='content')
    """
    if not globs:
        raise InvalidOption("globs", (), "at least one path or glob")
    return Files(tuple(os.fspath(pattern) for pattern in globs), field)


def documents(corpus: Corpus) -> Iterator[str | bytes]:
    """The documents of a corpus, in order.

    Raises:
        CorpusError: A file is missing or cannot be read, or a row has no text.
        InvalidOption: A short `str` names an existing file: it is nearly always meant as a path.
        TypeError: An item is neither text nor path.
    """
    if isinstance(corpus, str):
        refuse_file_name(corpus)
        yield corpus
    elif isinstance(corpus, bytes):
        yield corpus
    elif isinstance(corpus, Files):
        for path in corpus.paths():
            yield from in_path(path, corpus.field)
    elif isinstance(corpus, os.PathLike):
        yield from in_path(Path(corpus), "text")
    else:
        for number, item in enumerate(corpus):
            if isinstance(item, (str, bytes)):
                yield item
            elif isinstance(item, os.PathLike):
                yield from in_path(Path(item), "text")
            else:
                raise TypeError(f"document {number}: expected str, bytes or a path, not {type(item).__name__}")


def refuse_file_name(text: str) -> None:
    """A corpus that is the name of a file is a path without `Path(…)`."""
    if len(text) < 256 and "\n" not in text and "\0" not in text and os.path.exists(text):
        raise InvalidOption("corpus", text, f"a text; to read that file pass pathlib.Path({text!r})")


def in_path(path: Path, field: str) -> Iterator[str | bytes]:
    """The documents of a file, or of the text files below a folder in the order of their names."""
    if not os.path.isdir(path):
        yield from in_file(path, field)
        return
    inside = sorted(item for item in path.rglob("*") if item.name.endswith(SUFFIXES_IN_FOLDERS) and item.is_file())
    if not inside:
        raise CorpusError(str(path), None, f"the folder holds no file ending in {', '.join(SUFFIXES_IN_FOLDERS)}")
    for item in inside:
        yield from in_file(item, field)


def in_file(path: Path, field: str) -> Iterator[str | bytes]:
    """The documents of one file."""
    name = path.name.removesuffix(".gz")
    if path.suffix in NOT_READ_YET:
        raise CorpusError(str(path), None, f"{path.suffix} files are not read; write .txt or .jsonl (.gz allowed)")
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as stream:
            if not name.endswith(".jsonl"):
                yield stream.read()
                return
            for number, line in enumerate(stream):
                if line.strip():
                    yield row_text(line, path, number, field)
    except CorpusError:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as problem:
        raise CorpusError(str(path), None, f"cannot be read: {problem}") from problem


def row_text(line: bytes, path: Path, number: int, field: str) -> str:
    """The text of one `.jsonl` row."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise CorpusError(str(path), number, f"is no JSON: {problem}") from problem
    if not isinstance(row, dict) or not isinstance(row.get(field), str):
        raise CorpusError(str(path), number, f"has no text in the field {field!r}; name the field with field=")
    text: str = row[field]
    return text
