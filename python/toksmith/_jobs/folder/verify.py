"""Whether the files of a finished job are what the job wrote, and whether they are what the texts say."""

from __future__ import annotations

import hashlib
import itertools
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.arguments import flag, whole_number
from ..._base.errors import FormatError, InvalidOption, JobError, ToksmithError, number_of
from ..._base.threads import thread_count
from ..._model.model import Model, is_regex_split
from ..._storage.folders import Folder, LocalFolder, folder_at
from ..._tokenizer.tokenizer import Tokenizer
from ..make.run_shard import make_shard, opened_job, spec_of
from ..one_file import special_id
from ..plans.plan import JOB, Plan, ShardRoom
from ..sinks import EVERY_ROW, UNREADABLE
from ..written import WrittenFile, facts_of
from .finish import BESIDE, MANIFEST, SUMS, folder_of, own_files, read_manifest, sums_of
from .job_files import NOTE, names_of_shard

__all__ = ["FileDifference", "Verified", "verify"]


class FileDifference(NamedTuple):
    """Something that is not as it was written.

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
    """What `verify` found.

    Attributes: `files` whose sha256 was compared; `decoded` and `encoded`, the
    numbers of shards whose ids were decoded, or whose texts were encoded
    again; `differences`, empty if all is as it was written.
    """

    files: int
    decoded: int
    encoded: int
    differences: tuple[FileDifference, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no difference."""
        return not self.differences

    def __str__(self) -> str:
        if self.differences:
            return "\n".join(map(str, self.differences))
        said = f"{number_of(self.files, 'file')} as written"
        for count, what in ((self.decoded, "decoded"), (self.encoded, "encoded again")):
            said += f"; {number_of(count, 'shard')} {what}, all texts and ids equal" if count else ""
        return said


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
        folder: Of the job, or its URL.
        decode: Whether to decode the ids and compare the texts with
            `text_sha256`. It needs a tokenizer that loses nothing, and a format
            that tells documents apart.
        source: Whether to encode the input files again and compare all ids.
        sample: How many shards to decode or encode, evenly spread; None for
            all.
        threads: At least 1; None for all processors.
    Raises:
        CorpusError: With `source`, an input cannot be read or was changed.
        FormatError: A store does not answer.
        InvalidOption: The job cannot be decoded, or encoded again; the message
            says why.
        JobError: The job is not finished; with `decode` or `source`, a library
            or the tokenizer is another than in the plan.
    Cost: reads all files once; with `source`, time as of the job.
    """
    place = folder_at(folder)
    flag(decode, "decode")
    flag(source, "source")
    if sample is not None and whole_number(sample, "sample") < 1:
        raise InvalidOption("sample", sample, "at least 1, or None for all shards")
    try:
        manifest = read_manifest(place)
    except JobError as error:
        if not place.exists() or not {MANIFEST, SUMS} <= {*place.names(())}:
            raise
        name, _, problem = error.problem.partition(";")[0].partition(" ")
        return Verified(0, 0, 0, (FileDifference(name, None, None, problem),))
    known = Verified(len(manifest["files"]) + len(manifest["records"]) + 1, 0, 0, ())
    found = list(changed_records(place, manifest))
    if found or not (decode or source):
        return replace(known, differences=(*found, *changed_shards(place, manifest)))
    if not place.has(JOB) and place.has(NOTE):
        said = "False: these shards were merged, and only the sums of their files can be compared; verify the folders before"
        raise InvalidOption("source" if source else "decode", True, said)
    plan, tok = opened_job(place)
    if decode:
        refuse_decoding(plan, tok)
    if source:
        refuse_encoding(plan, sample)
    found = list(changed_shards(place, manifest))
    count = len(plan.shards)
    if count != len(manifest["shards"]):
        said = f"{MANIFEST} has {number_of(len(manifest['shards']), 'shard')}, {JOB} has {count:,}"
        raise JobError(place, f"{said}; plan the job again with force=True")
    most = count if sample is None else min(sample, count)
    chosen = [number * count // most for number in range(most)]
    names = [each.name for each in manifest["files"]]
    if decode and not found:
        for number in chosen:
            with place.fetched(names_of_shard(plan.options.to, names, number)) as here:
                found += decoded(here, plan, tok, number, manifest["shards"][number])
    if source and EVERY_ROW[plan.options.to].parts is not None:
        found += joined_again(plan, tok, manifest["files"], ShardRoom(thread_count(threads)))
    elif source:
        for number in chosen:
            with place.fetched(names_of_shard(plan.options.to, names, number)) as here:
                found += encoded_again(here, plan, tok, number, ShardRoom(thread_count(threads)))
    return replace(
        known,
        decoded=len(chosen) if decode else 0,
        encoded=len(chosen) if source else 0,
        differences=tuple(found),
    )


def changed_files(folder: Folder, manifest: dict[str, Any]) -> Iterator[FileDifference]:
    """The files of a folder that are not as they were written."""
    yield from changed_records(folder, manifest)
    yield from changed_shards(folder, manifest)


def changed_shards(folder: Folder, manifest: dict[str, Any]) -> Iterator[FileDifference]:
    """The files of the result that are not as in the manifest."""
    for known in manifest["files"]:
        if (problem := changed(folder, known)) is not None:
            yield FileDifference(known.name, None, None, problem)


def changed_records(folder: Folder, manifest: dict[str, Any]) -> Iterator[FileDifference]:
    """The records that are not as in the manifest; and the manifest or the list of sums, if they do not fit."""
    for known in manifest["records"]:
        if (problem := changed(folder, known)) is not None:
            yield FileDifference(known.name, None, None, problem)
    with folder.fetched([MANIFEST]) as here:
        own = facts_of(MANIFEST, here / MANIFEST)
    try:
        sums = folder.read(SUMS)
    except OSError as problem:
        yield FileDifference(SUMS, None, None, f"cannot be read: {problem.strerror or problem}")
        return
    if sums_of([own]).encode() not in sums:
        said = f"is not the file whose sum {SUMS} lists: one of the two was changed"
        yield FileDifference(MANIFEST, None, None, said)
    elif sums != sums_of([*manifest["files"], *manifest["records"], own]).encode():
        yield FileDifference(SUMS, None, None, f"does not list the files of {MANIFEST} with their sums")


def changed(folder: Folder, known: WrittenFile) -> str | None:
    """What is wrong with a file; None if it is as it was written."""
    try:
        with folder.fetched([known.name]) as here:
            size = os.lstat(here / known.name).st_size
            if size != known.bytes:
                return f"has {size:,} bytes, {known.bytes:,} were written"
            return None if facts_of(known.name, here / known.name) == known else "has another content than was written"
    except FileNotFoundError:
        return "is missing"
    except OSError as problem:
        return f"cannot be read: {problem.strerror}"
    except (FormatError, JobError) as error:
        return error.problem.removeprefix(f"{known.name} ")


def refuse_decoding(plan: Plan, tok: Tokenizer | None) -> None:
    """Raises InvalidOption if the texts cannot be had from the files."""
    instead = "False; use source=True, which encodes the texts again"
    if not EVERY_ROW[plan.options.to].apart:
        raise InvalidOption("decode", True, f"{instead}: to={plan.options.to!r} does not tell documents apart")
    if plan.options.pack is not None:
        raise InvalidOption("decode", True, f"{instead}: packing cuts documents")
    if tok is None or not is_lossless(tok.model):
        raise InvalidOption("decode", True, f"{instead}: this tokenizer changes texts")


def refuse_encoding(plan: Plan, sample: int | None) -> None:
    """Raises InvalidOption if the texts cannot be encoded again, or not only some of them."""
    if plan.options.shuffle is not None:
        raise InvalidOption("source", True, "False, because the first round of a shuffle is not kept; use decode=True")
    if sample is not None and EVERY_ROW[plan.options.to].parts is not None:
        said = f"None, because to={plan.options.to!r} puts several shards into one file"
        raise InvalidOption("sample", sample, said)


def is_lossless(model: Model) -> bool:
    """Whether decoding gives every text back; False also for some models that would."""
    splits = all(is_regex_split(step) and step["behavior"] == "isolated" for step in model.splitters)
    plain = not any(token.lstrip or token.rstrip or token.single_word for token in model.added_tokens)
    return model.kind == "bpe" and model.unit == "byte" and not model.normalizers and splits and plain


def decoded(folder: Path, plan: Plan, tok: Tokenizer | None, number: int, facts: list[Any]) -> Iterator[FileDifference]:
    """Whether the ids of a shard are those of its texts."""
    if tok is None:
        return
    first, last = (
        None if content is None else special_id(tok, content) for content in (plan.options.prepend, plan.options.append)
    )
    digest, count = hashlib.sha256(), 0
    documents = EVERY_ROW[plan.options.to].documents(folder, spec_of(plan, tok, number + plan.final.start))
    if not facts[1]:  # a shard without ids may have no files
        documents = itertools.repeat(np.empty(0, np.uint32), facts[0])
    for ids in documents:
        try:
            digest.update(hashlib.sha256(tok.decode_bytes(inside(ids, first, last).tolist())).digest())
        except (ToksmithError, ValueError) as problem:
            yield FileDifference(None, number, count, str(problem))
            return
        count += 1
    if (count, digest.hexdigest()) != (facts[0], facts[3]):
        said = f"{number_of(count, 'document')} whose texts are not those that were read"
        yield FileDifference(None, number, None, f"{said} ({facts[0]:,}); source=True finds the document")


def inside(ids: NDArray[Any], first: int | None, last: int | None) -> NDArray[Any]:
    """The ids of a text, without those around it.

    Raises:
        ValueError: They are not there.
    """
    if not len(ids):
        return ids
    if (first is not None and ids[0] != first) or (last is not None and ids[-1] != last):
        raise ValueError("does not begin and end with the ids that were put around it")
    return ids[first is not None : len(ids) - (last is not None)]


def encoded_again(
    folder: Path, plan: Plan, tok: Tokenizer | None, number: int, room: ShardRoom
) -> Iterator[FileDifference]:
    """Whether a shard that is made again has the same files."""
    with tempfile.TemporaryDirectory(prefix="toksmith-") as name:
        for each in make_shard(plan, tok, number, LocalFolder(Path(name)), room).files:
            if changed(LocalFolder(folder), each) is not None:
                document = differing_document(folder, Path(name), plan, tok, number)
                yield FileDifference(each.name, number, document, "is not what the texts encode to")


def joined_again(
    plan: Plan, tok: Tokenizer | None, known: Sequence[WrittenFile], room: ShardRoom
) -> Iterator[FileDifference]:
    """The same for files that have the ids of several shards: all of them are made again."""
    finish = EVERY_ROW[plan.options.to].finish
    with tempfile.TemporaryDirectory(prefix="toksmith-") as name:
        again = LocalFolder(Path(name))
        receipts = [make_shard(plan, tok, number, again, room) for number in plan.final]
        final = [replace(receipt, files=own_files(receipt)) for receipt in receipts]
        made = finish(again, final, spec_of(plan, tok, 0)) if finish is not None else []
        made += [each for receipt in receipts for each in receipt.files if folder_of(each) in BESIDE]
        for each in made:
            if each not in known:
                yield FileDifference(each.name, None, None, "is not what the texts encode to")


def differing_document(folder: Path, other: Path, plan: Plan, tok: Tokenizer | None, number: int) -> int | None:
    """The first document of a shard that differs; None if that cannot be said."""
    row, spec = EVERY_ROW[plan.options.to], spec_of(plan, tok, number)
    try:
        for place, (one, two) in enumerate(zip(row.documents(folder, spec), row.documents(other, spec), strict=False)):
            if not np.array_equal(one, two):
                return place
    except UNREADABLE:
        return None
    return None
