"""Makes one shard of a job, its files and its receipt, from the plan and the number of the shard.

A process reads the plan and the tokenizer of a job once for all of its shards. `encode_shard.py` makes the rows, and a sink
writes them. A shuffle has two rounds: the shards of the first write buckets, and each shard of the second reads one bucket
from all of them (`shuffle.py`). The bytes do not depend on the number of threads, the process and the order of shards.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..._corpus.prefetch import write_in_background
from ..._formats import FORMATS
from ..._sources.load import load
from ..._storage.folders import Folder, folder_at
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import FormatError, InvalidOption, JobError
from ..one_file import special_id
from ..plans.options import COUNTS
from ..plans.plan import (
    JOB,
    Plan,
    WorkerLimits,
    held_bytes,
    library_versions,
    memory_per_byte,
    open_plan,
    plan_of_shard,
    read_plan,
    worker_limits,
)
from ..sinks import EVERY_ROW, DocumentLengths, Sink, SinkRows, SinkSpec
from ..written import Receipt, ShardFiles, read_receipts, write_receipt
from .count_shard import make_counted_shard
from .encode_shard import EncodedDocuments, EncodedShard, ShardTally
from .shuffle import Bucket, write_buckets

FileKey = tuple[Folder, str, tuple[object, ...]]
# The tokenizer of the last shard, by its file and the file's version.
LAST_TOKENIZER: dict[FileKey, Tokenizer] = {}


def run_shard(
    job: str | os.PathLike[str], number: int, *, threads: int | None = None, max_memory: int | None = None
) -> Receipt:
    r"""Makes one shard of a planned job: its files, then its receipt.

    A runner calls this for each number of `Job.missing()`, in any process and
    order. A shard that is done twice, even at the same time, has equal bytes.

    Args:
        job: The file `job.json` of the job, or its URL.
        number: The number of the shard, from 0.
        threads: At least 1; None for all processors. The bytes do not depend on
            it.
        max_memory: As in `plan`.
    Raises:
        CorpusError: A file cannot be read or was changed after the plan, a row
            has no text and the job stops there, or a document is too long for
            `max_memory`.
        FormatError: A file cannot be written.
        InvalidOption: `max_memory` is too little for one thread.
        JobError: There is no job, its tokenizer or a library differs from the
            plan, too many rows are bad, or a shuffle or packing holds too many
            ids for `max_memory`.
    Cost: the time of encoding; memory as in `plan` under `max_memory`; with a
        shuffle or the packing "best-fit", also memory for all ids of the shard.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.jsonl")
    ...     _ = path.write_text('{"text": "low"}\n{"text": "lower"}\n')
    ...     job = toksmith.corpus.plan(tok, path, f"{folder}/out")
    ...     toksmith.corpus.run_shard(f"{folder}/out/job.json", 0).documents
    2
    """
    path = Path(job)
    worker_limits(threads, max_memory)  # refuses wrong values before any file is read
    if path.name != JOB:
        raise InvalidOption("job", os.fspath(job), f"the path of a file {JOB}")
    folder = folder_at(path.parent)
    plan, tok = open_job(folder, number)
    if plan.options.shuffle is not None and number in plan.final:
        refuse_missing(folder, plan, number)
    held_limit = 0 if max_memory is None else held_bytes(plan)
    room = worker_limits(threads, max_memory, held=held_limit, times=memory_per_byte(plan))
    receipt = make_shard(plan, tok, number, folder, room)
    write_receipt(folder, receipt)
    return receipt


def refuse_missing(folder: Folder, plan: Plan, number: int) -> None:
    """Raises JobError if the first round is not complete; a shard of the second round reads all of it."""
    size = folder.sizes()
    for unit, receipt in enumerate(read_receipts(folder, range(plan.final.start))):
        if receipt is None:
            problem = f"shard {number} reads all of the first round, and shard {unit} is missing"
            raise JobError(folder, f"{problem}; make shard {unit} first")
        for file in receipt.files:
            if size(file.name) != file.bytes:
                problem = f"{file.name} has {size(file.name) or 0:,} bytes, {file.bytes:,} were written"
                raise JobError(folder, f"{problem}; make shard {unit} again first")


def make_shard(plan: Plan, tok: Tokenizer | None, number: int, folder: Folder, room: WorkerLimits) -> Receipt:
    """Makes the files of a shard in a folder; errors as in `run_shard`."""
    with folder.staging_folder() as local:
        if tok is None:
            receipt = make_counted_shard(plan, number, local, room)
        else:
            receipt = make_encoded_shard(plan, tok, number, local, folder=folder, room=room)
        folder.publish(local, [file.name for file in receipt.files])
    return receipt


def make_encoded_shard(
    plan: Plan, tok: Tokenizer, number: int, here: Path, *, folder: Folder, room: WorkerLimits
) -> Receipt:
    tally, inputs = ShardTally(), InputTally()
    with ShardFiles(here) as files:
        shard = EncodedShard(plan, tok, files, tally, room=room)
        if number in plan.final:
            spec = sink_spec(plan, tok, number)
            sink = EVERY_ROW[plan.options.to].open(files, spec)
            shuffled = plan.options.shuffle is not None
            documents = Bucket(plan, folder, spec.number, room).documents() if shuffled else shard.complete(number)
            with closing(documents), closing(shard.rows(inputs.count_passing(documents), spec)) as rows:
                write_rows(sink, rows)
            sink.close()
        else:
            with closing(shard.complete(number)) as documents:
                write_buckets(plan, files, number, inputs.count_passing(documents), room=room)
        written_files = files.place()
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
        files=written_files,
        inputs=inputs.rows(),
    )


def write_rows(sink: Sink, rows: Generator[SinkRows, None, None]) -> None:
    """Writes all rows, on another thread after the first ids. A sink can make a file when it gets the first ids, and the
    order of a receipt's files must not depend on threads."""
    for batch in rows:
        sink.add(batch)
        if len(batch.ids):
            break
    for _ in write_in_background(rows, sink.add):
        pass


