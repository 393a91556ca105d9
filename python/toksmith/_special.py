"""What special tokens may be: contents that can never be found in two ways.

A text is cut at its special tokens before anything else happens to it. If one content stood inside another, or the end
of one were the start of another, the cut would depend on an order that nobody wrote down; such sets are refused here as
arguments of `train` and `load`. A file may hold them, and then the longest of the leftmost is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ._errors import InvalidOption

__all__ = ["LONGEST_CONTENT", "check_special_tokens"]

LONGEST_CONTENT = 1024


def check_special_tokens(contents: Sequence[str]) -> None:
    """Returns if every content is fit to be a special token beside the others.

    Each is a text of 1 to 1024 characters without lone surrogates, none is listed twice, none stands inside another,
    and no end of one is the start of another. (A content may overlap itself: the leftmost place is then meant.)

    Raises:
        InvalidOption: Its `value` is the first content at fault, or the pair of contents that overlap.
    """
    for content in contents:
        if not isinstance(content, str):
            raise TypeError(f"a special token must be a str, not {type(content).__name__}")
        if not 0 < len(content) <= LONGEST_CONTENT:
            raise InvalidOption("special_tokens", content, f"contents of 1 to {LONGEST_CONTENT} characters")
        if any("\ud800" <= char <= "\udfff" for char in content):
            raise InvalidOption("special_tokens", content, "contents without lone surrogates")
    clash = next(clashes(contents), None)
    if clash is None:
        return
    first, second = clash
    if first == second:
        raise InvalidOption("special_tokens", first, "contents that are listed once")
    raise InvalidOption("special_tokens", clash, "contents of which none stands inside another or overlaps its start")


def clashes(contents: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The pairs of contents that are equal or share characters when they meet in a text."""
    seen: dict[str, None] = {}  # a dict and not a set: which clash comes first is the same in every run
    for content in contents:
        if content in seen:
            yield content, content
        seen[content] = None
    lengths = sorted({len(content) for content in seen})
    by_start: dict[str, list[str]] = {}
    for content in seen:
        for end in range(1, len(content)):
            by_start.setdefault(content[:end], []).append(content)
    for content in contents:
        for start in range(len(content)):
            for length in lengths:
                part = content[start : start + length]
                if len(part) == length and part != content and part in seen:
                    yield content, part
            if start > 0:
                for other in by_start.get(content[start:], ()):
                    if other != content:
                        yield content, other
