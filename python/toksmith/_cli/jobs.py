"""A corpus to shards of ids: tokenize, status (how far that is), verify, shards (what is in them) and merge-shards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
from click.exceptions import Exit

import toksmith

from .._render import log_lines, number_of, print_json, print_lines
from .arguments import FILE, PATH, STDIN, Asked, as_json, completing, field, given, named_by_t, quiet, special
from .inputs import file_named, loaded, working
from .printed import print_drawn, print_shown
from .program import DIFFERENT, command, drop_output, options
from .training_options import bytes_of

__all__ = [
    "files_of_job",
    "job_options",
    "merge_shards",
    "run_job",
    "shards",
    "status",
    "threads",
    "tokenize",
    "verify",
]

# Those of the library's tables, which a test compares.
SINKS = ("npy", "megatron", "nanogpt", "llmc", "datatrove", "parquet", "hf", "mds", "dolma", "litdata")
DTYPES = ("auto", "uint8", "uint16", "uint32", "int32")

job_options = options(
    click.option("--max-errors", type=int, help="How many such rows the job may have.", show_default="no limit"),
    click.option("--shard-size", help="Bytes of the files in a shard, such as 512M.", show_default="256M"),
    click.option(
        "--dry-run", is_flag=True, help="Write nothing; say how many shards there would be, and what they cost."
    ),
    click.option("--plan", is_flag=True, help="Write the plan, and make no shard."),
    click.option(
        "--part", help="I/N: make every Nth shard from the Ith on, from 0; then --finish.", show_default="all shards"
    ),
    click.option("--finish", is_flag=True, help="Complete a job whose parts are all made."),
    click.option(
        "--run",
        default="local",
        help="Where: local, ray, or ray://HOST:PORT.",
        shell_complete=completing(lambda: ("local", "ray")),
    ),
    click.option("--workers", default=1, help="Number of processes."),
    click.option("--force", is_flag=True, help="Replace another or a finished job in this folder."),
    as_json,
    quiet,
)
threads = click.option("--threads", type=int, help="Threads of each process.", show_default="they share all cores")


@command("tokenize", folder="--output", corpus="FILE")
@click.argument("files", type=FILE, metavar="[FILE]...", nargs=-1, help="Files, folders and URLs of texts.")
@named_by_t("A published name or a tokenizer file.", required=False)
@click.option(
    "--output", "-o", type=PATH, required=True, help="Folder for the shards; its parent must exist. Or a URL."
)
@click.option(
    "--to",
    default="npy",
    help=f"Format: {', '.join(SINKS[:-1])} or {SINKS[-1]}.",
    shell_complete=completing(lambda: SINKS),
)
@field
@click.option("--id-field", help="Field or column with the name of each document.", show_default="no names")
@click.option("--append", help="Special token that ends each document.", show_default="nothing")
@click.option("--prepend", help="Special token that begins each document.", show_default="nothing")
@click.option(
    "--empty",
    type=click.Choice(["token", "keep", "skip"]),
    help="A text without ids: token (only --append), keep (no ids) or skip.",
    show_default="token",
)
@special(None)
@click.option(
    "--dtype",
    type=click.Choice(DTYPES),
    help="Type of the ids; the format decides which it takes.",
    show_default="auto",
)
@click.option(
    "--errors", type=click.Choice(["stop", "skip", "quarantine"]), help="Rows that have no text.", show_default="stop"
)
@click.option("--sources", is_flag=True, help="Write where each document is from.")
@click.option(
    "--shuffle",
    type=int,
    metavar="SEED",
    help="Put the documents into the order of this seed.",
    show_default="the order of the files",
)
@click.option(
    "--pack",
    type=click.Choice(["best-fit", "chunk"]),
    help="Make rows of --length ids.",
    show_default="documents as they are",
)
@click.option("--length", type=int, help="With --pack: ids of a row.", show_default="no rows")
@click.option("--pad", help="With --pack: special token that fills up rows.", show_default="nothing")
@click.option(
    "--max-memory",
    help="Memory of each process, such as 2G: limits threads and the length of documents.",
    show_default="no limit",
)
@threads
@job_options
def tokenize(files: list[str] | None, output: Path, to: str, sources: bool, field: str | None, **asked: Any) -> None:
    """Encode a corpus into shards of ids, in a folder.

    The same command again goes on with an unfinished job.
    """
    names = ("id_field", "append", "prepend", "empty", "special", "dtype", "errors", "max_errors", "shuffle", "pack")
    chosen = given(**{name: asked[name] for name in (*names, "length", "pad")})
    chosen |= sizes_of(shard_size=asked["shard_size"], max_memory=asked["max_memory"])
    name = asked["tokenizer"]

    def planned(*, force: bool, dry_run: bool) -> toksmith.Job:
        if name is None or not files:
            wanted = "files, folders or URLs of texts" if name else "a published name or a tokenizer file"
            raise click.BadParameter(f"is missing; expected {wanted}", param_hint="FILE" if name else "--tokenizer")
        corpus = files_of_job(files, field)
        return toksmith.plan(
            loaded(asked), corpus, output, to=to, sources=sources, force=force, dry_run=dry_run, **chosen
        )

    whole = bool(files or name is not None or chosen or sources or to != "npy")
    run_job(planned, output, asked, cost=True, whole=whole)


def run_job(planned: Callable[..., toksmith.Job], folder: Path, asked: Asked, *, cost: bool, whole: bool) -> None:
    """Plan a job and run it, or do the one step of it that was asked for.

    Args:
        planned: Plans the job; it takes `force` and `dry_run`.
        cost: Whether a dry run says what the job costs.
        whole: Whether the job itself was given, not only its folder.
    """
    refuse_steps(asked)
    way = {name: asked[name] for name in ("part", "run", "workers", "threads")}
    quiet, as_json = asked["quiet"], asked["as_json"]
    if asked["finish"]:
        job = toksmith.Job.at(folder)
        if whole and not job.finished:
            job = planned(force=False, dry_run=False)  # which refuses another job than the one that is planned here
        print_done(job.finish(), asked, event={"event": "finished"})
        return
    toksmith.Job.check_run(**way)  # before --force removes anything
    job = planned(force=asked["force"], dry_run=asked["dry_run"])
    if asked["dry_run"] or asked["plan"]:
        print_planned(job, job.cost() if asked["dry_run"] and cost and job.bytes else None, asked)
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
        print_status(job, asked, event=events[-1])
    else:
        print_done(done, asked, event=events[-1])


def files_of_job(files: Sequence[str], field: str | None) -> list[Any]:
    """The corpus of a job, whose shards read their parts of the files apart."""
    if STDIN in files:
        said = "is standard input, which is read once; the shards of a job read files: save it to a file first"
        raise click.BadParameter(said, param_hint=repr(STDIN))
    return [file_named(name, field) for name in files]


def refuse_steps(steps: Asked) -> None:
    """Refuse options of which one would be without effect."""
    has_part = steps["part"] is not None
    others = {"--dry-run": steps["dry_run"], "--plan": steps["plan"], "--force": steps["force"], "--part": has_part}
    for flag, is_given in others.items():
        if steps["finish"] and is_given:
            raise click.BadParameter("completes a job as it is; it is not possible with " + flag, param_hint="--finish")
    if steps["dry_run"] and steps["plan"]:
        raise click.BadParameter("writes nothing; it is not possible with --plan", param_hint="--dry-run")
    if steps["force"] and has_part:
        said = "is not possible with --part: each part would remove the others; use --force --plan once, then the parts"
        raise click.BadParameter(said, param_hint="--force")


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
    return {name: bytes_of(size, f"--{name.replace('_', '-')}") for name, size in sizes.items() if size is not None}


job_folder = click.argument("folder", type=PATH, metavar="DIR", help="Folder or URL of a job, the -o of 'tokenize'.")


@command("status")
@job_folder
@as_json
def status(folder: Path, **asked: Any) -> None:
    """Print how far a job is, also while it runs elsewhere."""
    print_status(toksmith.Job.at(folder), asked | {"quiet": False})


@command("verify")
@job_folder
@click.option("--decode", is_flag=True, help="Decode the ids, and compare the texts' sums.")
@click.option("--source", is_flag=True, help="Encode the texts again, and compare all ids.")
@click.option("--sample", type=int, help="How many shards to decode or encode.", show_default="all")
@threads
@as_json
@quiet
def verify(folder: Path, decode: bool, source: bool, sample: int | None, threads: int | None, **asked: Any) -> None:
    """Compare the files of a finished job with what was written.

    The exit code is 3 if one differs.
    """
    with working(asked):
        found = toksmith.verify(folder, decode=decode, source=source, sample=sample, threads=threads)
    if asked["as_json"]:
        facts = {"files": found.files, "decoded": found.decoded, "encoded": found.encoded}
        print_json(facts | {"differences": [each._asdict() for each in found.differences]})
    else:
        print_lines(*str(found).splitlines())
    if not found.ok:
        raise Exit(DIFFERENT)


def print_planned(job: toksmith.Job, cost: toksmith.JobCost | None, asked: Asked) -> None:
    """Say what a job will read, and what it will cost."""
    if asked["as_json"]:
        facts = {"folder": job.place, "shards": job.shards, "files": job.files, "bytes": job.bytes}
        print_json({"event": "planned", **facts} | ({} if cost is None else {"cost": cost.to_dict()}))
    elif not asked["quiet"]:
        shards = number_of(job.shards, "shard")
        print_lines(f"{shards} of {number_of(job.files, 'file')}, {job.bytes:,} bytes, for {job.place}")
        if cost is not None:
            print_drawn([cost])


def print_status(job: toksmith.Job, asked: Asked, *, event: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Say how far a job is; `event` is what else the JSON has."""
    found = job.status()
    if asked["as_json"]:
        print_json({**event, **vars(found), "missing": job.missing()})
    elif not asked["quiet"]:
        said = f"{found.done:,} of {number_of(found.shards, 'shard')} done: {number_of(found.documents, 'document')}"
        said += f", {number_of(found.ids, found.unit)}, {number_of(found.bad_rows, 'bad row')}"
        if found.running:
            shown = ", ".join(map(str, found.running[:5])) + (", …" if len(found.running) > 5 else "")
            said += f"; {number_of(len(found.running), 'shard')} running ({shown})"
        print_lines(f"{said}; {'finished' if found.finished else 'not finished'}")


