"""The texts of the questions, prepared in the scratch folder: all documents in one UTF-8 file, their ends in another.

A worker reads them without decompressing or parsing, so that only the engine is measured. `limit` caps a text in bytes
of whole documents; every engine of a cell gets the same documents.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sysconfig
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path

from . import hostile
from .places import data, scratch, write_whole

CORPORA = ("english", "code", "chinese", "japanese", "korean", "russian", "hindi", "arabic", "european")
FALLBACK = "stdlib"
STREAM = "stream"
NINE = "nine corpora"
GREETING = "hello"
TURNS = (2, 8, 32, 128)  # of a conversation
SHORT = {"short20": 20, "short200": 200}
SHORT_STRINGS = 20_000
MB = 1_000_000


class Missing(Exception):
    """A text is not available on this machine; the message says what is missing."""


@dataclass(frozen=True)
class TextFile:
    """A text in the scratch folder."""

    name: str
    path: str
    documents: int
    bytes: int

    def load(self, share: tuple[int, int] = (0, 1)) -> list[str]:
        """The documents, or one of several parts of about equal size: `share` is its number and the number of parts."""
        content = Path(self.path).read_bytes()
        ends = self.ends()
        place, parts = share
        first, last = (bisect_right(ends, self.bytes * cut // parts) if cut else 0 for cut in (place, place + 1))
        spans = zip([0, *ends[:-1]], ends, strict=True)
        return [content[start:end].decode("utf-8") for start, end in islice(spans, first, last)]

    def stream(self) -> Iterator[str]:
        """The documents one by one; only one is in memory."""
        start = 0
        with Path(self.path).open("rb") as file:
            for end in self.ends():
                yield file.read(end - start).decode("utf-8")
                start = end

    def ends(self) -> array[int]:
        """The end of each document in bytes."""
        ends = array("Q")
        ends.frombytes(Path(self.path).with_suffix(".ends").read_bytes())
        return ends


def lay_out_text(name: str, limit: int) -> TextFile:
    """A text by name, written if it does not exist.

    Args:
        name: A corpus, "stream", "nine corpora", "short20", "short200", "stdlib", "file:PATH", or a name of `hostile`.
        limit: The maximum bytes of whole documents, but at least one document; ignored for hostile and short texts.
    """
    stamp = hashlib.sha256(f"{name} {limit} {source_stamp(name)}".encode()).hexdigest()[:12]
    path = scratch("texts") / f"{Path(name).name.replace(':', '-')}-{stamp}.utf8"
    about = path.with_suffix(".json")
    if not about.is_file():
        write_whole(about, json.dumps(asdict(write(name, path, limit_documents(documents(name), limit)))).encode())
    return TextFile(**json.loads(about.read_text(encoding="utf-8")))


def write(name: str, path: Path, texts: Iterable[str]) -> TextFile:
    """Write the documents and their ends."""
    parts = [text.encode("utf-8", "replace") for text in texts]
    ends, total = array("Q"), 0
    for part in parts:
        total += len(part)
        ends.append(total)
    write_whole(path, b"".join(parts))
    write_whole(path.with_suffix(".ends"), ends.tobytes())
    return TextFile(name, str(path), len(parts), total)


def limit_documents(texts: Iterable[str], limit: int) -> Iterator[str]:
    """Documents until the next one would exceed the limit."""
    total = 0
    for text in texts:
        size = len(text.encode("utf-8", "replace"))
        if total and total + size > limit:
            return
        total += size
        yield text


def source_stamp(name: str) -> str:
    """A stamp that changes with the source file of a text."""
    if name.startswith("file:"):
        paths = [Path(name.removeprefix("file:"))]
    else:
        several = {STREAM: ("english", "code"), NINE: CORPORA} | dict.fromkeys(SHORT, ("english",))
        unbroken = name.startswith(hostile.UNBROKEN)
        corpora = ("chinese",) if unbroken else several.get(name, (name,))
        paths = [corpus_path(corpus) for corpus in corpora]
    return " ".join(f"{path.stat().st_size} {path.stat().st_mtime_ns}" for path in paths if path.is_file())


def documents(name: str) -> Iterable[str]:
    """The documents of a text, from their source."""
    if name.startswith("file:"):
        return file_documents(Path(name.removeprefix("file:")))
    if name == FALLBACK:
        return stdlib_documents()
    if name == STREAM:
        return alternate(corpus_documents("english"), corpus_documents("code"))
    if name == NINE:
        return chain.from_iterable(map(corpus_documents, CORPORA))
    if name in SHORT:
        return short_strings(SHORT[name])
    if name == GREETING:
        return ["hello world"]
    kind, _, size = name.rpartition("-")
    if kind in hostile.KINDS:
        return [hostile.text(name)]
    if kind == hostile.UNBROKEN:
        return [hostile.chinese_run(corpus_documents("chinese"), int(size))]
    return corpus_documents(name)


def corpus_path(name: str) -> Path:
    """The file of a corpus."""
    return data() / "corpora" / f"{name}.jsonl.gz"


def corpus_documents(name: str) -> Iterable[str]:
    """The documents of a corpus."""
    path = corpus_path(name)
    if path.is_file():
        return file_documents(path)
    raise Missing(f"no {path}; name a folder with corpora/ and vocab/ in TOKSMITH_TEST_DATA")


def file_documents(path: Path) -> Iterator[str]:
    """The documents of a file: each row's `text` of JSON lines; any other file is one document; `.gz` is unpacked."""
    if not path.is_file():
        raise Missing(f"no file {path}")
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        if ".jsonl" in path.suffixes:
            for line in file:
                yield json.loads(line)["text"]
        else:
            yield file.read().decode("utf-8", "replace")


def stdlib_documents() -> Iterator[str]:
    """The sources of Python's own library, in the order of their paths."""
    folder = Path(sysconfig.get_path("stdlib"))
    for path in sorted(folder.rglob("*.py")):
        if "site-packages" not in path.parts:
            yield path.read_text(encoding="utf-8", errors="replace")


def alternate(first: Iterable[str], second: Iterable[str]) -> Iterator[str]:
    """Documents of two corpora alternately, and the rest of the longer one."""
    for pair in zip_longest(first, second):
        yield from (text for text in pair if text is not None)


def short_strings(size: int) -> Iterator[str]:
    """Consecutive strings of about `size` characters, cut at spaces, from English or its replacement."""
    remaining = SHORT_STRINGS
    for document in corpus_documents("english") if corpus_path("english").is_file() else stdlib_documents():
        start = 0
        while (end := document.find(" ", start + size)) > 0 and remaining:
            if end - start < 2 * size:
                yield document[start:end]
                remaining -= 1
            start = end
        if not remaining:
            return
