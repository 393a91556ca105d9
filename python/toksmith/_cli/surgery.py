"""The commands extend and prune, which change the vocabulary of a tokenizer."""

from __future__ import annotations

from typing import Any

import click

import toksmith

from .._render import number_of, print_json, print_lines
from .arguments import (
    FILE,
    Flags,
    as_json,
    complete_from,
    drop_none,
    field,
    quiet,
    raw,
    text,
    threads,
    with_tokenizer,
)
from .convert import check_target
from .inputs import corpus_of, load_tokenizer, show_progress, total_bytes
from .program import command, options

output = options(
    click.option(
        "--output", "-o", type=FILE, required=True, help="File for the new tokenizer; its name decides the format."
    ),
    click.option(
        "--to", help="Format of the file.", show_default="by its name", shell_complete=complete_from(toksmith.formats)
    ),
)

texts = options(
    click.argument("files", type=FILE, metavar="[FILE]...", nargs=-1, help="Texts; '-' reads stdin."), text, field, raw
)


@command("extend", n="--add", tokens="--add-special")
@with_tokenizer
@texts
@click.option("--add", type=int, help="Number of tokens to learn from the texts.", show_default="none")
@click.option("--min-count", type=int, help="Lowest count at which a pair becomes a token.", show_default="2")
@click.option(
    "--add-special", multiple=True, help="Special token to add after the others; repeatable.", show_default="none"
)
@output
@threads
@as_json
@quiet
def extend(
    files: list[str] | None, add: int | None, add_special: list[str] | None, output: str, to: str | None, **flags: Any
) -> None:
    """Add the tokens that a corpus teaches, or special tokens, to a tokenizer.

    Old ids keep their meaning; the new ones follow the largest. 'toksmith graft' gives the new tokenizer to a model.
    """
    check_target(output, to)
    has_texts = bool(files) or flags["text"] is not None
    if add is None and not add_special:
        raise click.BadParameter("is missing; give a number of tokens, or --add-special", param_hint="--add")
    if (add is None) == has_texts:
        problem = "needs texts" if add is not None else "is missing; texts teach tokens only with it"
        raise click.BadParameter(problem, param_hint="--add")
    tok = old = load_tokenizer(flags)
    if add is not None:
        items = corpus_of(flags, files, again=True)
        with show_progress(flags, total=total_bytes(items)):
            more = drop_none(min_count=flags["min_count"], threads=flags["threads"])
            tok, _ = toksmith.extend(tok, items, add, **more)
    if add_special:
        tok, _ = toksmith.add_special(tok, add_special)
    save_changed(old, tok, output, to, flags)


@command("prune", n="--remove")
@with_tokenizer
@texts
@click.option("--remove", type=int, help="Number of tokens to remove.", show_default="all that the texts do not use")
@output
@threads
@as_json
@quiet
def prune(files: list[str] | None, remove: int | None, output: str, to: str | None, **flags: Any) -> None:
    """Remove the tokens that a corpus does not use.

    The texts decide which tokens go first; without texts those with the largest ids do. The holes in the ids are closed, so
    that ids change: 'toksmith graft' gives the new tokenizer to a model.
    """
    check_target(output, to)
    old = load_tokenizer(flags)
    items = corpus_of(flags, files, again=True) if files or flags["text"] is not None else None
    with show_progress(flags, total=None if items is None else total_bytes(items)):
        tok, _ = toksmith.prune(old, remove, **drop_none(corpus=items, threads=flags["threads"]))
    save_changed(old, tok, output, to, flags)


def save_changed(old: toksmith.Tokenizer, new: toksmith.Tokenizer, path: str, to: str | None, flags: Flags) -> None:
    """Save the new tokenizer, and print how many tokens it has."""
    new.save(path, **drop_none(format=to))
    if flags["as_json"]:
        print_json({"file": path, "tokens_before": len(old), "tokens": len(new), "vocab_size": new.vocab_size})
    elif not flags["quiet"]:
        print_lines(f"{number_of(len(old), 'token')} before, {number_of(len(new), 'token')} now; saved as {path}")
