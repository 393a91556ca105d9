"""The plan of a job: what it reads, how it encodes, what each shard contains, and what a process that makes shards may use.

A plan is a value that never changes. It decides, with the number of a shard, every byte of the shard's files. Left out:
writing it (`job/`), and encoding (`make/`).

Peak memory is below `BASE` + `PER_THREAD` for each thread + `per_byte` for each byte of the longest document, or of the texts
of the largest row group or batch of a table. A text may have as many ids as bytes. Most formats take the ids of a long text in
parts; some need all of them at once, as shuffling and packing do. The blocks that are read ahead are part of the first two. So
a limit of memory decides how many threads there are, and how long a document may be.

A shuffle and best-fit packing also hold all ids of a shard. A plan keeps `HELD_PER_BYTE` for each byte that the largest shard
reads, which normal texts do not need; a shard that needs more ends (`HeldRoom`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ... import _core
from ..._base.arguments import whole_number
from ..._base.errors import CorpusError, InvalidOption, JobError
from ..._base.paths import spelled, url_of
from ..._base.threads import thread_count
from ..._corpus import TABLES, Corpus, File, is_inside, kind_of, sources
from ..._corpus.encode_files import PACKED, readable
from ..._corpus.parquet import row_group_sizes
from ..._storage.folders import Folder
from ..._storage.remote import LocalInput, RemoteInput, input_at
from ..written import is_of, wrong_in
from .options import COUNTS, JobOptions, fingerprint_of, options_of

__all__ = [
    "BASE",
    "HELD_PER_BYTE",
    "JOB",
    "PER_BYTE",
    "PER_THREAD",
    "WHOLE_PER_BYTE",
    "WHOLE_PER_BYTE_OF",
    "HeldRoom",
    "Part",
    "Plan",
    "PlannedInput",
    "ShardRoom",
    "check_room",
    "cut",
    "held_of",
    "per_byte",
    "planned",
    "read_plan",
    "room_of",
    "row_starts",
    "sizes_of",
    "tokenizer_name",
    "unchanged",
    "versions_of",
]

JOB = "job.json"
FACTS = {"tokenizer": "str", "fingerprint": "str", "vocab_size": "int", "versions": "dict[str, str]"}
FIELDS = ("toksmith_job", *FACTS, "options", "inputs", "shards")
MOST = 1 << 63
WHOLE_PATH = re.compile(r"(?:/|[A-Za-z]:[\\/]|\\\\)[^\0]*\Z")
VERSION = 1
LOOK_BYTES = 1 << 16
BASE, PER_THREAD, PER_BYTE = 300_000_000, 64_000_000, 6
PER_BYTE_OF = {"hf": 9, "parquet": 20}
# More of them for texts of tables, which their readers hold as well.
TABLE_PER_BYTE = 2
# Of jobs whose documents do not come in parts.
WHOLE_PER_BYTE = 12
WHOLE_PER_BYTE_OF = {"dolma": 14, "mds": 17, "hf": 20, "parquet": 38}
HELD_PER_BYTE = 6
HELD_PER_ID, HELD_PER_DOCUMENT = 8, 400
# How many times its size a packed file or a table has in texts; a shard whose texts are larger ends when its ids are.
UNPACKED = 4
MOST_MEMORY = 1 << 60
# Every limit has room for documents of so many bytes.
LEAST_LONGEST = 1 << 22


class PlannedInput(NamedTuple):
    """A file that the job reads, as it was when the plan was made: `version` is the time of its last change in ns, or the
    ETag of a URL."""

    path: str
    bytes: int
    version: int | str
    field: str


class Part(NamedTuple):
    """A part of an input: bytes of a plain `.jsonl` file, row groups of a Parquet file, or the whole file (None)."""

    input: int
    start: int | None = None
    stop: int | None = None


@dataclass(frozen=True)
class Plan:
    """The plan.

    Attributes: `tokenizer` the name of its file in the folder (of a job that counts ""), and `fingerprint` its own, or that
    of the patterns; `vocab_size`; `options`; `versions` of the libraries that decide bytes; `inputs`; `shards`, the parts of each.
    """

    tokenizer: str
    fingerprint: str
    vocab_size: int
    options: JobOptions
    versions: dict[str, str]
    inputs: tuple[PlannedInput, ...]
    shards: tuple[tuple[Part, ...], ...]

    @property
    def size(self) -> int:
        """The size of all inputs."""
        return sum(each.bytes for each in self.inputs)

    @property
    def units(self) -> int:
        """How many receipts a complete job has: one for each shard, and with a shuffle one for each part of it."""
        return len(self.shards) * (1 if self.options.shuffle is None else 2)

    @property
    def final(self) -> range:
        """The units whose files are the result."""
        return range(self.units - len(self.shards), self.units)

    def to_bytes(self) -> bytes:
        """The plan as JSON, with a line for each input and shard."""
        head = {"toksmith_job": VERSION, "tokenizer": self.tokenizer, "fingerprint": self.fingerprint}
        head |= {"vocab_size": self.vocab_size, "options": asdict(self.options), "versions": self.versions}
        lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
        for name, rows in (("inputs", self.inputs), ("shards", self.shards)):
            listed = ",\n".join(f"  {json.dumps(row)}" for row in rows)
            lines.append(f' "{name}": [\n{listed}\n ]')
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode()

    @staticmethod
    def of(data: bytes) -> Plan:
        """The plan from its JSON.

        Raises:
            ValueError, KeyError, TypeError: It is not a plan.
        """
        value = json.loads(data)
        if type(value) is not dict or type(value["toksmith_job"]) is not int or value["toksmith_job"] != VERSION:
            raise ValueError(f"toksmith_job, its version, is not {VERSION}")
        if unknown := [name for name in value if name not in FIELDS]:
            raise ValueError(f"{unknown[0][:50]!r} is not a field of this version")
        for name, kind in FACTS.items():
            if not is_of(value[name], kind):
                raise ValueError(f"{name} has a wrong type, expected {kind}")
        name, fingerprint, size, versions = (value[name] for name in FACTS)
        options = options_of(value["options"], size)
        refuse_name(name, fingerprint, size, options)
        inputs = tuple(input_of(row, f"inputs[{number}]") for number, row in enumerate(rows_in(value, "inputs")))
        shards = tuple(shard_of(row, f"shards[{number}]") for number, row in enumerate(rows_in(value, "shards")))
        refuse_parts(inputs, shards)
        return Plan(name, fingerprint, size, options, versions, inputs, shards)


def rows_in(value: dict[str, Any], name: str) -> list[list[Any]]:
    """The rows of a field.

    Raises:
        ValueError: It is not a list of lists.
    """
    rows = value[name]
    if type(rows) is not list or not all(type(row) is list for row in rows):
        raise ValueError(f"{name} is not a list of lists")
    return rows


def input_of(row: list[Any], place: str) -> PlannedInput:
    """A file that a job reads. A plan has whole paths, of any system.

    Raises:
        ValueError: It cannot be one.
    """
    if len(row) == 4 and all(map(is_of, row, ("str", "int", "int | str", "str"))):
        found, is_url = PlannedInput(*row), url_of(row[0]) is not None
        is_whole = is_url or WHOLE_PATH.match(found.path) is not None
        if is_whole and isinstance(found.version, str) == is_url and 0 <= found.bytes < MOST:
            return found
    raise ValueError(f"{place} is not a whole path, a size, a version and a field")


def shard_of(rows: list[Any], place: str) -> tuple[Part, ...]:
    """The parts that a shard reads.

    Raises:
        ValueError: A part cannot be one, or there is none.
    """
    if not rows or not all(type(row) is list and len(row) == 3 for row in rows):
        raise ValueError(f"{place} is not a list of parts, each an input, a start and a stop")
    parts = tuple(Part(*row) for row in rows)
    if not all(map(is_part, parts)):
        raise ValueError(f"{place} has a part that is not an input, a start and a later stop")
    return parts


def refuse_name(name: str, fingerprint: str, size: int, options: JobOptions) -> None:
    """Raises ValueError for facts of a tokenizer that cannot be those of one; a job that counts has none."""
    if options.to == COUNTS:
        if (name, fingerprint, size) != ("", fingerprint_of(options.patterns or ()), 0):
            raise ValueError("tokenizer, fingerprint and vocab_size are not those of its patterns")
    elif name != tokenizer_name(fingerprint):
        raise ValueError("the name of its tokenizer is not made of the fingerprint")
    elif not 1 <= size < 1 << 32:
        raise ValueError(f"vocab_size is {size}, expected at least 1 and less than 2**32")


def tokenizer_name(fingerprint: str) -> str:
    """The name of the file of a job's tokenizer.

    Raises:
        ValueError: It is not the fingerprint of a tokenizer.
    """
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
                raise ValueError(f"shards[{number}] has a part of an input that is not there, or not in order")
            last = part.input
            parts[last].append(part)
    for number, (found, own) in enumerate(zip(inputs, parts, strict=True)):
        if not is_covered(found, own):
            raise ValueError(f"shards does not have all parts of inputs[{number}] once, in order")


def is_covered(found: PlannedInput, parts: Sequence[Part]) -> bool:
    """Whether these are the parts of a file; how many row groups a table has, it says itself."""
    unit = unit_of(Path(found.path))
    if unit is None:
        return len(parts) == 1 and parts[0].start is None
    edges = [part.start for part in parts]
    ends = [0, *(part.stop for part in parts)]
    return edges == ends[:-1] and (unit == "group" or ends[-1] == found.bytes)


def unit_of(path: Path) -> str | None:
    """What the parts of a file are counted in: bytes of plain `.jsonl`, row groups of Parquet; None for a file that is not cut."""
    if kind_of(path) == ".parquet":
        return "group"
    return "byte" if path.suffix == ".jsonl" else None


def is_part(part: Part) -> bool:
    """Whether this may be a part of a file."""
    if not all(map(is_of, part, ("int", "int | None", "int | None"))):
        return False
    if part.start is None or part.stop is None:
        return part.start is part.stop
    return 0 <= part.start < part.stop < MOST


def read_plan(folder: Folder) -> Plan:
    """The plan of the job in a folder.

    Raises:
        JobError: There is none, or it cannot be read.
    """
    try:
        return Plan.of(folder.read(JOB))
    except FileNotFoundError:
        raise JobError(
            str(folder), f"there is no {JOB}; plan a job with toksmith.plan or `toksmith tokenize`"
        ) from None
    except NotADirectoryError:
        raise JobError(folder, "it is a file; expected the folder of a job") from None
    except OSError as problem:
        raise JobError(folder, f"{JOB} cannot be read: {problem.strerror or problem}") from problem
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        said = f"{JOB} is not a plan of toksmith: {wrong_in(problem)}"
        raise JobError(folder, f"{said}; restore it, or plan the job again with force=True") from None


def versions_of(libraries: Iterable[str]) -> dict[str, str]:
    """The versions of toksmith and of the libraries whose version decides bytes."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"toksmith": _core.__version__}
    for name in libraries:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            raise InvalidOption("to", name, f"an installed library: pip install {name}") from None
    return found


