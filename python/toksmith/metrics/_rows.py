"""The metrics: one row and one function each. A value is a numerator divided by a denominator, None if the denominator
is zero.

A new metric is a function of a `Sample` and a row of `METRICS`. Each row states the limits of its figure. Left out: any
single score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._sample import DIGITS, SPACES, TABS, Sample


class Parts(NamedTuple):
    """The parts of a value, which is `numerator / denominator`."""

    numerator: float
    denominator: float


class Metric(NamedTuple):
    """One row.

    Attributes:
        name: Its name in `measure`.
        function: The parts of the value.
        counted: The unit of the numerator.
        over: The unit of the denominator.
        better: The better direction, all else equal; "" for neither.
        hides: The limits of the figure, in one sentence.
        source: The paper that defines it.
    """

    name: str
    function: Callable[[Sample], Parts]
    counted: str
    over: str
    better: Literal["higher", "lower", ""]
    hides: str
    source: str = ""

    @property
    def unit(self) -> str:
        """The unit of the value."""
        over = self.over.split()
        same = self.counted.split()[-1] in (over[0], over[-1])
        return f"share of {self.over}" if same else f"{self.counted} per {singular(self.over)}"


def singular(words: str) -> str:
    """The singular of a unit such as `words`."""
    return {"bytes": "byte", "entries": "entry"}.get(words, words.removesuffix("s"))


def bytes_per_token(sample: Sample) -> Parts:
    """UTF-8 bytes per token: a ratio of totals, not a mean over documents."""
    return Parts(sample.bytes, sample.tokens)


def chars_per_token(sample: Sample) -> Parts:
    """Characters (code points) per token."""
    return Parts(sample.chars, sample.tokens)


def fertility(sample: Sample) -> Parts:
    """Tokens per word, including the space before the word; 1.0 means that no word is cut."""
    return Parts(sample.word_tokens, sample.words)


def continued_words(sample: Sample) -> Parts:
    """Running words in two tokens or more."""
    return Parts(sample.cut_words, sample.words)


def single_token_words(sample: Sample) -> Parts:
    """Running words in one token: 1 - `continued_words`."""
    return Parts(sample.words - sample.cut_words, sample.words)


def vocabulary_used(sample: Sample) -> Parts:
    """Entries of the vocabulary that the corpus used."""
    return Parts(int(np.count_nonzero(sample.emitted)), sample.entries if sample.tokens else 0)


def entropy(shares: NDArray[np.float64]) -> float:
    """Bits; 0 for one outcome."""
    return abs(float(-(shares * np.log2(shares)).sum()))


def shannon_efficiency(sample: Sample) -> Parts:
    """The entropy of single tokens, divided by the entropy of an even use of all entries."""
    if not sample.tokens:
        return Parts(0, 0)
    return Parts(entropy(sample._shares), float(np.log2(sample.entries)))


def renyi_efficiency(sample: Sample) -> Parts:
    """As `shannon_efficiency`, with Rényi's entropy of order 2.5, which weighs frequent tokens more."""
    if not sample.tokens:
        return Parts(0, 0)
    bits = float(np.log2((sample._shares**2.5).sum())) / (1 - 2.5)
    return Parts(abs(bits), float(np.log2(sample.entries)))


def unigram_bits_per_byte(sample: Sample) -> Parts:
    """Bits of all tokens under their own frequencies, for each byte of text."""
    bits = entropy(sample._shares) * sample.tokens if sample.tokens else 0
    return Parts(bits, sample.bytes)


def vocabulary_token_bytes(sample: Sample) -> Parts:
    """The mean length of an entry."""
    lengths, special = sample.vocabulary.lengths, sample.vocabulary.special
    return Parts(int(lengths.sum() - lengths[special].sum()), sample.entries - int(np.count_nonzero(special)))


def partial_entries(sample: Sample) -> Parts:
    """Entries that are not whole characters: not valid UTF-8 alone."""
    tokens = sample.vocabulary
    return Parts(int(tokens.partial.sum()), sample.entries)


def partial_tokens(sample: Sample) -> Parts:
    """Emitted tokens that are not whole characters."""
    return Parts(int(sample.emitted[sample.vocabulary.partial].sum()), sample.tokens)


def cut_characters(sample: Sample) -> Parts:
    """Characters that the end of a token cuts; the token then holds their first bytes."""
    return Parts(int(sample.emitted[sample.vocabulary.ends_inside].sum()), sample.chars)


