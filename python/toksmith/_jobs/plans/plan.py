"""The plan of a job: its inputs, options and shards, and the threads and memory of a worker.

A plan is immutable. Together with the number of a shard it decides every byte of the shard's files. Left out: writing the
plan (`job/`), and encoding (`make/`).

Peak memory is below `BASE` + `PER_THREAD` for each thread + `memory_per_byte` for each byte of the longest document, or of the texts
of the largest row group or batch of a table. A text can have as many ids as bytes. Most formats take the ids of a long text in
parts; some formats, shuffling and packing need all of them at once. `BASE` and `PER_THREAD` include the prefetched blocks.
So a memory limit decides the number of threads and the length of the longest document.

A shuffle and best-fit packing also hold all ids of a shard. For these, a plan reserves `HELD_PER_BYTE` for each byte that the
largest shard reads, more than normal texts need; a shard that needs more fails (`HeldIdsLimit`).
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, overload

from ... import _core
from ..._base.arguments import check_int
from ..._base.paths import url_of
from ..._base.threads import thread_count
from ..._corpus import TABLES, kind_of
from ..._corpus.encode_files import PACKED, wrap_corpus_errors
from ..._corpus.parquet import row_group_sizes
from ..._render.streams import LOG
from ..._storage.folders import Folder
from ..._storage.remote import InputFacts, input_at
from ...errors import CorpusError, InvalidOption, JobError
from ..written import describe_json_error, has_json_type
from .index import END, INDEX, INPUTS, SHARDS, IndexMismatch, PlanIndex, check_sum, open_index
from .options import COUNTS, JobOptions, parse_options, patterns_fingerprint

Item = TypeVar("Item")
JOB = "job.json"
UNUSABLE = (IndexMismatch, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
FACTS = {"tokenizer": "str", "fingerprint": "str", "vocab_size": "int", "versions": "dict[str, str]"}
FIELDS = ("toksmith_job", *FACTS, "options", "inputs", "shards")
MOST = 1 << 63
ASKED_AT_ONCE = 16
WHOLE_PATH = re.compile(r"(?:/|[A-Za-z]:[\\/]|\\\\)[^\0]*\Z")
VERSION = 1
LOOK_BYTES = 1 << 16
BASE, PER_THREAD, PER_BYTE = 300_000_000, 64_000_000, 6
PER_BYTE_OF = {"hf": 9, "parquet": 20}
# In addition for texts of tables, which their readers hold as well.
TABLE_PER_BYTE = 2
# Per byte of a document, in jobs that need all ids of a document at once.
WHOLE_PER_BYTE = 12
WHOLE_PER_BYTE_OF = {"dolma": 14, "mds": 17, "hf": 20, "parquet": 38}
HELD_PER_BYTE = 6
HELD_PER_ID, HELD_PER_DOCUMENT = 8, 400
# The assumed bytes of texts per byte of a packed file or table; a shard with more texts can exceed its room and fail.
UNPACKED_FACTOR = 4
MOST_MEMORY = 1 << 60
# Every memory limit allows documents of this many bytes.
LEAST_LONGEST = 1 << 22


class PlannedInput(NamedTuple):
    """An input file in its state at planning: `version` is the time of its last change in ns, or the ETag of a URL."""

    path: str
    bytes: int
    version: int | str
    field: str

    @property
    def facts(self) -> InputFacts:
        return InputFacts(self.bytes, self.version)


class Part(NamedTuple):
    """A part of an input: a range of bytes of a plain `.jsonl` file, of row groups of Parquet, or the whole file (None)."""

    input: int
    start: int | None = None
    stop: int | None = None


class Numbered(Sequence[Item]):
    """A sequence of `count` items of which only some are present, by their numbers."""

    def __init__(self, count: int, items: Mapping[int, Item]) -> None:
        self._count, self._items = count, items

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> Item: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Item]: ...
    def __getitem__(self, number: Any) -> Any:
        return self._items[number]


@dataclass(frozen=True)
class Plan:
    """The plan of a job, or of some of its shards.

    Attributes: `tokenizer`, the name of its file in the folder ("" if the job counts); `fingerprint` of the tokenizer, or of
    the patterns; `vocab_size`; `options`; `versions` of the libraries that decide bytes; `inputs`; `shards`, the parts of each;
    `index`, if only the inputs and shards that `plan_of_shard` reads by it are present.
    """

    tokenizer: str
    fingerprint: str
    vocab_size: int
    options: JobOptions
    versions: dict[str, str]
    inputs: Sequence[PlannedInput]
    shards: Sequence[tuple[Part, ...]]
    index: PlanIndex | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        return sum(input.bytes for input in self.inputs) if self.index is None else self.index.facts.bytes

    @property
    def units(self) -> int:
        """The number of receipts of a complete job: one for each shard, and with a shuffle one for each shard and round."""
        return len(self.shards) * (1 if self.options.shuffle is None else 2)

    @property
    def final(self) -> range:
        """The units whose files are the result."""
        return range(self.units - len(self.shards), self.units)

    def head(self) -> bytes:
        """The start of the plan as JSON, up to the inputs."""
        head = {"toksmith_job": VERSION, "tokenizer": self.tokenizer, "fingerprint": self.fingerprint}
        head |= {"vocab_size": self.vocab_size, "options": asdict(self.options), "versions": self.versions}
        lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
        return ("{\n" + ",\n".join(lines)).encode()

    def to_bytes(self) -> bytes:
        """The plan as JSON, with a line for each input and shard."""
        inputs, shards = (
            ",\n".join(f"  {json.dumps(row)}" for row in rows).encode() for rows in (self.inputs, self.shards)
        )
        return b"".join((self.head(), INPUTS, inputs, SHARDS, shards, END))

    @staticmethod
    def of(data: bytes) -> Plan:
        value = json.loads(data)
        if type(value) is not dict or type(value["toksmith_job"]) is not int or value["toksmith_job"] != VERSION:
            raise ValueError(f"toksmith_job, its version, is not {VERSION}")
        if unknown := [name for name in value if name not in FIELDS]:
            raise ValueError(f"{unknown[0][:50]!r} is not a field of this version")
        inputs = tuple(parse_input(row, f"inputs[{number}]") for number, row in enumerate(parse_rows(value, "inputs")))
        shards = tuple(parse_shard(row, f"shards[{number}]") for number, row in enumerate(parse_rows(value, "shards")))
        plan = replace(parse_head(value), inputs=inputs, shards=shards)
        refuse_parts(inputs, shards)
        return plan


def parse_head(value: dict[str, Any]) -> Plan:
    """The plan without its inputs and shards."""
    for name, kind in FACTS.items():
        if not has_json_type(value[name], kind):
            raise ValueError(f"{name} has a wrong type, expected {kind}")
    name, fingerprint, size, versions = (value[name] for name in FACTS)
    options = parse_options(value["options"], size)
    refuse_tokenizer_facts(name, fingerprint, size, options)
    return Plan(name, fingerprint, size, options, versions, (), ())


def parse_rows(value: dict[str, Any], name: str) -> list[list[Any]]:
    rows = value[name]
    if type(rows) is not list or not all(type(row) is list for row in rows):
        raise ValueError(f"{name} is not a list of lists")
    return rows


def parse_input(row: list[Any], place: str) -> PlannedInput:
    """Validates an input. Its path must be absolute, of any operating system."""
    if len(row) == 4 and all(map(has_json_type, row, ("str", "int", "int | str", "str"))):
        planned_input, is_url = PlannedInput(*row), url_of(row[0]) is not None
        is_whole = is_url or WHOLE_PATH.match(planned_input.path) is not None
        if is_whole and isinstance(planned_input.version, str) == is_url and 0 <= planned_input.bytes < MOST:
            return planned_input
    raise ValueError(f"{place} is not a whole path, a size, a version and a field")


def parse_shard(rows: list[Any], place: str) -> tuple[Part, ...]:
    if not rows or not all(type(row) is list and len(row) == 3 for row in rows):
        raise ValueError(f"{place} is not a list of parts, each an input, a start and a stop")
    parts = tuple(Part(*row) for row in rows)
    if not all(map(is_part, parts)):
        raise ValueError(f"{place} has a part that is not an input, a start and a later stop")
    return parts


def refuse_tokenizer_facts(name: str, fingerprint: str, size: int, options: JobOptions) -> None:
    """Raises ValueError for facts that no tokenizer can have; a job that counts has no tokenizer."""
    if options.to == COUNTS:
        if (name, fingerprint, size) != ("", patterns_fingerprint(options.patterns or ()), 0):
            raise ValueError("tokenizer, fingerprint and vocab_size are not those of its patterns")
    elif name != tokenizer_name(fingerprint):
        raise ValueError("the name of its tokenizer does not match the fingerprint")
    elif not 1 <= size < 1 << 32:
        raise ValueError(f"vocab_size is {size}, expected at least 1 and less than 2**32")


def tokenizer_name(fingerprint: str) -> str:
    """The name of the file of a job's tokenizer; ValueError if this is not a fingerprint."""
    if not re.fullmatch("[0-9a-f]{64}", fingerprint):
        raise ValueError(f"{fingerprint[:50]!r} is not the fingerprint of a tokenizer")
    return f"tokenizer-{fingerprint[:12]}.toksmith"