def cut(
    corpus: Corpus, shard_size: int, folder: Folder
) -> tuple[tuple[PlannedInput, ...], tuple[tuple[Part, ...], ...]]:
    """The inputs of a corpus, and the shards: of about `shard_size` bytes of the files, in their order.

    What is in the folder of a planned job is left out, so that a corpus may contain this folder.

    Raises:
        CorpusError: A file cannot be read.
        InvalidOption: The corpus has something else than files, or files in the folder of a new job.
    """
    inputs: list[PlannedInput] = []
    pieces: list[tuple[Part, int]] = []
    is_planned = folder.has(JOB)
    for source in sources(corpus, folder.path if is_planned else None):
        if not isinstance(source, File):
            raise InvalidOption("corpus", source, "paths or toksmith.files(…), because the shards of a job read files")
        if is_inside(source.path, folder.path):
            if folder.has(JOB):  # another process planned the job meanwhile
                continue
            allowed = f"a folder without files of the corpus; {spelled(source.path)!r} is in this one"
            raise InvalidOption("folder", str(folder), allowed)
        found = planned(source)
        pieces += parts_of(len(inputs), found, shard_size)
        inputs.append(found)
    if not inputs:
        raise InvalidOption("corpus", corpus, "at least one file outside the folder of the job")
    return tuple(inputs), tuple(grouped(pieces, shard_size))


