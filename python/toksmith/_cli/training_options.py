"""The options of the commands that count and train: their help, the kinds of `train` that take them, and their errors."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import partial
from typing import Any

import click

import toksmith

from .arguments import PATH, TOKENIZER, completing
from .program import Declaration, Option, options

__all__ = [
    "CHOSEN",
    "FLAGS",
    "bytes_of",
    "counting",
    "in_flags",
    "max_memory",
    "min_count",
    "numbers_of",
    "special_token",
    "spill_to",
    "training",
]

KINDS = toksmith.training_kinds().values()
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
patterns = completing(lambda: [*toksmith.patterns(), "none"])

# The options of `toksmith train` that are passed on as they are, and the arguments that they are passed as.
SINGULAR = {"special_tokens": "special_token", "seed_tokens": "seed_token", "user_symbols": "user_symbol"}
OTHERS = {"corpus", "languages", "development", "ratios", "pattern", "base", "max_memory", "progress"}
ARGUMENTS = [name for name in inspect.signature(toksmith.train).parameters if name not in OTHERS]
CHOSEN = {SINGULAR.get(name, name): name for name in ARGUMENTS}
FLAGS = {name: f"--{option.replace('_', '-')}" for option, name in CHOSEN.items()}
FLAGS |= {"pattern": "--pattern", "base": "--base", "max_memory": "--max-memory"}


def names_of(rows: Iterable[toksmith.TrainingKind]) -> str:
    """The names of kinds; "bpe" for all kinds of it."""
    names = [row.name for row in rows]
    of_bpe = [row.name for row in KINDS if row.name.startswith("bpe ")]
    if {*of_bpe} <= {*names}:
        names = ["bpe", *(name for name in names if name not in of_bpe)]
    return ", ".join(names)


def declared(panel: str, flag: str, help: str, shown: str = "", *, kinds: bool = True, **more: Any) -> Declaration:
    """An option under a heading; its help names the kinds that take it, where not all of them do.

    Args:
        shown: The default in words.
        kinds: Whether the option is one of `train` alone.
    """
    name = flag.partition("/")[0].removeprefix("--").replace("-", "_")
    takers = [row for row in KINDS if CHOSEN.get(name, name) in row.options]
    if kinds and 0 < len(takers) < len(KINDS):
        help = f"{help} For {names_of(takers)}."
    return click.option(flag, cls=Option, panel=panel, help=help, show_default=shown or None, **more)


learning = partial(declared, "Options")
of_characters = partial(declared, "Characters and words")
of_languages = partial(declared, "Several languages")

special_token = learning(
    "--special-token",
    "Special token, which gets one of the last ids; repeatable.",
    "no tokens",
    multiple=True,
    metavar="TOKEN",
)
max_memory = partial(
    declared,
    "Counting",
    "--max-memory",
    "Memory for the table of pieces (512M, 4G); the rest goes to disk.",
    "no limit",
)
spill_to = partial(
    declared,
    "Counting",
    "--spill-to",
    "Folder for the part of the table that goes to disk.",
    "the folder for temporary files",
    type=PATH,
)
min_count = partial(declared, "Counting", help="Leave out pieces that occur less often than this.", shown="1", type=int)


def counting(*, kinds: bool) -> Declaration:
    counted = partial(declared, "Counting", kinds=kinds)
    said = "Split pattern: a name, a regex, or none for no split; repeatable, applied in order."
    return options(
        counted("--pattern", said, "o200k", multiple=True, shell_complete=patterns),
        counted("--field", "Field or column that contains the text.", "text"),
        counted("--max-piece-bytes", "Leave out pieces longer than this.", "no limit", type=int),
        max_memory(kinds=kinds),
        spill_to(kinds=kinds),
        counted("--errors", "For unreadable files and rows.", "stop", type=click.Choice(["stop", "skip"])),
        counted("--threads", "Number of threads.", "all cores", type=int),
    )


training = options(
    learning("--vocab-size", "Stop at this size, special tokens included.", "no limit", type=int),
    learning(
        "--merges", "Stop after this many merges. With neither limit, until no pair repeats.", "no limit", type=int
    ),
    learning(
        "--kind",
        "Kind of tokenizer.",
        "bpe",
        type=click.Choice(list(dict.fromkeys(dict(row.arguments)["kind"] for row in KINDS))),
    ),
    learning(
        "--unit", "What merging starts from; char for bpe of characters.", "byte", type=click.Choice(["byte", "char"])
    ),
    learning(
        "--alphabet", "gpt2 (ids of bytes as in GPT-2); with --unit char: ascii.", "ids 0 to 255 in the order of bytes"
    ),
    special_token,
    learning(
        "--ties", "Which pair wins among equal counts.", "lowest_ids", type=click.Choice(["lowest_ids", "first_seen"])
    ),
    learning(
        "--min-count",
        "Lowest count at which a pair merges.",
        "1; 2 where neither --vocab-size nor --merges is given",
        type=int,
    ),
    learning("--max-token-bytes", "Length limit of a token in bytes.", "no limit", type=int),
    learning(
        "--digits",
        "Size of digit groups; 3_right groups from the right.",
        "none",
        type=click.Choice(["none", "1", "3", "3_right"]),
    ),
    learning(
        "--whole-characters",
        "Forbid tokens that join part of a character with anything else.",
        is_flag=True,
        default=None,
    ),
    learning("--seed-token", "Token to create first; repeatable.", "no tokens", multiple=True),
    learning("--superwords", "Number of merges in a second phase, across words.", "0", type=int),
    learning(
        "--superword-pattern",
        "Split pattern of the second phase.",
        "across words, not across numbers and lines",
        multiple=True,
        shell_complete=patterns,
    ),
    learning("--base", "Tokenizer to continue: a file or a name.", "start from bytes or characters", type=TOKENIZER),
    of_characters("--character-coverage", "Share of the text whose characters get tokens.", "0.9995", type=float),
    of_characters("--byte-fallback", "Encode rare characters as tokens of bytes.", is_flag=True, default=None),
    of_characters("--dummy-prefix/--no-dummy-prefix", "Add a space before each text.", "on", default=None),
    of_characters("--user-symbol", "Symbol that always stays whole; repeatable.", "no symbols", multiple=True),
    of_characters(
        "--unknown-token", "Special token for text without a token.", "none, or <unk> or [UNK] of kinds that need one"
    ),
    of_characters("--end-of-word-suffix", "Mark at the end of words, such as </w>.", "no mark"),
    of_characters("--lowercase/--no-lowercase", "Lowercase texts and strip accents.", "on", default=None),
    of_languages(
        "--parity",
        "The language that is worst off chooses each merge: in the second half, always, or not too often. FILE is then [NAME=]FILE, one file or more for each language.",
        "no languages; hybrid with --development or --ratio",
        type=click.Choice(["hybrid", "parity", "window"]),
    ),
    of_languages(
        "--development",
        "The same text in each language, whose tokens show who is worst off; repeatable.",
        "--ratio",
        multiple=True,
        metavar="[NAME=]FILE",
    ),
    of_languages(
        "--ratio",
        "Wanted compression of a language relative to the others, in place of --development; repeatable.",
        "--development",
        multiple=True,
        metavar="NAME=NUMBER",
    ),
    of_languages(
        "--other",
        "Text of no language, such as code, which counts in global merges; repeatable.",
        "no text",
        multiple=True,
        metavar="FILE",
    ),
    of_languages(
        "--global-merges",
        "How many merges all corpora choose together first.",
        "half of the merges for hybrid, otherwise 0",
        type=int,
    ),
    of_languages("--parity-window", "For window: how many of the last merges count.", "100", type=int),
    of_languages(
        "--parity-alpha", "For window: how many times its equal share a language may choose.", "2.0", type=float
    ),
    counting(kinds=True),
    min_count(flag="--min-piece-count"),
    learning(
        "--checkpoint",
        "File that stores the merges during training; training continues from it.",
        "keep nothing",
        type=PATH,
    ),
)


def bytes_of(text: str, flag: str = "--max-memory") -> int:
    """The number of bytes in a size such as 512M."""
    digits, unit = (text[:-1], UNITS[text[-1:].upper()]) if text[-1:].upper() in UNITS else (text, 1)
    if not (digits.isascii() and digits.isdigit()):
        raise click.BadParameter(f"{text!r} is not a size such as 512M or 4G", param_hint=flag)
    return int(digits) * unit


def numbers_of(words: str, flag: str) -> list[int]:
    """The sizes in a list such as 8000,16000,32000."""
    plain = [word.replace("_", "").strip() for word in words.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 20 for word in plain):
        raise click.BadParameter(f"{words!r} is not a list of sizes such as 8000,16000,32000", param_hint=flag)
    return [int(word) for word in plain]


def in_flags(error: toksmith.InvalidOption) -> toksmith.InvalidOption:
    """The error of `toksmith.train` with the kinds of training, which it lists, as flags."""
    allowed = error.allowed
    for row in KINDS:
        flags = " ".join(f"{FLAGS[name]} {value}" for name, value in row.arguments)
        allowed = allowed.replace(str(row), flags)
    return toksmith.InvalidOption(error.argument, error.value, allowed)
