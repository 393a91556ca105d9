"""The list of pairs that merges a text as SentencePiece's scores do, or a text on which there is no such list.

SentencePiece merges two neighbours if their joined text is a piece: the highest score first, and of equal scores the
leftmost. HF's tokenizer.json merges by a list of pairs: the first of the list first, and of equal pairs the leftmost. A
list in the order of the scores does the same, unless several pairs of one score are in each other's way: they share a
symbol, or one of them has merged and then takes, with scores that are not lower, symbols that the other needs. The
leftmost must then come before the other in the list.

Symbols can be neighbours in some text exactly if merging their joined text alone comes by them, because what merges inside
a part of a text does not depend on what is around it as long as nothing merges across its ends. So every such place is
found and looked at. Two things leave no list: pairs that would each have to come before the other, and a pair with a
character that is not a piece, which HF replaces before it merges. A text that shows it is given.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["ScoredMerges", "scored_merges", "states"]

MOST_TAKINGS = 1_000  # for the pairs of one score
TOO_MANY = "too many pieces have the same score to look at all of them"
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


def scored_merges(scores: Mapping[str, float]) -> ScoredMerges:
    """The list for pieces that merge, with their scores."""
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
        found.pairs += in_order(pairs, neighbours.contested(pairs, score), found) if len(pairs) > 1 else pairs
    if neighbours.too_many:
        found.differs(TOO_MANY, "")
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
        self.too_many = False  # whether some places were not looked at
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
        # Runs of one character grow one after another, from the left: neighbours that share a symbol decide everything.
        is_run = all(len({*one, *two}) == 1 for one, two in pairs)
        for each in found:
            if len(found) > MOST_TAKINGS:
                self.too_many = True
                return
            by_product[each.product].append(each)
            for taken, longer in self.longer(each, score, is_run, "left"):
                found += self.new(longer)
                from_left.append((longer, taken))
                for two in by_right[taken]:
                    yield from self.checked((two,), each, (*two.symbols, *each.symbols))
            for taken, longer in self.longer(each, score, is_run, "right"):
                found += self.new(longer)
                from_right.append((longer, taken))
                for two in by_left[taken]:
                    yield from self.checked((longer,), two, (*longer.symbols, two.symbols[1]))
        for one, taken in from_right:
            for two, also in from_left:
                if also == taken:
                    yield from self.checked((one,), two, (*one.symbols, *two.symbols[1:]))
            for two in by_product.get(taken, ()):
                yield from self.checked((one,), two, (*one.symbols[:-1], *two.symbols))
        for two, taken in from_left:
            for one in by_product.get(taken, ()):
                yield from self.checked((one,), two, (*one.symbols, *two.symbols[1:]))

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
        second = two.pairs[0]
        first = tuple(pair for one in ones for pair in one.pairs if pair != second and (pair, second) not in self.known)
        if first and self.meet(symbols):
            self.known.update((pair, second) for pair in first)
            yield Contest(first, two.pairs[0], symbols)

    def longer(self, each: Taking, score: float, is_run: bool, side: str) -> Iterator[tuple[str, Taking]]:
        """What a stretch takes next on one side, and the stretch with it."""
        for taken, reached in (self.left if side == "left" else self.right).get(each.product, ()):
            if reached < score or (is_run and reached == score):
                continue
            pair = (taken, each.product) if side == "left" else (each.product, taken)
            pairs = (*each.pairs, pair) if reached == score else each.pairs
            symbols = (taken, *each.symbols) if side == "left" else (*each.symbols, taken)
            if self.meet(symbols):
                yield taken, Taking(pairs, symbols, "".join(pair))


def in_order(pairs: Sequence[Pair], contests: Iterator[Contest], found: ScoredMerges) -> list[Pair]:
    """The pairs of one score, each behind those that must come before it; problems are kept in `found`."""
    before: dict[Pair, dict[Pair, Contest]] = defaultdict(dict)
    for contest in contests:
        for first in contest.first:
            before[contest.second].setdefault(first, contest)
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


def shown(pair: Pair) -> str:
    """A pair in a message."""
    return f"{pair[0]!r} + {pair[1]!r}"


def meet(symbols: Sequence[str], scores: Mapping[str, float]) -> bool:
    """Whether a text can have these symbols as neighbours before some merge, or at the end."""
    return [*symbols] in states("".join(symbols), scores)


def states(text: str, scores: Mapping[str, float]) -> Iterator[list[str]]:
    """The symbols of a text before each merge, and after the last one."""
    symbols = [*text]
    while True:
        yield [*symbols]
        joined = [(scores.get(one + two), -at) for at, (one, two) in enumerate(itertools.pairwise(symbols))]
        able = [(score, at) for score, at in joined if score is not None]
        if not able:
            return
        at = -max(able)[1]
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
