"""Models other than plain byte-pair encoding, and SentencePiece's normalizer.

`encode_characters` gives the ids of SentencePiece's models. It `normalize`s the text. A byte-pair model then merges it as one
piece of characters, in which some symbols stay whole; a unigram model covers it with tokens; a model of words cuts it into
words. This page needs only the standard library. A charsmap is a mapping here; its compiled form in files is left out.

>>> tokens = {"▁": -9.0, "a": -9.0, "b": -9.0, "ab": -1.0, "▁ab": -2.0}
>>> ids = {token: id for id, token in enumerate(tokens)}
>>> model = Characters(ids, tokens, unknown=9, normalizer=Normalizer(dummy="before", escape=True))
>>> encode_characters("ab bca", model)
[4, 0, 2, 9, 1]
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from .names import listing

Text = str | bytes
BLOCK = "▁"
LARGEST = 3.4028234663852886e38  # of single precision


class Normalizer(NamedTuple):
    """How a text is rewritten before it is encoded.

    Attributes:
        charsmap: The replacement of each stretch of characters; at each place the longest match counts.
        dummy: Where a space is added to a text: "nowhere", "before" or "after".
        remove_extra: Whether spaces at both ends are removed, and runs of spaces reduced to one.
        escape: Whether a space is written `▁`.
    """

    charsmap: Mapping[str, str] = {}
    dummy: str = "nowhere"
    remove_extra: bool = False
    escape: bool = False


class Characters(NamedTuple):
    """A byte-pair or unigram model of characters.

    Attributes:
        ids: The id of each token.
        scores: The score of each token: the merge to the highest score comes first, or the highest sum counts.
        unknown: The id of characters without a token.
        bytes: The ids of the 256 bytes, which replace characters without a token; empty for no byte fallback.
        frozen: The ids of symbols that are searched in the normalized text and stay whole.
        normalizer: The normalizer of texts.
        silent: Ids that decode to nothing.
        surface: The text that the unknown id decodes to.
        strip: Which leading spaces decoding drops: "nothing", "once" or "each".
        unigram: Whether the tokens with the highest sum of scores cover the text, instead of merging.
        words: Whether each word is a token or unknown, instead of merging; a word starts at each `▁`.
        unused: Tokens that encoding never produces.
        denormalizer: The normalizer of decoded texts.
    """

    ids: Mapping[str, int]
    scores: Mapping[str, float]
    unknown: int
    bytes: Sequence[int] = ()
    frozen: Mapping[str, int] = {}
    normalizer: Normalizer = Normalizer()
    silent: Sequence[int] = ()
    surface: str = " ⁇ "
    strip: str = "nothing"
    unigram: bool = False
    words: bool = False
    unused: Collection[str] = ()
    denormalizer: Normalizer = Normalizer()


def longest_at(text: str, at: int, contents: Mapping[str, object]) -> str:
    """The longest of the contents at a place of the text; "" for none.

    >>> longest_at("abc", 1, {"b": 0, "bc": 0, "c": 0}), longest_at("abc", 0, {"b": 0})
    ('bc', '')
    """
    return max((content for content in contents if text.startswith(content, at)), key=len, default="")


def rewritten(text: Text, normalizer: Normalizer, protected: Mapping[str, object]) -> list[tuple[str, int, int]]:
    """The parts of a text as the normalizer writes them, each with its source bytes, from and to."""
    if isinstance(text, str):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    whole = text.decode("utf-8", "surrogateescape")
    parts, at, byte = [], 0, 0
    while at < len(whole):
        frozen = longest_at(whole, at, protected)
        source = frozen or longest_at(whole, at, normalizer.charsmap) or whole[at]
        replacement = source if frozen else normalizer.charsmap.get(source, source)
        start, byte = byte, byte + len(source.encode("utf-8", "surrogateescape"))
        parts.append((re.sub("[\udc80-\udcff]", "\ufffd", replacement), start, byte))
        at += len(source)
    return parts


def origins(text: Text, normalizer: Normalizer, protected: Mapping[str, object] = {}) -> list[tuple[str, int, int]]:
    r"""The characters of the normalized text, each with its source bytes in the text, from and to.

    Each character of a replacement comes from the whole replaced stretch; an added character has an empty source.

    >>> origins("aﬁ", Normalizer({"ﬁ": "fi"}))
    [('a', 0, 1), ('f', 1, 4), ('i', 1, 4)]
    >>> origins("  a", Normalizer(dummy="before", remove_extra=True))
    [(' ', 2, 2), ('a', 2, 3)]
    """
    parts = rewritten(text, normalizer, protected)
    length = parts[-1][2] if parts else 0
    if normalizer.remove_extra:
        while parts and parts[0][0] == " ":
            parts.pop(0)
    if not parts:
        return []
    normal = [(" ", parts[0][1], parts[0][1])] if normalizer.dummy == "before" else []
    after_space = normalizer.remove_extra
    for part, start, end in parts:
        visible = part.lstrip(" ") if after_space else part
        after_space = normalizer.remove_extra and (visible.endswith(" ") if visible else after_space)
        normal += [(char, start, end) for char in visible]
    space = BLOCK if normalizer.escape else " "
    normal = [(char.replace(" ", space), start, end) for char, start, end in normal]
    while normalizer.remove_extra and normal and normal[-1][0] == space:
        normal.pop()
    return [*normal, (space, length, length)] if normalizer.dummy == "after" else normal


def normalize(text: Text, normalizer: Normalizer, protected: Mapping[str, object] = {}) -> str:
    r"""The normalized text.

    From left to right, the keys of `protected` stay unchanged, those of the charsmap are replaced, and any other
    character stays; each byte that is not UTF-8 becomes U+FFFD. Of spaces in a row, also those from replacements,
    `remove_extra` keeps the first. An empty text, or one of spaces that are all removed, becomes empty.

    >>> normalize(" a  b ", Normalizer(dummy="before", remove_extra=True, escape=True))
    '▁a▁b'
    >>> normalize(b"\ta\xe2\x98", Normalizer({"\t": " "}, dummy="after"))
    ' a\ufffd\ufffd '
    """
    return "".join(char for char, *_ in origins(text, normalizer, protected))


def order(score: float) -> int:
    """The place of a score among all numbers of single precision, by its bits: -0.0 is below 0.0.

    >>> sorted([1.0, -0.0, float("-inf"), 0.0, -2.0], key=order)
    [-inf, -2.0, -0.0, 0.0, 1.0]
    """
    (bits,) = struct.unpack("<i", struct.pack("<f", score))
    return int(bits) if bits >= 0 else -(bits & 0x7FFFFFFF) - 1


def merge_characters(text: str, scores: Mapping[str, float]) -> list[str]:
    """The symbols of a text: two neighbours merge if they form a token, the highest score first, and the leftmost of
    equals. A character without a token can be part of one.

    >>> merge_characters("abab", {"ab": -1.0, "ba": -1.0}), merge_characters("abab", {"ab": -2.0, "ba": -1.0})
    (['ab', 'ab'], ['a', 'ba', 'b'])
    """
    return merge_and_undo([*text], scores)


def merge_and_undo(
    symbols: Sequence[str], scores: Mapping[str, float], frozen: Collection[str] = (), unused: Collection[str] = ()
) -> list[str]:
    """The symbols after merging, none of them unused: an unused symbol is split into the pair that it was merged from. If
    several pairs form it, the pair that became neighbours last counts, anywhere in the text. `frozen` symbols do not merge.

    Pairs are recorded from left to right before the first merge; after a merge, the pair with the symbol before it, then the
    pair with the symbol after it.

    >>> scores = {"ab": -1.0, "abc": -2.0, "bc": -3.0}
    >>> merge_and_undo([*"abc"], scores, unused={"abc"}), merge_and_undo([*"abc"], scores, unused={"abc", "ab"})
    (['ab', 'c'], ['a', 'b', 'c'])
    """
    parts, pairs = list(symbols), dict[str, tuple[str, str]]()

    def record_pair(at: int) -> None:
        pair = parts[at : at + 2]
        if at >= 0 and len(pair) == 2 and not set(pair) & set(frozen) and "".join(pair) in unused:
            pairs["".join(pair)] = pair[0], pair[1]

    for at in range(len(parts)):
        record_pair(at)
    while True:
        texts = [parts[at] + parts[at + 1] for at in range(len(parts) - 1)]
        blocked = [bool({*parts[at : at + 2]} & set(frozen)) for at in range(len(texts))]
        candidates = [(-order(scores[pair]), at) for at, pair in enumerate(texts) if pair in scores and not blocked[at]]
        if not candidates:
            return [each for part in parts for each in undone(part, pairs, frozen)]
        at = min(candidates)[1]
        parts[at : at + 2] = [texts[at]]
        record_pair(at - 1)
        record_pair(at)


def undone(part: str, pairs: Mapping[str, tuple[str, str]], frozen: Collection[str] = (), depth: int = 0) -> list[str]:
    """The symbols that an unused symbol is split into, recursively; below depth 100 a symbol stays.

    >>> undone("abc", {"abc": ("ab", "c"), "ab": ("a", "b")})
    ['a', 'b', 'c']
    """
    if part not in pairs or part in frozen or depth > 100:
        return [part]
    return [each for half in pairs[part] for each in undone(half, pairs, frozen, depth + 1)]


def single(number: float) -> float:
    """The number rounded to single precision."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def best_path(
    text: str, scores: Mapping[str, float], preferred: Mapping[str, object] = {}, *, exact: bool = False
) -> list[str]:
    """The tokens that cover a text with the highest sum of scores. A character without a token covers itself, with
    the lowest score less 10.

    Sums go from left to right in single precision, or in double precision if `exact`. Of equal sums the one whose last
    token starts first wins. In single precision, sums start from 0 again where the best is beyond 100,000 or -100,000.
    `preferred` symbols have a score of 0.1 for each byte but one.

    >>> best_path("abab?", {"a": -2.0, "ab": -3.0, "b": -2.0, "aba": -2.5})
    ['aba', 'b', '?']
    >>> best_path("ab", {"a": -1.0, "b": -1.0, "ab": -2.0})
    ['ab']
    """
    rounded = float if exact else single
    unknown = rounded(min(scores.values(), default=LARGEST) - 10)
    symbols = {symbol: single(0.1 * (len(symbol.encode()) - 1)) for symbol in preferred}
    best: dict[int, tuple[float, int]] = {0: (0.0, 0)}
    for start in range(len(text)):
        if not exact and abs(offset := best[start][0]) > 100_000:
            best |= {at: (single(sum - offset), before) for at, (sum, before) in best.items() if at >= start}
        matches = [token for token in [*scores, *symbols] if text.startswith(token, start)]
        for token in matches if text[start] in matches else [*matches, text[start]]:
            sum = rounded(best[start][0] + symbols.get(token, scores.get(token, unknown)))
            end = start + len(token)
            if end not in best or sum > best[end][0]:
                best[end] = sum, start
    path, end = [], len(text)
    while end:
        path.append(text[best[end][1] : end])
        end = best[end][1]
    return path[::-1]


