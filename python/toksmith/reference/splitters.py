r"""The splitters of `docs/steps.md`, which cut a text into pieces. One row for each kind.

Each step works on every piece of the previous step. Most steps only cut; some also drop or rewrite a part.

>>> [text(piece) for piece in pieces(line_of("it's 42"), [("bert", {}), ("digits", {"individual": True})])]
['it', "'", 's', '4', '2']
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import regex

from .names import listing
from .normalizers import Options, Step, byte_characters, each
from .search import WHITE_SPACE, Line, cut, line_of, spans, spans_of, text
from .unicode9 import category, script

__all__ = ["SPLITTERS", "is_punctuation", "line_of", "pieces", "text"]

WORDS = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"  # `\w`


def pieces(line: Line, steps: Sequence[Step]) -> list[Line]:
    """The pieces of a line after all steps, each given as its kind and its options; none is empty.

    >>> pieces(line_of("  "), [("whitespace_split", {})])
    []
    """
    lines = [line]
    for kind, options in steps:
        lines = [new for piece in lines if piece for new in SPLITTERS[kind](piece, options)]
    return [piece for piece in lines if piece]


def is_punctuation(char: str) -> bool:
    """Whether a character is punctuation, or a symbol of ASCII.

    >>> is_punctuation("$"), is_punctuation("¿"), is_punctuation("€")
    (True, True, False)
    """
    return char in string.punctuation or category(char, 8)[0] == "P"


def split_by_search(line: Line, options: Options) -> list[Line]:
    r"""Cuts at a regex, or at a text (`literal`).

    >>> options = {"pattern": r"\d", "dialect": "rust", "behavior": "merged_with_next", "invert": False}
    >>> [text(piece) for piece in split_by_search(line_of("a1b2"), options)]
    ['a', '1b', '2']
    """
    matches = spans(options["pattern"], options.get("dialect", "literal"), line)
    return cut(line, matches, options["behavior"], options["invert"])


def characters(is_sought: Callable[[str], bool], behavior: str) -> Callable[[Line, Options], list[Line]]:
    """Cuts at characters of a kind.

    >>> [text(piece) for piece in characters(str.isdigit, "removed")(line_of("a1b"), {})]
    ['a', 'b']
    """
    return lambda line, _: cut(line, spans_of(is_sought, line), behavior)


def digits(line: Line, options: Options) -> list[Line]:
    """Cuts numbers out, whole or one by one.

    >>> [text(piece) for piece in digits(line_of("a½2"), {"individual": False})]
    ['a', '½2']
    """
    matches = spans_of(lambda char: bool(regex.match(r"\p{N}", char)), line)
    return cut(line, matches, "isolated" if options["individual"] else "contiguous")


def fixed_length(line: Line, options: Options) -> list[Line]:
    """Cuts into pieces of `length` characters.

    >>> [text(piece) for piece in fixed_length(line_of("abcde"), {"length": 2})]
    ['ab', 'cd', 'e']
    """
    return [line[at : at + options["length"]] for at in range(0, len(line), options["length"])]


def unicode_scripts(line: Line, _: Options) -> list[Line]:
    """Cuts where the script changes. Characters without a script join the piece before them; at the start they are dropped.

    >>> [text(piece) for piece in unicode_scripts(line_of(" ab д日か 1"), {})]
    ['ab ', 'д', '日か ', '1']
    """
    scripts = [(at, script(char)) for at, (char, _) in enumerate(line) if script(char) is not None]
    starts = [at for number, (at, name) in enumerate(scripts) if number == 0 or scripts[number - 1][1] != name]
    return [line[start:end] for start, end in pairwise([*starts, len(line)])]


def metaspace(line: Line, options: Options) -> list[Line]:
    """Writes spaces as another character, puts one before pieces that do not start with it (`always` before all, `first`
    before the piece at the start of the text), and cuts before each if `split` is set.

    >>> options = {"replacement": "▁", "prepend": "always", "split": True}
    >>> [text(piece) for piece in metaspace(line_of("a  b"), options)]
    ['▁a', '▁', '▁b']
    >>> [text(piece) for piece in metaspace(line_of("b", 3), options | {"prepend": "first"})]
    ['b']
    """
    mark = options["replacement"]
    line = each(line, lambda char: mark if char == " " else char)
    due = options["prepend"] == "always" or (options["prepend"] == "first" and line[0][1] == 0)
    if due and line[0][0] != mark:
        line = [(mark, line[0][1]), *line]
    return cut(line, spans(mark, "literal", line), "merged_with_next") if options["split"] else [line]


def prefix_space(line: Line, _: Options) -> list[Line]:
    """Puts a space before a piece that does not start with one.

    >>> [text(piece) for piece in prefix_space(line_of("a"), {})]
    [' a']
    """
    return [line if line[0][0] == " " else [(" ", line[0][1]), *line]]


def split_bert(line: Line, _: Options) -> list[Line]:
    """Cuts at white space and drops it, and makes each punctuation character a piece.

    >>> [text(piece) for piece in split_bert(line_of("a b!?"), {})]
    ['a', 'b', '!', '?']
    """
    words = characters(WHITE_SPACE.__contains__, "removed")(line, {})
    return [piece for word in words for piece in characters(is_punctuation, "isolated")(word, {})]


SPLITTERS: Mapping[str, Callable[[Line, Options], list[Line]]] = {
    "bert": split_bert,
    "byte_characters": lambda line, _: [each(line, byte_characters)],
    "delimiter": lambda line, options: characters(options["delimiter"].__eq__, "removed")(line, {}),
    "digits": digits,
    "fixed_length": fixed_length,
    "literal": split_by_search,
    "metaspace": metaspace,
    "prefix_space": prefix_space,
    "punctuation": lambda line, options: characters(is_punctuation, options["behavior"])(line, {}),
    "regex": split_by_search,
    "unicode_scripts": unicode_scripts,
    "whitespace": lambda line, _: cut(line, spans(rf"{WORDS}+|[^{WORDS}\s]+", "rust", line), "removed", invert=True),
    "whitespace_split": characters(WHITE_SPACE.__contains__, "removed"),
}


__dir__ = listing(__name__)
