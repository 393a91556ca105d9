"""`toksmith train`: trains on text, saves a tokenizer file, and prints each merge on request."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import toksmith
from toksmith import _render

from .._base import deprecated
from .._render import number_of
from . import params as cli
from . import training_options as options
from .arguments import Files, GivenText, Json, Quiet, Raw, given, given_pattern, token_json
from .convert import FORMAT
from .corpus import corpus_of
from .counts import loaded_counts
from .flags import check_format, in_flags, reason
from .languages import languages_asked, of_languages
from .printed import print_json, print_lines, tell
from .progress import Watch, progress_of
from .sweep import print_sweep, sweep_sizes

__all__ = ["train"]

Output = Annotated[
    Path | None,
    cli.Option("--output", "-o", help="File for the tokenizer.", default="not saved: --show-merges or --json"),
]
To = Annotated[str | None, cli.Option(help="Format of that file.", default="by its name", **FORMAT)]
FromCounts = Annotated[
    list[Path] | None,
    cli.Option(help="Train on counts: files or folders of count-pieces; repeatable.", default="train on FILE"),
]
Sweep = Annotated[
    str | None, cli.Option(help="Compare sizes, such as 8000,16000, with one training.", default="one size")
]
HeldOut = Annotated[Path | None, cli.Option(help="Unseen text for --sweep.", default="no text")]
ShowMerges = Annotated[bool, cli.Option("--show-merges", help="Print each merge and the number of ids after it.")]


@options.say_kinds
def train(
    files: Files = None,
    *,
    text: GivenText = None,
    output: Output = None,
    to: To = None,
    vocab_size: options.VocabSize = None,
    merges: options.MostMerges = None,
    kind: options.Kind = None,
    unit: options.Unit = None,
    alphabet: options.Alphabet = None,
    pattern: options.Pattern = None,
    special_token: options.SpecialToken = None,
    special: options.OldSpecial = None,
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
    parity: options.Parity = None,
    development: options.Development = None,
    ratio: options.Ratio = None,
    other: options.Other = None,
    global_merges: options.GlobalMerges = None,
    parity_window: options.ParityWindow = None,
    parity_alpha: options.ParityAlpha = None,
    field: options.Field = None,
    raw: Raw = False,
    min_piece_count: options.MinPieceCount = None,
    max_piece_bytes: options.MaxPieceBytes = None,
    max_memory: options.MaxMemory = None,
    spill_to: options.SpillTo = None,
    errors: options.Errors = None,
    checkpoint: options.Checkpoint = None,
    threads: options.Threads = None,
    from_counts: FromCounts = None,
    sweep: Sweep = None,
    held_out: HeldOut = None,
    show_merges: ShowMerges = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a tokenizer on text files or on stdin.

    Each row of a .jsonl, .parquet or .arrow file is a document, and so is any other file; .gz and .zst are unpacked.
    """
    run(dict(locals()))


def run(asked: dict[str, Any]) -> None:
    """Train, save and report as the options of the command ask."""
    asked["special_token"] = both_names(asked["special_token"], asked["special"])
    watch, output, to = Watch(), asked["output"], asked["to"]
    shown = {name: asked[name] for name in ("show_merges", "quiet")}
    replaced = {"--vocab-size": asked["vocab_size"], "--merges": asked["merges"], "--kind": asked["kind"]}
    sizes = sweep_sizes(asked["sweep"], asked["held_out"], asked["files"], replaced)
    if output is None and not (asked["show_merges"] or asked["as_json"] or sizes):
        raise cli.BadParameter("is missing; give a file for the tokenizer, or --show-merges or --json", param_hint="-o")
    check_target(output, to)
    tok = trained(output, to, training_texts(asked) | arguments(asked, sizes))
    if asked["held_out"] is not None:
        print_sweep(tok, sizes, asked["held_out"], as_json=asked["as_json"])
    elif asked["as_json"]:
        print_json(training_facts(tok, merges=asked["show_merges"]))
    else:
        say(tok, output, to, watch, **shown)


def both_names(tokens: list[str] | None, old: list[str] | None) -> list[str] | None:
    """The special tokens, also those of the old flag."""
    if old:
        deprecated.warn("train --special", tell)
    return [*(tokens or []), *(old or [])] or None


