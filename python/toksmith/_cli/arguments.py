"""What commands share: options, loading tokenizers, reading inputs, and JSON.

A bundle of options is one decorator, and the function gets their values as `asked`. Options that were not given are not
passed on, so the called function is the only place of every default.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import click

import toksmith

from .printed import tell
from .program import Declaration, options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    TextType = click.ParamType[Any]
else:
    TextType = click.ParamType  # no generic class in older releases

__all__ = [
    "FILE",
    "POLICIES",
    "STDIN",
    "TOKENIZER",
    "Asked",
    "as_json",
    "completing",
    "field",
    "file_or_bytes",
    "given",
    "given_pattern",
    "has_rows",
    "html",
    "inputs",
    "loaded",
    "loaded_all",
    "loaded_options",
    "named_by_t",
    "of_file",
    "of_text",
    "one_text",
    "quiet",
    "raw",
    "read_once",
    "special",
    "stdin_bytes",
    "stdin_stream",
    "svg",
    "text",
    "threads",
    "token_json",
    "with_files",
    "with_report",
    "with_text",
    "with_tokenizer",
    "with_tokenizers",
]

Asked = Mapping[str, Any]
STDIN = "-"
POLICIES = ("raise", "allow", "text")
ROWS = (".jsonl", ".parquet", ".arrow")
PACKED = (".gz", ".zst")
PLAIN = (".txt", ".md")  # one text each, for which the readers of a corpus need not be imported


class TokenizerName(TextType):
    """The name of a tokenizer, which may hold white space; completed by published names and the files that lie here."""

    name = "tokenizer"

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        """One name."""
        return [rv]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin like this; else files."""
        from click.shell_completion import CompletionItem  # only completion needs it

        rows = toksmith.formats().values() if "/" not in incomplete and os.sep not in incomplete else ()
        here = sorted(name for name in os.listdir() if any(row.fits(name) for row in rows)) if rows else []
        names = beginning([*toksmith.encodings(), *here], incomplete)
        return [CompletionItem(name) for name in names] or [CompletionItem(incomplete, type="file")]


def beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """The names that begin like this, without those that no terminal prints."""
    return [name for name in names if name.startswith(incomplete) and name.isprintable()]


