"""Makes one shard of a job that counts: a file of counts, with first positions relative to the shard.

When shards are added up, `_training/counts/merge.py` moves the positions by the documents of the shards before. The core
parses the rows; one thread prefetches and unpacks files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from threading import Event

from ... import _core
from ..._base.paths import printable_path
from ..._corpus import File, kind_of
from ..._corpus.blocks import KINDS, Block, Skipped, text_blocks
from ..._corpus.prefetch import prefetch_values
from ..._storage.atomic_files import wrap_write_errors
from ..._training.counts.files import Facts, write_parquet
from ...errors import CorpusError
from ..plans.options import JobOptions
from ..plans.plan import PER_BYTE, Part, Plan, WorkerLimits, refuse_changed_input
from ..sinks import counts_name
from ..written import Receipt, ShardFiles

# The most bytes of a process's table of counts; the rest goes to temporary files. It does not change the counts.
MOST_MEMORY = 1 << 30


class BadRows(Skipped):
    """Counts the rows without a text, or raises an error, by the job's option."""

    def __init__(self, options: JobOptions) -> None:
        super().__init__(options.errors != "stop")
        self._most = options.max_errors

    def says(self, problem: CorpusError, rows: int = 1) -> None:
        """Counts rows without a text; raises if the job stops at them, or this shard alone exceeds its `max_errors`."""
        if not self.allowed:
            raise problem
        self.count += rows
        if self._most is not None and self.count > self._most:
            message = f"the shard has more than {self._most:,} rows without a text; the last: {problem.problem}"
            raise CorpusError(problem.path, problem.record, f"{message}; raise max_errors, or look at the file")


def make_counted_shard(plan: Plan, number: int, folder: Path, room: WorkerLimits) -> Receipt:
    """Makes the file of a shard in a folder; errors as in `run_shard`."""
    options, name, stop, threads = plan.options, counts_name(number), Event(), room.threads
    patterns = tuple(options.patterns or ())
    most = MOST_MEMORY if room.longest is None else min(MOST_MEMORY, PER_BYTE * room.longest // 2)
    counter = _core.Counter(patterns, (0, 0), most, tempfile.gettempdir(), options.max_piece_bytes)
    bad = BadRows(options)
    with ShardFiles(folder) as files:
        out = files.new(name)  # first, because the file shows that this shard is being made
        parts = (part_blocks(plan, part, room.longest) for part in plan.shards[number])
        try:
            for block in prefetch_values(chain.from_iterable(parts), stop):
                block.count(counter, bad, threads)
        finally:
            stop.set()
        end = counter.next
        counts = counter.finish(1, threads)
        facts = Facts(patterns, counts.documents, counts.long, counts.rare, [((0, 0), end)], bad.count)
        with wrap_write_errors(out.path):
            write_parquet(counts, facts, printable_path(out.path), out.file)
        written_files = files.place()
    return Receipt(
        shard=number,
        documents=counts.documents,
        ids=int(counts.columns()[1][1].sum()),
        text_bytes=counts.bytes,
        empty=0,
        bad_rows=bad.count,
        special_tokens={},
        text_sha256=counts.digest,
        files=written_files,
    )


def part_blocks(plan: Plan, part: Part, longest: int | None) -> Iterator[Block]:
    source = plan.inputs[part.input]
    refuse_changed_input(source)
    path = Path(source.path)
    bounds = None if part.start is None or part.stop is None else (part.start, part.stop)
    skip = plan.options.errors != "stop"
    file = File(path, source.field, None, bounds, longest, facts=source.facts)
    yield from KINDS.get(kind_of(path), text_blocks)(file, skip)
    refuse_changed_input(source)
