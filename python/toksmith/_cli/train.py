"""`toksmith train`: trains on text, saves a tokenizer file, and prints each merge on request.

`--sweep` trains once and shows how well each smaller vocabulary compresses unseen text; `--parity` and related options
train on several languages.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit

import toksmith
from toksmith import _render

from .._render import number_of, print_json, print_lines, tell
from .arguments import FILE, PATH, STDIN, as_json, drop_none, quiet, raw, text, text_files
from .convert import FORMAT, check_target
from .counts import load_counts
from .flags import error_message, in_flags
from .inputs import Watch, corpus_of, parse_language_and_file, pattern_argument, progress_argument
from .output import merge_views
from .program import command
from .training_options import CHOSEN, FLAGS, parse_numbers, parse_size, training
from .training_options import kinds_as_flags as kinds_in_flags

OF_LANGUAGES = ("development", "ratio", "global_merges", "parity_window", "parity_alpha", "other")


@command("train", ratios="--ratio", corpus="--other", seed_tokens="--seed-token", user_symbols="--user-symbol")
@text_files
@text
@click.option(
    "--output",
    "-o",
    type=FILE,
    help="File for the tokenizer, or a folder/ for transformers.",
    show_default="not saved: --show-merges or --json",
)
@click.option("--to", help="Format of that file.", show_default="by its name", **FORMAT)
@training
@raw
@click.option(
    "--from-counts",
    type=PATH,
    multiple=True,
    help="Train on counts: files or folders of 'corpus count'; repeatable.",
    show_default="train on FILE",
)
@click.option("--sweep", help="Compare sizes, such as 8000,16000, with one training.", show_default="one size")
@click.option("--held-out", type=PATH, help="Unseen text for --sweep.", show_default="no text")
@click.option("--show-merges", is_flag=True, help="Print each merge and the number of ids after it.")
@as_json
@quiet
def train(**flags: Any) -> None:
    """Train a tokenizer on text files or on stdin.

    Each row of a .jsonl, .parquet or .arrow file is a document; any other file is one document; .gz and .zst files are
    unpacked.
    """
    watch, output, to = Watch(), flags["output"], flags["to"]
    display = {name: flags[name] for name in ("show_merges", "quiet")}
    replaced = {"--vocab-size": flags["vocab_size"], "--merges": flags["merges"], "--kind": flags["kind"]}
    sizes = parse_sweep_sizes(flags["sweep"], flags["held_out"], flags["files"], replaced)
    if output is None and not (flags["show_merges"] or flags["as_json"] or sizes):
        raise click.BadParameter(
            "is missing; give a file for the tokenizer, or --show-merges or --json", param_hint="-o"
        )
    check_target(output, to)
    tok = train_and_save(output, to, training_texts(flags) | train_arguments(flags, sizes))
    if flags["held_out"] is not None:
        print_sweep(tok, sizes, flags["held_out"], as_json=flags["as_json"])
    elif flags["as_json"]:
        print_json(training_facts(tok, merges=flags["show_merges"]))
    else:
        print_outcome(tok, output, watch, **display)


def training_texts(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The texts, the counts of --from-counts, or the texts of each language."""
    if has_language_options(flags):
        return language_arguments(flags)
    if not flags["from_counts"]:
        return {"corpus": corpus_of(flags, flags["files"], again=True)}
    if flags["files"] or flags["text"] is not None:
        raise click.BadParameter("trains on counts; give no texts", param_hint="--from-counts")
    return {"corpus": load_counts(flags["from_counts"])}


def train_arguments(flags: Mapping[str, Any], sizes: Sequence[int]) -> dict[str, Any]:
    """The arguments of `toksmith.train` from these options."""
    options = drop_none(**{name: flags[option] for option, name in CHOSEN.items()})
    if sizes:
        options["vocab_size"] = sizes[-1]
    if not options.keys() & {"vocab_size", "merges", "min_count"} and flags["kind"] in (None, "bpe"):
        options["min_count"] = 2  # until no pair repeats
    if flags["base"] is not None:
        options["base"] = toksmith.load(flags["base"])
    if flags["max_memory"] is not None:
        options["max_memory"] = parse_size(flags["max_memory"])
    options |= progress_argument(flags)
    return options | pattern_argument(flags["pattern"])


