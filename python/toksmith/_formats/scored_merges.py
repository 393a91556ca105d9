"""The list of pairs that merges a text as SentencePiece's scores do, or a text on which there is no such list.

SentencePiece merges two neighbours if their joined text is a piece: the highest score first, and of equal scores the
leftmost. HF's tokenizer.json merges by a list of pairs: the first of the list first, and of equal pairs the leftmost. A
list in the order of the scores does the same, unless several pairs of one score are in each other's way: they share a
symbol, or one of them has merged and then takes, with scores that are not lower, symbols that the other needs. The
leftmost must then come before the other in the list.

Symbols can be neighbours in some text exactly if merging their joined text alone comes by them, because what merges inside
a part of a text does not depend on what is around it as long as nothing merges across its ends. So every such place is
found and looked at. Runs of one character, which have one score in Llama's and Mistral's models, are looked at as runs.

These leave no list, or none that is known to be right, and are named with a text where there is one: pairs that would each
have to come before the other; a pair with a character that is not a piece, which HF replaces before it merges; and other
pieces of one score that merge on at once, or that take each other.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["ScoredMerges", "scored_merges", "states"]

# For the pairs of one score; the published models of Mistral need fewer than a tenth.
MOST_TAKINGS, MOST_PAIRS, MOST_TESTS = 1_000, 5_000, 20_000
TOO_MANY = "pieces of one score merge on in too many ways to look at all of them"
Pair = tuple[str, str]


@dataclass
class ScoredMerges:
    """The pairs in the order of the list, and what it does otherwise than the scores.

    Attributes:
        pairs: Two pieces each.
        problem: What cannot be listed; "" if the list does the same for every text.
        witness: A text that shows it.
    """

    pairs: list[Pair] = field(default_factory=list)
    problem: str = ""
    witness: str = ""

    def differs(self, problem: str, witness: str) -> None:
        """Keeps the first problem."""
        if not self.problem:
            self.problem, self.witness = problem, witness


class TooManyPlaces(Exception):
    """The pairs of one score are in each other's way at more places than are looked at."""


def scored_merges(scores: Mapping[str, float]) -> ScoredMerges:
    """The list for pieces that merge, with their scores."""
    return listed(tuple(scores.items()))


@functools.lru_cache(maxsize=1)  # `convert` asks several times what a format would lose
def listed(items: tuple[tuple[str, float], ...]) -> ScoredMerges:
    """The list for these pieces."""
    scores = dict(items)
    found = ScoredMerges()
    by_score: dict[float, list[Pair]] = defaultdict(list)
    for piece, score in scores.items():
        for at in range(1, len(piece)):
            left, right = piece[:at], piece[at:]
            if left in scores and right in scores:
                by_score[score].append((left, right))
            elif all(part in scores or len(part) == 1 for part in (left, right)) and meet((left, right), scores):
                unknown = left if left not in scores else right
                found.differs(f"{piece!r} merges from {unknown!r}, which is not a piece of its own", piece)
    neighbours = Neighbours(by_score, scores)
    for score in sorted(by_score, reverse=True):
        pairs = by_score[score]
        if len(pairs) > 1:
            pairs = in_order(pairs, neighbours.contested(pairs, score), found)
        found.pairs += pairs
        if are_runs(pairs) and not grow_alike(found.pairs, scores, score, pairs[0][0][0]):
            found.differs(f"runs of {pairs[0][0][0]!r} of several lengths have the same score", "")
    return found


@dataclass(frozen=True)
class Taking:
    """Neighbours of which one pair merges first, and then takes the others one after another.

    Attributes:
        pairs: The pair that merges first, and all others of its score that merge then.
        symbols: All neighbours, from left to right.
        product: Their joined text.
    """

    pairs: tuple[Pair, ...]
    symbols: tuple[str, ...]
    product: str


