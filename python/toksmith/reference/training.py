r"""Every option of byte-pair training, beyond `reference.train`. `learn_merges` is the call, `learn` the loop.

The order: count pieces (`pieces_of`), give seed tokens their merges (`seed_merges`), run the loop, and for superwords run it
once more on the pieces of a coarser pattern.

>>> learn_merges(["a1 a1"], [], 1), learn_merges(["a1 a1"], [], 1, digits="1")
(([(97, 49, 256)], [2], [3]), ([(32, 97, 256)], [1], [4]))
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from . import ALPHABET, Model, Pair, Text, count, merge, pair_counts, replace_pair, split, symbols
from .names import listing

Triple = tuple[int, int, int]
Pieces = Sequence[tuple[list[int], int]]
SUPERWORDS = r"[^\r\n\p{N}]+[\r\n]*|[\r\n]+|\p{N}{1,3}"
DIGITS: Mapping[str, Sequence[str]] = {
    "none": (),
    "1": (r"\p{N}",),
    "3": (r"\p{N}{1,3}",),
    "3_right": (r"\p{N}+", r"^\p{N}{1,2}(?=(?:\p{N}{3})+$)|\p{N}{3}|\p{N}{1,2}"),
}


def gpt2_order() -> list[int]:
    """The bytes in the order of their ids with `alphabet="gpt2"`: printable bytes first.

    >>> gpt2_order()[:3], gpt2_order()[188:191]
    ([33, 34, 35], [0, 1, 2])
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return [*printable, *(byte for byte in range(256) if byte not in printable)]


def pieces_of(
    documents: Iterable[Text], patterns: Sequence[str], digits: str = "none", least: int = 1, longest: int | None = None
) -> dict[bytes, int]:
    """The pieces of documents with their counts: digits are split first.

    Args:
        least: `min_piece_count`: rarer pieces are left out.
        longest: `max_piece_bytes`: longer pieces are left out.

    >>> pieces_of(["a1234", "a"], ["[a-z0-9]+"], "3_right")
    {b'a': 2, b'1': 1, b'234': 1}
    >>> pieces_of(["a bb a"], ["[a-z]+"], least=2, longest=1)
    {b'a': 2, b' ': 2}
    """
    counts = count(documents, [*DIGITS[digits], *patterns])
    return {piece: n for piece, n in counts.items() if n >= least and (longest is None or len(piece) <= longest)}


def seed_merges(seeds: Iterable[Sequence[int]], first: int) -> list[Triple]:
    """The merges that make each seed (a list of ids) one token: it is encoded with the merges so far, and while more than
    one id remains, the first two merge.

    >>> seed_merges([[97, 98, 97, 98], [97, 98, 99]], 256)
    [(97, 98, 256), (256, 256, 257), (256, 99, 258)]
    """
    merges: list[Triple] = []
    for seed in seeds:
        while len(ids := merge(seed, {(left, right): (rank, id) for rank, (left, right, id) in enumerate(merges)})) > 1:
            merges.append((ids[0], ids[1], first + len(merges)))
    return merges


def is_whole(left: bytes, right: bytes) -> bool:
    r"""Whether two tokens can merge with `whole_characters`: both are whole characters, or the left one is the beginning of a
    character and their joined bytes are that character or a longer beginning of it.

    >>> is_whole(b"a", "é".encode()), is_whole(b"\xe2\x98", b"\x80"), is_whole(b"\xe2", b"\x98"), is_whole(b"a", b"\xe2")
    (True, True, True, False)
    """

    def shape(token: bytes) -> str:
        try:
            return "whole" if token.decode() else ""
        except UnicodeDecodeError as problem:
            return "begun" if problem.reason == "unexpected end of data" and problem.start == 0 else "other"

    if shape(left) == shape(right) == "whole":
        return True
    joined = shape(left + right) != "other" and len(left + right) <= 4
    return shape(left) == "begun" and shape(right) == "other" and joined


def forbidden(base: Model, by_bytes: bool) -> set[bytes]:
    """The tokens that training on a base must not learn: the base's tokens and, if the bytes of neighbours decide, each
    beginning and end of a base token that merging cannot reach, because merging could then reach that token.

    >>> base = Model({b"a": 0, b"b": 1, b"abab": 2})
    >>> sorted(forbidden(base, by_bytes=True))
    [b'a', b'ab', b'aba', b'abab', b'b', b'bab']
    """
    tokens = {*base.tokens}
    for token, id in base.tokens.items() if by_bytes else ():
        if merge([base.tokens[part] for part in symbols(token, base.unit)], base.ranks) != [id]:
            tokens |= {part for at in range(1, len(token)) for part in (token[:at], token[at:])}
    return tokens