def word_pieces(piece: str, tokens: Collection[str], prefix: str = "##", longest: int | None = None) -> list[str]:
    """The tokens of a piece: from left to right the longest that fits, with `prefix` where it continues the piece.

    The result is empty if none fits somewhere, or the piece has more than `longest` characters: it is then unknown.

    >>> word_pieces("unaffable", {"un", "a", "##aff", "##able"}), word_pieces("unfit", {"un", "fit"})
    (['un', '##aff', '##able'], [])
    """
    pieces: list[str] = []
    at = 0
    while at < len(piece) and (longest is None or len(piece) <= longest):
        start = prefix if at else ""
        ends = [end for end in range(len(piece), at, -1) if start + piece[at:end] in tokens]
        if not ends:
            return []
        pieces.append(start + piece[at : ends[0]])
        at = ends[0]
    return pieces


def words(normal: str) -> list[str]:
    """The words of a normalized text: a word starts at each `▁`.

    >>> words("a▁b▁▁c")
    ['a', '▁b', '▁', '▁c']
    """
    return [word for word in re.split(f"(?={BLOCK})", normal) if word]


def parts(normal: str, model: Characters) -> list[str]:
    """The tokens of a normalized text, symbols that stay whole, and characters or words without a token.

    In a unigram model no symbol is frozen: `frozen` symbols are preferred to other tokens instead.
    """
    if model.words:
        return words(normal)
    if model.unigram:
        scores = {token: score for token, score in model.scores.items() if token not in model.unused}
        return best_path(normal, scores, model.frozen)
    texts: list[str] = []
    at = 0
    while at < len(normal):
        texts.append(longest_at(normal, at, model.frozen) or normal[at])
        at += len(texts[-1])
    return merge_and_undo(texts, model.scores, model.frozen, model.unused)