def planned(file: File) -> PlannedInput:
    """A file as it is now."""
    path = url_of(file.path) or os.path.abspath(file.path)
    with readable(path):
        return PlannedInput(path, *input_at(path).facts(), file.field)


def parts_of(number: int, found: PlannedInput, step: int) -> Iterator[tuple[Part, int]]:
    """The smallest parts of a file that a shard may read, with their sizes."""
    path = Path(found.path)
    unit = unit_of(path)
    if unit == "group":
        for group, size in enumerate(row_group_sizes(path, found.field)):
            yield Part(number, group, group + 1), size
    elif unit == "byte":
        start = 0
        for stop in row_starts(input_at(found.path), found.bytes, step):
            yield Part(number, start, stop), stop - start
            start = stop
    else:
        yield Part(number), found.bytes


def row_starts(file: LocalInput | RemoteInput, size: int, step: int) -> Iterator[int]:
    """Where the parts of a plain `.jsonl` file end: at the first row that starts at or behind each multiple of the step."""
    place = 0
    while place < size:
        place += step
        if place < size:
            place -= 1
            with readable(file.path):
                while data := file.read(place, min(place + LOOK_BYTES, size)):
                    if end := data.find(b"\n") + 1:
                        break
                    place += len(data)
            place = place + end if data else size
        yield min(place, size)


