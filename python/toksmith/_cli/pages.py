"""The commands that make a page of their own: snapshot (a file that needs no server), play (a server), map (a folder)."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Any

import click

import toksmith
from toksmith import _render

from .._render import print_json, print_lines, tell
from .arguments import (
    FILE,
    PATH,
    TOKENIZER,
    as_json,
    given,
    of_file,
    quiet,
    special,
    threads,
    with_report,
    with_text,
    with_tokenizer,
    with_tokenizers,
)
from .inputs import loaded, loaded_all, loaded_options, one_text, working
from .printed import print_shown, refuse_other
from .program import command

__all__ = ["map", "play", "snapshot"]

PUBLISHED = ["gpt2", "cl100k_base", "o200k_base"]


@command("snapshot", pieces="--piece")
@with_tokenizers
@with_text
@click.option("--output", "-o", type=FILE, required=True, help="File to write, such as page.html.")
@click.option("--title", help="Heading of the page.", show_default="the tokenizers")
@click.option(
    "--piece",
    multiple=True,
    help="Piece whose merges can be played; repeatable.",
    show_default="the pieces of the text",
)
@click.option("--vocabulary", type=int, help="How many tokens of the vocabulary the page has.", show_default="1000")
@click.option("--fragment", is_flag=True, help="Write an element to include in another page, instead of a page.")
@special("text")
@as_json
@quiet
def snapshot(
    output: str, title: str | None, piece: list[str] | None, vocabulary: int | None, fragment: bool, **asked: Any
) -> None:
    """Write a page that shows the tokens and merges of a text, and needs no server.

    The page is one file, which sends nothing over the network: the text as its tokens, what each consists of, merges to play
    step by step, and a part of the vocabulary to search. Of a text with more than 100,000 bytes it has the beginning.
    """
    refuse_other(output, ("html", "htm"), "--output")
    data, toks = one_text(asked), loaded_all(asked)
    options = given(title=title, pieces=piece, vocabulary=vocabulary)
    with working(asked, len(data)):
        made = toksmith.snapshot(toks, data, special=asked["special"], fragment=fragment, **options)
        made.save(output)
    if asked["as_json"]:
        print_json({"file": output, "bytes": len(made.html.encode()), "tokens": made.tokens, "policy": made.policy})
    else:
        print_lines(output)


@command("map")
@click.argument(
    "folder",
    type=PATH,
    metavar="[FOLDER]",
    default=Path(),
    help="Folder, such as a repository; without it, the current one.",
)
@with_tokenizer
@click.option("--all", "ignored", is_flag=True, help="Also count what .gitignore leaves out.")
@special("text")
@threads
@with_report
def map(folder: Path, ignored: bool, **asked: Any) -> None:
    """Show what the files of a folder cost in tokens, and what a prompt can do without.

    It follows .gitignore files (this needs the extra 'map'), skips binary files, links and version control, and says what
    it skipped. It finds lock files, generated and minified files, copies and base64, and says how many tokens a prompt saves
    without them. --html writes a page with a map of areas.
    """
    tok, [name] = loaded(asked), asked["tokenizer"]
    options = {"ignored": ignored, "special": asked["special"], **given(threads=asked["threads"])}
    print_shown(lambda: _render.called(toksmith.explain.folder(tok, folder, **options), name), asked)


@command("play")
@click.argument(
    "tokenizers",
    type=TOKENIZER,
    metavar="[TOKENIZER]...",
    nargs=-1,
    help=f"Published names and tokenizer files; without any, {', '.join(PUBLISHED)}.",
)
@click.option("--port", default=8765, help="Port to listen on, or the next free one; 0 takes any free port.")
@click.option(
    "--texts",
    type=PATH,
    help="Folder with the same text in several languages (.txt files), for the chart of languages.",
    show_default="a built-in sample",
)
@click.option("--open", "browser", is_flag=True, help="Open the page in a browser.")
@of_file
@as_json
def play(tokenizers: list[str] | None, port: int, texts: Path | None, browser: bool, **asked: Any) -> None:
    """Serve a page that shows how tokenizers split a text.

    It serves until Ctrl-C, and nothing leaves this machine. The page names files that cannot be loaded. --pattern and --special-token are for files that require them.
    """
    options = loaded_options(asked)
    sources = {Path(name).name or name: source(name, options) for name in tokenizers or PUBLISHED}
    languages = None if texts is None else folder_texts(texts)
    with toksmith.play(sources, port=port, **given(texts=languages)) as playground:
        if playground.port != port != 0:
            tell(f"port {port} is in use; using {playground.port}")
        for name, reason in playground.failed.items():
            tell(f"{name} is left out: {reason}")
        if asked["as_json"]:
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
        raise toksmith.CorpusError(folder, None, "contains no .txt file; expected one per language")
    return found
