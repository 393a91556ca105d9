"""`toksmith count-pieces` and `merge-counts`: a corpus to its pieces and counts, shard by shard, for `train --from-counts`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import toksmith

from .._render import number_of
from . import _training_options as options
from ._arguments import STDIN, Files, Json, given, given_pattern, stdin_stream
from ._corpus import item
from ._printed import print_json, print_lines
from ._progress import progress_lines

__all__ = ["count_pieces", "loaded_counts", "merge_counts"]

Output = Annotated[Path, typer.Option("--output", "-o", help="File for the counts: .parquet or .tsv.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")]


def count_pieces(
    files: Files = None,
    *,
    output: Output,
    pattern: options.Pattern = None,
    field: options.Field = None,
    start: Annotated[str | None, typer.Option(help="Where this shard begins: DOCUMENT or DOCUMENT:BYTE.")] = None,
    min_count: options.MinPieceCount = None,
    max_piece_bytes: options.MaxPieceBytes = None,
    max_memory: options.MaxMemory = None,
    spill_to: options.SpillTo = None,
    errors: options.Errors = None,
    threads: options.Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Count the distinct pieces of text files (.txt, .jsonl, .parquet; .gz, .zst), for train --from-counts."""
    asked = given(min_count=min_count, max_piece_bytes=max_piece_bytes, spill_to=spill_to, errors=errors)
    asked |= given(threads=threads, start=None if start is None else position(start))
    asked |= given(max_memory=None if max_memory is None else options.bytes_of(max_memory)) | given_pattern(pattern)
    if quiet or not sys.stderr.isatty():
        asked["progress"] = False if quiet else progress_lines()
    corpus = [stdin_stream() if name == STDIN else item(name, field) for name in files or [STDIN]]
    saved(toksmith.count_pieces(corpus, **asked), output, as_json=as_json, quiet=quiet)


def merge_counts(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files of counts.")],
    *,
    output: Output,
    min_count: options.MinPieceCount = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add up the counts of shards."""
    counts = loaded_counts(files)
    saved(counts if min_count is None else counts.filter(min_count), output, as_json=as_json, quiet=quiet)


def loaded_counts(files: Sequence[Path]) -> toksmith.PieceCounts:
    """The counts of all files together."""
    return toksmith.PieceCounts.sum([toksmith.PieceCounts.load(path) for path in files])


def saved(counts: toksmith.PieceCounts, output: Path, *, as_json: bool, quiet: bool) -> None:
    """Save counts and say what they are."""
    counts.save(output)
    if as_json:
        facts: dict[str, Any] = {"file": str(output), "documents": counts.documents, "bytes": counts.bytes}
        facts |= {"pieces": len(counts), "digest": counts.digest, "end": list(counts.end), "skipped": counts.skipped}
        print_json(facts | {"long": counts.long._asdict(), "rare": counts.rare._asdict()})
    elif not quiet:
        said = f"{number_of(len(counts), 'distinct piece')} from {number_of(counts.documents, 'document')}, {counts.bytes:,} bytes"
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
        raise typer.BadParameter(f"{text!r} is not DOCUMENT or DOCUMENT:BYTE", param_hint="--start")
    return int(document), int(byte or 0)
