"""What a job will cost: core-hours, what is read and written, and room on the disk, from a short measurement.

A few MB of the inputs are made into a shard like those of the job, in a temporary folder, on one thread, and the processor's
time is taken: reading, unpacking, parsing, encoding, hashing and writing.
"""

from __future__ import annotations

import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from ... import _render
from ..._base.errors import JobError, ToksmithError
from ..._corpus import TABLES, File, kind_of
from ..._corpus.blocks import file_here
from ..._corpus.encode_files import PACKED, opened, readable
from ..._corpus.parquet import batches, pyarrow, row_group_sizes
from ..._storage.folders import LocalFolder
from ..._storage.remote import input_at
from ..._tokenizer.tokenizer import Tokenizer
from ..make.run_shard import make_shard
from ..plans.plan import Part, Plan, PlannedInput, ShardRoom, planned, row_starts
from ..sinks import EVERY_ROW

__all__ = ["CostRow", "JobCost", "cost_of"]

FILES_IN_A_SAMPLE = 4
BYTES_OF_A_SAMPLE = 16 << 20
ENOUGH_BYTES = 10**6
SIZES = {"1 TB": 10**12, "60 TB": 60 * 10**12}


@dataclass(frozen=True)
class CostRow:
    """What so much text costs.

    Attributes: `what` it is; `text_bytes`; `core_hours` of one core like this;
    `read_bytes` of the inputs, as packed as these; `written_bytes` of the
    result; `disk_bytes`, the most that the folder has while the job runs.
    """

    what: str
    text_bytes: int
    core_hours: float
    read_bytes: int
    written_bytes: int
    disk_bytes: int


