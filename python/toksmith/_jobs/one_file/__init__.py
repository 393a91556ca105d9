"""Encodes a corpus to one file of ids, with a second file for the ends of its documents and a manifest of both.

Documents are read, encoded and written a few MiB at a time, in order: some threads prefetch files, others encode one block
each, and one thread writes the results. A document that is a whole file is also encoded in parts, if its pattern allows it
(`Tokenizer.encode_file`). This is the simplest case of a job, without a plan and shards.

The manifest shows whether files are from the same run. It is JSON. For the ids and for the ends it has the name and size of
the file, the dtype and number of its values, and the SHA-256 of the values, which follow the header of 128 bytes. It is
written last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._base.paths import check_regular, describe_error, read_file
from ..._base.threads import thread_count
from ..._corpus import Corpus, Document, WholeFile
from ..._corpus.blocks import LARGE_BYTES, JsonRows, Problem, TableRows, TextChunk, Texts, blocks_and_files
from ..._corpus.blocks import Block as CorpusBlock
from ..._corpus.columns import TextColumn, column_of
from ..._corpus.encode_files import Block, iter_encoded_blocks, wrap_documents
from ..._corpus.prefetch import map_ordered, write_in_background
from ..._render.progress import Progress, Reporter
from ..._storage.atomic_files import AtomicFiles, current_path, finish_renames, lock_renamed, wrap_write_errors
from ..._tokenizer.results import Ragged
from ..._tokenizer.tokenizer import Special, Tokenizer
from ...errors import (
    CorpusError,
    FormatError,
    InvalidOption,
    NotInVocabulary,
    PatternError,
    SpecialTokenInText,
    TextTooLong,
    UnknownName,
)
from ..written import HEADER_BYTES, GrowingArray, read_npy_values

BYTES_IN_A_BLOCK = 1 << 26
NO_IDS = np.empty(0, np.uint32)
TEXT_ERRORS = (SpecialTokenInText, NotInVocabulary, PatternError, TextTooLong)
VERSION = 1
DTYPES = {"ids": ("uint16", "uint32"), "ends": ("uint64",)}
Facts = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class EncodedCorpus:
    """The files that `encode` wrote.

    Attributes: `path` of the ids and `ends_path` of the documents' ends;
    `dtype` of the ids, "uint16" or "uint32"; `documents`; `ids`, the number of
    ids, including appended ones.
    """

    path: Path
    ends_path: Path
    dtype: str
    documents: int
    ids: int

    @staticmethod
    def at(path: str | os.PathLike[str]) -> EncodedCorpus:
        """The files that `encode` wrote to this path, by their manifest.

        Raises:
            FormatError: There is no manifest, or it describes other files.
        """
        path = Path(path)
        if not path.name:
            raise InvalidOption("path", os.fspath(path), "the name of a file")
        facts = read_manifest(path)
        ids, ends = facts["ids"], facts["ends"]
        return EncodedCorpus(path, ends_path(path), ids["dtype"], ends["count"], ids["count"])

    def read(self) -> Ragged:
        """The ids of all documents, read from both files and compared with the
        checksums in the manifest.

        Both files are from one run, even if that run or an earlier one was
        killed.

        Raises:
            FormatError: A file is missing, or does not match the manifest.
        Cost: one pass over both files, and the memory of all ids as uint32.

        >>> import tempfile, toksmith
        >>> tok = toksmith.train("low lower lowest", merges=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = toksmith.corpus.encode(tok, ["lower", "low"], f"{folder}/ids.npy")
        ...     toksmith.corpus.EncodedCorpus.at(f"{folder}/ids.npy").read()[0].tolist() == tok.encode("lower")
        True
        """
        return read_ragged(self.path)


def encode(
    tok: Tokenizer,
    corpus: Corpus,
    path: str | os.PathLike[str],
    *,
    append: str | None = None,
    dtype: Literal["auto", "uint16", "uint32"] = "auto",
    special: Special = "raise",
    threads: int | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
) -> EncodedCorpus:
    """Writes the ids of a corpus to `path`, and the ends of its documents to a
    file next to it, both for `numpy.load`.

    The ids of document i are `ids[ends[i - 1]:ends[i]]`. For `ids.npy` the ends
    are in `ids.ends.npy`, and `ids.manifest.json` has the checksums of both.
    The files are renamed into place when all are complete; until then, and if
    anything fails, existing files stay unchanged. `EncodedCorpus.read` returns
    files of one run, even if the process died during the renames; the next run
    finishes them, and removes leftovers of a killed run. `path` can be a link;
    the other two files must not be links.

    Args:
        corpus: As in `train`. A `.txt` file is one document, a `.jsonl` file
            has one per row, an open file (in binary mode) is one document.
        append: A special token whose id ends every document.
        dtype: "uint16" is refused if the tokenizer has an id above 65,535,
            whether it occurs or not; "auto" selects it if possible.
        special: What happens to special tokens in the documents, as in
            `Tokenizer.encode`.
        threads: At least 1; None for all processors. The files do not depend on
            it.
        progress: None draws a bar on a terminal, False draws nothing, a
            callable gets `Progress` values.
    Returns: the written files. The ends are uint64, shape (documents,).
    Raises:
        CorpusError: A file cannot be read, or a document cannot be encoded (the
            reason is its cause).
        FormatError: The files cannot be written.
        InvalidOption: The ids do not fit uint16, or the name does not end in
            `.npy`.
        UnknownName: `append` is not a special token.
    Cost: the time of encoding. Memory of at most 300 MB, 64 MB for each thread,
        and 12 times the longest row or text in memory; a `.txt` file is encoded
        in parts. It takes no `max_memory`; `plan` does, and needs less for a
        long row.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, special_tokens=["<|end|>"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = toksmith.corpus.encode(tok, ["lower", "", "low"], f"{folder}/ids.npy", append="<|end|>")
    ...     np.load(written.path), np.load(written.ends_path)
    (array([257, 101, 114, 259, 259, 257, 259], dtype=uint16), array([4, 5, 7], dtype=uint64))
    """
    path = Path(path)
    if path.suffix != ".npy":
        raise InvalidOption("path", str(path), "a name that ends in .npy")
    dtype_name = resolve_dtype(tok, dtype)
    last = np.array([] if append is None else [special_id(tok, append)], dtype=np.uint32)
    threads = thread_count(threads)
    reporter = Reporter(progress)
    with reporter.drawn(), AtomicFiles(output_paths(path), named=1) as group:
        ids = GrowingArray(group, path, dtype_name)
        ends = GrowingArray(group, ends_path(path), "uint64")

        def write(block: Block) -> None:
            block_ids, block_ends = wrap_documents(block, NO_IDS, last)
            ends.append(block_ends + np.uint64(ids.count))
            ids.append(block_ids)

        for _ in write_in_background(encode_corpus_blocks(tok, corpus, special, threads), write):
            reporter.report("encoding", ids.count, None)
        manifest = group.add(manifest_path(path))
        with wrap_write_errors(manifest.path):
            facts = {"toksmith_ids": VERSION, "ids": ids.finish(), "ends": ends.finish()}
            manifest.file.write((json.dumps(facts, indent=1) + "\n").encode())
        group.place()
    return EncodedCorpus(path, ends_path(path), dtype_name, ends.count, ids.count)


def resolve_dtype(tok: Tokenizer, dtype: str) -> str:
    if dtype not in ("auto", "uint16", "uint32"):
        raise InvalidOption("dtype", dtype, "'auto', 'uint16' or 'uint32'")
    fits = tok.vocab_size <= 1 << 16
    if dtype == "uint16" and not fits:
        largest = f"the tokenizer's largest id is {tok.vocab_size - 1}, but uint16 ends at 65535"
        raise InvalidOption("dtype", dtype, f"'uint32' or 'auto': {largest}")
    if dtype == "auto":
        return "uint16" if fits else "uint32"
    return dtype


def special_id(tok: Tokenizer, content: str) -> int:
    if (id := tok.special_tokens.get(content)) is None:
        raise UnknownName("special token", content, sorted(tok.special_tokens)[:5])
    return id


def encode_corpus_blocks(
    tok: Tokenizer, corpus: Corpus, special: Special, threads: int
) -> Generator[Block, None, None]:
    """The ids of a corpus in order, each block with the ends of the documents that end in it."""
    sources = blocks_and_files(corpus, threads, skip=True, whole=True)
    with closing(map_ordered(partial(encode_any_block, tok, special), sources, threads, is_large)) as results:
        for parts in results:
            yield from parts


def encode_any_block(tok: Tokenizer, special: Special, block: CorpusBlock | WholeFile, threads: int) -> Iterable[Block]:
    """The ids of a block; a whole file is encoded lazily."""
    if isinstance(block, Problem):
        raise block.problem
    if isinstance(block, WholeFile):
        return encode_whole_file(tok, block, special, threads)
    if isinstance(block, Texts):
        return [encode_texts(tok, block, special, threads)]
    if isinstance(block, TextChunk):
        raise TypeError("a whole file is not read in stretches here")
    column = column_of(block, threads)
    ids = encode_column(tok, column.good() if column.bad else column, special, threads)
    column.refuse_bad()
    return [ids]


def is_large(block: CorpusBlock | WholeFile) -> bool:
    """Whether a block has a document that is large enough for all threads."""
    return isinstance(block, WholeFile) or (
        isinstance(block, (Texts, JsonRows, TableRows)) and block.size > LARGE_BYTES
    )


def encode_whole_file(tok: Tokenizer, file: WholeFile, special: Special, threads: int) -> Iterator[Block]:
    try:
        yield from iter_encoded_blocks(
            tok._engine, file.source, special=special, threads=threads, limit=BYTES_IN_A_BLOCK
        )
    except TEXT_ERRORS as error:
        name = file.source if isinstance(file.source, Path) else getattr(file.source, "name", "the open file")
        raise CorpusError(name, None, str(error)) from error


def encode_column(tok: Tokenizer, some: TextColumn, special: Special, threads: int) -> Block:
    try:
        return tok._engine.encode_block(some.texts, special, threads)
    except TEXT_ERRORS as error:
        raise first_document_error(tok, some.documents(), special) or error from error


def encode_texts(tok: Tokenizer, some: Texts, special: Special, threads: int) -> Block:
    try:
        ragged = tok.encode_ragged(some.texts, special=special, threads=threads)
    except TEXT_ERRORS as error:
        documents = (Document(text, *place) for text, place in zip(some.texts, some.places, strict=True))
        raise first_document_error(tok, documents, special) or error from error
    return ragged.ids, ragged.ends


def first_document_error(tok: Tokenizer, documents: Iterable[Document], special: Special) -> CorpusError | None:
    """The error of the first document that cannot be encoded, found by encoding them one at a time."""
    for document in documents:
        try:
            tok.encode_array(document.text, special=special)
        except TEXT_ERRORS as error:
            problem = CorpusError(document.path, document.record, str(error))
            problem.__cause__ = error
            return problem
    return None


def ends_path(path: Path) -> Path:
    return path.with_suffix(".ends.npy")


def manifest_path(path: Path) -> Path:
    return path.with_suffix(".manifest.json")


def output_paths(path: Path) -> tuple[Path, Path, Path]:
    return path, ends_path(path), manifest_path(path)


def read_manifest(path: Path) -> Facts:
    """The entries of the manifest for the ids at `path` and for their ends."""
    return parse_manifest(path, finish_renames(output_paths(path)))


def parse_manifest(path: Path, waiting: dict[str, str]) -> Facts:
    """The entries of the manifest; `waiting` is the result of `finish_renames`."""
    place = manifest_path(path)
    data = read_file(current_path(place, waiting))
    try:
        value = json.loads(data)
        if value.pop("toksmith_ids") != VERSION:
            raise ValueError(f"its version is not {VERSION}")
        for name, file_name in (("ids", path.name), ("ends", ends_path(path).name)):
            facts = value[name]
            count, size = facts["count"], facts["bytes"]
            is_valid = type(count) is int and 0 <= count < 1 << 60 and facts["dtype"] in DTYPES[name]
            if not is_valid or size != HEADER_BYTES + count * np.dtype(facts["dtype"]).itemsize:
                raise ValueError(f"its entry for the {name} is impossible")
            if facts["name"] != file_name or not isinstance(facts["values_sha256"], str):
                raise ValueError(
                    f"it describes {str(facts['name'])[:100]!r}, not {file_name!r}; the files must keep their names"
                )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        message = f"is not a manifest of ids: {str(problem)[:200]}; write the files again with corpus.encode"
        raise FormatError(place, None, message) from None
    entries: Facts = value
    return entries


def read_ragged(path: Path) -> Ragged:
    """The ids at `path` with their ends, both from one run."""
    try:
        return read_pair(path, finish_renames(output_paths(path)))
    except FormatError:
        # Another run may have replaced the files during the read. While this process holds the folder, no run can.
        with lock_renamed(output_paths(path)) as pending:
            return read_pair(path, pending)


def read_pair(path: Path, waiting: dict[str, str]) -> Ragged:
    """Like `read_ragged`, while no other run replaces the files; `waiting` is the result of `finish_renames`."""
    facts = parse_manifest(path, waiting)
    ids = read_checked_values(path, facts["ids"], waiting)
    ends = read_checked_values(ends_path(path), facts["ends"], waiting)
    last = int(ends[-1]) if len(ends) else 0
    if last != len(ids) or not (ends[:-1] <= ends[1:]).all():
        raise FormatError(ends_path(path), None, f"its values do not ascend to the number of ids, {len(ids)}")
    return Ragged(ids.astype(np.uint32, copy=False), ends.astype(np.uint64, copy=False))


def read_checked_values(path: Path, facts: dict[str, Any], waiting: dict[str, str]) -> NDArray[Any]:
    """Reads the values of a file, and checks them against the manifest."""
    try:
        check_regular(current_path(path, waiting))  # opening a pipe would wait for a writer
        with open(current_path(path, waiting), "rb") as file:
            content = read_npy_values(file, facts["dtype"], facts["count"])
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {describe_error(error, path)}") from error
    if content is None or content[1] != facts["values_sha256"]:
        problem = "is not the file that its manifest describes"
        raise FormatError(path, None, f"{problem}; write the files again with corpus.encode")
    return content[0]
