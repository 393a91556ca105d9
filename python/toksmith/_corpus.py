"""Documents of a corpus: texts in memory, files and folders, one after another, in a fixed order.

A `.txt` file is one document, a `.jsonl` file has one in each line; `.gz` is opened. Other files are one document.
Files are read as bytes, so that text that is no UTF-8 is kept as it is.
"""

from __future__ import annotations

import glob
import gzip
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from ._errors import CorpusError, InvalidOption
from ._text_files import readable

__all__ = ["Corpus", "Document", "Files", "WholeFile", "documents", "files", "parts"]

SUFFIXES_IN_FOLDERS = (".txt", ".jsonl", ".txt.gz", ".jsonl.gz")
NOT_READ_YET = (".parquet", ".zst")


@dataclass(frozen=True)
class Document:
    """A text of a corpus.

    Attributes: `text`; `path` the file it is from, or None; `record` its row there, or its place in an iterable.
    """

    text: str | bytes
    path: str | None
    record: int | None


@dataclass(frozen=True)
class WholeFile:
    """A document that is all of a file, or all that an open file (in binary mode) has left.

    Attributes: `source` the path or the open file.
    """

    source: Path | BinaryIO

    def read(self) -> bytes:
        """The text."""
        if not isinstance(self.source, Path):
            data = self.source.read()
            if not isinstance(data, bytes):
                raise TypeError(f"expected a file of bytes, not of {type(data).__name__}; open it in binary mode")
            return data
        with readable(self.source), opened(self.source) as stream:
            return stream.read()


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


Item = str | bytes | os.PathLike[str] | Files | BinaryIO
Corpus = Item | Iterable[Item]


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
    """The documents of a corpus, in order; arguments and errors as of `parts`."""
    for part in parts(corpus):
        yield part.text if isinstance(part, Document) else part.read()


def parts(corpus: Corpus) -> Iterator[Document | WholeFile]:
    """The documents of a corpus, in order; those that are whole files are not read yet.

    Raises:
        CorpusError: A file is missing or cannot be read, or a row has no text.
        InvalidOption: A short `str` names an existing file: it is nearly always meant as a path.
        TypeError: An item is neither text nor path nor open file.
    """
    if isinstance(corpus, str):
        refuse_file_name(corpus)
    if isinstance(corpus, (str, bytes, Files, os.PathLike)) or hasattr(corpus, "read"):
        yield from in_item(corpus, None)
        return
    for number, item in enumerate(corpus):
        yield from in_item(item, number)


def in_item(item: object, number: int | None) -> Iterator[Document | WholeFile]:
    """The documents of one item of a corpus."""
    if isinstance(item, (str, bytes)):
        yield Document(item, None, number)
    elif isinstance(item, Files):
        for path in item.paths():
            yield from in_path(path, item.field)
    elif isinstance(item, os.PathLike):
        yield from in_path(Path(item), "text")
    elif hasattr(item, "read"):
        yield WholeFile(cast("BinaryIO", item))
    else:
        where = "" if number is None else f"document {number}: "
        raise TypeError(f"{where}expected str, bytes or a path, not {type(item).__name__}")


def refuse_file_name(text: str) -> None:
    """A corpus that is the name of a file is a path without `Path(…)`."""
    if len(text) < 256 and "\n" not in text and "\0" not in text and os.path.exists(text):
        raise InvalidOption("corpus", text, f"a text; to read that file pass pathlib.Path({text!r})")


def in_path(path: Path, field: str) -> Iterator[Document | WholeFile]:
    """The documents of a file, or of the text files below a folder in the order of their names."""
    if not os.path.isdir(path):
        yield from in_file(path, field)
        return
    inside = sorted(item for item in path.rglob("*") if item.name.endswith(SUFFIXES_IN_FOLDERS) and item.is_file())
    if not inside:
        raise CorpusError(str(path), None, f"the folder holds no file ending in {', '.join(SUFFIXES_IN_FOLDERS)}")
    for item in inside:
        yield from in_file(item, field)


def in_file(path: Path, field: str) -> Iterator[Document | WholeFile]:
    """The documents of one file."""
    if path.suffix in NOT_READ_YET:
        raise CorpusError(str(path), None, f"{path.suffix} files are not read; write .txt or .jsonl (.gz allowed)")
    if not path.name.removesuffix(".gz").endswith(".jsonl"):
        yield WholeFile(path)
        return
    with readable(path), opened(path) as stream:
        for number, line in enumerate(stream):
            if line.strip():
                yield Document(row_text(line, path, number, field), str(path), number)


def opened(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked."""
    return cast("BinaryIO", gzip.open(path)) if path.suffix == ".gz" else open(path, "rb")


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
