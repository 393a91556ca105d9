r"""The normalizers of `docs/steps.md`, which rewrite a text before it is split. One row for each kind.

SentencePiece's own normalizer is `models.normalize`. The table of `precompiled` is a mapping here; its compiled form in
files is left out. `lowercase` follows the Unicode tables of Python, and grapheme clusters those of `regex`.

>>> text(normalize_line(line_of("ÀB"), [("nfd", {}), ("strip_accents", {}), ("lowercase", {})]))
'ab'
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import regex

from .names import listing
from .search import WHITE_SPACE, Line, line_of, spans, text
from .unicode9 import category, is_in

__all__ = [
    "BYTE_CHARACTERS",
    "NORMALIZERS",
    "Options",
    "Step",
    "byte_characters",
    "each",
    "line_of",
    "normalize_line",
    "replace",
]

Options = Mapping[str, Any]
Step = tuple[str, Options]

SHOWN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
HIDDEN = [byte for byte in range(256) if byte not in SHOWN]
BYTE_CHARACTERS = {byte: chr(byte) for byte in SHOWN} | {byte: chr(256 + at) for at, byte in enumerate(HIDDEN)}
CHINESE = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F)),
    *((0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)
NMT_REMOVED = {*range(1, 9), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F}
NMT_SPACES = {9, 0x0A, 0x0C, 0x0D, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD}


def normalize_line(line: Line, steps: Sequence[Step]) -> Line:
    """The line after all steps, each given as its kind and its options.

    >>> text(normalize_line(line_of(" a "), [("strip", {"left": True, "right": False}), ("prepend", {"prepend": "_"})]))
    '_a '
    """
    for kind, options in steps:
        line = NORMALIZERS[kind](line, options)
    return line


def each(line: Line, becomes: Callable[[str], str]) -> Line:
    """The line with each character replaced by others, which keep its place in the source.

    >>> each([("a", 0), ("b", 1)], {"a": "xy", "b": ""}.__getitem__)
    [('x', 0), ('y', 0)]
    """
    return [(new, place) for char, place in line for new in becomes(char)]


def rewritten(line: Line, new: str) -> Line:
    """The line with a new text: each character takes the place of its counterpart, and surplus ones the last place.

    >>> rewritten([("a", 0), ("b", 1)], "xyz")
    [('x', 0), ('y', 1), ('z', 1)]
    """
    return [(char, line[min(at, len(line) - 1)][1]) for at, char in enumerate(new)]


def form(name: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> Callable[[Line, Options], Line]:
    r"""One of Unicode's normalization forms. A character newer than Unicode 9 stays, and nothing composes across it.

    >>> form("NFC")([("e", 0), ("\u0301", 1), ("x", 3)], {})
    [('é', 0), ('x', 3)]
    """

    def normal(part: str) -> str:
        if not part:
            return ""
        newer = next((at for at, char in enumerate(part) if not is_in(char)), len(part))
        return unicodedata.normalize(name, part[:newer]) + part[newer : newer + 1] + normal(part[newer + 1 :])

    def step(line: Line, _: Options) -> Line:
        whole, start = text(line), 0
        characters: list[tuple[str, int]] = []
        for end in range(1, len(whole) + 1):  # finds each stretch that normalizes independently of the rest
            if normal(whole[:end]) + normal(whole[end:]) == normal(whole):
                characters += rewritten(line[start:end], normal(whole[:end])[len(normal(whole[:start])) :])
                start = end
        return characters

    return step


def strip(line: Line, options: Options) -> Line:
    r"""Removes white space at the ends.

    >>> text(strip(line_of("\u3000a "), {"left": True, "right": True}))
    'a'
    """
    places = [at for at, (char, _) in enumerate(line) if char not in WHITE_SPACE] or [len(line), -1]
    if places[-1] < 0 and (options["left"] or options["right"]):
        return []
    start, end = places[0] if options["left"] else 0, places[-1] + 1 if options["right"] else len(line)
    return line[start:end]


def replace(line: Line, options: Options) -> Line:
    """Replaces each match by `content`, which takes the place of the match's last character.

    >>> text(replace(line_of("abc"), {"pattern": "b|$", "dialect": "onig", "content": "-"}))
    'a-c-'
    """
    characters: list[tuple[str, int]] = []
    end = 0
    for start, stop in spans(options["pattern"], options["dialect"], line):
        place = line[stop - 1][1] if stop else line[0][1]
        characters += [*line[end:start], *((char, place) for char in options["content"])]
        end = stop
    return [*characters, *line[end:]]


def prepend(line: Line, options: Options) -> Line:
    """Puts a text before a line that is not empty.

    >>> text(prepend(line_of("a"), {"prepend": "_"})), prepend([], {"prepend": "_"})
    ('_a', [])
    """
    return [*((char, line[0][1]) for char in options["prepend"]), *line] if line else []


def precompiled(line: Line, options: Options) -> Line:
    r"""SentencePiece's compiled table as HF uses it. A grapheme cluster of at most 5 bytes that starts with a key becomes the
    value of the shortest such key, as a whole; in any other cluster, each character is looked up alone.

    >>> text(precompiled(line_of("①e\u0301e\u0302"), {"charsmap": {"①": "1", "e": "E", "e\u0301": "é"}}))
    '1EE'
    """
    charsmap: Mapping[str, str] = options["charsmap"]

    def value_of(part: str) -> str | None:
        return next((charsmap[part[:end]] for end in range(1, len(part) + 1) if part[:end] in charsmap), None)

    characters: list[tuple[str, int]] = []
    for cluster in regex.finditer(r"\X", text(line)):
        part_of_line = line[cluster.start() : cluster.end()]
        new = value_of(text(part_of_line)) if len(text(part_of_line).encode()) < 6 else None
        for part in [part_of_line] if new is not None else [[char] for char in part_of_line]:
            other = value_of(text(part))
            characters += rewritten(part, text(part) if other is None else other)
    return characters


def normalize_bert(line: Line, options: Options) -> Line:
    r"""BERT's normalizer: cleans, puts spaces around Chinese characters, removes accents and lowercases.

    >>> usual = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    >>> text(normalize_bert(line_of("É中\t"), usual))
    'e 中  '
    """
    if options["clean_text"]:
        line = each(line, clean)
    if options["handle_chinese_chars"]:
        line = each(
            line, lambda char: f" {char} " if any(first <= ord(char) <= last for first, last in CHINESE) else char
        )
    accents = options["strip_accents"]
    if options["lowercase"] if accents is None else accents:
        line = each(form("NFD")(line, {}), lambda char: "" if category(char, 8) == "Mn" else char)
    return each(line, str.lower) if options["lowercase"] else line


def clean(char: str) -> str:
    r"""A character as BERT cleans it: controls are removed, and white space becomes a space.

    >>> clean("a"), clean("\n"), clean("\u3000"), clean("\0"), clean("\u200b")
    ('a', ' ', ' ', '', '')
    """
    if char in "\0\ufffd" or (char not in "\t\n\r" and category(char, 8) in ("Cc", "Cf", "Co")):
        return ""
    return " " if char in WHITE_SPACE else char


def nmt(char: str) -> str:
    r"""A character after the normalizer `nmt`: controls are removed, and special spaces become a space.

    >>> nmt("a"), nmt("\x01"), nmt("\u200b"), nmt("\u3000")
    ('a', '', ' ', '\u3000')
    """
    return "" if ord(char) in NMT_REMOVED else " " if ord(char) in NMT_SPACES else char


def byte_characters(char: str) -> str:
    """A character's bytes as characters of GPT-2's alphabet.

    >>> byte_characters("é"), byte_characters(" ")
    ('Ã©', 'Ġ')
    """
    return "".join(BYTE_CHARACTERS[byte] for byte in char.encode())


NORMALIZERS: Mapping[str, Callable[[Line, Options], Line]] = {
    "bert": normalize_bert,
    "byte_characters": lambda line, _: each(line, byte_characters),
    "lowercase": lambda line, _: each(line, str.lower),
    "nfc": form("NFC"),
    "nfd": form("NFD"),
    "nfkc": form("NFKC"),
    "nfkd": form("NFKD"),
    "nmt": lambda line, _: each(line, nmt),
    "precompiled": precompiled,
    "prepend": prepend,
    "replace": replace,
    "strip": strip,
    "strip_accents": lambda line, _: each(line, lambda char: "" if category(char)[0] == "M" else char),
}


__dir__ = listing(__name__)
