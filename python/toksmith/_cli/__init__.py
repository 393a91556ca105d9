"""The command line: one small function for each command, which parses, calls the public functions and prints.

Of toksmith the commands use the public names only, and `_render` to draw. Everything printed is UTF-8, on any locale.
A new command is a function and a row in `COMMANDS`; its module is imported when it is called. Left out: any rule about
tokens.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .program import app

__all__ = ["COMMANDS", "TWO_WORDS", "app", "main"]

ABOUT = "Train tokenizers, encode and decode with them, and look at what they do."

# One command: the function, whose name has underscores for hyphens, is in `module`. `help` is one line, `example` runs.
# No typing.NamedTuple and no dataclass: this file is all that `--version` waits for.
Row = namedtuple("Row", "name module help example")

COMMANDS = (
    Row(
        "train",
        "train",
        "Train a tokenizer on text files or on stdin.",
        "toksmith train book.txt -o book.toksmith --vocab-size 8192",
    ),
    Row(
        "encode",
        "tokens",
        "Print the ids of texts, or write the ids of a corpus to a file.",
        "toksmith encode *.jsonl -t o200k_base --append '<|endoftext|>' -o ids.npy",
    ),
    Row(
        "decode",
        "tokens",
        "Decode ids to bytes.",
        "toksmith encode notes.txt -t gpt2 | toksmith decode -t gpt2",
    ),
    Row(
        "count",
        "tokens",
        "Print the number of tokens of each file.",
        "toksmith count README.md notes.txt -t o200k_base",
    ),
    Row(
        "show",
        "tokens",
        "Draw a text as its tokens, with a tick at the start of each.",
        "toksmith show -t gpt2 --text 'Hello, world' --ids",
    ),
    Row(
        "explain",
        "explain",
        "Explain a text, its merges step by step, or one token by its id.",
        "toksmith explain -t gpt2 --text ' tokenization' --merges",
    ),
    Row(
        "explain-steps",
        "explain",
        "Train on a short text by hand: the count of each pair before each merge.",
        "toksmith explain steps --text aaabdaaabac --merges 3",
    ),
    Row(
        "compare",
        "explain",
        "Compare tokenizers on one text: how many tokens, and where they cut differently.",
        "toksmith compare notes.txt -t gpt2 -t o200k_base",
    ),
    Row(
        "chat",
        "chat",
        "Show a conversation as its tokens, as a chat template writes it.",
        "toksmith chat messages.json -t cl100k_base --template chatml",
    ),
    Row(
        "stability",
        "explain",
        "Show what typing a character changes in the ids of a text.",
        "toksmith stability notes.txt -t gpt2 -t o200k_base",
    ),
    Row(
        "convert",
        "convert",
        "Write a tokenizer in another format, and compare the ids of both.",
        "toksmith convert cl100k_base tokenizer.json",
    ),
    Row("encodings", "tokens", "List the published tokenizers that -t accepts by name.", "toksmith encodings"),
    Row("formats", "convert", "List the file formats, and the file names that mean each.", "toksmith formats"),
    Row("measure", "metrics", "Measure a tokenizer on texts.", "toksmith measure book.txt -t o200k_base"),
    Row(
        "parity",
        "metrics",
        "Compare what the same text costs in several languages.",
        "toksmith parity en=english.txt ko=korean.txt -t cl100k_base",
    ),
    Row(
        "fairness",
        "metrics",
        "Compare tokenizers by what the same text costs in several languages.",
        "toksmith fairness -t gpt2 -t o200k_base",
    ),
    Row(
        "doctor",
        "metrics",
        "Check a tokenizer: split characters, unreachable tokens, a wrong pattern, and more.",
        "toksmith doctor -t gpt2",
    ),
    Row(
        "study",
        "study",
        "Compare vocabulary sizes, patterns and kinds for texts and a planned model.",
        "toksmith study corpus.jsonl --params 1e9 --tokens 2e10 --tied --html study.html",
    ),
    Row(
        "map",
        "pages",
        "Show what the files of a folder cost in tokens, and what a prompt can do without.",
        "toksmith map src -t o200k_base --html map.html",
    ),
    Row(
        "graft",
        "graft",
        "Give a model another tokenizer: write a checkpoint whose rows follow the ids.",
        "toksmith graft llama -t more.toksmith -o llama-more --verify",
    ),
    Row(
        "tour",
        "tour",
        "Walk through the lesson in ten minutes, on a text of yours.",
        "toksmith tour notes.txt -t gpt2",
    ),
    Row(
        "snapshot",
        "pages",
        "Write a page that shows the tokens and merges of a text, and needs no server.",
        "toksmith snapshot -t gpt2 --text 'Hello, world' -o hello.html",
    ),
    Row("play", "pages", "Serve a page that shows how tokenizers split a text.", "toksmith play gpt2 my.toksmith"),
    Row(
        "count-pieces",
        "counts",
        "Count the distinct pieces of text files, for train --from-counts.",
        "toksmith count-pieces shard-0.jsonl.gz -o counts-0.parquet --pattern cl100k",
    ),
    Row(
        "merge-counts",
        "counts",
        "Add up the counts of shards, in bounded memory.",
        "toksmith merge-counts counts-*.parquet -o counts.parquet",
    ),
    Row(
        "tokenize",
        "jobs",
        "Encode a corpus into shards of ids, in a folder.",
        "toksmith tokenize corpus/ -t gpt2 --append '<|endoftext|>' --to megatron -o shards",
    ),
    Row("status", "jobs", "Print how far a job is, also while it runs elsewhere.", "toksmith status shards"),
    Row(
        "verify",
        "jobs",
        "Compare the files of a finished job with what was written.",
        "toksmith verify shards --decode",
    ),
    Row("shards", "jobs", "Print what is in a folder of shards.", "toksmith shards shards --first 5"),
    Row(
        "merge-shards",
        "jobs",
        "Write the shards of finished jobs as one shard, in bounded memory.",
        "toksmith merge-shards part-*/ -o all --to megatron",
    ),
    Row("help", "about", "Show the help of a command, or the manual page.", "toksmith help train"),
    Row(
        "completion",
        "about",
        "Print the lines that let bash, zsh or fish complete commands.",
        'eval "$(toksmith completion bash)"',
    ),
)

TWO_WORDS = ("explain", "steps")  # the command explain-steps, as it is also written


def __getattr__(name: str) -> object:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .program import app

    return app


def main() -> None:
    """Run the command line of this process: what the installed `toksmith` calls."""
    try:
        refuse_without_core()
        if printed_version():
            return
        from .._base.system import SYSTEM
        from .._render import guard_terminals
        from .printed import plain_log
        from .program import app, open_closed_streams

        open_closed_streams()
        SYSTEM.use_utf8()
        guard_terminals()
        plain_log()
    except KeyboardInterrupt:  # while modules are imported; the program answers later ones
        sys.stderr.write("toksmith: interrupted\n")
        sys.exit(130)
    app.main()


def refuse_without_core() -> None:
    """Ends with one line where the compiled core does not work: the package then says why."""
    import toksmith

    if why := vars(toksmith).get("_WHY"):
        sys.stderr.write(f"toksmith: {why}\n")
        sys.exit(1)


def printed_version() -> bool:
    """Whether only the version was asked for, and was printed, without what commands need."""
    if sys.argv[1:] not in (["--version"], ["-V"]) or sys.stdout is None:
        return False
    import toksmith

    try:
        sys.stdout.write(f"toksmith {toksmith.__version__}\n")
        sys.stdout.flush()
    except OSError as error:
        from .program import lost_output

        sys.exit(lost_output(error))
    return True
