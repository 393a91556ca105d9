"""The results of the library that the page shows, each a call with checked arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import toksmith
from toksmith import explain
from toksmith._render import Shown

from .asked import Asked
from .windows import compared

__all__ = [
    "doctor",
    "history",
    "lengths",
    "lint",
    "merges",
    "parity",
    "pieces",
    "prompt",
    "repair",
    "search",
    "specials",
    "tree",
]


def repair(asked: Asked) -> dict[str, Any]:
    """The text with findings of the lint repaired."""
    return {"text": explain.lint(asked.tok, asked.text).repaired(*asked.strings("names"))}


def pieces(asked: Asked) -> Shown:
    """One tokenizer on the text, or several compared."""
    if len(asked.names) > 1:
        return compared(asked)
    return explain.pieces(asked.tok, asked.text, special=asked.special)


def parity(asked: Asked) -> Shown:
    """What the same text costs in each language: the playground's own texts, or `lines` of `name: text`."""
    lines = asked.strings("lines")
    texts = dict(own_texts(lines)) if lines else asked.session.texts
    return toksmith.parity(asked.tok, texts)


def own_texts(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        name, colon, text = line.partition(":")
        if not colon or not name.strip():
            raise toksmith.InvalidOption(f"line {number}", line[:40], "a language, a colon and a text in that language")
        yield name.strip(), text.strip()


def prompt(asked: Asked) -> Shown:
    """The text up to `end` characters as a prompt."""
    text = asked.text
    end = asked.number("end", len(text), most=len(text))
    return explain.prompt(asked.tok, text, end, special=asked.special)


def doctor(asked: Asked) -> Shown:
    """What is wrong with the tokenizer."""
    tok = asked.tok
    return asked.once("doctor", tok.fingerprint, lambda: toksmith.doctor(tok))


def merges(asked: Asked) -> Shown:
    """One piece, merge by merge."""
    return explain.merges(asked.tok, asked.string("piece"))


def tree(asked: Asked) -> Shown:
    """What a token was merged from, and what is built from it."""
    return explain.tree(asked.tok, asked.number("id"))


def history(asked: Asked) -> Shown:
    """How a token came to be in training."""
    return explain.history(asked.tok, asked.number("id"))


def lint(asked: Asked) -> Shown:
    """What in the text costs tokens without being seen."""
    return explain.lint(asked.tok, asked.text)


def specials(asked: Asked) -> Shown:
    """The special tokens in the text, as each of the three ways takes them."""
    return explain.specials(asked.tok, asked.text)


def search(asked: Asked) -> Shown:
    """Tokens by text, bytes or id."""
    by: Any = asked.string("by", "text")
    return explain.search(asked.tok, asked.string("query"), by=by, most=200)


def lengths(asked: Asked) -> Shown:
    """How many tokens have each length."""
    return explain.lengths(asked.toks)
