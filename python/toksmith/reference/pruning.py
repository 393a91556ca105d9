"""Pruning: which tokens `prune` removes from a model of any kind, in which order, and the new ids of the others.

A token is removed before the tokens that it is merged from. These are in the model's list of merges; without such a list,
`last_merge` finds them.

>>> parts = parts_of([(0, 1, 2), (2, 0, 3)])
>>> gone = [id for id, _ in removed_ids([2, 3], parts)][:1]
>>> gone, renumber_ids(range(4), gone)
([3], {0: 0, 1: 1, 2: 2})
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from .names import listing

BYTE = re.compile(rb"<0x[0-9A-F]{2}>")


def stays(
    token: bytes,
    kind: str = "bpe",
    unit: str = "byte",
    *,
    prefix: str = "",
    suffix: str = "",
    byte_fallback: bool = False,
) -> bool:
    """Whether a token must stay even if a corpus does not use it: a byte, or a character with or without its marks.

    Added tokens and the unknown token stay too. In a model of words no other token does.

    Args:
        prefix: The start of each token that continues a word.
        suffix: The end of each token that ends a word.

    >>> stays(b"a"), stays(b"ab"), stays("é".encode(), unit="char"), stays(b"##a", "wordpiece", "char", prefix="##")
    (True, False, True, True)
    """
    if kind == "bpe" and unit == "byte":
        return len(token) == 1
    if byte_fallback and BYTE.fullmatch(token):
        return True
    content = token.decode("utf-8", "replace").removesuffix(suffix).removeprefix(prefix)
    return kind != "words" and len(content) <= 1


def last_merge(symbols: Sequence[bytes], ranks: Mapping[bytes, float]) -> tuple[bytes, ...]:
    """The two parts of the last merge that forms a token from its symbols; empty if merging does not reach it.

    With ab before bc, the last merge of abc is ab + c; if both have the same rank, the leftmost comes first:

    >>> last_merge([b"a", b"b", b"c"], {b"bc": 1, b"ab": 0, b"abc": 2}), last_merge([b"a", b"b", b"c"], {b"bc": 0, b"ab": 0})
    ((b'ab', b'c'), (b'ab', b'c'))
    >>> last_merge([b"a", b"b", b"c"], {b"abc": 0})
    ()
    """
    parts = list(symbols)
    while len(parts) > 2:
        merged_parts = [left + right for left, right in pairwise(parts)]
        ranked = [(ranks[both], at) for at, both in enumerate(merged_parts) if both in ranks]
        if not ranked:
            return ()
        at = min(ranked)[1]
        parts[at : at + 2] = [merged_parts[at]]
    return tuple(parts) if len(parts) == 2 else ()


def parts_of(merges: Iterable[Sequence[int]]) -> dict[int, list[int]]:
    """The ids from which each token is merged: both parts of each of its merges (left id, right id, new id).

    >>> parts_of([(0, 1, 2), (2, 0, 3)])
    {2: [0, 1], 3: [2, 0]}
    """
    parts: dict[int, list[int]] = {}
    for left, right, id in merges:
        parts.setdefault(id, []).extend((left, right))
    return parts


def removed_ids(
    ids: Iterable[int],
    parts: Mapping[int, Sequence[int]],
    used: Mapping[int, int] | None = None,
    scores: Mapping[int, float] | None = None,
) -> Iterator[tuple[int, int]]:
    """The tokens in the order of removal, each with its uses, which include those of removed tokens merged from it.

    A token can be removed when no remaining token is merged from it. The least used one goes first; among equals, without a
    corpus, the lowest score, and then the largest id.

    Args:
        ids: The tokens that can be removed.
        parts: As from `parts_of`.
        used: The count of each id in a corpus; None for no corpus.

    >>> parts = parts_of([(0, 1, 2), (2, 0, 3)])
    >>> [*removed_ids([2, 3], parts)], [*removed_ids([2, 3], parts, {3: 5})]
    ([(3, 0), (2, 0)], [(3, 5), (2, 5)])
    """
    free, remaining, uses = {*ids}, dict(parts), dict(used or {})
    ranking = scores if scores and used is None else {}
    while leaves := free - {part for ids_of_parts in remaining.values() for part in ids_of_parts}:
        id = min(leaves, key=lambda leaf: (uses.get(leaf, 0), ranking.get(leaf, 0.0), -leaf))
        yield id, uses.get(id, 0)
        for part in remaining.pop(id, ()):
            uses[part] = uses.get(part, 0) + uses.get(id, 0)
        free.remove(id)


def renumber_ids(ids: Iterable[int], gone: Collection[int]) -> dict[int, int]:
    """The new id of each token that stays: the same order, without holes.

    >>> renumber_ids([0, 1, 5, 7], [1])
    {0: 0, 5: 1, 7: 2}
    """
    return {old: new for new, old in enumerate(sorted({*ids} - {*gone}))}


__dir__ = listing(__name__)
