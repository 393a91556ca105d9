"""`toksmith tokenize`, `status` and `verify`: a corpus to shards of ids, how far that is, and whether it is what it says."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Protocol

import toksmith

from .._render import number_of
from . import params as cli
from .arguments import POLICIES, STDIN, TOKENIZER, FilePattern, FileSpecials, Json, file_named, given, loaded
from .flags import flagged
from .printed import log_lines, print_json, print_lines
from .progress import working
from .run import drop_output
from .shown import print_drawn
from .training_options import bytes_of

__all__ = [
    "FLAGS",
    "SINKS",
    "DryRun",
    "Finish",
    "Force",
    "MaxErrors",
    "Only",
    "Part",
    "Run",
    "ShardSize",
    "Workers",
    "files_of_job",
    "print_done",
    "run_job",
    "status",
    "tokenize",
    "verify",
]

NAMES = "id_field append prepend empty special dtype errors max_errors shard_size sources shuffle pack length pad max_memory force"
FLAGS = {name: f"--{name.replace('_', '-')}" for name in f"{NAMES} dry_run to run part workers threads field".split()}
FLAGS |= {"folder": "--output", "corpus": "FILE"}
OF_VERIFY = {name: f"--{name}" for name in ("decode", "source", "sample", "threads", "force")}

# Those of the library's tables, which a test compares.
SINKS = ("npy", "megatron", "nanogpt", "llmc", "datatrove", "parquet", "hf", "mds", "dolma", "litdata")
DTYPES = ("auto", "uint8", "uint16", "uint32", "int32")

Folder = Annotated[Path, cli.Argument(metavar="DIR", help="Folder or URL of a job, the -o of 'tokenize'.")]
Files = Annotated[list[str] | None, cli.Argument(metavar="FILE", help="Files, folders and URLs of texts.")]
Name = Annotated[str | None, cli.Option("--tokenizer", "-t", help="A published name or a tokenizer file.", **TOKENIZER)]
Output = Annotated[Path, cli.Option("--output", "-o", help="Folder for the shards; its parent must exist. Or a URL.")]
To = Annotated[str, cli.Option(help=f"Format: {', '.join(SINKS[:-1])} or {SINKS[-1]}.", complete=lambda _: SINKS)]
Field = Annotated[str | None, cli.Option(help="Field or column that contains the text.", default="text")]
IdField = Annotated[str | None, cli.Option(help="Field or column with the name of each document.", default="no names")]
Append = Annotated[str | None, cli.Option(help="Special token that ends each document.", default="nothing")]
Prepend = Annotated[str | None, cli.Option(help="Special token that begins each document.", default="nothing")]
Empty = Annotated[
    str | None,
    cli.Option(
        choices=("token", "keep", "skip"),
        help="A text without ids: token (only --append), keep (no ids) or skip.",
        default="token",
    ),
]
Special = Annotated[
    str | None,
    cli.Option(
        choices=POLICIES,
        help="Special tokens in the text: an error, their ids, or ordinary text.",
        default="raise",
    ),
]
Dtype = Annotated[
    str | None, cli.Option(choices=DTYPES, help="Type of the ids; the format decides which it takes.", default="auto")
]
Errors = Annotated[
    str | None, cli.Option(choices=("stop", "skip", "quarantine"), help="Rows that have no text.", default="stop")
]
MaxErrors = Annotated[int | None, cli.Option(help="How many such rows the job may have.", default="no limit")]
ShardSize = Annotated[str | None, cli.Option(help="Bytes of the files in a shard, such as 512M.", default="256M")]
Sources = Annotated[bool, cli.Option("--sources", help="Write where each document is from.")]
Shuffle = Annotated[
    int | None,
    cli.Option(metavar="SEED", help="Put the documents into the order of this seed.", default="the order of the files"),
]
Pack = Annotated[
    str | None,
    cli.Option(choices=("best-fit", "chunk"), help="Make rows of --length ids.", default="documents as they are"),
]
Length = Annotated[int | None, cli.Option(help="With --pack: ids of a row.", default="no rows")]
Pad = Annotated[str | None, cli.Option(help="With --pack: special token that fills up rows.", default="nothing")]
MaxMemory = Annotated[
    str | None,
    cli.Option(
        help="Memory of each process, such as 2G: limits threads and the length of documents.", default="no limit"
    ),
]
DryRun = Annotated[
    bool, cli.Option("--dry-run", help="Write nothing; say how many shards there would be, and what they cost.")
]
Only = Annotated[bool, cli.Option("--plan", help="Write the plan, and make no shard.")]
Part = Annotated[
    str | None,
    cli.Option(help="I/N: make every Nth shard from the Ith on, from 0; then --finish.", default="all shards"),
]
Finish = Annotated[bool, cli.Option("--finish", help="Complete a job whose parts are all made.")]
Run = Annotated[str, cli.Option(help="Where: local, ray, or ray://HOST:PORT.", complete=lambda _: ("local", "ray"))]
Workers = Annotated[int, cli.Option(help="Number of processes.")]
Threads = Annotated[int | None, cli.Option(help="Threads of each process.", default="they share all cores")]
Force = Annotated[bool, cli.Option("--force", help="Replace another or a finished job in this folder.")]
Quiet = Annotated[bool, cli.Option("--quiet", "-q", help="Print no progress and no summary.")]


def tokenize(
    files: Files = None,
    *,
    tokenizer: Name = None,
    output: Output,
    to: To = "npy",
    field: Field = None,
    id_field: IdField = None,
    append: Append = None,
    prepend: Prepend = None,
    empty: Empty = None,
    special: Special = None,
    dtype: Dtype = None,
    errors: Errors = None,
    max_errors: MaxErrors = None,
    shard_size: ShardSize = None,
    sources: Sources = False,
    shuffle: Shuffle = None,
    pack: Pack = None,
    length: Length = None,
    pad: Pad = None,
    max_memory: MaxMemory = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    dry_run: DryRun = False,
    plan: Only = False,
    part: Part = None,
    finish: Finish = False,
    run: Run = "local",
    workers: Workers = 1,
    threads: Threads = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Encode a corpus into shards of ids, in a folder.

    The same command again goes on with an unfinished job.
    """
    asked = given(id_field=id_field, append=append, prepend=prepend, empty=empty, special=special, dtype=dtype)
    asked |= given(errors=errors, max_errors=max_errors, shuffle=shuffle, pack=pack, length=length, pad=pad)
    asked |= sizes_of(shard_size=shard_size, max_memory=max_memory)

    def planned(*, force: bool, dry_run: bool) -> toksmith.Job:
        if tokenizer is None or not files:
            wanted = "files, folders or URLs of texts" if tokenizer else "a published name or a tokenizer file"
            raise cli.BadParameter(f"is missing; expected {wanted}", param_hint="FILE" if tokenizer else "--tokenizer")
        tok = loaded(tokenizer, pattern, special_token)
        corpus = files_of_job(files, field)
        return toksmith.plan(tok, corpus, output, to=to, sources=sources, force=force, dry_run=dry_run, **asked)

    with flagged(FLAGS):
        way = {"part": part, "run": run, "workers": workers, "threads": threads}
        steps = {"dry_run": dry_run, "plan": plan, "finish": finish, "force": force, "cost": True}
        steps["whole"] = bool(files or tokenizer is not None or asked or sources or to != "npy")
        run_job(planned, output, way, steps, as_json=as_json, quiet=quiet)


