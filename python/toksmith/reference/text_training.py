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

    The pair with the highest count merges; among equal counts, the pair of the earliest tokens. It merges in the words in which
    it arose: the initial words, or those of one merge. A merge to the text of an existing token adds no token.

    Args:
        words: Words as tokens, with their counts.
        tokens: The tokens before the first merge, special tokens included.
        size: The largest number of tokens in the end.
        prefix: The prefix that the right token of a pair loses.
        longest: A pair that arises with at least this many characters is not counted.

    >>> train_by_text({("a", "b", "c"): 2}, ["ab", "a", "b", "c"], 9)  # `ab` is there: its pair comes before (`b`, `c`) anyway
    (['abc'], [('a', 'b'), ('ab', 'c')])
    >>> train_by_text({("a", "a", "a", "a"): 1}, ["a"], 9, longest=4)
    (['aa'], [('a', 'a')])
    """
    vocabulary, texts = [*dict.fromkeys(tokens)], [(list(word), count) for word, count in words.items()]
    lengths = dict.fromkeys(vocabulary, 1)
    counts: Counter[TextPair] = Counter()
    arose: dict[TextPair, set[int]] = {}
    for place, (word, count) in enumerate(texts):
        for pair in itertools.pairwise(word):
            counts[pair] += count
            arose.setdefault(pair, set()).add(place)
    queue: list[tuple[int, TextPair, int, set[int]]] = []
    merges: list[TextPair] = []
    while True:
        queue += [(counts[pair], pair, len(merges), places) for pair, places in arose.items() if counts[pair] > 0]
        place_of = {token: place for place, token in enumerate(vocabulary)}
        while queue:
            next_pair = min(queue, key=lambda each: (-each[0], place_of[each[1][0]], place_of[each[1][1]], -each[2]))
            queue.remove(next_pair)
            count, pair, born, places = next_pair
            if count == counts[pair]:
                break
            queue.append((counts[pair], pair, born, places))  # its count has changed since it arose
        else:
            break
        if len(vocabulary) >= size or count < max(min_count, 1):
            break
        merges.append(pair)
        merged_token = pair[0] + pair[1].removeprefix(prefix)
        if merged_token not in vocabulary:
            vocabulary.append(merged_token)
        lengths[merged_token] = lengths[pair[0]] + lengths[pair[1]]
        arose = {}
        for place in sorted(places):
            word, count = texts[place]
            at = 0
            while at < len(word) - 1:
                if (word[at], word[at + 1]) == pair:
                    before, after = word[at - 1 : at] if at else [], word[at + 2 : at + 3]
                    word[at : at + 2] = [merged_token]
                    old_pairs = [(each, pair[0]) for each in before] + [(pair[1], each) for each in after]
                    new_pairs = [(each, merged_token) for each in before] + [(merged_token, each) for each in after]
                    for old_pair, new_pair in zip(old_pairs, new_pairs, strict=True):
                        counts[old_pair] -= count
                        if longest is None or lengths[new_pair[0]] + lengths[new_pair[1]] < longest:
                            counts[new_pair] += count
                            arose.setdefault(new_pair, set()).add(place)
                at += 1
    return vocabulary[len(dict.fromkeys(tokens)) :], merges


__dir__ = listing(__name__)
