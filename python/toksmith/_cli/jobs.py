"""The commands for jobs that encode a corpus into shards: corpus tokenize, status, verify, show and merge."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO

import click
from click.exceptions import Exit

import toksmith

from .._render import log_lines, number_of, print_json, print_lines, reserve_stdout
from .arguments import (
    FILE,
    PATH,
    STDIN,
    Flags,
    as_json,
    complete_from,
    drop_none,
    field,
    quiet,
    special,
    tokenizer_option,
)
from .inputs import load_tokenizer, show_progress
from .output import print_renderables, print_result
from .program import DIFFERENT, command, options
from .training_options import parse_size

# A test compares them with the library's tables.
SINKS = ("npy", "megatron", "nanogpt", "llmc", "datatrove", "parquet", "hf", "mds", "dolma", "litdata")
DTYPES = ("auto", "uint8", "uint16", "uint32", "int32")

job_options = options(
    click.option("--max-errors", type=int, help="Maximum number of bad rows in the job.", show_default="no limit"),
    click.option("--shard-size", help="Bytes of input files for each shard, such as 512M.", show_default="256M"),
    click.option("--dry-run", is_flag=True, help="Write nothing; print the number of shards and their cost."),
    click.option("--plan", is_flag=True, help="Write the plan, but no shard."),
    click.option(
        "--part",
        help="I/N: write every Nth shard from shard I (from 0). Or claim: write shards that no other process claimed. Then --finish.",
        show_default="all shards",
    ),
    click.option("--finish", is_flag=True, help="Complete a job after all its parts are done."),
    click.option(
        "--run",
        default="local",
        help="Where the job runs: local, ray, or ray://HOST:PORT.",
        shell_complete=complete_from(lambda: ("local", "ray")),
    ),
    click.option("--workers", default=1, help="Number of processes."),
    click.option("--force", is_flag=True, help="Replace a different or finished job in this folder."),
    as_json,
    quiet,
)
threads = click.option("--threads", type=int, help="Threads of each process.", show_default="they share all cores")


@command("corpus tokenize", folder="--output", corpus="FILE")
@click.argument("files", type=FILE, metavar="[FILE]...", nargs=-1, help="Files, folders and URLs of texts.")
@tokenizer_option("A published name or a tokenizer file.", required=False)
@click.option(
    "--output", "-o", type=PATH, required=True, help="Folder for the shards; its parent must exist. Or a URL."
)
@click.option(
    "--to",
    default="npy",
    help=f"Format: {', '.join(SINKS[:-1])} or {SINKS[-1]}.",
    shell_complete=complete_from(lambda: SINKS),
)
@field
@click.option("--id-field", help="Field or column with the name of each document.", show_default="no names")
@click.option("--append", help="Special token that ends each document.", show_default="nothing")
@click.option("--prepend", help="Special token that begins each document.", show_default="nothing")
@click.option(
    "--empty",
    type=click.Choice(["token", "keep", "skip"]),
    help="A document without ids: token (only --append), keep (no ids) or skip.",
    show_default="token",
)
@special(None)
@click.option(
    "--dtype",
    type=click.Choice(DTYPES),
    help="Type of the ids; each format takes some of them.",
    show_default="auto",
)
@click.option(
    "--errors", type=click.Choice(["stop", "skip", "quarantine"]), help="For rows without text.", show_default="stop"
)
@click.option("--sources", is_flag=True, help="Write the source of each document.")
@click.option(
    "--shuffle",
    type=int,
    metavar="SEED",
    help="Shuffle the documents with this seed.",
    show_default="the order of the files",
)
@click.option(
    "--pack",
    type=click.Choice(["best-fit", "chunk"]),
    help="Pack documents into rows of --length ids.",
    show_default="no packing",
)
@click.option("--length", type=int, help="With --pack: number of ids in a row.", show_default="no rows")
@click.option("--pad", help="With --pack: special token that fills rows up.", show_default="nothing")
@click.option(
    "--val", type=float, help="With --to nanogpt or llmc: share of documents for validation.", show_default="no val.bin"
)
@click.option(
    "--max-memory",
    help="Memory of each process, such as 2G; it limits the threads and the length of documents.",
    show_default="no limit",
)
@threads
@job_options
def corpus_tokenize(
    files: list[str] | None, output: Path, to: str, sources: bool, field: str | None, **flags: Any
) -> None:
    """Encode a corpus into shards of ids, in a folder.

    Repeat the command to continue an unfinished job.
    """
    names = ("id_field", "append", "prepend", "empty", "special", "dtype", "errors", "max_errors", "shuffle", "pack")
    arguments = drop_none(**{name: flags[name] for name in (*names, "length", "pad", "val")})
    arguments |= parse_sizes(shard_size=flags["shard_size"], max_memory=flags["max_memory"])
    name = flags["tokenizer"]

    def planned(*, force: bool, dry_run: bool) -> toksmith.corpus.Job:
        if name is None or not files:
            expected = "files, folders or URLs of texts" if name else "a published name or a tokenizer file"
            raise click.BadParameter(f"is missing; expected {expected}", param_hint="FILE" if name else "--tokenizer")
        corpus = job_corpus(files, field)
        return toksmith.corpus.plan(
            load_tokenizer(flags), corpus, output, to=to, sources=sources, force=force, dry_run=dry_run, **arguments
        )

    whole = bool(files or name is not None or {*arguments} - {"max_memory"} or sources or to != "npy")
    run_job(planned, output, flags, cost=True, whole=whole)


def run_job(
    planned: Callable[..., toksmith.corpus.Job], folder: Path, flags: Flags, *, cost: bool, whole: bool
) -> None:
    """Plan a job and run it, or do only the requested step.

    Args:
        planned: Plans the job; it takes `force` and `dry_run`. A part of a planned job needs only the folder.
        cost: Whether a dry run reports the cost of the job.
        whole: Whether the arguments describe the job, not only its folder.
    """
    refuse_steps(flags)
    way = {name: flags[name] for name in ("part", "run", "workers", "threads")}
    quiet, as_json = flags["quiet"], flags["as_json"]
    if flags["finish"]:
        job = toksmith.corpus.Job.at(folder)
        if whole and not job.finished:
            job = planned(force=False, dry_run=False)  # refuses a different job in the folder
        print_done(job.finish(), flags, event={"event": "finished"})
        return
    toksmith.corpus.Job.check_run(**way)  # before --force removes anything
    is_here = flags["part"] is not None and not whole and not (flags["dry_run"] or flags["plan"])
    job = toksmith.corpus.Job.at(folder) if is_here else planned(force=flags["force"], dry_run=flags["dry_run"])
    if flags["dry_run"] or flags["plan"]:
        print_planned(job, job.cost() if flags["dry_run"] and cost and job.bytes else None, flags)
        return
    events: list[dict[str, Any]] = [{"event": "finished"}]

    def tell_event(now: toksmith.corpus.JobEvent) -> None:
        if now.event == "finished":  # the last line also has the sums of the whole job
            events.append(now.to_dict())
            return
        print_event(now.to_dict(), job.place, stdout)

    with log_lines() if not quiet else nullcontext(), reserve_stdout() if as_json else nullcontext() as stdout:
        limit = parse_sizes(max_memory=flags["max_memory"])
        tokenized = job.run(**way, **limit, progress=False if quiet else None, events=tell_event if as_json else None)
    if flags["part"] == "claim":
        print_claimed(flags, events[-1])
    elif tokenized is None:
        print_status(job, flags, event=events[-1])
    else:
        print_done(tokenized, flags, event=events[-1])


def job_corpus(files: Sequence[str], field: str | None) -> list[Any]:
    """The corpus of a job, whose shards read their parts of the files independently."""
    if STDIN in files:
        message = "is standard input, which is read once; the shards of a job read files: save it to a file first"
        raise click.BadParameter(message, param_hint=repr(STDIN))
    return [toksmith.files(name, **drop_none(field=field)) for name in files]


def refuse_steps(steps: Flags) -> None:
    """Refuse combinations of options in which one would have no effect."""
    has_part = steps["part"] is not None
    others = {"--dry-run": steps["dry_run"], "--plan": steps["plan"], "--force": steps["force"], "--part": has_part}
    for flag, is_given in others.items():
        if steps["finish"] and is_given:
            raise click.BadParameter("changes nothing else; it is not possible with " + flag, param_hint="--finish")
    if steps["dry_run"] and steps["plan"]:
        raise click.BadParameter("writes nothing; it is not possible with --plan", param_hint="--dry-run")
    if steps["force"] and has_part:
        text = "is not possible with --part: each part would remove the others; use --force --plan once, then the parts"
        raise click.BadParameter(text, param_hint="--force")


def print_event(facts: dict[str, Any], place: str, stdout: TextIO | None) -> None:
    """Print an event to stdout, which other output does not reach.

    Raises:
        JobError: The event cannot be written; the job must not end as if it were done.
    """
    try:
        print_json(facts, stdout)
        (stdout or sys.stdout).flush()
    except OSError as problem:
        text = f"the events cannot be printed: {problem.strerror}; finished shards stay, and the same command continues"
        raise toksmith.errors.JobError(place, text) from None


def parse_sizes(**sizes: str | None) -> dict[str, Any]:
    """The sizes that were given, in bytes, by argument."""
    return {name: parse_size(size, f"--{name.replace('_', '-')}") for name, size in sizes.items() if size is not None}


job_folder = click.argument(
    "folder", type=PATH, metavar="DIR", help="Folder or URL of a job, the -o of 'corpus tokenize'."
)


@command("corpus status")
@job_folder
@as_json
def corpus_status(folder: Path, **flags: Any) -> None:
    """Print the progress of a job, also while it runs elsewhere."""
    print_status(toksmith.corpus.Job.at(folder), flags | {"quiet": False})


@command("corpus verify")
@job_folder
@click.option("--decode", is_flag=True, help="Decode the ids, and compare the checksums of the texts.")
@click.option("--source", is_flag=True, help="Encode the texts again, and compare all ids.")
@click.option("--sample", type=int, help="Number of shards to decode or encode.", show_default="all")
@threads
@as_json
@quiet
def corpus_verify(
    folder: Path, decode: bool, source: bool, sample: int | None, threads: int | None, **flags: Any
) -> None:
    """Check the files of a finished job against its records.

    The exit code is 3 if a file differs.
    """
    with show_progress(flags):
        report = toksmith.corpus.verify(folder, decode=decode, source=source, sample=sample, threads=threads)
    if flags["as_json"]:
        facts = {"files": report.files, "decoded": report.decoded, "encoded": report.encoded}
        print_json(facts | {"differences": [each._asdict() for each in report.differences]})
    else:
        print_lines(*str(report).splitlines())
    if not report.ok:
        raise Exit(DIFFERENT)


def print_planned(job: toksmith.corpus.Job, cost: toksmith.corpus.JobCost | None, flags: Flags) -> None:
    """Print the inputs and the cost of a planned job."""
    if flags["as_json"]:
        facts = {"folder": job.place, "shards": job.shards, "files": job.files, "bytes": job.bytes}
        print_json({"event": "planned", **facts} | ({} if cost is None else {"cost": cost.to_dict()}))
    elif not flags["quiet"]:
        shards = number_of(job.shards, "shard")
        print_lines(f"{shards} of {number_of(job.files, 'file')}, {job.bytes:,} bytes, for {job.place}")
        if cost is not None:
            print_renderables([cost])


def print_status(job: toksmith.corpus.Job, flags: Flags, *, event: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Print the progress of a job, or of the part in `flags`; `event` is added to the JSON."""
    part = flags.get("part")
    progress = job.status(part)
    if flags["as_json"]:
        print_json({**event, **vars(progress), "missing": job.missing(part)})
    elif not flags["quiet"]:
        line = "" if part is None else f"part {part}: "
        line += (
            f"{progress.done:,} of {number_of(progress.shards, 'shard')} done: {'about ' if progress.sampled else ''}"
        )
        line += f"{number_of(progress.documents, 'document')}, {number_of(progress.ids, progress.unit)}"
        line += f", {number_of(progress.bad_rows, 'bad row')}"
        line += f" (by {number_of(progress.sampled, 'receipt')})" if progress.sampled else ""
        if progress.running:
            running = ", ".join(map(str, progress.running[:5])) + (", …" if len(progress.running) > 5 else "")
            line += f"; {number_of(len(progress.running), 'shard')} running ({running})"
        print_lines(f"{line}; {'finished' if progress.finished else 'not finished'}")


