"""Checks special tokens: their contents must match a text in only one way.

Encoding cuts a text at its special tokens first. If one content contained another, or the end of one were the start of
another, the cut would depend on an unspecified order; `train` and `load` refuse such sets as arguments. A file can contain
them, and then the leftmost and longest match wins.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidOption

LONGEST_CONTENT = 1024


def check_special_tokens(contents: Sequence[str], argument: str = "special_tokens") -> None:
    """Raises unless the contents of an argument can be special tokens together.

    Each is a text of 1 to 1024 characters without lone surrogates, none is listed twice, none contains another, and no
    end of one is the start of another. (A content can overlap itself: the leftmost match then wins.)
    Cost: time and memory grow with the characters of all contents.
    """
    earlier: set[str] = set()
    repeated: str | None = None
    for content in contents:
        if not isinstance(content, str):
            raise TypeError(f"{argument}: expected contents (str), not {type(content).__name__}")
        if not 0 < len(content) <= LONGEST_CONTENT:
            raise InvalidOption(argument, content, f"contents of 1 to {LONGEST_CONTENT} characters")
        if any("\ud800" <= char <= "\udfff" for char in content):
            raise InvalidOption(argument, content, "contents without lone surrogates")
        repeated = content if repeated is None and content in earlier else repeated
        earlier.add(content)
    if repeated is not None:
        raise InvalidOption(argument, repeated, "contents that are listed once")
    clash = first_clash(contents)
    if clash is not None:
        expected = "contents that neither contain nor overlap each other"
        raise InvalidOption(argument, clash, expected)


def first_clash(contents: Sequence[str]) -> tuple[str, str] | None:
    """The first content that contains another or whose end is the start of another, and that other; None if none does.

    Of several others, the first in the content counts, then a contained one before an overlapping one, then the shortest.
    """
    trie = Trie(contents)
    for content, node in zip(contents, trie.ends, strict=True):
        start = trie.tail_start(content, node)
        if trie.holds[node] or start < len(content):
            return content, find_clash(content, start, contents)
    return None


def find_clash(content: str, tail_start: int, contents: Sequence[str]) -> str:
    """The first content that a content clashes with; the end of `content` from `tail_start` is the start of another."""
    others = {each for each in contents if each != content}
    lengths = sorted({len(each) for each in others})
    for start in range(min(tail_start + 1, len(content))):
        rest = content[start:]
        for length in lengths:
            if rest[:length] in others and length <= len(rest):
                return rest[:length]
    tail = content[tail_start:]
    return next(each for each in contents if each != content and each.startswith(tail))


class Trie:
    """An Aho-Corasick trie: a node for each prefix of a content, in order of length.

    Attributes:
        ends: The node of each content.
        holds: For each node, whether its text contains a shorter content.
    """

    def __init__(self, contents: Sequence[str]) -> None:
        from array import array  # slow to import

        self.next: dict[int, int] = {}  # the child, by node << 21 | character
        self.suffix = array("I", [0])  # the node of the longest proper suffix that is a node
        self.depth = array("H", [0])  # the length of the node's text, in characters
        self.below = array("I", [0])  # the number of longer contents that start with the node's text
        self.known = bytearray(1)  # whether the node's text ends in a content
        self.holds = bytearray(1)
        self.ends = [0] * len(contents)
        active = [*range(len(contents))]
        for depth in range(max(map(len, contents), default=0)):
            for place in active:
                node, char = self.ends[place], ord(contents[place][depth])
                self.below[node] += 1
                self.ends[place] = self.next.get(node << 21 | char) or self.add(node, char)
            for place in active:
                if len(contents[place]) == depth + 1:
                    self.known[self.ends[place]] = 1
            active = [place for place in active if len(contents[place]) > depth + 1]

    def add(self, node: int, char: int) -> int:
        """Adds the node for the text of `node` and one more character; returns it."""
        new_node, suffix = len(self.suffix), node
        child = 0
        while suffix and not child:
            suffix = self.suffix[suffix]
            child = self.next.get(suffix << 21 | char, 0)
        self.next[node << 21 | char] = new_node
        self.suffix.append(child)
        self.depth.append(self.depth[node] + 1)
        self.below.append(0)
        self.known.append(self.known[child])
        self.holds.append(self.holds[node] or self.known[node] or self.known[child])
        return new_node

    def tail_start(self, content: str, node: int) -> int:
        """The start of the longest end of a content that begins another content; the content's length if there is none."""
        while node := self.suffix[node]:
            start = len(content) - self.depth[node]
            is_self = self.below[node] == 1 and content.startswith(content[start:])
            if self.below[node] and not is_self:
                return start
        return len(content)
