"""The commands that measure and check a tokenizer: measure, parity, fairness, doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import toksmith
from toksmith import _render

from . import params as cli
from .arguments import (
    Field,
    FilePattern,
    Files,
    FileSpecials,
    GivenText,
    Json,
    Name,
    Names,
    Quiet,
    Raw,
    Threads,
    given,
    loaded,
    tokenizers,
)
from .corpus import corpus_of, ticking, total_of
from .languages import one_file_by_language
from .printed import tell
from .progress import metered, working
from .shown import Html, Svg, prepared, print_shown

__all__ = ["doctor", "fairness", "measure", "parity"]

FAILED = 3


def measure(
    files: Files = None,
    *,
    tokenizer: Name,
    text: GivenText = None,
    field: Field = None,
    raw: Raw = False,
    threads: Threads = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure a tokenizer on texts.

    Compression, words, characters, numbers, indentation, round trip: each value is shown with its parts, its unit, its
    direction and its limits. Each row of a .jsonl, .parquet or .arrow file is a document; any other file and stdin are one
    document; .gz and .zst are unpacked.
    """
    tok = loaded(tokenizer, pattern, special_token)
    items = corpus_of(files, text, field=field, raw=raw)
    with metered(total_of(items), as_json=as_json, quiet=quiet) as meter:
        found = toksmith.metrics.measure(tok, ticking(items, meter), **given(threads=threads))
    print_shown(found, as_json=as_json, html=html, svg=svg)


def parity(
    files: Annotated[list[str], cli.Argument("[NAME=]FILE", "The same text in several languages, one file each.")],
    *,
    tokenizer: Name,
    reference: Annotated[str | None, cli.Option(help="Language to compare with.", default="the first")] = None,
    before: Annotated[
        str | None,
        cli.Option(help="Second tokenizer, shown beside the first.", default="no tokenizer", complete=tokenizers),
    ] = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare what the same text costs in several languages.

    The language is the part before =, or the file name without its suffix.
    """
    texts = one_file_by_language(files)
    tok = loaded(tokenizer, pattern, special_token)
    with working(total_of(texts.values()), as_json=as_json, quiet=quiet):
        old = None if before is None else loaded(before, pattern, special_token)
        found = toksmith.parity(tok, texts, **given(reference=reference, before=old))
    for warning in found.warnings if as_json else ():
        tell(f"warning: {warning}")
    print_shown(found, as_json=as_json, html=html, svg=svg)


def fairness(
    files: Annotated[
        list[str] | None,
        cli.Argument("[NAME=]FILE", "The same text in several languages, one file each.", "sentences in 24 languages"),
    ] = None,
    *,
    tokenizer: Names,
    reference: Annotated[str | None, cli.Option(help="Language to compare with.", default="the first")] = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare tokenizers by what the same text costs in several languages.

    The language is the part before =, or the file name without its suffix. Without files it compares four sentences that
    were written for this purpose.
    """
    texts = one_file_by_language(files) if files else None
    toks = {name: loaded(name, pattern, special_token) for name in tokenizer}
    with working(total_of(texts.values()) if texts else None, as_json=as_json, quiet=quiet):
        found = toksmith.metrics.fairness(toks, texts, **given(reference=reference))
    for warning in found.warnings if as_json else ():
        tell(f"warning: {warning}")
    print_shown(found, as_json=as_json, html=html, svg=svg)


def doctor(
    files: Annotated[
        list[str] | None, cli.Argument("FILE", "Texts for further checks; '-' reads stdin.", "check without texts")
    ] = None,
    *,
    tokenizer: Name,
    text: GivenText = None,
    embeddings: Annotated[
        Path | None, cli.Option(help="A model's .safetensors file or its folder.", default="do without")
    ] = None,
    field: Field = None,
    raw: Raw = False,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a tokenizer: split characters, unreachable tokens, a wrong pattern, and more.

    Texts show which tokens are unused; embeddings show which tokens the model hardly saw in training. The exit code is 3
    if a check fails.
    """
    tok = loaded(tokenizer, pattern, special_token)
    items = corpus_of(files, text, field=field, raw=raw) if files or text is not None else None
    total = None if items is None else total_of(items)
    with working(len(tok), "tokens", total=total, as_json=as_json, quiet=quiet) as meter:
        corpus = None if items is None else ticking(items, meter)
        found = toksmith.doctor(tok, **given(corpus=corpus, embeddings=embeddings))
        named = found if as_json else _render.called(found, tokenizer)  # in JSON the fingerprint
        show = prepared(named, as_json=as_json, html=html, svg=svg)
    show()
    if found.failed:
        raise cli.Exit(FAILED)
