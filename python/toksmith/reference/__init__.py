"""The executable specification: every id and merge of toksmith, in Python.

One page of about 430 lines (160 of code, the rest documentation with
examples), then one page an idea. This page is a complete byte-pair
tokenizer. Text to ids is `cut` → `split` → `merge`, called by `encode`; ids
to text is `decode`. Corpus to merges is `count` → `train`, and `model_of`
turns merges into a model. `docs/spec.md` states the same rules in words,
and tests compare the core with both.

The names of Karpathy's minbpe on this page:

- `get_stats` is `pair_counts`. Its `merge` is `replace_pair`; `merge` here
  is the loop inside its `encode`.
- `train`, `encode` and `decode` are functions. A class is a `Model`:
  `BasicTokenizer` without patterns, `RegexTokenizer` with patterns,
  `GPT4Tokenizer` with `bytes_rule`. minbpe trains with `ties="first_seen"`.
- `merges` is `Model.ranks`, `vocab` is `Model.tokens` (bytes to ids),
  registered special tokens are `specials`.
- `allowed_special` is `special`: "none_raise" is "raise", "all" is "allow",
  "none" is "text".
- `save` and `load` are left out. `toksmith.compat.minbpe` has the three
  classes with these methods.

The other pages:

- `added`: added tokens with flags, and the walk of a text through a model's
  steps. The steps are in `normalizers`, `splitters` and `decoders`;
  `search` finds their patterns, and `unicode9` has the old Unicode tables
  that they follow.
- `unknown`: characters without a token, and marks at the ends of pieces.
- `training`: every option of byte-pair training. `character_training`:
  training on characters, for SentencePiece's models, WordPiece and models
  with ends of words. `unigram_training`: unigram models. `parity_training`:
  several languages, where the language that is worst off chooses each
  merge. `text_training`: training where a token is its text, as in HF's
  library.
- `templates`: the ids that a model puts around texts. `names`: what `dir`
  of a page lists.
- `surgery`: adding tokens to a model. `pruning`: removing them.
- `models`: unigram models, WordPiece and models of words, and
  SentencePiece's normalizer.

All pages leave out speed (every merge scans everything again), files,
threads and, except for SentencePiece, offsets. They need the package
`regex` and not the compiled core.

>>> corpus = ["low lower", "low slow"]
>>> merges = train(count(corpus, ["[a-z]+"]), 2)
>>> merges  # 17 bytes; "lo" occurs 4 times, and so does "low" when "lo" is one symbol
[(108, 111, 256, 4, 13), (256, 119, 257, 4, 9)]
>>> model = model_of(merges, ["[a-z]+"], ["<|end|>"])
>>> encode("slow low<|end|>", model, special="allow")
[115, 257, 32, 257, 258]
>>> decode([115, 257, 32, 257, 258], model)
b'slow low<|end|>'
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import regex

Text = str | bytes
Pair = tuple[int, int]
Merge = tuple[int, int, int, int, int]  # left id, right id, new id, count of the pair, symbols left in the corpus
ALPHABET = {"byte": 256, "char": 128}  # tokens before the first merge; their ids are the bytes, or the ASCII characters


class Model(NamedTuple):
    """A tokenizer. Three numbers are independent: a token's id, a pair's rank, and its place in the text.

    Attributes:
        tokens: The id of each ordinary token, in rank order. The ids can be permuted and can leave holes.
        ranks: For each pair of ids that can merge: its rank (lower merges first) and the resulting id. `pair_rule`
            and `bytes_rule` build this table; without entries nothing merges.
        whole_piece: Whether a piece that is a token becomes that token without merging.
        patterns: The regexes that cut text into pieces, in order; without any the text is one piece.
        specials: The ids of the special tokens, by content.
        added: The ids of tokens that are cut out of every text, whatever the caller allows, by content.
        unit: The symbols of a piece before the first merge: "byte", "char", or "piece" (the whole piece).
    """

    tokens: Mapping[bytes, int]
    ranks: Mapping[Pair, tuple[int, int]] = {}
    whole_piece: bool = False
    patterns: Sequence[str] = ()
    specials: Mapping[str, int] = {}
    added: Mapping[str, int] = {}
    unit: str = "byte"


def pair_counts(ids: Sequence[int]) -> dict[Pair, int]:
    """The count of each pair of neighbours, in the order of first occurrence (`get_stats` in minbpe).

    Overlapping pairs count: three equal ids hold their pair twice.

    The neighbours of 1 2 3 1 2 are 12, 23, 31, 12:

    >>> pair_counts([1, 2, 3, 1, 2])
    {(1, 2): 2, (2, 3): 1, (3, 1): 1}
    >>> pair_counts([7, 7, 7])
    {(7, 7): 2}
    """
    counts: dict[Pair, int] = {}
    for pair in pairwise(ids):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def replace_pair(ids: Sequence[int], pair: Pair, new: int) -> list[int]:
    """The ids with each occurrence of `pair` replaced by `new` (`merge` in minbpe).

    It goes from left to right without overlap: of three equal ids the first two are replaced.

    >>> replace_pair([5, 6, 6, 7, 9, 1], (6, 7), 99)
    [5, 6, 99, 9, 1]
    >>> replace_pair([7, 7, 7], (7, 7), 99)
    [99, 7]
    """
    replaced, place = [], 0
    while place < len(ids):
        hit = tuple(ids[place : place + 2]) == pair
        replaced.append(new if hit else ids[place])
        place += 2 if hit else 1
    return replaced


def utf8(text: Text) -> bytes:
    r"""The bytes of a text: bytes unchanged, a `str` in UTF-8.

    A `str` can hold surrogates, which have no UTF-8: a high surrogate followed by a low one is the character that both
    encode in UTF-16, any other becomes U+FFFD (bytes EF BF BD).

    >>> utf8("é"), utf8("\ud83d\ude04") == "😄".encode(), utf8("a\ud83d")
    (b'\xc3\xa9', True, b'a\xef\xbf\xbd')
    """
    if isinstance(text, bytes):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def cut(
    text: Text, specials: Mapping[str, int], allow: str | Collection[str] = "raise", added: Mapping[str, int] = {}
) -> list[tuple[bytes, int | None]]:
    """The text as segments: stretches of ordinary text with None, special and added tokens with their ids.

    One scan finds the leftmost token, the longest if several start there, and continues after it. A special
    token that is found but not allowed is an error; it never becomes text silently.

    Args:
        allow: "raise" allows no special token, "allow" all of them, a collection its members; "text" searches none, so
            that they are ordinary text. Added tokens are always searched.
    Returns: segments in order, none empty, whose bytes joined are the text.
    Raises: `ValueError` for a special token that is not allowed (the core: `SpecialTokenInText`); `LookupError` for a
        collection with a name that is not a special token (the core: `UnknownName`).

    At byte 1 both tokens match and the longer wins; at byte 5 only the shorter does:

    >>> cut("x<ab>y<a", {"<a": 1, "<ab>": 2}, "allow")
    [(b'x', None), (b'<ab>', 2), (b'y', None), (b'<a', 1)]
    >>> cut("x<ab>", {"<a": 1, "<ab>": 2}, "text")
    [(b'x<ab>', None)]
    >>> cut("x<ab>", {"<a": 1, "<ab>": 2}, ["<a"])
    Traceback (most recent call last):
    ValueError: the text holds the special token '<ab>' at byte 1
    """
    if isinstance(allow, str) and allow not in ("raise", "allow", "text"):
        raise ValueError(f"allow={allow!r} is neither 'raise', 'allow', 'text' nor a collection")
    allowed = specials if allow == "allow" else () if isinstance(allow, str) else allow
    if unknown := sorted({*allowed} - {*specials, *added}):
        raise LookupError(f"there is no special token named {unknown[0]!r}")
    data = utf8(text)
    ids = {content.encode(): id for content, id in {**({} if allow == "text" else specials), **added}.items()}
    longest_first = sorted(ids, key=len, reverse=True)
    segments, end = [], 0
    for match in regex.finditer(b"|".join(map(regex.escape, longest_first)) or rb"(?!)", data):
        content = match.group().decode()
        if content in specials and content not in allowed:
            raise ValueError(f"the text holds the special token {content!r} at byte {match.start()}")
        segments += [(data[end : match.start()], None), (match.group(), ids[match.group()])]
        end = match.end()
    return [(segment, id) for segment, id in [*segments, (data[end:], None)] if segment]


def split(text: Text, patterns: Sequence[str]) -> list[bytes]:
    r"""The pieces of a text: no merge crosses from one piece into the next.

    A piece is a non-empty match of the regex, or a stretch between two matches, so that no byte is lost. Several
    regexes apply in order, each to every piece of the previous one as a separate text: look-arounds do not reach
    beyond its ends. Bytes outside well-formed UTF-8 characters end the text before them; each maximal run of such
    bytes is one piece, whatever the regexes.

    The dialect is that of Rust's `regex`, which `regex` in Python follows under V1 with simple case folding; but
    `$` matches before a final line feed too, `(?i:i)` matches U+0130, and `[[:alpha:]]` is not ASCII. No row can tell.

    Returns: the pieces in order, none empty, whose bytes joined are the text.

    The match is "bb"; "a" and "c" are the stretches around it. Then `c(?!.)` is searched within each piece:

    >>> split("abbc", ["b+"])
    [b'a', b'bb', b'c']
    >>> split("abcbc", ["bc?", "c(?!.)"])
    [b'a', b'b', b'c', b'b', b'c']
    >>> split("abbc", []), split("", [])
    ([b'abbc'], [])
    >>> split(b"a\xe2\x98b\xff\xfe", ["[a-z]+"])
    [b'a', b'\xe2\x98', b'b', b'\xff\xfe']
    """
    # "surrogateescape" decodes each byte that is not UTF-8 to one character, U+DC80 to U+DCFF, and encodes it back.
    pieces = [part for part in regex.split("([\udc80-\udcff]+)", utf8(text).decode("utf-8", "surrogateescape")) if part]
    for pattern in patterns:
        compiled = regex.compile("(?-f)" + pattern, regex.V1)
        cuts = [[piece] if "\udc80" <= piece[0] <= "\udcff" else isolate(piece, compiled) for piece in pieces]
        pieces = [piece for parts in cuts for piece in parts]
    return [piece.encode("utf-8", "surrogateescape") for piece in pieces]


def isolate(text: str, pattern: regex.Pattern[str]) -> list[str]:
    """The non-empty matches of `pattern` and the non-empty stretches between them, in order.

    Where a match could be empty, the engine continues to a match that is not, at the same place first:

    >>> isolate("abxb", regex.compile("x*|b"))
    ['a', 'b', 'x', 'b']
    """
    parts, end = [], 0
    for match in pattern.finditer(text):
        if match.group():
            parts += [text[end : match.start()], match.group()]
            end = match.end()
    return [part for part in [*parts, text[end:]] if part]


def count(documents: Iterable[Text], patterns: Sequence[str]) -> dict[bytes, int]:
    """The count of each piece in the documents, in the order of first occurrence.

    Special tokens are ordinary text here, and no piece crosses from one document into the next.

    >>> count(["a b", "b c b"], ["[a-z]"])
    {b'a': 1, b' ': 3, b'b': 3, b'c': 1}
    """
    counts: dict[bytes, int] = {}
    for document in documents:
        for piece in split(document, patterns):
            counts[piece] = counts.get(piece, 0) + 1
    return counts


def train(
    counts: Mapping[bytes, int],
    merges: int | None = None,
    *,
    ties: str = "lowest_ids",
    min_count: int = 1,
    unit: str = "byte",
    max_token_bytes: int | None = None,
) -> list[Merge]:
    """The merges that a corpus teaches: in each step, the pair with the highest count becomes a new symbol.

    The count of a pair is its occurrences in each piece times the count of the piece; all its occurrences are replaced
    before pairs are counted again. New ids follow the alphabet: 256 and up for bytes, 128 and up for ASCII characters.

    Args:
        counts: From `count`. Without patterns each document is one piece.
        merges: The largest number of merges; None continues as long as `min_count` allows.
        ties: The choice among pairs with the highest count: "lowest_ids" takes the smallest left id, then the smallest
            right id; "first_seen" the pair that comes first in the current pieces, from left to right.
        min_count: A pair that occurs fewer times is not merged; 2 continues until no pair repeats.
        max_token_bytes: A pair whose token would be longer is never merged.
    Raises: `ValueError` for another `ties`, and for a character outside the alphabet.

    In aaabdaaabac the pairs are aa 4, ab 2, ac 1, ba 1, bd 1 and da 1 times. With Z = aa it is ZabdZabac, where Za and ab
    occur twice: (97, 98) has lower ids, (256, 97) comes first. Eleven symbols become nine, then seven:

    >>> train({b"aaabdaaabac": 1}, 2)
    [(97, 97, 256, 4, 9), (97, 98, 257, 2, 7)]
    >>> train({b"aaabdaaabac": 1}, 2, ties="first_seen")
    [(97, 97, 256, 4, 9), (256, 97, 257, 2, 7)]

    The pair of "ab" counts 3, that of "bc" 1 + 2 = 3; the symbols are 2 · 3 + 2 · 1 + 3 · 2 = 14, then 11:

    >>> train({b"ab": 3, b"bc": 1, b"xbc": 2}, 1)
    [(97, 98, 256, 3, 11)]
    """
    if ties not in ("lowest_ids", "first_seen"):
        raise ValueError(f"ties={ties!r} is neither 'lowest_ids' nor 'first_seen'")
    pieces = [(list(piece) if unit == "byte" else list(map(ord, piece.decode())), n) for piece, n in counts.items()]
    length = dict.fromkeys(range(ALPHABET[unit]), 1)
    longest = float("inf") if max_token_bytes is None else max_token_bytes
    if unknown := {id for ids, _ in pieces for id in ids} - length.keys():
        raise ValueError(f"the character {chr(min(unknown))!r} is not in the alphabet")
    records: list[Merge] = []
    while merges is None or len(records) < merges:
        totals: dict[Pair, int] = {}
        for ids, n in pieces:
            for pair, times in pair_counts(ids).items():
                totals[pair] = totals.get(pair, 0) + times * n
        enough = [pair for pair, total in totals.items() if total >= min_count]
        candidates = [(left, right) for left, right in enough if length[left] + length[right] <= longest]
        if not candidates:
            break
        if ties == "lowest_ids":
            candidates.sort()
        best = max(candidates, key=totals.__getitem__)  # the first with the highest count
        new = ALPHABET[unit] + len(records)
        length[new] = length[best[0]] + length[best[1]]
        pieces = [(replace_pair(ids, best, new), n) for ids, n in pieces]
        records.append((*best, new, totals[best], sum(len(ids) * n for ids, n in pieces)))
    return records


def pair_rule(merges: Iterable[Sequence[int]]) -> dict[Pair, tuple[int, int]]:
    """The ranks of an explicit list of merges (left id, right id, new id): the place in the list is the rank.

    >>> pair_rule([(97, 98, 300), (300, 97, 256)])
    {(97, 98): (0, 300), (300, 97): (1, 256)}
    """
    return {(left, right): (rank, id) for rank, (left, right, id) in enumerate(merges)}


def bytes_rule(tokens: Mapping[bytes, int]) -> dict[Pair, tuple[int, int]]:
    """The ranks where two neighbours merge if their joined bytes are a token: the rank is that token's place.

    "abc" can be cut into a + bc and ab + c; both merge with its rank, 4:

    >>> bytes_rule({b"a": 0, b"b": 1, b"c": 2, b"ab": 7, b"abc": 8, b"bc": 9})
    {(0, 1): (3, 7), (0, 9): (4, 8), (7, 2): (4, 8), (1, 2): (5, 9)}
    """
    return {
        (tokens[token[:at]], tokens[token[at:]]): (rank, id)
        for rank, (token, id) in enumerate(tokens.items())
        for at in range(1, len(token))
        if token[:at] in tokens and token[at:] in tokens
    }


def model_of(
    merges: Iterable[Sequence[int]], patterns: Sequence[str] = (), specials: Sequence[str] = (), unit: str = "byte"
) -> Model:
    """The model of these merges: each token is its two parts joined, and special tokens get the last ids.

    Only the pair of each merge is read, so merges can come from `train` or be (left id, right id).

    >>> model = model_of([(97, 98), (256, 99)], specials=["<|end|>"])
    >>> model.tokens[b"ab"], model.tokens[b"abc"], model.specials
    (256, 257, {'<|end|>': 258})
    """
    tokens = [bytes([id]) for id in range(ALPHABET[unit])]
    triples = []
    for left, right, *_ in merges:
        triples.append((left, right, len(tokens)))
        tokens.append(tokens[left] + tokens[right])
    special_ids = {content: len(tokens) + place for place, content in enumerate(specials)}
    ids = {token: id for id, token in enumerate(tokens)}
    return Model(ids, pair_rule(triples), patterns=patterns, specials=special_ids, unit=unit)


def merge(ids: Sequence[int], ranks: Mapping[Pair, tuple[int, int]]) -> list[int]:
    """The ids of a piece after merging: one pair at a time, the lowest rank first, the leftmost of equal ranks.

    Let a + b = ab and ab + a = aba. In a b a b only a + b can merge at first, which gives ab a b for any ranks. If
    a + b ranks first, ab ab is next, where nothing merges; if ab + a does, aba b:

    >>> merge([97, 98, 97, 98], {(97, 98): (0, 256), (256, 97): (1, 257)})
    [256, 256]
    >>> merge([97, 98, 97, 98], {(97, 98): (1, 256), (256, 97): (0, 257)})
    [257, 98]
    """
    ids = list(ids)
    while True:
        ranked = [(ranks[pair][0], place) for place, pair in enumerate(pairwise(ids)) if pair in ranks]
        if not ranked:
            return ids
        place = min(ranked)[1]
        ids[place : place + 2] = [ranks[ids[place], ids[place + 1]][1]]


def symbols(piece: bytes, unit: str) -> list[bytes]:
    r"""The symbols of a piece before the first merge: its bytes, its characters, or the whole piece.

    >>> symbols("né".encode(), "byte"), symbols("né".encode(), "char"), symbols(b"ne", "piece")
    ([b'n', b'\xc3', b'\xa9'], [b'n', b'\xc3\xa9'], [b'ne'])
    """
    if unit == "byte":
        return [bytes([byte]) for byte in piece]
    return [char.encode() for char in piece.decode()] if unit == "char" else [piece]


def encode(text: Text, model: Model, special: str | Collection[str] = "raise") -> list[int]:
    """The ids of a text: special tokens are cut out, the rest is split, each piece is merged.

    Args:
        special: The treatment of special tokens in the text: the `allow` of `cut`.
    Raises: as `cut`; `ValueError` for a symbol without a token (the core: `NotInVocabulary`).

    With the tokens a, b, c and abc no merge joins two letters, so only `whole_piece` gives abc:

    >>> tokens = {b"a": 0, b"b": 1, b"c": 2, b"abc": 3}
    >>> encode("abc", Model(tokens, bytes_rule(tokens))), encode("abc", Model(tokens, whole_piece=True))
    ([0, 1, 2], [3])
    """
    ids: list[int] = []
    for segment, cut_id in cut(text, model.specials, special, model.added):
        if cut_id is not None:
            ids.append(cut_id)
            continue
        for piece in split(segment, model.patterns):
            parts = [piece] if model.whole_piece and piece in model.tokens else symbols(piece, model.unit)
            if missing := [part for part in parts if part not in model.tokens]:
                raise ValueError(f"{missing[0]!r} is not in the vocabulary")
            ids += merge([model.tokens[part] for part in parts], model.ranks)
    return ids


def decode(ids: Sequence[int], model: Model) -> bytes:
    r"""The bytes of the tokens, one after another; special tokens give their content.

    If several tokens share an id, the first counts. A token can end inside a character, so only the joined bytes are
    text: decode them with `errors="replace"`.

    Raises: `ValueError` for an id that no token has (the core: `UnknownId`).

    >>> model = model_of([])
    >>> decode([195, 169], model).decode(), decode([195], model).decode(errors="replace")
    ('é', '\ufffd')
    """
    contents = [(content.encode(), id) for content, id in {**model.specials, **model.added}.items()]
    token_of = {id: token for token, id in reversed([*model.tokens.items(), *contents])}
    if unknown := [id for id in ids if id not in token_of]:
        raise ValueError(f"no token has the id {unknown[0]}")
    return b"".join(token_of[id] for id in ids)


def __dir__() -> list[str]:
    """The names that this page defines, for `dir`.

    >>> {"encode", "train", "Model"} <= {*__dir__()}, "Mapping" in __dir__()
    (True, False)
    """
    from .names import defined_names

    return defined_names(__name__)
