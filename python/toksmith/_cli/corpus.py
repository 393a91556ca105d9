"""Corpora of commands; and `toksmith encode -o`, which encodes one into a file of ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

import toksmith

from .._render import number_of
from .arguments import STDIN, Asked, file_or_bytes, read_once, stdin_bytes, stdin_stream
from .printed import Meter, Watch, print_json, print_lines, progress_of

__all__ = ["corpus_of", "ticking", "total_of", "write_corpus"]


def corpus_of(asked: Asked, files: Sequence[str] | None, *, again: bool = False) -> list[Any]:
    """The corpus that the arguments of a command name; stdin if they name none.

    Args:
        again: Whether the corpus is read more than once.
    """
    if asked.get("text") is not None:
        if files:
            raise click.BadParameter("give a file or a text, not both", param_hint="--text")
        return [os.fsencode(asked["text"])]
    found: list[Any] = []
    for name in read_once(files or [STDIN]):
        if name == STDIN:
            found.append(stdin_bytes() if again else stdin_stream())
        else:
            found.append(file_or_bytes(name, asked["field"], raw=asked.get("raw", False)))
    return found


def ticking(items: Iterable[Any], meter: Meter) -> Iterator[Any]:
    """The items of a corpus, one after another; the meter advances behind each."""
    for each in items:
        yield each
        if isinstance(each, (bytes, toksmith.Files, os.PathLike)):
            meter.advance(len(each) if isinstance(each, bytes) else sum(map(size_of, paths_of(each))))


def total_of(items: Iterable[Any]) -> int | None:
    """The bytes of a corpus; None if nobody knows."""
    found = [None if hasattr(each, "read") else each for each in items]
    if None in found:
        return None
    return sum(len(each) if isinstance(each, bytes) else sum(map(size_of, paths_of(each))) for each in found)


def paths_of(item: Any) -> list[os.PathLike[str]]:
    """The files of this machine that an item of a corpus names."""
    if isinstance(item, toksmith.Files) and any("://" in name for name in item.globs):
        return []
    try:
        return [each for each in ([item] if isinstance(item, os.PathLike) else item.paths()) if os.path.isfile(each)]
    except toksmith.CorpusError:  # the reader of the corpus says so
        return []


def size_of(path: os.PathLike[str]) -> int:
    return os.stat(path).st_size


def write_corpus(
    tok: toksmith.Tokenizer,
    corpus: list[Any],
    output: str,
    options: Mapping[str, Any],
    asked: Asked,
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
