r"""Translates a regex of the Rust dialect to Oniguruma, which HF tokenizers runs, or raises an error.

The dialects share most of their notation but not its meaning: in Oniguruma `^` and `$` match at lines, `{1,3}+` repeats
the group `{1,3}` instead of being possessive, `\w` and `\h` are other classes, and an empty match is a place to cut. So
notation that is known to mean the same passes, three spellings are translated or proven harmless, and everything else
raises an error that names its position.
"""

from __future__ import annotations

import re
from typing import NoReturn

from .._base.wording import quote_value

# Both engines agree on these properties for every code point; a test compares them.
PROPERTIES = ("L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "N", "P", "S", "Han")
CLASS_ESCAPES = "rntsSdD"
ESCAPE = re.compile(rf"\\(?:[{CLASS_ESCAPES}]|[pP]\{{(?:{'|'.join(PROPERTIES)})\}}|[!-/:;=?@\[-`{{-~])")
CLASS_CHAR = r"[^\[\]\\^-]"
CLASS = re.compile(rf"\[\^?(?:(?:{ESCAPE.pattern}|{CLASS_CHAR})(?:-{CLASS_CHAR})?|(?<!\[)(?<!\[\^)\^)+\]")
CLASS_OPERATOR = re.compile(r"&&|~~|--|\[:")
LITERAL = re.compile(r"[^\\^$.|?*+()\[\]{}]")
QUANTIFIER = re.compile(r"[?*+][?+]?|\{[0-9]{1,3}(?:,(?:[0-9]{1,3})?)?\}[?+]?")
GROUP = re.compile(r"\((?:\?(?:[:=!>]|i:))?")
LONGEST = 1 << 14  # characters; no engine runs a longer regex
DEEPEST = 64  # nested groups; neither engine accepts more
FOLDED = re.compile(r"[a-zA-Z'|\[\]()?:-]*")


class NotTranslatable(ValueError):
    """The meaning of a regex in Oniguruma is not known to be the same."""


def to_onig(pattern: str) -> str:
    r"""The regex with the same non-empty matches in Oniguruma.

    >>> to_onig(r"\p{N}{1,3}+|\s++$|\s")
    '\\p{N}{1,3}|\\s++$|\\s'
    """
    if len(pattern) > LONGEST:
        raise NotTranslatable(f"a regex can have at most {LONGEST} characters, not {len(pattern)}")
    reader = RegexTranslator(pattern)
    empty = reader.alternatives(0)
    if reader.at < len(pattern):
        reader.refuse("an unmatched ')'")
    if empty:
        raise NotTranslatable(
            f"{quote_value(pattern)} can match the empty text, and HF tokenizers cuts at empty matches"
        )
    return "".join(reader.out)


class RegexTranslator:
    """Reads a regex by recursive descent and writes the translation; rules return whether they can match the empty text."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0
        self.out: list[str] = []

    def refuse(self, what: str) -> NoReturn:
        """Raises NotTranslatable with the current position."""
        raise NotTranslatable(
            f"{what} at character {self.at} of {quote_value(self.pattern)} may have another meaning in Oniguruma"
        )

    def take(self, form: re.Pattern[str]) -> str:
        """The text that matches at the current position, which moves after it; "" if none matches."""
        match = form.match(self.pattern, self.at)
        text = match[0] if match else ""
        self.at += len(text)
        return text

    def ends(self, depth: int) -> bool:
        rest = self.pattern[self.at : self.at + 1]
        return rest in ("", "|") or (depth > 0 and rest == ")")

    def alternatives(self, depth: int) -> bool:
        """Branches separated by `|`."""
        empty = self.branch(depth)
        while self.pattern.startswith("|", self.at):
            self.at += 1
            self.out.append("|")
            empty = self.branch(depth) or empty
        return empty

    def branch(self, depth: int) -> bool:
        """Atoms with their quantifiers."""
        empty = True
        while not self.ends(depth):
            start = self.at
            atom_empty = self.atom(depth)
            quantifier = self.quantifier(depth, start)
            empty = empty and (atom_empty or quantifier[:1] in ("?", "*") or quantifier[:2] in ("{0", "{,"))
        return empty

    def atom(self, depth: int) -> bool:
        """A character, class or group."""
        text = self.take(ESCAPE) or self.take(LITERAL)
        if not text and self.pattern.startswith(".", self.at):
            self.at += 1
            text = "."
        if not text and (text := self.take(CLASS)) and (operator := CLASS_OPERATOR.search(text, 1)):
            self.at -= len(text)
            self.refuse(f"{operator[0]!r} in a class")
        if text:
            self.out.append(text)
            return False
        return self.group(depth)

    def group(self, depth: int) -> bool:
        """A group, with or without look-ahead."""
        start = self.at
        if depth >= DEEPEST:
            self.refuse(f"a group nested in {DEEPEST} others")
        opening = self.take(GROUP)
        if not opening or self.pattern.startswith("?", self.at):
            self.at = start
            self.refuse(repr(self.pattern[start : start + 4]))
        self.out.append(opening)
        first = self.at
        empty = self.alternatives(depth + 1)
        if opening == "(?i:" and not FOLDED.fullmatch(self.pattern, first, self.at):
            self.at = first
            self.refuse("ignoring case beyond ASCII letters")
        if not self.pattern.startswith(")", self.at):
            self.refuse("an unmatched '('")
        self.at += 1
        self.out.append(")")
        return empty or opening in ("(?=", "(?!")

    def quantifier(self, depth: int, start: int) -> str:
        """The quantifier of the atom that starts at `start`; "" if it has none."""
        text = self.take(QUANTIFIER)
        if text[:1] == "{" and text[-1] in "?+":
            # `{n,m}+` never backtracks; at the end of the regex nothing makes `{n,m}` backtrack, so both match the same.
            if text[-1] == "?" or depth > 0 or not self.ends(depth):
                self.at -= len(text)
                self.refuse(repr(text))
            self.out.append(text[:-1])
        else:
            self.out.append(text)
        if text and self.pattern[self.at : self.at + 1] in tuple("?*+{"):
            self.refuse("a second quantifier")
        if self.pattern[start : self.at] == r"\s++" and self.pattern.startswith("$", self.at):
            # `\s++` takes every line feed, so `$`, which Oniguruma also matches before line feeds, is the end of the text.
            self.at += 1
            self.out.append("$")
        return text