def print_outcome(tok: toksmith.Tokenizer, output: str | None, watch: Watch, *, show_merges: bool, quiet: bool) -> None:
    """Print the merges on request, and the summary unless --quiet is given."""
    if show_merges:
        print_lines(*_render.merge_lines(merge_views(tok)))
    if not quiet:
        print_lines(training_summary(tok, output, watch), *language_lines(tok))


def train_and_save(output: str | None, to: str | None, flags: dict[str, Any]) -> toksmith.Tokenizer:
    """Train and save as `output`. After Ctrl-C or on a full disk, save the tokenizer so far next to it."""
    try:
        tok = toksmith.train(**flags)
    except toksmith.errors.InvalidOption as error:
        raise kinds_in_flags(error) from error
    except (toksmith.errors.TrainingInterrupted, toksmith.errors.CheckpointError) as stopped:
        if stopped.tokenizer is None:
            raise
        where = "lost, because -o was not given"
        if output is not None:
            where = f"saved in {save_fallback(stopped.tokenizer, Path(output), 'interrupted')}"
        learned = len(stopped.tokenizer.model.merges)
        if isinstance(stopped, toksmith.errors.CheckpointError):
            why, code = f"{stopped.path}: cannot write the checkpoint: {stopped.problem}", 1
        else:
            why, code = f"interrupted while {stopped.phase}", 130
        tell(f"{why}; learned so far: {number_of(learned, 'merge')}, {where}")
        raise Exit(code) from None
    if output is not None:
        save_or_fall_back(tok, output, to)
    return tok


def save_or_fall_back(tok: toksmith.Tokenizer, output: str, to: str | None) -> None:
    """Save the tokenizer; if the format cannot hold it, save it natively next to `output`: training is not lost."""
    try:
        tok.save(output, **drop_none(format=to))
    except toksmith.errors.FormatError as error:
        fallback = save_fallback(tok, Path(output), "trained")
        tell(
            f"{error_message(error, {'to': '--to'})}; the tokenizer is saved in {fallback}, which 'toksmith convert' reads"
        )
        raise Exit(1) from None


def save_fallback(tok: toksmith.Tokenizer, output: Path, why: str) -> Path:
    """Save the tokenizer next to `output`, or in this folder, in the native format, which holds any; return the file."""
    file = output / f"{why}.toksmith" if output.is_dir() else output.with_name(f"{output.stem}.{why}.toksmith")
    tok.save(file)
    return file


def saved_size(output: Path) -> int:
    """The bytes of a file, or of all files in a folder."""
    return sum(each.stat().st_size for each in output.iterdir()) if output.is_dir() else output.stat().st_size


def record_of(tok: toksmith.Tokenizer) -> toksmith.types.TrainingRecord:
    record = tok.model.training
    assert record is not None, "train() leaves a record"
    return record


def training_facts(tok: toksmith.Tokenizer, *, merges: bool) -> dict[str, Any]:
    """The figures of training as JSON values."""
    record = record_of(tok)
    facts: dict[str, Any] = {"entries": len(tok), "vocab_size": tok.vocab_size, "fingerprint": tok.fingerprint}
    facts |= {"stopped_because": record.stopped_because, "documents": record.documents, "bytes": record.bytes}
    facts |= {"symbols": record.symbols, "left": symbols_left(record)}
    facts |= {name: tok.run_report[name] for name in ("global_merges", "languages") if name in (tok.run_report or {})}
    if merges:
        facts["merges"] = [
            {"pair": [view.left_id, view.right_id], "id": view.id, **_render.token_json(view.token)}
            | {"count": view.count, "left": view.left}
            for view in merge_views(tok)
        ]
    return facts


def training_summary(tok: toksmith.Tokenizer, output: str | None, watch: Watch) -> str:
    record = record_of(tok)
    saved = "" if output is None else f"; saved as {output} ({saved_size(Path(output)):,} bytes)"
    merges = f"{number_of(len(record.counts), 'merge')} over {number_of(record.bytes, 'byte')}{watch.format_time(record.bytes, 'bytes')}: {number_of(symbols_left(record), 'id')} left"
    why = in_flags(record.stopped_because, FLAGS)
    return f"{number_of(len(tok), 'token')}; {merges}; stopped because {why}{saved}"


