"""The looks of a token in every medium: its view, its drawn parts, the escapes, and the colours.

A space is `·`, a tab `→`, a newline `↵` (and the line ends there); unprintable characters are escaped as in a Python string;
bytes that are not a whole character inside their token are written `<E2><98>`. A character that several tokens share is drawn
once, in the token that completes it, after its bytes there. The drawing is for people: a text that contains `·` or `<E2>` looks
the same without colour, and only the ids are exact.

Text, marks and bytes have a contrast of at least 4.5 to 1 on every token, and the colours of neighbours differ even on a
terminal with 16 colours. `tests/render/test_render.py` computes both, and compares the style sheet of the playground.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .streams import escape

__all__ = [
    "COLORS",
    "DARK",
    "LIGHT",
    "TICK",
    "Colours",
    "DrawnPart",
    "MergeView",
    "SharedCharacter",
    "TokenRun",
    "TokenView",
    "clusters",
    "is_whole",
    "merge_views",
    "token_parts",
    "token_text",
    "token_views",
]

TICK = "▏"
MARKS = {" ": "·", "\t": "→", "\n": "↵\n"}


class Colours(NamedTuple):
    """One scheme of colours.

    Attributes:
        page, ink: The background, and the text on it and on tokens.
        tokens: The backgrounds of tokens, in turn.
        mark, raw: On tokens: white space and escapes; bytes that are not a character.
        tick, alone: The line before a token, and before a token that begins at a cut of this tokenizer only.
        quiet: The background of tokens that are not the subject of a view.
        special, on_special: The background of a special token, and the text on it.
        accent: Bars, and the outline of the focus.
    """

    page: str
    ink: str
    tokens: tuple[str, ...]
    mark: str
    raw: str
    tick: str
    alone: str
    quiet: str
    special: str
    on_special: str
    accent: str


LIGHT = Colours(
    page="#ffffff",
    ink="#17191c",
    tokens=("#e3cd8f", "#9eb8f0", "#cffecb", "#e8a2b9", "#a6e7fe"),
    mark="#444444",
    raw="#8b0000",
    tick="#444444",
    alone="#b3261e",
    quiet="#d5d8dc",
    special="#33373d",
    on_special="#ffffff",
    accent="#0b57d0",
)
DARK = Colours(
    page="#15171a",
    ink="#eceef1",
    tokens=("#745825", "#1a3062", "#452209", "#5c597a", "#13684d"),
    mark="#d3d8de",
    raw="#ffc9c2",
    tick="#d3d8de",
    alone="#ff9d94",
    quiet="#3d434b",
    special="#e6e9ed",
    on_special="#15171a",
    accent="#8ab4f8",
)
# Of a terminal: neighbours differ where it has 16 colours too, which the calmer tints of a page do not.
COLORS = ("#ffd75f", "#87c9ff", "#8fe88f", "#ff9ff0", "#7fe5e5")


class TokenView(NamedTuple):
    """One token of an encoded text: its id, its bytes, and whether it is a special token."""

    id: int
    token: bytes
    special: bool = False


@dataclass(frozen=True)
class MergeView:
    """One merge of a training: its number from 1, the pair, the new id and its bytes, the pair's count, the remaining ids."""

    number: int
    left_id: int
    right_id: int
    id: int
    token: bytes
    count: int
    left: int


class DrawnPart(NamedTuple):
    """A part of a drawn token: `text` to print unchanged, and the kind of its content.

    "text": unchanged characters; "mark": white space and escapes; "bytes": bytes of a cut character, or of none.
    """

    text: str
    kind: Literal["text", "mark", "bytes"]


class TokenRun(NamedTuple):
    """Consecutive parts of one token: the index of the token, and the parts."""

    place: int
    parts: list[DrawnPart]


class SharedCharacter(NamedTuple):
    """A character that several tokens share: its drawing, and for each token the index and the number of bytes."""

    part: DrawnPart
    shares: list[tuple[int, int]]


def token_views(
    ids: Iterable[int], token_bytes: Callable[[int], bytes], special_ids: Collection[int] = ()
) -> list[TokenView]:
    """The views of `ids`, each token's bytes looked up once."""
    views_by_id: dict[int, TokenView] = {}
    views = []
    for id in ids:
        if id not in views_by_id:
            views_by_id[id] = TokenView(id, token_bytes(id), id in special_ids)
        views.append(views_by_id[id])
    return views


def merge_views(
    merges: Iterable[Sequence[int]], counts: Iterable[int], left: Iterable[int], token_bytes: Callable[[int], bytes]
) -> list[MergeView]:
    """The views of `merges` (left id, right id, new id), in order, with the training record of each."""
    views = []
    for number, (merge, count, rest) in enumerate(zip(merges, counts, left, strict=True), 1):
        left_id, right_id, id = map(int, merge)
        views.append(MergeView(number, left_id, right_id, id, token_bytes(id), int(count), int(rest)))
    return views


def token_parts(tokens: Sequence[bytes]) -> list[list[DrawnPart]]:
    r"""The parts of each token of one text, in order; an empty token has none.

    >>> first, second = token_parts([b"a \xe0", b"\xa4\xa8"])  # U+0928 is E0 A4 A8
    >>> "".join(part.text for part in first), "".join(part.text for part in second)
    ('a·<E0>', '<A4><A8>न')
    """
    parts_of: list[list[DrawnPart]] = [[] for _ in tokens]
    whole_parts: dict[bytes, list[DrawnPart]] = {}
    cut: list[int] = []  # the indices of neighbours that are not whole characters by themselves
    for place, token in enumerate(tokens):
        if token not in whole_parts and is_whole(token):
            whole_parts[token] = cut_parts([token])[0]
        if token not in whole_parts:
            cut.append(place)
            continue
        # A whole token begins with the first byte of a character, so no character crosses its start.
        for other, parts in zip(cut, cut_parts([tokens[other] for other in cut]), strict=True):
            parts_of[other] = parts
        cut.clear()
        parts_of[place] = whole_parts[token]
    for other, parts in zip(cut, cut_parts([tokens[other] for other in cut]), strict=True):
        parts_of[other] = parts
    return parts_of


