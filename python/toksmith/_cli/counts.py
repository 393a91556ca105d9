"""`toksmith count-pieces` and `merge-counts`: a corpus to its pieces and counts, for `train --from-counts`.

One machine counts into one file; a folder is a job of many shards, which any number of machines make (`jobs.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import toksmith

from .._render import number_of
from . import params as cli
from . import training_options as options
from .arguments import Files, Json, Quiet, given, given_pattern
from .corpus import corpus_of
from .flags import flagged
from .jobs import FLAGS, DryRun, Finish, Force, MaxErrors, Only, Part, Run, ShardSize, Workers, files_of_job, run_job
from .printed import print_json, print_lines
from .progress import progress_of, working

__all__ = ["count_pieces", "loaded_counts", "merge_counts"]

Output = Annotated[
    str,
    cli.Option("--output", "-o", help="A file for the counts, .parquet or .tsv; or a folder DIR/ for a job of shards."),
]
InOrder = Annotated[
    bool,
    cli.Option("--in-order", help="Each file's documents follow those of the file before: keep first positions."),
]

OF_FILE = {
    name: f"--{name.replace('_', '-')}"
    for name in ["min_count", "spill_to", "threads", "max_memory", "errors", "max_piece_bytes"]
}
OF_FILE |= {"start": "--start", "pattern": "--pattern", "in_order": "--in-order"}


def count_pieces(
    files: Files = None,
    *,
    output: Output,
    pattern: options.Pattern = None,
    field: options.Field = None,
    start: Annotated[
        str | None, cli.Option(help="Where this shard begins: DOCUMENT or DOCUMENT:BYTE.", default="0")
    ] = None,
    min_count: options.MinPieceCount = None,
    max_piece_bytes: options.MaxPieceBytes = None,
    max_memory: options.MaxMemory = None,
    spill_to: options.SpillTo = None,
    errors: options.Errors = None,
    threads: options.Threads = None,
    max_errors: MaxErrors = None,
    shard_size: ShardSize = None,
    dry_run: DryRun = False,
    plan: Only = False,
    part: Part = None,
    finish: Finish = False,
    run: Run = "local",
    workers: Workers = 1,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Count the distinct pieces of text files, for train --from-counts.

    Files are .txt, .jsonl, .parquet and .arrow; .gz and .zst are unpacked.
    """
    asked = given(max_piece_bytes=max_piece_bytes, errors=errors) | given_pattern(pattern)
    of_file = {"--start": start, "--min-count": min_count, "--spill-to": spill_to}
    of_job = {"--max-errors": max_errors, "--shard-size": shard_size, "--part": part, "--force": force or None}
    of_job |= {"--plan": plan or None, "--finish": finish or None, "--dry-run": dry_run or None}
    of_job |= {"--run": None if run == "local" else run, "--workers": None if workers == 1 else workers}
    asked |= given(max_memory=None if max_memory is None else options.bytes_of(max_memory))
    if not output.endswith(("/", os.sep)) and not Path(output).is_dir():
        refuse(of_job, "needs a folder: -o DIR/")
        if not output.endswith((".parquet", ".tsv")):
            said = f"{output!r} is neither a file .parquet or .tsv nor a folder; write DIR/ for a job of shards"
            raise cli.BadParameter(said, param_hint="--output")
        asked |= given(min_count=min_count, spill_to=spill_to, threads=threads)
        asked |= given(start=None if start is None else position(start))
        asked |= progress_of(as_json=as_json, quiet=quiet)
        with flagged(OF_FILE):
            counts = toksmith.count_pieces(corpus_of(files, field=field), **asked)
        saved(counts, Path(output), as_json=as_json, quiet=quiet)
        return
    refuse(of_file, "is for one file of counts; for the shards of a job use merge-counts --min-count, and --shard-size")
    asked |= given(max_errors=max_errors)
    asked |= given(shard_size=None if shard_size is None else options.bytes_of(shard_size, "--shard-size"))

    def planned(*, force: bool, dry_run: bool) -> toksmith.Job:
        if not files:
            raise cli.BadParameter("is missing: a job reads files", param_hint="FILE")
        corpus = files_of_job(files, field)
        return toksmith.plan_counts(corpus, output, force=force, dry_run=dry_run, **asked)

    with flagged({**FLAGS, "pattern": "--pattern", "max_piece_bytes": "--max-piece-bytes"}):
        way = {"part": part, "run": run, "workers": workers, "threads": threads}
        steps = {"dry_run": dry_run, "plan": plan, "finish": finish, "force": force, "cost": False}
        steps["whole"] = bool(files or asked)
        run_job(planned, Path(output), way, steps, as_json=as_json, quiet=quiet)


def refuse(given_options: dict[str, Any], why: str) -> None:
    """Refuse options that do not fit the output."""
    for flag, value in given_options.items():
        if value is not None:
            raise cli.BadParameter(why, param_hint=flag)


def merge_counts(
    files: Annotated[list[Path], cli.Argument(metavar="FILE", help="Files of counts, and folders of finished jobs.")],
    *,
    output: Annotated[Path, cli.Option("--output", "-o", help="File for the counts: .parquet or .tsv.")],
    in_order: InOrder = False,
    min_count: options.MinPieceCount = None,
    spill_to: options.SpillTo = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add up the counts of shards, in bounded memory."""
    asked = given(min_count=min_count, spill_to=spill_to)
    with flagged(OF_FILE), working(as_json=as_json, quiet=quiet):
        merged = toksmith.merge_counts(files, output, in_order=in_order, **asked)
    saved(merged, output, as_json=as_json, quiet=quiet)


def loaded_counts(files: Sequence[Path]) -> toksmith.PieceCounts:
    """The counts of all files together."""
    return toksmith.PieceCounts.load(files[0]) if len(files) == 1 else toksmith.PieceCounts.load_all(files)


def saved(counts: toksmith.PieceCounts | toksmith.MergedCounts, output: Path, *, as_json: bool, quiet: bool) -> None:
    """Save counts that are not in a file, and say what they are."""
    if isinstance(counts, toksmith.PieceCounts):
        counts.save(output)
        pieces = len(counts)
    else:
        pieces = counts.pieces
    if as_json:
        facts: dict[str, Any] = {"file": str(output), "documents": counts.documents, "bytes": counts.bytes}
        facts |= {"pieces": pieces, "digest": counts.digest, "end": list(counts.end), "skipped": counts.skipped}
        print_json(facts | {"long": counts.long._asdict(), "rare": counts.rare._asdict()})
    elif not quiet:
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
        raise cli.BadParameter(f"{text!r} is not DOCUMENT or DOCUMENT:BYTE", param_hint="--start")
    return int(document), int(byte or 0)
