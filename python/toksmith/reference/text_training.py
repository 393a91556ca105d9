"""Training where a token is its text (HF's trainer): pairs that spell the same text make one token.

>>> train_by_text({("a", "b", "c"): 2, ("b", "c"): 3, ("a", "b"): 4}, ["a", "b", "c"], 9)
(['ab', 'bc', 'abc'], [('a', 'b'), ('b', 'c'), ('ab', 'c')])
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

from .names import listing

TextPair = tuple[str, str]


def train_by_text(
    words: Mapping[Sequence[str], int],
    tokens: Sequence[str],
    size: int,
    *,
    min_count: int = 1,
    prefix: str = "",
    longest: int | None = None,
) -> tuple[list[str], list[TextPair]]:
    """The new tokens and the pairs that merge, in order.

    The pair with the highest count merges, and of equal ones that of the tokens that came first. It merges in the words in which it
    arose: those of the beginning, or those of one merge. A text that is a token already makes no new one.

    Args:
        words: Words as tokens, with their counts.
        tokens: The tokens before the first merge, special tokens included.
        size: How many tokens there are at most in the end.
        prefix: What the right token of a pair loses at its start.
        longest: A pair that arises with this many characters or more is not counted.

    >>> train_by_text({("a", "b", "c"): 2}, ["ab", "a", "b", "c"], 9)  # `ab` is there: its pair comes before (`b`, `c`) anyway
    (['abc'], [('a', 'b'), ('ab', 'c')])
    >>> train_by_text({("a", "a", "a", "a"): 1}, ["a"], 9, longest=4)
    (['aa'], [('a', 'a')])
    """
    known, texts = [*dict.fromkeys(tokens)], [(list(word), count) for word, count in words.items()]
    lengths = dict.fromkeys(known, 1)
    counts: Counter[TextPair] = Counter()
    arose: dict[TextPair, set[int]] = {}
    for place, (word, count) in enumerate(texts):
        for pair in itertools.pairwise(word):
            counts[pair] += count
            arose.setdefault(pair, set()).add(place)
    waiting: list[tuple[int, TextPair, int, set[int]]] = []
    merges: list[TextPair] = []
    while True:
        waiting += [(counts[pair], pair, len(merges), places) for pair, places in arose.items() if counts[pair] > 0]
        place_of = {token: place for place, token in enumerate(known)}
        while waiting:
            next_pair = min(waiting, key=lambda each: (-each[0], place_of[each[1][0]], place_of[each[1][1]], -each[2]))
            waiting.remove(next_pair)
            count, pair, born, places = next_pair
            if count == counts[pair]:
                break
            waiting.append((counts[pair], pair, born, places))  # it was counted when it arose
        else:
            break
        if len(known) >= size or count < max(min_count, 1):
            break
        merges.append(pair)
        joined = pair[0] + pair[1].removeprefix(prefix)
        if joined not in known:
            known.append(joined)
        lengths[joined] = lengths[pair[0]] + lengths[pair[1]]
        arose = {}
        for place in sorted(places):
            word, count = texts[place]
            at = 0
            while at < len(word) - 1:
                if (word[at], word[at + 1]) == pair:
                    before, after = word[at - 1 : at] if at else [], word[at + 2 : at + 3]
                    word[at : at + 2] = [joined]
                    gone = [(each, pair[0]) for each in before] + [(pair[1], each) for each in after]
                    new = [(each, joined) for each in before] + [(joined, each) for each in after]
                    for old, made in zip(gone, new, strict=True):
                        counts[old] -= count
                        if longest is None or lengths[made[0]] + lengths[made[1]] < longest:
                            counts[made] += count
                            arose.setdefault(made, set()).add(place)
                at += 1
    return known[len(dict.fromkeys(tokens)) :], merges


__dir__ = listing(__name__)