def learn(
    pieces: Pieces,
    tokens: Mapping[int, bytes],
    given: Sequence[Triple],
    first: int,
    limit: int | None,
    *,
    rules: tuple[str, int, int | None, bool] = ("lowest_ids", 1, None, False),
    never: Collection[bytes] = (),
) -> list[tuple[Triple, int, int]]:
    """The merges that pieces of ids teach: each with the count of its pair and the symbols left in the corpus after it.

    Merges that are `given` come first, whatever their counts and the rules. Then, in each step, the pair with the highest
    count among those that are allowed becomes a symbol; `ties` decides among equals as in `reference.train`.

    Args:
        tokens: The bytes of each id.
        first: The id of the first merge after the given ones.
        limit: The largest number of merges, including the given ones.
        rules: `ties`, `min_count`, `max_token_bytes` and `whole_characters`.
        never: The bytes of tokens that must not be learned.

    >>> learn([([97, 98, 98], 2)], {97: b"a", 98: b"b"}, [(98, 98, 256)], 257, 2)
    [((98, 98, 256), 2, 4), ((97, 256, 257), 2, 2)]
    """
    ties, min_count, max_token_bytes, whole_characters = rules
    bytes_of = dict(tokens)
    learned_merges: list[tuple[Triple, int, int]] = []
    longest = float("inf") if max_token_bytes is None else max_token_bytes

    def can_merge(left: int, right: int) -> bool:
        joined = bytes_of[left] + bytes_of[right]
        whole = not whole_characters or is_whole(bytes_of[left], bytes_of[right])
        return len(joined) <= longest and whole and joined not in never

    while limit is None or len(learned_merges) < limit:
        totals: dict[Pair, int] = {}
        for ids, n in pieces:
            for pair, times in pair_counts(ids).items():
                totals[pair] = totals.get(pair, 0) + times * n
        if len(learned_merges) < len(given):
            *parts, new = given[len(learned_merges)]
            best = parts[0], parts[1]
        else:
            left = [pair for pair, total in totals.items() if total >= max(min_count, 1) and can_merge(*pair)]
            if not left:
                break
            best = max(sorted(left) if ties == "lowest_ids" else left, key=totals.__getitem__)
            new = first + len(learned_merges) - len(given)
        bytes_of[new] = bytes_of[best[0]] + bytes_of[best[1]]
        pieces = [(replace_pair(ids, best, new), n) for ids, n in pieces]
        learned_merges.append(((*best, new), totals.get(best, 0), sum(len(ids) * n for ids, n in pieces)))
    return learned_merges


def learn_merges(
    documents: Sequence[Text],
    patterns: Sequence[str],
    merges: int | None = None,
    *,
    vocab_size: int | None = None,
    special_tokens: Sequence[str] = (),
    unit: str = "byte",
    alphabet: str | None = None,
    digits: str = "none",
    seed_tokens: Sequence[bytes] = (),
    superwords: int = 0,
    superword_pattern: Sequence[str] = (SUPERWORDS,),
    base: Model | None = None,
    by_bytes: bool = False,
    min_piece_count: int = 1,
    max_piece_bytes: int | None = None,
    ties: str = "lowest_ids",
    min_count: int = 1,
    max_token_bytes: int | None = None,
    whole_characters: bool = False,
) -> tuple[list[Triple], list[int], list[int]]:
    r"""The merges that a corpus teaches, their counts and the symbols left after each: `toksmith.train`, option by option.

    Args:
        base: The tokenizer to continue. It encodes the corpus, and new ids follow its last one.
        by_bytes: Whether two neighbours of the base merge if their joined bytes are a token.

    >>> learn_merges(["ab cd ab cd"], [r" ?\\S+"], 4, superwords=1, seed_tokens=[b"ab"])[0]
    [(97, 98, 256), (32, 99, 257), (256, 257, 258), (258, 100, 259)]
    """
    order = gpt2_order() if alphabet == "gpt2" else range(ALPHABET[unit])
    tokens = {id: bytes([byte]) for id, byte in enumerate(order)}
    ids_of = {token: id for id, token in tokens.items()}
    first, never = len(tokens), set[bytes]()
    if base is not None:
        tokens = {id: token for token, id in base.tokens.items()}
        first = max([*base.tokens.values(), *base.specials.values()]) + 1
        never = forbidden(base, by_bytes)

    def encode_piece(piece: bytes) -> list[int]:
        if base is None:
            return [ids_of[bytes([byte])] for byte in piece]
        if base.whole_piece and piece in base.tokens:
            return [base.tokens[piece]]
        return merge([base.tokens[part] for part in symbols(piece, base.unit)], base.ranks)

    def phase(cuts: Sequence[str], given: Sequence[Triple], limit: int | None) -> list[tuple[Triple, int, int]]:
        counts = pieces_of(documents, cuts, digits, min_piece_count, max_piece_bytes)
        pieces = [(encode_piece(piece), n) for piece, n in counts.items()]
        rules = (ties, min_count, max_token_bytes, whole_characters)
        return learn(pieces, tokens, given, first + len(given), limit, rules=rules, never=never)

    limit = merges if vocab_size is None else vocab_size - first - len(special_tokens)
    seeds = seed_merges([[id for part in split(seed, []) for id in encode_piece(part)] for seed in seed_tokens], first)
    words = max(limit - superwords, 0) if limit is not None else None
    rows = phase(patterns, seeds[:words], words)
    if superwords:
        rows = phase(superword_pattern, [triple for triple, *_ in rows], limit)
    return [triple for triple, *_ in rows], [n for _, n, _ in rows], [left for *_, left in rows]


__dir__ = listing(__name__)