def completing(names: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """How an option completes one of these names."""
    return lambda ctx, param, incomplete: beginning(names(), incomplete)


TOKENIZER = TokenizerName()
FILE = click.Path(readable=False)  # the command itself says what it cannot read

as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
quiet = click.option("--quiet", "-q", is_flag=True, help="Print no progress and no summary.")
text = click.option("--text", help="Text to use instead of a file.", show_default="the files")
field = click.option("--field", help="Field or column that contains the text.", show_default="text")
raw = click.option("--raw", is_flag=True, help="Read the bytes of files: do not unpack them, and look for no rows.")
threads = click.option("--threads", type=int, help="Number of threads.", show_default="all cores")
html = click.option(
    "--html", type=FILE, help="Write a self-contained page and print its name.", show_default="print the result"
)
svg = click.option("--svg", type=FILE, help="Write an SVG picture and print its name.", show_default="print the result")
one_file = click.argument(
    "file", type=FILE, metavar="[FILE]", default=STDIN, help="Text file; '-' or none reads stdin."
)

# For -t, what its file does not say.
of_file = options(
    click.option(
        "--pattern",
        multiple=True,
        help="For files without one (.tiktoken): split pattern or regex, or none for no split; repeatable.",
        show_default="the file's",
        shell_complete=completing(lambda: [*toksmith.patterns(), "none"]),
    ),
    click.option(
        "--special-token",
        multiple=True,
        metavar="TOKEN=ID",
        help="For files without them (.tiktoken): a special token; repeatable.",
        show_default="the file's",
    ),
)


def named_by_t(help: str, *, required: bool = True) -> Declaration:
    """The option -t, which `loaded` and `loaded_all` read."""
    name: dict[str, Any] = {"type": TOKENIZER, "envvar": "TOKSMITH_TOKENIZER", "show_envvar": True}
    return options(click.option("--tokenizer", "-t", multiple=True, required=required, help=help, **name), of_file)


with_tokenizer = named_by_t("A published name (see 'encodings'), a tokenizer file, a model (gpt-4o) or org/name.")
with_tokenizers = named_by_t("A published name, a tokenizer file, a model or org/name; repeatable.")
with_files = options(
    click.argument("files", type=FILE, metavar="[FILE]...", nargs=-1, help="Text files; '-' or none reads stdin."),
    text,
    field,
    raw,
)
of_text = options(
    text,
    field,
    click.option("--row", type=int, help="Which row of a file of rows, counted from 0.", show_default="the only row"),
    raw,
)
with_text = options(one_file, of_text)
with_report = options(html, svg, as_json, quiet)


def special(default: str | None) -> Declaration:
    """The option for special tokens in a text; with None the called function has the default."""
    said = "Special tokens in the text: an error, their ids, or ordinary text."
    shown = "raise" if default is None else True
    return click.option("--special", type=click.Choice(POLICIES), default=default, show_default=shown, help=said)


def given(**values: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in values.items() if value is not None}


def given_pattern(patterns: Sequence[str] | None) -> dict[str, Any]:
    """The `pattern` argument for the --pattern options, if any was given."""
    if not patterns:
        return {}
    if len(patterns) > 1:
        return {"pattern": list(patterns)}
    return {"pattern": None if patterns[0] == "none" else patterns[0]}


def loaded(asked: Asked) -> toksmith.Tokenizer:
    """The one tokenizer that `-t`, `--pattern` and `--special-token` name together."""
    if len(asked["tokenizer"]) > 1:
        raise click.BadParameter("is given twice; 'compare' takes several", param_hint="--tokenizer")
    return toksmith.load(asked["tokenizer"][0], **loaded_options(asked))


def loaded_all(asked: Asked) -> dict[str, toksmith.Tokenizer]:
    """Each tokenizer that `-t` names."""
    return {name: toksmith.load(name, **loaded_options(asked)) for name in asked["tokenizer"]}


def loaded_options(asked: Asked) -> dict[str, Any]:
    """The arguments of `load` for `--pattern` and `--special-token`."""
    found = given_pattern(asked["pattern"])
    if asked["special_token"]:
        found["special_tokens"] = dict(map(token_and_id, asked["special_token"]))
    return found


def token_and_id(text: str) -> tuple[str, int]:
    """The parts of a `TOKEN=ID` option; the token may hold `=` itself."""
    token, equals, id = text.rpartition("=")
    if not (equals and id.isascii() and id.isdigit()):
        raise click.BadParameter(f"{text!r} is not TOKEN=ID", param_hint="--special-token")
    return token, int(id)


def inputs(asked: Asked, files: Sequence[str] | None) -> Iterator[tuple[str, Iterable[str | bytes]]]:
    """The name and the documents of each file, read when its turn comes; stdin where nothing is named.

    Raises:
        BadParameter: Both files and a text are given, or `field` with nothing that has fields.
    """
    if asked["text"] is not None:
        if files:
            raise click.BadParameter("give a file or a text, not both", param_hint="--text")
        yield "--text", [os.fsencode(asked["text"])]
        return
    for name in read_once(files or [STDIN]):
        if name == STDIN:
            yield name, [stdin_bytes()]
        else:
            found = file_or_bytes(name, asked["field"], raw=asked["raw"])
            yield name, [found] if isinstance(found, bytes) else found.documents()


def read_once(files: Sequence[str]) -> Sequence[str]:
    """The names of files, if each names one and stdin is read once."""
    if "" in files:
        raise click.BadParameter("the name of a file is empty; give a file, or '-' for stdin", param_hint="FILE")
    if files.count(STDIN) > 1:
        raise click.BadParameter("'-' is given twice, but stdin can be read only once", param_hint="FILE")
    return files


def file_or_bytes(name: str, field: str | None, *, raw: bool) -> toksmith.Files | bytes:
    """A file argument as every command reads it: as the library does, but a pipe or a device at once, as bytes."""
    if raw or not ("://" in name or os.path.isfile(name) or os.path.isdir(name)):
        return file_bytes(name)
    if field is None and name.endswith(PLAIN) and os.path.isfile(name):
        with contextlib.suppress(OSError):  # which the library tells better
            return file_bytes(name)
    return file_named(name, field)


def file_named(name: str, field: str | None) -> toksmith.Files:
    """A file argument. The shell has expanded globs, so a name is literal; it does not expand those of URLs.

    Raises:
        OSError: There is no such file.
    """
    if "://" not in name:
        os.stat(name)  # the library would name the escaped name, and advise a glob
    import glob

    return toksmith.files(name if "://" in name else glob.escape(name), **given(field=field))


def has_rows(name: str) -> bool:
    """Whether a file holds a document in each row, by its name."""
    for packed in PACKED:
        name = name.removesuffix(packed)
    return name.endswith(ROWS)


def one_text(asked: Asked) -> str | bytes:
    """The one text that a command is asked about."""
    file, row = asked["file"], asked["row"]
    if row is not None and row < 0:
        raise click.BadParameter(f"expected at least 0, not {row}", param_hint="--row")
    [(name, documents)] = inputs(asked, None if file == STDIN else [file])
    if asked["text"] is not None or asked["raw"] or not has_rows(name):
        if row is not None:
            raise click.BadParameter("needs a file of rows, such as .jsonl or .parquet", param_hint="--row")
        first, *more = [*islice(documents, 2)] or [b""]
        if more:
            raise toksmith.CorpusError(name, None, "holds several documents; name a file that holds one")
        return first
    found: str | bytes = b""
    wanted, rows = row or 0, 0
    for rows, document in enumerate(documents, 1):
        if rows - 1 == wanted:
            found = document
        if rows > wanted + 1 and row is not None:
            return found
    if rows <= wanted:
        raise toksmith.CorpusError(name, None, f"has {rows:,} rows; row {wanted:,} was asked for, counted from 0")
    if row is None and rows > 1:
        raise toksmith.CorpusError(name, None, f"has {rows:,} rows; choose one with --row N, or its bytes with --raw")
    return found


def file_bytes(name: str) -> bytes:
    """The bytes of a file or of a pipe.

    Raises:
        CorpusError: It is a device, which may give bytes without end; a terminal and the empty device may be read.
    """
    with open(name, "rb") as file:
        endless = stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty() and name != os.devnull
        if endless and not name.startswith(("/dev/std", "/dev/fd/")):
            raise toksmith.CorpusError(name, None, "is a device; give a file, or '-' for stdin")
        return file.read()


def stdin_bytes() -> bytes:
    return stdin_stream().read()


def stdin_stream() -> BinaryIO:
    """Where the bytes of stdin are read from; on a terminal, someone is told to type."""
    if sys.stdin is None:  # closed by the caller: <&-
        raise click.BadParameter("stdin is closed; give a file", param_hint="FILE")
    if sys.stdin.isatty():
        tell("reading from the terminal; press Ctrl-D (on Windows Ctrl-Z and Enter) to end the text")
    return sys.stdin.buffer


def token_json(token: bytes) -> dict[str, str]:
    """Bytes as JSON values: `text` to read, `hex` exact."""
    return {"text": token.decode("utf-8", "replace"), "hex": token.hex()}