@dataclass(frozen=True)
class JobCost(_render.Shown):
    """What a job will cost, and what that was computed from.

    Attributes: `measured`, in words; `core_mb_per_s`, megabytes of text that
    one core handles in a second; `rows`, of this input, 1 TB and 60 TB of such
    text.
    """

    measured: str
    core_mb_per_s: float
    rows: tuple[CostRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON values."""
        return {**asdict(self), "rows": [asdict(row) for row in self.rows]}

    def _parts(self) -> Iterator[Any]:
        yield "cost"
        heads = ("text", "core-hours", "read GB", "written GB", "disk GB")
        rows = [
            (
                row.what,
                *map(figure, (row.core_hours, row.read_bytes / 1e9, row.written_bytes / 1e9, row.disk_bytes / 1e9)),
            )
            for row in self.rows
        ]
        said = f"{self.core_mb_per_s:,.1f} MB/s of text on one core, {self.measured}"
        yield _render.Table(heads, rows)
        yield _render.Line(said)


def figure(value: float) -> str:
    """A figure with two digits that count."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


class CostSample(NamedTuple):
    """Parts of the inputs as files.

    Attributes: `inputs`, the files; `file_bytes` that the same parts have in the inputs, about; `unpack_s` that unpacking took.
    """

    inputs: list[PlannedInput]
    file_bytes: float
    unpack_s: float


def cost_of(plan: Plan, tok: Tokenizer, *, clock: Callable[[], float] = time.process_time) -> JobCost:
    """What a planned job will cost.

    Args:
        clock: The processor's time in seconds.
    Raises:
        CorpusError: An input cannot be read.
        JobError: The sample has no text.
    """
    options = replace(plan.options, errors="skip", max_errors=None, shuffle=None, sources=False)
    row = EVERY_ROW[options.to]
    tok.encode("low")  # what is made once for a process is no cost of texts
    with tempfile.TemporaryDirectory(prefix="toksmith-") as name:
        folder = Path(name)
        sample = sample_of(plan, folder, clock)
        shard = tuple(Part(number) for number in range(len(sample.inputs)))
        (folder / "out").mkdir()
        small = replace(plan, options=options, inputs=tuple(sample.inputs), shards=(shard,))
        start = clock()
        try:
            receipt = make_shard(small, tok, 0, LocalFolder(folder / "out"), ShardRoom(1))
        except ToksmithError as error:
            raise JobError("the sample of the inputs", f"cannot be encoded: {error}") from error
        core_s = clock() - start + sample.unpack_s
    if not receipt.text_bytes:
        raise JobError("the sample of the inputs", "has no text, so nothing can be measured")
    text = receipt.text_bytes
    measured = f"measured on {text / 1e6:,.1f} MB of this input"
    measured += "" if text >= ENOUGH_BYTES else ", too little to say much"
    per_byte = core_s / text
    written = sum(each.bytes for each in receipt.files) / text
    again = written if row.parts is not None else 0.0
    buckets = (4 * receipt.ids + 80 * receipt.documents) / text if plan.options.shuffle is not None else 0.0
    packed = sample.file_bytes / text

    def row_of(what: str, size: float) -> CostRow:
        disk = size * (written + again + buckets)
        sizes = (round(size * each) for each in (1, packed, written))
        text_bytes, read, out = sizes
        return CostRow(what, text_bytes, size * per_byte / 3600, read, out, round(disk))

    rows = (row_of("this input", plan.size / packed), *(row_of(what, size) for what, size in SIZES.items()))
    return JobCost(measured, 1e-6 / per_byte if per_byte else 0.0, rows)


def sample_of(plan: Plan, folder: Path, clock: Callable[[], float]) -> CostSample:
    """The beginnings of some inputs, evenly spread, as files of the same kinds; packed ones are unpacked."""
    there = [each for each in plan.inputs if each.bytes] or list(plan.inputs)
    most = min(FILES_IN_A_SAMPLE, len(there))
    limit = BYTES_OF_A_SAMPLE // most
    inputs, file_bytes, unpack_s = [], 0.0, 0.0
    for number in range(most):
        found = there[number * len(there) // most]
        path, kind = Path(found.path), kind_of(Path(found.path))
        is_table = kind in TABLES
        target = folder / f"{number}{'.parquet' if is_table else kind if kind == '.jsonl' else '.txt'}"
        if is_table:
            file_bytes += table_sample(found, plan.options.id_field, target, limit)
        else:
            start = clock()
            data = beginning(found, limit)
            is_packed = path.suffix in PACKED
            unpack_s += clock() - start if is_packed else 0.0
            target.write_bytes(data)
            file_bytes += len(zlib.compress(data)) if is_packed else len(data)
        inputs.append(planned(File(target, found.field)))
    return CostSample(inputs, file_bytes, unpack_s)


def beginning(found: PlannedInput, limit: int) -> bytes:
    """About so many of the first bytes of an input, unpacked, and whole rows if it has rows."""
    path = Path(found.path)
    with readable(path):
        if path.suffix in PACKED:
            with opened(path) as stream:
                return stream.read(limit) + (stream.readline() if kind_of(path) == ".jsonl" else b"")
        source, stop = input_at(found.path), min(limit, found.bytes)
        if path.suffix == ".jsonl":
            stop = next(row_starts(source, found.bytes, limit), 0)
        return source.read(0, stop)


def table_sample(found: PlannedInput, id_field: str | None, target: Path, limit: int) -> float:
    """Writes the first rows of a table as a Parquet file, and says how many bytes of the file they are, about."""
    path = Path(found.path)
    arrow = pyarrow(found.path)
    fields = (found.field,) if id_field is None else (found.field, id_field)
    groups = row_group_sizes(path, found.field) if path.suffix == ".parquet" else []
    enough = next((number for number, total in enumerate(accumulate(groups), 1) if total >= limit), len(groups))
    part = (0, enough) if groups else None
    tables, size = [], 0
    with file_here(File(path, found.field, id_field, part)) as here:
        for _, columns in batches(here, fields, part):
            fits = max(1, len(columns[0]) * (limit - size) // max(columns[0].nbytes, 1))
            tables.append(arrow.table([column.slice(0, fits) for column in columns], names=list(fields)))
            size += columns[0].slice(0, fits).nbytes
            if size >= limit:
                break
    table = (
        arrow.concat_tables(tables)
        if tables
        else arrow.table({name: arrow.array([], arrow.binary()) for name in fields})
    )
    arrow.parquet.write_table(table, target, compression="zstd")
    if path.suffix != ".parquet":
        return float(min(size, found.bytes))  # which has no packed columns
    whole = sum(groups)
    return min(1.0, size / whole) * found.bytes if whole else 0.0
