"""The commands that use a tokenizer: encode, decode, count, show; and the list of those that have a name.

Text is read and written as bytes, so that nothing is lost on the way.
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
    given,
    quiet,
    special,
    svg,
    threads,
    with_files,
    with_text,
    with_tokenizer,
    with_tokenizers,
)
from .inputs import (
    Meter,
    Watch,
    corpus_of,
    file_bytes,
    has_rows,
    inputs,
    loaded,
    loaded_all,
    one_text,
    progress_of,
    working,
)
from .printed import prepared, print_drawn, token_json
from .program import command

__all__ = ["count", "decode", "encode", "encodings", "show"]

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
def encode(files: list[str] | None, output: str | None, append: str | None, dtype: str | None, **asked: Any) -> None:
    """Print the ids of texts, or write the ids of a corpus to a file.

    Each document is one line. Each row of a .jsonl, .parquet or .arrow file is a document; any other file and stdin are
    one document; .gz and .zst are unpacked. With -o, the ends of documents go to a second file: numpy.load reads ids.npy
    and ids.ends.npy.
    """
    corpus_options = given(append=append, dtype=dtype)
    if output is None and corpus_options:
        raise click.BadParameter("requires -o", param_hint=f"--{next(iter(corpus_options))}")
    tok, how = loaded(asked), {"special": asked["special"], **given(threads=asked["threads"])}
    if output is not None:
        write_corpus(tok, corpus_of(asked, files), output, corpus_options | how, asked)
        return
    rows = []
    for name, documents in inputs(asked, files):
        for number, document in enumerate(documents):
            ids = tok.encode(document, **how)
            if asked["as_json"]:
                place = {"document": number} if not asked["raw"] and (has_rows(name) or os.path.isdir(name)) else {}
                rows.append({"file": name, **place, "ids": ids})
            else:
                print_lines(" ".join(map(str, ids)))
    if asked["as_json"]:
        print_json(rows)


@command("decode")
@click.argument(
    "file",
    type=FILE,
    metavar="[FILE]",
    default=STDIN,
    help="File of ids: numbers, or the output of 'encode --json'; '-' or none reads stdin.",
)
@with_tokenizer
@as_json
def decode(file: str, **asked: Any) -> None:
    """Decode ids to bytes.

    Ids are separated by white space or commas, or are JSON. A terminal gets the text with its controls as escapes.
    """
    tok = loaded(asked)
    decoded = tok.decode_bytes(parsed_ids(file_bytes(file), file))
    if asked["as_json"]:
        print_json(token_json(decoded))
    elif sys.stdout.isatty():
        sys.stdout.write(_render.escape_controls(decoded.decode("utf-8", "backslashreplace")))
    else:
        sys.stdout.buffer.write(decoded)
        sys.stdout.buffer.flush()


@command("count")
@with_tokenizer
@with_files
@as_json
@quiet
def count(files: list[str] | None, **asked: Any) -> None:
    """Print the number of tokens of each file.

    Special tokens count as ordinary text. Of a .jsonl, .parquet or .arrow file, the texts of its rows count; .gz and .zst
    are unpacked. Several files have a total.
    """
    tok = loaded(asked)
    rows: list[dict[str, Any]] = []
    with working(asked, total=bytes_of_files(files)) as meter:
        for name, documents in inputs(asked, files):
            tokens, size = counted(tok, documents, meter)
            rows.append({"file": name, "tokens": tokens, "bytes": size})
    total = {key: sum(row[key] for row in rows) for key in ("tokens", "bytes")}
    if asked["as_json"]:
        print_json({"files": rows, "total": total})
        return
    for row in [*rows, {"file": "total", **total}] if len(rows) > 1 else rows:
        print_lines(f"{row['tokens']:>12}  {row['file']}")


def write_corpus(
    tok: toksmith.Tokenizer, corpus: list[Any], output: str, options: dict[str, Any], asked: dict[str, Any]
) -> None:
    """Write the ids of `corpus` to `output`, and say what was written."""
    watch = Watch()
    written = toksmith.encode_corpus(tok, corpus, output, **options, **progress_of(asked))
    if asked["as_json"]:
        names = {"file": os.fspath(written.path), "ends_file": os.fspath(written.ends_path)}
        print_json({**names, "dtype": written.dtype, "documents": written.documents, "ids": written.ids})
    elif not asked["quiet"]:
        documents = number_of(written.documents, "document")
        print_lines(
            f"{number_of(written.ids, 'id')} of {documents}{watch.took(written.ids, 'ids')} saved as {written.path} "
            f"({written.dtype}), document ends as {written.ends_path}"
        )


def counted(tok: toksmith.Tokenizer, documents: Iterable[str | bytes], meter: Meter) -> tuple[int, int]:
    """The tokens and the bytes of documents."""
    tokens = size = 0
    left = iter(documents)
    while batch := list(islice(left, IN_A_BATCH)):
        tokens += tok.count(batch[0]) if len(batch) == 1 else int(tok.count_batch(batch).sum())
        now = sum(len(each if isinstance(each, bytes) else each.encode("utf-8", "surrogatepass")) for each in batch)
        size += now
        meter.advance(now)
    return tokens, size


def bytes_of_files(files: Sequence[str] | None) -> int | None:
    """The size of all files together; None if a file has none of its own."""
    if not files or not all(os.path.isfile(name) for name in files):
        return None
    return sum(os.path.getsize(name) for name in files)


@command("show")
@with_tokenizers
@with_text
@click.option("--ids", is_flag=True, help="Print the ids under each line.")
@special("text")
@click.option(
    "--html", type=FILE, help="Write all views to a self-contained page.", show_default="draw in the terminal"
)
@svg
@as_json
def show(ids: bool, **asked: Any) -> None:
    """Draw a text as its tokens, with a tick at the start of each.

    --html writes all views of the text (merges, forest, budget, lint, languages, …) to one page that can be shared. A space
    is ·, a tab →, a newline ↵. <E2> is a byte of a split character, which is drawn whole where it ends.
    """
    names, policy = asked["tokenizer"], asked["special"]
    if len(names) > 1 and asked["html"] is None:
        raise click.BadParameter("several tokenizers require --html; see also 'compare'", param_hint="-t")
    data, toks = one_text(asked), loaded_all(asked)
    tok = toks[names[0]]
    if asked["html"] is not None:
        prepared(all_views(toks, data, policy), asked)()
        return
    if asked["svg"] is not None:
        prepared(_render.called(toksmith.explain.pieces(tok, data, special=policy), names[0]), asked)()
        return
    special_ids = frozenset(tok.special_tokens.values())
    views = _render.token_views(tok.encode(data, special=policy), tok.token_bytes, special_ids)
    if asked["as_json"]:
        print_json([{"id": view.id, **token_json(view.token), "special": view.special} for view in views])
        return
    print_drawn(_render.draw_tokens(views, ids=ids), whole_lines=not sys.stdout.isatty())
    print_lines(_render.summary(views))


def all_views(toks: dict[str, toksmith.Tokenizer], data: str | bytes, special: str) -> toksmith.explain.Overview:
    """The views of a text, and of each tokenizer what languages cost and how its vocabulary is."""
    sections = [*toksmith.explain.overview(toks, data, special=special).sections]
    for name, tok in toks.items():
        sections.append((f"Languages by {name}", toksmith.parity(tok, toksmith.metrics.LANGUAGES)))
        sections.append((f"Health of {name}", toksmith.doctor(tok)))
    return toksmith.explain.Overview(tuple(sections))


@command("encodings")
@as_json
def encodings(as_json: bool) -> None:
    """List the published tokenizers that -t accepts by name."""
    names = toksmith.encodings()
    if as_json:
        print_json(names)
    else:
        print_lines(*names)


def parsed_ids(data: bytes, name: str) -> list[int]:
    """The ids in `data`: JSON (a list, or what `encode --json` prints), else numbers between white space and commas."""
    text = data.decode("utf-8", "replace")
    if text.lstrip()[:1] in ("[", "{"):
        try:
            return list(json_ids(json.loads(text)))
        except (ValueError, RecursionError) as error:
            raise toksmith.FormatError(name, None, f"not a JSON list of ids: {error}") from None
    ids = []
    for number, line in enumerate(text.splitlines(), 1):
        for word in re.findall(r"[^\s,]+", line):
            if not re.fullmatch(r"-?[0-9]{1,18}", word):
                raise toksmith.FormatError(name, number, f"{word[:40]!r} is not an id; expected integers or JSON")
            ids.append(int(word))
    return ids


def json_ids(value: Any) -> Iterator[int]:
    """The ids in a JSON value, in order."""
    if type(value) is int:
        yield value
    elif isinstance(value, (list, dict)):
        for part in value if isinstance(value, list) else [value.get("ids")]:
            yield from json_ids(part)
    else:
        raise ValueError(f"{json.dumps(value)[:40]} is not an id; expected integers")