def refuse_parts(inputs: Sequence[PlannedInput], shards: Sequence[Sequence[Part]]) -> None:
    """Raises ValueError if the shards do not read all inputs once, in their order."""
    if not inputs:
        raise ValueError("inputs is empty")
    parts: list[list[Part]] = [[] for _ in inputs]
    last = 0
    for number, shard in enumerate(shards):
        for part in shard:
            if not last <= part.input < len(inputs):
                raise ValueError(f"shards[{number}] has a part of an input that does not exist, or is not in order")
            last = part.input
            parts[last].append(part)
    for number, (source, source_parts) in enumerate(zip(inputs, parts, strict=True)):
        if not is_covered(source, source_parts):
            raise ValueError(f"shards does not have all parts of inputs[{number}] once, in order")


def is_covered(planned_input: PlannedInput, parts: Sequence[Part]) -> bool:
    """Whether these parts cover a file; the number of a table's row groups is not checked, because only the table has it."""
    unit = part_unit(planned_input.path)
    if unit is None:
        return len(parts) == 1 and parts[0].start is None
    edges = [part.start for part in parts]
    ends = [0, *(part.stop for part in parts)]
    return edges == ends[:-1] and (unit == "group" or ends[-1] == planned_input.bytes)


def part_unit(path: str) -> str | None:
    """The unit of the parts of a file: bytes of plain `.jsonl`, row groups of Parquet; None for a file that is not cut."""
    suffix = os.path.splitext(path)[1]
    if suffix == ".parquet" or (suffix in PACKED and kind_of(Path(path)) == ".parquet"):
        return "group"
    return "byte" if suffix == ".jsonl" else None


