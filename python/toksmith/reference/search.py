r"""How steps search a text and cut it at the matches: three dialects of patterns and five behaviors.

A `Line` is a text that steps rewrite: its characters, each with the place of its origin in the source. Only `metaspace`
uses the place, to test whether a piece begins where the text begins.

>>> line = line_of("the-final--countdown")
>>> [text(piece) for piece in cut(line, spans("-", "literal", line), "merged_with_next")]
['the', '-final', '-', '-countdown']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import regex

from .names import listing

Line = Sequence[tuple[str, int]]
Span = tuple[int, int]

WHITE_SPACE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
)


def line_of(text: str, start: int = 0) -> Line:
    """The line of a text that starts at a byte of its source.

    >>> line_of("aé!", 5)
    [('a', 5), ('é', 6), ('!', 8)]
    """
    return [(char, start + len(text[:at].encode())) for at, char in enumerate(text)]


def text(line: Line) -> str:
    """The text of a line.

    >>> text([("a", 0), ("b", 1)])
    'ab'
    """
    return "".join(char for char, _ in line)


def spans(pattern: str, dialect: str, line: Line) -> list[Span]:
    r"""The matches of a pattern, in characters.

    Args:
        dialect: "rust" is that of `reference.split`, without empty matches. "literal" is a text. In "onig" an empty match
            counts, unless it is where the previous match ended, and the search continues after it; an empty literal is
            searched the same way.

    >>> spans("aa", "literal", line_of("aaaaa")), spans("x*|b", "rust", line_of("ab")), spans("x*|b", "onig", line_of("ab"))
    ([(0, 2), (2, 4)], [(1, 2)], [(0, 0), (1, 1), (2, 2)])
    >>> spans("[0-9]{1,3}+", "rust", line_of("1234567")), spans("[0-9]{1,3}+", "onig", line_of("1234567"))
    ([(0, 3), (3, 6), (6, 7)], [(0, 7)])
    """
    content = text(line)
    if dialect == "rust":
        matches = regex.compile("(?-f)" + pattern, regex.V1).finditer(content)
        return [match.span() for match in matches if match.group()]
    compiled = regex.compile(onig(pattern) if dialect == "onig" else regex.escape(pattern), regex.V1)
    places: list[Span] = []
    at = 0
    while content and at <= len(content) and (match := compiled.search(content, at)):
        if match.span() == (at, at) and places and places[-1][1] == at:
            at += 1
        else:
            places.append(match.span())
            at = match.end()
    return places


def onig(pattern: str) -> str:
    r"""A regex of Oniguruma in the dialect of `regex`: `{1,3}+` repeats `{1,3}`, and `^` and `$` match at lines.

    The two engines differ in more than this: the specification covers the syntax that published tokenizers use.

    >>> onig(r"^(?:a|\d){2}+|[^b]")
    '(?m:^)(?!\\Z)(?:(?:a|\\d){2})+|[^b]'
    """
    parts: list[str] = []
    groups: list[int] = []
    atom = 0
    for part in regex.findall(
        r"\\[pP]\{.*?\}|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]])*\]|\{\d*,?\d*\}\+?|.", pattern, regex.DOTALL
    ):
        if regex.fullmatch(r"\{\d*,?\d*\}\+", part):
            parts[atom:] = ["(?:", *parts[atom:], part[:-1], ")+"]
        elif part[0] == "{" or part in "?*+":
            parts.append(part)
        else:
            if part == "(":
                groups.append(len(parts))
            atom = groups.pop() if part == ")" else len(parts)
            parts.append({"^": r"(?m:^)(?!\Z)", "$": "(?m:$)"}.get(part, part))
    return "".join(parts)


def spans_of(is_sought: Callable[[str], bool], line: Line) -> list[Span]:
    """The spans of characters of a kind, one span for each.

    >>> spans_of(str.isupper, line_of("aBCd"))
    [(1, 2), (2, 3)]
    """
    return [(at, at + 1) for at, (char, _) in enumerate(line) if is_sought(char)]


def cut(line: Line, found: Sequence[Span], behavior: str, invert: bool = False) -> list[Line]:
    """The pieces of a line that is cut at matches; no piece is empty.

    Args:
        behavior: "removed" drops the matches; "isolated" makes each match a piece; "contiguous" joins matches that touch;
            "merged_with_previous" and "merged_with_next" join a match with the piece before or after it, unless that is
            a match too.
        invert: Whether the stretches between matches count as the matches.

    >>> line = line_of("a--b-")
    >>> found = spans("-", "literal", line)
    >>> for behavior in ("removed", "isolated", "contiguous", "merged_with_previous", "merged_with_next"):
    ...     print(*map(text, cut(line, found, behavior)))
    a b
    a - - b -
    a -- b -
    a- - b-
    a - -b -
    >>> [text(piece) for piece in cut(line, found, "removed", invert=True)]
    ['-', '-', '-']
    """
    stretches: list[tuple[int, int, bool]] = []
    end = 0
    for start, stop in found:
        stretches += [(end, start, invert)] if end < start else []
        stretches.append((start, stop, not invert))
        end = stop
    stretches += [(end, len(line), invert)] if end < len(line) else []
    if behavior == "removed":
        stretches = [stretch for stretch in stretches if not stretch[2]]
    elif behavior == "contiguous":
        stretches = join_spans(stretches, lambda before, here: before == here)
    elif behavior == "merged_with_previous":
        stretches = join_spans(stretches, lambda before, here: here and not before)
    elif behavior == "merged_with_next":
        mirrored = [(-stop, -start, is_match) for start, stop, is_match in reversed(stretches)]
        mirrored = join_spans(mirrored, lambda before, here: here and not before)
        stretches = [(-stop, -start, is_match) for start, stop, is_match in reversed(mirrored)]
    return [line[start:stop] for start, stop, _ in stretches if start < stop]


def join_spans(
    stretches: Sequence[tuple[int, int, bool]], joins: Callable[[bool, bool], bool]
) -> list[tuple[int, int, bool]]:
    """The stretches, each joined to the previous one if `joins` (is the previous a match, is this one?) is true.

    >>> join_spans([(0, 1, False), (1, 2, True), (2, 3, True)], lambda before, here: before == here)
    [(0, 1, False), (1, 3, True)]
    """
    result: list[tuple[int, int, bool]] = []
    before = False
    for start, stop, here in stretches:
        if result and joins(before, here):
            result[-1] = (result[-1][0], stop, result[-1][2])
        else:
            result.append((start, stop, here))
        before = here
    return result


__dir__ = listing(__name__)