def training_texts(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The texts, or the counts of --from-counts; or those of each language."""
    if languages_asked(asked):
        return of_languages(asked)
    if not asked["from_counts"]:
        corpus = corpus_of(asked["files"], asked["text"], field=asked["field"], raw=asked["raw"], again=True)
        return {"corpus": corpus}
    if asked["files"] or asked["text"] is not None:
        raise cli.BadParameter("trains on counts; give no texts", param_hint="--from-counts")
    return {"corpus": loaded_counts(asked["from_counts"])}


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
    found |= progress_of(as_json=asked["as_json"], quiet=asked["quiet"])
    return found | given_pattern(asked["pattern"])


def say(
    tok: toksmith.Tokenizer, output: Path | None, to: str | None, watch: Watch, *, show_merges: bool, quiet: bool
) -> None:
    """Print the merges on request, and the summary unless --quiet is given."""
    if show_merges:
        print_lines(*_render.merge_lines(merge_views(tok)))
    if not quiet:
        print_lines(training_summary(tok, output, watch, chosen_format(output, to)), *language_lines(tok))


def check_target(output: Path | None, to: str | None) -> None:
    """Raise an error, before any work, for a file whose name or folder makes it unwritable."""
    check_format(to, "--to")
    if output is None:
        return
    if output.is_dir() and to is None:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(output))
    if not output.parent.is_dir():
        said = f"cannot be written: there is no folder {str(output.parent)!r}; make it first"
        raise toksmith.FormatError(str(output), None, said)
    if to is None and not any(row.fits(str(output)) for row in toksmith.formats().values()):
        said = (
            "the file name does not show the format; end it in .toksmith, or give --to ('toksmith formats' lists all)"
        )
        raise toksmith.FormatError(str(output), None, said)


def trained(output: Path | None, to: str | None, asked: dict[str, Any]) -> toksmith.Tokenizer:
    """Train and save as `output`. After Ctrl-C or on a full disk, save the tokenizer so far beside it."""
    try:
        tok = toksmith.train(**asked)
    except toksmith.InvalidOption as error:
        raise options.in_flags(error) from error
    except (toksmith.TrainingInterrupted, toksmith.CheckpointError) as stopped:
        if stopped.tokenizer is None:
            raise
        where = "lost, because -o was not given"
        if output is not None:
            where = f"saved in {saved_beside(stopped.tokenizer, output, 'interrupted')}"
        learned = len(stopped.tokenizer.model.merges)
        if isinstance(stopped, toksmith.CheckpointError):
            why, code = f"{stopped.path}: cannot write the checkpoint: {stopped.problem}", 1
        else:
            why, code = f"interrupted while {stopped.phase}", 130
        tell(f"{why}; learned so far: {number_of(learned, 'merge')}, {where}")
        raise cli.Exit(code) from None
    if output is not None:
        save(tok, output, to)
    return tok


def save(tok: toksmith.Tokenizer, output: Path, to: str | None) -> None:
    """Save the tokenizer; if the file cannot hold it, in the native format beside it: the training is not lost."""
    try:
        tok.save(output, **given(format=to))
    except toksmith.FormatError as error:
        beside = saved_beside(tok, output, "trained")
        tell(f"{reason(error, {'to': '--to'})}; the tokenizer is saved in {beside}, which 'toksmith convert' reads")
        raise cli.Exit(1) from None


def saved_beside(tok: toksmith.Tokenizer, output: Path, why: str) -> Path:
    """The file beside `output` that holds the tokenizer, in the format that can hold any."""
    beside = output.with_name(f"{output.stem}.{why}.toksmith")
    tok.save(beside)
    return beside


def size_of(output: Path) -> int:
    """The bytes of a file, or of the files of a folder."""
    return sum(each.stat().st_size for each in output.iterdir()) if output.is_dir() else output.stat().st_size


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
    facts |= {name: tok.run_report[name] for name in ("global_merges", "languages") if name in (tok.run_report or {})}
    if merges:
        facts["merges"] = [
            {"pair": [view.left_id, view.right_id], "id": view.id, **token_json(view.token)}
            | {"count": view.count, "left": view.left}
            for view in merge_views(tok)
        ]
    return facts


def chosen_format(output: Path | None, to: str | None) -> str:
    """The format of a file whose name fits several, such as .model; empty for others."""
    rows = [row for row in toksmith.formats().values() if output is not None and to is None and row.fits(str(output))]
    if output is None or len(rows) < 2:
        return ""
    data = output.read_bytes()
    return next((row.name for row in rows if row.sniff(data, str(output))), "")


def training_summary(tok: toksmith.Tokenizer, output: Path | None, watch: Watch, format: str) -> str:
    record = record_of(tok)
    saved = "" if output is None else f"; saved as {output} ({format}{', ' if format else ''}{size_of(output):,} bytes)"
    merges = f"{number_of(len(record.counts), 'merge')} over {number_of(record.bytes, 'byte')}{watch.took(record.bytes, 'bytes')}: {number_of(symbols_left(record), 'id')} left"
    why = in_flags(record.stopped_because, options.FLAGS)
    return f"{number_of(len(tok), 'token')}; {merges}; stopped because {why}{saved}"


def language_lines(tok: toksmith.Tokenizer) -> list[str]:
    """What training did for each language, the one with the most tokens first; nothing if there was one corpus."""
    report = tok.run_report or {}
    languages = sorted(report.get("languages", {}).items(), key=lambda item: -(item[1]["tokens_after"] or 0))
    return [
        f"{name}: chose {number_of(each['merges'], 'merge')}; {each['tokens_before']:,} tokens before, {each['tokens_after']:,} after"
        + (
            ""
            if each["no_pairs_after"] is None
            else f"; no pair left after {number_of(each['no_pairs_after'], 'merge')}"
        )
        for name, each in languages
    ]


def symbols_left(record: toksmith.TrainingRecord) -> int:
    return int(record.left[-1]) if len(record.left) else record.symbols