class Planned(Protocol):
    """Plans the job of a command."""

    def __call__(self, *, force: bool, dry_run: bool) -> toksmith.Job:
        """The job."""


def run_job(
    planned: Planned, folder: Path, way: dict[str, Any], steps: dict[str, bool], *, as_json: bool, quiet: bool
) -> None:
    """Plan a job and run it, or do the one step of it that was asked for.

    Args:
        way: The arguments of `Job.run`.
        steps: Whether these options were given: dry_run, plan, finish, force; whether a dry run says the `cost`; and whether
            the job itself was given (`whole`), not only its folder.
    """
    refuse_steps(steps, way)
    if steps["finish"]:
        job = toksmith.Job.at(folder)
        if steps["whole"] and not job.finished:
            job = planned(force=False, dry_run=False)  # which refuses another job than the one that is planned here
        print_done(job.finish(), as_json=as_json, quiet=quiet, event={"event": "finished"})
        return
    toksmith.Job.check_run(**way)  # before --force removes anything
    job = planned(force=steps["force"], dry_run=steps["dry_run"])
    if steps["dry_run"] or steps["plan"]:
        cost = job.cost() if steps["dry_run"] and steps["cost"] and job.bytes else None
        print_planned(job, cost, as_json=as_json, quiet=quiet)
        return
    events: list[dict[str, Any]] = [{"event": "finished"}]

    def tell_event(now: toksmith.JobEvent) -> None:
        if now.event == "finished":  # the last line, which has the sums of the whole job as well
            events.append(now.to_dict())
            return
        print_event(now.to_dict(), job.place)

    with log_lines() if not quiet else nullcontext():
        done = job.run(**way, progress=False if quiet else None, events=tell_event if as_json else None)
    if done is None:
        print_status(job, as_json=as_json, quiet=quiet, event=events[-1])
    else:
        print_done(done, as_json=as_json, quiet=quiet, event=events[-1])


def files_of_job(files: Sequence[str], field: str | None) -> list[Any]:
    """The corpus of a job, whose shards read their parts of the files apart."""
    if STDIN in files:
        said = "is standard input, which is read once; the shards of a job read files: save it to a file first"
        raise cli.BadParameter(said, param_hint=repr(STDIN))
    return [file_named(name, field) for name in files]


