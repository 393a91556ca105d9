"""The options of the commands that count and train: their help, the kinds of `train` that take them, and their errors."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, get_args, get_type_hints

import typer

import toksmith

__all__ = ["CHOSEN", "bytes_of", "in_flags", "say_kinds"]

COUNTING = "Counting"
CHARACTERS = "Characters and words"
KINDS = toksmith.training_kinds().values()
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

# Counting.
Pattern = Annotated[
    list[str] | None,
    typer.Option(
        rich_help_panel=COUNTING, help="Split pattern: a name, a regex, or none; repeatable, applied in order."
    ),
]
Field = Annotated[str | None, typer.Option(rich_help_panel=COUNTING, help="Field or column that contains the text.")]
MaxPieceBytes = Annotated[int | None, typer.Option(rich_help_panel=COUNTING, help="Leave out pieces longer than this.")]
MaxMemory = Annotated[
    str | None,
    typer.Option(rich_help_panel=COUNTING, help="Memory for the table of pieces (512M, 4G); the rest goes to disk."),
]
SpillTo = Annotated[
    Path | None, typer.Option(rich_help_panel=COUNTING, help="Folder for the part of the table that goes to disk.")
]
Errors = Annotated[
    str | None, typer.Option(rich_help_panel=COUNTING, help="For unreadable files and rows: stop or skip.")
]
Threads = Annotated[int | None, typer.Option(rich_help_panel=COUNTING, help="Number of threads; all cores by default.")]
MinPieceCount = Annotated[
    int | None, typer.Option(rich_help_panel=COUNTING, help="Leave out pieces that occur less often than this.")
]

# Learning.
VocabSize = Annotated[int | None, typer.Option(help="Stop at this size, special tokens included.")]
MostMerges = Annotated[
    int | None, typer.Option(help="Stop after this many merges. With neither option, until no pair repeats.")
]
Kind = Annotated[
    str | None,
    typer.Option(help=f"Kind of tokenizer: {', '.join(dict.fromkeys(dict(row.arguments)['kind'] for row in KINDS))}."),
]
Unit = Annotated[str | None, typer.Option(help="What merging starts from: byte, or char for bpe of characters.")]
Alphabet = Annotated[str | None, typer.Option(help="gpt2 (ids of bytes as in GPT-2); with --unit char: ascii.")]
Special = Annotated[list[str] | None, typer.Option(help="Special token; repeatable.")]
Ties = Annotated[str | None, typer.Option(help="Which pair wins among equal counts: lowest_ids or first_seen.")]
MinCount = Annotated[int | None, typer.Option(help="Lowest count at which a pair merges.")]
MaxTokenBytes = Annotated[int | None, typer.Option(help="Length limit of a token in bytes.")]
Digits = Annotated[str | None, typer.Option(help="Size of digit groups: none, 1, 3 or 3_right (from the right).")]
WholeCharacters = Annotated[
    bool | None,
    typer.Option("--whole-characters", help="Forbid tokens that join part of a character with anything else."),
]
SeedToken = Annotated[list[str] | None, typer.Option(help="Token to create first; repeatable.")]
Superwords = Annotated[int | None, typer.Option(help="Number of merges in a second phase, across words.")]
SuperwordPattern = Annotated[list[str] | None, typer.Option(help="Split pattern of the second phase.")]
Base = Annotated[str | None, typer.Option(help="Tokenizer to continue: a file or a name.")]
Checkpoint = Annotated[
    Path | None, typer.Option(help="File that stores the merges during training; training continues from it.")
]

# Models of characters and of words with marks.
CharacterCoverage = Annotated[
    float | None,
    typer.Option(rich_help_panel=CHARACTERS, help="Share of the text whose characters get tokens."),
]
ByteFallback = Annotated[
    bool | None,
    typer.Option("--byte-fallback", rich_help_panel=CHARACTERS, help="Encode rare characters as tokens of bytes."),
]
DummyPrefix = Annotated[
    bool | None,
    typer.Option(
        "--dummy-prefix/--no-dummy-prefix", rich_help_panel=CHARACTERS, help="Whether to add a space before each text."
    ),
]
UserSymbol = Annotated[
    list[str] | None, typer.Option(rich_help_panel=CHARACTERS, help="Symbol that always stays whole; repeatable.")
]
UnknownToken = Annotated[
    str | None, typer.Option(rich_help_panel=CHARACTERS, help="Special token for text without a token.")
]
EndOfWordSuffix = Annotated[
    str | None, typer.Option(rich_help_panel=CHARACTERS, help="Mark at the end of words, such as </w>.")
]
Lowercase = Annotated[
    bool | None,
    typer.Option(
        "--lowercase/--no-lowercase",
        rich_help_panel=CHARACTERS,
        help="Whether to lowercase texts and strip accents.",
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
    "special": "special_tokens",
    "seed_token": "seed_tokens",
    "user_symbol": "user_symbols",
}


def bytes_of(text: str, flag: str = "--max-memory") -> int:
    """The number of bytes in a size such as 512M."""
    digits, unit = (text[:-1], UNITS[text[-1:].upper()]) if text[-1:].upper() in UNITS else (text, 1)
    if not (digits.isascii() and digits.isdigit()):
        raise typer.BadParameter(f"{text!r} is not a size such as 512M or 4G", param_hint=flag)
    return int(digits) * unit


FLAGS = {name: f"--{option.replace('_', '-')}" for option, name in CHOSEN.items()}
FLAGS |= {"pattern": "--pattern", "base": "--base", "max_memory": "--max-memory"}


def say_kinds(function: Callable[..., None]) -> Callable[..., None]:
    """The command `train`, whose help names the kinds that take an option, where not all of them do."""
    for name, annotation in get_type_hints(function, include_extras=True).items():
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
    """The error of `toksmith.train` with flags in place of arguments."""
    allowed = error.allowed
    for row in KINDS:
        flags = " ".join(f"{FLAGS[name]} {value}" for name, value in row.arguments)
        allowed = allowed.replace(str(row), flags)
    for name, flag in FLAGS.items():
        if "_" in name:  # the others are ordinary words
            allowed = re.sub(rf"\b{name}\b", flag, allowed)
    return toksmith.InvalidOption(FLAGS.get(error.argument, error.argument), error.value, allowed)