def numbers_of(sample: Sample, digits: int) -> NDArray[np.uint64]:
    """The occurrences of each way to cut numbers of a given length, by the bits of the cuts."""
    return sample.numbers[1 << (digits - 1) : 1 << digits]


@cache
def alignment_scores(digits: int) -> NDArray[np.float64]:
    """For each way to cut a number, the F1 score of its cuts against cuts before every third digit from the right.

    1.0 for no cut where none is expected.
    """
    ideal = sum(1 << (place - 1) for place in range(digits - 3, 0, -3))
    scores = []
    for cuts in range(1 << (digits - 1)):
        both, total = (cuts & ideal).bit_count(), cuts.bit_count() + ideal.bit_count()
        scores.append(2 * both / total if total else 1.0)
    return np.array(scores)


def digit_alignment(sample: Sample) -> Parts:
    """The F1 score of a number's cuts against groups of three from the right; the mean over numbers of 4 to 12 digits."""
    lengths = range(4, DIGITS + 1)
    score = sum(float((numbers_of(sample, digits) * alignment_scores(digits)).sum()) for digits in lengths)
    return Parts(score, int(sum(numbers_of(sample, digits).sum() for digits in lengths)))


def digit_pattern_entropy(sample: Sample) -> Parts:
    """The entropy of the ways to cut numbers of one length; the mean over numbers of 2 to 12 digits."""
    bits = numbers = 0.0
    for digits in range(2, DIGITS + 1):
        ways = numbers_of(sample, digits)
        if many := int(ways.sum()):
            bits += entropy(ways[ways > 0] / many) * many
            numbers += many
    return Parts(bits, int(numbers))


def indentation(sample: Sample) -> Parts:
    """Tokens that end in or at the end of a line's indentation."""
    lines, tokens = sample.indents.sum(axis=0).tolist()
    return Parts(tokens, lines)


def white_tokens(sample: Sample) -> Parts:
    """Emitted tokens that are only white space."""
    return Parts(int(sample.emitted[sample.vocabulary.white].sum()), sample.tokens)


def glued_spaces(sample: Sample) -> Parts:
    """Words after a space that share a token with it; a prompt that ends in this space is cut unlike any training text."""
    return Parts(sample.glued, sample.spaced)


def round_trip(sample: Sample) -> Parts:
    """Documents that decoding restores byte for byte."""
    return Parts(sample.documents - sample.changed, sample.documents)


RUST = "Rust et al., ACL 2021"
ROWS = (
    Metric(
        *("bytes_per_token", bytes_per_token, "bytes", "tokens", "higher"),
        "It ignores where texts are cut, and a script with three bytes per letter looks three times as good.",
    ),
    Metric(
        *("chars_per_token", chars_per_token, "characters", "tokens", "higher"),
        "Characters of different scripts carry different amounts of meaning, so it compares tokenizers, not languages.",
    ),
    Metric(
        *("fertility", fertility, "tokens", "words", "lower"),
        "In a script without spaces a whole sentence is one word; it ignores where a word is cut.",
        RUST,
    ),
    Metric(
        *("continued_words", continued_words, "cut words", "words", "lower"),
        "It counts running words, so a few frequent words decide, and a word of two tokens weighs as much as a word of ten.",
        RUST,
    ),
    Metric(
        *("single_token_words", single_token_words, "whole words", "words", "higher"),
        "It counts running words; far fewer of the distinct words are whole.",
        "arXiv 2510.09947",
    ),
    Metric(
        *("vocabulary_used", vocabulary_used, "used entries", "entries", "higher"),
        "It grows with the corpus, so compare only samples of equal size; an entry for another language is not waste.",
    ),
    Metric(
        *("shannon_efficiency", shannon_efficiency, "bits", "bits of even use", "higher"),
        "It can rise without any gain for a model, and larger vocabularies score lower because of their size alone.",
        "Zouhar et al., ACL 2023",
    ),
    Metric(
        *("renyi_efficiency", renyi_efficiency, "bits", "bits of even use", "higher"),
        "The order 2.5 was fitted to translation; it can rise while translations get worse (Cognetta and others, 2024).",
        "Zouhar et al., ACL 2023",
    ),
    Metric(
        *("unigram_bits_per_byte", unigram_bits_per_byte, "bits", "bytes", "lower"),
        "It ignores the cost of the vocabulary and everything that a model learns from the order of tokens.",
    ),
    Metric(
        *("vocabulary_token_bytes", vocabulary_token_bytes, "bytes", "entries", ""),
        "Long entries can stay unused; compare with bytes_per_token.",
    ),
    Metric(
        *("partial_entries", partial_entries, "partial entries", "entries", ""),
        "The share of the vocabulary and the share of emitted tokens differ by a factor of a hundred.",
    ),
    Metric(
        *("partial_tokens", partial_tokens, "partial tokens", "tokens", "lower"),
        "It depends on the script of the text far more than on the tokenizer.",
    ),
    Metric(
        *("cut_characters", cut_characters, "cut characters", "characters", "lower"),
        "It does not show the cost of a cut character for a model; streams must hold its bytes back.",
    ),
    Metric(
        *("digit_alignment", digit_alignment, "F1 score", "numbers", "higher"),
        "Consistent cuts from the left score 0 too; digit_pattern_entropy distinguishes them from random cuts.",
        "Singh and Strouse, arXiv 2402.14903",
    ),
    Metric(
        *("digit_pattern_entropy", digit_pattern_entropy, "bits", "numbers", "lower"),
        "0 means that all numbers of one length are cut alike, not that they are cut well.",
    ),
    Metric(
        *("indentation", indentation, "tokens", "indented lines", "lower"),
        "One token for an indentation is cheap, but the model must then learn the depth from an id.",
    ),
    Metric(
        *("white_tokens", white_tokens, "white tokens", "tokens", ""),
        "White space inside the token of a word is not counted.",
    ),
    Metric(
        *("glued_spaces", glued_spaces, "glued words", "words after a space", ""),
        "Most vocabularies score high by design; it counts how often a trailing space in a prompt hurts, not how much.",
    ),
    Metric(
        *("round_trip", round_trip, "unchanged documents", "documents", "higher"),
        "One changed byte counts as much as a lost page; lone surrogates are replaced before counting.",
    ),
)

