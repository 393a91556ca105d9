"""The command that writes one page that needs no server: snapshot."""

from __future__ import annotations

from typing import Annotated

import toksmith

from . import params as cli
from .arguments import (
    STDIN,
    Field,
    FilePattern,
    FileSpecials,
    GivenText,
    Json,
    Names,
    Quiet,
    Raw,
    RowNumber,
    Special,
    given,
    loaded,
    one_text,
)
from .printed import print_json, print_lines
from .progress import working
from .shown import refuse_other

__all__ = ["snapshot"]


def snapshot(
    file: Annotated[str, cli.Argument("FILE", "Text file; '-' reads stdin.", "stdin")] = STDIN,
    *,
    tokenizer: Names,
    output: Annotated[
        cli.FileName, cli.Option("--output", "-o", help="File to write, such as page.html.", argument="path")
    ],
    text: GivenText = None,
    title: Annotated[str | None, cli.Option(help="Heading of the page.", default="the tokenizers")] = None,
    piece: Annotated[
        list[str] | None,
        cli.Option(
            "--piece",
            help="Piece whose merges can be played; repeatable.",
            default="the pieces of the text",
            argument="pieces",
        ),
    ] = None,
    vocabulary: Annotated[
        int | None, cli.Option(help="How many tokens of the vocabulary the page has.", default="1000")
    ] = None,
    fragment: Annotated[
        bool, cli.Option("--fragment", help="Write an element to include in another page, instead of a page.")
    ] = False,
    special: Special = "text",
    field: Field = None,
    row: RowNumber = None,
    raw: Raw = False,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a page that shows the tokens and merges of a text, and needs no server.

    The page is one file, which sends nothing over the network: the text as its tokens, what each consists of, merges to play
    step by step, and a part of the vocabulary to search. Of a text with more than 100,000 bytes it has the beginning.
    """
    refuse_other(output, ("html", "htm"), "--output")
    data = one_text(file, text, field=field, row=row, raw=raw)
    toks = {name: loaded(name, pattern, special_token) for name in tokenizer}
    options = given(title=title, pieces=piece, vocabulary=vocabulary)
    with working(len(data), as_json=as_json, quiet=quiet):
        made = toksmith.snapshot(toks, data, special=special, fragment=fragment, **options)  # type: ignore[arg-type]
        made.save(output)
    if as_json:
        print_json({"file": output, "bytes": len(made.html.encode()), "tokens": made.tokens, "policy": made.policy})
    else:
        print_lines(output)
