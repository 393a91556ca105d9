"""One shard of a job that counts: its documents become a file of counts, with first positions from its own beginning.

Whoever adds up the shards moves the positions by the documents of the shards before (`_training/counts/merge.py`). The core reads the
rows; one thread reads and unpacks ahead of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from threading import Event

from ... import _core
from ..._base.errors import CorpusError
from ..._base.paths import shown
from ..._corpus import File, kind_of
from ..._corpus.ahead import ahead
from ..._corpus.blocks import KINDS, Block, Skipped, in_text
from ..._storage.atomic_files import writable
from ..._training.counts.files import Facts, write_parquet
from ..plans.options import JobOptions
from ..plans.plan import PER_BYTE, Part, Plan, ShardRoom, unchanged
from ..sinks import counts_name
from ..written import Receipt, ShardFiles

__all__ = ["counted_shard"]

# Of the table of a process; more goes to files without names. It changes no count.
MOST_MEMORY = 1 << 30


class BadRows(Skipped):
    """The rows without a text so far: errors, or counted, as the job says."""

    def __init__(self, options: JobOptions) -> None:
        super().__init__(options.errors != "stop")
        self._most = options.max_errors

    def says(self, problem: CorpusError, rows: int = 1) -> None:
        """Counts rows that have no text.

        Raises:
            CorpusError: The job stops at such rows, or the shard alone has more than the whole job may have.
        """
        if not self.allowed:
            raise problem
        self.count += rows
        if self._most is not None and self.count > self._most:
            said = f"the shard has more than {self._most:,} rows without a text; the last: {problem.problem}"
            raise CorpusError(problem.path, problem.record, f"{said}; raise max_errors, or look at the file")


def counted_shard(plan: Plan, number: int, folder: Path, room: ShardRoom) -> Receipt:
    """The file of a shard, in a folder; errors are those of `run_shard`."""
    options, name, stop, threads = plan.options, counts_name(number), Event(), room.threads
    patterns = tuple(options.patterns or ())
    most = MOST_MEMORY if room.longest is None else min(MOST_MEMORY, PER_BYTE * room.longest // 2)
    counter = _core.Counter(patterns, (0, 0), most, tempfile.gettempdir(), options.max_piece_bytes)
    bad = BadRows(options)
    with ShardFiles(folder) as files:
        out = files.new(name)  # first, so that the folder shows which shards are being made
        parts = (blocks_of(plan, part, room.longest) for part in plan.shards[number])
        try:
            for block in ahead(chain.from_iterable(parts), stop):
                block.count(counter, bad, threads)
        finally:
            stop.set()
        end = counter.next
        counts = counter.finish(1, threads)
        facts = Facts(patterns, counts.documents, counts.long, counts.rare, [((0, 0), end)], bad.count)
        with writable(out.path):
            write_parquet(counts, facts, shown(out.path), out.file)
        written = files.place()
    return Receipt(
        shard=number,
        documents=counts.documents,
        ids=int(counts.columns()[1][1].sum()),
        text_bytes=counts.bytes,
        empty=0,
        bad_rows=bad.count,
        special_tokens={},
        text_sha256=counts.digest,
        files=written,
    )


def blocks_of(plan: Plan, part: Part, longest: int | None) -> Iterator[Block]:
    """The blocks of a part, in order.

    Raises:
        CorpusError: The file cannot be read, or is not as it was when the plan was made.
    """
    found = plan.inputs[part.input]
    unchanged(found)
    path = Path(found.path)
    own = None if part.start is None or part.stop is None else (part.start, part.stop)
    skip = plan.options.errors != "stop"
    yield from KINDS.get(kind_of(path), in_text)(File(path, found.field, None, own, longest), skip)
    unchanged(found)
