r"""Parity-aware training: the language that is worst off chooses each merge. `learn_merges` is the call, `learn` the loop.

A language is a corpus with a need: the tokens of its parallel development text (`needs_by_text`), or the distance of the
corpus's compression below a target (`needs_by_ratio`). The language with the greatest need chooses the pair with the highest
count in its own corpus, and this pair merges in all corpora and texts.

>>> languages, texts = {"en": ["ab ab ab"], "xx": ["cd"]}, {"en": ["ab"], "xx": ["cd cd"]}
>>> [merge[:2] + merge[-1:] for merge in learn_merges(languages, [r" ?\\S+"], 3, mode="parity", development=texts)]
[((99, 100, 256), 1, 'xx'), ((97, 98, 257), 3, 'en'), ((32, 257, 258), 2, 'en')]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from . import ALPHABET, Pair, Text, merge, pair_counts, replace_pair, split, symbols
from . import Model as BaseModel
from .names import listing
from .training import Pieces, Triple, forbidden, gpt2_order, is_whole, pieces_of, seed_merges

Learned = tuple[Triple, int, int, str | None]


def size(pieces: Pieces) -> int:
    """The number of symbols in the pieces, times the counts of the pieces.

    >>> size([([97, 98], 3)])
    6
    """
    return sum(len(ids) * n for ids, n in pieces)


def totals_of(pieces: Pieces) -> dict[Pair, int]:
    """How often each pair occurs in pieces.

    >>> totals_of([([97, 98, 97, 98], 3)])
    {(97, 98): 6, (98, 97): 3}
    """
    totals: dict[Pair, int] = {}
    for ids, n in pieces:
        for pair, times in pair_counts(ids).items():
            totals[pair] = totals.get(pair, 0) + times * n
    return totals


def apply_merges(pieces: Pieces, merges: Sequence[Triple]) -> Pieces:
    """The pieces after merges, one after another.

    >>> apply_merges([([97, 98, 97], 2)], [(97, 98, 256), (256, 97, 257)])
    [([257], 2)]
    """
    for left, right, new in merges:
        pieces = [(replace_pair(ids, (left, right), new), n) for ids, n in pieces]
    return pieces


def needs_by_text(tokens: Mapping[str, int]) -> dict[str, float]:
    """The needs of languages: the current number of tokens in their development texts.

    >>> needs_by_text({"en": 3, "hi": 5})
    {'en': 3, 'hi': 5}
    """
    return dict(tokens)


def needs_by_ratio(first: Mapping[str, int], now: Mapping[str, int], ratios: Mapping[str, float]) -> dict[str, float]:
    """The needs of languages: their compression so far relative to the target, negated, so that the least compression is the
    greatest need. Ratios are relative to that of the first language.

    >>> needs_by_ratio({"en": 8, "hi": 8}, {"en": 2, "hi": 4}, {"en": 2.0, "hi": 1.0})
    {'en': -4.0, 'hi': -4.0}
    """
    base = next(iter(ratios.values()))
    # A corpus whose pieces are all left out has no symbols, and is not compressed.
    rates = {name: first[name] / now[name] if now[name] else 1.0 for name in first}
    return {name: -rates[name] / (ratios[name] / base) for name in first}


def next_language(
    needs: Mapping[str, float], recent: Sequence[str], window: int | None = None, alpha: float = 2.0
) -> str:
    """The language that chooses the next merge: the greatest need, the first among equals.

    With a window, a language waits while it chose more than alpha · window / (number of languages) of the last `window` merges.
    With an alpha of at least 1, at least one language does not wait.

    >>> next_language({"en": 3, "hi": 5}, ["hi", "hi"]), next_language({"en": 3, "hi": 5}, ["hi", "hi"], 2, 1.5)
    ('hi', 'en')
    """
    last = recent[max(len(recent) - window, 0) :] if window is not None else []
    free = [name for name in needs if window is None or not last.count(name) * len(needs) > alpha * window]
    return max(free, key=needs.__getitem__)


def learn(
    corpora: Mapping[str, Pieces],
    others: Pieces,
    needs: Callable[[Mapping[str, int], Sequence[Triple]], Mapping[str, float]],
    tokens: Mapping[int, bytes],
    given: Sequence[Triple] = (),
    *,
    first: int,
    limit: int | None = None,
    shared: int = 0,
    window: int | None = None,
    alpha: float = 2.0,
    rules: tuple[int, int | None, bool] = (1, None, False),
    never: frozenset[bytes] = frozenset(),
) -> list[Learned]:
    """The merges that languages teach: each with the count of its pair in all corpora, the symbols left in all corpora, and the
    language that chose it (None where none did).

    Merges that are `given` come first. The counts of all corpora and `others` together choose the next `shared` merges, as in
    `reference.train`. Then languages choose. A language without an allowed pair never chooses again, because its counts only
    fall; training ends when no language remains.

    Args:
        needs: Returns the needs of all languages from the symbols of each corpus and the merges so far.
        first: The id of the first merge after the given ones.
        limit: The largest number of merges, including the given ones.
        rules: `min_count`, for the count in the corpora that choose; `max_token_bytes` and `whole_characters`.

    >>> pieces = {"en": [([97, 98], 3)], "xx": [([98, 98], 1)]}
    >>> learn(pieces, [], lambda sizes, made: sizes, {97: b"a", 98: b"b"}, first=256)
    [((97, 98, 256), 3, 5, 'en'), ((98, 98, 257), 1, 4, 'xx')]
    """
    min_count, max_token_bytes, whole_characters = rules
    bytes_of = dict(tokens)
    now, rest = dict(corpora), others
    rows: list[Learned] = []
    recent: list[str] = []
    active = [*corpora]

    def can_merge(left: int, right: int) -> bool:
        joined = bytes_of[left] + bytes_of[right]
        long = max_token_bytes is not None and len(joined) > max_token_bytes
        whole = not whole_characters or is_whole(bytes_of[left], bytes_of[right])
        return not long and whole and joined not in never

    def best_of(pieces: Pieces) -> Pair | None:
        totals = totals_of(pieces)
        pairs = sorted(pair for pair, total in totals.items() if total >= max(min_count, 1) and can_merge(*pair))
        return max(pairs, key=totals.__getitem__, default=None)  # the lowest ids among equals

    while limit is None or len(rows) < limit:
        everything = [*rest, *(part for pieces in now.values() for part in pieces)]
        chooser, best = None, None
        if len(rows) < len(given):
            *parts, new = given[len(rows)]
            best = parts[0], parts[1]
        else:
            new = first + len(rows) - len(given)
            if len(rows) < len(given) + shared:
                best = best_of(everything)
            while len(rows) >= len(given) + shared and best is None and active:
                all_needs = needs({name: size(now[name]) for name in corpora}, [triple for triple, *_ in rows])
                chooser = next_language({name: all_needs[name] for name in active}, recent, window, alpha)
                best = best_of(now[chooser])
                if best is None:
                    active.remove(chooser)
            if best is None:
                break
        if chooser is not None:
            recent.append(chooser)
        bytes_of[new] = bytes_of[best[0]] + bytes_of[best[1]]
        rest = apply_merges(rest, [(*best, new)])
        now = {name: apply_merges(pieces, [(*best, new)]) for name, pieces in now.items()}
        count = totals_of(everything).get(best, 0)
        rows.append(((*best, new), count, sum(map(size, [rest, *now.values()])), chooser))
    return rows


Beginning = tuple[Mapping[int, bytes], int, frozenset[bytes], Callable[[bytes], list[int]]]


def beginning(alphabet: str | None, base: BaseModel | None, by_bytes: bool) -> Beginning:
    """The bytes of each id, the first id of a merge, the forbidden tokens, and the function that encodes a piece.

    >>> tokens, first, never, encoded = beginning("gpt2", None, False)
    >>> tokens[0], first, encoded(b"ab")
    (b'!', 256, [64, 65])
    """
    order = gpt2_order() if alphabet == "gpt2" else range(ALPHABET["byte"])
    ids_of = {bytes([byte]): id for id, byte in enumerate(order)}
    if base is None:
        by_id = {id: token for token, id in ids_of.items()}
        return by_id, len(ids_of), frozenset(), lambda piece: [ids_of[bytes([byte])] for byte in piece]

    def encoded(piece: bytes) -> list[int]:
        if base.whole_piece and piece in base.tokens:
            return [base.tokens[piece]]
        return merge([base.tokens[part] for part in symbols(piece, base.unit)], base.ranks)

    first = max([*base.tokens.values(), *base.specials.values()]) + 1
    by_id = {id: token for token, id in base.tokens.items()}
    return by_id, first, frozenset(forbidden(base, by_bytes)), encoded


def learn_merges(
    languages: Mapping[str, Sequence[Text]],
    patterns: Sequence[str],
    merges: int | None = None,
    *,
    mode: str = "hybrid",
    development: Mapping[str, Sequence[Text]] | None = None,
    ratios: Mapping[str, float] | None = None,
    other: Sequence[Text] = (),
    global_merges: int | None = None,
    parity_window: int = 100,
    parity_alpha: float = 2.0,
    vocab_size: int | None = None,
    special_tokens: Sequence[str] = (),
    alphabet: str | None = None,
    digits: str = "none",
    seed_tokens: Sequence[bytes] = (),
    base: BaseModel | None = None,
    by_bytes: bool = False,
    min_piece_count: int = 1,
    max_piece_bytes: int | None = None,
    min_count: int = 1,
    max_token_bytes: int | None = None,
    whole_characters: bool = False,
) -> list[Learned]:
    r"""The merges that languages teach: `toksmith.train` with `languages`, option by option.

    Args:
        development: By language: texts with the same meaning; or
        ratios: by language: the wanted compression, relative to the others.
        other: Texts of no language, which count in the merges that all corpora choose together.
        global_merges: The number of merges, after those of seed tokens, that all corpora choose together. None is half of the
            merges in the mode "hybrid", and 0 in the others.

    With two merges, hybrid training takes the first from both corpora together:

    >>> texts = {"en": ["ab ab ab"], "xx": ["cd cd"]}
    >>> [merge[-1] for merge in learn_merges(texts, [r" ?\\S+"], 2, development={"en": ["ab"], "xx": ["cd cd"]})]
    [None, 'xx']
    """
    tokens, first, never, encoded = beginning(alphabet, base, by_bytes)

    def cut(documents: Sequence[Text], least: int = 1, longest: int | None = None) -> Pieces:
        return [(encoded(piece), n) for piece, n in pieces_of(documents, patterns, digits, least, longest).items()]

    corpora = {name: cut(documents, min_piece_count, max_piece_bytes) for name, documents in languages.items()}
    texts = {name: cut(development[name]) for name in languages} if development is not None else {}
    before = {name: size(pieces) for name, pieces in corpora.items()}

    def needs(sizes: Mapping[str, int], made: Sequence[Triple]) -> Mapping[str, float]:
        if ratios is not None:
            return needs_by_ratio(before, sizes, {name: ratios[name] for name in corpora})
        return needs_by_text({name: size(apply_merges(pieces, made)) for name, pieces in texts.items()})

    limit = merges if vocab_size is None else vocab_size - first - len(special_tokens)
    seeds = seed_merges([[id for part in split(seed, []) for id in encoded(part)] for seed in seed_tokens], first)
    if global_merges is None:
        global_merges = max((limit or 0) - len(seeds), 0) // 2 if mode == "hybrid" else 0
    return learn(
        corpora,
        cut(other, min_piece_count, max_piece_bytes),
        needs,
        tokens,
        seeds[:limit],
        first=first + len(seeds[:limit]),
        limit=limit,
        shared=global_merges,
        window=parity_window if mode == "window" else None,
        alpha=parity_alpha,
        rules=(min_count, max_token_bytes, whole_characters),
        never=never,
    )


__dir__ = listing(__name__)