@dataclass(frozen=True)
class Contest:
    """Neighbours among which some pairs must merge before another.

    Attributes: `first`, `second`, and `symbols`, the neighbours.
    """

    first: tuple[Pair, ...]
    second: Pair
    symbols: tuple[str, ...]


class Neighbours:
    """What merges with each piece, on its left and on its right: the other part, and the score of the result."""

    def __init__(self, by_score: Mapping[float, Sequence[Pair]], scores: Mapping[str, float]) -> None:
        self.scores = scores
        self.tests = 0  # for the pairs of one score
        self.found: set[Taking] = set()
        self.couples: dict[tuple[str, ...], bool] = {}
        self.known: set[tuple[Pair, Pair]] = set()  # which pair must come before which
        self.left: dict[str, list[tuple[str, float]]] = defaultdict(list)
        self.right: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for score, pairs in by_score.items():
            for one, two in pairs:
                self.right[one].append((two, score))
                self.left[two].append((one, score))

    def contested(self, pairs: Sequence[Pair], score: float) -> Iterator[Contest]:
        """Every place where two of the pairs, all of one score, are in each other's way; the left one must be first."""
        self.tests = 0
        if len(pairs) > MOST_PAIRS:
            raise TooManyPlaces
        simple = [Taking((pair,), pair, pair[0] + pair[1]) for pair in pairs if self.meet(pair)]
        found = [*simple]
        by_left: dict[str, list[Taking]] = defaultdict(list)
        by_right: dict[str, list[Taking]] = defaultdict(list)
        for each in simple:
            by_left[each.symbols[0]].append(each)
            by_right[each.symbols[1]].append(each)
        for one in simple:
            for two in by_left[one.symbols[1]]:
                yield from self.checked((one,), two, (*one.symbols, two.symbols[1]))
        from_left: list[tuple[Taking, str]] = []
        from_right: list[tuple[Taking, str]] = []
        by_product: dict[str, list[Taking]] = defaultdict(list)
        if are_runs(pairs):
            return
        if len({each.product for each in simple}) > 1:
            # Nothing may follow at once from what merges: then only neighbours that share a symbol are in the way.
            for each in simple:
                if next(self.longer(each, score, "left"), None) or next(self.longer(each, score, "right"), None):
                    raise TooManyPlaces
            return
        for each in found:
            if len(found) > MOST_TAKINGS:
                raise TooManyPlaces
            by_product[each.product].append(each)
            for taken, longer in self.longer(each, score, "left"):
                found += self.new(longer)
                from_left.append((longer, taken))
                for two in by_right[taken]:
                    yield from self.checked((two,), each, (*two.symbols, *each.symbols))
            for taken, longer in self.longer(each, score, "right"):
                found += self.new(longer)
                from_right.append((longer, taken))
                for two in by_left[taken]:
                    yield from self.checked((longer,), two, (*longer.symbols, two.symbols[1]))
        for one, taken in from_right:
            for two, also in from_left:
                if also == taken:
                    yield from self.checked((one,), two, (*one.symbols, *two.symbols[1:]))
        if any(
            taken in by_product for _, taken in (*from_left, *from_right)
        ):  # what merged takes what merged beside it
            raise TooManyPlaces

    def new(self, stretch: Taking) -> list[Taking]:
        """The stretch, unless it was found before."""
        if stretch in self.found:
            return []
        self.found.add(stretch)
        return [stretch]

    def meet(self, symbols: tuple[str, ...]) -> bool:
        """Whether these can be neighbours; if so, any two of them can."""
        for two in itertools.pairwise(symbols):
            if two not in self.couples:
                self.couples[two] = meet(two, self.scores)
            if not self.couples[two]:
                return False
        return len(symbols) == 2 or meet(symbols, self.scores)

    def checked(self, ones: Sequence[Taking], two: Taking, symbols: tuple[str, ...]) -> Iterator[Contest]:
        """The contest, if the symbols can be neighbours and the pairs are others."""
        self.tests += 1
        if self.tests > MOST_TESTS:
            raise TooManyPlaces
        second = two.pairs[0]
        first = tuple(pair for one in ones for pair in one.pairs if pair != second and (pair, second) not in self.known)
        if first and self.meet(symbols):
            self.known.update((pair, second) for pair in first)
            yield Contest(first, two.pairs[0], symbols)

    def longer(self, each: Taking, score: float, side: str) -> Iterator[tuple[str, Taking]]:
        """What a stretch takes next on one side, and the stretch with it."""
        for taken, reached in (self.left if side == "left" else self.right).get(each.product, ()):
            if reached < score:
                continue
            pair = (taken, each.product) if side == "left" else (each.product, taken)
            pairs = (*each.pairs, pair) if reached == score else each.pairs
            symbols = (taken, *each.symbols) if side == "left" else (*each.symbols, taken)
            if self.meet(symbols):
                yield taken, Taking(pairs, symbols, "".join(pair))


