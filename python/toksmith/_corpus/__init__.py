"""Documents of a corpus from texts in memory, files and folders, in a fixed order.

A `.txt` file is one document; `.jsonl`, `.parquet` and `.arrow` files have one document per row; `.gz` and `.zst` files are
unpacked. Other files are one document. Files are read as bytes, so text that is not UTF-8 stays unchanged. `blocks.py`
prefetches files in blocks; the core counts their rows, or converts them to columns of texts (`columns.py`, with the slow
twin of the core's row reader). `parquet.py` reads tables.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from .._base.arguments import WrongDocument, check_path, check_text
from .._base.paths import missing_file_message, path_or_url, url_of
from .._render.streams import LOG
from .._storage.remote import InputFacts, files_below, glob_urls
from ..errors import CorpusError, InvalidOption
from .encode_files import PACKED, open_unpacked, wrap_corpus_errors
from .refused import refuse_binary, refuse_frame, refuse_name

Text = TypeVar("Text", str, bytes, str | bytes)
TABLES = (".parquet", ".arrow")
SUFFIXES_IN_FOLDERS = (*TABLES, *(kind + packed for kind in (".txt", ".jsonl") for packed in ("", *PACKED)))
IN_FOLDERS = f"{', '.join(TABLES)}, .txt or .jsonl (which may be packed: {', '.join(PACKED)})"


@dataclass(frozen=True)
class Document:
    """A text of a corpus.

    Attributes: `text`; `path`, its file, or None; `record`, its row in the file, or its place in an iterable.
    """

    text: str | bytes
    path: str | None
    record: int | None


@dataclass(frozen=True)
class WholeFile:
    """A document that is a whole file, or the rest of an open file in binary mode (`source`)."""

    source: Path | BinaryIO

    def read(self) -> bytes:
        if not isinstance(self.source, Path):
            data = self.source.read()
            if not isinstance(data, bytes):
                raise WrongDocument(f"expected a file of bytes, not of {type(data).__name__}; open it in binary mode")
            return data
        with wrap_corpus_errors(self.source), open_unpacked(self.source) as stream:
            return stream.read()


@dataclass(frozen=True)
class File:
    """A file whose documents are not read yet.

    Attributes: `path`; `field` of the texts; `name`, the field of the documents' names, if they are read; `part`, a range of
    bytes of a plain `.jsonl` file or of row groups of a Parquet file, None for all; `longest`, the most bytes of a row, or of
    the texts of a table's row group or batch; `real`, the path with links resolved, and `facts`, if a listing has them.
    """

    path: Path
    field: str
    name: str | None = None
    part: tuple[int, int] | None = None
    longest: int | None = None
    real: str | None = None
    facts: InputFacts | None = None


@dataclass(frozen=True)
class Files:
    """Files named by globs, made by `files`."""

    globs: tuple[str, ...]
    field: str = "text"

    def paths(self) -> Iterator[Path]:
        """The files, sorted by name for each glob. A file that two globs match
        is listed once, with a warning in the log."""
        return (path for path, _ in listed_files(self))

    def documents(self) -> Iterator[str | bytes]:
        """The documents of the files, in order, as `train` and every other reader
        of a corpus finds them.

        Raises:
            CorpusError: A file cannot be read, or a row has no text.
        """
        return iter_documents(self)


def listed_files(files: Files) -> Iterator[tuple[Path, InputFacts | None]]:
    """The paths of `files`, each with the facts that a store lists."""
    globs_by_path: dict[str, str] = {}
    for pattern in files.globs:
        matches = glob_paths(pattern)
        if not matches:
            if url_of(pattern) is None and not glob.has_magic(pattern):
                raise CorpusError(pattern, None, f"cannot be read: {missing_file_message(pattern)}")
            raise CorpusError(pattern, None, "no file matches this glob; check its folder and its wildcards")
        for name, facts in matches.items():
            first_glob = globs_by_path.setdefault(url_of(name) or os.path.realpath(name), pattern)
            if first_glob is pattern:
                yield Path(name), facts
            else:
                LOG.warning("%s is matched by %r and by %r; it is read once", name, first_glob, pattern)


def glob_paths(pattern: str) -> dict[str, InputFacts | None]:
    """The files that a glob matches, sorted; a file with this very name is the only one."""
    if (url := url_of(pattern)) is None:
        if os.path.lexists(pattern):
            return {pattern: None}
        names = glob.glob(pattern, recursive=True)
        return dict.fromkeys(sorted(names, key=lambda name: name.replace(os.sep, "/")))
    with wrap_corpus_errors(url):
        return glob_urls(url)


Item = str | bytes | os.PathLike[str] | Files | BinaryIO
Corpus = Item | Iterable[Item]


def files(*globs: str | os.PathLike[str], field: str = "text") -> Files:
    """Names the files of a corpus, for `train`.

    Args:
        globs: Paths, `*`, `?`, `[…]` and `**` allowed. A file with such a name
            is taken before the glob.
        field: The field of a `.jsonl` row, or the column of a Parquet file,
            that holds the text.

    >>> import toksmith
    >>> toksmith.files("data/*.jsonl", field="content")
    Files(globs=('data/*.jsonl',), field='content')
    """
    if not globs:
        raise InvalidOption("globs", (), "at least one path or glob")
    return Files(tuple(check_path(pattern, "globs") for pattern in globs), check_text(field, "field"))


def iter_documents(corpus: Corpus) -> Iterator[str | bytes]:
    """The documents of a corpus, in order; arguments and errors as in `iter_unread`."""
    for part in iter_unread(corpus):
        yield part.text if isinstance(part, Document) else part.read()


def batch_texts(texts: Iterable[Text], size: int = 4 << 20, most: int = 1 << 16) -> Iterator[list[Text]]:
    """Lists of at most `most` texts, each with about `size` characters or bytes."""
    batch: list[Text] = []
    length = 0
    for item in texts:
        batch.append(item)
        length += len(item)
        if length >= size or len(batch) == most:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch


def iter_unread(corpus: Corpus) -> Iterator[Document | WholeFile]:
    """The documents of a corpus, in order; whole files are not read yet."""
    for number, source in enumerate(corpus_sources(corpus)):
        if isinstance(source, File):
            yield from file_documents(source)
        elif isinstance(source, WholeFile):
            yield source
        else:
            yield Document(source, None, None if isinstance(corpus, (str, bytes)) else number)


def corpus_sources(corpus: Corpus, without: Path | None = None) -> Iterator[str | bytes | WholeFile | File]:
    """The texts, open files and files of a corpus, in order, without files in the folder `without`. No file is read."""
    if isinstance(corpus, str):
        refuse_name(corpus)
    refuse_frame(corpus)
    if isinstance(corpus, (str, bytes, Files, os.PathLike)) or hasattr(corpus, "read"):
        corpus = [cast("Item", corpus)]
    real_paths: set[int] = set()
    for number, item in enumerate(corpus):
        if hasattr(item, "as_py"):  # a value of an Arrow array
            item = item.as_py()
        if isinstance(item, (str, bytes)):
            yield item
            continue
        for source in item_sources(item, number, without):
            if isinstance(source, File):
                warn_if_repeated(source, real_paths)
            yield source


def warn_if_repeated(file: File, seen: set[int]) -> None:
    """Warns if a file is listed twice. Its documents count twice."""
    # A path with a zero byte has no real path; opening it raises the error.
    name = file.real or url_of(file.path)
    name = name or (str(file.path) if "\0" in str(file.path) else os.path.realpath(file.path))
    key = hash(name)  # less than half of the memory of a name
    if key in seen:
        LOG.warning("%s is listed again; its documents are counted again", path_or_url(file.path))
    seen.add(key)


def item_sources(item: object, number: int, without: Path | None) -> Iterator[WholeFile | File]:
    if isinstance(item, Files):
        for path, facts in listed_files(item):
            yield from path_sources(path, item.field, without, facts)
    elif isinstance(item, os.PathLike):
        yield from path_sources(Path(item), "text", without)
    elif hasattr(item, "read"):
        yield WholeFile(cast("BinaryIO", item))
    else:
        raise WrongDocument(f"document {number}: expected str, bytes or a path, not {type(item).__name__}")


def path_sources(path: Path, field: str, without: Path | None, facts: InputFacts | None = None) -> Iterator[File]:
    """A file, or the text files below a folder, sorted by name; `facts` of a file that a store listed."""
    if is_inside(path, without):
        return
    if (url := url_of(path)) is not None:
        for name, listed in ({url: facts} if facts is not None else url_files(url)).items():
            if not is_inside(Path(name), without):
                yield File(Path(name), field, facts=listed)
        return
    if not os.path.isdir(path):
        refuse_binary(path)
        yield File(path, field)
        return
    real = None
    for name, real in files_in_folder(path, without):
        yield File(Path(name), field, real=real)
    if real is None:
        raise CorpusError(path, None, f"the folder contains no file ending in {IN_FOLDERS}")


def files_in_folder(folder: Path, without: Path | None) -> Iterator[tuple[str, str]]:
    """The text files below a folder, sorted by name, each with its real path. They include broken links, so that reading one
    raises an error. Only links are looked at: a listing has the kinds of all other entries."""
    left_out: list[Path] = []
    base = None if without is None else url_of(without) or os.path.realpath(without)

    def walk(place: str, real: str) -> Iterator[tuple[str, str]]:
        # There can be very many regular files, of which only the names stay in memory.
        others: dict[str, os.DirEntry[str]] = {}
        with os.scandir(place[:-1] or place or ".") as found:
            names = [keep_name(entry, others) for entry in found]
        names.sort()
        for entry_name in names:
            name, real_name, entry = place + entry_name, real + entry_name, others.pop(entry_name, None)
            is_link = entry is not None and entry.is_symlink()
            if entry is not None and entry.is_dir():
                if is_link:
                    left_out.append(Path(name))
                elif real_name != base:
                    yield from walk(name + os.sep, real_name + os.sep)
            elif name.endswith(SUFFIXES_IN_FOLDERS) and (
                entry is None or entry.is_file() or (is_link and not os.path.exists(name))
            ):
                yield name, os.path.realpath(name) if is_link else real_name
            else:
                left_out.append(Path(name))

    with wrap_corpus_errors(folder):
        yield from walk(
            *(os.path.join(top, "") for top in ("" if str(folder) == "." else str(folder), os.path.realpath(folder)))
        )
    if left_out := sorted(item for item in left_out if not is_hidden(item.relative_to(folder))):
        examples = ", ".join(map(path_or_url, left_out[:3])) + (", …" if len(left_out) > 3 else "")
        kinds = ", ".join(SUFFIXES_IN_FOLDERS)
        reason = "left out of the corpus: linked folders, and entries that are not files ending in"
        LOG.warning("%s: %s %s: %s", path_or_url(folder), reason, kinds, examples)


def keep_name(entry: os.DirEntry[str], others: dict[str, os.DirEntry[str]]) -> str:
    """The name of an entry; it is added to `others` unless it is a regular file."""
    if entry.is_symlink() or not entry.is_file(follow_symlinks=False):
        others[entry.name] = entry
    return entry.name


def is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def url_files(url: str) -> dict[str, InputFacts | None]:
    """The file at a URL, or the text files below a folder at a URL, sorted by name, with the facts that the store lists."""
    with wrap_corpus_errors(url):
        urls = files_below(url, SUFFIXES_IN_FOLDERS)
    if urls == {}:
        raise CorpusError(url, None, f"the folder contains no file ending in {IN_FOLDERS}")
    return {url: None} if urls is None else urls


def is_inside(path: Path, folder: Path | None) -> bool:
    """Whether a path is the folder, or below it."""
    if folder is None or "\0" in str(path):
        return False
    real_path, base = (url_of(item) or os.path.realpath(item) for item in (path, folder))
    return real_path == base or real_path.startswith(os.path.join(base, ""))


def kind_of(path: Path) -> str:
    """The kind of a file by its suffix: ".jsonl", ".parquet", ".arrow", or any other string for one text."""
    if path.suffix in TABLES:
        return path.suffix
    return path.with_suffix("").suffix if path.suffix in PACKED else path.suffix


def file_documents(file: File) -> Iterator[Document | WholeFile]:
    if kind_of(file.path) not in (".jsonl", *TABLES):
        yield WholeFile(file.path)
        return
    from .columns import columns_in  # imports this module

    for column in columns_in(file):
        yield from column.documents()
