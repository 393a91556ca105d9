"""`toksmith corpus count` and `corpus merge-counts`: count the pieces of a corpus, for `train --from-counts`.

One machine counts into one file; a folder holds a job of many shards for any number of machines (`jobs.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import toksmith

from .._render import number_of, print_json, print_lines
from .arguments import FILE, PATH, Flags, as_json, drop_none, quiet, text_files
from .inputs import corpus_of, pattern_argument, progress_argument, show_progress
from .jobs import job_corpus, job_options, parse_sizes, run_job
from .program import command
from .training_options import counting, min_count, spill_to


@command("corpus count", folder="--output", corpus="FILE")
@text_files
@click.option(
    "--output",
    "-o",
    type=FILE,
    required=True,
    help="A file for the counts, .parquet or .tsv; or a folder DIR/ for a job of shards.",
)
@counting(kinds=False)
@min_count(flag="--min-count", kinds=False)
@click.option("--start", help="Position where this shard begins: DOCUMENT or DOCUMENT:BYTE.", show_default="0")
@job_options
def corpus_count(files: list[str] | None, output: str, start: str | None, **options: Any) -> None:
    """Count the distinct pieces of text files, for train --from-counts.

    Files are .txt, .jsonl, .parquet and .arrow; .gz and .zst are unpacked.
    """
    names = ("max_errors", "shard_size", "part", "force", "plan", "finish", "dry_run")
    of_job = {f"--{name.replace('_', '-')}": options[name] or None for name in names}
    of_job |= {"--run": None if options["run"] == "local" else options["run"]}
    of_job |= {"--workers": None if options["workers"] == 1 else options["workers"]}
    of_file = {"--start": start, "--min-count": options["min_count"], "--spill-to": options["spill_to"]}
    arguments = {name: options[name] for name in ("max_piece_bytes", "errors")}
    arguments |= parse_sizes(max_memory=options["max_memory"])
    arguments = drop_none(**arguments) | pattern_argument(options["pattern"])
    if not output.endswith(("/", os.sep)) and not Path(output).is_dir():
        refuse_options(of_job, "needs a folder: -o DIR/")
        if not output.endswith((".parquet", ".tsv")):
            message = f"{output!r} is neither a file .parquet or .tsv nor a folder; write DIR/ for a job of shards"
            raise click.BadParameter(message, param_hint="--output")
        arguments |= drop_none(**{name: options[name] for name in ("min_count", "spill_to", "threads")})
        arguments |= drop_none(start=None if start is None else parse_position(start)) | progress_argument(options)
        save_counts(toksmith.corpus.count(corpus_of(options, files), **arguments), Path(output), options)
        return
    refuse_options(
        of_file,
        "is for one file of counts; for the shards of a job use 'corpus merge-counts' --min-count, and --shard-size",
    )
    arguments |= drop_none(max_errors=options["max_errors"]) | parse_sizes(shard_size=options["shard_size"])

    def planned(*, force: bool, dry_run: bool) -> toksmith.corpus.Job:
        if not files:
            raise click.BadParameter("is missing: a job reads files", param_hint="FILE")
        corpus = job_corpus(files, options["field"])
        return toksmith.corpus.plan_counts(corpus, output, force=force, dry_run=dry_run, **arguments)

    run_job(planned, Path(output), options, cost=False, whole=bool(files or {*arguments} - {"max_memory"}))


def refuse_options(given_options: dict[str, Any], why: str) -> None:
    for flag, value in given_options.items():
        if value is not None:
            raise click.BadParameter(why, param_hint=flag)


@command("corpus merge-counts")
@click.argument(
    "files",
    type=PATH,
    metavar="FILE...",
    nargs=-1,
    required=True,
    help="Files of counts, and folders of finished jobs.",
)
@click.option("--output", "-o", type=PATH, required=True, help="File for the counts: .parquet or .tsv.")
@click.option(
    "--in-order", is_flag=True, help="Treat the files as consecutive parts of one corpus: keep first positions."
)
@min_count(flag="--min-count", kinds=False)
@spill_to(kinds=False)
@as_json
@quiet
def corpus_merge_counts(
    files: list[Path], output: Path, in_order: bool, min_count: int | None, spill_to: Path | None, **flags: Any
) -> None:
    """Add up the counts of shards, in bounded memory."""
    options = drop_none(min_count=min_count, spill_to=spill_to)
    with show_progress(flags):
        merged = toksmith.corpus.merge_counts(files, output, in_order=in_order, **options)
    save_counts(merged, output, flags)


def load_counts(files: Sequence[Path]) -> toksmith.corpus.PieceCounts:
    return (
        toksmith.corpus.PieceCounts.load(files[0]) if len(files) == 1 else toksmith.corpus.PieceCounts.load_all(files)
    )


def save_counts(counts: toksmith.corpus.PieceCounts | toksmith.corpus.MergedCounts, output: Path, flags: Flags) -> None:
    """Save counts that are still in memory, and print a summary."""
    if isinstance(counts, toksmith.corpus.PieceCounts):
        counts.save(output)
        pieces = len(counts)
    else:
        pieces = counts.pieces
    if flags["as_json"]:
        facts: dict[str, Any] = {"file": str(output), "documents": counts.documents, "bytes": counts.bytes}
        facts |= {"pieces": pieces, "digest": counts.digest, "end": list(counts.end), "skipped": counts.skipped}
        print_json(facts | {"long": counts.long._asdict(), "rare": counts.rare._asdict()})
    elif not flags["quiet"]:
        summary = f"{number_of(pieces, 'distinct piece')} from {number_of(counts.documents, 'document')}, {counts.bytes:,} bytes"
        for why, dropped in (("too long", counts.long), ("too rare", counts.rare)):
            if dropped.pieces:
                summary += f"; left out as {why}: {number_of(dropped.pieces, 'piece')} with {dropped.bytes:,} bytes"
        summary += f"; unreadable files and rows: {counts.skipped:,}" if counts.skipped else ""
        print_lines(f"{summary}; saved as {output}")


def parse_position(text: str) -> tuple[int, int]:
    """The document and byte of a --start option."""
    document, _, byte = text.partition(":")
    if not all(part.isascii() and part.isdigit() for part in (document, byte or "0")):
        raise click.BadParameter(f"{text!r} is not DOCUMENT or DOCUMENT:BYTE", param_hint="--start")
    return int(document), int(byte or 0)
