"""What commands share: options, loading tokenizers, reading inputs, and JSON.

Options that were not given are not passed on, so the called function is the only place of every default.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, BinaryIO

import toksmith

from . import params as cli
from .printed import tell

__all__ = [
    "POLICIES",
    "STDIN",
    "TOKENIZER",
    "Field",
    "FilePattern",
    "FileSpecials",
    "Files",
    "GivenText",
    "Json",
    "Name",
    "Names",
    "Quiet",
    "Raw",
    "RowNumber",
    "Special",
    "Threads",
    "file_or_bytes",
    "given",
    "given_pattern",
    "has_rows",
    "inputs",
    "loaded",
    "loaded_options",
    "once",
    "one_text",
    "pattern_names",
    "stdin_bytes",
    "stdin_stream",
    "token_json",
    "tokenizers",
]

STDIN = "-"
POLICIES = ("raise", "allow", "text")
ROWS = (".jsonl", ".parquet", ".arrow")
PACKED = (".gz", ".zst")
PLAIN = (".txt", ".md")  # one text each, for which the readers of a corpus need not be imported


def tokenizers(beginning: str) -> Sequence[str]:
    """The published names and the files of tokenizers that lie here, to complete one."""
    rows = toksmith.formats().values() if "/" not in beginning and os.sep not in beginning else ()
    here = sorted(name for name in os.listdir() if any(row.fits(name) for row in rows)) if rows else []
    return [*toksmith.encodings(), *here]


def pattern_names(beginning: str) -> Sequence[str]:
    """The names of split patterns, to complete one."""
    return [*toksmith.patterns(), "none"]


TOKENIZER: dict[str, Any] = {"envvar": "TOKSMITH_TOKENIZER", "complete": tokenizers, "metavar": "TOKENIZER"}
Files = Annotated[list[str] | None, cli.Argument("FILE", "Text files; '-' reads stdin.", "stdin")]
Name = Annotated[
    str,
    cli.Option(
        "--tokenizer",
        "-t",
        help="A published name (see 'encodings'), a tokenizer file, a model (gpt-4o) or org/name.",
        argument="tok",
        once="'compare' takes several",
        **TOKENIZER,
    ),
]
Names = Annotated[
    list[str],
    cli.Option(
        "--tokenizer",
        "-t",
        help="A published name, a tokenizer file, a model or org/name; repeatable.",
        argument="tok",
        **TOKENIZER,
    ),
]
Json = Annotated[bool, cli.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, cli.Option("--quiet", "-q", help="Print no progress and no summary.")]
Special = Annotated[
    str,
    cli.Option(
        "--special", choices=POLICIES, help="Special tokens in the text: an error, their ids, or ordinary text."
    ),
]
FilePattern = Annotated[
    list[str] | None,
    cli.Option(
        "--pattern",
        help="For files without one (.tiktoken): split pattern or regex, or none for no split; repeatable.",
        default="the file's",
        complete=pattern_names,
    ),
]
FileSpecials = Annotated[
    list[str] | None,
    cli.Option(
        "--special-token",
        metavar="TOKEN=ID",
        help="For files without them (.tiktoken): a special token; repeatable.",
        default="the file's",
        argument="special_tokens",
    ),
]
GivenText = Annotated[str | None, cli.Option("--text", help="Text to use instead of a file.", default="the files")]
Field = Annotated[str | None, cli.Option("--field", help="Field or column that contains the text.", default="text")]
Raw = Annotated[bool, cli.Option("--raw", help="Read the bytes of files: do not unpack them, and look for no rows.")]
RowNumber = Annotated[
    int | None, cli.Option("--row", help="Which row of a file of rows, counted from 0.", default="the only row")
]
Threads = Annotated[int | None, cli.Option("--threads", help="Number of threads.", default="all cores")]


def given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def given_pattern(patterns: Sequence[str] | None) -> dict[str, Any]:
    """The `pattern` argument for the --pattern options, if any was given."""
    if not patterns:
        return {}
    if len(patterns) > 1:
        return {"pattern": list(patterns)}
    return {"pattern": None if patterns[0] == "none" else patterns[0]}


def loaded(name: str, pattern: Sequence[str] | None, special_tokens: Sequence[str] | None) -> toksmith.Tokenizer:
    """The tokenizer that `-t`, `--pattern` and `--special-token` name together."""
    return toksmith.load(name, **loaded_options(pattern, special_tokens))


def loaded_options(pattern: Sequence[str] | None, special_tokens: Sequence[str] | None) -> dict[str, Any]:
    """The arguments of `load` for `--pattern` and `--special-token`."""
    options = given_pattern(pattern)
    if special_tokens:
        options["special_tokens"] = dict(map(token_and_id, special_tokens))
    return options


def token_and_id(text: str) -> tuple[str, int]:
    """The parts of a `TOKEN=ID` option; the token may hold `=` itself."""
    token, equals, id = text.rpartition("=")
    if not (equals and id.isascii() and id.isdigit()):
        raise cli.BadParameter(f"{text!r} is not TOKEN=ID", param_hint="--special-token")
    return token, int(id)


def inputs(
    files: Sequence[str] | None, text: str | None = None, *, field: str | None = None, raw: bool = False
) -> Iterator[tuple[str, Iterable[str | bytes]]]:
    """The name and the documents of each file, read when its turn comes; stdin where nothing is named.

    Raises:
        BadParameter: Both files and a text are given, or `field` with nothing that has fields.
    """
    if text is not None:
        if files:
            raise cli.BadParameter("give a file or a text, not both", param_hint="--text")
        yield "--text", [os.fsencode(text)]
        return
    for name in once(files or [STDIN]):
        if name == STDIN:
            yield name, [stdin_bytes()]
        else:
            found = file_or_bytes(name, field, raw=raw)
            yield name, [found] if isinstance(found, bytes) else found.documents()


def once(files: Sequence[str]) -> Sequence[str]:
    """The names of files, if each names one and stdin is read once."""
    if "" in files:
        raise cli.BadParameter("the name of a file is empty; give a file, or '-' for stdin", param_hint="FILE")
    if files.count(STDIN) > 1:
        raise cli.BadParameter("'-' is given twice, but stdin can be read only once", param_hint="FILE")
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


def one_text(
    file: str, text: str | None, *, field: str | None = None, row: int | None = None, raw: bool = False
) -> str | bytes:
    """The one text that a command is asked about."""
    if row is not None and row < 0:
        raise cli.BadParameter(f"expected at least 0, not {row}", param_hint="--row")
    [(name, documents)] = inputs(None if file == STDIN else [file], text, field=field, raw=raw)
    if text is not None or raw or not has_rows(name):
        if row is not None:
            raise cli.BadParameter("needs a file of rows, such as .jsonl or .parquet", param_hint="--row")
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
        raise cli.BadParameter("stdin is closed; give a file", param_hint="FILE")
    if sys.stdin.isatty():
        tell("reading from the terminal; press Ctrl-D (on Windows Ctrl-Z and Enter) to end the text")
    return sys.stdin.buffer


def token_json(token: bytes) -> dict[str, str]:
    """Bytes as JSON values: `text` to read, `hex` exact."""
    return {"text": token.decode("utf-8", "replace"), "hex": token.hex()}
