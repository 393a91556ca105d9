"""The command that serves the playground: play."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

import toksmith

from ._arguments import FilePattern, FileSpecials, Json, given, loaded_options
from ._printed import print_json, print_lines, tell

__all__ = ["play"]

PUBLISHED = ["gpt2", "cl100k_base", "o200k_base"]
Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TOKENIZER", help="Published names and tokenizer files; none: gpt2, cl100k_base, o200k_base."
    ),
]


def play(
    tokenizers: Sources = None,
    *,
    port: Annotated[int, typer.Option(help="Where to listen, or the next port that is free; 0: any.")] = 8765,
    texts: Annotated[
        Path | None, typer.Option(help="For the chart of languages: a folder of .txt files that say the same.")
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    as_json: Json = False,
) -> None:
    """Serve a page that shows what tokenizers make of a text, until Ctrl-C; nothing leaves this machine.

    A file that cannot be loaded is named on the page. --pattern and --special-token are for files that need them.
    """
    options = loaded_options(pattern, special_token)
    sources = {Path(name).name or name: source(name, options) for name in tokenizers or PUBLISHED}
    languages = None if texts is None else folder_texts(texts)
    with toksmith.play(sources, port=port, **given(texts=languages)) as playground:
        if playground.port != port != 0:
            tell(f"port {port} is in use; {playground.port} is free")
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
        return name  # a file that says all itself; what else is wrong with it is told of the name


def folder_texts(folder: Path) -> dict[str, str]:
    """The texts of a folder by the names of their files, without the last newline."""
    found = {path.stem: path.read_text(encoding="utf-8").removesuffix("\n") for path in sorted(folder.glob("*.txt"))}
    if not found:
        raise toksmith.CorpusError(str(folder), None, "holds no .txt file; expected one for each language")
    return found
