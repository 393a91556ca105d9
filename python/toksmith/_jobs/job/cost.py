"""Estimates the cost of a job from a short measurement: core-hours, bytes read and written, disk space.

A few MB of the inputs are made into a shard like the job's, in a temporary folder, on one thread, and the processor time is
measured: reading, unpacking, parsing, encoding, hashing and writing.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from ... import _render
from ..._corpus import TABLES, File, kind_of
from ..._corpus.blocks import local_file
from ..._corpus.encode_files import PACKED, open_unpacked, wrap_corpus_errors
from ..._corpus.parquet import import_pyarrow, row_group_sizes, table_batches
from ..._storage.folders import LocalFolder
from ..._storage.remote import input_at
from ..._storage.temporary_folder import temporary_folder
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import JobError, ToksmithError
from ..make.run_shard import make_shard
from ..plans.draft import make_input, row_starts
from ..plans.plan import Part, Plan, PlannedInput, WorkerLimits
from ..sinks import EVERY_ROW

FILES_IN_A_SAMPLE = 4
BYTES_OF_A_SAMPLE = 16 << 20
ENOUGH_BYTES = 10**6
SIZES = {"1 TB": 10**12, "60 TB": 60 * 10**12}


@dataclass(frozen=True)
class CostRow:
    """The cost of an amount of text.

    Attributes: `what`, its name; `text_bytes`; `core_hours` of one core like
    this; `read_bytes` of the inputs, compressed like these; `written_bytes` of
    the result; `disk_bytes`, the peak size of the folder while the job runs.
    """

    what: str
    text_bytes: int
    core_hours: float
    read_bytes: int
    written_bytes: int
    disk_bytes: int


@dataclass(frozen=True)
class JobCost(_render.Shown):
    """The estimated cost of a job, and the measurement.

    Attributes: `measured`, the measurement in words; `core_mb_per_s`, the
    megabytes of text per second on one core; `rows`, for this input, 1 TB and
    60 TB of such text.
    """

    measured: str
    core_mb_per_s: float
    rows: tuple[CostRow, ...]

    def _parts(self) -> Iterator[Any]:
        yield "cost"
        heads = ("text", "core-hours", "read GB", "written GB", "disk GB")
        rows = [
            (
                row.what,
                *map(
                    format_figure, (row.core_hours, row.read_bytes / 1e9, row.written_bytes / 1e9, row.disk_bytes / 1e9)
                ),
            )
            for row in self.rows
        ]
        speed = f"{self.core_mb_per_s:,.1f} MB/s of text on one core, {self.measured}"
        yield _render.Table(heads, rows)
        yield _render.Line(speed)


def format_figure(value: float) -> str:
    """A figure with two significant digits."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


class CostSample(NamedTuple):
    """Parts of the inputs as files.

    Attributes: `inputs`, the files; `file_bytes`, about the bytes of these parts in the inputs; `unpack_s`, the time of
    unpacking.
    """

    inputs: list[PlannedInput]
    file_bytes: float
    unpack_s: float