def refuse_steps(steps: Mapping[str, bool], way: Mapping[str, Any]) -> None:
    """Refuse options of which one would be without effect."""
    has_part = way["part"] is not None
    others = {"--dry-run": steps["dry_run"], "--plan": steps["plan"], "--force": steps["force"], "--part": has_part}
    for flag, is_given in others.items():
        if steps["finish"] and is_given:
            raise cli.BadParameter("completes a job as it is; it is not possible with " + flag, param_hint="--finish")
    if steps["dry_run"] and steps["plan"]:
        raise cli.BadParameter("writes nothing; it is not possible with --plan", param_hint="--dry-run")
    if steps["force"] and has_part:
        said = "is not possible with --part: each part would remove the others; use --force --plan once, then the parts"
        raise cli.BadParameter(said, param_hint="--force")


def print_event(facts: dict[str, Any], place: str) -> None:
    """Print an event.

    Raises:
        JobError: Nobody reads it; the job must not end as if it were done.
    """
    try:
        print_json(facts)
        sys.stdout.flush()
    except OSError as problem:
        drop_output()
        said = f"the events cannot be printed: {problem.strerror}; what is done stays, and the same command goes on"
        raise toksmith.JobError(place, said) from None


def sizes_of(**sizes: str | None) -> dict[str, Any]:
    """The numbers of bytes that were asked for, by argument."""
    return {name: bytes_of(size, FLAGS[name]) for name, size in sizes.items() if size is not None}


def status(folder: Folder, *, as_json: Json = False) -> None:
    """Print how far a job is, also while it runs elsewhere."""
    print_status(toksmith.Job.at(folder), as_json=as_json, quiet=False)


def verify(
    folder: Folder,
    *,
    decode: Annotated[bool, cli.Option("--decode", help="Decode the ids, and compare the texts' sums.")] = False,
    source: Annotated[bool, cli.Option("--source", help="Encode the texts again, and compare all ids.")] = False,
    sample: Annotated[int | None, cli.Option(help="How many shards to decode or encode.", default="all")] = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare the files of a finished job with what was written.

    The exit code is 3 if one differs.
    """
    with flagged(OF_VERIFY), working(as_json=as_json, quiet=quiet):
        found = toksmith.verify(folder, decode=decode, source=source, sample=sample, threads=threads)
    if as_json:
        facts = {"files": found.files, "decoded": found.decoded, "encoded": found.encoded, "sealed": found.sealed}
        print_json(facts | {"differences": [each._asdict() for each in found.differences]})
    else:
        print_lines(*str(found).splitlines())
    if not found.ok:
        raise cli.Exit(3)


def print_planned(job: toksmith.Job, cost: toksmith.JobCost | None, *, as_json: bool, quiet: bool) -> None:
    """Say what a job will read, and what it will cost."""
    if as_json:
        facts = {"folder": job.place, "shards": job.shards, "files": job.files, "bytes": job.bytes}
        print_json({"event": "planned", **facts} | ({} if cost is None else {"cost": cost.to_dict()}))
    elif not quiet:
        shards = number_of(job.shards, "shard")
        print_lines(f"{shards} of {number_of(job.files, 'file')}, {job.bytes:,} bytes, for {job.place}")
        if cost is not None:
            print_drawn(cost)


def print_status(
    job: toksmith.Job, *, as_json: bool, quiet: bool, event: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Say how far a job is; `event` is what else the JSON has."""
    found = job.status()
    if as_json:
        print_json({**event, **vars(found), "missing": job.missing()})
    elif not quiet:
        said = f"{found.done:,} of {number_of(found.shards, 'shard')} done: {number_of(found.documents, 'document')}"
        said += f", {number_of(found.ids, found.unit)}, {number_of(found.bad_rows, 'bad row')}"
        if found.running:
            shown = ", ".join(map(str, found.running[:5])) + (", …" if len(found.running) > 5 else "")
            said += f"; {number_of(len(found.running), 'shard')} running ({shown})"
        print_lines(f"{said}; {'finished' if found.finished else 'not finished'}")


def print_done(
    done: toksmith.Tokenized, *, as_json: bool, quiet: bool, event: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Say what a finished job contains; `event` is what else the JSON has."""
    if as_json:
        print_json({**event, **vars(done), "folder": done.place, "files": list(done.files)})
    elif not quiet:
        unit = "piece" if done.to == "counts" else "id"
        said = f"{number_of(done.ids, unit)} of {number_of(done.documents, 'document')} in {number_of(done.shards, 'shard')}"
        said += f"; {number_of(done.bad_rows, 'row')} left out" if done.bad_rows else ""
        print_lines(f"{said}; saved in {done.place} ({number_of(len(done.files), 'file')} for {done.to})")