def print_claimed(flags: Flags, event: Mapping[str, Any]) -> None:
    """Print the end of a run that claims shards; other processes may still make the last ones."""
    if flags["as_json"]:
        print_json(event)
    elif not flags["quiet"]:
        print_lines("no shard left to claim; when all processes have ended, complete the job with --finish")


def print_done(
    done: toksmith.corpus.Tokenized, flags: Flags, *, event: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Print the contents of a finished job; `event` is added to the JSON."""
    if flags["as_json"]:
        print_json({**event, **vars(done), "folder": done.place, "files": list(done.files)})
    elif not flags["quiet"]:
        unit = "piece" if done.to == "counts" else "id"
        line = f"{number_of(done.ids, unit)} of {number_of(done.documents, 'document')} in {number_of(done.shards, 'shard')}"
        line += f"; {number_of(done.bad_rows, 'row')} left out" if done.bad_rows else ""
        print_lines(f"{line}; saved in {done.place} ({number_of(len(done.files), 'file')} for {done.to})")


@command("corpus show")
@click.argument("folder", type=PATH, metavar="DIR", help="Folder or URL of shards, the -o of 'corpus tokenize'.")
@click.option("--first", type=int, help="Number of documents to show as text.", show_default="3")
@as_json
@quiet
def corpus_show(folder: Path, first: int | None, **flags: Any) -> None:
    """Print the contents of a folder of shards.

    It shows numbers of documents and ids, lengths, compression by source, and the first documents.
    """
    print_result(lambda: toksmith.corpus.show(folder, **drop_none(first=first)), flags)


@command("corpus merge", folder="--output", folders="DIR")
@click.argument(
    "folders", type=PATH, metavar="DIR...", nargs=-1, required=True, help="Folders or URLs of finished jobs, in order."
)
@click.option(
    "--output", "-o", type=PATH, required=True, help="New folder for the one shard; its parent must exist. Or a URL."
)
@click.option(
    "--to",
    help="Format, as in 'corpus tokenize'.",
    show_default="the first folder's",
    shell_complete=complete_from(lambda: SINKS),
)
@as_json
@quiet
def corpus_merge(folders: list[Path], output: Path, to: str | None, **flags: Any) -> None:
    """Write the shards of finished jobs as one shard, in bounded memory."""
    with show_progress(flags):
        done = toksmith.corpus.merge(folders, output, to=to)
    print_done(done, flags)
