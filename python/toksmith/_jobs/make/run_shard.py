"""Makes one shard: the plan and a number become files and a receipt. The plan and the tokenizer of a job are read once for
all shards that a process makes.

`encode_shard.py` makes the rows, a sink writes them. A shuffle has two rounds: shards of the first write buckets, shards
of the second each read one bucket of all of them (`shuffle.py`). The number of threads, the process and the order of
shards change nothing, so a shard that is done twice has equal bytes.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..._base.errors import FormatError, InvalidOption, JobError
from ..._corpus.ahead import written_behind
from ..._formats import FORMATS
from ..._sources.load import load
from ..._storage.folders import Folder, folder_at
from ..._tokenizer.tokenizer import Tokenizer
from ..one_file import special_id
from ..plans.options import COUNTS
from ..plans.plan import JOB, Plan, ShardRoom, held_of, per_byte, read_plan, room_of, versions_of
from ..sinks import EVERY_ROW, DocumentLengths, Sink, SinkRows, SinkSpec
from ..written import Receipt, ShardFiles, read_receipts, write_receipt
from .count_shard import counted_shard
from .encode_shard import EncodedDocuments, EncodedShard, ShardTally
from .shuffle import Bucket, write_buckets

__all__ = ["make_shard", "opened_job", "run_shard", "save_tokenizer", "spec_of"]


FileKey = tuple[Folder, str, tuple[object, ...]]
# The tokenizer of the last shard, by its file as it is.
LAST: dict[FileKey, Tokenizer] = {}


def run_shard(
    job: str | os.PathLike[str], number: int, *, threads: int | None = None, max_memory: int | None = None
) -> Receipt:
    r"""Makes one shard of a planned job: its files, then its receipt.

    A runner calls this for each number of `Job.missing()`, in any process and
    order. A shard that is done twice, also at the same time, has equal bytes.

    Args:
        job: The file `job.json` of the job, or its URL.
        number: Of the shard, from 0.
        threads: At least 1; None for all processors. The bytes do not depend on
            it.
        max_memory: As of `plan`.
    Raises:
        CorpusError: A file cannot be read or was changed after the plan, or a
            row has no text and the job stops there; or a document is too long
            for `max_memory`.
        FormatError: A file cannot be written.
        InvalidOption: `max_memory` is too little for one thread.
        JobError: There is no job, its tokenizer or a library is another than in
            the plan, too many rows are bad, or the ids that a shuffle or a
            packing holds are too many for `max_memory`.
    Cost: time as encoding; memory as `plan` says it for `max_memory`; with a
        shuffle or the packing "best-fit", for all ids of the shard.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.jsonl")
    ...     _ = path.write_text('{"text": "low"}\n{"text": "lower"}\n')
    ...     job = toksmith.plan(tok, path, f"{folder}/out")
    ...     toksmith.run_shard(f"{folder}/out/job.json", 0).documents
    2
    """
    path = Path(job)
    room_of(threads, max_memory)  # what is wrong with them is said before anything is read
    if path.name != JOB:
        raise InvalidOption("job", os.fspath(job), f"the path of a file {JOB}")
    folder = folder_at(path.parent)
    plan, tok = opened_job(folder)
    if not 0 <= number < plan.units:
        raise InvalidOption("number", number, f"from 0 to {plan.units - 1}")
    if plan.options.shuffle is not None and number in plan.final:
        refuse_missing(folder, plan, number)
    held = 0 if max_memory is None else held_of(plan)
    room = room_of(threads, max_memory, held=held, times=per_byte(plan))
    made = make_shard(plan, tok, number, folder, room)
    write_receipt(folder, made)
    return made


def refuse_missing(folder: Folder, plan: Plan, number: int) -> None:
    """Raises JobError if the first round, which a shard of the second reads, is not complete."""
    size = folder.sizes()
    for before, receipt in enumerate(read_receipts(folder, range(plan.final.start))):
        if receipt is None:
            said = f"shard {number} reads all of the first round, and shard {before} is missing"
            raise JobError(folder, f"{said}; make shard {before} first")
        for each in receipt.files:
            if size(each.name) != each.bytes:
                said = f"{each.name} has {size(each.name) or 0:,} bytes, {each.bytes:,} were written"
                raise JobError(folder, f"{said}; make shard {before} again first")


def make_shard(plan: Plan, tok: Tokenizer | None, number: int, folder: Folder, room: ShardRoom) -> Receipt:
    """The files of a shard, in a folder; errors are those of `run_shard`."""
    with folder.staged() as here:
        if tok is None:
            receipt = counted_shard(plan, number, here, room)
        else:
            receipt = encoded_shard(plan, tok, number, here, folder=folder, room=room)
        folder.publish(here, [each.name for each in receipt.files])
    return receipt


def encoded_shard(plan: Plan, tok: Tokenizer, number: int, here: Path, *, folder: Folder, room: ShardRoom) -> Receipt:
    """The files of a shard of ids on this machine, and what they contain."""
    tally, inputs = ShardTally(), InputTally()
    with ShardFiles(here) as files:
        shard = EncodedShard(plan, tok, files, tally, room=room)
        if number in plan.final:
            spec = spec_of(plan, tok, number)
            sink = EVERY_ROW[plan.options.to].open(files, spec)
            shuffled = plan.options.shuffle is not None
            found = Bucket(plan, folder, spec.number, room).documents() if shuffled else shard.complete(number)
            with closing(found), closing(shard.rows(inputs.passed(found), spec)) as rows:
                write_rows(sink, rows)
            sink.close()
        else:
            with closing(shard.complete(number)) as found:
                write_buckets(plan, files, number, inputs.passed(found), room=room)
        written = files.place()
    contents = {id: content for content, id in tok.special_tokens.items()} if tally.special else {}
    return Receipt(
        shard=number,
        documents=tally.documents,
        ids=tally.ids,
        text_bytes=tally.text_bytes,
        empty=tally.empty,
        bad_rows=tally.bad_rows,
        special_tokens={contents[id]: tally.special[id] for id in sorted(tally.special)},
        text_sha256=tally.digest.hexdigest(),
        files=written,
        inputs=inputs.rows(),
    )


def write_rows(sink: Sink, rows: Generator[SinkRows, None, None]) -> None:
    """Writes all rows; all but the first ids on another thread. A sink may make a file when it gets the first ids, and the
    order of a receipt's files must not depend on threads."""
    for some in rows:
        sink.add(some)
        if len(some.ids):
            break
    for _ in written_behind(rows, sink.add):
        pass


