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
CHARACTERS = "Models of characters, and of words with marks"
KINDS = toksmith.training_kinds().values()
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

# What is counted.
Pattern = Annotated[
    list[str] | None,
    typer.Option(rich_help_panel=COUNTING, help="Split pattern: a name, a regex (again: applied in order), or none."),
]
Field = Annotated[str | None, typer.Option(rich_help_panel=COUNTING, help="The field or column that holds the text.")]
MaxPieceBytes = Annotated[int | None, typer.Option(rich_help_panel=COUNTING, help="Leave out longer pieces.")]
MaxMemory = Annotated[
    str | None, typer.Option(rich_help_panel=COUNTING, help="Bytes of memory for the table (512M, 4G); more on disk.")
]
SpillTo = Annotated[Path | None, typer.Option(rich_help_panel=COUNTING, help="The folder for what goes to disk.")]
Errors = Annotated[
    str | None, typer.Option(rich_help_panel=COUNTING, help="Files and rows that cannot be read: stop or skip.")
]
Threads = Annotated[int | None, typer.Option(rich_help_panel=COUNTING, help="Threads to count with; none: all cores.")]
MinPieceCount = Annotated[
    int | None, typer.Option(rich_help_panel=COUNTING, help="Leave out pieces that occur less often.")
]

# What is learned from it.
VocabSize = Annotated[int | None, typer.Option(help="Stop at this size, special tokens included.")]
MostMerges = Annotated[int | None, typer.Option(help="Stop after so many merges. Neither: until no pair repeats.")]
Kind = Annotated[
    str | None, typer.Option(help=f"{', '.join(dict.fromkeys(dict(row.arguments)['kind'] for row in KINDS))}.")
]
Unit = Annotated[str | None, typer.Option(help="What merging starts from: byte or char.")]
Alphabet = Annotated[str | None, typer.Option(help="For --unit char: ascii. For bytes: gpt2, their order there.")]
Special = Annotated[list[str] | None, typer.Option(help="A special token; may be given again.")]
Ties = Annotated[str | None, typer.Option(help="Equal counts: lowest_ids or first_seen.")]
MinCount = Annotated[int | None, typer.Option(help="Least count of a pair that is merged.")]
MaxTokenBytes = Annotated[int | None, typer.Option(help="Longest token, in bytes.")]
Digits = Annotated[str | None, typer.Option(help="Groups of digits: none, 1, 3 or 3_right (from the right).")]
WholeCharacters = Annotated[
    bool | None,
    typer.Option("--whole-characters", help="No token holds a part of a character and something beside it."),
]
SeedToken = Annotated[list[str] | None, typer.Option(help="A token to make first; may be given again.")]
Superwords = Annotated[int | None, typer.Option(help="Merges of a second phase, across words.")]
SuperwordPattern = Annotated[list[str] | None, typer.Option(help="The split pattern of the second phase.")]
Base = Annotated[str | None, typer.Option(help="A tokenizer, by file or name, to continue.")]
Checkpoint = Annotated[
    Path | None, typer.Option(help="Keep the merges here while training; go on from those that are there.")
]

# Models of characters and of words with marks.
CharacterCoverage = Annotated[
    float | None,
    typer.Option(rich_help_panel=CHARACTERS, help="Models of characters: share of the text that they cover."),
]
ByteFallback = Annotated[
    bool | None,
    typer.Option("--byte-fallback", rich_help_panel=CHARACTERS, help="Rare characters become tokens of bytes."),
]
DummyPrefix = Annotated[
    bool | None,
    typer.Option(
        "--dummy-prefix/--no-dummy-prefix", rich_help_panel=CHARACTERS, help="Whether a text gets a space before it."
    ),
]
UserSymbol = Annotated[
    list[str] | None, typer.Option(rich_help_panel=CHARACTERS, help="A symbol that stays whole; may be given again.")
]
UnknownToken = Annotated[
    str | None, typer.Option(rich_help_panel=CHARACTERS, help="What stands for what has no token.")
]
EndOfWordSuffix = Annotated[
    str | None, typer.Option(rich_help_panel=CHARACTERS, help="A mark at the end of words, such as </w>.")
]
Lowercase = Annotated[
    bool | None,
    typer.Option(
        "--lowercase/--no-lowercase",
        rich_help_panel=CHARACTERS,
        help="For wordpiece: whether case and accents are lost.",
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


def bytes_of(text: str) -> int:
    """The bytes that a size such as 512M stands for."""
    digits, unit = (text[:-1], UNITS[text[-1:].upper()]) if text[-1:].upper() in UNITS else (text, 1)
    if not (digits.isascii() and digits.isdigit()):
        raise typer.BadParameter(f"{text!r} is no size such as 512M or 4G", param_hint="--max-memory")
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
