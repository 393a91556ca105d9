"""`toksmith count-pieces` and `merge-counts`: a corpus to its pieces and counts, shard by shard, for `train --from-counts`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import toksmith

from ._arguments import STDIN, Files, Json, given, given_pattern, print_json, stdin_stream
from ._corpus import item
from ._progress import progress_lines

__all__ = ["count_pieces", "loaded_counts", "merge_counts"]

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
Output = Annotated[Path, typer.Option("--output", "-o", help="Where to save the counts: .parquet, or .tsv.")]
MinCount = Annotated[int | None, typer.Option(help="Leave out pieces that occur less often.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no closing line.")]


def count_pieces(
    files: Files = None,
    *,
    output: Output,
    pattern: Annotated[
        list[str] | None, typer.Option(help="Split pattern: a name, a regex (again: applied in order), or none.")
    ] = None,
    field: Annotated[str | None, typer.Option(help="The field or column that holds the text.")] = None,
    start: Annotated[str | None, typer.Option(help="Of a shard: DOCUMENT or DOCUMENT:BYTE, where it begins.")] = None,
    min_count: MinCount = None,
    max_piece_bytes: Annotated[int | None, typer.Option(help="Leave out longer pieces.")] = None,
    max_memory: Annotated[
        str | None, typer.Option(help="Bytes of memory for the table (512M, 4G); more on disk.")
    ] = None,
    spill_to: Annotated[Path | None, typer.Option(help="The folder for what goes to disk.")] = None,
    errors: Annotated[str | None, typer.Option(help="Files and rows that cannot be read: stop or skip.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads to count with; none: all cores.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Count the distinct pieces of text files (.txt, .jsonl, .parquet; .gz, .zst), for train --from-counts."""
    options = given(min_count=min_count, max_piece_bytes=max_piece_bytes, spill_to=spill_to, errors=errors)
    options |= given(threads=threads, start=None if start is None else position(start))
    options |= given(max_memory=None if max_memory is None else bytes_of(max_memory)) | given_pattern(pattern)
    if quiet or not sys.stderr.isatty():
        options["progress"] = False if quiet else progress_lines()
    corpus = [stdin_stream() if name == STDIN else item(name, field) for name in files or [STDIN]]
    saved(toksmith.count_pieces(corpus, **options), output, as_json=as_json, quiet=quiet)


def merge_counts(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files of counts.")],
    *,
    output: Output,
    min_count: MinCount = None,
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
        said = f"{len(counts):,} distinct pieces of {counts.documents:,} documents, {counts.bytes:,} bytes"
        for why, left in (("too long", counts.long), ("too rare", counts.rare)):
            said += f"; {left.pieces:,} pieces of {left.bytes:,} bytes were {why}" if left.pieces else ""
        said += f"; {counts.skipped:,} files or rows could not be read" if counts.skipped else ""
        print(f"{said}; saved as {output}")


def position(text: str) -> tuple[int, int]:
    """The place that a --start option names."""
    document, _, byte = text.partition(":")
    if not all(part.isascii() and part.isdigit() for part in (document, byte or "0")):
        raise typer.BadParameter(f"{text!r} is not DOCUMENT or DOCUMENT:BYTE", param_hint="--start")
    return int(document), int(byte or 0)


def bytes_of(text: str) -> int:
    """The bytes that a size such as 512M stands for."""
    digits, unit = (text[:-1], UNITS[text[-1:].upper()]) if text[-1:].upper() in UNITS else (text, 1)
    if not (digits.isascii() and digits.isdigit()):
        raise typer.BadParameter(f"{text!r} is no size such as 512M or 4G", param_hint="--max-memory")
    return int(digits) * unit