METRICS: Mapping[str, Metric] = MappingProxyType({row.name: row for row in ROWS})


# Results with several numbers. A table is a name, heads and rows of JSON values; it has rows only for values in the corpus.

Row = Sequence[int | float | str]


class Figures(NamedTuple):
    """One table: its name, its caption, the heads, and the rows of a sample."""

    name: str
    says: str
    heads: tuple[str, ...]
    rows: Callable[[Sample], list[Row]]


def token_lengths(sample: Sample) -> list[Row]:
    """By length in bytes: entries of the vocabulary, and emitted tokens."""
    lengths = sample.vocabulary.lengths
    entries = np.bincount(lengths)
    emitted = np.zeros(len(entries), np.uint64)
    np.add.at(emitted, lengths, sample.emitted)
    return [[size, int(entries[size]), int(emitted[size])] for size in np.flatnonzero(entries).tolist()]


def number_cuts(sample: Sample) -> list[Row]:
    """By digits: numbers, mean F1 score against groups of three from the right, number of ways to cut them, entropy, and the
    most frequent way."""
    rows: list[Row] = []
    for digits in range(1, DIGITS + 1):
        ways = numbers_of(sample, digits)
        if many := int(ways.sum()):
            score = float((ways * alignment_scores(digits)).sum()) / many
            bits = entropy(ways[ways > 0] / many)
            rows.append(
                [digits, many, score, int(np.count_nonzero(ways)), bits, format_cuts(digits, int(ways.argmax()))]
            )
    return rows


def format_cuts(digits: int, cuts: int) -> str:
    """A way to cut a number, as the digits of each token: `3+1`."""
    ends = [place for place in range(1, digits) if cuts >> (place - 1) & 1] + [digits]
    return "+".join(str(end - start) for start, end in zip([0, *ends], ends, strict=False))


def indent_levels(sample: Sample) -> list[Row]:
    """By indentation: lines, tokens that end in it, and tokens for each line."""
    names = [f"{width} space{'s' * (width > 1)}" for width in range(1, SPACES + 1)]
    names += [f"{width} tab{'s' * (width > 1)}" for width in range(1, TABS + 1)]
    counts = zip([*names, "mixed or wider"], sample.indents.tolist(), strict=True)
    return [[name, lines, tokens, tokens / lines] for name, (lines, tokens) in counts if lines]


TABLES = (
    Figures(
        "token_lengths",
        "Tokens by their length in bytes",
        ("bytes", "entries of the vocabulary", "emitted tokens"),
        token_lengths,
    ),
    Figures(
        "number_cuts",
        "Numbers by their digits; F1 against groups of three from the right",
        ("digits", "numbers", "F1 score", "ways to cut", "entropy in bits", "most often"),
        number_cuts,
    ),
    Figures(
        "indent_levels",
        "Indented lines by their indentation",
        ("indentation", "lines", "tokens", "tokens per line"),
        indent_levels,
    ),
)
