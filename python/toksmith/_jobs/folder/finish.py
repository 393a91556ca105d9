"""Completes a job: the sink's own files, then `manifest.json`, then `SHA256SUMS`, whose presence marks it as finished.

Both list the files of the result, and the records: the plan, the tokenizer and the receipts, or the note of a merge. The sums
are computed from the bytes that toksmith wrote, so `verify` also reports a record that was changed before the end.

Both have equal bytes for every runner, number of workers and interruption, because they are made from the plan and the
receipts in order.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..._base.paths import printable_path
from ..._base.wording import number_of
from ..._storage.atomic_files import wrap_read_errors
from ..._storage.folders import Folder
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import FormatError, JobError
from ..make.run_shard import sink_spec
from ..make.shuffle import BUCKETS
from ..plans.index import INDEX
from ..plans.plan import JOB, Plan
from ..sinks import EVERY_ROW
from ..written import (
    RECEIPTS,
    Receipt,
    WrittenFile,
    describe_json_error,
    facts_of_bytes,
    is_count,
    parse_file_entry,
    read_receipts,
    readable_receipts,
    receipt_name,
    units_with_receipts,
)
from .job_files import CLAIM_NAMES, CLAIMS, EXTRA_FOLDERS, MANIFEST, SUMS, job_name_pattern

VERSION = 1
# Of a job of more than `MANY` units, a status reads some receipts, and looks at the files of some of these.
MANY, SAMPLED, COMPARED = 1 << 14, 1 << 10, 1 << 4
HEAD_BYTES = 1 << 20
TOTALS = ("documents", "ids", "text_bytes", "bad_rows")


@dataclass(frozen=True)
class Tokenized:
    """The content of a finished job.

    Attributes: `folder`, and `place`, its name or URL; `to`, the format;
    `documents`, `ids` and `text_bytes`; `bad_rows` that were left out;
    `shards`, their number; `files`, the names of the files of the result.
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
        return printable_path(self.folder)


def is_finished(folder: Folder) -> bool:
    return folder.has(SUMS) and folder.has(MANIFEST)


def missing_units(folder: Folder, plan: Plan, units: Sequence[int] | None = None) -> list[int]:
    """The units of a job, among some or all, without a receipt, or with files that do not match their receipt."""
    if is_finished(folder):
        return []
    return [number for number, receipt in units_done(folder, plan, units).items() if receipt is None]


def units_done(folder: Folder, plan: Plan, units: Sequence[int] | None = None) -> dict[int, Receipt | None]:
    """The receipts of some units, or of all; None for a unit that is not done. A store is asked for each file of some units,
    and lists the files of all."""
    numbers = range(plan.units) if units is None else units
    size = folder.sizes(RECEIPTS) if units is None else folder.size
    there = numbers if units is not None else [number for number in numbers if size(receipt_name(number)) is not None]
    found: dict[int, Receipt | None] = dict.fromkeys(numbers)
    for number, receipt in zip(there, read_receipts(folder, there), strict=True):
        if is_whole(size, receipt):
            found[number] = receipt
    return found


