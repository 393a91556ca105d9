"""Results with more than one number: lengths of tokens, ways to cut numbers, indentation by level.

A table is a name, heads and rows of JSON values; it has no row for what the corpus does not contain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ._rows import alignment, entropy, numbers_of
from ._sample import DIGITS, SPACES, TABS, Sample

__all__ = ["TABLES", "Figures"]

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
    """By digits: numbers, mean F1 score against groups of three from the right, ways to cut them, entropy, and the most
    frequent way."""
    rows: list[Row] = []
    for digits in range(1, DIGITS + 1):
        ways = numbers_of(sample, digits)
        if many := int(ways.sum()):
            score = float((ways * alignment(digits)).sum()) / many
            bits = entropy(ways[ways > 0] / many)
            rows.append([digits, many, score, int(np.count_nonzero(ways)), bits, way(digits, int(ways.argmax()))])
    return rows


def way(digits: int, cuts: int) -> str:
    """How a number is cut, as the digits of each token: `3+1`."""
    ends = [place for place in range(1, digits) if cuts >> (place - 1) & 1] + [digits]
    return "+".join(str(end - start) for start, end in zip([0, *ends], ends, strict=False))


def indent_levels(sample: Sample) -> list[Row]:
    """By indentation: lines, tokens that end in it, and tokens for each line."""
    names = [f"{width} space{'s' * (width > 1)}" for width in range(1, SPACES + 1)]
    names += [f"{width} tab{'s' * (width > 1)}" for width in range(1, TABS + 1)]
    found = zip([*names, "mixed or wider"], sample.indents.tolist(), strict=True)
    return [[name, lines, tokens, tokens / lines] for name, (lines, tokens) in found if lines]


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
