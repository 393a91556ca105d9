r"""The decoders of `docs/steps.md`, which turn tokens back into a text. One row for each kind.

Each step works on the list of tokens from the previous step; at the end they are joined. SentencePiece's own decoder is
`models.decode_characters`; without any decoder the text is the bytes of the tokens (`reference.decode`).

>>> decode_tokens(["▁lo", "w", "▁er"], [("metaspace", {"replacement": "▁", "drop_first": True})])
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


def decode_tokens(tokens: Sequence[str], steps: Sequence[Step]) -> str:
    """The text of tokens after all steps, each given as its kind and its options.

    >>> decode_tokens(["a", "b"], [("spaced", {})])
    'a b'
    """
    texts = [*tokens]
    for kind, options in steps:
        texts = DECODERS[kind](texts, options)
    return "".join(texts)


def byte_characters(tokens: Tokens, _: Options) -> Tokens:
    """One token: the text of the bytes that characters of GPT-2's alphabet stand for. A token with another character
    stays unchanged.

    >>> byte_characters(["Ġa", "<｜b｜>", "Ã", "©"], {})
    [' a<｜b｜>é']
    """
    parts = [bytes(map(BYTE_OF.__getitem__, token)) if {*token} <= {*BYTE_OF} else token.encode() for token in tokens]
    return [b"".join(parts).decode(errors="replace")]


def byte_fallback(tokens: Tokens, _: Options) -> Tokens:
    r"""Decodes byte tokens (`<0x41>`): a run of them becomes one text, or a U+FFFD each if it is not UTF-8.

    >>> byte_fallback(["<0xC3>", "<0xa9>", "b", "<0xC3>", "<0xC3>"], {})
    ['é', 'b', '�', '�']
    """
    texts: Tokens = []
    is_byte = regex.compile("<0x[0-9A-Fa-f]{2}>|<0x[+][0-9A-Fa-f]>").fullmatch  # a plus sign counts as a digit
    for run_of_bytes, run in groupby(tokens, lambda token: is_byte(token) is not None):
        all_run = [*run]
        if run_of_bytes:
            content = bytes(int(token[3:-1], 16) for token in all_run)
            try:
                all_run = [content.decode()]
            except UnicodeDecodeError:
                all_run = ["\ufffd"] * len(all_run)
        texts += all_run
    return texts


def replace(tokens: Tokens, options: Options) -> Tokens:
    """Replaces each match in each token.

    >>> replace(["a▁", "▁"], {"pattern": "▁", "dialect": "literal", "content": " "})
    ['a ', ' ']
    """
    return [text(normalizers.replace(line_of(token), options)) for token in tokens]


def strip(tokens: Tokens, options: Options) -> Tokens:
    """Removes at most `start` and `stop` copies of a character at the start and at the end of each token.

    >>> strip(["   a  ", " "], {"content": " ", "start": 2, "stop": 1})
    [' a ', '']
    """
    texts = []
    for token in tokens:
        leading = len(token) - len(token.lstrip(options["content"]))
        token = token[min(leading, options["start"]) :]
        trailing = len(token) - len(token.rstrip(options["content"]))
        texts.append(token[: len(token) - min(trailing, options["stop"])])
    return texts


def metaspace(tokens: Tokens, options: Options) -> Tokens:
    """Replaces a character by a space; in the first token by nothing if `drop_first` is set.

    >>> metaspace(["▁a▁b", "▁c"], {"replacement": "▁", "drop_first": True})
    ['ab', ' c']
    """
    spaces = ["" if place == 0 and options["drop_first"] else " " for place in range(len(tokens))]
    return [token.replace(options["replacement"], space) for token, space in zip(tokens, spaces, strict=True)]


def word_end(tokens: Tokens, options: Options) -> Tokens:
    """Replaces the mark that ends a word by a space; in the last token by nothing.

    >>> word_end(["a</w>", "b</w>"], {"suffix": "</w>"})
    ['a ', 'b']
    """
    spaces = [" "] * (len(tokens) - 1) + [""] * bool(tokens)
    return [token.replace(options["suffix"], space) for token, space in zip(tokens, spaces, strict=True)]


def wordpiece(tokens: Tokens, options: Options) -> Tokens:
    """Joins tokens that continue a word, and puts a space before every other token except the first.

    >>> wordpiece(["a", "##b", "c", "."], {"prefix": "##", "cleanup": True})
    ['a', 'b', ' c', '.']
    """
    prefix = options["prefix"]
    rest = [token[len(prefix) :] if token.startswith(prefix) else f" {token}" for token in tokens[1:]]
    return [clean_token(token) if options["cleanup"] else token for token in [*tokens[:1], *rest]]


def clean_token(token: str) -> str:
    """The token without spaces before punctuation and contractions.

    >>> clean_token(" do not"), clean_token(" .")
    (" don't", '.')
    """
    for before, after in CLEANUP.items():
        token = token.replace(before, after)
    return token


def ctc(tokens: Tokens, options: Options) -> Tokens:
    """Decodes speech models: a run of equal tokens becomes one, `pad` is removed, and `delimiter` becomes a space.

    >>> ctc(["<pad>", "h", "h", "<pad>", "h", "|"], {"pad": "<pad>", "delimiter": "|", "cleanup": True})
    ['h', 'h', ' ']
    """
    texts = [token.replace(options["pad"], "") for token, _ in groupby(tokens)]
    if options["cleanup"]:
        texts = [clean_token(token).replace(options["delimiter"], " ") for token in texts]
    return [token for token in texts if token]


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