def symbols(normal: str, model: Characters) -> list[tuple[int, int]]:
    """The ids of a normalized text, each with its number of bytes; an unknown id for each unknown character."""
    ids = {token: id for token, id in model.ids.items() if token not in model.unused} | dict(model.frozen)
    rows: list[tuple[int, int]] = []
    for part in parts(normal, model):
        if part not in ids and model.bytes:
            rows += [(model.bytes[byte], 1) for byte in part.encode()]
        else:
            rows.append((ids.get(part, model.unknown), len(part.encode())))
    return rows


def encode_characters(text: Text, model: Characters) -> list[int]:
    """The ids of a text without special tokens.

    A character without a token becomes the ids of its bytes, or the unknown id, once for a run of such characters. In a
    unigram model no symbol is frozen: `frozen` symbols are preferred to other tokens instead.

    >>> tokens = {"a": 0.0, "aa": 0.0}
    >>> model = Characters({"a": 0, "aa": 1}, tokens, unknown=2, frozen={"<x>": 3})
    >>> encode_characters("aaa??<x>?", model)
    [1, 0, 2, 3, 2]
    >>> encode_characters("é", model._replace(bytes=range(100, 356)))
    [295, 269]
    """
    return [id for id, *_ in ranges(text, model)]


def ranges(text: Text, model: Characters) -> list[tuple[int, int, int, int]]:
    r"""The ids of a text, each with its source bytes, from and to, and the end of all bytes that it has a part of.

    If a stretch is rewritten to equally many bytes, each byte belongs to the id with its replacement; else the stretch
    belongs to the id in which the rewriting ends. Removed bytes belong to the next id, at the end of the text to the last.

    >>> model = Characters({"▁": 0, "f": 1, "i": 2}, {}, 9, normalizer=Normalizer({"ﬁ": "fi"}, "before", True, True))
    >>> ranges(" ﬁ ", model)
    [(0, 0, 1, 1), (1, 1, 1, 4), (2, 1, 5, 5)]
    """
    normal = origins(text, model.normalizer, model.frozen)
    width: dict[tuple[int, int], int] = {}
    for char, *source in normal:
        width[source[0], source[1]] = width.get((source[0], source[1]), 0) + len(char.encode())
    marks: list[tuple[int, int]] = []  # by byte of the normalized text: the ends of its complete and its touched source
    bytes_done: dict[tuple[int, int], int] = {}
    for char, start, end in normal:
        for _ in char.encode():
            bytes_done[start, end] = done = bytes_done.get((start, end), 0) + 1
            even, whole = width[start, end] == end - start, done == width[start, end]
            marks.append((start + done, start + done) if even else (end if whole else start, end))
    rows: list[tuple[int, int, int, int]] = []
    at = start_of_id = 0
    for id, size in symbols("".join(char for char, *_ in normal), model):
        at += size
        joins = id == model.unknown and not model.bytes and bool(rows) and rows[-1][0] == id
        start_of_id = rows.pop()[1] if joins else rows[-1][2] if rows else 0
        rows.append((id, start_of_id, *marks[at - 1]))
    parts = rewritten(text, model.normalizer, model.frozen)
    return [*rows[:-1], (*rows[-1][:2], parts[-1][2], parts[-1][2])] if rows else []