def sampled_units(folder: Folder, plan: Plan) -> tuple[list[int], list[Receipt]] | None:
    """The units of a large job that have a receipt in a listing, and the receipts of some of them, evenly spread.

    Returns: None if the job is small, or if files of some units do not match their receipts: all of them must be looked at.
    """
    if plan.units <= MANY:
        return None
    there = units_with_receipts(folder, range(plan.units))
    some = there[:: -(-len(there) // SAMPLED) or 1]
    if None in units_done(folder, plan, some[:: SAMPLED // COMPARED]).values():
        return None
    return there, [receipt for receipt in read_receipts(folder, some) if receipt is not None]


def is_whole(size: Callable[[str], int | None], receipt: Receipt | None) -> bool:
    """Whether there is a receipt, and the files match it by their sizes."""
    return receipt is not None and all(size(file.name) == file.bytes for file in receipt.files)


def finish_job(folder: Folder, plan: Plan, tok: Tokenizer | None) -> Tokenized:
    """Writes the files that a job has once, if all of its shards are done."""
    row = EVERY_ROW[plan.options.to]
    if not is_finished(folder):
        receipts = all_receipts(folder, plan)
        final = [replace(receipt, files=sink_files(receipt)) for receipt in receipts[plan.final.start :]]
        if row.finish is None:
            data = [file for receipt in final for file in receipt.files]
        else:
            data = row.finish(folder, final, sink_spec(plan, tok, plan.final.start))
        beside = [file for receipt in receipts for file in receipt.files if subfolder_of(file) in EXTRA_FOLDERS]
        records = records_of(folder, plan, receipts)
        write_manifest(folder, facts_of_job(plan, receipts, final), [*data, *beside], records)
    remove_parts(folder, plan)
    return read_finished_job(folder)


def remove_parts(folder: Folder, plan: Plan) -> None:
    """Removes the files that a finished job does not need, the index first; errors are ignored, because they do no harm."""
    folder.discard([INDEX])
    with contextlib.suppress(FormatError, JobError):
        if folder.has_folder(CLAIMS):
            names = [f"{CLAIMS}/{name}" for name in folder.listing(CLAIMS)]
            folder.discard([name for name in names if re.fullmatch(CLAIM_NAMES, name)])
            folder.remove_folder(CLAIMS)
    places = {EVERY_ROW[plan.options.to].parts, BUCKETS if plan.options.shuffle is not None else None} - {None}
    if not any(folder.has_folder(str(name)) for name in places):
        return
    job_names = job_name_pattern(plan.options)
    names = []
    for receipt in readable_receipts(folder, range(plan.units)):
        names += [
            file.name for file in receipt.files if subfolder_of(file) in places and job_names.fullmatch(file.name)
        ]
    folder.discard(names)
    for name in places:
        folder.remove_folder(str(name))


def all_receipts(folder: Folder, plan: Plan) -> list[Receipt]:
    """All receipts of a job; raises JobError if one is missing, or if rows are over `max_errors`."""
    if missing := missing_units(folder, plan):
        first = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        problem = (
            f"{number_of(len(missing), 'shard')} of {plan.units:,} missing ({first}); run the job again to make them"
        )
        raise JobError(folder, problem)
    receipts = [receipt for receipt in read_receipts(folder, range(plan.units)) if receipt is not None]
    bad, most = sum(receipt.bad_rows for receipt in receipts), plan.options.max_errors
    if most is not None and bad > most:
        problem = f"{bad:,} rows could not be encoded, and max_errors={most:,}; look at them with errors='quarantine'"
        raise JobError(folder, f"{problem}, or plan the job again with a larger max_errors and force=True")
    return receipts


def records_of(folder: Folder, plan: Plan, receipts: Sequence[Receipt]) -> list[WrittenFile]:
    """The plan, the tokenizer and the receipts, as they were written."""
    records = [facts_of_bytes(JOB, plan.to_bytes())]
    if plan.tokenizer:
        records.append(stored_facts(folder, plan.tokenizer))
    return [*records, *(facts_of_bytes(receipt_name(receipt.shard), receipt.to_bytes()) for receipt in receipts)]


def stored_facts(folder: Folder, name: str) -> WrittenFile:
    with wrap_read_errors(folder.at(name)):
        return facts_of_bytes(name, folder.read(name))


def subfolder_of(file: WrittenFile) -> str:
    """The subfolder of the file in the job's folder; "" for none."""
    return file.name.rpartition("/")[0]


def sink_files(receipt: Receipt) -> tuple[WrittenFile, ...]:
    """The files of a receipt that the sink made."""
    return tuple(file for file in receipt.files if subfolder_of(file) not in EXTRA_FOLDERS)


def facts_of_job(plan: Plan, receipts: Sequence[Receipt], final: Sequence[Receipt]) -> dict[str, Any]:
    """The facts of the manifest, without the files."""
    first_round = receipts[: len(plan.shards)]
    special: dict[str, int] = {}
    for receipt in first_round:
        for content, count in receipt.special_tokens.items():
            special[content] = special.get(content, 0) + count
    facts: dict[str, Any] = {"fingerprint": plan.fingerprint, "vocab_size": plan.vocab_size}
    facts |= {"options": asdict(plan.options), "versions": plan.versions}
    facts |= {name: sum(getattr(item, name) for item in final) for name in ("documents", "ids", "text_bytes")}
    facts |= {name: sum(getattr(item, name) for item in first_round) for name in ("empty", "bad_rows")}
    facts["special_tokens"] = dict(sorted(special.items()))
    facts["inputs"] = [(item.path, item.bytes) for item in plan.inputs]
    facts["shards"] = [(item.documents, item.ids, item.text_bytes, item.text_sha256) for item in final]
    return facts


def write_manifest(
    folder: Folder, facts: dict[str, Any], files: Sequence[WrittenFile], records: Sequence[WrittenFile]
) -> None:
    """Writes the manifest (`inputs` and `shards` end `facts`), then the sums, which mark the folder as finished."""
    facts = {"toksmith_manifest": VERSION, **facts, "files": [*map(tuple, files)], "records": [*map(tuple, records)]}
    lines = []
    for name, value in facts.items():
        text = json.dumps(value)
        if name in ("inputs", "shards", "files", "records"):  # one line per entry
            text = "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in value) + "\n ]"
        lines.append(f" {json.dumps(name)}: {text}")
    manifest = ("{\n" + ",\n".join(lines) + "\n}\n").encode()
    folder.write(MANIFEST, manifest)
    folder.write(SUMS, sum_lines([*files, *records, facts_of_bytes(MANIFEST, manifest)]).encode())


def sum_lines(files: Iterable[WrittenFile]) -> str:
    return "".join(f"{file.sha256}  {file.name}\n" for file in files)


def read_manifest(folder: Folder) -> dict[str, Any]:
    if not is_finished(folder):
        raise JobError(folder, "there is no finished job; run it, or look at it with `toksmith corpus status`")
    try:
        data = folder.read(MANIFEST)
    except OSError as problem:
        raise JobError(folder, f"{MANIFEST} cannot be read: {problem.strerror or problem}") from problem
    try:
        value: dict[str, Any] = json.loads(data)
        if value["toksmith_manifest"] != VERSION:
            raise ValueError(f"its version is not {VERSION}")
        for name in ("files", "records"):
            value[name] = [parse_file_entry(*entry) for entry in value[name]]
        if not all(is_count(value[name]) for name in ("documents", "ids", "text_bytes", "bad_rows")):
            raise ValueError("it has no counts")
        if not all(len(entry) == 4 for entry in value["shards"]) or not isinstance(value["options"]["to"], str):
            raise ValueError("it lacks facts of shards")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        message = f"{MANIFEST} is not a manifest: {describe_json_error(problem)}; plan the job again with force=True"
        raise JobError(folder, message) from None
    return value


def read_totals(folder: Folder, plan: Plan) -> dict[str, Any]:
    """The sums of a finished job, from the start of its manifest if the job is large; errors as in `read_manifest`."""
    if plan.units > MANY:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            head = json.loads(folder.read(MANIFEST, 0, HEAD_BYTES).partition(b',\n "inputs": [')[0] + b"}")
            totals = {name: head[name] for name in TOTALS}
            if head["toksmith_manifest"] == VERSION and all(map(is_count, totals.values())):
                return totals
    finished = read_finished_job(folder)
    return {name: getattr(finished, name) for name in TOTALS}


def read_finished_job(folder: Folder) -> Tokenized:
    """The content of a finished job, from its manifest."""
    manifest = read_manifest(folder)
    return Tokenized(
        folder=folder.path,
        to=manifest["options"]["to"],
        documents=manifest["documents"],
        ids=manifest["ids"],
        text_bytes=manifest["text_bytes"],
        bad_rows=manifest["bad_rows"],
        shards=len(manifest["shards"]),
        files=tuple(file.name for file in manifest["files"]),
    )
