"""The commands that measure and check a tokenizer: measure, parity, fairness, doctor."""

from __future__ import annotations

from collections.abc import Callable
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
    TOKENIZER,
    field,
    given,
    raw,
    text,
    threads,
    with_files,
    with_report,
    with_tokenizer,
    with_tokenizers,
)
from .inputs import corpus_of, loaded, loaded_all, one_file_by_language, ticking, total_of, working
from .printed import prepared
from .program import DIFFERENT, command

__all__ = ["doctor", "fairness", "measure", "parity"]


reference = click.option("--reference", help="Language to compare with.", show_default="the first")


def by_language(required: bool, help: str) -> Callable[[Any], Any]:
    metavar = "[NAME=]FILE..." if required else "[[NAME=]FILE]..."
    return click.argument("files", nargs=-1, type=FILE, required=required, metavar=metavar, help=help)


@command("measure")
@with_tokenizer
@with_files
@threads
@with_report
def measure(files: list[str] | None, **asked: Any) -> None:
    """Measure a tokenizer on texts.

    Compression, words, characters, numbers, indentation, round trip: each value is shown with its parts, its unit, its
    direction and its limits. Each row of a .jsonl, .parquet or .arrow file is a document; any other file and stdin are one
    document; .gz and .zst are unpacked.
    """
    tok, items = loaded(asked), corpus_of(asked, files)
    with working(asked, total=total_of(items)) as meter:
        found = toksmith.metrics.measure(tok, ticking(items, meter), **given(threads=asked["threads"]))
    prepared(found, asked)()


@command("parity")
@by_language(True, "The same text in several languages, one file each.")
@with_tokenizer
@reference
@click.option("--before", type=TOKENIZER, help="Second tokenizer, shown beside the first.", show_default="no tokenizer")
@with_report
def parity(files: list[str], reference: str | None, before: str | None, **asked: Any) -> None:
    """Compare what the same text costs in several languages.

    The language is the part before =, or the file name without its suffix.
    """
    texts, tok = one_file_by_language(files), loaded(asked)
    with working(asked, total_of(texts.values())):
        old = None if before is None else loaded(asked | {"tokenizer": [before]})
        found = toksmith.parity(tok, texts, **given(reference=reference, before=old))
    print_warned(found, asked)


@command("fairness")
@by_language(False, "The same text in several languages, one file each; without any, sentences in 24 languages.")
@with_tokenizers
@reference
@with_report
def fairness(files: list[str] | None, reference: str | None, **asked: Any) -> None:
    """Compare tokenizers by what the same text costs in several languages.

    The language is the part before =, or the file name without its suffix. Without files it compares four sentences that
    were written for this purpose.
    """
    texts, toks = one_file_by_language(files) if files else None, loaded_all(asked)
    with working(asked, total_of(texts.values()) if texts else None):
        found = toksmith.metrics.fairness(toks, texts, **given(reference=reference))
    print_warned(found, asked)


def print_warned(found: toksmith.metrics.Parity | toksmith.metrics.Fairness, asked: dict[str, Any]) -> None:
    """Print a result; its warnings, which JSON has no place for, on stderr."""
    for warning in found.warnings if asked["as_json"] else ():
        tell(f"warning: {warning}")
    prepared(found, asked)()


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
def doctor(files: list[str] | None, embeddings: Path | None, **asked: Any) -> None:
    """Check a tokenizer: split characters, unreachable tokens, a wrong pattern, and more.

    Texts show which tokens are unused; embeddings show which tokens the model hardly saw in training. The exit code is 3
    if a check fails.
    """
    tok = loaded(asked)
    items = corpus_of(asked, files) if files or asked["text"] is not None else None
    total = None if items is None else total_of(items)
    with working(asked, len(tok), "tokens", total=total) as meter:
        corpus = None if items is None else ticking(items, meter)
        found = toksmith.doctor(tok, **given(corpus=corpus, embeddings=embeddings))
        named = found if asked["as_json"] else _render.called(found, asked["tokenizer"][0])  # in JSON the fingerprint
        show = prepared(named, asked)
    show()
    if found.failed:
        raise Exit(DIFFERENT)
