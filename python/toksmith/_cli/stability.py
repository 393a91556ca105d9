"""The command that says what a keystroke changes in the ids of a text: stability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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
from .explain import File
from .progress import working
from .shown import Html, Svg, prepared

if TYPE_CHECKING:
    from .._render import Shown

__all__ = ["stability"]


def stability(
    file: File = STDIN,
    *,
    tokenizer: Names,
    text: GivenText = None,
    typed: Annotated[str | None, cli.Option(help="What is typed.", default="e")] = None,
    most: Annotated[int | None, cli.Option(help="Maximum number of places.", default="500")] = None,
    at: Annotated[
        int | None, cli.Option(help="Show one place: the tokens before and after, in characters.", default="all places")
    ] = None,
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
    """Show what typing a character changes in the ids of a text.

    It says what a cache of keys and values can reuse. It types at each place of a short text, and at --most places of a
    longer one, at equal distances. The ids are those of the whole texts.
    """
    if at is not None and most is not None:
        raise cli.BadParameter("give only one of --at and --most", param_hint="--most")
    toks = {name: loaded(name, pattern, special_token) for name in tokenizer}
    data = one_text(file, text, field=field, row=row, raw=raw)
    content = data if isinstance(data, str) else as_text(data)
    result: Shown
    with working(len(data), as_json=as_json, quiet=quiet):
        if at is not None:
            if not 0 <= at <= len(content):
                raise cli.BadParameter(f"expected from 0 to {len(content):,}, not {at}", param_hint="--at")
            new = "e" if typed is None else typed
            typing: str | bytes = new if isinstance(content, str) else new.encode()
            result = toksmith.explain.edit(toks, content, at, at, typing, special=special)
        else:
            result = toksmith.explain.stability(toks, content, special=special, **given(typed=typed, most=most))
        show = prepared(result, as_json=as_json, html=html, svg=svg)
    show()


def as_text(data: bytes) -> str | bytes:
    """The text, whose places are characters; bytes that are not UTF-8 stay bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
