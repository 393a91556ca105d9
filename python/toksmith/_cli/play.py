"""The command that serves the playground: play."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import toksmith

from . import params as cli
from .arguments import FilePattern, FileSpecials, Json, given, loaded_options, tokenizers
from .printed import print_json, print_lines, tell

__all__ = ["play"]

PUBLISHED = ["gpt2", "cl100k_base", "o200k_base"]
Sources = Annotated[
    list[str] | None,
    cli.Argument("TOKENIZER", "Published names and tokenizer files.", "gpt2, cl100k_base and o200k_base", tokenizers),
]


def play(
    tokenizers: Sources = None,
    *,
    port: Annotated[int, cli.Option(help="Port to listen on, or the next free one; 0 takes any free port.")] = 8765,
    texts: Annotated[
        Path | None,
        cli.Option(
            help="Folder with the same text in several languages (.txt files), for the chart of languages.",
            default="a built-in sample",
        ),
    ] = None,
    browser: Annotated[bool, cli.Option("--open", help="Open the page in a browser.")] = False,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    as_json: Json = False,
) -> None:
    """Serve a page that shows how tokenizers split a text.

    It serves until Ctrl-C, and nothing leaves this machine. The page names files that cannot be loaded. --pattern and --special-token are for files that require them.
    """
    options = loaded_options(pattern, special_token)
    sources = {Path(name).name or name: source(name, options) for name in tokenizers or PUBLISHED}
    languages = None if texts is None else folder_texts(texts)
    with toksmith.play(sources, port=port, **given(texts=languages)) as playground:
        if playground.port != port != 0:
            tell(f"port {port} is in use; using {playground.port}")
        for name, reason in playground.failed.items():
            tell(f"{name} is left out: {reason}")
        if as_json:
            print_json({"url": playground.url, "tokenizers": playground.tokenizers, "failed": playground.failed})
        else:
            print_lines(f"{', '.join(playground.tokenizers)} at {playground.url} (Ctrl-C ends it)")
            sys.stdout.flush()
        if browser:
            webbrowser.open(playground.url)
        playground.wait()


def source(name: str, options: dict[str, object]) -> object:
    """What `toksmith.play` is given for a name: the tokenizer, where a file needs options, else the name."""
    if not options or name in toksmith.encodings():
        return name
    try:
        return toksmith.load(name, **options)  # type: ignore[arg-type]
    except toksmith.ToksmithError:
        return name  # the file needs no options; the playground reports any other error by name


def folder_texts(folder: Path) -> dict[str, str]:
    """The texts of a folder by the names of their files, without the last newline."""
    found = {path.stem: path.read_text(encoding="utf-8").removesuffix("\n") for path in sorted(folder.glob("*.txt"))}
    if not found:
        raise toksmith.CorpusError(str(folder), None, "contains no .txt file; expected one per language")
    return found
