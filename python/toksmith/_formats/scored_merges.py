"""Converts SentencePiece's scores to a list of merges, or finds a text on which no list merges as the scores do.

SentencePiece merges two neighbours if their joined text is a piece: highest score first, leftmost first among equal scores.
HF's tokenizer.json merges by a list of pairs: in list order, leftmost first among equal pairs. A list in the order of the
scores does the same, unless pairs of one score compete: they share a symbol, or one of them merges and its result then
merges, with scores that are not lower, with symbols that the other pair needs. The left pair must then precede the other
pair in the list.

Symbols can be neighbours in some text exactly if merging their joined text alone passes through them, because the merges
inside a part of a text do not depend on the rest while no merge crosses the part's ends. So this module finds and checks
every such place. It checks runs of one character, which have one score in Llama's and Mistral's models, as runs.

Some scores have no list, or none that is known to be right; the result then names the problem, with a text if one is known:
pairs that must each precede the other; a pair with a character that is not a piece, which HF replaces before it merges;
and other pieces of one score whose results merge on at once, or merge with each other.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

# Limits for the pairs of one score; Mistral's published models need less than a tenth of each.
MOST_STRETCHES, MOST_PAIRS, MOST_TESTS = 1_000, 5_000, 20_000
TOO_MANY = "pieces of one score merge on in too many ways to look at all of them"
Pair = tuple[str, str]


@dataclass
class ScoredMerges:
    """The pairs in list order, and how the list differs from the scores."""

    pairs: list[Pair] = field(default_factory=list)
    problem: str = ""  # the difference; "" if the list merges every text as the scores do
    witness: str = ""  # a text that shows the difference; "" if none is known

    def differs(self, problem: str, witness: str) -> None:
        """Sets the problem, unless one is already set."""
        if not self.problem:
            self.problem, self.witness = problem, witness


class TooManyPlaces(Exception):
    """The pairs of one score compete at more places than the limits allow to check."""


def scored_merges(scores: Mapping[str, float]) -> ScoredMerges:
    """The list of merges for pieces with these scores."""
    return list_merges(tuple(scores.items()))


@functools.lru_cache(maxsize=1)  # `convert` checks the losses of a format several times
def list_merges(items: tuple[tuple[str, float], ...]) -> ScoredMerges:
    """The list of merges for these pieces, as (piece, score)."""
    scores = dict(items)
    result = ScoredMerges()
    by_score: dict[float, list[Pair]] = defaultdict(list)
    for piece, score in scores.items():
        for at in range(1, len(piece)):
            left, right = piece[:at], piece[at:]
            if left in scores and right in scores:
                by_score[score].append((left, right))
            elif all(part in scores or len(part) == 1 for part in (left, right)) and can_be_neighbours(
                (left, right), scores
            ):
                unknown = left if left not in scores else right
                result.differs(f"{piece!r} merges from {unknown!r}, which is not a piece", piece)
    neighbours = Neighbours(by_score, scores)
    for score in sorted(by_score, reverse=True):
        pairs = by_score[score]
        if len(pairs) > 1:
            pairs = sort_pairs(pairs, neighbours.find_contests(pairs, score), result)
        result.pairs += pairs
        if are_runs(pairs) and not runs_merge_alike(result.pairs, scores, score, pairs[0][0][0]):
            result.differs(f"runs of {pairs[0][0][0]!r} of several lengths have the same score", "")
    return result


@dataclass(frozen=True)
class Stretch:
    """Neighbours where one pair merges first, and its result then merges with the others one after another."""

    pairs: tuple[Pair, ...]  # the pair that merges first, and all later pairs with the same score
    symbols: tuple[str, ...]  # all neighbours, from left to right
    product: str  # their joined text


@dataclass(frozen=True)
class Contest:
    """Neighbours (`symbols`) where the pairs in `first` must merge before the pair `second`."""

    first: tuple[Pair, ...]
    second: Pair
    symbols: tuple[str, ...]


class Neighbours:
    """For each piece, the pieces that merge with it on its left and on its right, each with the score of the result."""

    def __init__(self, by_score: Mapping[float, Sequence[Pair]], scores: Mapping[str, float]) -> None:
        self.scores = scores
        self.tests = 0  # contests checked for the current score
        self.listed: set[Stretch] = set()
        self.couples: dict[tuple[str, ...], bool] = {}
        self.known: set[tuple[Pair, Pair]] = set()  # (first, second): the first pair must precede the second
        self.left: dict[str, list[tuple[str, float]]] = defaultdict(list)
        self.right: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for score, pairs in by_score.items():
            for one, two in pairs:
                self.right[one].append((two, score))
                self.left[two].append((one, score))

    def find_contests(self, pairs: Sequence[Pair], score: float) -> Iterator[Contest]:
        """Every place where two of the pairs, all of one score, compete; the left pair must come first."""
        self.tests = 0
        if len(pairs) > MOST_PAIRS:
            raise TooManyPlaces
        simple = [Stretch((pair,), pair, pair[0] + pair[1]) for pair in pairs if self.can_meet(pair)]
        stretches = [*simple]
        by_left: dict[str, list[Stretch]] = defaultdict(list)
        by_right: dict[str, list[Stretch]] = defaultdict(list)
        for each in simple:
            by_left[each.symbols[0]].append(each)
            by_right[each.symbols[1]].append(each)
        for one in simple:
            for two in by_left[one.symbols[1]]:
                yield from self.check_contest((one,), two, (*one.symbols, two.symbols[1]))
        from_left: list[tuple[Stretch, str]] = []
        from_right: list[tuple[Stretch, str]] = []
        by_product: dict[str, list[Stretch]] = defaultdict(list)
        if are_runs(pairs):
            return
        if len({each.product for each in simple}) > 1:
            # If no result merges on at once, only pairs that share a symbol compete, and those are done; otherwise give up.
            for each in simple:
                if next(self.extensions(each, score, "left"), None) or next(
                    self.extensions(each, score, "right"), None
                ):
                    raise TooManyPlaces
            return
        for each in stretches:
            if len(stretches) > MOST_STRETCHES:
                raise TooManyPlaces
            by_product[each.product].append(each)
            for other, longer in self.extensions(each, score, "left"):
                stretches += self.new(longer)
                from_left.append((longer, other))
                for two in by_right[other]:
                    yield from self.check_contest((two,), each, (*two.symbols, *each.symbols))
            for other, longer in self.extensions(each, score, "right"):
                stretches += self.new(longer)
                from_right.append((longer, other))
                for two in by_left[other]:
                    yield from self.check_contest((longer,), two, (*longer.symbols, two.symbols[1]))
        for one, other in from_right:
            for two, also in from_left:
                if also == other:
                    yield from self.check_contest((one,), two, (*one.symbols, *two.symbols[1:]))
        # A result merges with the result of another pair next to it.
        if any(other in by_product for _, other in (*from_left, *from_right)):
            raise TooManyPlaces

    def new(self, stretch: Stretch) -> list[Stretch]:
        """A list of the stretch; empty if it was found before."""
        if stretch in self.listed:
            return []
        self.listed.add(stretch)
        return [stretch]

    def can_meet(self, symbols: tuple[str, ...]) -> bool:
        """Whether some text can have these symbols as neighbours, which implies it for each adjacent two."""
        for two in itertools.pairwise(symbols):
            if two not in self.couples:
                self.couples[two] = can_be_neighbours(two, self.scores)
            if not self.couples[two]:
                return False
        return len(symbols) == 2 or can_be_neighbours(symbols, self.scores)

    def check_contest(self, ones: Sequence[Stretch], two: Stretch, symbols: tuple[str, ...]) -> Iterator[Contest]:
        """The contest, if the symbols can be neighbours and it orders pairs that have no known order."""
        self.tests += 1
        if self.tests > MOST_TESTS:
            raise TooManyPlaces
        second = two.pairs[0]
        first = tuple(pair for one in ones for pair in one.pairs if pair != second and (pair, second) not in self.known)
        if first and self.can_meet(symbols):
            self.known.update((pair, second) for pair in first)
            yield Contest(first, two.pairs[0], symbols)

    def extensions(self, each: Stretch, score: float, side: str) -> Iterator[tuple[str, Stretch]]:
        """Each symbol that a stretch can merge with next on one side, and the stretch with that symbol."""
        for neighbour, reached in (self.left if side == "left" else self.right).get(each.product, ()):
            if reached < score:
                continue
            pair = (neighbour, each.product) if side == "left" else (each.product, neighbour)
            pairs = (*each.pairs, pair) if reached == score else each.pairs
            symbols = (neighbour, *each.symbols) if side == "left" else (*each.symbols, neighbour)
            if self.can_meet(symbols):
                yield neighbour, Stretch(pairs, symbols, "".join(pair))


def sort_pairs(pairs: Sequence[Pair], contests: Iterator[Contest], merges: ScoredMerges) -> list[Pair]:
    """The pairs of one score, each after all pairs that must precede it; sets the problem of `merges` if there is none."""
    before: dict[Pair, dict[Pair, Contest]] = defaultdict(dict)
    try:
        for contest in contests:
            for first in contest.first:
                before[contest.second].setdefault(first, contest)
    except TooManyPlaces:
        merges.differs(TOO_MANY, "")
    remaining = dict.fromkeys(pairs)
    done: dict[Pair, None] = {}
    while remaining:
        ready = [pair for pair in remaining if before[pair].keys() <= done.keys()]
        if not ready:
            second = next(iter(remaining))
            first, contest = next((pair, contest) for pair, contest in before[second].items() if pair not in done)
            both = " and ".join(f"{one!r} + {two!r}" for one, two in (first, second))
            problem = f"{both} have the same score, and each must merge before the other"
            merges.differs(problem, "".join(contest.symbols))
            ready = [second]
        for pair in ready:
            done[pair] = remaining.pop(pair)
    return [*done]


def are_runs(pairs: Sequence[Pair]) -> bool:
    """Whether the results are several runs of one character."""
    results = {one + two for one, two in pairs}
    return len(results) > 1 and len(set().union(*results)) == 1


def runs_merge_alike(pairs: Sequence[Pair], scores: Mapping[str, float], least: float, char: str) -> bool:
    """Whether a list and the scores from `least` up make the same merges, in the same order, in every run of a character.

    This checks runs of up to four times the longest piece. In a longer run the merges choose among the same pairs:
    after pieces that merge no more, the first run grows, and the characters after it are unchanged.
    """
    runs = {piece: score for piece, score in scores.items() if {*piece} == {char} and score >= least}
    ranks = {pair: -float(rank) for rank, pair in enumerate(pairs) if {*pair[0]} == {char} == {*pair[1]}}
    texts = (char * count for count in range(4 * max(map(len, runs)) + 1))
    return all([*merge_states(text, runs)] == [*states_by_score(text, lambda *two: ranks.get(two))] for text in texts)


def can_be_neighbours(symbols: Sequence[str], scores: Mapping[str, float]) -> bool:
    """Whether a text can have these symbols as neighbours before some merge, or at the end."""
    return [*symbols] in merge_states("".join(symbols), scores)


def merge_states(text: str, scores: Mapping[str, float]) -> Iterator[list[str]]:
    """The symbols of a text before each merge by scores, and after the last one."""
    return states_by_score(text, lambda one, two: scores.get(one + two))


def states_by_score(text: str, score: Callable[[str, str], float | None]) -> Iterator[list[str]]:
    """The states by a function that returns the score of two neighbours, or None if they do not merge."""
    symbols = [*text]
    while True:
        yield [*symbols]
        scored = [(score(one, two), -at) for at, (one, two) in enumerate(itertools.pairwise(symbols))]
        possible = [(each, at) for each, at in scored if each is not None]
        if not possible:
            return
        at = -max(possible)[1]
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
