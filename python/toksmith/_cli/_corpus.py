"""`toksmith encode -o`: encodes a corpus into a file of ids."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import toksmith

from .._render import number_of
from ._arguments import STDIN, given, stdin_stream
from ._printed import print_json, print_lines
from ._progress import progress_lines

__all__ = ["write_corpus"]


def write_corpus(
    tok: toksmith.Tokenizer,
    files: Sequence[str] | None,
    output: Path,
    options: Mapping[str, Any],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the ids of `files` to `output`, and say what was written."""
    options = dict(options)
    field = options.pop("field", None)
    corpus = [item(name, field) for name in files or [STDIN]]
    if quiet or not sys.stderr.isatty():
        options["progress"] = False if quiet else progress_lines()
    written = toksmith.encode_corpus(tok, corpus, output, **options)
    if as_json:
        names = {"file": os.fspath(written.path), "ends_file": os.fspath(written.ends_path)}
        print_json({**names, "dtype": written.dtype, "documents": written.documents, "ids": written.ids})
    elif not quiet:
        documents = number_of(written.documents, "document")
        print_lines(
            f"{number_of(written.ids, 'id')} of {documents} saved as {written.path} ({written.dtype}), document ends as {written.ends_path}"
        )


def item(name: str, field: str | None) -> toksmith.Files | BinaryIO:
    """A file argument as an item of a corpus."""
    if name == STDIN:
        return stdin_stream()
    # The shell has already expanded globs, so a name is literal. It does not expand those of URLs.
    return toksmith.files(name if "://" in name else glob.escape(name), **given(field=field))
