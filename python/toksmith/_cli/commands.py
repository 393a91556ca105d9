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


# A command on two lines: its name, its module and its help; below, its example.
TABLE = """
train train Train a tokenizer on text files or on stdin.
    toksmith train book.txt -o book.toksmith --vocab-size 8192
encode tokens Print the ids of texts, or write the ids of a corpus to a file.
    toksmith encode *.jsonl -t o200k_base --append '<|endoftext|>' -o ids.npy
decode tokens Decode ids to bytes.
    toksmith encode notes.txt -t gpt2 | toksmith decode -t gpt2
count tokens Print the number of tokens of each file.
    toksmith count README.md notes.txt -t o200k_base
show tokens Draw a text as its tokens, with a tick at the start of each.
    toksmith show -t gpt2 --text 'Hello, world' --ids
explain explain Explain a text, its merges step by step, or one token by its id.
    toksmith explain -t gpt2 --text ' tokenization' --merges
explain-steps explain Train on a short text by hand: the count of each pair before each merge.
    toksmith explain steps --text aaabdaaabac --merges 3
compare explain Compare tokenizers on one text: how many tokens, and where they cut differently.
    toksmith compare notes.txt -t gpt2 -t o200k_base
chat explain Show a conversation as its tokens, as a chat template writes it.
    toksmith chat messages.json -t cl100k_base --template chatml
stability explain Show what typing a character changes in the ids of a text.
    toksmith stability notes.txt -t gpt2 -t o200k_base
convert convert Write a tokenizer in another format, and compare the ids of both.
    toksmith convert cl100k_base tokenizer.json
encodings tokens List the published tokenizers that -t accepts by name.
    toksmith encodings
formats convert List the file formats, and the file names that mean each.
    toksmith formats
measure metrics Measure a tokenizer on texts.
    toksmith measure book.txt -t o200k_base
parity metrics Compare what the same text costs in several languages.
    toksmith parity en=english.txt ko=korean.txt -t cl100k_base
fairness metrics Compare tokenizers by what the same text costs in several languages.
    toksmith fairness -t gpt2 -t o200k_base
doctor metrics Check a tokenizer: split characters, unreachable tokens, a wrong pattern, and more.
    toksmith doctor -t gpt2
study study Compare vocabulary sizes, patterns and kinds for texts and a planned model.
    toksmith study corpus.jsonl --params 1e9 --tokens 2e10 --tied --html study.html
map pages Show what the files of a folder cost in tokens, and what a prompt can do without.
    toksmith map src -t o200k_base --html map.html
graft graft Give a model another tokenizer: write a checkpoint whose rows follow the ids.
    toksmith graft llama -t more.toksmith -o llama-more --verify
tour tour Walk through the lesson in ten minutes, on a text of yours.
    toksmith tour notes.txt -t gpt2
snapshot pages Write a page that shows the tokens and merges of a text, and needs no server.
    toksmith snapshot -t gpt2 --text 'Hello, world' -o hello.html
play pages Serve a page that shows how tokenizers split a text.
    toksmith play gpt2 my.toksmith
count-pieces counts Count the distinct pieces of text files, for train --from-counts.
    toksmith count-pieces shard-0.jsonl.gz -o counts-0.parquet --pattern cl100k
merge-counts counts Add up the counts of shards, in bounded memory.
    toksmith merge-counts counts-*.parquet -o counts.parquet
tokenize jobs Encode a corpus into shards of ids, in a folder.
    toksmith tokenize corpus/ -t gpt2 --append '<|endoftext|>' --to megatron -o shards
status jobs Print how far a job is, also while it runs elsewhere.
    toksmith status shards
verify jobs Compare the files of a finished job with what was written.
    toksmith verify shards --decode
shards jobs Print what is in a folder of shards.
    toksmith shards shards --first 5
merge-shards jobs Write the shards of finished jobs as one shard, in bounded memory.
    toksmith merge-shards part-*/ -o all --to megatron
help about Show the help of a command, or the manual page.
    toksmith help train
completion about Print the lines that let bash, zsh or fish complete commands.
    eval "$(toksmith completion bash)"
"""
LINES = TABLE.strip().splitlines()
COMMANDS = tuple(
    Row._make([*line.split(" ", 2), example.strip()]) for line, example in zip(LINES[::2], LINES[1::2], strict=True)
)
TWO_WORDS = ("explain", "steps")  # the command explain-steps, as it is also written