def is_part(part: Part) -> bool:
    if not all(map(has_json_type, part, ("int", "int | None", "int | None"))):
        return False
    if part.start is None or part.stop is None:
        return part.start is part.stop
    return 0 <= part.start < part.stop < MOST


def read_plan(folder: Folder) -> Plan:
    try:
        return Plan.of(folder.read(JOB))
    except FileNotFoundError:
        raise JobError(
            str(folder), f"there is no {JOB}; plan a job with toksmith.corpus.plan or `toksmith corpus tokenize`"
        ) from None
    except NotADirectoryError:
        raise JobError(folder, "it is a file; expected the folder of a job") from None
    except OSError as problem:
        raise JobError(folder, f"{JOB} cannot be read: {problem.strerror or problem}") from problem
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        message = f"{JOB} is not a plan of toksmith: {describe_json_error(problem)}"
        raise JobError(folder, f"{message}; restore it, or plan the job again with force=True") from None


def open_plan(folder: Folder) -> Plan:
    """The plan of a job, without its inputs and shards if the folder has their index; errors as in `read_plan`."""
    try:
        index = open_index(folder, JOB)
        if index is not None:
            facts = index.facts
            inputs, shards = (Numbered[Any](count, {}) for count in (facts.inputs, facts.shards))
            return replace(parse_head(json.loads(index.head + b"}")), inputs=inputs, shards=shards, index=index)
    except UNUSABLE as problem:
        warn_of_index(folder, problem)
    return read_plan(folder)


def plan_of_shard(plan: Plan, number: int) -> Plan | None:
    """The plan with the inputs and parts of one shard, read by the index of `plan`; None if the index cannot be used."""
    if plan.index is None:
        return plan
    try:
        lines = plan.index.lines(number)
        rows = [parse_input(row, "inputs") for row in json.loads(b"[" + lines.inputs.rstrip(b",\n") + b"]")]
        parts = parse_shard(json.loads(lines.parts.rstrip(b",\n")), f"shards[{number}]")
        first = parts[0].input
        if not all(first <= part.input < first + len(rows) for part in parts):
            raise IndexMismatch(f"shard {number} has other inputs")
    except UNUSABLE as problem:
        warn_of_index(plan.index.folder, problem)
        return None
    inputs = Numbered(len(plan.inputs), dict(enumerate(rows, first)))
    return replace(plan, inputs=inputs, shards=Numbered(len(plan.shards), {number: parts}))


