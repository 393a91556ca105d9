"""The executable specification of models beside plain byte-pair encoding: each kind, and SentencePiece's normalizer.

A text of SentencePiece's byte-pair models is `normalize`d and merged as one piece of characters, in which some symbols stay
whole; one of its unigram models is covered by tokens instead, and one of its models of words is cut into words:
`encode_characters`. It needs nothing but the standard library, and no compiled core. The table
of a charsmap is given as a mapping here; how files compile it is not part of the specification.

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
    """How a text is changed before anything else happens to it.

    Attributes:
        charsmap: What stretches of characters become; at each place the longest that matches counts.
        dummy: Where a space is added to a text: "nowhere", "before" or "after".
        remove_extra: Whether spaces at both ends go, and of several in a row all but one.
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
        scores: The score of each token: the merge that makes the highest comes first, or the highest sum counts.
        unknown: The id of what has no token.
        bytes: The ids of the 256 bytes, which characters without a token become; empty for no such fallback.
        frozen: The ids of symbols that are found in the normalized text and stay whole.
        normalizer: What is done to a text first.
        silent: Ids that show nothing when they are decoded.
        surface: What the unknown id shows.
        strip: Which leading spaces do not come back: "nothing", "once" or "each".
        unigram: Whether the tokens with the highest sum of scores cover the text, instead of merging.
        words: Whether each word is a token or unknown, instead of merging; a word starts at each `▁`.
        unused: Tokens that no text becomes.
        denormalizer: What is done to a decoded text.
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
    """What each part of a text becomes, and the bytes, from and to, that it is."""
    if isinstance(text, str):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    whole = text.decode("utf-8", "surrogateescape")
    parts, at, byte = [], 0, 0
    while at < len(whole):
        kept = longest_at(whole, at, protected)
        found = kept or longest_at(whole, at, normalizer.charsmap) or whole[at]
        shown = found if kept else normalizer.charsmap.get(found, found)
        start, byte = byte, byte + len(found.encode("utf-8", "surrogateescape"))
        parts.append((re.sub("[\udc80-\udcff]", "\ufffd", shown), start, byte))
        at += len(found)
    return parts


