"""The table of commands. A command's module is imported when the command is called."""

from __future__ import annotations

from typing import NamedTuple

ABOUT = "Train tokenizers, encode and decode with them, and inspect them."


class Row(NamedTuple):
    """One command: its function (underscores for spaces and hyphens) is in `module`; `example` runs."""

    name: str
    module: str
    help: str
    example: str


# Commands that have subcommands.
GROUPS = {
    "explain": "Show why: a text, its merges, a token, an edit, a conversation, a folder.",
    "corpus": "Tokenize or count a corpus in shards, and check, show and merge them.",
    "list": "List the names of encodings, formats, patterns and models.",
}

# Two lines for each command: name, module and help; then its example.
TABLE = """
train: train: Train a tokenizer on text files or on stdin.
    toksmith train book.txt -o book.toksmith --vocab-size 8192
encode: tokens: Print the ids of texts, or write the ids of a corpus to a file.
    toksmith encode *.jsonl -t o200k_base --append '<|endoftext|>' -o ids.npy
decode: tokens: Decode ids to bytes.
    toksmith encode notes.txt -t gpt2 | toksmith decode -t gpt2
count: tokens: Print the number of tokens of each file.
    toksmith count README.md notes.txt -t o200k_base
explain text: explain: Show a text as its tokens, with pieces and ids.
    toksmith explain text -t gpt2 --text 'Hello, world'
explain merges: explain: Merge a text step by step, as one piece.
    toksmith explain merges -t gpt2 --text ' tokenization'
explain steps: explain: Train on a short text by hand: the count of each pair before each merge.
    toksmith explain steps --text aaabdaaabac --merges 3
explain token: explain: Show one token by its id: its parts, and the tokens merged from it.
    toksmith explain token 262 -t gpt2
explain differences: explain: Show where tokenizers cut one text differently.
    toksmith explain differences notes.txt -t gpt2 -t o200k_base
explain budget: explain: Show how much of a text fits into a number of tokens.
    toksmith explain budget notes.txt -t gpt2 --context 1024
explain lint: explain: Find invisible text that costs tokens.
    toksmith explain lint notes.txt -t gpt2
explain inference: explain: Compare with the longest token at each place, and with the fewest tokens.
    toksmith explain inference -t gpt2 --text ' tokenization'
explain prompt: explain: Show how the end of a prompt affects the next token, and the healed prompt.
    toksmith explain prompt -t gpt2 --text 'The answer is '
explain edits: explain: Show how typing a character changes the ids of a text.
    toksmith explain edits notes.txt -t gpt2 -t o200k_base
explain chat: explain: Show a conversation as its tokens, as a chat template writes it.
    toksmith explain chat messages.json -t cl100k_base --template chatml
explain folder: pages: Show the cost of a folder's files in tokens, and what a prompt can leave out.
    toksmith explain folder src -t o200k_base --html folder.html
explain snapshot: pages: Write a page that shows the tokens and merges of a text without a server.
    toksmith explain snapshot -t gpt2 --text 'Hello, world' -o hello.html
compare: compare: Compare tokenizers on the same texts: tokens, and the figures of metrics.
    toksmith compare en=english.txt ko=korean.txt -t gpt2 -t o200k_base
convert: convert: Write a tokenizer in another format, and compare the ids of both.
    toksmith convert cl100k_base tokenizer.json
extend: surgery: Add the tokens that a corpus teaches, or special tokens, to a tokenizer.
    toksmith extend hindi.txt -t gpt2 --add 1000 -o more.toksmith
prune: surgery: Remove the tokens that a corpus does not use.
    toksmith prune english.txt -t gpt2 -o fewer.toksmith
doctor: compare: Check a tokenizer: split characters, unreachable tokens, a wrong pattern, and more.
    toksmith doctor -t gpt2
study: study: Compare vocabulary sizes, patterns and kinds for texts and a planned model.
    toksmith study corpus.jsonl --params 1e9 --tokens 2e10 --tied --html study.html
graft: graft: Give a model another tokenizer: write a checkpoint with its rows in the order of the new ids.
    toksmith graft llama -t more.toksmith -o llama-more --verify
corpus tokenize: jobs: Encode a corpus into shards of ids, in a folder.
    toksmith corpus tokenize corpus/ -t gpt2 --append '<|endoftext|>' --to megatron -o shards
corpus count: counts: Count the distinct pieces of text files, for train --from-counts.
    toksmith corpus count shard-0.jsonl.gz -o counts-0.parquet --pattern cl100k
corpus merge-counts: counts: Add up the counts of shards, in bounded memory.
    toksmith corpus merge-counts counts-*.parquet -o counts.parquet
corpus status: jobs: Print the progress of a job, also while it runs elsewhere.
    toksmith corpus status shards
corpus verify: jobs: Check the files of a finished job against its records.
    toksmith corpus verify shards --decode
corpus show: jobs: Print the contents of a folder of shards.
    toksmith corpus show shards --first 5
corpus merge: jobs: Write the shards of finished jobs as one shard, in bounded memory.
    toksmith corpus merge part-*/ -o all --to megatron
run: run: Run a program with the fast tokenizers of transformers on toksmith's engine.
    toksmith run -- python -c 'import transformers'
play: pages: Serve a page that shows how tokenizers split a text.
    toksmith play gpt2 my.toksmith
tour: tour: Walk through the lesson in ten minutes, on your own text.
    toksmith tour notes.txt -t gpt2
list encodings: lists: List the published tokenizers that -t accepts by name.
    toksmith list encodings
list formats: lists: List the file formats, and the file names of each.
    toksmith list formats
list patterns: lists: List the split patterns by name, with the models that use them.
    toksmith list patterns
list models: lists: List the models whose names mean a published tokenizer.
    toksmith list models
"""
LINES = TABLE.strip().splitlines()
COMMANDS = tuple(
    Row._make([*line.split(": ", 2), example.strip()]) for line, example in zip(LINES[::2], LINES[1::2], strict=True)
)

# Other words for a command: earlier names, and those of other programs.
OTHER_WORDS = {
    "compare": "measure parity fairness benchmark metrics eval evaluate",
    "corpus tokenize": "preprocess shard pretokenize",
    "corpus count": "count-pieces",
    "corpus show": "shards inspect",
    "corpus merge": "merge-shards",
    "explain text": "show draw visualize tokens",
    "explain edits": "stability",
    "explain folder": "map",
    "explain snapshot": "page",
    "decode": "detokenize",
    "train": "spm_train learn",
    "convert": "export save",
    "extend": "add add-special add-tokens",
    "doctor": "check lint validate",
    "play": "serve playground",
    "run": "accelerate exec",
    "--help": "help man",
    "--completion": "completion",
}


def suggest_commands(word: str, prefix: str = "") -> list[str]:
    """The commands that a wrong one means: those that end in the word, have it as another name, or are spelt like it.
    Commands with the prefix come before all others."""
    from difflib import get_close_matches

    names = [name for name in (*GROUPS, *(row.name for row in COMMANDS)) if name.startswith(prefix)]
    ending = [name for name in names if name.endswith(f" {word}")]
    meaning = [name for name, words in OTHER_WORDS.items() if name.startswith(prefix) and word in words.split()]
    by_word = {name.split(" ")[-1]: name for name in reversed(names)}  # 'count' before 'corpus count'
    found = meaning or ending or [by_word[match] for match in get_close_matches(word, by_word)]
    return found or (suggest_commands(word) if prefix else [])
