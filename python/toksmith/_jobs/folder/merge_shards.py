"""Merges the shards of jobs into one shard of any format that separates documents.

Documents are copied a few MiB at a time, so that memory does not grow with the shards. The new folder has a manifest and sums
like the folder of a job, and `verify` and `shards` read it.
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

from ..._base.wording import close_names
from ..._storage.atomic_files import wrap_read_errors
from ..._storage.folders import Folder, folder_at
from ...errors import InvalidOption, JobError, UnknownName
from ..plans.options import JobOptions
from ..plans.plan import JOB, library_versions
from ..sinks import SINKS, SinkRow, SinkRows, SinkSpec
from ..sinks.rows import AT_A_TIME, IDS_AT_A_TIME, DoesNotFit
from ..written import Receipt, ShardFiles, write_small
from .finish import Tokenized, is_finished, read_finished_job, read_manifest, stored_facts, write_manifest
from .job_files import ANY_NAME, FOLDERS, MANIFEST, NOTE, refuse_foreign_files
from .shard_folder import ShardFolder, shard_folder
from .verify import changed_files


def merge(
    folders: Sequence[str | os.PathLike[str]], folder: str | os.PathLike[str], *, to: str | None = None
) -> Tokenized:
    r"""Writes the documents of finished jobs into one shard of a new folder, in the
    order of the folders and their shards.

    A job of one shard has the same files, so the number of shards of a corpus
    does not matter; Parquet and Arrow files can have other groups of rows. If
    a call was stopped, the same call continues it.

    Args:
        folders: The folders of finished jobs of one tokenizer, in formats that
            separate documents; or their URLs.
        folder: The new folder; it is made if its parent exists. Or a URL.
        to: The format, as in `plan`; None for the format of the first folder.
    Raises:
        FormatError: A file cannot be written.
        InvalidOption: There are no folders, or their jobs cannot be merged; the
            message gives the reason.
        JobError: A job is not finished, a file is damaged, or the new folder
            has such files already.
        UnknownName: There is no such format.
    Cost: the time of reading and writing all ids; memory for some MiB of ids,
        or the longest document.

    >>> import tempfile, toksmith
    >>> from pathlib import Path
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a", "b"):
    ...         _ = Path(folder, f"{name}.jsonl").write_text('{"text": "low"}\n{"text": "lower"}\n')
    ...         job = toksmith.corpus.plan(tok, Path(folder, f"{name}.jsonl"), f"{folder}/{name}", shard_size=16)
    ...         done = job.run(progress=False)
    ...     merged = toksmith.corpus.merge([f"{folder}/a", f"{folder}/b"], f"{folder}/all", to="megatron")
    ...     merged.documents, merged.files
    (4, ('00000_text_document.bin', '00000_text_document.idx'))
    """
    place = folder_at(folder, writing=True)
    sources = [open_finished(folder_at(source)) for source in folders]
    if not sources:
        raise InvalidOption("folders", [], "at least one folder of a finished job")
    for source in sources:
        if source.options["to"] == "counts":
            allowed = (
                "folders of files of ids (this one has counts of pieces, which toksmith corpus merge-counts adds up)"
            )
            raise InvalidOption("folders", str(source.folder), allowed)
    to = sources[0].options["to"] if to is None else to
    if to not in SINKS:
        raise UnknownName("format of files of ids", str(to), close_names(str(to), SINKS) or [*SINKS])
    refuse_unlike(sources)
    row = SINKS[to]
    options = merged_options(sources, row)
    place.make()
    is_new = write_merge_note(place, sources, options)
    try:
        write_merged(place, sources, row, options)
    except JobError as error:
        if is_new:  # allow another attempt in this folder
            place.remove([NOTE])
        if not isinstance(error, DoesNotFit):
            raise
        raise JobError(place, f"{error.problem.partition(';')[0]}; choose another format") from error
    return read_finished_job(place)


def write_merge_note(folder: Folder, folders: Sequence[ShardFolder], options: JobOptions) -> bool:
    """Writes a note of the merge, with which the same call can continue a stopped call; False if it continues one."""
    if folder.has(JOB):
        raise JobError(folder, "a job is planned here; name another folder")
    sources = [
        (source.folder.place, hashlib.sha256(read_content(source.folder, MANIFEST)).hexdigest()) for source in folders
    ]
    note = (json.dumps({"toksmith_merge": 1, "to": options.to, "folders": sources}, indent=1) + "\n").encode()
    is_new = not folder.has(NOTE)
    if is_new:
        refuse_foreign_files(folder, options)
        folder.write(NOTE, note)
    elif read_content(folder, NOTE) != note:
        raise JobError(folder, "other shards are merged here; name another folder")
    elif is_finished(folder):
        raise JobError(folder, "these shards are merged here already; verify compares the files")
    folder.sweep(FOLDERS, lambda name: name == NOTE or ANY_NAME.fullmatch(name))
    return is_new


def read_content(folder: Folder, name: str) -> bytes:
    with wrap_read_errors(folder.at(name)):
        return folder.read(name)


def open_finished(folder: Folder) -> ShardFolder:
    """The shards of a finished job."""
    if not is_finished(folder):
        shard_folder(folder)  # raises if the folder has no shards
        raise JobError(folder, "the job is not finished; run it again, or complete its parts with finish")
    for problem in changed_files(folder, read_manifest(folder)):
        message = f"{problem.file} {problem.problem}; verify reports the damage, and the job must be made again"
        raise JobError(folder, message)
    return shard_folder(folder)


def refuse_unlike(folders: Sequence[ShardFolder]) -> None:
    """Raises InvalidOption for jobs whose shards cannot be merged."""
    for source in folders:
        name = str(source.folder)
        if not source.row.apart:
            allowed = f"folders whose formats separate documents; {name} has to={source.row.name!r}"
            raise InvalidOption("folders", name, allowed)
        if source.options["pack"] is not None:
            raise InvalidOption("folders", name, f"folders without packed rows; {name} has them")
        if source.fingerprint != folders[0].fingerprint:
            allowed = f"folders of one tokenizer; the tokenizers of {name} and {folders[0].folder} differ"
            raise InvalidOption("folders", name, allowed)


def merged_options(folders: Sequence[ShardFolder], row: SinkRow) -> JobOptions:
    """The options of the new folder: options that all jobs share, and None for the others."""
    names = {source.name for source in fields(JobOptions)}
    options = {name: folders[0].options.get(name) for name in names}
    for name in names:
        if any(source.options.get(name) != options[name] for source in folders):
            options[name] = None
    # Names of documents are kept if the files of all jobs have them, and the new format can hold them.
    options["id_field"] = options["id_field"] if row.names and all(source.row.names for source in folders) else None
    options |= {"to": row.name, "dtype": row.dtype(folders[0].vocab_size)}
    return JobOptions(**{**options, "sources": False, "shuffle": None, "val": None, "errors": "stop"})  # type: ignore[arg-type]


def write_merged(folder: Folder, folders: Sequence[ShardFolder], row: SinkRow, options: JobOptions) -> None:
    """Writes the shard, then the tokenizer, the manifest and the sums."""
    first = folders[0]
    has_names = options.id_field is not None
    last = None if options.append is None else first.last()
    spec = SinkSpec(0, 1, options.dtype, first.vocab_size, first.fingerprint[:12], has_names, packed=False, last=last)
    documents = ids = 0
    with folder.staging_folder() as local:
        with ShardFiles(local) as files:
            sink = row.open(files, spec)
            rows_of_all = (rows for source in folders for shard in source.shards for rows in source.rows(shard))
            for rows in regroup_rows(rows_of_all, options.dtype):
                documents, ids = documents + len(rows.ends), ids + len(rows.ids)
                sink.add(rows)
            sink.close()
            data = list(files.place())
        folder.publish(local, files.names)
    size = sum(shard.text_bytes for source in folders for shard in source.shards)
    receipt = Receipt(0, documents, ids, size, 0, 0, {}, "", tuple(data))
    if row.finish is not None:
        data = row.finish(folder, [receipt], spec)
        result_names = {source.name for source in data}
        folder.remove([name for name in files.names if name not in result_names])
        if row.parts is not None:
            folder.remove_folder(row.parts)
    records = [stored_facts(folder, NOTE)]
    if first.folder.has(first.tokenizer):
        records.append(write_small(folder, first.tokenizer, read_content(first.folder, first.tokenizer)))
    write_manifest(folder, facts_of_merge(folders, options, receipt), data, records)


def regroup_rows(parts: Iterable[SinkRows], dtype: str) -> Iterator[SinkRows]:
    """The documents in parts of some MiB that do not depend on the shards, with their ids in the type of the new files."""
    pending: list[SinkRows] = []
    documents = ids = 0
    for part in parts:
        pending.append(part)
        documents, ids = documents + len(part.ends), ids + len(part.ids)
        if documents >= AT_A_TIME or ids >= IDS_AT_A_TIME:
            yield concat_rows(pending, dtype)
            pending, documents, ids = [], 0, 0
    if pending:
        yield concat_rows(pending, dtype)


def concat_rows(parts: Sequence[SinkRows], dtype: str) -> SinkRows:
    before = np.cumsum([0, *(len(part.ids) for part in parts[:-1])], dtype=np.uint64)
    ends = np.concatenate([part.ends + start for part, start in zip(parts, before, strict=True)])
    ids = np.concatenate([part.ids.astype(np.dtype(dtype).newbyteorder("<"), copy=False) for part in parts])
    return SinkRows(ids, ends, list(chain.from_iterable(part.names for part in parts)))


def facts_of_merge(folders: Sequence[ShardFolder], options: JobOptions, receipt: Receipt) -> dict[str, Any]:
    """The facts of the manifest, without the files: as for a job, with the folders as inputs."""
    return {
        "fingerprint": folders[0].fingerprint,
        "vocab_size": folders[0].vocab_size,
        "options": {source.name: getattr(options, source.name) for source in fields(JobOptions)},
        "versions": library_versions(SINKS[options.to].libraries),
        "documents": receipt.documents,
        "ids": receipt.ids,
        "text_bytes": receipt.text_bytes,
        "empty": 0,
        "bad_rows": sum(source.bad_rows for source in folders),
        "special_tokens": {},
        "inputs": [(source.folder.place, sum(shard.ids for shard in source.shards)) for source in folders],
        "shards": [(receipt.documents, receipt.ids, receipt.text_bytes, receipt.text_sha256)],
    }
