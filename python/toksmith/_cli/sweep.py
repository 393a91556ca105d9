"""`toksmith train --sweep`: trains once and shows how well each smaller vocabulary compresses unseen text."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

import toksmith
from toksmith import _render

from .._render import print_json, print_lines, tell

__all__ = ["print_sweep", "sweep_sizes"]


def sweep_sizes(
    sweep: str | None, held_out: Path | None, files: Sequence[str] | None, others: dict[str, object]
) -> list[int]:
    """The sizes that --sweep names, ascending; none where it was not given.

    Args:
        others: The options that --sweep replaces, with their values.
    """
    if sweep is None:
        if held_out is not None:
            raise click.BadParameter("requires --sweep", param_hint="--held-out")
        return []
    words = [word.replace("_", "").strip() for word in sweep.split(",")]
    if not all(word.isascii() and word.isdigit() for word in words):
        raise click.BadParameter(f"{sweep!r} is not a list of sizes such as 8000,16000,32000", param_hint="--sweep")
    for option, value in others.items():
        if value is not None:
            raise click.BadParameter(
                "cannot be combined with --sweep, which trains its largest size", param_hint=option
            )
    if held_out is None:
        raise click.BadParameter("requires --held-out, the text to compare the sizes on", param_hint="--sweep")
    if not held_out.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(held_out))
    if any(Path(name).exists() and os.path.samefile(name, held_out) for name in files or []):
        raise click.BadParameter(
            f"{held_out} is a training text; give a text that training does not see", param_hint="--held-out"
        )
    return sorted({int(word) for word in words})


def print_sweep(tok: toksmith.Tokenizer, sizes: Sequence[int], held_out: Path, *, as_json: bool) -> None:
    """Print one table and one chart, or one JSON value."""
    least, most = len(tok) - len(tok.model.merges), len(tok)
    if sizes[0] < least:
        tell(f"smaller sizes are raised to {least:,} tokens, the size without merges")
    if sizes[-1] > most:
        tell(f"larger sizes are lowered to {most:,} tokens, where training ended")
    rows = toksmith.sweep(tok, [min(max(size, least), most) for size in sizes], held_out)
    if as_json:
        names = ("vocab_size", "ids", "used", "bytes", "documents", "bytes_per_id")
        print_json([{name: getattr(row, name) for name in names} for row in rows])
    else:
        print_lines(*drawn(rows))


def drawn(rows: Sequence[toksmith.SweepRow]) -> Iterator[str]:
    """The lines of the table and of the chart."""
    yield f"{rows[0].bytes:,} bytes of unseen text"
    yield ""
    cells = []
    for before, row in zip([None, *rows], rows, strict=False):
        fewer = "" if before is None else f"{row.ids / before.ids - 1:+.1%}"
        used = f"{row.used / row.vocab_size:.0%}"
        cells.append([f"{row.vocab_size:,}", f"{row.ids:,}", f"{row.bytes_per_id:.3f}", fewer, used])
    yield from _render.table_lines(["vocab size", "ids", "bytes per id", "ids", "vocabulary used"], cells)
    yield ""
    yield "bytes per id (longer is better)"
    bars = [(f"{row.vocab_size:,}", row.bytes_per_id, f"{row.bytes_per_id:.3f}") for row in rows]
    yield from _render.bar_lines(bars)