def spec_of(plan: Plan, tok: Tokenizer | None, number: int) -> SinkSpec:
    """What the sink of a shard knows."""
    options = plan.options
    return SinkSpec(
        number=number - plan.final.start,
        shards=len(plan.shards),
        dtype=options.dtype,
        vocab_size=plan.vocab_size,
        tokenizer=plan.fingerprint[:12],
        named=options.id_field is not None,
        packed=options.pack is not None,
        last=None if options.append is None or tok is None else special_id(tok, options.append),
    )


def opened_job(folder: Folder) -> tuple[Plan, Tokenizer | None]:
    """The plan and the tokenizer of a job; None for one that counts.

    Raises:
        JobError: There is no job, or its tokenizer or a library is another than in the plan.
    """
    plan = plan_of(folder)
    tok = None if plan.options.to == COUNTS else tokenizer_of(folder, plan)
    now = versions_of(EVERY_ROW[plan.options.to].libraries)
    for name in {**plan.versions, **now}:
        if now.get(name) != (version := plan.versions.get(name)):
            said = f"planned with {name} {version}, but this is {now.get(name)}, whose files may differ"
            raise JobError(folder, f"{said}; install the planned version, or plan the job again with force=True")
    return plan, tok


def plan_of(folder: Folder) -> Plan:
    """The plan of a job, which may be long, read once for all shards of a process; errors are those of `read_plan`."""
    try:
        version = folder.version(JOB)
    except OSError:
        return read_plan(folder)
    return kept_plan(folder, version)


