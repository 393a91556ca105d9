"""The command explain-steps, also written 'explain steps': a training by hand, with the pair counts before each merge."""

from __future__ import annotations

from typing import Annotated

import toksmith

from . import params as cli
from .arguments import STDIN, Field, GivenText, Json, Quiet, Raw, RowNumber, given, one_text
from .explain import File
from .progress import working
from .shown import Html, Svg, prepared

__all__ = ["explain_steps"]


def explain_steps(
    file: File = STDIN,
    *,
    text: GivenText = None,
    merges: Annotated[
        int | None, cli.Option("--merges", help="Number of merges at most.", default="until no pair repeats")
    ] = None,
    ties: Annotated[
        str | None,
        cli.Option(
            choices=("lowest_ids", "first_seen"),
            help="Of pairs with the same count: lowest_ids as in train, or first_seen as in the tutorials.",
            default="lowest_ids",
        ),
    ] = None,
    field: Field = None,
    row: RowNumber = None,
    raw: Raw = False,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train on a short text by hand: the count of each pair before each merge."""
    data = one_text(file, text, field=field, row=row, raw=raw)
    data = data.encode() if isinstance(data, str) else data
    data = data.removesuffix(b"\n") if text is None else data
    try:
        with working(len(data), as_json=as_json, quiet=quiet):
            result = toksmith.explain.steps(data, **given(merges=merges, ties=ties))
            show = prepared(result, as_json=as_json, html=html, svg=svg)
    except toksmith.InvalidOption as error:
        if error.argument != "text" or text is not None:
            raise
        raise toksmith.CorpusError("stdin" if file == STDIN else file, None, f"expected {error.allowed}") from None
    show()