def sink_spec(plan: Plan, tok: Tokenizer | None, number: int) -> SinkSpec:
    """The facts for the sink of a shard."""
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
        val=options.val,
    )


def open_job(folder: Folder, number: int | None = None) -> tuple[Plan, Tokenizer | None]:
    """The plan and the tokenizer of a job; None for a job that counts. With the `number` of a unit, the plan has at least
    the inputs and parts of this unit."""
    plan = cached_plan(folder, whole=number is None)
    if number is not None:
        if not 0 <= number < plan.units:
            raise InvalidOption("number", number, f"from 0 to {plan.units - 1}")
        own = (
            plan_of_shard(plan, number) if number < len(plan.shards) else None
        )  # the second round reads all of the first
        plan = own or cached_plan(folder, whole=True)
    return plan, open_tokenizer(folder, plan, cached=number is not None)


def open_tokenizer(folder: Folder, plan: Plan, *, cached: bool = False) -> Tokenizer | None:
    """The tokenizer of a plan; None for a job that counts. Raises JobError if it, or a library, differs from the plan. With
    `cached`, the file is not looked at again if this process has loaded it."""
    tok = None
    if plan.options.to != COUNTS:
        tok = cached_tokenizer(folder, plan) if cached else None
        tok = load_job_tokenizer(folder, plan) if tok is None else tok
        refuse_facts(folder, plan, tok)
    now = library_versions(EVERY_ROW[plan.options.to].libraries)
    for name in {**plan.versions, **now}:
        if now.get(name) != (version := plan.versions.get(name)):
            problem = f"planned with {name} {version}, but this is {now.get(name)}, whose files may differ"
            raise JobError(folder, f"{problem}; install the planned version, or plan the job again with force=True")
    return tok


def cached_plan(folder: Folder, *, whole: bool) -> Plan:
    """The plan of a job, read once for all shards of a process; errors as in `read_plan`."""
    try:
        version = folder.version(JOB)
    except OSError:
        return read_plan(folder)
    return read_plan_version(folder, version, whole)


