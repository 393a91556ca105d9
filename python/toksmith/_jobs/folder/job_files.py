"""The names of the files that a job writes. A job removes only these, and does not start in a folder that has one of them.

A subfolder of the job's folder that is a link is never entered, because its files are outside the folder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from ..._storage.folders import Folder
from ...errors import JobError
from ..make.shuffle import BUCKETS
from ..plans.index import INDEX
from ..plans.options import JobOptions
from ..plans.plan import JOB, Plan, read_plan
from ..written import RECEIPTS

MANIFEST, SUMS = "manifest.json", "SHA256SUMS"
NOTE = "merge.json"  # of a folder of merged shards
EXTRA_FOLDERS = ("quarantine", "sources")
CLAIMS = "claims"
# The names of each sink. The group is the number of a shard; the files of llm.c have no shard.
SINK_NAMES = {
    "npy": r"(\d{5,})(?:\.ends)?\.npy",
    "megatron": r"(\d{5,})_text_document\.(?:bin|idx)",
    "nanogpt": r"(?:train|val)\.bin|meta\.pkl|parts/(\d{5,})\.(?:ids|val)",
    "llmc": r"(?:train|val)_\d{6,}\.bin|parts/(\d{5,})\.(?:ids|val)",
    "datatrove": r"(\d{5,})\.ds(?:\.index|\.metadata)?",
    "parquet": r"(\d{5,})\.parquet",
    "mds": r"shard\.(\d{5,})\.mds|index\.json",
    "dolma": r"part-(\d{5,})\.(?:npy|csv\.gz)",
    "litdata": r"chunk-0-(\d{5,})\.bin|index\.json",
    "counts": r"(\d{5,})\.counts\.parquet",
    "hf": r"data-(\d{5,})-of-\d{5,}\.arrow|dataset_info\.json|state\.json",
}
CLAIM_NAMES = rf"{CLAIMS}/(?:clock|\d{{5,}}\.\d+)"
COMMON_NAMES = rf"{MANIFEST}|{SUMS}|{re.escape(INDEX)}|{RECEIPTS}/(\d{{5,}})\.json|{CLAIM_NAMES}"
BUCKET_NAMES = rf"{BUCKETS}/(\d{{5,}})\.(?:table|ids)"
EXTRA_NAMES = {name: rf"{name}/(\d{{5,}})\.jsonl" for name in EXTRA_FOLDERS}
PLAN_NAMES = r"job\.json|tokenizer-[0-9a-f]{12}\.toksmith"
FOLDERS = ("parts", BUCKETS, RECEIPTS, CLAIMS, *EXTRA_FOLDERS)
ANY_NAME = re.compile("|".join([COMMON_NAMES, BUCKET_NAMES, PLAN_NAMES, *EXTRA_NAMES.values(), *SINK_NAMES.values()]))


def job_name_pattern(options: JobOptions) -> re.Pattern[str]:
    """The names of the files that a job with these options writes, except the plan and the tokenizer."""
    patterns = [COMMON_NAMES, *filter(None, [SINK_NAMES.get(str(options.to))])]
    patterns += [BUCKET_NAMES] if options.shuffle is not None else []
    patterns += [EXTRA_NAMES["sources"]] if options.sources else []
    patterns += [EXTRA_NAMES["quarantine"]] if options.errors == "quarantine" else []
    return re.compile("|".join(patterns))


def names_of_shard(to: str, names: Iterable[str], number: int) -> tuple[str, ...]:
    """The names of a shard's files in this format, with the shard's files of quarantine and sources."""
    pattern = re.compile("|".join((SINK_NAMES[to], *EXTRA_NAMES.values())))

    def is_own(name: str) -> bool:
        match = pattern.fullmatch(name)
        return match is not None and any(group is not None and int(group[:18]) == number for group in match.groups())

    return tuple(filter(is_own, names))


def running_units(folder: Folder, plan: Plan) -> list[int]:
    """The units that processes are making, on any machine: their files have temporary names and are locked."""
    buckets, units = re.compile(BUCKET_NAMES), set()
    folders = [name for name in FOLDERS if name not in (RECEIPTS, CLAIMS)]  # the files of a shard precede its receipt
    for name in folder.names_being_written(folders, ANY_NAME.fullmatch):
        match = ANY_NAME.fullmatch(name)
        number = next((int(group[:18]) for group in match.groups() if group), None) if match else None
        of_first = buckets.fullmatch(name) or name.startswith("quarantine/")
        if number is not None:
            units.add(number if of_first else number + plan.final.start)
    return sorted(number for number in units if number < plan.units)


def refuse_foreign_files(folder: Folder, options: JobOptions, own: Iterable[str] = ()) -> None:
    """Raises JobError if a folder has files with names that a new job writes, except the names in `own`."""
    names, own = job_name_pattern(options), {*own}
    for name in folder.names(FOLDERS):
        if name in FOLDERS and f"{name}/" in names.pattern:
            problem = f"{name} is a link or a file, and the job needs a folder of its own there"
        elif names.fullmatch(name) and name not in own:
            problem = f"{name} is there already; this job writes such files, and no job that is planned here wrote it"
        else:
            continue
        raise JobError(folder, f"{problem}; name another folder, or move {name} away")


def removable_names(folder: Folder) -> list[list[str]]:
    """The names of a job's files in groups, in the order of removal: if the removal stops between two groups, the job is
    unfinished, and its plan still lists the remaining files.
    """
    names = list(folder.names(FOLDERS))
    try:
        plan = read_plan(folder)
        tokenizer, is_own = f"tokenizer-{plan.fingerprint[:12]}.toksmith", job_name_test(plan)
    except JobError as error:
        if not any(re.fullmatch(PLAN_NAMES, name) for name in names if name != JOB):
            problem = f"{error.problem.partition(';')[0]}, and there is no tokenizer of a job; name another folder, or move {JOB} away"
            raise JobError(folder, problem) from None
        tokenizer, is_own = "", {*listed_names(folder, names)}.__contains__
    job_names = [name for name in names if is_own(name)]
    receipts = [name for name in job_names if re.fullmatch(COMMON_NAMES, name) and name != SUMS]
    data = [name for name in job_names if not re.fullmatch(COMMON_NAMES, name)]
    last = [tokenizer] if re.fullmatch(PLAN_NAMES, tokenizer) and tokenizer in names else []
    return [[name for name in job_names if name == SUMS], data, receipts, [*last, JOB]]


def job_name_test(plan: Plan) -> Callable[[str], bool]:
    """A function that tests whether a name is the name of a file of this job."""
    names = job_name_pattern(plan.options)

    def own(name: str) -> bool:
        match = names.fullmatch(name)
        return match is not None and all(int(number[:18]) < plan.units for number in match.groups() if number)

    return own


def listed_names(folder: Folder, there: Iterable[str]) -> Iterator[str]:
    """The names of the files of a job without a plan: its receipts, the manifest, and the files that they list."""
    for name in there:
        if not re.fullmatch(COMMON_NAMES, name):
            continue
        yield name
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            for entry in json.loads(folder.read(name))["files"]:
                if ANY_NAME.fullmatch(entry[0]) and not re.fullmatch(PLAN_NAMES, entry[0]):
                    yield entry[0]
