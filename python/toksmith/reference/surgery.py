r"""Surgery: which tokens `extend` adds to a byte-pair encoding, and where the embeddings of new tokens come from.

`extend_model` continues training from the ids of a corpus. Models of bytes and of characters, by pairs, by bytes and by scores,
differ only in the fields of `Continued`. Left out: removing tokens (`pruning`), and encoding (`encode`, `models`).

>>> model = by_ranks({0: b"a", 1: b"b"})
>>> [(new.token, new.id, new.sources) for new in extend_model(model, {Word((0, 1, 0, 1)): 2}, 2)]
[(b'ab', 2, (0, 1)), (b'abab', 3, (0, 1, 0, 1))]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from . import Pair
from .names import listing

BLOCK = "▁".encode()


class Word(NamedTuple):
    """A distinct piece of a corpus: its ids, and its bytes if the model looks up whole pieces."""

    ids: tuple[int, ...]
    content: bytes | None = None


class Continued(NamedTuple):
    """A byte-pair encoding that gets more merges.

    Attributes:
        tokens: The token of each id.
        merges: The rank and the id of each merge, by the pair of ids or, `by_bytes`, by the joined bytes of the two.
        by_bytes: Whether two neighbours merge if their joined bytes are a token.
        apart: The ids that do not stand for the text of their token: added tokens, the unknown token, and the byte tokens
            of characters without a token. With `by_bytes` they never merge.
        contents: The contents of added tokens. No new token contains one.
        rank: The rank of the first new merge.
        step: The difference between the ranks of consecutive new merges.
    """

    tokens: Mapping[int, bytes]
    merges: Mapping[Pair | bytes, tuple[float, int]]
    by_bytes: bool
    apart: Collection[int]
    contents: Collection[bytes]
    rank: float
    step: float = 1.0


class New(NamedTuple):
    """A new token. Its embedding starts as the mean of the embeddings of its `sources`, the old ids that it joins."""

    token: bytes
    id: int
    rank: float
    sources: tuple[int, ...]


def by_pairs(
    tokens: Mapping[int, bytes],
    merges: Sequence[Sequence[int]],
    apart: Collection[int] = (),
    contents: Collection[bytes] = (),
) -> Continued:
    """A model with a list of merges (left id, right id, new id). New merges follow them.

    >>> by_pairs({0: b"a", 1: b"b", 2: b"ab"}, [(0, 1, 2)]).rank
    1
    """
    ranks: dict[Pair | bytes, tuple[float, int]] = {
        (left, right): (rank, id) for rank, (left, right, id) in enumerate(merges)
    }
    return Continued(tokens, ranks, False, apart, contents, len(merges))


def by_ranks(tokens: Mapping[int, bytes], apart: Collection[int] = (), contents: Collection[bytes] = ()) -> Continued:
    """A model whose tokens are in the order of their ranks.

    >>> by_ranks({0: b"a", 1: b"b", 2: b"ab"}).merges[b"ab"]
    (2, 2)
    """
    ranks: dict[Pair | bytes, tuple[float, int]] = {
        token: (rank, id) for rank, (id, token) in enumerate(tokens.items())
    }
    return Continued(tokens, ranks, True, apart, contents, len(tokens))


def by_scores(
    tokens: Mapping[int, bytes],
    scores: Mapping[int, float],
    apart: Collection[int] = (),
    contents: Collection[bytes] = (),
    *,
    single: bool = True,
) -> Continued:
    """A model with scores: the merge to the highest score comes first, so a rank is a negated score.

    The score of a new token is below all others by 1, or by twice the distance of neighbouring numbers at the largest
    score, if that is more.

    Args:
        single: Whether scores are numbers of single precision.

    >>> model = by_scores({0: b"a", 1: b"ab"}, {0: -1.0, 1: -5.0})
    >>> model.merges[b"ab"], model.rank
    ((5.0, 1), 6.0)
    """
    spacing = math.ulp(max(map(abs, scores.values()))) * (2**29 if single else 1)
    step = max(1.0, 2 * spacing)
    ranks: dict[Pair | bytes, tuple[float, int]] = {tokens[id]: (-scores[id], id) for id in scores if id not in apart}
    return Continued(tokens, ranks, True, apart, contents, step - min(scores.values()), step)


# Counting


def words_of(
    counts: Mapping[bytes, int], ids_of: Callable[[bytes], Iterable[int]], whole_piece: bool
) -> dict[Word, int]:
    """The words of a model that splits: each distinct piece with its ids when it is encoded alone.

    >>> words_of({b"ab": 2}, list, whole_piece=True)
    {Word(ids=(97, 98), content=b'ab'): 2}
    """
    return {Word((*ids_of(piece),), piece if whole_piece else None): times for piece, times in counts.items() if piece}


def words_at_blocks(documents: Iterable[Iterable[int]], tokens: Mapping[int, bytes]) -> dict[Word, int]:
    """The words of a model of characters that does not split: a word begins where a document or a token with `▁` does.

    >>> words_at_blocks([[0, 1, 0], [1]], {0: "▁a".encode(), 1: b"b"})
    {Word(ids=(0, 1), content=None): 1, Word(ids=(0,), content=None): 1, Word(ids=(1,), content=None): 1}
    """
    words: dict[Word, int] = {}
    for document in documents:
        parts: list[list[int]] = []
        for id in document:
            if not parts or tokens.get(id, b"").startswith(BLOCK):
                parts.append([])
            parts[-1].append(id)
        for part in parts:
            word = Word((*part,))
            words[word] = words.get(word, 0) + 1
    return words


# Adding


def key_of(pair: Pair, model: Continued) -> Pair | bytes:
    """The key of a merge of two neighbours: the pair, or the joined bytes.

    >>> key_of((0, 1), by_ranks({0: b"a", 1: b"b"})), key_of((0, 1), by_pairs({0: b"a", 1: b"b"}, []))
    (b'ab', (0, 1))
    """
    return model.tokens[pair[0]] + model.tokens[pair[1]] if model.by_bytes else pair


def merge_ids(ids: Sequence[int], model: Continued) -> list[int]:
    """The ids after all merges: one at a time, the lowest rank first, the leftmost of equals.

    >>> merge_ids([0, 0, 0], by_ranks({0: b"a", 1: b"aa"})), merge_ids([0, 0], by_ranks({0: b"a", 1: b"aa"}, apart=[0]))
    ([1, 0], [0, 0])
    """
    ids = list(ids)
    while True:
        pairs = [
            (at, pair) for at, pair in enumerate(pairwise(ids)) if not (model.by_bytes and {*pair} & {*model.apart})
        ]
        keys = [(at, key) for at, pair in pairs if (key := key_of(pair, model)) in model.merges]
        if not keys:
            return ids
        at, key = min(keys, key=lambda found: (model.merges[found[1]][0], found[0]))
        ids[at : at + 2] = [model.merges[key][1]]


def extend_model(model: Continued, words: Mapping[Word, int], n: int, *, min_count: int = 2) -> list[New]:
    """The tokens that a corpus adds to a model.

    `n` times, the neighbours with the highest count (the lowest ids among equals) become a token, whose merge follows all
    others, and all words merge again. Two neighbours cannot become a token if one of them is `apart`, or if their joined
    bytes are a token or contain an added token. With `by_bytes`, neighbours with equal bytes count together; the sources are
    those of the pair with the lowest ids that ever occurred.

    >>> [new.token for new in extend_model(by_ranks({0: b"a", 1: b"b"}), {Word((0, 0, 1)): 1, Word((0, 1)): 1}, 1)]
    [b'ab']
    """
    tokens, merges, rank = dict(model.tokens), dict(model.merges), model.rank
    model = model._replace(tokens=tokens, merges=merges)  # both grow below
    ids = {word: list(word.ids) for word in words}
    sources: dict[int, tuple[int, ...]] = {id: (id,) for id in tokens}
    lowest: dict[Pair | bytes, Pair] = {}
    added: list[New] = []
    while len(added) < n:
        totals: dict[Pair | bytes, int] = {}
        for word, times in words.items():
            for pair in pairwise(ids[word]):
                if can_join(pair, model):
                    key = key_of(pair, model)
                    totals[key] = totals.get(key, 0) + times
                    lowest[key] = min(lowest.get(key, pair), pair)
        enough = [key for key in totals if totals[key] >= min_count]
        best = min(enough, key=lambda key: (-totals[key], lowest[key]), default=None)
        if best is None:
            break
        left, right = lowest[best]
        new = New(tokens[left] + tokens[right], max([*tokens, *model.apart]) + 1, rank, sources[left] + sources[right])
        tokens[new.id], merges[best], sources[new.id] = new.token, (rank, new.id), new.sources
        rank += model.step
        ids = {word: [new.id] if word.content == new.token else merge_ids(ids[word], model) for word in words}
        added.append(new)
    return added


def can_join(pair: Pair, model: Continued) -> bool:
    """Whether two neighbours can become a token.

    >>> can_join((0, 0), by_ranks({0: b"a"})), can_join((0, 0), by_ranks({0: b"a"}, contents=[b"aa"]))
    (True, False)
    """
    if {*pair} & {*model.apart}:
        return False
    token = model.tokens[pair[0]] + model.tokens[pair[1]]
    return token not in model.tokens.values() and not any(content in token for content in model.contents)


# The map of the ids


def special_sources(
    ids: Iterable[int], contents: Iterable[str], ids_of: Callable[[str], Iterable[int]]
) -> dict[int, tuple[int, ...]]:
    """The ids of new special tokens, which follow the largest, and the old ids of their contents as ordinary text.

    >>> special_sources([0, 5], ["<a>"], lambda content: range(len(content)))
    {6: (0, 1, 2)}
    """
    return {id: (*ids_of(content),) for id, content in enumerate(contents, max(ids) + 1)}


def rows_of(rows: Sequence[float], sources: Mapping[int, Sequence[int]]) -> list[float]:
    """A column of numbers with a row for each new id: the mean of the rows of its sources; 0 for an id without a token.

    >>> rows_of([1.0, 2.0, 6.0], {0: [0], 2: [1, 2]})
    [1.0, 0.0, 4.0]
    """
    return [
        sum(rows[old] for old in old_ids) / len(old_ids) if (old_ids := sources.get(id)) else 0.0
        for id in range(max(sources) + 1)
    ]


__dir__ = listing(__name__)
