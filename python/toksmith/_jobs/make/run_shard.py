"""Makes one shard: the plan and a number become files and a receipt.

`encode_shard.py` makes the rows, a sink writes them. A shuffle has two rounds: shards of the first write buckets, shards
of the second each read one bucket of all of them (`shuffle.py`). The number of threads, the process and the order of
shards change nothing, so a shard that is done twice has equal bytes.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from ..._base.errors import InvalidOption, JobError
from ..._storage.folders import Folder, folder_at
from ..._tokenizer.tokenizer import Tokenizer
from ..one_file.encode import special_id, written_behind
from ..plans.plan import JOB, Plan
from ..plans.room import ShardRoom, held_of, per_byte, room_of
from ..sinks import EVERY_ROW, Sink, SinkRows, SinkSpec
from ..written.durable import ShardFiles
from ..written.receipts import Receipt, read_receipts, write_receipt
from .count_shard import counted_shard
from .encode_shard import EncodedShard, ShardTally
from .input_tally import InputTally
from .opened import opened_job
from .shuffle import Bucket, write_buckets

__all__ = ["make_shard", "run_shard", "spec_of"]


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
            raise JobError(str(folder), f"{said}; make shard {before} first")
        for each in receipt.files:
            if size(each.name) != each.bytes:
                said = f"{each.name} has {size(each.name) or 0:,} bytes, {each.bytes:,} were written"
                raise JobError(str(folder), f"{said}; make shard {before} again first")


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
    contents = {id: content for content, id in tok.special_tokens.items()}
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