def origins(text: Text, normalizer: Normalizer, protected: Mapping[str, object] = {}) -> list[tuple[str, int, int]]:
    r"""The characters of the normalized text, each with the bytes of the text, from and to, that it comes from.

    Of what is rewritten as a whole each comes from all that it was; what is added comes from nothing.

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
        shown = part.lstrip(" ") if after_space else part
        after_space = normalizer.remove_extra and (shown.endswith(" ") if shown else after_space)
        normal += [(char, start, end) for char in shown]
    space = BLOCK if normalizer.escape else " "
    normal = [(char.replace(" ", space), start, end) for char, start, end in normal]
    while normalizer.remove_extra and normal and normal[-1][0] == space:
        normal.pop()
    return [*normal, (space, length, length)] if normalizer.dummy == "after" else normal


def normalize(text: Text, normalizer: Normalizer, protected: Mapping[str, object] = {}) -> str:
    r"""The text as the model wants it.

    From left to right, what `protected` holds stays as it is, what the charsmap holds is replaced, and any other
    character stays; each byte that belongs to no character becomes U+FFFD. Of spaces that come one after the other by
    replacing, `remove_extra` keeps the first. An empty text, or one of spaces that all go, stays empty.

    >>> normalize(" a  b ", Normalizer(dummy="before", remove_extra=True, escape=True))
    '▁a▁b'
    >>> normalize(b"\ta\xe2\x98", Normalizer({"\t": " "}, dummy="after"))
    ' a\ufffd\ufffd '
    """
    return "".join(char for char, *_ in origins(text, normalizer, protected))


def order(score: float) -> int:
    """The place of a score of single precision among all: that of its bits, so that -0.0 is below 0.0.

    >>> sorted([1.0, -0.0, float("-inf"), 0.0, -2.0], key=order)
    [-inf, -2.0, -0.0, 0.0, 1.0]
    """
    (bits,) = struct.unpack("<i", struct.pack("<f", score))
    return int(bits) if bits >= 0 else -(bits & 0x7FFFFFFF) - 1


def merge_characters(text: str, scores: Mapping[str, float]) -> list[str]:
    """The symbols of a text: two neighbours merge if together they are a token, the highest score first, and the
    leftmost of equals. A character without a token may be a part of one.

    >>> merge_characters("abab", {"ab": -1.0, "ba": -1.0}), merge_characters("abab", {"ab": -2.0, "ba": -1.0})
    (['ab', 'ab'], ['a', 'ba', 'b'])
    """
    return merge_and_undo([*text], scores)


def merge_and_undo(
    symbols: Sequence[str], scores: Mapping[str, float], frozen: Collection[str] = (), unused: Collection[str] = ()
) -> list[str]:
    """The symbols after merging, none of them unused: such a symbol is taken apart into the pair that makes it. Of several
    pairs that would make it, the one that became neighbours last counts, anywhere in the text. `frozen` symbols do not merge.

    Pairs are looked at from left to right before the first merge; after a merge, the pair with the symbol before, and then the
    pair with the symbol after it.

    >>> scores = {"ab": -1.0, "abc": -2.0, "bc": -3.0}
    >>> merge_and_undo([*"abc"], scores, unused={"abc"}), merge_and_undo([*"abc"], scores, unused={"abc", "ab"})
    (['ab', 'c'], ['a', 'b', 'c'])
    """
    parts, pairs = list(symbols), dict[str, tuple[str, str]]()

    def look(at: int) -> None:
        pair = parts[at : at + 2]
        if at >= 0 and len(pair) == 2 and not set(pair) & set(frozen) and "".join(pair) in unused:
            pairs["".join(pair)] = pair[0], pair[1]

    for at in range(len(parts)):
        look(at)
    while True:
        joined = [parts[at] + parts[at + 1] for at in range(len(parts) - 1)]
        apart = [bool({*parts[at : at + 2]} & set(frozen)) for at in range(len(joined))]
        waiting = [(-order(scores[pair]), at) for at, pair in enumerate(joined) if pair in scores and not apart[at]]
        if not waiting:
            return [each for part in parts for each in undone(part, pairs, frozen)]
        at = min(waiting)[1]
        parts[at : at + 2] = [joined[at]]
        look(at - 1)
        look(at)


def undone(part: str, pairs: Mapping[str, tuple[str, str]], frozen: Collection[str] = (), depth: int = 0) -> list[str]:
    """The symbols that a symbol is taken apart into; what is nested in more than 100 stays.

    >>> undone("abc", {"abc": ("ab", "c"), "ab": ("a", "b")})
    ['a', 'b', 'c']
    """
    if part not in pairs or part in frozen or depth > 100:
        return [part]
    return [each for half in pairs[part] for each in undone(half, pairs, frozen, depth + 1)]


def single(number: float) -> float:
    """The number of single precision that is next to a number of double precision."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def best_path(
    text: str, scores: Mapping[str, float], preferred: Mapping[str, object] = {}, *, exact: bool = False
) -> list[str]:
    """The tokens that cover a text with the highest sum of scores; a character without a token is one of its own, and
    has the lowest score less 10.

    Sums are made from left to right in single precision, or in double precision if they are `exact`, and of equal ones that
    counts whose last token starts first. In single precision, sums start from 0 again at a place where the best is beyond
    100,000 or -100,000. `preferred` symbols have a score of 0.1 for each byte but one.

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
        found = [token for token in [*scores, *symbols] if text.startswith(token, start)]
        for token in found if text[start] in found else [*found, text[start]]:
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
    """The tokens of a piece: from left to right the longest that fits, written with `prefix` where it continues the
    piece; none where one does not fit, and for a piece of more than `longest` characters: such a piece is unknown.

    >>> word_pieces("unaffable", {"un", "a", "##aff", "##able"}), word_pieces("unfit", {"un", "fit"})
    (['un', '##aff', '##able'], [])
    """
    found: list[str] = []
    at = 0
    while at < len(piece) and (longest is None or len(piece) <= longest):
        start = prefix if at else ""
        ends = [end for end in range(len(piece), at, -1) if start + piece[at:end] in tokens]
        if not ends:
            return []
        found.append(start + piece[at : ends[0]])
        at = ends[0]
    return found


def words(normal: str) -> list[str]:
    """The words of a normalized text: one starts at each `▁`.

    >>> words("a▁b▁▁c")
    ['a', '▁b', '▁', '▁c']
    """
    return [word for word in re.split(f"(?={BLOCK})", normal) if word]


def parts(normal: str, model: Characters) -> list[str]:
    """The tokens of a normalized text, symbols that stay whole, and characters or words without a token.

    In a unigram model nothing is frozen, and symbols that would be are preferred to other tokens.
    """
    if model.words:
        return words(normal)
    if model.unigram:
        used = {token: score for token, score in model.scores.items() if token not in model.unused}
        return best_path(normal, used, model.frozen)
    found: list[str] = []
    at = 0
    while at < len(normal):
        found.append(longest_at(normal, at, model.frozen) or normal[at])
        at += len(found[-1])
    return merge_and_undo(found, model.scores, model.frozen, model.unused)


def symbols(normal: str, model: Characters) -> list[tuple[int, int]]:
    """The ids of a normalized text, an unknown id for each character that is one, with the bytes that it is."""
    ids = {token: id for token, id in model.ids.items() if token not in model.unused} | dict(model.frozen)
    found: list[tuple[int, int]] = []
    for part in parts(normal, model):
        if part not in ids and model.bytes:
            found += [(model.bytes[byte], 1) for byte in part.encode()]
        else:
            found.append((ids.get(part, model.unknown), len(part.encode())))
    return found


def encode_characters(text: Text, model: Characters) -> list[int]:
    """The ids of a text without special tokens.

    What has no token becomes the ids of its bytes, or the unknown id, once for several that follow each other. In a
    unigram model nothing is frozen, and symbols that would be are preferred to other tokens.

    >>> tokens = {"a": 0.0, "aa": 0.0}
    >>> model = Characters({"a": 0, "aa": 1}, tokens, unknown=2, frozen={"<x>": 3})
    >>> encode_characters("aaa??<x>?", model)
    [1, 0, 2, 3, 2]
    >>> encode_characters("é", model._replace(bytes=range(100, 356)))
    [295, 269]
    """
    return [id for id, *_ in ranges(text, model)]


def ranges(text: Text, model: Characters) -> list[tuple[int, int, int, int]]:
    r"""The ids of a text, each with the bytes, from and to, that belong to it, and the end of all that it has a part of.

    Where a stretch is rewritten to as many bytes as it had, each belongs to the id of its byte; else the stretch belongs
    to the id in which the rewriting ends. What is removed belongs to the id after it, at the end to the last.

    >>> model = Characters({"▁": 0, "f": 1, "i": 2}, {}, 9, normalizer=Normalizer({"ﬁ": "fi"}, "before", True, True))
    >>> ranges(" ﬁ ", model)
    [(0, 0, 1, 1), (1, 1, 1, 4), (2, 1, 5, 5)]
    """
    normal = origins(text, model.normalizer, model.frozen)
    width: dict[tuple[int, int], int] = {}
    for char, *source in normal:
        width[source[0], source[1]] = width.get((source[0], source[1]), 0) + len(char.encode())
    marks: list[tuple[int, int]] = []  # by byte of the normalized text: what is complete after it, and what it touches
    written: dict[tuple[int, int], int] = {}
    for char, start, end in normal:
        for _ in char.encode():
            written[start, end] = done = written.get((start, end), 0) + 1
            even, whole = width[start, end] == end - start, done == width[start, end]
            marks.append((start + done, start + done) if even else (end if whole else start, end))
    found: list[tuple[int, int, int, int]] = []
    at = begun = 0
    for id, size in symbols("".join(char for char, *_ in normal), model):
        at += size
        joins = id == model.unknown and not model.bytes and bool(found) and found[-1][0] == id
        begun = found.pop()[1] if joins else found[-1][2] if found else 0
        found.append((id, begun, *marks[at - 1]))
    parts = rewritten(text, model.normalizer, model.frozen)
    return [*found[:-1], (*found[-1][:2], parts[-1][2], parts[-1][2])] if found else []


def decode_characters(ids: Sequence[int], model: Characters) -> bytes:
    r"""The bytes that ids show: `▁` is a space, a byte its byte, and the added space does not come back.

    >>> model = Characters({"▁a": 0, "▁": 1}, {}, unknown=2, silent=[3], strip="once")
    >>> decode_characters([3, 0, 0, 2], model), decode_characters([1, 0], model)
    (b'a a \xe2\x81\x87 ', b' a')
    >>> decode_characters([1, 0], model._replace(strip="each"))
    b'a'
    """
    texts = {id: token for token, id in [*model.ids.items(), *model.frozen.items()]}
    bytes_of = {id: byte for byte, id in enumerate(model.bytes)}
    shown, stripping = b"", model.strip != "nothing"
    for id in ids:
        if id in model.silent:
            continue
        if id in bytes_of or id == model.unknown:
            shown += bytes([bytes_of[id]]) if id in bytes_of else model.surface.encode()
        else:
            text = texts[id]
            stripped = stripping and not shown and text.startswith(BLOCK)
            shown += text[stripped:].replace(BLOCK, " ").encode()
            stripping = stripping and not (stripped and model.strip == "once")
    plain = model.denormalizer == Normalizer()
    return shown if plain else normalize(shown, model.denormalizer).encode()


def draws(seed: int) -> Iterator[float]:
    """Numbers from 0 to below 1 that look random: those of SplitMix64.

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
    """The symbols after merging where merges are passed over: each time, the pairs have their turn by rank and from left to
    right, and each is passed over with the probability `dropout`; the first that is not merges.

    >>> ranks = {"ab": 0, "abab": 1}
    >>> merge_dropping("abab", ranks, 0, draws(1)), merge_dropping("abab", ranks, 1, draws(1))
    (['abab'], ['a', 'b', 'a', 'b'])
    >>> merge_dropping("abab", ranks, 0.5, draws(6))
    ['ab', 'a', 'b']
    """
    parts = list(symbols)
    while True:
        joined = [parts[at] + parts[at + 1] for at in range(len(parts) - 1)]
        waiting = sorted((ranks[pair], at) for at, pair in enumerate(joined) if pair in ranks)
        kept = next((at for _, at in waiting if next(numbers) >= dropout), None)
        if kept is None:
            return parts
        parts[kept : kept + 2] = [joined[kept]]


def merge_marked(piece: str, merges: Sequence[tuple[str, str]], prefix: str = "", suffix: str = "") -> list[str]:
    """The tokens of a piece whose characters carry marks: `prefix` before one that continues the piece, `suffix` behind
    the last. Two neighbours merge if they are a pair of the list, the earliest first, and the leftmost of equals; the
    prefix of the right one goes.

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
        waiting = [(ranks[pair], at) for at, pair in enumerate(pairs) if pair in ranks]
        if not waiting:
            return parts
        at = min(waiting)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1].removeprefix(prefix)]


__dir__ = listing(__name__)
