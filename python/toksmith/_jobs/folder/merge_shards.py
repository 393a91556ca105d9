"""Many shards into one: the documents of jobs, one after another, as one shard of any format that tells documents apart.

Documents are copied a few MiB at a time, so that memory does not grow with the shards. The new folder has a manifest and sums, as
that of a job has, and `verify` and `shards` read it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import chain
from typing import Any

import numpy as np

from ..._base.errors import InvalidOption, JobError, UnknownName, close_names
from ..._storage.atomic_files import readable
from ..._storage.folders import Folder, folder_at
from ..plans.options import JobOptions
from ..plans.plan import JOB, versions_of
from ..sinks import SINKS, SinkRow, SinkRows, SinkSpec
from ..sinks.rows import AT_A_TIME, IDS_AT_A_TIME, DoesNotFit
from ..written import Receipt, ShardFiles, written_small
from .finish import MANIFEST, Tokenized, complete, is_finished, read_manifest, stored_facts, tokenized
from .job_files import ANY_NAME, FOLDERS, NOTE, refuse_taken
from .shard_folder import ShardFolder, shard_folder
from .verify import changed_files

__all__ = ["merge_shards"]


def merge_shards(
    folders: Sequence[str | os.PathLike[str]], folder: str | os.PathLike[str], *, to: str | None = None
) -> Tokenized:
    r"""Writes the documents of finished jobs into one shard of a new folder, in the
    order of the folders and their shards.

    A job of one shard has the same files, so it does not matter into how many a
    corpus was cut; Parquet and Arrow files may have other groups of rows. The
    same call goes on if it was stopped.

    Args:
        folders: Of finished jobs of one tokenizer, in formats that tell
            documents apart; or their URLs.
        folder: The new one; it is made if its parent exists. Or a URL.
        to: The format, as of `plan`; None for that of the first folder.
    Raises:
        FormatError: A file cannot be written.
        InvalidOption: There are no folders, or their jobs cannot be merged; the
            message says why.
        JobError: A job is not finished, a file is damaged, or the new folder
            has such files already.
        UnknownName: There is no such format.
    Cost: time as reading and writing all ids; memory for some MiB of ids, or
        the longest document.

    >>> import tempfile, toksmith
    >>> from pathlib import Path
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a", "b"):
    ...         _ = Path(folder, f"{name}.jsonl").write_text('{"text": "low"}\n{"text": "lower"}\n')
    ...         job = toksmith.plan(tok, Path(folder, f"{name}.jsonl"), f"{folder}/{name}", shard_size=16)
    ...         done = job.run(progress=False)
    ...     merged = toksmith.merge_shards([f"{folder}/a", f"{folder}/b"], f"{folder}/all", to="megatron")
    ...     merged.documents, merged.files
    (4, ('00000_text_document.bin', '00000_text_document.idx'))
    """
    place = folder_at(folder, writing=True)
    found = [opened(folder_at(each)) for each in folders]
    if not found:
        raise InvalidOption("folders", [], "at least one folder of a finished job")
    for each in found:
        if each.options["to"] == "counts":
            told = "folders of files of ids (this one has counts of pieces, which toksmith merge-counts adds up)"
            raise InvalidOption("folders", str(each.folder), told)
    to = found[0].options["to"] if to is None else to
    if to not in SINKS:
        raise UnknownName("format of files of ids", str(to), close_names(str(to), SINKS) or [*SINKS])
    refuse_unlike(found)
    row = SINKS[to]
    options = merged_options(found, row)
    place.make()
    is_new = begin(place, found, options)
    try:
        written(place, found, row, options)
    except JobError as error:
        if is_new:  # so that something else may be tried here
            place.remove([NOTE])
        if not isinstance(error, DoesNotFit):
            raise
        raise JobError(place, f"{error.problem.partition(';')[0]}; choose another format") from error
    return tokenized(place)


def begin(folder: Folder, found: Sequence[ShardFolder], options: JobOptions) -> bool:
    """Notes what is merged in a folder, so that the same call goes on after one that was stopped; False if it goes on.

    Raises:
        JobError: Something else is there, or all is done.
    """
    if folder.has(JOB):
        raise JobError(folder, "a job is planned here; name another folder")
    sources = [(each.folder.place, hashlib.sha256(content(each.folder, MANIFEST)).hexdigest()) for each in found]
    note = (json.dumps({"toksmith_merge": 1, "to": options.to, "folders": sources}, indent=1) + "\n").encode()
    is_new = not folder.has(NOTE)
    if is_new:
        refuse_taken(folder, options)
        folder.write(NOTE, note)
    elif content(folder, NOTE) != note:
        raise JobError(folder, "other shards are merged here; name another folder")
    elif is_finished(folder):
        raise JobError(folder, "these shards are merged here already; verify compares the files")
    folder.sweep(FOLDERS, ANY_NAME.fullmatch)
    return is_new


def content(folder: Folder, name: str) -> bytes:
    """The bytes of a file.

    Raises:
        FormatError: They cannot be read.
    """
    with readable(folder.at(name)):
        return folder.read(name)


def opened(folder: Folder) -> ShardFolder:
    """The shards of a finished job.

    Raises:
        JobError: It is not finished.
    """
    if not is_finished(folder):
        shard_folder(folder)  # which says what is wrong with it
        raise JobError(folder, "the job is not finished; run it again, or complete its parts with finish")
    for problem in changed_files(folder, read_manifest(folder)):
        said = f"{problem.file} {problem.problem}; verify says what is damaged, and the job has to be made again"
        raise JobError(folder, said)
    return shard_folder(folder)


def refuse_unlike(found: Sequence[ShardFolder]) -> None:
    """Raises InvalidOption for jobs whose shards cannot be merged."""
    for each in found:
        name = str(each.folder)
        if not each.row.apart:
            told = f"folders whose formats tell documents apart; {name} has to={each.row.name!r}"
            raise InvalidOption("folders", name, told)
        if each.options["pack"] is not None:
            raise InvalidOption("folders", name, f"folders without packed rows; {name} has them")
        if each.fingerprint != found[0].fingerprint:
            told = f"folders of one tokenizer; {name} has another than {found[0].folder}"
            raise InvalidOption("folders", name, told)


def merged_options(found: Sequence[ShardFolder], row: SinkRow) -> JobOptions:
    """The options of the new folder: those that all jobs have, and None for the others."""
    own = {each.name for each in fields(JobOptions)}
    options = {name: found[0].options.get(name) for name in own}
    for name in own:
        if any(each.options.get(name) != options[name] for each in found):
            options[name] = None
    # Names of documents are kept if the files of all jobs have them, and the new format has room.
    options["id_field"] = options["id_field"] if row.names and all(each.row.names for each in found) else None
    options |= {"to": row.name, "dtype": row.dtype(found[0].vocab_size)}
    return JobOptions(**{**options, "sources": False, "shuffle": None, "errors": "stop"})  # type: ignore[arg-type]


def written(folder: Folder, found: Sequence[ShardFolder], row: SinkRow, options: JobOptions) -> None:
    """Writes the shard, then the tokenizer, the manifest and the sums."""
    first = found[0]
    named = options.id_field is not None
    last = None if options.append is None else first.last()
    spec = SinkSpec(0, 1, options.dtype, first.vocab_size, first.fingerprint[:12], named, packed=False, last=last)
    documents = ids = 0
    with folder.staged() as here:
        with ShardFiles(here) as files:
            sink = row.open(files, spec)
            rows_of_all = (rows for each in found for shard in each.shards for rows in each.rows(shard))
            for rows in together(rows_of_all, options.dtype):
                documents, ids = documents + len(rows.ends), ids + len(rows.ids)
                sink.add(rows)
            sink.close()
            data = list(files.place())
        folder.publish(here, files.names)
    size = sum(shard.text_bytes for each in found for shard in each.shards)
    receipt = Receipt(0, documents, ids, size, 0, 0, {}, "", tuple(data))
    if row.finish is not None:
        data = row.finish(folder, [receipt], spec)
        kept = {each.name for each in data}
        folder.remove([name for name in files.names if name not in kept])
        if row.parts is not None:
            folder.remove_folder(row.parts)
    records = [stored_facts(folder, NOTE)]
    if first.folder.has(first.tokenizer):
        records.append(written_small(folder, first.tokenizer, content(first.folder, first.tokenizer)))
    complete(folder, facts_of_merge(found, options, receipt), data, records)


def together(parts: Iterable[SinkRows], dtype: str) -> Iterator[SinkRows]:
    """The documents in parts of some MiB, whatever the shards are, with their ids in the type of the new files."""
    held: list[SinkRows] = []
    documents = ids = 0
    for part in parts:
        held.append(part)
        documents, ids = documents + len(part.ends), ids + len(part.ids)
        if documents >= AT_A_TIME or ids >= IDS_AT_A_TIME:
            yield joined_rows(held, dtype)
            held, documents, ids = [], 0, 0
    if held:
        yield joined_rows(held, dtype)


def joined_rows(parts: Sequence[SinkRows], dtype: str) -> SinkRows:
    """Some documents as one part."""
    before = np.cumsum([0, *(len(part.ids) for part in parts[:-1])], dtype=np.uint64)
    ends = np.concatenate([part.ends + start for part, start in zip(parts, before, strict=True)])
    ids = np.concatenate([part.ids.astype(np.dtype(dtype).newbyteorder("<"), copy=False) for part in parts])
    return SinkRows(ids, ends, list(chain.from_iterable(part.names for part in parts)))


def facts_of_merge(found: Sequence[ShardFolder], options: JobOptions, receipt: Receipt) -> dict[str, Any]:
    """What the manifest says beside the files: as of a job, with the folders as inputs."""
    return {
        "fingerprint": found[0].fingerprint,
        "vocab_size": found[0].vocab_size,
        "options": {each.name: getattr(options, each.name) for each in fields(JobOptions)},
        "versions": versions_of(SINKS[options.to].libraries),
        "documents": receipt.documents,
        "ids": receipt.ids,
        "text_bytes": receipt.text_bytes,
        "empty": 0,
        "bad_rows": sum(each.bad_rows for each in found),
        "special_tokens": {},
        "inputs": [(each.folder.place, sum(shard.ids for shard in each.shards)) for each in found],
        "shards": [(receipt.documents, receipt.ids, receipt.text_bytes, receipt.text_sha256)],
    }
