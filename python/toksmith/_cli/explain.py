"""The commands that say why: explain (a text, or one token) and compare (several tokenizers on one text)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import toksmith
from toksmith import _render

from . import TWO_WORDS
from . import params as cli
from .arguments import (
    STDIN,
    Field,
    FilePattern,
    FileSpecials,
    GivenText,
    Json,
    Name,
    Names,
    Quiet,
    Raw,
    RowNumber,
    Special,
    loaded,
    one_text,
)
from .progress import working
from .shown import Html, Svg, prepared

if TYPE_CHECKING:
    from toksmith._render import Shown

__all__ = ["compare", "explain"]

File = Annotated[str, cli.Argument("FILE", "Text file; '-' reads stdin.", "stdin")]


def steps_or_file(beginning: str) -> Sequence[str]:
    """The second word of 'explain steps', where it has begun; else files."""
    return TWO_WORDS[1:] if beginning else ()


def explain(
    file: Annotated[
        str, cli.Argument("FILE", "Text file; '-' reads stdin. A file named steps is ./steps.", "stdin", steps_or_file)
    ] = STDIN,
    *,
    tokenizer: Name,
    text: GivenText = None,
    merges: Annotated[bool, cli.Option("--merges", help="Merge the text step by step, as one piece.")] = False,
    id: Annotated[
        int | None,
        cli.Option("--id", help="Show one token: its parts, and the tokens merged from it.", default="show the text"),
    ] = None,
    history: Annotated[bool, cli.Option("--history", help="With --id: the history of the token in training.")] = False,
    context: Annotated[
        int | None, cli.Option(help="Show how much of the text fits into this many tokens.", default="show all of it")
    ] = None,
    lint: Annotated[bool, cli.Option("--lint", help="Find invisible text that costs tokens.")] = False,
    inference: Annotated[
        bool, cli.Option("--inference", help="Compare with the longest token at each place, and the fewest tokens.")
    ] = False,
    special: Special = "text",
    field: Field = None,
    row: RowNumber = None,
    raw: Raw = False,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Explain a text, its merges step by step, or one token by its id."""
    asked = {"--merges": merges, "--id": id is not None, "--context": context is not None, "--lint": lint}
    asked |= {"--inference": inference}
    chosen = [option for option, was_given in asked.items() if was_given]
    if len(chosen) > 1:
        raise cli.BadParameter(f"give only one of {' and '.join(chosen)}", param_hint=chosen[-1])
    if history and id is None:
        raise cli.BadParameter("requires --id", param_hint="--history")
    if id is not None and (text is not None or file != STDIN):
        raise cli.BadParameter("cannot be combined with a text", param_hint="--id")
    tok = loaded(tokenizer, pattern, special_token)
    data = b"" if id is not None else one_text(file, text, field=field, row=row, raw=raw)
    size, unit = (len(data), "bytes") if id is None else (len(tok), "tokens")
    result: Shown
    with working(size, unit, as_json=as_json, quiet=quiet):
        if id is not None:
            result = (toksmith.explain.history if history else toksmith.explain.tree)(tok, id)
        elif merges:
            result = toksmith.explain.merges(tok, data)
        elif context is not None:
            result = toksmith.explain.budget({tokenizer: tok}, data, context=context, special=special)
        elif inference:
            result = toksmith.explain.inference(tok, data, special=special)
        elif lint:
            result = toksmith.explain.lint(tok, data)
        else:
            result = toksmith.explain.pieces(tok, data, special=special)
        result = _render.called(result, tokenizer)
        show = prepared(result, as_json=as_json, html=html, svg=svg)
    show()


def compare(
    file: File = STDIN,
    *,
    tokenizer: Names,
    text: GivenText = None,
    special: Special = "text",
    field: Field = None,
    row: RowNumber = None,
    raw: Raw = False,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare tokenizers on one text: how many tokens, and where they cut differently."""
    if len({*tokenizer}) < 2:
        raise cli.BadParameter(
            "give two or more different tokenizers, such as -t gpt2 -t o200k_base", param_hint="--tokenizer"
        )
    toks = {name: loaded(name, pattern, special_token) for name in tokenizer}
    data = one_text(file, text, field=field, row=row, raw=raw)
    with working(len(data), as_json=as_json, quiet=quiet):
        result = toksmith.explain.compare(toks, data, special=special)
        show = prepared(result, as_json=as_json, html=html, svg=svg)
    show()
