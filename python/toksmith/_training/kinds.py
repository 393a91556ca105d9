"""The kinds that `train` can train: one row per kind, with the arguments that select it and the options it takes.

`train` refuses an option that the row of the chosen kind does not list. `toksmith train --help` and the table in
docs/spec.md show the same rows. Left out: the valid values of an option.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..errors import InvalidOption

EVERY_KIND = ("corpus", "vocab_size", "kind", "unit", "pattern", "special_tokens", "threads", "progress")
MERGING = ("merges", "ties", "min_count", "max_token_bytes")
RARE_AND_LONG = ("min_piece_count", "max_piece_bytes")
COUNTING = (*RARE_AND_LONG, "max_memory", "spill_to", "errors")
CHARACTERS = ("character_coverage", "unknown_token")
AS_SENTENCEPIECE = (*CHARACTERS, "byte_fallback", "dummy_prefix", "user_symbols")
BYTES = ("alphabet", "digits", "whole_characters", "seed_tokens", "base", "checkpoint")
SUPERWORDS = ("superwords", "superword_pattern")
LANGUAGES = ("parity", "languages", "development", "ratios", "global_merges", "parity_window", "parity_alpha")


@dataclass(frozen=True)
class TrainingKind:
    """One kind of tokenizer that `train` makes.

    Attributes: `name`; `arguments` of `train` that select this kind;
        `options`, the arguments of `train` that it takes.
    """

    name: str
    arguments: tuple[tuple[str, str], ...]
    options: frozenset[str]

    def __str__(self) -> str:
        """The arguments as in a call."""
        return " with ".join(f"{name}={value!r}" for name, value in self.arguments)


def make_kind(name: str, arguments: Mapping[str, str], *options: str) -> TrainingKind:
    """A row, which also takes the options of every kind."""
    return TrainingKind(name, tuple(arguments.items()), frozenset([*EVERY_KIND, *options]))


KINDS = (
    # Also unit="char" with alphabet="ascii": ASCII characters are single bytes.
    make_kind("bpe of bytes", {"kind": "bpe", "unit": "byte"}, *BYTES, *SUPERWORDS, *LANGUAGES, *MERGING, *COUNTING),
    make_kind("bpe of characters", {"kind": "bpe", "unit": "char"}, *AS_SENTENCEPIECE, *MERGING, *RARE_AND_LONG),
    make_kind(
        "bpe with word ends",
        {"kind": "bpe", "end_of_word_suffix": "</w>"},
        *(*CHARACTERS, "end_of_word_suffix", *MERGING),
    ),
    make_kind("unigram", {"kind": "unigram"}, *AS_SENTENCEPIECE, *RARE_AND_LONG),
    make_kind("wordpiece", {"kind": "wordpiece"}, *CHARACTERS, "lowercase", *MERGING),
    make_kind("chars", {"kind": "chars"}, "min_count", "unknown_token", *COUNTING),
    make_kind("words", {"kind": "words"}, "min_count", "unknown_token", *COUNTING),
)
BY_NAME = MappingProxyType({row.name: row for row in KINDS})


def training_kinds() -> Mapping[str, TrainingKind]:
    """The kinds of tokenizers that `train` makes, and the options that each takes.

    Returns: a read-only mapping of names to `TrainingKind`.

    >>> import toksmith
    >>> [str(row) for row in toksmith.training_kinds().values() if "byte_fallback" in row.options]
    ["kind='bpe' with unit='char'", "kind='unigram'"]
    """
    return BY_NAME


def select_kind(name: str, unit: str, alphabet: str | None, end_of_word_suffix: str) -> TrainingKind:
    names = list(dict.fromkeys(dict(row.arguments)["kind"] for row in KINDS))
    if name not in names:
        raise InvalidOption("kind", name, join_words(map(repr, names), "or"))
    if unit not in ("byte", "char"):
        raise InvalidOption("unit", unit, "'byte' or 'char'")
    if name != "bpe":
        return BY_NAME[name]
    if end_of_word_suffix:
        return BY_NAME["bpe with word ends"]
    return BY_NAME["bpe of characters" if unit == "char" and alphabet is None else "bpe of bytes"]


def refuse_untaken(kind: str, values: Mapping[str, object], defaults: Mapping[str, object]) -> None:
    """Raises InvalidOption for an argument that the chosen kind does not take, unless it has its default."""
    kind_row = BY_NAME[kind]
    for option, default in defaults.items():
        if option not in kind_row.options and values[option] != default:
            takers = [str(row) for row in KINDS if option in row.options]
            does = "does" if len(takers) == 1 else "do"
            why = f"{kind_row} does not take this option, only {join_words(takers, 'and')} {does}"
            raise InvalidOption(option, values[option], f"the default, {default!r}: {why}")


def join_words(words: Iterable[str], conjunction: str) -> str:
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last
