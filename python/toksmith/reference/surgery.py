r"""Surgery on byte-level byte-pair encodings: which tokens `extend` adds, and which `prune` removes.

It leaves out models of characters, whose words begin at `▁` and whose new tokens get lower scores than all others; and which of
two equal merges `prune` takes where a model has no list of merges. `add_special` only gives new
contents the ids after the largest one.

>>> model = Model({b"a": 0, b"b": 1})
>>> extended(model, ["abab", "abab"], 2)
[(b'ab', 2), (b'abab', 3)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from . import Model, Pair, Text, bytes_rule, count, merge, symbols


def extended(
    model: Model, documents: Iterable[Text], n: int, *, min_count: int = 2, by_bytes: bool = False
) -> list[tuple[bytes, int]]:
    """The tokens that a corpus adds to a model, with their ids.

    Each piece is encoded. Then, `n` times: the neighbours with the highest count, of equals those of the lowest ids, become a
    token whose merge comes after all others, and all pieces merge again. Two neighbours cannot become a token if their joined
    bytes are one or hold an added token.

    Args:
        by_bytes: Whether any two neighbours merge whose joined bytes are a token: then they are counted by these bytes.

    >>> extended(Model({b"a": 0, b"b": 1}), ["aab", "ab"], 1)
    [(b'ab', 2)]
    """
    tokens, ranks = dict(model.tokens), dict(model.ranks)
    bytes_of = {id: token for token, id in tokens.items()}
    contents = [content.encode() for content in [*model.specials, *model.added]]
    counts = count(documents, model.patterns)
    words = {piece: merge([tokens[part] for part in symbols(piece, model.unit)], ranks) for piece in counts}
    words |= {piece: [tokens[piece]] for piece in words if model.whole_piece and piece in tokens}
    lowest: dict[object, Pair] = {}  # of the pairs that ever stood for some bytes
    added: list[tuple[bytes, int]] = []
    while len(added) < n:
        totals: dict[object, int] = {}
        for piece, ids in words.items():
            for pair in pairwise(ids):
                token = bytes_of[pair[0]] + bytes_of[pair[1]]
                if token not in tokens and not any(content in token for content in contents):
                    key = token if by_bytes else pair
                    totals[key] = totals.get(key, 0) + counts[piece]
                    lowest[key] = min(lowest.get(key, pair), pair)
        best = min(
            (key for key in totals if totals[key] >= min_count),
            key=lambda key: (-totals[key], lowest[key]),
            default=None,
        )
        if best is None:
            break
        left, right = lowest[best]
        id = max([*bytes_of, *model.specials.values(), *model.added.values()]) + 1
        token = bytes_of[left] + bytes_of[right]
        tokens[token], bytes_of[id] = id, token
        ranks = bytes_rule(tokens) if by_bytes else ranks | {(left, right): (len(ranks), id)}
        words = {
            piece: [id] if model.whole_piece and piece == token else merge(ids, ranks) for piece, ids in words.items()
        }
        added.append((token, id))
    return added


def removed(model: Model, used: Mapping[int, int] | None = None) -> Iterator[tuple[int, int]]:
    """The tokens in the order in which they can be removed, with how often they are used, what was made of them included.

    A token goes when no token that is left is made of it: the one that is used least, of equals the one with the largest id.
    Bytes and added tokens stay.

    Args:
        used: How often each id stands in a corpus; None for no corpus.

    >>> model = Model({b"a": 0, b"b": 1, b"ab": 2, b"aba": 3}, {(0, 1): (0, 2), (2, 0): (1, 3)})
    >>> [*removed(model)], [*removed(model, {3: 5})]
    ([(3, 0), (2, 0)], [(3, 5), (2, 5)])
    """
    fixed = {*model.specials.values(), *model.added.values()}
    free = {id for token, id in model.tokens.items() if len(token) > 1 and id not in fixed}
    uses = dict(used or {})
    merges = {pair: id for pair, (_, id) in model.ranks.items()}
    while leaves := free - {part for pair in merges for part in pair}:
        id = min(leaves, key=lambda leaf: (uses.get(leaf, 0), -leaf))
        yield id, uses.get(id, 0)
        for pair in [pair for pair in merges if merges[pair] == id]:
            for part in pair:
                uses[part] = uses.get(part, 0) + uses.get(id, 0)
            del merges[pair]
        free.remove(id)


def renumbered(ids: Iterable[int], gone: Sequence[int]) -> dict[int, int]:
    """The new id of each one that stays: the same order, without holes.

    >>> renumbered([0, 1, 5, 7], [1])
    {0: 0, 5: 1, 7: 2}
    """
    return {old: new for new, old in enumerate(sorted({*ids} - {*gone}))}