def language_lines(tok: toksmith.Tokenizer) -> list[str]:
    """The figures of each language, most tokens first; empty for one corpus."""
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


def symbols_left(record: toksmith.types.TrainingRecord) -> int:
    return int(record.left[-1]) if len(record.left) else record.symbols


# Several languages


def has_language_options(flags: Mapping[str, Any]) -> bool:
    """Whether the options of `train` select training on several languages."""
    return flags["parity"] is not None or any(flags[name] is not None for name in OF_LANGUAGES)


def language_arguments(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `toksmith.train` for several languages."""
    if flags["text"] is not None:
        raise click.BadParameter("is one text; with --parity give NAME=FILE for each language", param_hint="--text")
    options: dict[str, Any] = {"languages": language_corpora(flags)}
    if flags["development"] is not None:
        texts = group_by_language(flags["development"], "--development")
        options["development"] = {name: corpus_of(flags, files) for name, files in texts.items()}
    if flags["ratio"] is not None:
        options["ratios"] = dict(parse_ratio(each) for each in flags["ratio"])
    if flags["other"] is not None:
        options["corpus"] = corpus_of(flags, flags["other"])
    return options


def language_corpora(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The corpus or the counts of each language."""
    if flags["from_counts"]:
        if flags["files"]:
            raise click.BadParameter("trains on counts; give no texts", param_hint="--from-counts")
        files_by_name = group_by_language([str(each) for each in flags["from_counts"]], "--from-counts")
        return {name: load_counts([Path(file) for file in files]) for name, files in files_by_name.items()}
    if not flags["files"]:
        raise click.BadParameter("is missing; give NAME=FILE for each language", param_hint="FILE")
    files_by_name = group_by_language(flags["files"], "FILE")
    if len(files_by_name) < 2:
        message = f"expected files of at least two languages, not of {', '.join(files_by_name)} alone; write NAME=FILE"
        raise click.BadParameter(message, param_hint="FILE")
    return {name: corpus_of(flags, files) for name, files in files_by_name.items()}


def group_by_language(arguments: Sequence[str], hint: str) -> dict[str, list[str]]:
    """The files of each language; a language can have several."""
    files: dict[str, list[str]] = {}
    for argument in arguments:
        if argument == STDIN:
            raise click.BadParameter("stdin has no language; give NAME=-", param_hint=hint)
        name, file = parse_language_and_file(argument, hint)
        files.setdefault(name, []).append(file)
    return files


def parse_ratio(argument: str) -> tuple[str, float]:
    name, _, number = argument.partition("=")
    try:
        return name, float(number)
    except ValueError:
        raise click.BadParameter(
            f"expected NAME=NUMBER, such as hi=1.0, not {argument!r}", param_hint="--ratio"
        ) from None


# Several sizes


def parse_sweep_sizes(
    sweep: str | None, held_out: Path | None, files: Sequence[str] | None, others: dict[str, object]
) -> list[int]:
    """The sizes of --sweep, ascending; empty without it.

    Args:
        others: The options that --sweep replaces, with their values.
    """
    if sweep is None:
        if held_out is not None:
            raise click.BadParameter("requires --sweep", param_hint="--held-out")
        return []
    sizes = parse_numbers(sweep, "--sweep")
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
            f"{held_out} is a training text; give a text outside the training texts", param_hint="--held-out"
        )
    return sorted({*sizes})


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
        print_lines(*sweep_lines(rows))


def sweep_lines(rows: Sequence[toksmith.types.SweepRow]) -> Iterator[str]:
    yield f"{rows[0].bytes:,} bytes of unseen text"
    yield ""
    cells = []
    for before, row in zip([None, *rows], rows, strict=False):
        fewer = "" if before is None else f"{row.ids / before.ids - 1:+.1%}"
        share_used = f"{row.used / row.vocab_size:.0%}"
        cells.append([f"{row.vocab_size:,}", f"{row.ids:,}", f"{row.bytes_per_id:.3f}", fewer, share_used])
    yield from _render.table_lines(["vocab size", "ids", "bytes per id", "ids", "vocabulary used"], cells)
    yield ""
    yield "bytes per id (longer is better)"
    bars = [(f"{row.vocab_size:,}", row.bytes_per_id, f"{row.bytes_per_id:.3f}") for row in rows]
    yield from _render.bar_lines(bars)