def is_same_plan(whole: Plan, opened: Plan) -> bool:
    """Whether a whole plan is the one that was opened."""
    if opened.index is None:
        return whole == opened
    return check_sum(0, [whole.to_bytes()]).decode() == opened.index.job_sum


def warn_of_index(folder: Folder, problem: Exception) -> None:
    if isinstance(problem, FileNotFoundError):  # a finished job does not have it
        return
    message = (
        "%s: %s does not match %s (%s), so the whole plan is read; the command that planned the job writes it again"
    )
    LOG.warning(message, folder, INDEX, JOB, describe_json_error(problem))


def library_versions(libraries: Iterable[str]) -> dict[str, str]:
    """The versions of toksmith and of these libraries, which decide bytes."""
    from importlib.metadata import PackageNotFoundError, version

    versions = {"toksmith": _core.__version__}
    for name in libraries:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            raise InvalidOption("to", name, f"an installed library: pip install {name}") from None
    return versions


def refuse_changed_input(planned_input: PlannedInput) -> None:
    """Raises CorpusError if a file has changed since the plan was made."""
    with wrap_corpus_errors(planned_input.path):
        now = input_at(planned_input.path).facts()
    if now != planned_input.facts:
        change = f"it has {now.bytes:,} bytes now, {planned_input.bytes:,} in the plan"
        if now.bytes == planned_input.bytes:
            change = "it was written to since"
        problem = (
            f"changed after the job was planned ({change}); plan the job again with force=True, or restore the file"
        )
        raise CorpusError(planned_input.path, None, problem)


def unit_sizes(plan: Plan, times: Callable[[PlannedInput], int] = lambda _: 1) -> list[int]:
    """The bytes of the inputs that each unit of a job reads; row groups of one file count as equal.

    The second round of a shuffle counts as reading all inputs again, in equal parts. `times`: the factor for an input.
    """
    if plan.index is not None:
        return [*sizes_of_units(plan, range(plan.units)).values()]
    groups: dict[int, int] = {}
    for part in (part for shard in plan.shards for part in shard):
        groups[part.input] = max(groups.get(part.input, 0), part.stop or 0)

    def size(part: Part) -> int:
        source = plan.inputs[part.input]
        return share_of(source.bytes * times(source), part, groups[part.input])

    sizes = [sum(map(size, shard)) for shard in plan.shards]
    return sizes + second_sizes(plan, sum(sizes))


def share_of(total: int, part: Part, most: int) -> int:
    """The bytes of `total` that a part of an input counts; `most` is the last stop of the input's parts: bytes of a plain `.jsonl`
    file, or row groups of Parquet."""
    if part.start is None or part.stop is None:
        return total
    return total * part.stop // max(most, 1) - total * part.start // max(most, 1)