def print_done(done: toksmith.Tokenized, asked: Asked, *, event: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Say what a finished job contains; `event` is what else the JSON has."""
    if asked["as_json"]:
        print_json({**event, **vars(done), "folder": done.place, "files": list(done.files)})
    elif not asked["quiet"]:
        unit = "piece" if done.to == "counts" else "id"
        said = f"{number_of(done.ids, unit)} of {number_of(done.documents, 'document')} in {number_of(done.shards, 'shard')}"
        said += f"; {number_of(done.bad_rows, 'row')} left out" if done.bad_rows else ""
        print_lines(f"{said}; saved in {done.place} ({number_of(len(done.files), 'file')} for {done.to})")


@command("shards")
@click.argument("folder", type=PATH, metavar="DIR", help="Folder or URL of shards, the -o of 'tokenize'.")
@click.option("--first", type=int, help="How many documents to show as text.", show_default="3")
@as_json
@quiet
def shards(folder: Path, first: int | None, **asked: Any) -> None:
    """Print what is in a folder of shards.

    Documents, ids, lengths, compression by source, and the first documents.
    """
    print_shown(lambda: toksmith.shards(folder, **given(first=first)), asked)


@command("merge-shards", folder="--output", folders="DIR")
@click.argument(
    "folders", type=PATH, metavar="DIR...", nargs=-1, required=True, help="Folders or URLs of finished jobs, in order."
)
@click.option(
    "--output", "-o", type=PATH, required=True, help="New folder for the one shard; its parent must exist. Or a URL."
)
@click.option(
    "--to",
    help="Format, as of 'tokenize'.",
    show_default="that of the first folder",
    shell_complete=completing(lambda: SINKS),
)
@as_json
@quiet
def merge_shards(folders: list[Path], output: Path, to: str | None, **asked: Any) -> None:
    """Write the shards of finished jobs as one shard, in bounded memory."""
    with working(asked):
        done = toksmith.merge_shards(folders, output, to=to)
    print_done(done, asked)
