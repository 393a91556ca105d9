"""The commands that say why: explain (a text, or one token) and compare (several tokenizers on one text)."""

from __future__ import annotations

import os
from typing import Annotated

import typer

import toksmith

from .._render import Shown
from ._arguments import STDIN, FilePattern, FileSpecials, Json, Name, Special, inputs, loaded
from ._shown import Html, Svg, print_shown

__all__ = ["compare", "explain", "text_bytes"]

File = Annotated[str, typer.Argument(metavar="FILE", help="Text file; '-' or no file reads stdin.")]
GivenText = Annotated[str | None, typer.Option("--text", help="Text to use instead of a file.")]


def text_bytes(file: str, text: str | None) -> bytes:
    """The text that a command is asked about."""
    if text is not None and file != STDIN:
        raise typer.BadParameter("give a file or a text, not both", param_hint="--text")
    return next(inputs([file]))[1] if text is None else os.fsencode(text)


def explain(
    file: File = STDIN,
    *,
    tokenizer: Name,
    text: GivenText = None,
    merges: Annotated[bool, typer.Option("--merges", help="Merge the text step by step, as one piece.")] = False,
    id: Annotated[
        int | None, typer.Option("--id", help="Show one token: its parts, and the tokens merged from it.")
    ] = None,
    history: Annotated[
        bool, typer.Option("--history", help="With --id: the history of the token in training.")
    ] = False,
    context: Annotated[int | None, typer.Option(help="Show how much of the text fits into this many tokens.")] = None,
    lint: Annotated[bool, typer.Option("--lint", help="Find invisible text that costs tokens.")] = False,
    special: Special = "text",
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
) -> None:
    """Explain a text (its pieces and tokens), its merges step by step, or one token by its id."""
    asked = {"--merges": merges, "--id": id is not None, "--context": context is not None, "--lint": lint}
    chosen = [option for option, was_given in asked.items() if was_given]
    if len(chosen) > 1:
        raise typer.BadParameter(f"give only one of {' and '.join(chosen)}", param_hint=chosen[-1])
    if history and id is None:
        raise typer.BadParameter("requires --id", param_hint="--history")
    if id is not None and (text is not None or file != STDIN):
        raise typer.BadParameter("cannot be combined with a text", param_hint="--id")
    tok = loaded(tokenizer, pattern, special_token)
    result: Shown
    if id is not None:
        result = (toksmith.explain.history if history else toksmith.explain.tree)(tok, id)
    else:
        data = text_bytes(file, text)
        if merges:
            result = toksmith.explain.merges(tok, data)
        elif context is not None:
            result = toksmith.explain.budget({tokenizer: tok}, data, context=context, special=special)
        elif lint:
            result = toksmith.explain.lint(tok, data)
        else:
            result = toksmith.explain.pieces(tok, data, special=special)
    print_shown(result, as_json=as_json, html=html, svg=svg)


def compare(
    file: File = STDIN,
    *,
    tokenizer: Annotated[
        list[str], typer.Option("--tokenizer", "-t", help="Published name or tokenizer file; give two or more.")
    ],
    text: GivenText = None,
    special: Special = "text",
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
) -> None:
    """Compare tokenizers on one text: how many tokens, and where they cut differently."""
    if len(tokenizer) < 2:
        raise typer.BadParameter("give two or more", param_hint="-t")
    toks = {name: loaded(name, None, None) for name in tokenizer}
    result = toksmith.explain.compare(toks, text_bytes(file, text), special=special)
    print_shown(result, as_json=as_json, html=html, svg=svg)
