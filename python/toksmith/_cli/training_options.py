"""The options of the commands that count and train: their help, the kinds of `train` that take them, and their errors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, get_args

import toksmith

from . import params as cli
from .arguments import pattern_names, tokenizers

__all__ = ["CHOSEN", "FLAGS", "bytes_of", "in_flags", "say_kinds"]

COUNTING = "Counting"
CHARACTERS = "Characters and words"
LANGUAGES = "Several languages"
KINDS = toksmith.training_kinds().values()
UNITS_OF_MERGING = ("byte", "char")
TIES = ("lowest_ids", "first_seen")
DIGITS = ("none", "1", "3", "3_right")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

# Counting.
Pattern = Annotated[
    list[str] | None,
    cli.Option(
        panel=COUNTING,
        help="Split pattern: a name, a regex, or none for no split; repeatable, applied in order.",
        default="o200k",
        complete=pattern_names,
    ),
]
Field = Annotated[
    str | None, cli.Option(panel=COUNTING, help="Field or column that contains the text.", default="text")
]
MaxPieceBytes = Annotated[
    int | None, cli.Option(panel=COUNTING, help="Leave out pieces longer than this.", default="no limit")
]
MaxMemory = Annotated[
    str | None,
    cli.Option(
        panel=COUNTING, help="Memory for the table of pieces (512M, 4G); the rest goes to disk.", default="no limit"
    ),
]
SpillTo = Annotated[
    Path | None,
    cli.Option(
        panel=COUNTING,
        help="Folder for the part of the table that goes to disk.",
        default="the folder for temporary files",
    ),
]
Errors = Annotated[
    str | None,
    cli.Option(panel=COUNTING, choices=("stop", "skip"), help="For unreadable files and rows.", default="stop"),
]
Threads = Annotated[int | None, cli.Option(panel=COUNTING, help="Number of threads.", default="all cores")]
MinPieceCount = Annotated[
    int | None, cli.Option(panel=COUNTING, help="Leave out pieces that occur less often than this.", default="1")
]

# Learning.
VocabSize = Annotated[int | None, cli.Option(help="Stop at this size, special tokens included.", default="no limit")]
MostMerges = Annotated[
    int | None,
    cli.Option(help="Stop after this many merges. With neither limit, until no pair repeats.", default="no limit"),
]
Kind = Annotated[
    str | None,
    cli.Option(
        choices=tuple(dict.fromkeys(dict(row.arguments)["kind"] for row in KINDS)),
        help="Kind of tokenizer.",
        default="bpe",
    ),
]
Unit = Annotated[
    str | None,
    cli.Option(choices=UNITS_OF_MERGING, help="What merging starts from; char for bpe of characters.", default="byte"),
]
Alphabet = Annotated[
    str | None,
    cli.Option(
        help="gpt2 (ids of bytes as in GPT-2); with --unit char: ascii.", default="ids 0 to 255 in the order of bytes"
    ),
]
SpecialToken = Annotated[
    list[str] | None,
    cli.Option(
        metavar="TOKEN",
        help="Special token, which gets one of the last ids; repeatable.",
        default="no tokens",
        argument="special_tokens",
    ),
]
OldSpecial = Annotated[list[str] | None, cli.Option("--special", hidden=True)]
Ties = Annotated[str | None, cli.Option(choices=TIES, help="Which pair wins among equal counts.", default="lowest_ids")]
MinCount = Annotated[
    int | None,
    cli.Option(
        help="Lowest count at which a pair merges.", default="1; 2 where neither --vocab-size nor --merges is given"
    ),
]
MaxTokenBytes = Annotated[int | None, cli.Option(help="Length limit of a token in bytes.", default="no limit")]
Digits = Annotated[
    str | None,
    cli.Option(choices=DIGITS, help="Size of digit groups; 3_right groups from the right.", default="none"),
]
WholeCharacters = Annotated[
    bool | None,
    cli.Option("--whole-characters", help="Forbid tokens that join part of a character with anything else."),
]
SeedToken = Annotated[list[str] | None, cli.Option(help="Token to create first; repeatable.", default="no tokens")]
Superwords = Annotated[int | None, cli.Option(help="Number of merges in a second phase, across words.", default="0")]
SuperwordPattern = Annotated[
    list[str] | None,
    cli.Option(
        help="Split pattern of the second phase.",
        default="across words, not across numbers and lines",
        complete=pattern_names,
    ),
]
Base = Annotated[
    str | None,
    cli.Option(
        help="Tokenizer to continue: a file or a name.", default="start from bytes or characters", complete=tokenizers
    ),
]
Checkpoint = Annotated[
    Path | None,
    cli.Option(help="File that stores the merges during training; training continues from it.", default="keep nothing"),
]

# Several languages.
Parity = Annotated[
    str | None,
    cli.Option(
        panel=LANGUAGES,
        choices=("hybrid", "parity", "window"),
        help="The language that is worst off chooses each merge: in the second half, always, or not too often. "
        "FILE is then [NAME=]FILE, one file or more for each language.",
        default="no languages; hybrid with --development or --ratio",
    ),
]
Development = Annotated[
    list[str] | None,
    cli.Option(
        panel=LANGUAGES,
        metavar="[NAME=]FILE",
        help="The same text in each language, whose tokens show who is worst off; repeatable.",
        default="--ratio",
    ),
]
Ratio = Annotated[
    list[str] | None,
    cli.Option(
        panel=LANGUAGES,
        metavar="NAME=NUMBER",
        help="Wanted compression of a language relative to the others, in place of --development; repeatable.",
        default="--development",
        argument="ratios",
    ),
]
Other = Annotated[
    list[str] | None,
    cli.Option(
        panel=LANGUAGES,
        metavar="FILE",
        help="Text of no language, such as code, which counts in global merges; repeatable.",
        default="no text",
        argument="corpus",
    ),
]
GlobalMerges = Annotated[
    int | None,
    cli.Option(
        panel=LANGUAGES,
        help="How many merges all corpora choose together first.",
        default="half of the merges for hybrid, otherwise 0",
    ),
]
ParityWindow = Annotated[
    int | None, cli.Option(panel=LANGUAGES, help="For window: how many of the last merges count.", default="100")
]
ParityAlpha = Annotated[
    float | None,
    cli.Option(
        panel=LANGUAGES, help="For window: how many times its equal share a language may choose.", default="2.0"
    ),
]

# Models of characters and of words with marks.
CharacterCoverage = Annotated[
    float | None,
    cli.Option(panel=CHARACTERS, help="Share of the text whose characters get tokens.", default="0.9995"),
]
ByteFallback = Annotated[
    bool | None,
    cli.Option("--byte-fallback", panel=CHARACTERS, help="Encode rare characters as tokens of bytes."),
]
DummyPrefix = Annotated[
    bool | None,
    cli.Option(
        "--dummy-prefix/--no-dummy-prefix", panel=CHARACTERS, help="Add a space before each text.", default="on"
    ),
]
UserSymbol = Annotated[
    list[str] | None,
    cli.Option(panel=CHARACTERS, help="Symbol that always stays whole; repeatable.", default="no symbols"),
]
UnknownToken = Annotated[
    str | None,
    cli.Option(
        panel=CHARACTERS,
        help="Special token for text without a token.",
        default="none, or <unk> or [UNK] of kinds that need one",
    ),
]
EndOfWordSuffix = Annotated[
    str | None, cli.Option(panel=CHARACTERS, help="Mark at the end of words, such as </w>.", default="no mark")
]
Lowercase = Annotated[
    bool | None,
    cli.Option(
        "--lowercase/--no-lowercase",
        panel=CHARACTERS,
        help="Lowercase texts and strip accents.",
        default="on",
    ),
]

# The options of `toksmith train` that are passed on as they are, and the arguments that they are passed as.
CHOSEN = {
    **{name: name for name in ("vocab_size", "merges", "kind", "unit", "alphabet", "ties", "min_count", "threads")},
    **{
        name: name
        for name in ("max_token_bytes", "digits", "whole_characters", "superwords", "superword_pattern", "checkpoint")
    },
    **{name: name for name in ("character_coverage", "byte_fallback", "dummy_prefix", "unknown_token", "lowercase")},
    **{name: name for name in ("end_of_word_suffix", "min_piece_count", "max_piece_bytes", "spill_to", "errors")},
    **{name: name for name in ("parity", "global_merges", "parity_window", "parity_alpha")},
    "special_token": "special_tokens",
    "seed_token": "seed_tokens",
    "user_symbol": "user_symbols",
}


def bytes_of(text: str, flag: str = "--max-memory") -> int:
    """The number of bytes in a size such as 512M."""
    digits, unit = (text[:-1], UNITS[text[-1:].upper()]) if text[-1:].upper() in UNITS else (text, 1)
    if not (digits.isascii() and digits.isdigit()):
        raise cli.BadParameter(f"{text!r} is not a size such as 512M or 4G", param_hint=flag)
    return int(digits) * unit


FLAGS = {name: f"--{option.replace('_', '-')}" for option, name in CHOSEN.items()}
FLAGS |= {"pattern": "--pattern", "base": "--base", "max_memory": "--max-memory"}


def say_kinds(function: Callable[..., None]) -> Callable[..., None]:
    """The command `train`, whose help names the kinds that take an option, where not all of them do."""
    for name, annotation in cli.hints_of(function).items():
        takers = [row for row in KINDS if CHOSEN.get(name, name) in row.options]
        if 0 < len(takers) < len(KINDS):
            value, info = get_args(annotation)
            told = copy.copy(info)
            told.help = f"{info.help} For {names_of(takers)}."
            function.__annotations__[name] = Annotated[value, told]
    return function


def names_of(rows: Iterable[toksmith.TrainingKind]) -> str:
    """The names of kinds; "bpe" for all kinds of it."""
    names = [row.name for row in rows]
    of_bpe = [row.name for row in KINDS if row.name.startswith("bpe ")]
    if {*of_bpe} <= {*names}:
        names = ["bpe", *(name for name in names if name not in of_bpe)]
    return ", ".join(names)


def in_flags(error: toksmith.InvalidOption) -> toksmith.InvalidOption:
    """The error of `toksmith.train` with the kinds of training, which it lists, as flags."""
    allowed = error.allowed
    for row in KINDS:
        flags = " ".join(f"{FLAGS[name]} {value}" for name, value in row.arguments)
        allowed = allowed.replace(str(row), flags)
    return toksmith.InvalidOption(error.argument, error.value, allowed)
