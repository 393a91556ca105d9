"""The options of the commands that count and train: their help, the kinds that take them, and their errors."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import partial
from typing import Any

import click

import toksmith

from .arguments import PATH, TOKENIZER, complete_from
from .program import Declaration, Option, options

KINDS = toksmith.training_kinds().values()
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
patterns = complete_from(lambda: [*toksmith.patterns(), "none"])

# The options of `toksmith train` that are passed on unchanged, and their argument names.
SINGULAR = {"special_tokens": "special_token", "seed_tokens": "seed_token", "user_symbols": "user_symbol"}
OTHERS = {"corpus", "languages", "development", "ratios", "pattern", "base", "max_memory", "progress"}
ARGUMENTS = [name for name in inspect.signature(toksmith.train).parameters if name not in OTHERS]
CHOSEN = {SINGULAR.get(name, name): name for name in ARGUMENTS}
FLAGS = {name: f"--{option.replace('_', '-')}" for option, name in CHOSEN.items()}
FLAGS |= {"pattern": "--pattern", "base": "--base", "max_memory": "--max-memory"}


def join_kind_names(rows: Iterable[toksmith.types.TrainingKind]) -> str:
    """The names of kinds; "bpe" stands for all kinds of BPE."""
    names = [row.name for row in rows]
    of_bpe = [row.name for row in KINDS if row.name.startswith("bpe ")]
    if {*of_bpe} <= {*names}:
        names = ["bpe", *(name for name in names if name not in of_bpe)]
    return ", ".join(names)


def declare_option(
    panel: str, flag: str, help: str, default_text: str = "", *, kinds: bool = True, **more: Any
) -> Declaration:
    """An option under a heading; its help names the kinds that take it, unless all do.

    Args:
        default_text: The default.
        kinds: Whether only `train` has the option.
    """
    name = flag.partition("/")[0].removeprefix("--").replace("-", "_")
    takers = [row for row in KINDS if CHOSEN.get(name, name) in row.options]
    if kinds and 0 < len(takers) < len(KINDS):
        help = f"{help} For {join_kind_names(takers)}."
    return click.option(flag, cls=Option, panel=panel, help=help, show_default=default_text or None, **more)


learning = partial(declare_option, "Options")
of_merges = partial(declare_option, "Merges")
of_characters = partial(declare_option, "Characters and words")
of_languages = partial(declare_option, "Several languages")

special_token = learning(
    "--special-token",
    "Special token, which gets one of the last ids; repeatable.",
    "no tokens",
    multiple=True,
    metavar="TOKEN",
)
max_memory = partial(
    declare_option,
    "Counting",
    "--max-memory",
    "Memory for the table of pieces (512M, 4G); the rest goes to disk.",
    "no limit",
)
spill_to = partial(
    declare_option,
    "Counting",
    "--spill-to",
    "Folder for the part of the table that goes to disk.",
    "the folder for temporary files",
    type=PATH,
)
min_count = partial(declare_option, "Counting", help="Leave out pieces with a lower count.", default_text="1", type=int)


def counting(*, kinds: bool) -> Declaration:
    option = partial(declare_option, "Counting" if kinds else "Options", kinds=kinds)
    common = partial(declare_option, "Options", kinds=kinds)
    pattern_help = "Split pattern: a name, a regex, or none for no split; repeatable, applied in order."
    return options(
        common("--pattern", pattern_help, "o200k", multiple=True, shell_complete=patterns),
        common("--field", "Field or column that contains the text.", "text"),
        option("--max-piece-bytes", "Leave out pieces longer than this, in bytes.", "no limit", type=int),
        max_memory(kinds=kinds),
        spill_to(kinds=kinds),
        option("--errors", "Action for unreadable files and rows.", "stop", type=click.Choice(["stop", "skip"])),
        common("--threads", "Number of threads.", "all cores", type=int),
    )


training = options(
    learning("--vocab-size", "Maximum number of tokens, with special tokens.", "no limit", type=int),
    learning("--merges", "Maximum number of merges. With neither limit, until no pair repeats.", "no limit", type=int),
    learning(
        "--kind",
        "Kind of tokenizer.",
        "bpe",
        type=click.Choice(list(dict.fromkeys(dict(row.arguments)["kind"] for row in KINDS))),
    ),
    learning(
        "--unit", "First symbols of merging; char for bpe of characters.", "byte", type=click.Choice(["byte", "char"])
    ),
    of_merges(
        "--alphabet", "gpt2 (ids of bytes as in GPT-2); with --unit char: ascii.", "ids 0 to 255 in the order of bytes"
    ),
    special_token,
    of_merges(
        "--ties", "Winner among pairs with equal counts.", "lowest_ids", type=click.Choice(["lowest_ids", "first_seen"])
    ),
    learning(
        "--min-count",
        "Lowest count at which a pair merges.",
        "1; 2 where neither --vocab-size nor --merges is given",
        type=int,
    ),
    of_merges("--max-token-bytes", "Maximum length of a token in bytes.", "no limit", type=int),
    of_merges(
        "--digits",
        "Size of digit groups; 3_right groups from the right.",
        "none",
        type=click.Choice(["none", "1", "3", "3_right"]),
    ),
    of_merges(
        "--whole-characters",
        "Forbid tokens that join part of a character with other bytes.",
        is_flag=True,
        default=None,
    ),
    of_merges("--seed-token", "Token to create first; repeatable.", "no tokens", multiple=True),
    of_merges("--superwords", "Number of merges in a second phase, across words.", "0", type=int),
    of_merges(
        "--superword-pattern",
        "Split pattern of the second phase.",
        "across words, not across numbers and lines",
        multiple=True,
        shell_complete=patterns,
    ),
    of_merges("--base", "Tokenizer to continue: a file or a name.", "start from bytes or characters", type=TOKENIZER),
    of_characters("--character-coverage", "Share of the text whose characters get tokens.", "0.9995", type=float),
    of_characters("--byte-fallback", "Encode rare characters as tokens of bytes.", is_flag=True, default=None),
    of_characters("--dummy-prefix/--no-dummy-prefix", "Add a space before each text.", "on", default=None),
    of_characters("--user-symbol", "Symbol that is never split; repeatable.", "no symbols", multiple=True),
    of_characters(
        "--unknown-token", "Special token for text without a token.", "none, or <unk> or [UNK] of kinds that need one"
    ),
    of_characters("--end-of-word-suffix", "Mark at the end of words, such as </w>.", "no mark"),
    of_characters("--lowercase/--no-lowercase", "Lowercase texts and strip accents.", "on", default=None),
    of_languages(
        "--parity",
        "The worst-compressed language chooses merges: in the second half, always, or limited by a window. FILE is then [NAME=]FILE, one file or more for each language.",
        "no languages; hybrid with --development or --ratio",
        type=click.Choice(["hybrid", "parity", "window"]),
    ),
    of_languages(
        "--development",
        "The same text in each language, whose tokens show the worst-compressed language; repeatable.",
        "--ratio",
        multiple=True,
        metavar="[NAME=]FILE",
    ),
    of_languages(
        "--ratio",
        "Target compression of a language relative to the others, in place of --development; repeatable.",
        "--development",
        multiple=True,
        metavar="NAME=NUMBER",
    ),
    of_languages(
        "--other",
        "Text outside the languages, such as code; counts in global merges; repeatable.",
        "no text",
        multiple=True,
        metavar="FILE",
    ),
    of_languages(
        "--global-merges",
        "Number of first merges that all corpora choose together.",
        "half of the merges for hybrid, otherwise 0",
        type=int,
    ),
    of_languages("--parity-window", "For window: number of last merges that count.", "100", type=int),
    of_languages("--parity-alpha", "For window: maximum choices of a language, in equal shares.", "2.0", type=float),
    counting(kinds=True),
    min_count(flag="--min-piece-count"),
    of_merges(
        "--checkpoint",
        "File for the merges so far; training continues from it.",
        "keep nothing",
        type=PATH,
    ),
)


def parse_size(text: str, flag: str = "--max-memory") -> int:
    """The number of bytes of a size such as 512M."""
    digits, unit = (text[:-1], UNITS[text[-1:].upper()]) if text[-1:].upper() in UNITS else (text, 1)
    if not (digits.isascii() and digits.isdigit()):
        raise click.BadParameter(f"{text!r} is not a size such as 512M or 4G", param_hint=flag)
    return int(digits) * unit


def parse_numbers(words: str, flag: str) -> list[int]:
    """The numbers in a list such as 8000,16000,32000."""
    plain = [word.replace("_", "").strip() for word in words.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 20 for word in plain):
        raise click.BadParameter(f"{words!r} is not a list of sizes such as 8000,16000,32000", param_hint=flag)
    return [int(word) for word in plain]


def kinds_as_flags(error: toksmith.errors.InvalidOption) -> toksmith.errors.InvalidOption:
    """The error of `toksmith.train` with the kinds of training in its text written as flags."""
    allowed = error.allowed
    for row in KINDS:
        flags = " ".join(f"{FLAGS[name]} {value}" for name, value in row.arguments)
        allowed = allowed.replace(str(row), flags)
    return toksmith.errors.InvalidOption(error.argument, error.value, allowed)