def in_order(pairs: Sequence[Pair], contests: Iterator[Contest], found: ScoredMerges) -> list[Pair]:
    """The pairs of one score, each behind those that must come before it; problems are kept in `found`."""
    before: dict[Pair, dict[Pair, Contest]] = defaultdict(dict)
    try:
        for contest in contests:
            for first in contest.first:
                before[contest.second].setdefault(first, contest)
    except TooManyPlaces:
        found.differs(TOO_MANY, "")
    left = dict.fromkeys(pairs)
    done: dict[Pair, None] = {}
    while left:
        free = [pair for pair in left if before[pair].keys() <= done.keys()]
        if not free:
            second = next(iter(left))
            first, contest = next((pair, contest) for pair, contest in before[second].items() if pair not in done)
            problem = f"{shown(first)} and {shown(second)} have the same score, and each must merge before the other"
            found.differs(problem, "".join(contest.symbols))
            free = [second]
        for pair in free:
            done[pair] = left.pop(pair)
    return [*done]


def are_runs(pairs: Sequence[Pair]) -> bool:
    """Whether the results are several runs of one character."""
    results = {one + two for one, two in pairs}
    return len(results) > 1 and len(set().union(*results)) == 1


def grow_alike(pairs: Sequence[Pair], scores: Mapping[str, float], least: float, char: str) -> bool:
    """Whether a list makes the same merges of every run of a character, one after another, as scores from `least` on do.

    It is looked at for runs of up to four times the longest piece. In a longer one the merges choose among the same pairs:
    behind pieces that merge no more, the first run grows, and the characters after it are as they were.
    """
    runs = {piece: score for piece, score in scores.items() if {*piece} == {char} and score >= least}
    ranks = {pair: -float(rank) for rank, pair in enumerate(pairs) if {*pair[0]} == {char} == {*pair[1]}}
    texts = (char * count for count in range(4 * max(map(len, runs)) + 1))
    return all([*states(text, runs)] == [*merged_states(text, lambda *two: ranks.get(two))] for text in texts)


def shown(pair: Pair) -> str:
    """A pair in a message."""
    return f"{pair[0]!r} + {pair[1]!r}"


def meet(symbols: Sequence[str], scores: Mapping[str, float]) -> bool:
    """Whether a text can have these symbols as neighbours before some merge, or at the end."""
    return [*symbols] in states("".join(symbols), scores)


def states(text: str, scores: Mapping[str, float]) -> Iterator[list[str]]:
    """The symbols of a text before each merge by scores, and after the last one."""
    return merged_states(text, lambda one, two: scores.get(one + two))


def merged_states(text: str, score: Callable[[str, str], float | None]) -> Iterator[list[str]]:
    """The same, where a function gives the score of two neighbours, or None if they do not merge."""
    symbols = [*text]
    while True:
        yield [*symbols]
        found = [(score(one, two), -at) for at, (one, two) in enumerate(itertools.pairwise(symbols))]
        able = [(each, at) for each, at in found if each is not None]
        if not able:
            return
        at = -max(able)[1]
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
