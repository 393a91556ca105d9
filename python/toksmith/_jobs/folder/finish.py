"""Completes a job: the sink's own files, then `manifest.json`, then `SHA256SUMS`, whose presence says that it is finished.

Both list the files of the result, and the records: the plan, the tokenizer and the receipts, or the note of a merge. The sums
are those of what toksmith wrote, so that `verify` tells of a record that was changed before the end, too.

Both have equal bytes for every runner, number of workers and interruption, because they are made of the plan and of the
receipts in their order.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..._base.errors import FormatError, JobError, number_of
from ..._base.paths import shown
from ..._storage.atomic_files import readable
from ..._storage.folders import Folder
from ..._tokenizer.tokenizer import Tokenizer
from ..make.run_shard import spec_of
from ..make.shuffle import BUCKETS
from ..plans.plan import JOB, Plan
from ..sinks import EVERY_ROW
from ..written import (
    Receipt,
    WrittenFile,
    facts_in,
    is_sum,
    read_receipts,
    readable_receipts,
    receipt_name,
    written_file,
    wrong_in,
)
from .job_files import BESIDE, MANIFEST, SUMS, names_of

__all__ = [
    "BESIDE",
    "MANIFEST",
    "SUMS",
    "Tokenized",
    "complete",
    "finish_job",
    "folder_of",
    "is_finished",
    "missing_units",
    "own_files",
    "read_manifest",
    "remove_parts",
    "stored_facts",
    "sums_of",
    "tokenized",
]

VERSION = 1


@dataclass(frozen=True)
class Tokenized:
    """What a finished job contains.

    Attributes: `folder`, and `place`, its name or URL; `to`, the sink;
    `documents`, `ids` and `text_bytes`; `bad_rows` that were left out;
    `shards`, their number; `files`, the names of the files of ids and of what
    belongs to them.
    """

    folder: Path
    to: str
    documents: int
    ids: int
    text_bytes: int
    bad_rows: int
    shards: int
    files: tuple[str, ...]

    @property
    def place(self) -> str:
        """The name of the folder, or its URL."""
        return shown(self.folder)


def is_finished(folder: Folder) -> bool:
    """Whether a job is finished."""
    return folder.has(SUMS) and folder.has(MANIFEST)


def missing_units(folder: Folder, plan: Plan) -> list[int]:
    """The units of a job that have no receipt, or whose files are not those of their receipt."""
    if is_finished(folder):
        return []
    size = folder.sizes()
    there = [number for number in range(plan.units) if size(receipt_name(number)) is not None]
    receipts = dict(zip(there, read_receipts(folder, there), strict=True))

    def is_done(receipt: Receipt | None) -> bool:
        return receipt is not None and all(size(each.name) == each.bytes for each in receipt.files)

    return [number for number in range(plan.units) if not is_done(receipts.get(number))]


def finish_job(folder: Folder, plan: Plan, tok: Tokenizer | None) -> Tokenized:
    """Writes what a job has once, if all of its shards are done.

    Raises:
        FormatError: A file cannot be written.
        JobError: Shards are missing, or there are more bad rows than the job may have.
    """
    row = EVERY_ROW[plan.options.to]
    if not is_finished(folder):
        receipts = all_receipts(folder, plan)
        final = [replace(receipt, files=own_files(receipt)) for receipt in receipts[plan.final.start :]]
        if row.finish is None:
            data = [each for receipt in final for each in receipt.files]
        else:
            data = row.finish(folder, final, spec_of(plan, tok, plan.final.start))
        beside = [each for receipt in receipts for each in receipt.files if folder_of(each) in BESIDE]
        records = records_of(folder, plan, receipts)
        complete(folder, facts_of_job(plan, receipts, final), [*data, *beside], records)
    remove_parts(folder, plan)
    return tokenized(folder)


def remove_parts(folder: Folder, plan: Plan) -> None:
    """Removes the files that a finished job does not need; what cannot be removed does no harm."""
    places = {EVERY_ROW[plan.options.to].parts, BUCKETS if plan.options.shuffle is not None else None} - {None}
    if not any(folder.has_folder(str(name)) for name in places):
        return
    own = names_of(plan.options)
    names: list[str] = []
    for receipt in readable_receipts(folder, range(plan.units)):
        names += [each.name for each in receipt.files if folder_of(each) in places and own.fullmatch(each.name)]
    with contextlib.suppress(FormatError):
        folder.remove(names)
    for name in places:
        folder.remove_folder(str(name))


def all_receipts(folder: Folder, plan: Plan) -> list[Receipt]:
    """The receipts of a job that has them all."""
    if missing := missing_units(folder, plan):
        shown = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        said = f"{number_of(len(missing), 'shard')} of {plan.units:,} missing ({shown}); run the job again to make them"
        raise JobError(folder, said)
    receipts = [receipt for receipt in read_receipts(folder, range(plan.units)) if receipt is not None]
    bad, most = sum(receipt.bad_rows for receipt in receipts), plan.options.max_errors
    if most is not None and bad > most:
        said = f"{bad:,} rows could not be encoded, and max_errors={most:,}; look at them with errors='quarantine'"
        raise JobError(folder, f"{said}, or plan the job again with a larger max_errors and force=True")
    return receipts


def records_of(folder: Folder, plan: Plan, receipts: Sequence[Receipt]) -> list[WrittenFile]:
    """The plan, the tokenizer and the receipts, as they were written.

    Raises:
        FormatError: The tokenizer cannot be read.
    """
    records = [facts_in(JOB, plan.to_bytes())]
    if plan.tokenizer:
        records.append(stored_facts(folder, plan.tokenizer))
    return [*records, *(facts_in(receipt_name(each.shard), each.to_bytes()) for each in receipts)]


def stored_facts(folder: Folder, name: str) -> WrittenFile:
    """The size and the sha256 of a small file that is there.

    Raises:
        FormatError: It cannot be read.
    """
    with readable(folder.at(name)):
        return facts_in(name, folder.read(name))


def folder_of(file: WrittenFile) -> str:
    """The folder in a job's folder that has the file; "" for none."""
    return file.name.rpartition("/")[0]


