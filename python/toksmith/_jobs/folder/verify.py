"""Compares the files of a finished job with its manifest, and on request with the texts."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.arguments import check_flag, check_int
from ..._base.threads import thread_count
from ..._base.wording import number_of
from ..._model.model import Model, is_regex_split
from ..._storage.folders import Folder, LocalFolder, folder_at
from ..._storage.temporary_folder import temporary_folder
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import FormatError, InvalidOption, JobError, ToksmithError
from ..make.run_shard import make_shard, open_job, sink_spec
from ..one_file import special_id
from ..plans.plan import JOB, Plan, WorkerLimits
from ..sinks import EVERY_ROW, UNREADABLE
from ..written import WrittenFile, facts_of_file
from .finish import read_manifest, sink_files, subfolder_of, sum_lines
from .job_files import EXTRA_FOLDERS, MANIFEST, NOTE, SUMS, names_of_shard


class FileDifference(NamedTuple):
    """A difference from the state that was written.

    Attributes: `file` or None; `shard` or None; `document` of the shard, counted from 0, or None; `problem`.
    """

    file: str | None
    shard: int | None
    document: int | None
    problem: str

    def __str__(self) -> str:
        parts = [self.file or "", "" if self.shard is None else f"shard {self.shard}"]
        parts += ["" if self.document is None else f"document {self.document}", self.problem]
        return ": ".join(part for part in parts if part)


@dataclass(frozen=True)
class Verified:
    """The result of `verify`.

    Attributes: `files`, the number of files whose sha256 was compared;
    `decoded` and `encoded`, the numbers of shards whose ids were decoded, or
    whose texts were encoded again; `differences`, empty if nothing changed.
    """

    files: int
    decoded: int
    encoded: int
    differences: tuple[FileDifference, ...]

    @property
    def ok(self) -> bool:
        """Whether `differences` is empty."""
        return not self.differences

    def __str__(self) -> str:
        if self.differences:
            return "\n".join(map(str, self.differences))
        summary = f"{number_of(self.files, 'file')} as written"
        for count, action in ((self.decoded, "decoded"), (self.encoded, "encoded again")):
            summary += f"; {number_of(count, 'shard')} {action}, all texts and ids equal" if count else ""
        return summary


def verify(
    folder: str | os.PathLike[str],
    *,
    decode: bool = False,
    source: bool = False,
    sample: int | None = None,
    threads: int | None = None,
) -> Verified:
    """Compares the files of a finished job with its manifest, and on request with
    the texts.

    Args:
        folder: The folder of the job, or its URL.
        decode: Whether to decode the ids and compare the texts with
            `text_sha256`. It needs a lossless tokenizer, and a format that
            separates documents.
        source: Whether to encode the input files again and compare all ids.
        sample: The number of shards to decode or encode, evenly spread; None
            for all.
        threads: At least 1; None for all processors.
    Raises:
        CorpusError: With `source`, an input cannot be read or was changed.
        FormatError: A store does not answer.
        InvalidOption: The job cannot be decoded, or encoded again; the message
            gives the reason.
        JobError: The job is not finished; with `decode` or `source`, a library
            or the tokenizer differs from the plan.
    Cost: reads all files once; with `source`, the time of the job.
    """
    place = folder_at(folder)
    check_flag(decode, "decode")
    check_flag(source, "source")
    if sample is not None and check_int(sample, "sample") < 1:
        raise InvalidOption("sample", sample, "at least 1, or None for all shards")
    try:
        manifest = read_manifest(place)
    except JobError as error:
        if not place.exists() or not {MANIFEST, SUMS} <= {*place.names(())}:
            raise
        name, _, problem = error.problem.partition(";")[0].partition(" ")
        return Verified(0, 0, 0, (FileDifference(name, None, None, problem),))
    known = Verified(len(manifest["files"]) + len(manifest["records"]) + 1, 0, 0, ())
    differences = list(changed_records(place, manifest))
    if differences or not (decode or source):
        return replace(known, differences=(*differences, *changed_shards(place, manifest)))
    if not place.has(JOB) and place.has(NOTE):
        message = "False: these shards were merged, and only the sums of their files can be compared; verify the folders before"
        raise InvalidOption("source" if source else "decode", True, message)
    plan, tok = open_job(place)
    if decode:
        refuse_decoding(plan, tok)
    if source:
        refuse_encoding(plan, sample)
    differences = list(changed_shards(place, manifest))
    count = len(plan.shards)
    if count != len(manifest["shards"]):
        message = f"{MANIFEST} has {number_of(len(manifest['shards']), 'shard')}, {JOB} has {count:,}"
        raise JobError(place, f"{message}; plan the job again with force=True")
    most = count if sample is None else min(sample, count)
    numbers = [number * count // most for number in range(most)]
    names = [file.name for file in manifest["files"]]
    if decode and not differences:
        for number in numbers:
            with place.fetch_files(names_of_shard(plan.options.to, names, number)) as local:
                differences += compare_decoded(local, plan, tok, number, manifest["shards"][number])
    if source and EVERY_ROW[plan.options.to].parts is not None:
        differences += compare_joined(plan, tok, manifest["files"], WorkerLimits(thread_count(threads)))
    elif source:
        for number in numbers:
            with place.fetch_files(names_of_shard(plan.options.to, names, number)) as local:
                differences += compare_encoded(local, plan, tok, number, WorkerLimits(thread_count(threads)))
    return replace(
        known,
        decoded=len(numbers) if decode else 0,
        encoded=len(numbers) if source else 0,
        differences=tuple(differences),
    )


def changed_files(folder: Folder, manifest: dict[str, Any]) -> Iterator[FileDifference]:
    """The differences of all files of a folder from its manifest."""
    yield from changed_records(folder, manifest)
    yield from changed_shards(folder, manifest)


def changed_shards(folder: Folder, manifest: dict[str, Any]) -> Iterator[FileDifference]:
    """The differences of the files of the result from the manifest."""
    for known in manifest["files"]:
        if (problem := file_problem(folder, known)) is not None:
            yield FileDifference(known.name, None, None, problem)


def changed_records(folder: Folder, manifest: dict[str, Any]) -> Iterator[FileDifference]:
    """The differences of the records from the manifest, and of the manifest and the list of sums from each other."""
    for known in manifest["records"]:
        if (problem := file_problem(folder, known)) is not None:
            yield FileDifference(known.name, None, None, problem)
    with folder.fetch_files([MANIFEST]) as local:
        manifest_facts = facts_of_file(MANIFEST, local / MANIFEST)
    try:
        sums = folder.read(SUMS)
    except OSError as problem:
        yield FileDifference(SUMS, None, None, f"cannot be read: {problem.strerror or problem}")
        return
    if sum_lines([manifest_facts]).encode() not in sums:
        message = f"is not the file whose sum {SUMS} lists: one of the two was changed"
        yield FileDifference(MANIFEST, None, None, message)
    elif sums != sum_lines([*manifest["files"], *manifest["records"], manifest_facts]).encode():
        yield FileDifference(SUMS, None, None, f"does not list the files of {MANIFEST} with their sums")


def file_problem(folder: Folder, known: WrittenFile) -> str | None:
    """The problem of a file; None if it has not changed since it was written."""
    try:
        with folder.fetch_files([known.name]) as local:
            size = os.lstat(local / known.name).st_size
            if size != known.bytes:
                return f"has {size:,} bytes, {known.bytes:,} were written"
            return (
                None if facts_of_file(known.name, local / known.name) == known else "has changed since it was written"
            )
    except FileNotFoundError:
        return "is missing"
    except OSError as problem:
        return f"cannot be read: {problem.strerror}"
    except (FormatError, JobError) as error:
        return error.problem.removeprefix(f"{known.name} ")


def refuse_decoding(plan: Plan, tok: Tokenizer | None) -> None:
    """Raises InvalidOption if the texts cannot be decoded from the files."""
    instead = "False; use source=True, which encodes the texts again"
    if not EVERY_ROW[plan.options.to].apart:
        raise InvalidOption("decode", True, f"{instead}: to={plan.options.to!r} does not separate documents")
    if plan.options.pack is not None:
        raise InvalidOption("decode", True, f"{instead}: packing cuts documents")
    if tok is None or not is_lossless(tok.model):
        raise InvalidOption("decode", True, f"{instead}: this tokenizer changes texts")


def refuse_encoding(plan: Plan, sample: int | None) -> None:
    """Raises InvalidOption if the texts, or a sample of them, cannot be encoded again."""
    if plan.options.shuffle is not None:
        raise InvalidOption("source", True, "False, because the first round of a shuffle is not kept; use decode=True")
    if sample is not None and EVERY_ROW[plan.options.to].parts is not None:
        allowed = f"None, because to={plan.options.to!r} puts several shards into one file"
        raise InvalidOption("sample", sample, allowed)


def is_lossless(model: Model) -> bool:
    """Whether decoding restores every text; also False for some models that are lossless."""
    splits = all(is_regex_split(step) and step["behavior"] == "isolated" for step in model.splitters)
    plain = not any(token.lstrip or token.rstrip or token.single_word for token in model.added_tokens)
    return model.kind == "bpe" and model.unit == "byte" and not model.normalizers and splits and plain


def compare_decoded(
    folder: Path, plan: Plan, tok: Tokenizer | None, number: int, facts: list[Any]
) -> Iterator[FileDifference]:
    """Compares the ids of a shard, decoded, with the sum of its texts."""
    if tok is None:
        return
    first, last = (
        None if content is None else special_id(tok, content) for content in (plan.options.prepend, plan.options.append)
    )
    digest, count = hashlib.sha256(), 0
    documents = EVERY_ROW[plan.options.to].documents(folder, sink_spec(plan, tok, number + plan.final.start))
    if not facts[1]:  # a shard without ids may have no files
        documents = itertools.repeat(np.empty(0, np.uint32), facts[0])
    for ids in documents:
        try:
            digest.update(hashlib.sha256(tok.decode_bytes(strip_ends(ids, first, last).tolist())).digest())
        except (ToksmithError, ValueError) as problem:
            yield FileDifference(None, number, count, str(problem))
            return
        count += 1
    if (count, digest.hexdigest()) != (facts[0], facts[3]):
        message = f"{number_of(count, 'document')} whose texts are not those that were read"
        yield FileDifference(None, number, None, f"{message} ({facts[0]:,}); source=True finds the document")


def strip_ends(ids: NDArray[Any], first: int | None, last: int | None) -> NDArray[Any]:
    """The ids of a text, without the ids around it; ValueError if these are missing."""
    if not len(ids):
        return ids
    if (first is not None and ids[0] != first) or (last is not None and ids[-1] != last):
        raise ValueError("does not begin and end with the ids that were put around it")
    return ids[first is not None : len(ids) - (last is not None)]


def compare_encoded(
    folder: Path, plan: Plan, tok: Tokenizer | None, number: int, room: WorkerLimits
) -> Iterator[FileDifference]:
    with temporary_folder() as new:
        for file in make_shard(plan, tok, number, LocalFolder(new), room).files:
            if file_problem(LocalFolder(folder), file) is not None:
                document = differing_document(folder, new, plan, tok, number)
                yield FileDifference(file.name, number, document, "is not what the texts encode to")


def compare_joined(
    plan: Plan, tok: Tokenizer | None, known: Sequence[WrittenFile], room: WorkerLimits
) -> Iterator[FileDifference]:
    """Like `compare_encoded` for files that have the ids of several shards: makes all of these shards again."""
    finish = EVERY_ROW[plan.options.to].finish
    with temporary_folder() as new:
        copy = LocalFolder(new)
        receipts = [make_shard(plan, tok, number, copy, room) for number in plan.final]
        final = [replace(receipt, files=sink_files(receipt)) for receipt in receipts]
        files = finish(copy, final, sink_spec(plan, tok, 0)) if finish is not None else []
        files += [file for receipt in receipts for file in receipt.files if subfolder_of(file) in EXTRA_FOLDERS]
        for file in files:
            if file not in known:
                yield FileDifference(file.name, None, None, "is not what the texts encode to")


def differing_document(folder: Path, other: Path, plan: Plan, tok: Tokenizer | None, number: int) -> int | None:
    """The first document of a shard that differs; None if it cannot be found."""
    row, spec = EVERY_ROW[plan.options.to], sink_spec(plan, tok, number)
    try:
        for place, (first, second) in enumerate(
            zip(row.documents(folder, spec), row.documents(other, spec), strict=False)
        ):
            if not np.array_equal(first, second):
                return place
    except UNREADABLE:
        return None
    return None
