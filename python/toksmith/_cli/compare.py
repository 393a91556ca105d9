"""The commands that judge tokenizers: compare and doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit

import toksmith
from toksmith import _render

from .._render import tell
from .arguments import (
    FILE,
    PATH,
    drop_none,
    field,
    raw,
    text,
    threads,
    with_report,
    with_tokenizer,
    with_tokenizers,
)
from .inputs import (
    advance_meter,
    corpus_of,
    files_by_language,
    load_tokenizer,
    load_tokenizers,
    show_progress,
    total_bytes,
)
from .output import prepare_result
from .program import DIFFERENT, command


@command("compare")
@click.argument(
    "files",
    nargs=-1,
    type=FILE,
    metavar="[[NAME=]FILE]...",
    help="Texts, '-' for stdin; NAME=FILE for the same text in several languages; none: sentences in 24 languages.",
)
@with_tokenizers
@text
@field
@raw
@click.option("--metric", multiple=True, help="Metric to show; repeatable.", show_default="all; with languages none")
@click.option("--reference", help="With NAME=FILE: the language to compare with.", show_default="the first")
@threads
@with_report
def compare(files: list[str] | None, metric: list[str] | None, reference: str | None, **flags: Any) -> None:
    """Compare tokenizers on the same texts: tokens, and the figures of metrics.

    Files without names are one corpus: each row of a .jsonl, .parquet or .arrow file is a document, any other file is one
    document, and .gz and .zst are unpacked. NAME=FILE is the text in a language: its cost is shown relative to the
    reference.
    """
    toks, options = load_tokenizers(flags), drop_none(metrics=metric, reference=reference, threads=flags["threads"])
    by_name = [file for file in files or () if "=" in file]
    if by_name and len(by_name) < len(files or ()):
        raise click.BadParameter("name all files as NAME=FILE, or none", param_hint="FILE")
    if flags["text"] is None and (by_name or not files):
        texts = files_by_language(files) if files else None
        with show_progress(flags, total_bytes(texts.values()) if texts else None):
            comparison = toksmith.compare(toks, texts, **options)
    else:
        several = len(toks) > 1
        items = corpus_of(flags, files, again=several)
        with show_progress(flags, total=total_bytes(items)) as meter:
            comparison = toksmith.compare(toks, items if several else advance_meter(items, meter), **options)
    for warning in comparison.warnings if flags["as_json"] else ():
        tell(f"warning: {warning}")
    prepare_result(comparison, flags)()


@command("doctor")
@click.argument(
    "files",
    type=FILE,
    metavar="[FILE]...",
    nargs=-1,
    help="Texts for further checks; '-' reads stdin; none: check without texts.",
)
@with_tokenizer
@text
@field
@raw
@click.option("--embeddings", type=PATH, help="A model's .safetensors file or its folder.", show_default="do without")
@with_report
def doctor(files: list[str] | None, embeddings: Path | None, **flags: Any) -> None:
    """Check a tokenizer: split characters, unreachable tokens, a wrong pattern, and more.

    Texts show which tokens are unused; embeddings show which tokens the model hardly saw in training. The exit code is 3
    if a check fails.
    """
    tok = load_tokenizer(flags)
    items = corpus_of(flags, files) if files or flags["text"] is not None else None
    total = None if items is None else total_bytes(items)
    with show_progress(flags, len(tok), "tokens", total=total) as meter:
        corpus = None if items is None else advance_meter(items, meter)
        report = toksmith.doctor(tok, **drop_none(corpus=corpus, embeddings=embeddings))
        titled = report if flags["as_json"] else _render.with_tokenizer_name(report, flags["tokenizer"][0])
        show = prepare_result(titled, flags)
    show()
    if report.failed:
        raise Exit(DIFFERENT)
