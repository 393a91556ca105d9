"""`toksmith train`: trains on text, saves a tokenizer file, and prints each merge on request."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import toksmith
from toksmith import _render

from .._render import number_of
from . import _training_options as options
from ._arguments import STDIN, Files, Json, given, given_pattern, stdin_bytes, token_json
from ._corpus import item
from ._counts import loaded_counts
from ._printed import print_json, print_lines, tell
from ._progress import progress_lines
from ._sweep import print_sweep, sweep_sizes

__all__ = ["train"]


@options.say_kinds
def train(
    files: Files = None,
    *,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the tokenizer.")] = None,
    vocab_size: options.VocabSize = None,
    merges: options.MostMerges = None,
    kind: options.Kind = None,
    unit: options.Unit = None,
    alphabet: options.Alphabet = None,
    pattern: options.Pattern = None,
    special: options.Special = None,
    ties: options.Ties = None,
    min_count: options.MinCount = None,
    max_token_bytes: options.MaxTokenBytes = None,
    digits: options.Digits = None,
    whole_characters: options.WholeCharacters = None,
    seed_token: options.SeedToken = None,
    superwords: options.Superwords = None,
    superword_pattern: options.SuperwordPattern = None,
    base: options.Base = None,
    character_coverage: options.CharacterCoverage = None,
    byte_fallback: options.ByteFallback = None,
    dummy_prefix: options.DummyPrefix = None,
    user_symbol: options.UserSymbol = None,
    unknown_token: options.UnknownToken = None,
    end_of_word_suffix: options.EndOfWordSuffix = None,
    lowercase: options.Lowercase = None,
    field: options.Field = None,
    min_piece_count: options.MinPieceCount = None,
    max_piece_bytes: options.MaxPieceBytes = None,
    max_memory: options.MaxMemory = None,
    spill_to: options.SpillTo = None,
    errors: options.Errors = None,
    checkpoint: options.Checkpoint = None,
    threads: options.Threads = None,
    from_counts: Annotated[
        list[Path] | None, typer.Option(help="Train on counts: files or folders of count-pieces; repeatable.")
    ] = None,
    sweep: Annotated[str | None, typer.Option(help="Compare sizes, such as 8000,16000, with one training.")] = None,
    held_out: Annotated[Path | None, typer.Option(help="Unseen text for --sweep.")] = None,
    show_merges: Annotated[
        bool, typer.Option("--show-merges", help="Print each merge and the number of ids after it.")
    ] = False,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")] = False,
) -> None:
    """Train a tokenizer on text files or on stdin. Each file is a document; in .jsonl files each row is one."""
    asked = dict(locals())
    sizes = sweep_sizes(sweep, held_out, files, {"--vocab-size": vocab_size, "--merges": merges, "--kind": kind})
    if output is None and not (show_merges or as_json or sizes):
        raise typer.BadParameter("give a file where to save the tokenizer, or --show-merges or --json", param_hint="-o")
    check_target(output)
    tok = trained(corpus_of(files, from_counts, field), output, arguments(asked, sizes))
    if held_out is not None:
        print_sweep(tok, sizes, held_out, as_json=as_json)
    elif as_json:
        print_json(training_facts(tok, merges=show_merges))
    else:
        say(tok, output, show_merges=show_merges, quiet=quiet)


def arguments(asked: Mapping[str, Any], sizes: Sequence[int]) -> dict[str, Any]:
    """The arguments of `toksmith.train` for these options."""
    found = given(**{name: asked[option] for option, name in options.CHOSEN.items()})
    if sizes:
        found["vocab_size"] = sizes[-1]
    if not found.keys() & {"vocab_size", "merges", "min_count"} and asked["kind"] in (None, "bpe"):
        found["min_count"] = 2  # until no pair repeats
    if asked["base"] is not None:
        found["base"] = toksmith.load(asked["base"])
    if asked["max_memory"] is not None:
        found["max_memory"] = options.bytes_of(asked["max_memory"])
    if asked["quiet"] or not sys.stderr.isatty():
        found["progress"] = False if asked["quiet"] else progress_lines()
    return found | given_pattern(asked["pattern"])


def say(tok: toksmith.Tokenizer, output: Path | None, *, show_merges: bool, quiet: bool) -> None:
    """Print the merges on request, and the summary unless --quiet is given."""
    if show_merges:
        print_lines(*_render.merge_lines(merge_views(tok)))
    if not quiet:
        print_lines(training_summary(tok, output))


def check_target(output: Path | None) -> None:
    """Raise an error, before any work, for a file whose name or folder makes it unwritable."""
    if output is None:
        return
    if output.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(output))
    if not output.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(output.parent))
    formats = toksmith.formats().values()
    if not any(row.fits(str(output)) for row in formats):
        names = ", ".join(suffix for row in formats for suffix in row.suffixes)
        raise toksmith.FormatError(
            str(output), None, f"the file name does not show the format; expected one of {names}"
        )


def corpus_of(files: Sequence[str] | None, from_counts: Sequence[Path] | None, field: str | None) -> Any:
    """The corpus: files, or the counts of files."""
    if not from_counts:
        return [stdin_bytes() if name == STDIN else item(name, field) for name in files or [STDIN]]
    if files:
        raise typer.BadParameter("trains on counts; give no text files", param_hint="--from-counts")
    return loaded_counts(from_counts)


def trained(corpus: Any, output: Path | None, asked: dict[str, Any]) -> toksmith.Tokenizer:
    """Train and save as `output`. After Ctrl-C or on a full disk, save the tokenizer so far beside it."""
    try:
        tok = toksmith.train(corpus, **asked)
    except toksmith.InvalidOption as error:
        raise options.in_flags(error) from error
    except (toksmith.TrainingInterrupted, toksmith.CheckpointError) as stopped:
        if stopped.tokenizer is None:
            raise
        where = "lost, because -o was not given"
        if output is not None:
            beside = output.with_name(f"{output.stem}.interrupted.toksmith")  # the format that can hold any tokenizer
            stopped.tokenizer.save(beside)
            where = f"saved in {beside}"
        learned = len(stopped.tokenizer.model.merges)
        if isinstance(stopped, toksmith.CheckpointError):
            why, code = f"{stopped.path}: cannot write the checkpoint: {stopped.problem}", 1
        else:
            why, code = f"interrupted while {stopped.phase}", 130
        tell(f"{why}; learned so far: {number_of(learned, 'merge')}, {where}")
        raise typer.Exit(code) from None
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
    merges = f"{number_of(len(tok.model.merges), 'merge')} over {number_of(record.bytes, 'byte')}: {number_of(symbols_left(record), 'id')} left"
    return f"{number_of(len(tok), 'token')}; {merges}; stopped because {record.stopped_because}{saved}"


def symbols_left(record: toksmith.TrainingRecord) -> int:
    return int(record.left[-1]) if len(record.left) else record.symbols