def second_sizes(plan: Plan, total: int) -> list[int]:
    """The parts of all bytes that the units of the second round count."""
    count = plan.units - len(plan.shards)
    return [total * (number + 1) // count - total * number // count for number in range(count)]


def sizes_of_units(plan: Plan, units: Sequence[int]) -> dict[int, int]:
    """The bytes of the inputs that some units, in order, read, as in `unit_sizes`."""
    if plan.index is None:
        sizes = unit_sizes(plan)
        return {number: sizes[number] for number in units}
    shards = len(plan.shards)
    first, rest = units[: (cut := bisect_left(units, shards))], units[cut:]
    try:
        found = dict(zip(first, plan.index.sizes(first), strict=True))
    except UNUSABLE as problem:
        warn_of_index(plan.index.folder, problem)
        return sizes_of_units(read_plan(plan.index.folder), units)
    second = second_sizes(plan, plan.size) if rest else []
    found.update((number, second[number - shards]) for number in rest)
    return found


class WorkerLimits(NamedTuple):
    """The limits of a worker: `threads`, the bytes of the `longest` document, and the bytes `held` for the ids of a whole
    shard; None for no limit."""

    threads: int
    longest: int | None = None
    held: int | None = None


class HeldIdsLimit:
    """Limits the memory for the ids of a shard that must be held together."""

    def __init__(self, number: int, room: WorkerLimits) -> None:
        self._number, self._most, self._held = number, room.held, 0

    def add(self, documents: int, ids: int) -> None:
        """Counts documents with their ids; raises JobError if they need more memory than the limit."""
        self._held += HELD_PER_DOCUMENT * documents + HELD_PER_ID * ids
        if self._most is not None and self._held > self._most:
            problem = f"its ids, which are held together, need more than {self._most:,} bytes, the most that max_memory allows"
            advice = "raise max_memory, or plan the job again with a smaller shard_size and force=True"
            raise JobError(f"shard {self._number}", f"{problem}; {advice}")


def has_tables(plan: Plan) -> bool:
    if plan.index is not None:
        return plan.index.facts.tables
    return any(map(is_table, plan.inputs))


def is_table(planned_input: PlannedInput) -> bool:
    return planned_input.path.endswith(TABLES) and kind_of(Path(planned_input.path)) in TABLES


def held_bytes(plan: Plan) -> int:
    """The bytes to reserve for the ids of the largest shard; 0 if the job does not hold them together."""
    if plan.index is not None:
        return plan.index.facts.held
    if not holds_ids(plan.options):
        return 0
    return HELD_PER_BYTE * max(unit_sizes(plan, unpacked_factor)[: len(plan.shards)], default=0)


def holds_ids(options: JobOptions) -> bool:
    return options.shuffle is not None or options.pack == "best-fit"


def unpacked_factor(planned_input: PlannedInput) -> int:
    path = Path(planned_input.path)
    return UNPACKED_FACTOR if path.suffix in PACKED or kind_of(path) in TABLES else 1


def memory_per_byte(plan: Plan) -> int:
    options = plan.options
    if options.shuffle is not None or options.pack is not None:
        return WHOLE_PER_BYTE_OF.get(options.to, WHOLE_PER_BYTE)
    return PER_BYTE_OF.get(options.to, PER_BYTE) + TABLE_PER_BYTE * has_tables(plan)


def worker_limits(
    threads: int | None, max_memory: int | None, longest: int = LEAST_LONGEST, *, held: int = 0, times: int = PER_BYTE
) -> WorkerLimits:
    """The limits of a worker that needs `times` the `longest` document in memory, and `held` bytes."""
    count = thread_count(threads)
    if max_memory is None:
        return WorkerLimits(count)
    free = check_int(max_memory, "max_memory") - BASE - times * max(longest, LEAST_LONGEST) - held
    if max_memory > MOST_MEMORY:
        raise InvalidOption("max_memory", max_memory, f"at most {MOST_MEMORY:,}, or None")
    if free < PER_THREAD:
        least = max_memory - free + PER_THREAD
        needs = f"{BASE // 10**6} MB, {PER_THREAD // 10**6} MB for a thread and {times} times the longest document"
        needs += f", and {HELD_PER_BYTE} times the largest shard ({held:,}): pass a smaller shard_size" if held else ""
        raise InvalidOption("max_memory", max_memory, f"at least {least:,} bytes: {needs}")
    count = min(count, free // PER_THREAD)
    rest = free - PER_THREAD * count
    longest = max(longest, LEAST_LONGEST)
    if not held:
        return WorkerLimits(count, longest + rest // times)
    return WorkerLimits(count, longest + rest // 2 // times, held + rest // 2)


def check_memory(plan: Plan, max_memory: int | None) -> None:
    """Raises InvalidOption if a document of the plan needs more memory. The lengths of rows are unknown before they are read;
    a shard fails at a row that is too long."""
    if max_memory is None:
        return
    held_limit, factor = held_bytes(plan), memory_per_byte(plan)
    worker_limits(1, max_memory, held=held_limit, times=factor)
    for source in plan.inputs if plan.index is None else ():  # otherwise a shard fails at a document that is too long
        path = Path(source.path)
        if path.suffix == ".parquet":
            largest, kind = max(row_group_sizes(path, source.field), default=0), "a row group with texts"
        elif kind_of(path) in (".jsonl", *TABLES) or path.suffix in PACKED or plan.options.to == COUNTS:
            continue
        else:
            largest, kind = source.bytes, "a text"
        try:
            worker_limits(1, max_memory, largest, held=held_limit, times=factor)
        except InvalidOption as error:
            allowed = f"{error.allowed}, which is {kind} of {largest:,} bytes in {source.path}"
            raise InvalidOption("max_memory", max_memory, allowed) from None
