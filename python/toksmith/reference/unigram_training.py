r"""Training of unigram models: from many stretches that words share to the few tokens that make the words most likely.

Source: Kudo, ACL 2018. Sums and logarithms are in double precision, in the order written here. Another library of `log` and
`exp` can change last digits, and so which of two tokens with nearly the same loss is dropped.

>>> [token for token, _ in learn_unigram(["ab ab ab", "ab"], vocab_size=5, character_coverage=1.0)]
['b', 'a', '▁', '▁ab']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import exp, inf, log

from . import Text
from .character_training import WORDS, characters, covering, within, words_of
from .names import listing

LONGEST, LONGEST_WORD, PARTS = 16, 1024, 8  # characters of a token; bytes of a word; parts that words are summed in
LEAST_EXPECTED, SHRINK, SURPLUS, ROUNDS, PENALTY, STEP = 0.5, 0.85, 1.1, 2, 10.0, 1e-4
Scores = dict[str, float]  # in the order of their places
Words = Sequence[tuple[str, int]]
Edge = tuple[int, int, str | None, float]  # where a token starts and ends in a word, the token, its score


def seeds(words: Words) -> list[tuple[str, int]]:
    """The stretches of 2 to 16 characters that occur at least twice in the words and cannot be extended to the right without
    losing an occurrence, each with the number of characters of the corpus that it covers, in falling order of that number.

    >>> seeds([("abc", 2), ("ab", 1)])
    [('ab', 6), ('abc', 6), ('bc', 4)]
    """
    counts: dict[str, int] = {}
    after: dict[str, set[str]] = {}
    for word, n in words:
        for start in range(len(word)):
            for end in range(start + 2, min(start + LONGEST, len(word)) + 1):
                part = word[start:end]
                counts[part] = counts.get(part, 0) + n
                after.setdefault(part, set()).add(word[end : end + 1])
    parts = [part for part, n in counts.items() if n > 1 and (len(after[part]) > 1 or "" in after[part])]
    scored = [(part, counts[part] * len(part)) for part in parts]
    return sorted(scored, key=lambda seed: (-seed[1], seed[0].encode()))[:1_000_000]


def cut_long_words(words: Mapping[str, int]) -> list[tuple[str, int]]:
    """The words sorted by their bytes; words of more than 1,024 bytes are cut into parts.

    >>> [(len(word), n) for word, n in cut_long_words({"é" * 513: 2, "a": 1})]
    [(1, 1), (512, 2), (1, 2)]
    """
    parts: list[tuple[str, int]] = []
    for word, n in sorted(words.items(), key=lambda item: item[0].encode()):
        while len(word.encode()) > LONGEST_WORD:
            part = word.encode()[:LONGEST_WORD].decode(errors="ignore")
            parts.append((part, n))
            word = word[len(part) :]
        parts.append((word, n))
    return parts


def lattice(word: str, scores: Scores, without: str | None = None) -> tuple[list[Edge], list[tuple[float, int]]]:
    """All tokens in a word by start and length, and for each place of the word the highest sum of scores of a path to it, with the
    last edge of that path. A character without a token has the lowest score less 10.

    >>> edges, best = lattice("ab", {"a": -1.0, "ab": -2.5})
    >>> edges, best[2]
    ([(0, 1, 'a', -1.0), (0, 2, 'ab', -2.5), (1, 2, None, -12.5)], (-2.5, 1))
    """
    unknown = min([0.0, *scores.values()]) - PENALTY
    edges: list[Edge] = []
    best = [(0.0, -1), *[(-inf, -1)] * len(word)]
    for start in range(len(word)):
        parts = [word[start:end] for end in range(start + 1, len(word) + 1)]
        tokens: list[tuple[str | None, int]] = [
            (part, len(part)) for part in parts if part in scores and part != without
        ]
        if (word[start], 1) not in tokens:
            tokens.append((None, 1))
        for token, length in tokens:
            score = unknown if token is None else scores[token]
            if best[start][0] + score > best[start + length][0]:
                best[start + length] = (best[start][0] + score, len(edges))
            edges.append((start, start + length, token, score))
    return edges, best


def path(edges: Sequence[Edge], best: Sequence[tuple[float, int]]) -> Iterator[str | None]:
    """The tokens of the best path through a word, from its end.

    >>> [*path(*lattice("aab", {"a": -1.0, "ab": -1.5, "b": -1.0}))]
    ['ab', 'a']
    """
    at = len(best) - 1
    while best[at][1] >= 0:
        at, _, token, _ = edges[best[at][1]]
        yield token


def sum_counts(words: Words, scores: Scores, expect: bool) -> Scores:
    """The expected count of each token in the words under the scores, or its count in the best paths through them.

    >>> third = {token: round(n, 9) for token, n in sum_counts([("ab", 3)], {"a": log(0.5), "b": log(0.25), "ab": log(0.25)}, True).items()}
    >>> third, sum_counts([("ab", 3)], {"a": log(0.5), "b": log(0.25), "ab": log(0.25)}, False)
    ({'a': 1.0, 'b': 1.0, 'ab': 2.0}, {'a': 0.0, 'b': 0.0, 'ab': 3.0})
    """
    total = dict.fromkeys(scores, 0.0)
    size = max(-(-len(words) // PARTS), 1)
    for first in range(0, len(words), size):
        sums = dict.fromkeys(scores, 0.0)
        for word, n in words[first : first + size]:
            edges, best = lattice(word, scores)
            uses = expected_counts(edges, best, n) if expect else ((token, float(n)) for token in path(edges, best))
            for token, more in uses:
                if token is not None:
                    sums[token] += more
        for token, more in sums.items():
            total[token] += more
    return total


def expected_counts(
    edges: Sequence[Edge], best: Sequence[tuple[float, int]], n: int
) -> Iterator[tuple[str | None, float]]:
    """The expected count of each edge in `n` words. Weights are relative to the best path, so that none underflows.

    >>> [(token, round(n, 9)) for token, n in expected_counts(*lattice("ab", {"ab": 0.0, "a": 0.0, "b": 0.0}), 1)]
    [('b', 0.5), ('ab', 0.5), ('a', 0.5)]
    """
    before, after = [1.0, *[0.0] * (len(best) - 1)], [*[0.0] * (len(best) - 1), 1.0]
    weights = [exp(best[start][0] + score - best[end][0]) for start, end, _, score in edges]
    for (start, end, *_), weight in zip(edges, weights, strict=True):
        before[end] += before[start] * weight
    share = n / before[-1]
    for (start, end, token, _), weight in zip(reversed(edges), reversed(weights), strict=True):
        way = weight * after[end]
        after[start] += way
        yield token, before[start] * way * share


def digamma(x: float) -> float:
    """The derivative of the logarithm of the gamma function.

    >>> round(digamma(1.0), 9), round(digamma(100.0), 9)
    (-0.577215665, 4.600161853)
    """
    result = 0.0
    while x < 7.0:
        result -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square / 240.0)))
    return result + log(x) - 0.5 / x - series


def rescore(counts: Scores, scores: Scores) -> Scores:
    """New scores from expected counts, without the tokens with an expected count below 0.5. The digamma function instead of the
    logarithm makes rare tokens rarer.

    >>> [*rescore({"a": 3.0, "b": 0.4}, {"a": -1.0, "b": -2.0})]
    ['a']
    """
    frequent = {token: n for token, n in counts.items() if n >= LEAST_EXPECTED}
    total = digamma(sum(frequent.values())) if frequent else 0.0
    return {token: digamma(n) - total for token, n in frequent.items()} or scores


def prune_tokens(words: Words, scores: Scores, most: int) -> Scores:
    """The `most` tokens whose removal would reduce the likelihood of the words most. Tokens that are unused, or that another path
    covers with a higher score, are removed; single characters stay.

    >>> [*prune_tokens([("ab", 9), ("cd", 1)], {"a": -3.0, "b": -3.0, "c": -3.0, "d": -3.0, "ab": -1.0, "cd": -1.0}, 5)]
    ['a', 'b', 'c', 'd', 'ab']
    """
    used = sum_counts(words, scores, False)
    total, every = sum(used.values()), float(sum(n for _, n in words))
    unknown = min([0.0, *scores.values()]) - PENALTY
    losses: list[tuple[float, int, str]] = []
    for place, (token, n) in enumerate(used.items()):
        edges, best = lattice(token, scores, token)
        if len(token) == 1:
            losses.append((-inf, place, token))
        elif n > 0 and best[-1][0] <= scores[token]:
            others = [*path(edges, best)]
            more = log(total + n * (len(others) - 1.0))
            other = sum((unknown if part is None else log(used[part] + n)) - more for part in others)
            losses.append((-(n / every * (log(n) - log(total) - other)), place, token))
    best_tokens = {token for *_, token in sorted(losses)[:most]}
    return {token: score for token, score in scores.items() if token in best_tokens}


def choose_tokens(scores: Scores, alphabet: Sequence[str], size: int) -> list[tuple[str, float]]:
    """The characters of the alphabet and the tokens with the highest scores, the highest first. A character that was dropped
    returns with a score a little above the lowest.

    >>> choose_tokens({"ab": -1.0, "a": -2.0, "bc": -1.5}, ["a", "b"], 3)
    [('ab', -1.0), ('b', -1.9999), ('a', -2.0)]
    """
    scored: list[tuple[str, float]] = []
    missing = 0.0
    for char in alphabet:
        missing += STEP if char not in scores else 0.0
        scored.append((char, scores.get(char, min([0.0, *scores.values()]) + missing)))
    ranked = sorted(((token, score) for token, score in scores.items() if len(token) > 1), key=by_score)
    return sorted([*scored, *ranked[: max(size - len(scored), 0)]], key=by_score)


def by_score(scored: tuple[str, float]) -> tuple[float, bytes]:
    """The key that sorts tokens by their scores, the highest first, and equals by their bytes.

    >>> by_score(("a", -1.5))
    (1.5, b'a')
    """
    return -scored[1], scored[0].encode()


def learn_unigram(
    documents: Sequence[Text],
    vocab_size: int,
    *,
    special_tokens: Collection[str] = (),
    user_symbols: Collection[str] = (),
    byte_fallback: bool = False,
    pattern: str | None = WORDS,
    character_coverage: float = 0.9995,
    dummy_prefix: bool = True,
    min_piece_count: int = 1,
    max_piece_bytes: int | None = None,
) -> list[tuple[str, float]]:
    """The tokens that a corpus teaches and their scores, the highest first: `toksmith.train` with `kind="unigram"`.

    >>> [token for token, _ in learn_unigram(["aa aa"], 4, character_coverage=1.0)]
    ['a', '▁', '▁aa']
    """
    counted = words_of(
        documents, pattern, min_piece_count, max_piece_bytes, user_symbols=user_symbols, dummy_prefix=dummy_prefix
    )
    every = characters(counted)
    every.pop("\uffff", None)
    alphabet = covering(every, character_coverage)
    size = vocab_size - (1 + 256 * byte_fallback + len(user_symbols) + len(special_tokens))
    words = cut_long_words(within(counted, alphabet))
    counts = {char: characters(dict(words)).get(char, 0) for char in alphabet} | dict(seeds(words))
    total = log(float(sum(counts.values()))) if words else 0.0
    scores = {token: log(max(n, 1)) - total for token, n in counts.items()}
    target = int(size * SURPLUS)
    while True:
        for _ in range(ROUNDS):
            scores = rescore(sum_counts(words, scores, True), scores)
        before = len(scores)
        if before <= target:
            break
        scores = prune_tokens(words, scores, max(target, int(before * SHRINK)))
        if len(scores) == before:
            break
    return [(token.replace(" ", "▁"), score) for token, score in choose_tokens(scores, alphabet, size)]


__dir__ = listing(__name__)
