"""The commands whose result is a page: explain snapshot (a file that needs no server), explain folder, play (a server)."""

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
    drop_none,
    of_file,
    quiet,
    special,
    threads,
    with_report,
    with_text,
    with_tokenizer,
    with_tokenizers,
)
from .inputs import load_arguments, load_tokenizer, load_tokenizers, read_one_text, show_progress
from .output import check_suffix, print_result
from .program import command

PUBLISHED = ["gpt2", "cl100k_base", "o200k_base"]


@command("explain snapshot", pieces="--piece")
@with_tokenizers
@with_text
@click.option("--output", "-o", type=FILE, required=True, help="File to write, such as page.html.")
@click.option("--title", help="Heading of the page.", show_default="the tokenizers")
@click.option(
    "--piece",
    multiple=True,
    help="Piece whose merges the page can play; repeatable.",
    show_default="the pieces of the text",
)
@click.option("--vocabulary", type=int, help="Number of tokens of the vocabulary on the page.", show_default="1000")
@click.option("--fragment", is_flag=True, help="Write an element to include in another page, instead of a page.")
@special("text")
@as_json
@quiet
def explain_snapshot(
    output: str, title: str | None, piece: list[str] | None, vocabulary: int | None, fragment: bool, **flags: Any
) -> None:
    """Write a page that shows the tokens and merges of a text without a server.

    The page is one file, and sends nothing over the network. It shows the tokens of the text and their parts, plays
    merges step by step, and searches a part of the vocabulary. A text above 100,000 bytes is cut to its beginning.
    """
    check_suffix(output, ("html", "htm"), "--output")
    data, toks = read_one_text(flags), load_tokenizers(flags)
    options = drop_none(title=title, pieces=piece, vocabulary=vocabulary)
    with show_progress(flags, len(data)):
        page = toksmith.snapshot(toks, data, special=flags["special"], fragment=fragment, **options)
        page.save(output)
    if flags["as_json"]:
        print_json({"file": output, "bytes": len(page.html.encode()), "tokens": page.tokens, "policy": page.policy})
    else:
        print_lines(output)


@command("explain folder")
@click.argument(
    "folder",
    type=PATH,
    metavar="[FOLDER]",
    default=Path(),
    help="Folder, such as a repository; without it, the current one.",
)
@with_tokenizer
@click.option("--all", "ignored", is_flag=True, help="Also count files that .gitignore leaves out.")
@special("text")
@threads
@with_report
def explain_folder(folder: Path, ignored: bool, **flags: Any) -> None:
    """Show the cost of a folder's files in tokens, and what a prompt can leave out.

    It follows .gitignore files (with the extra 'map'), and skips and lists binary files, links and version control. It
    finds lock files, generated and minified files, copies and base64, and counts the tokens that a prompt saves without
    them. --html writes a page with a map of areas.
    """
    tok, [name] = load_tokenizer(flags), flags["tokenizer"]
    options = {"ignored": ignored, "special": flags["special"], **drop_none(threads=flags["threads"])}
    print_result(lambda: _render.with_tokenizer_name(toksmith.explain.folder(tok, folder, **options), name), flags)


@command("play")
@click.argument(
    "tokenizers",
    type=TOKENIZER,
    metavar="[TOKENIZER]...",
    nargs=-1,
    help=f"Published names and tokenizer files; without any, {', '.join(PUBLISHED)}.",
)
@click.option(
    "--tokenizer", "-t", "more", type=TOKENIZER, multiple=True, help="The same; repeatable.", show_default="none"
)
@click.option("--port", default=8765, help="Port to listen on, or the next free one; 0 takes any free port.")
@click.option(
    "--texts",
    type=PATH,
    help="Folder with the same text in several languages (.txt files), for the language chart.",
    show_default="a built-in sample",
)
@click.option("--open", "browser", is_flag=True, help="Open the page in a browser.")
@of_file
@as_json
def play(
    tokenizers: list[str] | None, more: list[str] | None, port: int, texts: Path | None, browser: bool, **flags: Any
) -> None:
    """Serve a page that shows how tokenizers split a text.

    It serves until Ctrl-C, and nothing leaves this machine. The page names files that cannot be loaded. --pattern and --special-token are for files that require them.
    """
    options = load_arguments(flags)
    sources = {
        Path(name).name or name: play_argument(name, options)
        for name in [*(tokenizers or ()), *(more or ())] or PUBLISHED
    }
    languages = None if texts is None else read_folder_texts(texts)
    with toksmith.play(sources, port=port, **drop_none(texts=languages)) as playground:
        if playground.port != port != 0:
            tell(f"port {port} is in use; using {playground.port}")
        for name, reason in playground.failed.items():
            tell(f"{name} is left out: {reason}")
        if flags["as_json"]:
            print_json({"url": playground.url, "tokenizers": playground.tokenizers, "failed": playground.failed})
        else:
            print_lines(f"{', '.join(playground.tokenizers)} at {playground.url} (Ctrl-C ends it)")
            sys.stdout.flush()
        if browser:
            webbrowser.open(playground.url)
        playground.wait()


def play_argument(name: str, options: dict[str, object]) -> object:
    """The argument of `toksmith.play` for a name: the loaded tokenizer if its file needs options, else the name."""
    if not options or name in toksmith.encodings():
        return name
    try:
        return toksmith.load(name, **options)  # type: ignore[arg-type]
    except toksmith.ToksmithError:
        return name  # the file needs no options; the playground reports any other error by name


def read_folder_texts(folder: Path) -> dict[str, str]:
    """The texts of a folder by the names of their files, without the last newline."""
    texts = {path.stem: path.read_text(encoding="utf-8").removesuffix("\n") for path in sorted(folder.glob("*.txt"))}
    if not texts:
        raise toksmith.errors.CorpusError(folder, None, "contains no .txt file; expected one per language")
    return texts