@lru_cache(maxsize=1)
def kept_plan(folder: Folder, version: tuple[object, ...]) -> Plan:
    """The plan of a job, kept for the next shard while the file is the same."""
    return read_plan(folder)


def tokenizer_of(folder: Folder, plan: Plan) -> Tokenizer:
    """The tokenizer of a job.

    Raises:
        JobError: It cannot be read, or is another than in the plan.
    """
    try:
        key = (folder, plan.tokenizer, folder.version(plan.tokenizer))
        tok = LAST.get(key)
        if tok is None:
            with folder.fetched([plan.tokenizer]) as here:
                tok = load(here / plan.tokenizer)
    except (OSError, FormatError) as problem:
        why = problem.problem if isinstance(problem, FormatError) else problem.strerror or problem
        said = f"the tokenizer {plan.tokenizer} cannot be read: {why}; plan the job again with force=True"
        raise JobError(folder, said) from None
    if tok.fingerprint != plan.fingerprint:
        said = f"{plan.tokenizer} is not the tokenizer of the plan; plan the job again with force=True"
        raise JobError(folder, said)
    refuse_facts(folder, plan, tok)
    keep(key, tok)
    return tok


def refuse_facts(folder: Folder, plan: Plan, tok: Tokenizer) -> None:
    """Raises JobError if a plan says of its tokenizer what is not so."""
    said = None
    if plan.vocab_size != tok.vocab_size:
        said = f"vocab_size is {plan.vocab_size:,}, and that of its tokenizer {tok.vocab_size:,}"
    for name, content in plan.options.tokens:
        if content not in tok.special_tokens:
            said = f"options.{name} is {content[:50]!r}, which is not a special token of its tokenizer"
    if said is not None:
        advice = "restore it, or plan the job again with force=True"
        raise JobError(folder, f"{JOB} is not a plan of toksmith: {said}; {advice}")


def save_tokenizer(folder: Folder, name: str, tok: Tokenizer) -> None:
    """Writes the tokenizer of a job, and keeps it for the shards of this process."""
    saved = FORMATS["native"].save(tok.model, allow_loss=())
    folder.write(name, saved if isinstance(saved, bytes) else b"".join(saved))
    with suppress(OSError):  # whoever needs the file says what is wrong with it
        keep((folder, name, folder.version(name)), tok)


def keep(key: FileKey, tok: Tokenizer) -> None:
    """Keeps a tokenizer for the next shard, in place of the last one."""
    LAST.clear()
    LAST[key] = tok


class InputTally:
    """Sums by input."""

    def __init__(self) -> None:
        self._sums: dict[int, tuple[int, int, int]] = {}
        self._lengths = DocumentLengths()

    def passed(self, found: Iterable[EncodedDocuments]) -> Iterator[EncodedDocuments]:
        """The documents, which are counted."""
        for each in found:
            there, places = np.unique(each.told.inputs, return_inverse=True)
            sums = np.zeros((len(there), 3), np.int64)
            sizes, lengths = each.told.sizes.astype(np.int64), self._lengths.of(len(each.ids), each.ends)
            np.add.at(sums, places, np.stack([np.ones_like(sizes), lengths, sizes], axis=1))
            for input, more in zip(there.tolist(), sums.tolist(), strict=True):
                before = self._sums.get(input, (0, 0, 0))
                self._sums[input] = (before[0] + more[0], before[1] + more[1], before[2] + more[2])
            yield each

    def rows(self) -> tuple[tuple[int, int, int, int], ...]:
        """The number of each input, and its sums, in order."""
        return tuple((input, *self._sums[input]) for input in sorted(self._sums))
