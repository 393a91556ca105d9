"""The commands that use a tokenizer: encode, decode, count, show; and the list of those that have a name.

Text is read and written as bytes, so that nothing is lost on the way.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any

import toksmith
from toksmith import _render

from . import params as cli
from .arguments import (
    STDIN,
    Field,
    FilePattern,
    Files,
    FileSpecials,
    GivenText,
    Json,
    Name,
    Names,
    Quiet,
    Raw,
    RowNumber,
    Special,
    Threads,
    file_bytes,
    given,
    has_rows,
    inputs,
    loaded,
    one_text,
    stdin_bytes,
    token_json,
)
from .corpus import corpus_of, write_corpus
from .printed import draw, print_json, print_lines
from .progress import Meter, metered
from .shown import Svg, print_shown

__all__ = ["count", "decode", "encode", "encodings", "show"]

IN_A_BATCH = 4096


def encode(
    files: Files = None,
    *,
    tokenizer: Name,
    text: GivenText = None,
    special: Special = "raise",
    field: Field = None,
    raw: Raw = False,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    output: Annotated[
        cli.FileName | None,
        cli.Option(
            "--output", "-o", help="Write ids to this .npy file.", default="stdout, as numbers", argument="path"
        ),
    ] = None,
    append: Annotated[
        str | None, cli.Option(help="With -o: special token to append to each document.", default="nothing")
    ] = None,
    dtype: Annotated[
        str | None, cli.Option(choices=("auto", "uint16", "uint32"), help="With -o: type of the ids.", default="auto")
    ] = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the ids of texts, or write the ids of a corpus to a file.

    Each document is one line. Each row of a .jsonl, .parquet or .arrow file is a document; any other file and stdin are
    one document; .gz and .zst are unpacked. With -o, the ends of documents go to a second file: numpy.load reads ids.npy
    and ids.ends.npy.
    """
    corpus_options = given(append=append, dtype=dtype)
    if output is None and corpus_options:
        raise cli.BadParameter("requires -o", param_hint=f"--{next(iter(corpus_options))}")
    tok = loaded(tokenizer, pattern, special_token)
    if output is not None:
        options = corpus_options | {"special": special, **given(threads=threads)}
        write_corpus(tok, corpus_of(files, text, field=field, raw=raw), output, options, as_json=as_json, quiet=quiet)
        return
    rows = []
    for name, documents in inputs(files, text, field=field, raw=raw):
        for number, document in enumerate(documents):
            ids = tok.encode(document, special=special, threads=threads)
            if as_json:
                place = {"document": number} if not raw and (has_rows(name) or os.path.isdir(name)) else {}
                rows.append({"file": name, **place, "ids": ids})
            else:
                print_lines(" ".join(map(str, ids)))
    if as_json:
        print_json(rows)


def decode(
    file: Annotated[
        str, cli.Argument("FILE", "File of ids: numbers, or the output of 'encode --json'; '-' reads stdin.", "stdin")
    ] = STDIN,
    *,
    tokenizer: Name,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    as_json: Json = False,
) -> None:
    """Decode ids to bytes.

    Ids are separated by white space or commas, or are JSON. A terminal gets the text with its controls as escapes.
    """
    tok = loaded(tokenizer, pattern, special_token)
    data = stdin_bytes() if file == STDIN else file_bytes(file)
    decoded = tok.decode_bytes(parsed_ids(data, file))
    if as_json:
        print_json(token_json(decoded))
    elif sys.stdout.isatty():
        sys.stdout.write(_render.escape_controls(decoded.decode("utf-8", "backslashreplace")))
    else:
        sys.stdout.buffer.write(decoded)
        sys.stdout.buffer.flush()


def count(
    files: Files = None,
    *,
    tokenizer: Name,
    text: GivenText = None,
    field: Field = None,
    raw: Raw = False,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the number of tokens of each file.

    Special tokens count as ordinary text. Of a .jsonl, .parquet or .arrow file, the texts of its rows count; .gz and .zst
    are unpacked. Several files have a total.
    """
    tok = loaded(tokenizer, pattern, special_token)
    rows: list[dict[str, Any]] = []
    with metered(bytes_of_files(files), as_json=as_json, quiet=quiet) as meter:
        for name, documents in inputs(files, text, field=field, raw=raw):
            tokens, size = counted(tok, documents, meter)
            rows.append({"file": name, "tokens": tokens, "bytes": size})
    total = {key: sum(row[key] for row in rows) for key in ("tokens", "bytes")}
    if as_json:
        print_json({"files": rows, "total": total})
        return
    for row in [*rows, {"file": "total", **total}] if len(rows) > 1 else rows:
        print_lines(f"{row['tokens']:>12}  {row['file']}")


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


def show(
    file: Annotated[str, cli.Argument("FILE", "Text file; '-' reads stdin.", "stdin")] = STDIN,
    *,
    tokenizer: Names,
    text: GivenText = None,
    ids: Annotated[bool, cli.Option("--ids", help="Print the ids under each line.")] = False,
    special: Special = "text",
    field: Field = None,
    row: RowNumber = None,
    raw: Raw = False,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Annotated[
        cli.FileName | None,
        cli.Option(help="Write all views to a self-contained page.", default="draw in the terminal"),
    ] = None,
    svg: Svg = None,
    as_json: Json = False,
) -> None:
    """Draw a text as its tokens, with a tick at the start of each.

    --html writes all views of the text (merges, forest, budget, lint, languages, …) to one page that can be shared. A space
    is ·, a tab →, a newline ↵. <E2> is a byte of a split character, which is drawn whole where it ends.
    """
    if len(tokenizer) > 1 and html is None:
        raise cli.BadParameter("several tokenizers require --html; see also 'compare'", param_hint="-t")
    data = one_text(file, text, field=field, row=row, raw=raw)
    toks = {name: loaded(name, pattern, special_token) for name in tokenizer}
    tok = toks[tokenizer[0]]
    if html is not None:
        print_shown(all_views(toks, data, special), as_json=as_json, html=html, svg=svg)
        return
    if svg is not None:
        found = toksmith.explain.pieces(tok, data, special=special)
        print_shown(_render.called(found, tokenizer[0]), as_json=as_json, svg=svg)
        return
    special_ids = frozenset(tok.special_tokens.values())
    views = _render.token_views(tok.encode(data, special=special), tok.token_bytes, special_ids)
    if as_json:
        print_json([{"id": view.id, **token_json(view.token), "special": view.special} for view in views])
        return
    # Not written by rich, which has an exit code of its own for a reader that leaves.
    drawn = io.StringIO()
    console = _render.make_console(drawn, force_terminal=sys.stdout.isatty() or None)
    for line in _render.draw_tokens(views, ids=ids):
        console.print(line, soft_wrap=not console.is_terminal)
        draw(drawn.getvalue())
        drawn.seek(0)
        drawn.truncate()
    print_lines(_render.summary(views))


def all_views(toks: dict[str, toksmith.Tokenizer], data: str | bytes, special: str) -> toksmith.explain.Overview:
    """The views of a text, and of each tokenizer what languages cost and how its vocabulary is."""
    sections = [*toksmith.explain.overview(toks, data, special=special).sections]
    for name, tok in toks.items():
        sections.append((f"Languages by {name}", toksmith.parity(tok, toksmith.metrics.LANGUAGES)))
        sections.append((f"Health of {name}", toksmith.doctor(tok)))
    return toksmith.explain.Overview(tuple(sections))


def encodings(*, as_json: Json = False) -> None:
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
