"""Which names in a folder a job writes. It removes no other file, and it starts in no folder that has one of them.

A folder in the job's folder that is a link is never entered: its files are somewhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from ..._base.errors import JobError
from ..._storage.folders import Folder
from ..make.shuffle import BUCKETS
from ..plans.options import JobOptions
from ..plans.plan import JOB, Plan, read_plan
from ..written import RECEIPTS

__all__ = [
    "ANY_NAME",
    "BESIDE",
    "FOLDERS",
    "MANIFEST",
    "NOTE",
    "OF_SINKS",
    "SUMS",
    "names_of",
    "names_of_shard",
    "refuse_taken",
    "removable",
    "running_units",
]

MANIFEST, SUMS = "manifest.json", "SHA256SUMS"
NOTE = "merge.json"  # of a folder of merged shards
BESIDE = ("quarantine", "sources")
# By sink. The group is the number of a shard; llm.c's files are not one for each shard.
OF_SINKS = {
    "npy": r"(\d{5,})(?:\.ends)?\.npy",
    "megatron": r"(\d{5,})_text_document\.(?:bin|idx)",
    "nanogpt": r"train\.bin|parts/(\d{5,})\.ids",
    "llmc": r"train_\d{6,}\.bin|parts/(\d{5,})\.ids",
    "datatrove": r"(\d{5,})\.ds(?:\.index|\.metadata)?",
    "parquet": r"(\d{5,})\.parquet",
    "mds": r"shard\.(\d{5,})\.mds|index\.json",
    "dolma": r"part-(\d{5,})\.(?:npy|csv\.gz)",
    "litdata": r"chunk-0-(\d{5,})\.bin|index\.json",
    "counts": r"(\d{5,})\.counts\.parquet",
    "hf": r"data-(\d{5,})-of-\d{5,}\.arrow|dataset_info\.json|state\.json",
}
OF_ALL = rf"{MANIFEST}|{SUMS}|{RECEIPTS}/(\d{{5,}})\.json"
OF_BUCKETS = rf"{BUCKETS}/(\d{{5,}})\.(?:table|ids)"
OF_BESIDE = {name: rf"{name}/(\d{{5,}})\.jsonl" for name in BESIDE}
PLANNED = r"job\.json|tokenizer-[0-9a-f]{12}\.toksmith"
FOLDERS = ("parts", BUCKETS, RECEIPTS, *BESIDE)
ANY_NAME = re.compile("|".join([OF_ALL, OF_BUCKETS, PLANNED, *OF_BESIDE.values(), *OF_SINKS.values()]))


def names_of(options: JobOptions) -> re.Pattern[str]:
    """The names of the files that a job of these options writes, beside the plan and the tokenizer."""
    found = [OF_ALL, *filter(None, [OF_SINKS.get(str(options.to))])]
    found += [OF_BUCKETS] if options.shuffle is not None else []
    found += [OF_BESIDE["sources"]] if options.sources else []
    found += [OF_BESIDE["quarantine"]] if options.errors == "quarantine" else []
    return re.compile("|".join(found))


def names_of_shard(to: str, names: Iterable[str], number: int) -> tuple[str, ...]:
    """The names of the files of a shard in some format, and of those beside them."""
    own = re.compile("|".join((OF_SINKS[to], *OF_BESIDE.values())))

    def is_own(name: str) -> bool:
        match = own.fullmatch(name)
        return match is not None and any(group is not None and int(group[:18]) == number for group in match.groups())

    return tuple(filter(is_own, names))


def running_units(folder: Folder, plan: Plan) -> list[int]:
    """The units that processes are making, of this machine or of others: their files have temporary names and are locked."""
    buckets, found = re.compile(OF_BUCKETS), set()
    for name in folder.being_written(FOLDERS, ANY_NAME.fullmatch):
        match = ANY_NAME.fullmatch(name)
        number = next((int(group[:18]) for group in match.groups() if group), None) if match else None
        of_first = buckets.fullmatch(name) or name.startswith((f"{RECEIPTS}/", "quarantine/"))
        if number is not None:
            found.add(number if of_first else number + plan.final.start)
    return sorted(number for number in found if number < plan.units)


def refuse_taken(folder: Folder, options: JobOptions, own: Iterable[str] = ()) -> None:
    """Raises JobError if a folder has files of names that a new job writes, apart from its `own`."""
    names, own = names_of(options), {*own}
    for name in folder.names(FOLDERS):
        if name in FOLDERS and f"{name}/" in names.pattern:
            said = f"{name} is a link or a file, and the job needs a folder of its own there"
        elif names.fullmatch(name) and name not in own:
            said = f"{name} is there already, and no job that is planned here wrote it, but this job writes such files"
        else:
            continue
        raise JobError(folder, f"{said}; name another folder, or move {name} away")


def removable(folder: Folder) -> list[list[str]]:
    """The names of a job's files in groups, in the order in which they can be removed: a job that is stopped between two
    of them is unfinished, and its plan still says what is left.

    Raises:
        JobError: The plan cannot be read, and no file beside it shows that it is one of toksmith.
    """
    there = list(folder.names(FOLDERS))
    try:
        plan = read_plan(folder)
        tokenizer, own = f"tokenizer-{plan.fingerprint[:12]}.toksmith", own_names(plan)
    except JobError as error:
        if not any(re.fullmatch(PLANNED, name) for name in there if name != JOB):
            said = f"{error.problem.partition(';')[0]}, and no tokenizer of a job is beside it; name another folder, or move {JOB} away"
            raise JobError(folder, said) from None
        tokenizer, own = "", {*listed(folder, there)}.__contains__
    found = [name for name in there if own(name)]
    receipts = [name for name in found if re.fullmatch(OF_ALL, name) and name != SUMS]
    data = [name for name in found if not re.fullmatch(OF_ALL, name)]
    last = [tokenizer] if re.fullmatch(PLANNED, tokenizer) and tokenizer in there else []
    return [[name for name in found if name == SUMS], data, receipts, [*last, JOB]]


def own_names(plan: Plan) -> Callable[[str], bool]:
    """Whether a name is that of a file of this job."""
    names = names_of(plan.options)

    def own(name: str) -> bool:
        match = names.fullmatch(name)
        return match is not None and all(int(number[:18]) < plan.units for number in match.groups() if number)

    return own


def listed(folder: Folder, there: Iterable[str]) -> Iterator[str]:
    """The names of a job without a plan: its receipts, the manifest, and the files that they list."""
    for name in there:
        if not re.fullmatch(OF_ALL, name):
            continue
        yield name
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            for each in json.loads(folder.read(name))["files"]:
                if ANY_NAME.fullmatch(each[0]) and not re.fullmatch(PLANNED, each[0]):
                    yield each[0]
