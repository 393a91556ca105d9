"""The commands that use a tokenizer: encode, decode, count, show; and the list of those that have a name.

Text is read and written as bytes, so that nothing is lost on the way.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import toksmith
from toksmith import _render

from ._arguments import (
    STDIN,
    FilePattern,
    Files,
    FileSpecials,
    Json,
    Name,
    Special,
    given,
    inputs,
    loaded,
    token_json,
)
from ._corpus import write_corpus
from ._explain import text_bytes
from ._printed import print_json, print_lines
from ._shown import Svg, print_shown

__all__ = ["count", "decode", "encode", "encodings", "show"]


def encode(
    files: Files = None,
    *,
    tokenizer: Name,
    special: Special = "raise",
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write ids to this .npy file.")] = None,
    field: Annotated[
        str | None, typer.Option(help="With -o: field of a .jsonl row that contains the text (default: text).")
    ] = None,
    append: Annotated[str | None, typer.Option(help="With -o: special token to append to each document.")] = None,
    dtype: Annotated[str | None, typer.Option(help="With -o: auto, uint16 or uint32.")] = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads; all cores by default.")] = None,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="With -o: print no progress and no summary.")] = False,
) -> None:
    """Print the ids of each file (or of stdin) on one line, or write the ids of a corpus to a file.

    With -o, each row of a .jsonl file (.gz is unpacked) is a document; any other file and stdin are one document. The
    ends of documents go to a second file: numpy.load reads ids.npy and ids.ends.npy.
    """
    corpus_options = given(field=field, append=append, dtype=dtype)
    if output is None and corpus_options:
        raise typer.BadParameter("requires -o", param_hint=f"--{next(iter(corpus_options))}")
    tok = loaded(tokenizer, pattern, special_token)
    if output is not None:
        options = {"special": special, **given(threads=threads)}
        write_corpus(tok, files, output, corpus_options | options, as_json=as_json, quiet=quiet)
        return
    rows = []
    for name, data in inputs(files):
        ids = tok.encode(data, special=special, threads=threads)
        rows.append({"file": name, "ids": ids})
        if not as_json:
            print_lines(" ".join(map(str, ids)))
    if as_json:
        print_json(rows)


def decode(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="File of ids: numbers, or the output of 'encode --json'.")
    ] = STDIN,
    *,
    tokenizer: Name,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    as_json: Json = False,
) -> None:
    """Decode ids to bytes. Ids are separated by white space or commas, or are JSON."""
    tok = loaded(tokenizer, pattern, special_token)
    [(name, data)] = inputs([file])
    decoded = tok.decode_bytes(parsed_ids(data, name))
    if as_json:
        print_json(token_json(decoded))
    else:
        sys.stdout.buffer.write(decoded)
        sys.stdout.buffer.flush()


def count(
    files: Files = None,
    *,
    tokenizer: Name,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    as_json: Json = False,
) -> None:
    """Print the number of tokens of each file and their total. Special tokens count as ordinary text."""
    tok = loaded(tokenizer, pattern, special_token)
    rows: list[dict[str, Any]] = [
        {"file": name, "tokens": tok.count(data), "bytes": len(data)} for name, data in inputs(files)
    ]
    total = {key: sum(row[key] for row in rows) for key in ("tokens", "bytes")}
    if as_json:
        print_json({"files": rows, "total": total})
        return
    for row in [*rows, {"file": "total", **total}] if len(rows) > 1 else rows:
        print_lines(f"{row['tokens']:>12}  {row['file']}")


def show(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Text file; '-' or no file reads stdin.")] = STDIN,
    *,
    tokenizer: Annotated[
        list[str], typer.Option("--tokenizer", "-t", help="Published name or tokenizer file; repeatable with --html.")
    ],
    text: Annotated[str | None, typer.Option(help="Text to use instead of a file.")] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print the ids under each line.")] = False,
    special: Special = "text",
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Annotated[Path | None, typer.Option(help="Write all views to a self-contained page.")] = None,
    svg: Svg = None,
    as_json: Json = False,
) -> None:
    """Draw a text as its tokens, with a tick at the start of each.

    --html writes all views of the text (merges, forest, budget, lint, languages, …) to one page that can be shared. A space
    is ·, a tab →, a newline ↵. <E2> is a byte of a split character, which is drawn whole where it ends.
    """
    if len(tokenizer) > 1 and html is None:
        raise typer.BadParameter("several tokenizers require --html; see also 'compare'", param_hint="-t")
    data = text_bytes(file, text)
    toks = {name: loaded(name, pattern, special_token) for name in tokenizer}
    tok = toks[tokenizer[0]]
    if html is not None:
        print_shown(all_views(toks, data, special), as_json=as_json, html=html, svg=svg)
        return
    if svg is not None:
        print_shown(toksmith.explain.pieces(tok, data, special=special), as_json=as_json, svg=svg)
        return
    special_ids = frozenset(tok.special_tokens.values())
    views = _render.token_views(tok.encode(data, special=special), tok.token_bytes, special_ids)
    if as_json:
        print_json([{"id": view.id, **token_json(view.token), "special": view.special} for view in views])
        return
    # Not written by rich, which has an exit code of its own for a reader that leaves.
    drawn = io.StringIO()
    console = Console(file=drawn, highlight=False, force_terminal=sys.stdout.isatty() or None)
    for line in _render.draw_tokens(views, ids=ids):
        console.print(line, soft_wrap=not console.is_terminal)
        print(drawn.getvalue(), end="")
        drawn.seek(0)
        drawn.truncate()
    print_lines(_render.summary(views))


def all_views(toks: dict[str, toksmith.Tokenizer], data: bytes, special: str) -> toksmith.explain.Overview:
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
        raise ValueError(f"{repr(value)[:40]} is not an id")
