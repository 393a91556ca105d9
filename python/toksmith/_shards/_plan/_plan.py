"""The plan of a job: what it reads, how it encodes, and what each shard contains.

A plan is a value that never changes. It decides, with the number of a shard, every byte of the shard's files. Left out:
writing it (`_job/`), and encoding (`_make/`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from ... import _core
from ..._corpus import Corpus, File, is_inside, kind_of, sources
from ..._corpus._parquet import row_group_sizes
from ..._encode_files import readable
from ..._errors import CorpusError, InvalidOption, JobError
from ..._folders import Folder
from ..._paths import spelled, url_of
from ..._remote import LocalInput, RemoteInput, input_at
from .._written._receipts import is_of
from ..sinks import EVERY_ROW

__all__ = [
    "COUNTS",
    "JOB",
    "PACKINGS",
    "JobOptions",
    "Part",
    "Plan",
    "PlannedInput",
    "cut",
    "planned",
    "read_plan",
    "row_starts",
    "sizes_of",
    "unchanged",
    "versions_of",
]

JOB = "job.json"
COUNTS = "counts"
PACKINGS = ("best-fit", "chunk")
VERSION = 1
LOOK_BYTES = 1 << 16


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
class JobOptions:
    """Everything beside tokenizer and inputs that decides bytes; `dtype` is the type of the ids in the files.

    A job that counts has `patterns` and no tokenizer; `max_piece_bytes` is as of `count_pieces`.
    """

    to: str
    dtype: str
    id_field: str | None
    append: str | None
    prepend: str | None
    empty: str
    special: str | list[str]
    errors: str
    max_errors: int | None
    shard_size: int
    sources: bool
    shuffle: int | None
    pack: str | None
    length: int | None
    pad: str | None
    patterns: list[str] | None = None
    max_piece_bytes: int | None = None


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
        if value.pop("toksmith_job") != VERSION:
            raise ValueError(f"its version is not {VERSION}")
        own = [value[name] for name in ("tokenizer", "fingerprint", "vocab_size", "versions")]
        if not all(map(is_of, own, ("str", "str", "int", "dict[str, str]"))):
            raise ValueError("a fact of its tokenizer or of its libraries has a wrong type")
        name, fingerprint, size, versions = own
        options = options_of(value["options"])
        own_name = "" if options.to == COUNTS else f"tokenizer-{fingerprint[:12]}.toksmith"
        if name != own_name or not fingerprint.isalnum():
            raise ValueError("the name of its tokenizer is not made of the fingerprint")
        inputs = tuple(PlannedInput(*each) for each in value["inputs"])
        if not all(all(map(is_of, each, ("str", "int", "int | str", "str"))) for each in inputs):
            raise ValueError("an input is not a path, a size, a version and a field")
        shards = tuple(tuple(Part(*part) for part in shard) for shard in value["shards"])
        if not all(is_part(part, len(inputs)) for shard in shards for part in shard):
            raise ValueError("a shard has a part that is not one of an input that is listed")
        return Plan(name, fingerprint, size, options, versions, inputs, shards)


def options_of(found: Any) -> JobOptions:
    """The options of a plan.

    Raises:
        ValueError, KeyError, TypeError: They are not those of a plan.
    """
    options = JobOptions(**{each.name: found[each.name] for each in fields(JobOptions)})
    for each in fields(JobOptions):
        if not is_of(getattr(options, each.name), str(each.type)):
            raise ValueError(f"the option {each.name} has a wrong type")
    fits = options.to in EVERY_ROW and options.dtype in EVERY_ROW[options.to].dtypes
    fits &= (options.patterns is not None) == (options.to == COUNTS)
    fits &= options.shuffle is None or 0 <= options.shuffle < 1 << 64
    fits &= options.pack is None or (options.pack in PACKINGS and (options.length or 0) > 0)
    if not fits:
        raise ValueError("its options to, dtype, shuffle, pack or length are not those of a job")
    return options


def is_part(part: Part, inputs: int) -> bool:
    """Whether a part is one of so many inputs."""
    if not all(map(is_of, part, ("int", "int | None", "int | None"))) or not 0 <= part.input < inputs:
        return False
    if part.start is None or part.stop is None:
        return part.start is part.stop
    return 0 <= part.start <= part.stop


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
    except OSError as problem:
        raise JobError(str(folder), f"{JOB} cannot be read: {problem.strerror or problem}") from problem
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        said = f"{JOB} is not a plan of toksmith: {str(problem)[:200].replace(';', ',')}"
        raise JobError(str(folder), f"{said}; restore it, or plan the job again with force=True") from None


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
    if kind_of(path) == ".parquet":
        for group, size in enumerate(row_group_sizes(path, found.field)):
            yield Part(number, group, group + 1), size
    elif path.suffix == ".jsonl":
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