def own_files(receipt: Receipt) -> tuple[WrittenFile, ...]:
    """The files of the sink."""
    return tuple(each for each in receipt.files if folder_of(each) not in BESIDE)


def facts_of_job(plan: Plan, receipts: Sequence[Receipt], final: Sequence[Receipt]) -> dict[str, Any]:
    """What the manifest says beside the files."""
    read = receipts[: len(plan.shards)]
    special: dict[str, int] = {}
    for receipt in read:
        for content, count in receipt.special_tokens.items():
            special[content] = special.get(content, 0) + count
    facts: dict[str, Any] = {"fingerprint": plan.fingerprint, "vocab_size": plan.vocab_size}
    facts |= {"options": asdict(plan.options), "versions": plan.versions}
    facts |= {name: sum(getattr(each, name) for each in final) for name in ("documents", "ids", "text_bytes")}
    facts |= {name: sum(getattr(each, name) for each in read) for name in ("empty", "bad_rows")}
    facts["special_tokens"] = dict(sorted(special.items()))
    facts["inputs"] = [(each.path, each.bytes) for each in plan.inputs]
    facts["shards"] = [(each.documents, each.ids, each.text_bytes, each.text_sha256) for each in final]
    return facts


def complete(
    folder: Folder, facts: dict[str, Any], files: Sequence[WrittenFile], records: Sequence[WrittenFile]
) -> None:
    """Writes the manifest, then the sums of all files, by which the folder is finished.

    Args:
        facts: Of the manifest, `inputs` and `shards` last, which are lists.
        files: Of the result.
        records: The files that say how it was made.
    Raises:
        FormatError: A file cannot be written.
    """
    facts = {"toksmith_manifest": VERSION, **facts, "files": [*map(tuple, files)], "records": [*map(tuple, records)]}
    lines = []
    for name, value in facts.items():
        text = json.dumps(value)
        if name in ("inputs", "shards", "files", "records"):  # a line for each
            text = "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in value) + "\n ]"
        lines.append(f" {json.dumps(name)}: {text}")
    manifest = ("{\n" + ",\n".join(lines) + "\n}\n").encode()
    folder.write(MANIFEST, manifest)
    folder.write(SUMS, sums_of([*files, *records, facts_in(MANIFEST, manifest)]).encode())


def sums_of(files: Iterable[WrittenFile]) -> str:
    """The lines of files in `SHA256SUMS`."""
    return "".join(f"{each.sha256}  {each.name}\n" for each in files)


def read_manifest(folder: Folder) -> dict[str, Any]:
    """The manifest of a finished job.

    Raises:
        JobError: The job is not finished, or the file is not its manifest.
    """
    if not is_finished(folder):
        raise JobError(folder, "there is no finished job; run it, or look at it with `toksmith status`")
    try:
        data = folder.read(MANIFEST)
    except OSError as problem:
        raise JobError(folder, f"{MANIFEST} cannot be read: {problem.strerror or problem}") from problem
    try:
        value: dict[str, Any] = json.loads(data)
        if value["toksmith_manifest"] != VERSION:
            raise ValueError(f"its version is not {VERSION}")
        for name in ("files", "records"):
            value[name] = [written_file(*each) for each in value[name]]
        if not all(is_sum(value[name]) for name in ("documents", "ids", "text_bytes", "bad_rows")):
            raise ValueError("it has no counts")
        if not all(len(each) == 4 for each in value["shards"]) or not isinstance(value["options"]["to"], str):
            raise ValueError("it lacks facts of shards")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        said = f"{MANIFEST} is not a manifest: {wrong_in(problem)}; plan the job again with force=True"
        raise JobError(folder, said) from None
    return value


def tokenized(folder: Folder) -> Tokenized:
    """What a finished job contains."""
    found = read_manifest(folder)
    return Tokenized(
        folder=folder.path,
        to=found["options"]["to"],
        documents=found["documents"],
        ids=found["ids"],
        text_bytes=found["text_bytes"],
        bad_rows=found["bad_rows"],
        shards=len(found["shards"]),
        files=tuple(each.name for each in found["files"]),
    )
