"""Documents of a corpus: texts in memory, files and folders, one after another, in a fixed order.

A `.txt` file is one document; `.jsonl`, `.parquet` and `.arrow` files have one in each row; `.gz` and `.zst` files are
unpacked. Other files are one document. Files are read as bytes, so text that is not UTF-8 stays unchanged. `blocks.py`
reads files in blocks, ahead; the core counts their rows, or makes columns of texts of them (`columns.py`, with the slow
twin of the core's reader of rows). `parquet.py` reads tables.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from .._base.arguments import WrongDocument, path_text, text
from .._base.errors import CorpusError, InvalidOption
from .._base.paths import missing, spelled, url_of
from .._render.streams import LOG
from .._storage.remote import files_below, globbed
from .encode_files import PACKED, opened, readable
from .refused import refuse_binary, refuse_frame, refuse_name

__all__ = [
    "TABLES",
    "Corpus",
    "Document",
    "File",
    "Files",
    "WholeFile",
    "batches",
    "documents",
    "files",
    "is_inside",
    "kind_of",
    "parts",
    "sources",
]

Text = TypeVar("Text", str, bytes, str | bytes)
TABLES = (".parquet", ".arrow")
SUFFIXES_IN_FOLDERS = (*TABLES, *(kind + packed for kind in (".txt", ".jsonl") for packed in ("", *PACKED)))
IN_FOLDERS = f"{', '.join(TABLES)}, .txt or .jsonl (which may be packed: {', '.join(PACKED)})"


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
    """A document that is a whole file, or the rest of an open file (in binary mode).

    Attributes: `source` the path or the open file.
    """

    source: Path | BinaryIO

    def read(self) -> bytes:
        """The text."""
        if not isinstance(self.source, Path):
            data = self.source.read()
            if not isinstance(data, bytes):
                raise WrongDocument(f"expected a file of bytes, not of {type(data).__name__}; open it in binary mode")
            return data
        with readable(self.source), opened(self.source) as stream:
            return stream.read()


@dataclass(frozen=True)
class File:
    """A file whose documents are not read yet.

    Attributes: `path`; `field` of the texts; `name`, the field of the documents' names, if they are read; `part`, bytes of a
    plain `.jsonl` file or row groups of a Parquet file, None for all; `longest`, how many bytes a row, or the texts of a row
    group or batch of a table, may have.
    """

    path: Path
    field: str
    name: str | None = None
    part: tuple[int, int] | None = None
    longest: int | None = None


@dataclass(frozen=True)
class Files:
    """Files named by globs, made by `files`."""

    globs: tuple[str, ...]
    field: str = "text"

    def paths(self) -> Iterator[Path]:
        """The files, sorted by name for each glob; a file that two globs match
        comes once, with a warning in the log."""
        seen: dict[str, str] = {}
        for pattern in self.globs:
            found = named(pattern)
            if not found:
                here = url_of(pattern) is None and not glob.has_magic(pattern)
                said = "no file matches this name; expected the path of a file, or a glob such as data/*.txt"
                raise CorpusError(pattern, None, f"cannot be read: {missing(pattern)}" if here else said)
            for name in found:
                before = seen.setdefault(os.path.realpath(name), pattern)
                if before is pattern:
                    yield Path(name)
                else:
                    LOG.warning("%s is matched by %r and by %r; it is read once", name, before, pattern)

    def documents(self) -> Iterator[str | bytes]:
        """The documents of the files, in order, as `train` and every other reader
        of a corpus finds them.

        Raises:
            CorpusError: A file cannot be read, or a row has no text.
        """
        return documents(self)


def named(pattern: str) -> list[str]:
    """The files that a glob names, sorted."""
    if (url := url_of(pattern)) is None:
        return sorted(glob.glob(pattern, recursive=True), key=lambda name: name.replace(os.sep, "/"))
    with readable(url):
        return globbed(url)


Item = str | bytes | os.PathLike[str] | Files | BinaryIO
Corpus = Item | Iterable[Item]


def files(*globs: str | os.PathLike[str], field: str = "text") -> Files:
    """Names the files of a corpus, for `train`.

    Args:
        globs: Paths, `*`, `?`, `[…]` and `**` allowed.
        field: The field of a `.jsonl` row, or the column of a Parquet file,
            that holds the text.

    >>> import toksmith
    >>> toksmith.files("data/*.jsonl", field="content")
    Files(globs=('data/*.jsonl',), field='content')
    """
    if not globs:
        raise InvalidOption("globs", (), "at least one path or glob")
    return Files(tuple(path_text(pattern, "globs") for pattern in globs), text(field, "field"))


def documents(corpus: Corpus) -> Iterator[str | bytes]:
    """The documents of a corpus, in order; arguments and errors as of `parts`."""
    for part in parts(corpus):
        yield part.text if isinstance(part, Document) else part.read()


def batches(texts: Iterable[Text], size: int = 4 << 20, most: int = 1 << 16) -> Iterator[list[Text]]:
    """Texts in lists of about `size` characters, or bytes, and of at most `most` texts."""
    batch: list[Text] = []
    held = 0
    for each in texts:
        batch.append(each)
        held += len(each)
        if held >= size or len(batch) == most:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def parts(corpus: Corpus) -> Iterator[Document | WholeFile]:
    """The documents of a corpus, in order; those that are whole files are not read yet. Errors are those of `sources`.

    Raises:
        CorpusError: A file cannot be read, or a row has no text.
    """
    for number, source in enumerate(sources(corpus)):
        if isinstance(source, File):
            yield from in_file(source)
        elif isinstance(source, WholeFile):
            yield source
        else:
            yield Document(source, None, None if isinstance(corpus, (str, bytes)) else number)


def sources(corpus: Corpus, without: Path | None = None) -> Iterator[str | bytes | WholeFile | File]:
    """The texts, open files and files of a corpus, in order. No file is read.

    Args:
        without: A folder whose files are left out.
    Raises:
        CorpusError: A file does not exist.
        InvalidOption: A short `str` names a file, or looks as if it did; the caller nearly always means the file.
        TypeError: An item is neither text nor path nor open file.
    """
    if isinstance(corpus, str):
        refuse_name(corpus)
    refuse_frame(corpus)
    if isinstance(corpus, (str, bytes, Files, os.PathLike)) or hasattr(corpus, "read"):
        corpus = [cast("Item", corpus)]
    seen: set[str] = set()
    for number, item in enumerate(corpus):
        if isinstance(item, (str, bytes)):
            yield item
            continue
        for source in in_item(item, number, without):
            if isinstance(source, File):
                say_if_again(source.path, seen)
            yield source


def say_if_again(path: Path, seen: set[str]) -> None:
    """Warns if a file is listed twice. Its documents count twice."""
    # No file has a zero byte in its name; opening such a file raises the error.
    name = str(path) if "\0" in str(path) else os.path.realpath(path)
    if name in seen:
        LOG.warning("%s is listed again; its documents are counted again", spelled(path))
    seen.add(name)


def in_item(item: object, number: int, without: Path | None) -> Iterator[WholeFile | File]:
    """The sources of one item of a corpus that is not a text."""
    if isinstance(item, Files):
        for path in item.paths():
            yield from in_path(path, item.field, without)
    elif isinstance(item, os.PathLike):
        yield from in_path(Path(item), "text", without)
    elif hasattr(item, "read"):
        yield WholeFile(cast("BinaryIO", item))
    else:
        raise WrongDocument(f"document {number}: expected str, bytes or a path, not {type(item).__name__}")


def in_path(path: Path, field: str, without: Path | None) -> Iterator[File]:
    """A file, or the text files below a folder, sorted by name."""
    if is_inside(path, without):
        return
    if (url := url_of(path)) is not None:
        yield from (File(Path(name), field) for name in in_url(url) if not is_inside(Path(name), without))
        return
    if not os.path.isdir(path):
        refuse_binary(path)
        yield File(path, field)
        return
    inside = files_in_folder(path, without)
    if not inside:
        raise CorpusError(path, None, f"the folder contains no file ending in {IN_FOLDERS}")
    for item in inside:
        yield File(item, field)


def files_in_folder(folder: Path, without: Path | None) -> list[Path]:
    """The text files below a folder, sorted by name. A link to nothing is one of them, because reading it is an error.

    Raises:
        CorpusError: A folder there cannot be read.
    """
    found: list[Path] = []
    left_out: list[Path] = []

    def stop(problem: OSError) -> None:
        raise problem

    with readable(folder):
        for place, folders, names in os.walk(folder, onerror=stop):
            here = Path(place)
            folders[:] = [name for name in folders if not is_inside(here / name, without)]
            left_out += (here / name for name in folders if (here / name).is_symlink())
            for name in names:
                is_text = name.endswith(SUFFIXES_IN_FOLDERS) and is_file_or_broken(here / name)
                (found if is_text else left_out).append(here / name)
    if left_out := sorted(item for item in left_out if not is_hidden(item.relative_to(folder))):
        shown = ", ".join(map(spelled, left_out[:3])) + (", …" if len(left_out) > 3 else "")
        kinds = ", ".join(SUFFIXES_IN_FOLDERS)
        said = "left out of the corpus: linked folders, and what is not a file ending in"
        LOG.warning("%s: %s %s: %s", spelled(folder), said, kinds, shown)
    return sorted(found, key=lambda path: path.parts)


def is_file_or_broken(path: Path) -> bool:
    """Whether a path is that of a file, or of a link to nothing."""
    return path.is_file() or not os.path.exists(path)


def is_hidden(path: Path) -> bool:
    """Whether a name in a path begins with a dot."""
    return any(part.startswith(".") for part in path.parts)


def in_url(url: str) -> list[str]:
    """A file behind a URL, or the text files below a folder there, sorted by name."""
    with readable(url):
        found = files_below(url, SUFFIXES_IN_FOLDERS)
    if found == []:
        raise CorpusError(url, None, f"the folder contains no file ending in {IN_FOLDERS}")
    return [url] if found is None else found


def is_inside(path: Path, folder: Path | None) -> bool:
    """Whether a path is that of a folder, or of something in it."""
    if folder is None or "\0" in str(path):
        return False
    place, own = (url_of(each) or os.path.realpath(each) for each in (path, folder))
    return place == own or place.startswith(os.path.join(own, ""))


def kind_of(path: Path) -> str:
    """The kind of a file by its name: ".jsonl", ".parquet", ".arrow", or anything else for one text."""
    if path.suffix in TABLES:
        return path.suffix
    return path.with_suffix("").suffix if path.suffix in PACKED else path.suffix


def in_file(file: File) -> Iterator[Document | WholeFile]:
    """The documents of one file."""
    if kind_of(file.path) not in (".jsonl", *TABLES):
        yield WholeFile(file.path)
        return
    from .columns import columns_in  # which takes its files from this module

    for column in columns_in(file):
        yield from column.documents()
