"""How each new row is made: copied from an old row, a weighted sum of old rows, or the mean of all.

There is a recipe for input matrices and one for output matrices; a tied checkpoint has one for both. A rule gives the
weights of the pieces of a new token. Special tokens, holes and padding get the mean row in an output matrix: zeros there
would be a logit of 0, which wins where all others are negative.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.errors import InvalidOption, close_names
from .tokens import Origins, TokenKey

__all__ = ["RULES", "InitRule", "Recipe", "Recipes", "chosen_init", "recipes"]

Side = Literal["input", "output", "tied"]
Weights = Callable[[int, Side], NDArray[np.float64]]
SHARP = 2.0  # of AdaptiVocab: a piece weighs e² times its neighbour
MEAN_ROW = np.zeros(0)
Sums = Mapping[int, tuple[Sequence[int], NDArray[np.float64]]]  # the old rows and their weights, by new id


def mean(count: int, side: Side) -> NDArray[np.float64]:
    return np.full(count, 1 / count)


def exponential(count: int, side: Side) -> NDArray[np.float64]:
    """Input rows lean on the last piece, output rows on the first. One matrix cannot do both, so a tied one gets the mean."""
    if side == "tied":
        return mean(count, side)
    places = np.arange(count, dtype=np.float64)
    weights = np.exp(SHARP * ((places - count + 1) if side == "input" else -places))
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def first_last(count: int, side: Side) -> NDArray[np.float64]:
    """Input rows are those of the last piece, output rows those of the first; a tied matrix gets the mean."""
    if side == "tied":
        return mean(count, side)
    weights = np.zeros(count)
    weights[-1 if side == "input" else 0] = 1
    return weights


def all_mean(count: int, side: Side) -> NDArray[np.float64]:
    """No pieces: the mean of all rows."""
    return MEAN_ROW


RULES: Mapping[str, Weights] = {
    "exponential": exponential,
    "mean": mean,
    "first-last": first_last,
    "all-mean": all_mean,
}


class InitRule(NamedTuple):
    """What the caller asks for: the rule, and the old token whose row a new token copies, by id."""

    rule: str
    copies: Mapping[int, int]


@dataclass(frozen=True)
class Recipe:
    """How the rows of one matrix are made. One that copies nothing and has no sources is the mean of all rows with a token."""

    copies: NDArray[np.int64]  # for each new row the old row that it copies, or -1
    starts: NDArray[np.int64]  # where the sources of each new row begin; one more than rows
    ids: NDArray[np.int64]  # the old rows of all sums, in order
    weights: NDArray[np.float64]  # of each

    def __len__(self) -> int:
        return len(self.copies)

    def sources(self, row: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The old rows whose weighted sum a row is, and their weights."""
        own = slice(int(self.starts[row]), int(self.starts[row + 1]))
        return self.ids[own], self.weights[own]


class Recipes(NamedTuple):
    """The recipes of a checkpoint; both are the same where it is tied."""

    input: Recipe
    output: Recipe


def chosen_init(init: str | Sequence[str], found: Origins) -> InitRule:
    """The rule and the copies of `init`: the name of a rule, texts NEW=OLD, or both."""
    rules, copies = list[str](), dict[int, int]()
    for said in [init] if isinstance(init, str) else init:
        if said in RULES:
            rules.append(said)
        elif "=" not in said:
            near = close_names(said, RULES)
            expected = f"one of {', '.join(RULES)}, or NEW=OLD" + (f"; did you mean {near[0]}?" if near else "")
            raise InvalidOption("init", said, expected)
        else:
            id, old = copied(*split(said, found), found)
            copies[id] = old
    if len(rules) > 1:
        raise InvalidOption("init", " and ".join(rules), "one rule; NEW=OLD may be given for each new token")
    return InitRule(rules[0] if rules else "exponential", copies)


def split(said: str, found: Origins) -> tuple[str, str]:
    """The two tokens of NEW=OLD; either may hold `=` itself."""
    known = {key.token for key in found.new.values()}
    cuts = [place for place, sign in enumerate(said) if sign == "="]
    cut = next((place for place in cuts if said[:place].encode() in known), cuts[0])
    return said[:cut], said[cut + 1 :]


def copied(new: str, old: str, found: Origins) -> tuple[int, int]:
    """The ids of a new token and of the old token whose row it copies."""
    to = id_of(new, found.new, found.kept.keys())
    at = id_of(old, found.old)
    if to is None:
        expected = f"a token of the new tokenizer before the sign =; {new!r} is not one"
    elif to in found.kept:
        expected = f"a token without a row; {new!r} keeps the row of the same token"
    elif at is None:
        expected = f"a token of the old tokenizer behind the sign =; {old!r} is not one"
    else:
        return to, at
    raise InvalidOption("init", f"{new}={old}", expected)


def id_of(content: str, keys: Mapping[int, TokenKey], last: Collection[int] = ()) -> int | None:
    """The id of a token by its text; a special one first, and those of `last` after all others."""
    ids = [id for id, key in keys.items() if key.token == content.encode()]
    return min(ids, key=lambda id: (id in last, not keys[id].special), default=None)


def recipes(
    found: Origins,
    rows: tuple[int, int],
    init: InitRule,
    *,
    tied: bool,
    donor: Callable[[Origins, Side], Sums] | None = None,
) -> Recipes:
    """The recipes for a checkpoint with so many rows before and after; `donor` gives the sums of tokens that it knows."""
    copies = copies_of(found, rows, init)

    def made(side: Side) -> Recipe:
        known = {} if donor is None else donor(found, side)
        known = {id: own for id, own in known.items() if copies[id] < 0}
        return assembled(copies, {**by_rule(found, init, side), **known})

    if tied:
        both = made("tied")
        return Recipes(both, both)
    return Recipes(made("input"), made("output"))


def copies_of(found: Origins, rows: tuple[int, int], init: InitRule) -> NDArray[np.int64]:
    """For each new row the old row that it copies: that of its token, or of the same padding."""
    old, new = rows
    copies = np.full(new, -1, np.int64)
    for id, was in {**found.kept, **init.copies}.items():
        copies[id] = was
    for row in range(min(old, new)):
        if row not in found.new and row not in found.old:
            copies[row] = row
    return copies


def by_rule(found: Origins, init: InitRule, side: Side) -> Sums:
    """The old rows and weights of each new token that is not copied; a token that is not there is the mean of all rows."""
    weights = RULES[init.rule]
    sums: dict[int, tuple[Sequence[int], NDArray[np.float64]]] = {}
    for id, pieces in found.pieces.items():
        special = found.new[id].special
        if not pieces or id in init.copies or (special and side != "input"):
            continue
        given = mean(len(pieces), side) if special and init.rule != "all-mean" else weights(len(pieces), side)
        if len(given):
            sums[id] = (pieces, given)
    return sums


def assembled(copies: NDArray[np.int64], sums: Sums) -> Recipe:
    counts = np.zeros(len(copies) + 1, np.int64)
    for id, (pieces, _) in sums.items():
        counts[id + 1] = len(pieces)
    starts = np.cumsum(counts)
    ids, weights = np.zeros(starts[-1], np.int64), np.zeros(starts[-1])
    for id, (pieces, own) in sums.items():
        ids[starts[id] : starts[id + 1]] = pieces
        weights[starts[id] : starts[id + 1]] = own
    return Recipe(copies, starts, ids, weights)