def decode_characters(ids: Sequence[int], model: Characters) -> bytes:
    r"""The bytes that ids decode to: `▁` becomes a space, a byte token its byte, and the added space is dropped.

    >>> model = Characters({"▁a": 0, "▁": 1}, {}, unknown=2, silent=[3], strip="once")
    >>> decode_characters([3, 0, 0, 2], model), decode_characters([1, 0], model)
    (b'a a \xe2\x81\x87 ', b' a')
    >>> decode_characters([1, 0], model._replace(strip="each"))
    b'a'
    """
    texts = {id: token for token, id in [*model.ids.items(), *model.frozen.items()]}
    bytes_of = {id: byte for byte, id in enumerate(model.bytes)}
    data, stripping = b"", model.strip != "nothing"
    for id in ids:
        if id in model.silent:
            continue
        if id in bytes_of or id == model.unknown:
            data += bytes([bytes_of[id]]) if id in bytes_of else model.surface.encode()
        else:
            text = texts[id]
            stripped = stripping and not data and text.startswith(BLOCK)
            data += text[stripped:].replace(BLOCK, " ").encode()
            stripping = stripping and not (stripped and model.strip == "once")
    plain = model.denormalizer == Normalizer()
    return data if plain else normalize(data, model.denormalizer).encode()


