"""The commands: a row for each. The module of a command is imported when the command is called."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ABOUT", "COMMANDS", "TWO_WORDS"]

ABOUT = "Train tokenizers, encode and decode with them, and look at what they do."


class Row(NamedTuple):
    """One command: the function, whose name has underscores for hyphens, is in `module`. `example` runs."""

    name: str
    module: str
    help: str
    example: str


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
        "explain",
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