def cost_of(plan: Plan, tok: Tokenizer, *, clock: Callable[[], float] = time.process_time) -> JobCost:
    """Estimates the cost of a planned job; `clock` gives the processor time in seconds."""
    options = replace(plan.options, errors="skip", max_errors=None, shuffle=None, sources=False)
    row = EVERY_ROW[options.to]
    tok.encode("low")  # excludes work that is done once per process
    with temporary_folder() as folder:
        sample = take_sample(plan, folder, clock)
        shard = tuple(Part(number) for number in range(len(sample.inputs)))
        (folder / "out").mkdir()
        small = replace(plan, options=options, inputs=tuple(sample.inputs), shards=(shard,))
        start = clock()
        try:
            receipt = make_shard(small, tok, 0, LocalFolder(folder / "out"), WorkerLimits(1))
        except ToksmithError as error:
            raise JobError("the sample of the inputs", f"cannot be encoded: {error}") from error
        core_s = clock() - start + sample.unpack_s
    if not receipt.text_bytes:
        raise JobError("the sample of the inputs", "has no text, so nothing can be measured")
    text = receipt.text_bytes
    measured = f"measured on {text / 1e6:,.1f} MB of this input"
    measured += "" if text >= ENOUGH_BYTES else ", too little for a good estimate"
    per_byte = core_s / text
    written_per_byte = sum(factor.bytes for factor in receipt.files) / text
    parts_per_byte = written_per_byte if row.parts is not None else 0.0
    buckets = (4 * receipt.ids + 80 * receipt.documents) / text if plan.options.shuffle is not None else 0.0
    packed = sample.file_bytes / text

    def row_of(what: str, size: float) -> CostRow:
        disk = size * (written_per_byte + parts_per_byte + buckets)
        sizes = (round(size * factor) for factor in (1, packed, written_per_byte))
        text_bytes, read_bytes, out = sizes
        return CostRow(what, text_bytes, size * per_byte / 3600, read_bytes, out, round(disk))

    rows = (row_of("this input", plan.size / packed), *(row_of(what, size) for what, size in SIZES.items()))
    return JobCost(measured, 1e-6 / per_byte if per_byte else 0.0, rows)


def take_sample(plan: Plan, folder: Path, clock: Callable[[], float]) -> CostSample:
    """The beginnings of some inputs, evenly spread, as unpacked files of the same kinds."""
    inputs_with_bytes = [item for item in plan.inputs if item.bytes] or list(plan.inputs)
    most = min(FILES_IN_A_SAMPLE, len(inputs_with_bytes))
    limit = BYTES_OF_A_SAMPLE // most
    inputs, file_bytes, unpack_s = [], 0.0, 0.0
    for number in range(most):
        source = inputs_with_bytes[number * len(inputs_with_bytes) // most]
        path, kind = Path(source.path), kind_of(Path(source.path))
        is_table = kind in TABLES
        target = folder / f"{number}{'.parquet' if is_table else kind if kind == '.jsonl' else '.txt'}"
        if is_table:
            file_bytes += table_sample(source, plan.options.id_field, target, limit)
        else:
            start = clock()
            data = read_beginning(source, limit)
            is_packed = path.suffix in PACKED
            unpack_s += clock() - start if is_packed else 0.0
            target.write_bytes(data)
            file_bytes += len(zlib.compress(data)) if is_packed else len(data)
        inputs.append(make_input(File(target, source.field)))
    return CostSample(inputs, file_bytes, unpack_s)


def read_beginning(planned_input: PlannedInput, limit: int) -> bytes:
    """The first bytes of an input, about `limit`, unpacked; whole rows if it has rows."""
    path = Path(planned_input.path)
    with wrap_corpus_errors(path):
        if path.suffix in PACKED:
            with open_unpacked(path) as stream:
                return stream.read(limit) + (stream.readline() if kind_of(path) == ".jsonl" else b"")
        source, stop = input_at(planned_input.path), min(limit, planned_input.bytes)
        if path.suffix == ".jsonl":
            stop = next(row_starts(source, planned_input.bytes, limit), 0)
        return source.read(0, stop)


def table_sample(planned_input: PlannedInput, id_field: str | None, target: Path, limit: int) -> float:
    """Writes the first rows of a table to a Parquet file, and returns about how many bytes of the table they are."""
    path = Path(planned_input.path)
    arrow = import_pyarrow(planned_input.path)
    fields = (planned_input.field,) if id_field is None else (planned_input.field, id_field)
    groups = row_group_sizes(path, planned_input.field) if path.suffix == ".parquet" else []
    enough = next((number for number, total in enumerate(accumulate(groups), 1) if total >= limit), len(groups))
    part = (0, enough) if groups else None
    tables, size = [], 0
    with local_file(File(path, planned_input.field, id_field, part)) as local:
        for _, columns in table_batches(local, fields, part):
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
        return float(min(size, planned_input.bytes))  # counts columns of Arrow files as not compressed
    total_bytes = sum(groups)
    return min(1.0, size / total_bytes) * planned_input.bytes if total_bytes else 0.0