def draws(seed: int) -> Iterator[float]:
    """Pseudo-random numbers from 0 to below 1, by SplitMix64.

    >>> numbers = draws(1234567)
    >>> [round(next(numbers), 6) for _ in range(3)]
    [0.35008, 0.173644, 0.532207]
    """
    mask = (1 << 64) - 1
    while True:
        seed = number = (seed + 0x9E3779B97F4A7C15) & mask
        number = ((number ^ number >> 30) * 0xBF58476D1CE4E5B9) & mask
        number = ((number ^ number >> 27) * 0x94D049BB133111EB) & mask
        yield ((number ^ number >> 31) >> 11) / (1 << 53)


def merge_dropping(
    symbols: Sequence[str], ranks: Mapping[str, float], dropout: float, numbers: Iterator[float]
) -> list[str]:
    """The symbols after merging with dropout. In each step the pairs are tried by rank and from left to right, and each is
    skipped with the probability `dropout`; the first pair that is not skipped merges.

    >>> ranks = {"ab": 0, "abab": 1}
    >>> merge_dropping("abab", ranks, 0, draws(1)), merge_dropping("abab", ranks, 1, draws(1))
    (['abab'], ['a', 'b', 'a', 'b'])
    >>> merge_dropping("abab", ranks, 0.5, draws(6))
    ['ab', 'a', 'b']
    """
    parts = list(symbols)
    while True:
        texts = [parts[at] + parts[at + 1] for at in range(len(parts) - 1)]
        candidates = sorted((ranks[pair], at) for at, pair in enumerate(texts) if pair in ranks)
        place = next((at for _, at in candidates if next(numbers) >= dropout), None)
        if place is None:
            return parts
        parts[place : place + 2] = [texts[place]]


def merge_marked(piece: str, merges: Sequence[tuple[str, str]], prefix: str = "", suffix: str = "") -> list[str]:
    """The tokens of a piece whose characters carry marks: `prefix` before each that continues the piece, `suffix` after
    the last. Two neighbours merge if they are a pair of the list, the earliest first, and the leftmost of equals; the
    right one loses its prefix.

    >>> merge_marked("lowest", [("e", "s"), ("es", "t</w>"), ("l", "o")], suffix="</w>")
    ['lo', 'w', 'est</w>']
    >>> merge_marked("abc", [("a", "##b")], "##")
    ['ab', '##c']
    """
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    last = len(piece) - 1
    parts = [prefix * (at > 0) + char + suffix * (at == last) for at, char in enumerate(piece)]
    while True:
        pairs = [(parts[at], parts[at + 1]) for at in range(len(parts) - 1)]
        candidates = [(ranks[pair], at) for at, pair in enumerate(pairs) if pair in ranks]
        if not candidates:
            return parts
        at = min(candidates)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1].removeprefix(prefix)]


__dir__ = listing(__name__)
