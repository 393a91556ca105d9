"""The options that commands share.

A bundle of options is one decorator, and the command gets their values as `flags`. Options that were not given are not
passed on, so every default is defined by the called function alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

import toksmith

from .program import Declaration, options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    TextType = click.ParamType[Any]
else:
    TextType = click.ParamType  # no generic class in older releases

Flags = Mapping[str, Any]
STDIN = "-"
POLICIES = ("raise", "allow", "text")


class TokenizerName(TextType):
    """The name of a tokenizer, which can hold white space; completes published names and local files."""

    name = "tokenizer"

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        return [rv]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names with this beginning; files if none matches."""
        from click.shell_completion import CompletionItem  # only completion needs it

        rows = toksmith.formats().values() if "/" not in incomplete and os.sep not in incomplete else ()
        files = sorted(name for name in os.listdir() if any(row.fits(name) for row in rows)) if rows else []
        names = filter_by_prefix([*toksmith.encodings(), *files], incomplete)
        return [CompletionItem(name) for name in names] or [CompletionItem(incomplete, type="file")]


def filter_by_prefix(names: Iterable[str], incomplete: str) -> list[str]:
    """The printable names with this beginning."""
    return [name for name in names if name.startswith(incomplete) and name.isprintable()]


def complete_from(names: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """The function that completes an option with these names."""
    return lambda ctx, param, incomplete: filter_by_prefix(names(), incomplete)


class LocalPath(click.Path):
    """A path as a `pathlib.Path`."""

    def coerce_path_result(self, value: str | os.PathLike[str]) -> Any:
        from pathlib import Path  # slow to import

        return Path(value)


TOKENIZER = TokenizerName()
FILE = click.Path(readable=False)  # the command itself reports an unreadable file
PATH = LocalPath()

as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
quiet = click.option("--quiet", "-q", is_flag=True, help="Print warnings, but no progress and no summary.")
text = click.option("--text", help="Text to use instead of a file.", show_default="the files")
field = click.option("--field", help="Field or column that contains the text.", show_default="text")
raw = click.option("--raw", is_flag=True, help="Read files as plain bytes: no unpacking, no rows.")
threads = click.option("--threads", type=int, help="Number of threads.", show_default="all cores")
html = click.option(
    "--html", type=FILE, help="Write a self-contained page and print its name.", show_default="print the result"
)
svg = click.option("--svg", type=FILE, help="Write an SVG picture and print its name.", show_default="print the result")
text_files = click.argument(
    "files", type=FILE, metavar="[FILE]...", nargs=-1, help="Text files; '-' or none reads stdin."
)
one_file = click.argument(
    "file", type=FILE, metavar="[FILE]", default=STDIN, help="Text file; '-' or none reads stdin."
)

# For -t: what the tokenizer file does not record.
of_file = options(
    click.option(
        "--pattern",
        multiple=True,
        help="For files without one (.tiktoken): split pattern or regex, or none for no split; repeatable.",
        show_default="the file's",
        shell_complete=complete_from(lambda: [*toksmith.patterns(), "none"]),
    ),
    click.option(
        "--special-token",
        multiple=True,
        metavar="TOKEN=ID",
        help="For files without them (.tiktoken): a special token; repeatable.",
        show_default="the file's",
    ),
)


def tokenizer_option(help: str, *, required: bool = True) -> Declaration:
    """The option -t, which `loaded` and `loaded_all` in `inputs` read."""
    name: dict[str, Any] = {"type": TOKENIZER, "envvar": "TOKSMITH_TOKENIZER", "show_envvar": True}
    return options(click.option("--tokenizer", "-t", multiple=True, required=required, help=help, **name), of_file)


with_tokenizer = tokenizer_option(
    "A published name (see 'list encodings'), a tokenizer file, a model (gpt-4o) or org/name."
)
with_tokenizers = tokenizer_option("A published name, a tokenizer file, a model or org/name; repeatable.")
with_files = options(text_files, text, field, raw)
of_text = options(
    text,
    field,
    click.option("--row", type=int, help="Row to read from a file of rows, from 0.", show_default="the only row"),
    raw,
)
with_text = options(one_file, of_text)
with_report = options(html, svg, as_json, quiet)


def special(default: str | None) -> Declaration:
    """The option for special tokens in a text; with None the default is the called function's."""
    rule = "Special tokens in the text: an error, their ids, or ordinary text."
    shown = "raise" if default is None else True
    return click.option("--special", type=click.Choice(POLICIES), default=default, show_default=shown, help=rule)


def drop_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
