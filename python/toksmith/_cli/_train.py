"""`toksmith train`: text in, a tokenizer file out, each merge printed when asked for."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import toksmith
from toksmith import _render

from ._arguments import STDIN, Files, Json, given, given_pattern, print_json, stdin_bytes, token_json
from ._counts import loaded_counts
from ._progress import progress_lines
from ._run import tell
from ._sweep import print_sweep, sweep_sizes

__all__ = ["train"]

Whole = Annotated[
    bool, typer.Option("--whole-characters", help="No token holds a part of a character and something beside it.")
]
Kept = Annotated[
    Path | None, typer.Option(help="Keep the merges here while training; go on from those that are there.")
]


def train(
    files: Files = None,
    *,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to save the tokenizer.")] = None,
    vocab_size: Annotated[int | None, typer.Option(help="Stop at this size, special tokens included.")] = None,
    merges: Annotated[
        int | None, typer.Option(help="Stop after so many merges. Neither: until no pair repeats.")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="bpe, unigram, chars or words.")] = None,
    unit: Annotated[str | None, typer.Option(help="What merging starts from: byte or char.")] = None,
    alphabet: Annotated[
        str | None, typer.Option(help="For --unit char: ascii. For bytes: gpt2, their order there.")
    ] = None,
    pattern: Annotated[
        list[str] | None, typer.Option(help="Split pattern: a name, a regex (again: applied in order), or none.")
    ] = None,
    special: Annotated[list[str] | None, typer.Option(help="A special token; may be given again.")] = None,
    ties: Annotated[str | None, typer.Option(help="Equal counts: lowest_ids or first_seen.")] = None,
    min_count: Annotated[int | None, typer.Option(help="Least count of a pair that is merged.")] = None,
    max_token_bytes: Annotated[int | None, typer.Option(help="Longest token, in bytes.")] = None,
    digits: Annotated[
        str | None, typer.Option(help="Groups of digits: none, 1, 3 or 3_right (from the right).")
    ] = None,
    whole_characters: Whole = False,
    seed_token: Annotated[list[str] | None, typer.Option(help="A token to make first; may be given again.")] = None,
    superwords: Annotated[int | None, typer.Option(help="Merges of a second phase, across words.")] = None,
    base: Annotated[str | None, typer.Option(help="A tokenizer, by file or name, to continue.")] = None,
    checkpoint: Kept = None,
    threads: Annotated[int | None, typer.Option(help="Threads to count with; none: all cores.")] = None,
    from_counts: Annotated[
        list[Path] | None, typer.Option(help="Train on counts (see count-pieces) and no text; may be given again.")
    ] = None,
    sweep: Annotated[str | None, typer.Option(help="Compare sizes, such as 8000,16000, by one training.")] = None,
    held_out: Annotated[Path | None, typer.Option(help="For --sweep: unseen text to compare on.")] = None,
    show_merges: Annotated[bool, typer.Option("--show-merges", help="Print each merge and what it left.")] = False,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no closing line.")] = False,
) -> None:
    """Train a tokenizer on text files (each one document; .jsonl: one for each row), or on stdin."""
    sizes = sweep_sizes(sweep, held_out, files, {"--vocab-size": vocab_size, "--merges": merges, "--kind": kind})
    if sizes:
        vocab_size = sizes[-1]
    if output is None and not (show_merges or as_json or sizes):
        raise typer.BadParameter("say where to save the tokenizer, or ask for --show-merges or --json", param_hint="-o")
    check_target(output)
    if vocab_size is None and merges is None and min_count is None and kind in (None, "bpe"):
        min_count = 2  # until no pair repeats
    options = given(vocab_size=vocab_size, merges=merges, kind=kind, unit=unit, alphabet=alphabet, ties=ties)
    options |= given(min_count=min_count, max_token_bytes=max_token_bytes, threads=threads, special_tokens=special)
    options |= given(digits=digits, whole_characters=whole_characters or None, seed_tokens=seed_token)
    options |= given(superwords=superwords, base=base and toksmith.load(base), checkpoint=checkpoint)
    options |= given_pattern(pattern)
    if quiet or not sys.stderr.isatty():
        options["progress"] = False if quiet else progress_lines()
    tok = trained(corpus_of(files, from_counts), output, options)
    if held_out is not None:
        print_sweep(tok, sizes, held_out, as_json=as_json)
    elif as_json:
        print_json(training_facts(tok, merges=show_merges))
    else:
        say(tok, output, show_merges=show_merges, quiet=quiet)


def say(tok: toksmith.Tokenizer, output: Path | None, *, show_merges: bool, quiet: bool) -> None:
    """Print the merges if they are asked for, and the summary unless nothing is."""
    if show_merges:
        print("\n".join(_render.merge_lines(merge_views(tok))))
    if not quiet:
        print(training_summary(tok, output))


def check_target(output: Path | None) -> None:
    """Refuse, before any work, a file that cannot be written because of its name or of where it is."""
    if output is None:
        return
    if output.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(output))
    if not output.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(output.parent))
    formats = toksmith.formats().values()
    if not any(row.fits(str(output)) for row in formats):
        names = ", ".join(suffix for row in formats for suffix in row.suffixes)
        raise toksmith.FormatError(str(output), None, f"the name does not say the format; expected one of {names}")


def corpus_of(files: Sequence[str] | None, from_counts: Sequence[Path] | None) -> Any:
    """What is trained on: files, or the counts of files."""
    if not from_counts:
        return [stdin_bytes() if name == STDIN else Path(name) for name in files or [STDIN]]
    if files:
        raise typer.BadParameter("the counts are what is trained on; name no text files", param_hint="--from-counts")
    return loaded_counts(from_counts)


def trained(corpus: Any, output: Path | None, options: dict[str, Any]) -> toksmith.Tokenizer:
    """The tokenizer that training gives, saved as `output`; what Ctrl-C cut short is saved beside it."""
    try:
        tok = toksmith.train(corpus, **options)
    except toksmith.TrainingInterrupted as stopped:
        if stopped.tokenizer is None:
            raise
        where = "lost, as -o was not given"
        if output is not None:
            beside = output.with_name(f"{output.stem}.interrupted.toksmith")  # the format that can hold any tokenizer
            stopped.tokenizer.save(beside)
            where = f"saved in {beside}"
        learned = len(stopped.tokenizer.model.merges)
        tell(f"interrupted while {stopped.phase}; the {learned:,} merges learned so far are {where}")
        raise typer.Exit(130) from None
    if output is not None:
        tok.save(output)
    return tok


def record_of(tok: toksmith.Tokenizer) -> toksmith.TrainingRecord:
    record = tok.model.training
    assert record is not None, "train() leaves a record"
    return record


def merge_views(tok: toksmith.Tokenizer) -> list[_render.MergeView]:
    record = record_of(tok)
    return _render.merge_views(tok.model.merges, record.counts, record.left, tok.token_bytes)


def training_facts(tok: toksmith.Tokenizer, *, merges: bool) -> dict[str, Any]:
    """What training did, as JSON values."""
    record = record_of(tok)
    facts: dict[str, Any] = {"entries": len(tok), "vocab_size": tok.vocab_size, "fingerprint": tok.fingerprint}
    facts |= {"stopped_because": record.stopped_because, "documents": record.documents, "bytes": record.bytes}
    facts |= {"symbols": record.symbols, "left": symbols_left(record)}
    if merges:
        facts["merges"] = [
            {"pair": [view.left_id, view.right_id], "id": view.id, **token_json(view.token)}
            | {"count": view.count, "left": view.left}
            for view in merge_views(tok)
        ]
    return facts


def training_summary(tok: toksmith.Tokenizer, output: Path | None) -> str:
    record = record_of(tok)
    saved = "" if output is None else f"; saved as {output} ({output.stat().st_size:,} bytes)"
    merges = f"{len(tok.model.merges):,} merges over {record.bytes:,} bytes leave {symbols_left(record):,} ids"
    return f"{len(tok):,} tokens; {merges}; stopped because {record.stopped_because}{saved}"


def symbols_left(record: toksmith.TrainingRecord) -> int:
    return int(record.left[-1]) if len(record.left) else record.symbols