def clusters(tokens: Sequence[bytes]) -> list[list[TokenRun | SharedCharacter]]:
    r"""The tokens of one text, for media that draw a shared character once, with its bytes.

    A cluster is one token, or several that share characters. A break between clusters cuts no token.

    >>> clusters([b"a", b"b\xc3", b"\xa9"])[1]
    [TokenRun(place=1, parts=[DrawnPart(text='b', kind='text')]), SharedCharacter(part=DrawnPart(text='é', kind='text'), shares=[(1, 1), (2, 1)])]
    """
    result: list[list[TokenRun | SharedCharacter]] = []
    cut: list[int] = []
    whole_parts: dict[bytes, list[DrawnPart]] = {}
    for place, token in enumerate(tokens):
        if token not in whole_parts and is_whole(token):
            whole_parts[token] = cut_parts([token])[0]
        if token in whole_parts:
            result += cut_clusters(tokens, cut)
            cut = []
            result.append([TokenRun(place, whole_parts[token])])
        else:
            cut.append(place)
    return [*result, *cut_clusters(tokens, cut)]


def cut_clusters(tokens: Sequence[bytes], places: Sequence[int]) -> list[list[TokenRun | SharedCharacter]]:
    """As `clusters`, for the tokens at these indices, byte by byte."""
    result: list[list[TokenRun | SharedCharacter]] = []
    waiting, place, room = iter(places), -1, 0  # the current token, and the number of its remaining bytes

    def run_of(place: int) -> list[DrawnPart]:
        last = result[-1][-1]
        if not (isinstance(last, TokenRun) and last.place == place):
            result[-1].append(last := TokenRun(place, []))
        return last.parts

    for char in b"".join(tokens[place] for place in places).decode("utf-8", "surrogateescape"):
        rest = len(char.encode("utf-8", "surrogateescape"))
        shares: list[tuple[int, int]] = []
        while rest:
            while room == 0:
                place = next(waiting)
                room = len(tokens[place])
                if not shares:
                    result.append([TokenRun(place, [])])
                elif room == 0:
                    result[-1].append(TokenRun(place, []))
            count = min(rest, room)
            shares.append((place, count))
            rest, room = rest - count, room - count
        if len(shares) > 1:
            result[-1] = [part for part in result[-1] if part != TokenRun(shares[0][0], [])]
            result[-1].append(SharedCharacter(character_part(char, []), shares))
        elif "\udc80" <= char <= "\udcff":
            append_part(run_of(place), DrawnPart(f"<{ord(char) - 0xDC00:02X}>", "bytes"))
        else:
            parts = run_of(place)
            append_part(parts, character_part(char, parts))
    return result + [[TokenRun(place, [])] for place in waiting]


def is_whole(token: bytes) -> bool:
    """Whether a token is whole characters by itself, and not empty."""
    try:
        return bool(token.decode())
    except UnicodeDecodeError:
        return False


def cut_parts(tokens: Sequence[bytes]) -> list[list[DrawnPart]]:
    """As `token_parts`, for any tokens, byte by byte."""
    parts_of: list[list[DrawnPart]] = [[] for _ in tokens]
    place, room = -1, 0  # the current token, and the number of its remaining bytes
    for char in b"".join(tokens).decode("utf-8", "surrogateescape"):
        data = rest = char.encode("utf-8", "surrogateescape")
        invalid = "\udc80" <= char <= "\udcff"  # surrogateescape maps bytes outside characters to this range
        while rest:
            while room == 0:
                place += 1
                room = len(tokens[place])
            share, rest = rest[:room], rest[room:]
            room -= len(share)
            if invalid or len(share) < len(data):
                append_part(parts_of[place], DrawnPart("".join(f"<{byte:02X}>" for byte in share), "bytes"))
        if not invalid:
            append_part(parts_of[place], character_part(char, parts_of[place]))
    return parts_of


def token_text(token: bytes) -> str:
    """One token on one line, drawn by itself: a newline is `↵` only."""
    return "".join(part.text for part in token_parts([token])[0]).replace("\n", "")


def character_part(char: str, before: list[DrawnPart]) -> DrawnPart:
    """The drawing of `char` after the parts `before` it in its token."""
    if char in MARKS:
        return DrawnPart(MARKS[char], "mark")
    if not char.isprintable() or is_invisible(char):
        return DrawnPart(escape(char), "mark")
    if unicodedata.category(char).startswith("M") and not (before and before[-1].kind == "text"):
        return DrawnPart("◌" + char, "text")  # a combining mark would sit on the boundary tick
    return DrawnPart(char, "text")


def is_invisible(char: str) -> bool:
    """Whether `char` is invisible although `str.isprintable` accepts it: variation selectors and fillers."""
    return (
        "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef" or char in "\u034f\u115f\u1160\u3164\uffa0"
    )


def append_part(parts: list[DrawnPart], part: DrawnPart) -> None:
    """Appends `part`, or extends the last part if it has the same kind."""
    if parts and parts[-1].kind == part.kind:
        parts[-1] = DrawnPart(parts[-1].text + part.text, part.kind)
    else:
        parts.append(part)
