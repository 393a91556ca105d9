"""Which special tokens are allowed: contents that can be found in only one way.

A text is cut at its special tokens before anything else happens to it. If one content contained another, or the end of
one were the start of another, the cut would depend on an order that nobody specified; `train` and `load` refuse such
sets as arguments. A file may hold them, and then the leftmost and longest match wins.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._base.errors import InvalidOption

__all__ = ["LONGEST_CONTENT", "check_special_tokens"]

LONGEST_CONTENT = 1024


def check_special_tokens(contents: Sequence[str]) -> None:
    """Checks that the contents can be special tokens together.

    Each is a text of 1 to 1024 characters without lone surrogates, none is listed twice, none contains another, and no
    end of one is the start of another. (A content may overlap itself: the leftmost match then wins.)
    Cost: time and memory grow with the characters of all contents.
    """
    seen: set[str] = set()
    twice: str | None = None
    for content in contents:
        if not isinstance(content, str):
            raise TypeError(f"special_tokens: expected contents (str), not {type(content).__name__}")
        if not 0 < len(content) <= LONGEST_CONTENT:
            raise InvalidOption("special_tokens", content, f"contents of 1 to {LONGEST_CONTENT} characters")
        if any("\ud800" <= char <= "\udfff" for char in content):
            raise InvalidOption("special_tokens", content, "contents without lone surrogates")
        twice = content if twice is None and content in seen else twice
        seen.add(content)
    if twice is not None:
        raise InvalidOption("special_tokens", twice, "contents that are listed once")
    clash = first_clash(contents)
    if clash is not None:
        allowed = "contents that neither contain nor overlap each other"
        raise InvalidOption("special_tokens", clash, allowed)


def first_clash(contents: Sequence[str]) -> tuple[str, str] | None:
    """The first content that contains another or ends as another begins, and that other; None if none does.

    Of several others it is the one that starts first, then one that lies completely inside, then the shortest.
    """
    trie = Trie(contents)
    for content, node in zip(contents, trie.ends, strict=True):
        start = trie.tail_start(content, node)
        if trie.holds[node] or start < len(content):
            return content, other_of(content, start, contents)
    return None


def other_of(content: str, tail_start: int, contents: Sequence[str]) -> str:
    """What clashes first with a content of which the end from `tail_start` on begins another content."""
    known = {each for each in contents if each != content}
    lengths = sorted({len(each) for each in known})
    for start in range(min(tail_start + 1, len(content))):
        rest = content[start:]
        for length in lengths:
            if rest[:length] in known and length <= len(rest):
                return rest[:length]
    tail = content[tail_start:]
    return next(each for each in contents if each != content and each.startswith(tail))


class Trie:
    """The beginnings of all contents, as Aho and Corasick use them: a node for each, made in the order of their lengths.

    Attributes:
        ends: The node of each content.
        holds: For each node, whether its text contains a content and is longer than it.
    """

    def __init__(self, contents: Sequence[str]) -> None:
        from array import array  # slow to import

        self.next: dict[int, int] = {}  # by the node and the character behind it
        self.suffix = array("I", [0])  # the longest end of a node's text that is another node
        self.depth = array("H", [0])
        self.below = array("I", [0])  # how many contents are longer and begin with it
        self.known = bytearray(1)  # whether it ends as some content does
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
        """A new node: the text of `node` with a character behind it."""
        made, suffix = len(self.suffix), node
        found = 0
        while suffix and not found:
            suffix = self.suffix[suffix]
            found = self.next.get(suffix << 21 | char, 0)
        self.next[node << 21 | char] = made
        self.suffix.append(found)
        self.depth.append(self.depth[node] + 1)
        self.below.append(0)
        self.known.append(self.known[found])
        self.holds.append(self.holds[node] or self.known[node] or self.known[found])
        return made

    def tail_start(self, content: str, node: int) -> int:
        """Where the longest end of a content that begins a longer one starts; the content's own end if there is none."""
        while node := self.suffix[node]:
            start = len(content) - self.depth[node]
            own = self.below[node] == 1 and content.startswith(content[start:])
            if self.below[node] and not own:
                return start
        return len(content)
