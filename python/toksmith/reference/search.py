r"""What steps search for, and what becomes of it: three dialects of patterns and five behaviors.

A `Line` is a text that steps rewrite: its characters, each with the place where what it was made of starts in the source. The
place matters to one step only (`metaspace`, which asks whether a piece begins where the text begins).

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
    r"""Where a pattern is found, in characters.

    Args:
        dialect: "rust" finds what `reference.split` finds: no match is empty. "literal" finds a text. In "onig" an empty match
            counts, unless it is where the match before it ended, and the search goes on behind it; a literal that is
            empty is searched so too.

    >>> spans("aa", "literal", line_of("aaaaa")), spans("x*|b", "rust", line_of("ab")), spans("x*|b", "onig", line_of("ab"))
    ([(0, 2), (2, 4)], [(1, 2)], [(0, 0), (1, 1), (2, 2)])
    >>> spans("[0-9]{1,3}+", "rust", line_of("1234567")), spans("[0-9]{1,3}+", "onig", line_of("1234567"))
    ([(0, 3), (3, 6), (6, 7)], [(0, 7)])
    """
    whole = text(line)
    if dialect == "rust":
        found = regex.compile("(?-f)" + pattern, regex.V1).finditer(whole)
        return [match.span() for match in found if match.group()]
    compiled = regex.compile(onig(pattern) if dialect == "onig" else regex.escape(pattern), regex.V1)
    all_found: list[Span] = []
    at = 0
    while whole and at <= len(whole) and (match := compiled.search(whole, at)):
        if match.span() == (at, at) and all_found and all_found[-1][1] == at:
            at += 1
        else:
            all_found.append(match.span())
            at = match.end()
    return all_found


def onig(pattern: str) -> str:
    r"""A regex of Oniguruma in the dialect of `regex`: `{1,3}+` repeats what `{1,3}` finds, and `^` and `$` match at lines.

    The two engines differ in more than this: the specification covers the syntax that published tokenizers use.

    >>> onig(r"^(?:a|\d){2}+|[^b]")
    '(?m:^)(?!\\Z)(?:(?:a|\\d){2})+|[^b]'
    """
    written: list[str] = []
    groups: list[int] = []
    atom = 0
    for part in regex.findall(
        r"\\[pP]\{.*?\}|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]])*\]|\{\d*,?\d*\}\+?|.", pattern, regex.DOTALL
    ):
        if regex.fullmatch(r"\{\d*,?\d*\}\+", part):
            written[atom:] = ["(?:", *written[atom:], part[:-1], ")+"]
        elif part[0] == "{" or part in "?*+":
            written.append(part)
        else:
            if part == "(":
                groups.append(len(written))
            atom = groups.pop() if part == ")" else len(written)
            written.append({"^": r"(?m:^)(?!\Z)", "$": "(?m:$)"}.get(part, part))
    return "".join(written)


def spans_of(is_sought: Callable[[str], bool], line: Line) -> list[Span]:
    """Where characters of a kind are, each on its own.

    >>> spans_of(str.isupper, line_of("aBCd"))
    [(1, 2), (2, 3)]
    """
    return [(at, at + 1) for at, (char, _) in enumerate(line) if is_sought(char)]


def cut(line: Line, found: Sequence[Span], behavior: str, invert: bool = False) -> list[Line]:
    """The pieces of a line of which something was found; no piece is empty.

    Args:
        behavior: "removed" leaves out what was found; "isolated" makes a piece of each find; "contiguous" makes one piece of
            finds that touch; "merged_with_previous" and "merged_with_next" join a find with the piece before or behind it, if
            that is none itself.
        invert: Whether what lies between two finds counts as found, and the finds do not.

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
        stretches = joined(stretches, lambda before, here: before == here)
    elif behavior == "merged_with_previous":
        stretches = joined(stretches, lambda before, here: here and not before)
    elif behavior == "merged_with_next":
        turned = [(-stop, -start, sought) for start, stop, sought in reversed(stretches)]
        turned = joined(turned, lambda before, here: here and not before)
        stretches = [(-stop, -start, sought) for start, stop, sought in reversed(turned)]
    return [line[start:stop] for start, stop, _ in stretches if start < stop]


def joined(
    stretches: Sequence[tuple[int, int, bool]], joins: Callable[[bool, bool], bool]
) -> list[tuple[int, int, bool]]:
    """The stretches, of which each that `joins` (was the one before found, is this one?) is one with that before.

    >>> joined([(0, 1, False), (1, 2, True), (2, 3, True)], lambda before, here: before == here)
    [(0, 1, False), (1, 3, True)]
    """
    found: list[tuple[int, int, bool]] = []
    before = False
    for start, stop, here in stretches:
        if found and joins(before, here):
            found[-1] = (found[-1][0], stop, found[-1][2])
        else:
            found.append((start, stop, here))
        before = here
    return found


__dir__ = listing(__name__)
