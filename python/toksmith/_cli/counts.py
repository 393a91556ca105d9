"""`toksmith count-pieces` and `merge-counts`: a corpus to its pieces and counts, for `train --from-counts`.

One machine counts into one file; a folder is a job of many shards, which any number of machines make (`jobs.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import toksmith

from .._render import number_of, print_json, print_lines
from .arguments import FILE, PATH, Asked, as_json, given, quiet, text_files
from .inputs import corpus_of, given_pattern, progress_of, working
from .jobs import files_of_job, job_options, run_job, sizes_of
from .program import command
from .training_options import counting, min_count, spill_to

__all__ = ["count_pieces", "loaded_counts", "merge_counts"]


@command("count-pieces", folder="--output", corpus="FILE")
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
@click.option("--start", help="Where this shard begins: DOCUMENT or DOCUMENT:BYTE.", show_default="0")
@job_options
def count_pieces(files: list[str] | None, output: str, start: str | None, **options: Any) -> None:
    """Count the distinct pieces of text files, for train --from-counts.

    Files are .txt, .jsonl, .parquet and .arrow; .gz and .zst are unpacked.
    """
    names = ("max_errors", "shard_size", "part", "force", "plan", "finish", "dry_run")
    of_job = {f"--{name.replace('_', '-')}": options[name] or None for name in names}
    of_job |= {"--run": None if options["run"] == "local" else options["run"]}
    of_job |= {"--workers": None if options["workers"] == 1 else options["workers"]}
    of_file = {"--start": start, "--min-count": options["min_count"], "--spill-to": options["spill_to"]}
    asked = {name: options[name] for name in ("max_piece_bytes", "errors")}
    asked |= sizes_of(max_memory=options["max_memory"])
    asked = given(**asked) | given_pattern(options["pattern"])
    if not output.endswith(("/", os.sep)) and not Path(output).is_dir():
        refuse(of_job, "needs a folder: -o DIR/")
        if not output.endswith((".parquet", ".tsv")):
            said = f"{output!r} is neither a file .parquet or .tsv nor a folder; write DIR/ for a job of shards"
            raise click.BadParameter(said, param_hint="--output")
        asked |= given(**{name: options[name] for name in ("min_count", "spill_to", "threads")})
        asked |= given(start=None if start is None else position(start)) | progress_of(options)
        saved(toksmith.count_pieces(corpus_of(options, files), **asked), Path(output), options)
        return
    refuse(of_file, "is for one file of counts; for the shards of a job use merge-counts --min-count, and --shard-size")
    asked |= given(max_errors=options["max_errors"]) | sizes_of(shard_size=options["shard_size"])

    def planned(*, force: bool, dry_run: bool) -> toksmith.Job:
        if not files:
            raise click.BadParameter("is missing: a job reads files", param_hint="FILE")
        corpus = files_of_job(files, options["field"])
        return toksmith.plan_counts(corpus, output, force=force, dry_run=dry_run, **asked)

    run_job(planned, Path(output), options, cost=False, whole=bool(files or asked))


def refuse(given_options: dict[str, Any], why: str) -> None:
    for flag, value in given_options.items():
        if value is not None:
            raise click.BadParameter(why, param_hint=flag)


@command("merge-counts")
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
    "--in-order", is_flag=True, help="Each file's documents follow those of the file before: keep first positions."
)
@min_count(flag="--min-count", kinds=False)
@spill_to(kinds=False)
@as_json
@quiet
def merge_counts(
    files: list[Path], output: Path, in_order: bool, min_count: int | None, spill_to: Path | None, **asked: Any
) -> None:
    """Add up the counts of shards, in bounded memory."""
    options = given(min_count=min_count, spill_to=spill_to)
    with working(asked):
        merged = toksmith.merge_counts(files, output, in_order=in_order, **options)
    saved(merged, output, asked)


def loaded_counts(files: Sequence[Path]) -> toksmith.PieceCounts:
    return toksmith.PieceCounts.load(files[0]) if len(files) == 1 else toksmith.PieceCounts.load_all(files)


def saved(counts: toksmith.PieceCounts | toksmith.MergedCounts, output: Path, asked: Asked) -> None:
    """Save counts that are not in a file, and say what they are."""
    if isinstance(counts, toksmith.PieceCounts):
        counts.save(output)
        pieces = len(counts)
    else:
        pieces = counts.pieces
    if asked["as_json"]:
        facts: dict[str, Any] = {"file": str(output), "documents": counts.documents, "bytes": counts.bytes}
        facts |= {"pieces": pieces, "digest": counts.digest, "end": list(counts.end), "skipped": counts.skipped}
        print_json(facts | {"long": counts.long._asdict(), "rare": counts.rare._asdict()})
    elif not asked["quiet"]:
        said = f"{number_of(pieces, 'distinct piece')} from {number_of(counts.documents, 'document')}, {counts.bytes:,} bytes"
        for why, left in (("too long", counts.long), ("too rare", counts.rare)):
            said += (
                f"; left out as {why}: {number_of(left.pieces, 'piece')} with {left.bytes:,} bytes"
                if left.pieces
                else ""
            )
        said += f"; unreadable files and rows: {counts.skipped:,}" if counts.skipped else ""
        print_lines(f"{said}; saved as {output}")


def position(text: str) -> tuple[int, int]:
    """The place that a --start option names."""
    document, _, byte = text.partition(":")
    if not all(part.isascii() and part.isdigit() for part in (document, byte or "0")):
        raise click.BadParameter(f"{text!r} is not DOCUMENT or DOCUMENT:BYTE", param_hint="--start")
    return int(document), int(byte or 0)
