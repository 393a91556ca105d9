"""Surgery: which tokens `prune` removes from a model of any kind, in which order, and the ids of those that stay.

A token is removed before those that it is merged from. The merges of a model say what these are; where a model has no list
of merges, `last_merge` does.

>>> parts = parts_of([(0, 1, 2), (2, 0, 3)])
>>> gone = [id for id, _ in removed([2, 3], parts)][:1]
>>> gone, renumbered(range(4), gone)
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
    """Whether texts need a token, whatever a corpus uses: a byte, or a character with or without its marks.

    Added tokens and the unknown token stay as well. Of a model of words, nothing else does.

    Args:
        prefix: What a token starts with that continues a word.
        suffix: What a token ends with that ends a word.

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
    """The two parts that a token is merged from last when its own symbols merge by bytes; nothing if they never become it.

    With ab before bc, the last merge of abc is ab + c; if both have the same rank, the leftmost comes first:

    >>> last_merge([b"a", b"b", b"c"], {b"bc": 1, b"ab": 0, b"abc": 2}), last_merge([b"a", b"b", b"c"], {b"bc": 0, b"ab": 0})
    ((b'ab', b'c'), (b'ab', b'c'))
    >>> last_merge([b"a", b"b", b"c"], {b"abc": 0})
    ()
    """
    parts = list(symbols)
    while len(parts) > 2:
        joined = [left + right for left, right in pairwise(parts)]
        ranked = [(ranks[both], at) for at, both in enumerate(joined) if both in ranks]
        if not ranked:
            return ()
        at = min(ranked)[1]
        parts[at : at + 2] = [joined[at]]
    return tuple(parts) if len(parts) == 2 else ()


def parts_of(merges: Iterable[Sequence[int]]) -> dict[int, list[int]]:
    """The ids from which each token is merged, both of each of its merges (left id, right id, new id).

    >>> parts_of([(0, 1, 2), (2, 0, 3)])
    {2: [0, 1], 3: [2, 0]}
    """
    parts: dict[int, list[int]] = {}
    for left, right, id in merges:
        parts.setdefault(id, []).extend((left, right))
    return parts


def removed(
    ids: Iterable[int],
    parts: Mapping[int, Sequence[int]],
    used: Mapping[int, int] | None = None,
    scores: Mapping[int, float] | None = None,
) -> Iterator[tuple[int, int]]:
    """The tokens in the order in which they can be removed, with how often they are used, what was merged from them included.

    A token goes when no token that is left is merged from it: the one that is used least. Of equals it is, without a corpus,
    the one with the lowest score, and then the one with the largest id.

    Args:
        ids: Those that may go.
        parts: As of `parts_of`.
        used: How often each id occurs in a corpus; None for no corpus.

    >>> parts = parts_of([(0, 1, 2), (2, 0, 3)])
    >>> [*removed([2, 3], parts)], [*removed([2, 3], parts, {3: 5})]
    ([(3, 0), (2, 0)], [(3, 5), (2, 5)])
    """
    free, left, uses = {*ids}, dict(parts), dict(used or {})
    known = scores if scores and used is None else {}
    while leaves := free - {part for found in left.values() for part in found}:
        id = min(leaves, key=lambda leaf: (uses.get(leaf, 0), known.get(leaf, 0.0), -leaf))
        yield id, uses.get(id, 0)
        for part in left.pop(id, ()):
            uses[part] = uses.get(part, 0) + uses.get(id, 0)
        free.remove(id)


def renumbered(ids: Iterable[int], gone: Collection[int]) -> dict[int, int]:
    """The new id of each one that stays: the same order, without holes.

    >>> renumbered([0, 1, 5, 7], [1])
    {0: 0, 5: 1, 7: 2}
    """
    return {old: new for new, old in enumerate(sorted({*ids} - {*gone}))}


__dir__ = listing(__name__)
