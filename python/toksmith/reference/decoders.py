r"""The decoders of `docs/steps.md`: what makes the tokens of ids a text again. One row for each kind.

Each works on the list of tokens that the one before leaves; at the end they are joined. SentencePiece's own decoder is
`models.decode_characters`, and without any decoder the bytes of the tokens are the text (`reference.decode`).

>>> decoded(["▁lo", "w", "▁er"], [("metaspace", {"replacement": "▁", "drop_first": True})])
'low er'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import regex

from . import normalizers
from .names import listing
from .normalizers import BYTE_CHARACTERS, Options, Step
from .search import line_of, text

BYTE_OF = {char: byte for byte, char in BYTE_CHARACTERS.items()}
CLEANUP = {" .": ".", " ?": "?", " !": "!", " ,": ",", " ' ": "'", " n't": "n't", " 'm": "'m", " do not": " don't"}
CLEANUP |= {" 's": "'s", " 've": "'ve", " 're": "'re"}
Tokens = list[str]


def decoded(tokens: Sequence[str], steps: Sequence[Step]) -> str:
    """The text of tokens after all steps, each given as its kind and its options.

    >>> decoded(["a", "b"], [("spaced", {})])
    'a b'
    """
    found = [*tokens]
    for kind, options in steps:
        found = DECODERS[kind](found, options)
    return "".join(found)


def byte_characters(tokens: Tokens, _: Options) -> Tokens:
    """One token: the text of the bytes that characters of GPT-2's alphabet mean. A token with another character stays
    as it is.

    >>> byte_characters(["Ġa", "<｜b｜>", "Ã", "©"], {})
    [' a<｜b｜>é']
    """
    own = [bytes(map(BYTE_OF.__getitem__, token)) if {*token} <= {*BYTE_OF} else token.encode() for token in tokens]
    return [b"".join(own).decode(errors="replace")]


def byte_fallback(tokens: Tokens, _: Options) -> Tokens:
    r"""Tokens that are written like bytes: a run of them is one text, or a U+FFFD each where it is not UTF-8.

    >>> byte_fallback(["<0xC3>", "<0xa9>", "b", "<0xC3>", "<0xC3>"], {})
    ['é', 'b', '�', '�']
    """
    found: Tokens = []
    is_byte = regex.compile("<0x[0-9A-Fa-f]{2}>|<0x[+][0-9A-Fa-f]>").fullmatch  # a plus sign counts as a digit
    for run_of_bytes, run in groupby(tokens, lambda token: is_byte(token) is not None):
        all_run = [*run]
        if run_of_bytes:
            content = bytes(int(token[3:-1], 16) for token in all_run)
            try:
                all_run = [content.decode()]
            except UnicodeDecodeError:
                all_run = ["\ufffd"] * len(all_run)
        found += all_run
    return found


def replace(tokens: Tokens, options: Options) -> Tokens:
    """Replaces what is found in each token.

    >>> replace(["a▁", "▁"], {"pattern": "▁", "dialect": "literal", "content": " "})
    ['a ', ' ']
    """
    return [text(normalizers.replace(line_of(token), options)) for token in tokens]


def strip(tokens: Tokens, options: Options) -> Tokens:
    """Takes at most so many of a character away at the start and at the end of each token.

    >>> strip(["   a  ", " "], {"content": " ", "start": 2, "stop": 1})
    [' a ', '']
    """
    found = []
    for token in tokens:
        leading = len(token) - len(token.lstrip(options["content"]))
        token = token[min(leading, options["start"]) :]
        trailing = len(token) - len(token.rstrip(options["content"]))
        found.append(token[: len(token) - min(trailing, options["stop"])])
    return found


def metaspace(tokens: Tokens, options: Options) -> Tokens:
    """Makes spaces of a character; the first token loses all of it where `drop_first` says so.

    >>> metaspace(["▁a▁b", "▁c"], {"replacement": "▁", "drop_first": True})
    ['ab', ' c']
    """
    spaces = ["" if place == 0 and options["drop_first"] else " " for place in range(len(tokens))]
    return [token.replace(options["replacement"], space) for token, space in zip(tokens, spaces, strict=True)]


def word_end(tokens: Tokens, options: Options) -> Tokens:
    """Makes spaces of the mark that ends a word, and nothing in the last token.

    >>> word_end(["a</w>", "b</w>"], {"suffix": "</w>"})
    ['a ', 'b']
    """
    spaces = [" "] * (len(tokens) - 1) + [""] * bool(tokens)
    return [token.replace(options["suffix"], space) for token, space in zip(tokens, spaces, strict=True)]


def wordpiece(tokens: Tokens, options: Options) -> Tokens:
    """Joins tokens that continue a word, and puts a space before any other but the first.

    >>> wordpiece(["a", "##b", "c", "."], {"prefix": "##", "cleanup": True})
    ['a', 'b', ' c', '.']
    """
    prefix = options["prefix"]
    rest = [token[len(prefix) :] if token.startswith(prefix) else f" {token}" for token in tokens[1:]]
    return [cleaned(token) if options["cleanup"] else token for token in [*tokens[:1], *rest]]


def cleaned(token: str) -> str:
    """The token without spaces before punctuation and contractions.

    >>> cleaned(" do not"), cleaned(" .")
    (" don't", '.')
    """
    for before, after in CLEANUP.items():
        token = token.replace(before, after)
    return token


def ctc(tokens: Tokens, options: Options) -> Tokens:
    """What speech models need: of equal tokens in a row one stays, `pad` is nothing, and `delimiter` is a space.

    >>> ctc(["<pad>", "h", "h", "<pad>", "h", "|"], {"pad": "<pad>", "delimiter": "|", "cleanup": True})
    ['h', 'h', ' ']
    """
    shown = [token.replace(options["pad"], "") for token, _ in groupby(tokens)]
    if options["cleanup"]:
        shown = [cleaned(token).replace(options["delimiter"], " ") for token in shown]
    return [token for token in shown if token]


DECODERS: Mapping[str, Callable[[Tokens, Options], Tokens]] = {
    "byte_characters": byte_characters,
    "byte_fallback": byte_fallback,
    "ctc": ctc,
    "fuse": lambda tokens, _: ["".join(tokens)],
    "metaspace": metaspace,
    "replace": replace,
    "spaced": lambda tokens, _: [" " * (place > 0) + token for place, token in enumerate(tokens)],
    "strip": strip,
    "word_end": word_end,
    "wordpiece": wordpiece,
}


__dir__ = listing(__name__)
