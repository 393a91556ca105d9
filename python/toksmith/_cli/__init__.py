"""The command line: one small function for each command, which parses, calls the public functions and prints.

Of toksmith the commands use the public names only, and `_render` to draw. Everything printed is UTF-8, on any locale.
A new command is a function and a row in `COMMANDS`. Left out: any rule about tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

import typer

import toksmith
from toksmith import _render

from ._convert import convert
from ._counts import count_pieces, merge_counts
from ._explain import compare, explain
from ._jobs import status, tokenize, verify
from ._metrics import doctor, measure, parity
from ._play import play
from ._printed import PlainGroup, plain_log, print_lines
from ._run import runnable
from ._shards import merge_shards, shards
from ._steps import explain_steps
from ._tokens import count, decode, encode, encodings, show
from ._tour import tour
from ._train import train

__all__ = ["COMMANDS", "app", "main"]


class Command(NamedTuple):
    """One command: the function, whose name is the command's with hyphens, and the example that its help shows."""

    function: Callable[..., None]
    example: str


COMMANDS = (
    Command(train, "toksmith train book.txt -o book.toksmith --vocab-size 8192"),
    Command(encode, "toksmith encode *.jsonl -t o200k_base --append '<|endoftext|>' -o ids.npy"),
    Command(tokenize, "toksmith tokenize corpus/ -t gpt2 --append '<|endoftext|>' --to megatron -o shards"),
    Command(status, "toksmith status shards"),
    Command(verify, "toksmith verify shards --decode"),
    Command(shards, "toksmith shards shards --first 5"),
    Command(merge_shards, "toksmith merge-shards part-*/ -o all --to megatron"),
    Command(decode, "toksmith encode notes.txt -t gpt2 | toksmith decode -t gpt2"),
    Command(count, "toksmith count README.md notes.txt -t o200k_base"),
    Command(show, "toksmith show -t gpt2 --text 'Hello, world' --ids"),
    Command(explain, "toksmith explain -t gpt2 --text ' tokenization' --merges"),
    Command(explain_steps, "toksmith explain steps --text aaabdaaabac --merges 3"),
    Command(compare, "toksmith compare notes.txt -t gpt2 -t o200k_base"),
    Command(convert, "toksmith convert cl100k_base tokenizer.json"),
    Command(encodings, "toksmith encodings"),
    Command(count_pieces, "toksmith count-pieces shard-0.jsonl.gz -o counts-0.parquet --pattern cl100k"),
    Command(merge_counts, "toksmith merge-counts counts-*.parquet -o counts.parquet"),
    Command(measure, "toksmith measure book.txt -t o200k_base"),
    Command(parity, "toksmith parity en=english.txt ko=korean.txt -t cl100k_base"),
    Command(doctor, "toksmith doctor -t gpt2"),
    Command(tour, "toksmith tour notes.txt -t gpt2"),
    Command(play, "toksmith play gpt2 my.toksmith"),
)

app = typer.Typer(
    cls=PlainGroup,
    help="Train tokenizers, encode and decode with them, and look at what they do.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for row in COMMANDS:
    app.command(name=row.function.__name__.replace("_", "-"), epilog=f"Example: {row.example}")(runnable(row.function))


@app.callback(invoke_without_command=True)
def about(*, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Answer what needs no command."""
    if version:
        print_lines(f"toksmith {toksmith.__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line of this process: what the installed `toksmith` calls."""
    _render.use_utf8()
    plain_log()
    app(prog_name="toksmith")