def grouped(pieces: Iterable[tuple[Part, int]], most: int) -> Iterator[tuple[Part, ...]]:
    """The parts in groups of at most so many bytes; a larger part is a group of its own. Neighbours become one part."""
    shard: list[Part] = []
    size = 0
    for part, more in pieces:
        if shard and size + more > most:
            yield tuple(shard)
            shard, size = [], 0
        last = shard[-1] if shard else None
        if last is not None and last.input == part.input and last.stop is not None and last.stop == part.start:
            shard[-1] = last._replace(stop=part.stop)
        else:
            shard.append(part)
        size += more
    if shard:
        yield tuple(shard)


def unchanged(found: PlannedInput) -> None:
    """Raises CorpusError if a file is not as it was when the plan was made."""
    with readable(found.path):
        now = input_at(found.path).facts()
    if (now.bytes, now.version) != (found.bytes, found.version):
        said = f"it has {now.bytes:,} bytes now, {found.bytes:,} in the plan"
        if now.bytes == found.bytes:
            said = "it was written to since"
        problem = f"changed after the job was planned ({said}); plan the job again with force=True, or restore the file"
        raise CorpusError(found.path, None, problem)


def sizes_of(plan: Plan, times: Callable[[PlannedInput], int] = lambda _: 1) -> list[int]:
    """The bytes of the inputs that each unit of a job reads; row groups of one file count as equal.

    The second round of a shuffle counts as reading everything again, in equal parts.

    Args:
        times: How many times the bytes of an input count.
    """
    groups: dict[int, int] = {}
    for part in (part for shard in plan.shards for part in shard):
        groups[part.input] = max(groups.get(part.input, 0), part.stop or 0)

    def size(part: Part) -> int:
        found = plan.inputs[part.input]
        whole = found.bytes * times(found)
        if part.start is None or part.stop is None:
            return whole
        most = max(groups[part.input], 1)  # of plain `.jsonl` files the size, of Parquet the row groups
        return whole * part.stop // most - whole * part.start // most

    sizes = [sum(map(size, shard)) for shard in plan.shards]
    again = plan.units - len(sizes)
    whole = sum(sizes)
    return sizes + [whole * (number + 1) // again - whole * number // again for number in range(again)]


class ShardRoom(NamedTuple):
    """What a process uses: `threads`, documents of at most `longest` bytes, and `held` bytes for the ids of a whole shard;
    None for no limit."""

    threads: int
    longest: int | None = None
    held: int | None = None


class HeldRoom:
    """How much room the ids of a shard still have that are held together."""

    def __init__(self, number: int, room: ShardRoom) -> None:
        self._number, self._most, self._held = number, room.held, 0

    def add(self, documents: int, ids: int) -> None:
        """Counts documents with their ids.

        Raises:
            JobError: There is no room for them.
        """
        self._held += HELD_PER_DOCUMENT * documents + HELD_PER_ID * ids
        if self._most is not None and self._held > self._most:
            said = f"its ids, which are held together, need more than {self._most:,} bytes, the most that max_memory allows"
            advice = "raise max_memory, or plan the job again with a smaller shard_size and force=True"
            raise JobError(f"shard {self._number}", f"{said}; {advice}")


def held_of(plan: Plan) -> int:
    """The room to keep for the ids of the largest shard; 0 if the job does not hold them together."""
    if plan.options.shuffle is None and plan.options.pack != "best-fit":
        return 0

    def times(found: PlannedInput) -> int:
        path = Path(found.path)
        return UNPACKED if path.suffix in PACKED or kind_of(path) in TABLES else 1

    return HELD_PER_BYTE * max(sizes_of(plan, times)[: len(plan.shards)], default=0)


def per_byte(plan: Plan) -> int:
    """The bytes of memory for each byte of the longest document."""
    options = plan.options
    if options.shuffle is not None or options.pack is not None:
        return WHOLE_PER_BYTE_OF.get(options.to, WHOLE_PER_BYTE)
    has_tables = any(kind_of(Path(found.path)) in TABLES for found in plan.inputs)
    return PER_BYTE_OF.get(options.to, PER_BYTE) + TABLE_PER_BYTE * has_tables


def room_of(
    threads: int | None, max_memory: int | None, longest: int = LEAST_LONGEST, *, held: int = 0, times: int = PER_BYTE
) -> ShardRoom:
    """The threads for documents of up to `longest` bytes, which need so many `times` as much, beside what is `held` of a shard.

    Raises:
        InvalidOption: So much memory is not enough for one thread.
    """
    count = thread_count(threads)
    if max_memory is None:
        return ShardRoom(count)
    left = whole_number(max_memory, "max_memory") - BASE - times * max(longest, LEAST_LONGEST) - held
    if max_memory > MOST_MEMORY:
        raise InvalidOption("max_memory", max_memory, f"at most {MOST_MEMORY:,}, or None")
    if left < PER_THREAD:
        least = max_memory - left + PER_THREAD
        said = f"{BASE // 10**6} MB, {PER_THREAD // 10**6} MB for a thread and {times} times the longest document"
        said += f", and {HELD_PER_BYTE} times the largest shard ({held:,}): pass a smaller shard_size" if held else ""
        raise InvalidOption("max_memory", max_memory, f"at least {least:,} bytes: {said}")
    count = min(count, left // PER_THREAD)
    more = left - PER_THREAD * count
    longest = max(longest, LEAST_LONGEST)
    if not held:
        return ShardRoom(count, longest + more // times)
    return ShardRoom(count, longest + more // 2 // times, held + more // 2)


def check_room(plan: Plan, max_memory: int | None) -> None:
    """Raises InvalidOption if a document of the plan needs more memory. The length of rows is not known before they are
    read; a shard ends at one that is too long."""
    if max_memory is None:
        return
    held, own = held_of(plan), per_byte(plan)
    room_of(1, max_memory, held=held, times=own)
    for found in plan.inputs:
        path = Path(found.path)
        if path.suffix == ".parquet":
            largest, what = max(row_group_sizes(path, found.field), default=0), "a row group with texts"
        elif kind_of(path) in (".jsonl", *TABLES) or path.suffix in PACKED or plan.options.to == COUNTS:
            continue
        else:
            largest, what = found.bytes, "a text"
        try:
            room_of(1, max_memory, largest, held=held, times=own)
        except InvalidOption as error:
            allowed = f"{error.allowed}, which is {what} of {largest:,} bytes in {found.path}"
            raise InvalidOption("max_memory", max_memory, allowed) from None
