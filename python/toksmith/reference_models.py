"""The executable specification of models beside plain byte-pair encoding: what `reference.py` has no room for.

A text of SentencePiece's byte-pair models is `normalize`d, cut at the symbols that stay whole, and merged as one piece of
characters: `encode_characters`. It needs nothing but `reference.py`'s standard library, and no compiled core. The table
of a charsmap is given as a mapping here; how files compile it is no part of the specification.

>>> tokens = {"▁": -9.0, "a": -9.0, "b": -9.0, "ab": -1.0, "▁ab": -2.0}
>>> ids = {token: id for id, token in enumerate(tokens)}
>>> model = Characters(ids, tokens, unknown=9, normalizer=Normalizer(dummy="before", escape=True))
>>> encode_characters("ab bca", model)
[4, 0, 2, 9, 1]
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Text = str | bytes
BLOCK = "▁"


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
    """A byte-pair model of characters.

    Attributes:
        ids: The id of each token.
        scores: The score of each token: the merge that makes the highest comes first.
        unknown: The id of what has no token.
        bytes: The ids of the 256 bytes, which characters without a token become; empty for no such fallback.
        frozen: The ids of symbols that are found in the normalized text and stay whole.
        normalizer: What is done to a text first.
        silent: Ids that show nothing when they are decoded.
        surface: What the unknown id shows.
        strip: Which leading spaces do not come back: "nothing", "once" or "each".
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


def longest_at(text: str, at: int, contents: Mapping[str, object]) -> str:
    """The longest of the contents that stands at a place of the text; "" for none.

    >>> longest_at("abc", 1, {"b": 0, "bc": 0, "c": 0}), longest_at("abc", 0, {"b": 0})
    ('bc', '')
    """
    return max((content for content in contents if text.startswith(content, at)), key=len, default="")


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
    if isinstance(text, str):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    whole = re.sub("[\udc80-\udcff]", "\ufffd", text.decode("utf-8", "surrogateescape"))
    parts, at = [], 0
    while at < len(whole):
        kept = longest_at(whole, at, protected)
        found = kept or longest_at(whole, at, normalizer.charsmap) or whole[at]
        parts.append(found if kept else normalizer.charsmap.get(found, found))
        at += len(found)
    if normalizer.remove_extra:
        while parts and parts[0] == " ":
            parts.pop(0)
    if not parts:
        return ""
    normal = " " if normalizer.dummy == "before" else ""
    after_space = normalizer.remove_extra
    for part in parts:
        shown = part.lstrip(" ") if after_space else part
        after_space = normalizer.remove_extra and (shown.endswith(" ") if shown else after_space)
        normal += shown
    space = BLOCK if normalizer.escape else " "
    normal = normal.replace(" ", space)
    while normalizer.remove_extra and normal.endswith(space):
        normal = normal.removesuffix(space)
    return normal + (space if normalizer.dummy == "after" else "")


def merge_characters(text: str, scores: Mapping[str, float]) -> list[str]:
    """The symbols of a text: two neighbours merge if together they are a token, the highest score first, and the
    leftmost of equals. A character that is no token may be a part of one.

    >>> merge_characters("abab", {"ab": -1.0, "ba": -1.0}), merge_characters("abab", {"ab": -2.0, "ba": -1.0})
    (['ab', 'ab'], ['a', 'ba', 'b'])
    """
    parts = list(text)
    while True:
        joined = [(-scores[pair], at) for at in range(len(parts) - 1) if (pair := parts[at] + parts[at + 1]) in scores]
        if not joined:
            return parts
        at = min(joined)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def encode_characters(text: Text, model: Characters) -> list[int]:
    """The ids of a text without special tokens.

    What has no token becomes the ids of its bytes, or the unknown id, once for several that follow each other.

    >>> tokens = {"a": 0.0, "aa": 0.0}
    >>> model = Characters({"a": 0, "aa": 1}, tokens, unknown=2, frozen={"<x>": 3})
    >>> encode_characters("aaa??<x>?", model)
    [1, 0, 2, 3, 2]
    >>> encode_characters("é", model._replace(bytes=range(100, 356)))
    [295, 269]
    """
    normal = normalize(text, model.normalizer, model.frozen)
    ids: list[int] = []
    at = start = 0
    while start < len(normal):
        found = longest_at(normal, at, model.frozen)
        if at < len(normal) and not found:
            at += 1
            continue
        for symbol in merge_characters(normal[start:at], model.scores):
            if symbol in model.ids:
                ids.append(model.ids[symbol])
            elif model.bytes:
                ids += [model.bytes[byte] for byte in symbol.encode()]
            elif ids[-1:] != [model.unknown]:
                ids.append(model.unknown)
        ids += [model.frozen[found]] if found else []
        start = at = at + len(found)
    return ids


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
    return shown