@lru_cache(maxsize=2)
def read_plan_version(folder: Folder, version: tuple[object, ...], whole: bool) -> Plan:
    """The plan of a job, cached for the next shard as long as the file does not change."""
    return read_plan(folder) if whole else open_plan(folder)


def load_job_tokenizer(folder: Folder, plan: Plan) -> Tokenizer:
    try:
        key = (folder, plan.tokenizer, folder.version(plan.tokenizer))
        tok = LAST_TOKENIZER.get(key)
        if tok is None:
            with folder.fetch_files([plan.tokenizer]) as local:
                tok = load(local / plan.tokenizer)
    except (OSError, FormatError) as problem:
        why = problem.problem if isinstance(problem, FormatError) else problem.strerror or problem
        message = f"the tokenizer {plan.tokenizer} cannot be read: {why}; plan the job again with force=True"
        raise JobError(folder, message) from None
    cache_tokenizer(key, tok)
    return tok


def refuse_facts(folder: Folder, plan: Plan, tok: Tokenizer) -> None:
    """Raises JobError if a plan contradicts its tokenizer."""
    problem = None
    if tok.fingerprint != plan.fingerprint:
        message = f"{plan.tokenizer} is not the tokenizer of the plan; plan the job again with force=True"
        raise JobError(folder, message)
    if plan.vocab_size != tok.vocab_size:
        problem = f"vocab_size is {plan.vocab_size:,}, and that of its tokenizer {tok.vocab_size:,}"
    for name, content in plan.options.tokens:
        if content not in tok.special_tokens:
            problem = f"options.{name} is {content[:50]!r}, which is not a special token of its tokenizer"
    if problem is not None:
        advice = "restore it, or plan the job again with force=True"
        raise JobError(folder, f"{JOB} is not a plan of toksmith: {problem}; {advice}")


def save_tokenizer(folder: Folder, name: str, tok: Tokenizer) -> None:
    """Writes the tokenizer of a job, and caches it for the shards of this process."""
    saved = FORMATS["native"].save(tok.model, allow_loss=())
    folder.write(name, saved if isinstance(saved, bytes) else b"".join(saved))
    with suppress(OSError):  # reading the tokenizer reports the error
        cache_tokenizer((folder, name, folder.version(name)), tok)


def cached_tokenizer(folder: Folder, plan: Plan) -> Tokenizer | None:
    """The tokenizer of the last shard, if it is that of the plan."""
    wanted = folder, plan.tokenizer, plan.fingerprint
    return next((tok for key, tok in [*LAST_TOKENIZER.items()] if (*key[:2], tok.fingerprint) == wanted), None)


def cache_tokenizer(key: FileKey, tok: Tokenizer) -> None:
    """Caches a tokenizer for the next shard, in place of the last one."""
    LAST_TOKENIZER.clear()
    LAST_TOKENIZER[key] = tok


class InputTally:
    """Sums of documents, ids and bytes of texts for each input."""

    def __init__(self) -> None:
        self._sums: dict[int, tuple[int, int, int]] = {}
        self._lengths = DocumentLengths()

    def count_passing(self, batches: Iterable[EncodedDocuments]) -> Iterator[EncodedDocuments]:
        for batch in batches:
            inputs, places = np.unique(batch.facts.inputs, return_inverse=True)
            sums = np.zeros((len(inputs), 3), np.int64)
            sizes, lengths = batch.facts.sizes.astype(np.int64), self._lengths.of(len(batch.ids), batch.ends)
            np.add.at(sums, places, np.stack([np.ones_like(sizes), lengths, sizes], axis=1))
            for input, added in zip(inputs.tolist(), sums.tolist(), strict=True):
                before = self._sums.get(input, (0, 0, 0))
                self._sums[input] = (before[0] + added[0], before[1] + added[1], before[2] + added[2])
            yield batch

    def rows(self) -> tuple[tuple[int, int, int, int], ...]:
        """The number of each input, and its sums, in order."""
        return tuple((input, *self._sums[input]) for input in sorted(self._sums))
