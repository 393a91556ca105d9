"""Defines each new row: a copy of an old row, a weighted sum of old rows, or the mean of all rows.

Input matrices have one recipe and output matrices another; a tied checkpoint has one for both. A rule gives the weights of
a new token's pieces. New special tokens, holes and padding get the mean row in an output matrix: zeros would give a logit
of 0, which wins where all others are negative.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.wording import close_names
from ..errors import InvalidOption
from .tokens import Origins, TokenKey

Side = Literal["input", "output", "tied"]
Weights = Callable[[int, Side], NDArray[np.float64]]
SHARP = 2.0  # from AdaptiVocab: a piece weighs e² times its neighbour
MEAN_ROW = np.zeros(0)
Sums = Mapping[int, tuple[Sequence[int], NDArray[np.float64]]]  # the old rows and their weights, by new id


def mean(count: int, side: Side) -> NDArray[np.float64]:
    return np.full(count, 1 / count)


def exponential(count: int, side: Side) -> NDArray[np.float64]:
    """Input rows weigh the last piece most, output rows the first. A tied matrix cannot do both, so it gets the mean."""
    if side == "tied":
        return mean(count, side)
    places = np.arange(count, dtype=np.float64)
    weights = np.exp(SHARP * ((places - count + 1) if side == "input" else -places))
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def first_last(count: int, side: Side) -> NDArray[np.float64]:
    """Input rows copy the last piece's row, output rows the first piece's; a tied matrix gets the mean."""
    if side == "tied":
        return mean(count, side)
    weights = np.zeros(count)
    weights[-1 if side == "input" else 0] = 1
    return weights


def all_mean(count: int, side: Side) -> NDArray[np.float64]:
    """No weights: the row is the mean of all rows."""
    return MEAN_ROW


RULES: Mapping[str, Weights] = {
    "exponential": exponential,
    "mean": mean,
    "first-last": first_last,
    "all-mean": all_mean,
}


class InitRule(NamedTuple):
    """The rule, and by new id the old id whose row it copies."""

    rule: str
    copies: Mapping[int, int]


@dataclass(frozen=True)
class Recipe:
    """The rows of one matrix. A row without a copy and without sources is the mean of all rows with a token."""

    copies: NDArray[np.int64]  # shape (rows,): the old row that each new row copies, or -1
    starts: NDArray[np.int64]  # shape (rows + 1,): the start of each new row's sources in `ids`
    ids: NDArray[np.int64]  # the old rows of all sums, in order
    weights: NDArray[np.float64]  # the weight of each old row in `ids`

    def __len__(self) -> int:
        return len(self.copies)

    def sources(self, row: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The old rows of a new row's weighted sum, and their weights."""
        span = slice(int(self.starts[row]), int(self.starts[row + 1]))
        return self.ids[span], self.weights[span]


class Recipes(NamedTuple):
    """The recipes of a checkpoint; both are the same if it is tied."""

    input: Recipe
    output: Recipe


def parse_init(init: str | Sequence[str], origins: Origins) -> InitRule:
    """The rule and the copies of `init`: the name of a rule, texts NEW=OLD, or both."""
    rules, copies = list[str](), dict[int, int]()
    for text in [init] if isinstance(init, str) else init:
        if text in RULES:
            rules.append(text)
        elif "=" not in text:
            near = close_names(text, RULES)
            expected = f"one of {', '.join(RULES)}, or NEW=OLD" + (f"; did you mean {near[0]}?" if near else "")
            raise InvalidOption("init", text, expected)
        else:
            id, old = resolve_copy(*split_init(text, origins), origins)
            copies[id] = old
    if len(rules) > 1:
        raise InvalidOption("init", " and ".join(rules), "one rule, and NEW=OLD for any number of new tokens")
    return InitRule(rules[0] if rules else "exponential", copies)


def split_init(init: str, origins: Origins) -> tuple[str, str]:
    """The two tokens of NEW=OLD; both can contain `=`."""
    contents = {key.token for key in origins.new.values()}
    cuts = [place for place, sign in enumerate(init) if sign == "="]
    cut = next((place for place in cuts if init[:place].encode() in contents), cuts[0])
    return init[:cut], init[cut + 1 :]


def resolve_copy(new: str, old: str, origins: Origins) -> tuple[int, int]:
    """The ids of a new token and of the old token whose row it copies."""
    to = find_id(new, origins.new, origins.kept.keys())
    at = find_id(old, origins.old)
    if to is None:
        expected = f"a token of the new tokenizer before the sign =; {new!r} is not one"
    elif to in origins.kept:
        expected = f"a token without a row; {new!r} keeps the row of the same token"
    elif at is None:
        expected = f"a token of the old tokenizer after the sign =; {old!r} is not one"
    else:
        return to, at
    raise InvalidOption("init", f"{new}={old}", expected)


def find_id(content: str, keys: Mapping[int, TokenKey], last: Collection[int] = ()) -> int | None:
    """The id of a token by its text; special tokens come first, and ids in `last` after all others."""
    ids = [id for id, key in keys.items() if key.token == content.encode()]
    return min(ids, key=lambda id: (id in last, not keys[id].special), default=None)


def recipes(
    origins: Origins,
    rows: tuple[int, int],
    init: InitRule,
    *,
    tied: bool,
    donor: Callable[[Origins, Side], Sums] | None = None,
) -> Recipes:
    """The recipes for a checkpoint; `rows` is (old rows, new rows), and `donor` gives the sums of tokens that it has."""
    copies = find_copies(origins, rows, init)

    def build(side: Side) -> Recipe:
        donor_sums = {} if donor is None else donor(origins, side)
        donor_sums = {id: row_sums for id, row_sums in donor_sums.items() if copies[id] < 0}
        return build_recipe(copies, {**rule_sums(origins, init, side), **donor_sums})

    if tied:
        recipe = build("tied")
        return Recipes(recipe, recipe)
    return Recipes(build("input"), build("output"))


def find_copies(origins: Origins, rows: tuple[int, int], init: InitRule) -> NDArray[np.int64]:
    """For each new row, the old row that it copies: its token's row, or the same padding row; -1 for none."""
    old, new = rows
    copies = np.full(new, -1, np.int64)
    for id, old_id in {**origins.kept, **init.copies}.items():
        copies[id] = old_id
    for row in range(min(old, new)):
        if row not in origins.new and row not in origins.old:
            copies[row] = row
    return copies


def rule_sums(origins: Origins, init: InitRule, side: Side) -> Sums:
    """The old rows and weights of each new token without a copy; a token not in the result gets the mean of all rows."""
    weights = RULES[init.rule]
    sums: dict[int, tuple[Sequence[int], NDArray[np.float64]]] = {}
    for id, pieces in origins.pieces.items():
        special = origins.new[id].special
        if not pieces or id in init.copies or (special and side != "input"):
            continue
        shares = mean(len(pieces), side) if special and init.rule != "all-mean" else weights(len(pieces), side)
        if len(shares):
            sums[id] = (pieces, shares)
    return sums


def build_recipe(copies: NDArray[np.int64], sums: Sums) -> Recipe:
    counts = np.zeros(len(copies) + 1, np.int64)
    for id, (pieces, _) in sums.items():
        counts[id + 1] = len(pieces)
    starts = np.cumsum(counts)
    ids, weights = np.zeros(starts[-1], np.int64), np.zeros(starts[-1])
    for id, (pieces, row_weights) in sums.items():
        ids[starts[id] : starts[id + 1]] = pieces
        weights[starts[id] : starts[id + 1]] = row_weights
    return Recipe(copies, starts, ids, weights)
