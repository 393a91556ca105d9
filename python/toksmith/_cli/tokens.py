"""The commands that use a tokenizer: encode, decode and count.

Text is read and written as bytes, so that no byte is lost.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import click

import toksmith
from toksmith import _render

from .._render import number_of, print_json, print_lines
from .arguments import (
    FILE,
    STDIN,
    as_json,
    drop_none,
    quiet,
    special,
    threads,
    with_files,
    with_tokenizer,
    with_tokenizers,
)
from .inputs import (
    Meter,
    Watch,
    corpus_of,
    has_rows,
    iter_inputs,
    load_tokenizer,
    load_tokenizers,
    progress_argument,
    read_file_bytes,
    show_progress,
)
from .program import command

IN_A_BATCH = 4096


@command("encode")
@with_tokenizer
@with_files
@special("raise")
@click.option("--output", "-o", type=FILE, help="Write ids to this .npy file.", show_default="stdout, as numbers")
@click.option("--append", help="With -o: special token to append to each document.", show_default="nothing")
@click.option(
    "--dtype", type=click.Choice(["auto", "uint16", "uint32"]), help="With -o: type of the ids.", show_default="auto"
)
@threads
@as_json
@quiet
def encode(files: list[str] | None, output: str | None, append: str | None, dtype: str | None, **flags: Any) -> None:
    """Print the ids of texts, or write the ids of a corpus to a file.

    Each document is one line. Each row of a .jsonl, .parquet or .arrow file is a document; any other file or stdin is
    one document; .gz and .zst files are unpacked. With -o, the ends of documents go to a second file: numpy.load reads
    ids.npy and ids.ends.npy.
    """
    corpus_options = drop_none(append=append, dtype=dtype)
    if output is None and corpus_options:
        raise click.BadParameter("requires -o", param_hint=f"--{next(iter(corpus_options))}")
    tok, how = load_tokenizer(flags), {"special": flags["special"], **drop_none(threads=flags["threads"])}
    if output is not None:
        write_corpus(tok, corpus_of(flags, files), output, corpus_options | how, flags)
        return
    rows = []
    for name, documents in iter_inputs(flags, files):
        for number, document in enumerate(documents):
            ids = tok.encode(document, **how)
            if flags["as_json"]:
                place = {"document": number} if not flags["raw"] and (has_rows(name) or os.path.isdir(name)) else {}
                rows.append({"file": name, **place, "ids": ids})
            else:
                print_lines(" ".join(map(str, ids)))
    if flags["as_json"]:
        print_json(rows)


@command("decode")
@click.argument(
    "ids",
    type=FILE,
    metavar="[FILE|ID...]",
    nargs=-1,
    help="Ids, or a file of ids: numbers, or the output of 'encode --json'; '-' or none reads stdin.",
)
@with_tokenizer
@as_json
def decode(ids: list[str] | None, **flags: Any) -> None:
    """Decode ids to bytes.

    Ids are separated by white space or commas, or are JSON. On a terminal, control characters are printed as escapes.
    """
    tok = load_tokenizer(flags)
    decoded = tok.decode_bytes(ids_of_arguments(ids or [STDIN]))
    if flags["as_json"]:
        print_json(_render.token_json(decoded))
    elif sys.stdout.isatty():
        sys.stdout.write(_render.escape_controls(decoded.decode("utf-8", "backslashreplace")))
    else:
        sys.stdout.buffer.write(decoded)
        sys.stdout.buffer.flush()


@command("count")
@with_tokenizers
@with_files
@as_json
@quiet
def count(files: list[str] | None, **flags: Any) -> None:
    """Print the number of tokens of each file.

    Special tokens count as ordinary text. For a .jsonl, .parquet or .arrow file, the texts of its rows are counted; .gz
    and .zst files are unpacked. Several files get a total, several tokenizers a column each.
    """
    toks = load_tokenizers(flags)
    rows: list[dict[str, Any]] = []
    with show_progress(flags, total=total_file_size(files)) as meter:
        for name, documents in iter_inputs(flags, files):
            tokens, size = count_documents([*toks.values()], documents, meter)
            rows.append({"file": name, "tokens": tokens, "bytes": size})
    sums = [sum(column) for column in zip(*(row["tokens"] for row in rows), strict=True)]
    rows.append({"file": "total", "tokens": sums, "bytes": sum(row["bytes"] for row in rows)})
    if flags["as_json"]:
        for row in rows:
            row["tokens"] = row["tokens"][0] if len(toks) == 1 else dict(zip(toks, row["tokens"], strict=True))
        print_json({"files": rows[:-1], "total": {name: rows[-1][name] for name in ("tokens", "bytes")}})
        return
    width = 12
    if len(toks) > 1:
        width = max(width, *map(len, toks))
        print_lines("  ".join(f"{name:>{width}}" for name in toks))
    for row in rows if len(rows) > 2 else rows[:-1]:
        print_lines("  ".join([*(f"{tokens:>{width}}" for tokens in row["tokens"]), row["file"]]))


def write_corpus(
    tok: toksmith.Tokenizer, corpus: list[Any], output: str, options: dict[str, Any], flags: dict[str, Any]
) -> None:
    """Write the ids of `corpus` to `output`, and print a summary."""
    watch = Watch()
    saved = toksmith.corpus.encode(tok, corpus, output, **options, **progress_argument(flags))
    if flags["as_json"]:
        names = {"file": os.fspath(saved.path), "ends_file": os.fspath(saved.ends_path)}
        print_json({**names, "dtype": saved.dtype, "documents": saved.documents, "ids": saved.ids})
    elif not flags["quiet"]:
        documents = number_of(saved.documents, "document")
        print_lines(
            f"{number_of(saved.ids, 'id')} of {documents}{watch.format_time(saved.ids, 'ids')} saved as {saved.path} "
            f"({saved.dtype}), document ends as {saved.ends_path}"
        )


def count_documents(
    toks: Sequence[toksmith.Tokenizer], documents: Iterable[str | bytes], meter: Meter
) -> tuple[list[int], int]:
    """The number of tokens of documents with each tokenizer, and the number of bytes."""
    tokens, size = [0] * len(toks), 0
    remaining = iter(documents)
    while batch := list(islice(remaining, IN_A_BATCH)):
        for place, tok in enumerate(toks):
            tokens[place] += tok.count(batch[0]) if len(batch) == 1 else int(tok.count_batch(batch).sum())
        now = sum(len(each if isinstance(each, bytes) else each.encode("utf-8", "surrogatepass")) for each in batch)
        size += now
        meter.advance(now)
    return tokens, size


def total_file_size(files: Sequence[str] | None) -> int | None:
    """The total size of the files; None if a file has no size."""
    if not files or not all(os.path.isfile(name) for name in files):
        return None
    return sum(os.path.getsize(name) for name in files)


def ids_of_arguments(arguments: Sequence[str]) -> list[int]:
    """The ids of a file, or the arguments as ids; a file that exists comes first."""
    wrong = next((argument for argument in arguments if argument.strip("0123456789,")), None)
    if len(arguments) == 1 and (wrong or os.path.exists(arguments[0])):
        return parse_ids(read_file_bytes(arguments[0]), arguments[0])
    if wrong is not None:
        raise click.BadParameter(f"{wrong!r:.200} is not an id; give one file, or ids", param_hint="ID")
    return parse_ids(" ".join(arguments).encode(), "the arguments")


def parse_ids(data: bytes, name: str) -> list[int]:
    """The ids in `data`: JSON (a list, or output of `encode --json`), else numbers between white space or commas."""
    text = data.decode("utf-8", "replace")
    if text.lstrip()[:1] in ("[", "{"):
        try:
            return list(iter_json_ids(json.loads(text)))
        except (ValueError, RecursionError) as error:
            raise toksmith.errors.FormatError(name, None, f"not a JSON list of ids: {error}") from None
    ids = []
    for number, line in enumerate(text.splitlines(), 1):
        for word in re.findall(r"[^\s,]+", line):
            if not re.fullmatch(r"-?[0-9]{1,18}", word):
                raise toksmith.errors.FormatError(
                    name, number, f"{word[:40]!r} is not an id; expected integers or JSON"
                )
            ids.append(int(word))
    return ids


def iter_json_ids(value: Any) -> Iterator[int]:
    """The ids in a JSON value, in order."""
    if type(value) is int:
        yield value
    elif isinstance(value, (list, dict)):
        for part in value if isinstance(value, list) else [value.get("ids")]:
            yield from iter_json_ids(part)
    else:
        raise ValueError(f"{json.dumps(value)[:40]} is not an id; expected integers")
