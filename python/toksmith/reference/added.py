r"""Added tokens with flags, and texts that steps rewrite, which `reference.cut` and `reference.encode` leave out.

`encode_steps` cuts a text at the tokens that are searched in the original text (`cut_flagged`). It normalizes each stretch
between them, cuts it at the tokens that are searched in normalized text, splits the rest, and encodes each piece.

>>> tokens = [Added("<l>", 300, lstrip=True), Added("ab", 301, normalized=True)]
>>> steps = Steps(normalizers=[("lowercase", {})], splitters=[("whitespace_split", {})])
>>> encode_steps("AB c  <l> AB", list, tokens, steps)
[301, 99, 300, 301]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import regex

from . import Text, utf8
from .decoders import BYTE_OF
from .names import listing
from .normalizers import Step, normalize_line
from .search import WHITE_SPACE, Line, line_of, text
from .splitters import WORDS, pieces


class Added(NamedTuple):
    """A token that is cut out of a text before the text is split.

    Attributes:
        content: Its text, never empty.
        id: Its id.
        special: Whether it needs the call's permission.
        lstrip: Whether white space before it belongs to it.
        rstrip: Whether white space after it belongs to it.
        single_word: Whether it counts only where no word character adjoins it.
        normalized: Whether it is searched in the normalized text, with its content normalized too.
    """

    content: str
    id: int
    special: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


class Steps(NamedTuple):
    """The steps of a model that decide its ids, and whether its pieces are made of bytes or of characters."""

    normalizers: Sequence[Step] = ()
    splitters: Sequence[Step] = ()
    unit: str = "byte"


NO_STEPS = Steps()


def in_word(char: str) -> bool:
    """Whether it is a word character, as in `WORDS`; False for an empty text.

    >>> in_word("é"), in_word("_"), in_word("-"), in_word("")
    (True, True, False, False)
    """
    return bool(regex.match(WORDS, char))


def cut_flagged(
    whole: str, tokens: Sequence[Added], allow: str | Collection[str] = "raise", contents: Mapping[str, str] = {}
) -> list[tuple[int, int, int | None]]:
    """Where the segments of a text start and end, in characters: stretches of ordinary text with None, tokens with their ids.

    One scan finds the leftmost token, the longest if several start there, and continues after its content, even if a
    flag rejects it. White space taken by the previous token is not taken again; but a token that is white space itself,
    and has no `lstrip`, still counts there.

    Args:
        allow: As in `reference.cut`.
        contents: For each token the searched text, if it differs from the content. A token with the searched text "" matches
            before every character where no token starts, and at the end: it cuts the text there, and is a token if flags
            give it white space. Of several tokens with the same searched text, the first one is found.

    >>> cut_flagged("a  <l>", [Added("<l>", 1, lstrip=True)])
    [(0, 1, None), (1, 6, 1)]
    >>> cut_flagged("w ww", [Added("w", 1, single_word=True)])
    [(0, 1, 1), (1, 4, None)]
    >>> cut_flagged("<r> <l>", [Added("<r>", 1, rstrip=True), Added("<l>", 2, lstrip=True)])
    [(0, 4, 1), (4, 7, 2)]
    >>> cut_flagged("ab", [Added("x", 1)], contents={"x": ""})
    [(0, 1, None), (1, 2, None)]
    """
    searched = [token for token in tokens if not (token.special and allow == "text")]
    by_content: dict[str, Added] = {}
    for token in searched:
        by_content.setdefault(contents.get(token.content, token.content), token)
    longest_first = sorted(by_content, key=lambda content: len(content.encode()), reverse=True)
    segments: list[tuple[int, int, int | None]] = []
    at, last = 0, -1
    for match in regex.finditer("|".join(map(regex.escape, longest_first)), whole) if by_content else ():
        token, (start, end), before = by_content[match.group()], match.span(), last
        last = end
        if start == end == before:
            continue
        if token.single_word and (in_word(whole[:start][-1:]) or in_word(whole[end:][:1])):
            continue
        while token.lstrip and whole[:start][-1:] in WHITE_SPACE:
            start -= 1
        while token.rstrip and whole[end:][:1] in WHITE_SPACE:
            end += 1
        is_allowed = not token.special or allow == "allow" or (not isinstance(allow, str) and token.content in allow)
        if start < end and not is_allowed:
            raise ValueError(f"the text holds the special token {token.content!r} at {match.start()}")
        if token.lstrip and end <= at:
            continue
        segments += [(at, start, None)] if at < start else []
        segments += [(max(at, start), end, token.id)] if start < end else []
        at = end
    return [*segments, (at, len(whole), None)] if at < len(whole) else segments


def pieces_of(line: Line, steps: Steps) -> list[bytes]:
    r"""The pieces of a normalized line. If a splitter writes bytes as characters, a byte-level model gets the bytes back.

    >>> pieces_of(line_of("é!"), Steps(splitters=[("byte_characters", {}), ("fixed_length", {"length": 2})]))
    [b'\xc3\xa9', b'!']
    """
    texts = [text(piece) for piece in pieces(line, steps.splitters)]
    if steps.unit == "byte" and any(kind == "byte_characters" for kind, _ in steps.splitters):
        return [
            b"".join(bytes([BYTE_OF[char]]) if char in BYTE_OF else char.encode() for char in piece) for piece in texts
        ]
    return [piece.encode() for piece in texts]


def encode_steps(
    given: Text,
    ids_of: Callable[[bytes], Sequence[int]],
    tokens: Sequence[Added] = (),
    steps: Steps = NO_STEPS,
    special: str | Collection[str] = "raise",
) -> list[int]:
    r"""The ids of a text by a model with steps or flags.

    Bytes that are not UTF-8 bypass the steps in byte-level models, each run of them a piece; in models of characters each
    becomes U+FFFD.

    Args:
        ids_of: Encodes a piece, by merging or with another kind of model.

    >>> encode_steps(b"A\xff\xfeB", list, steps=Steps([("lowercase", {})]))
    [97, 255, 254, 98]
    >>> bytes(encode_steps(b"A\xff\xfe", list, steps=Steps([("lowercase", {})], unit="char"))).decode()
    'a\ufffd\ufffd'
    """
    decoded = utf8(given).decode("utf-8", "surrogateescape")
    later = [token for token in tokens if token.normalized]
    contents = {token.content: text(normalize_line(line_of(token.content), steps.normalizers)) for token in later}
    ids: list[int] = []
    for first, last, id in cut_flagged(decoded, [token for token in tokens if not token.normalized], special):
        if id is not None:
            ids.append(id)
            continue
        place = len(decoded[:first].encode("utf-8", "surrogateescape"))
        for part in (
            regex.findall("[\udc80-\udcff]+|[^\udc80-\udcff]+", decoded[first:last])
            if steps.unit == "byte"
            else [decoded[first:last]]
        ):
            if steps.unit == "byte" and "\udc80" <= part[0] <= "\udcff":
                ids += ids_of(part.encode("utf-8", "surrogateescape"))
            else:
                line = normalize_line(line_of_bytes(part, place), steps.normalizers)
                for start, end, token_id in cut_flagged(text(line), later, special, contents):
                    parts = [] if token_id is not None else pieces_of(line[start:end], steps)
                    ids += [token_id] if token_id is not None else [id for piece in parts for id in ids_of(piece)]
            place += len(part.encode("utf-8", "surrogateescape"))
    return ids


def line_of_bytes(part: str, start: int) -> Line:
    r"""The line of a text, with U+FFFD for each byte that is not UTF-8.

    >>> line_of_bytes("é\udcffa", 1)
    [('é', 1), ('\ufffd', 3), ('a', 4)]
    """
    line, place = [], start
    for char in part:
        line.append(("\ufffd" if "\udc80" <= char <= "\udcff" else char, place))
        place += len(char.encode("utf-8", "surrogateescape"))
    return line


__dir__ = listing(__name__)
