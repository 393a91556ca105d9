"""Texts that are hard on an engine: long runs, random letters and digits, encoded data, minified JSON, Chinese.

A name is a kind and a size in bytes or characters: "equal_a-1000000". Equal names give equal texts.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterable

SEED = 20261120

EQUAL = {
    "equal_a": "a",
    "equal_space": " ",
    "equal_newline": "\n",
    "equal_digit": "7",
    "equal_dot": ".",
    "equal_underscore": "_",
    "equal_han": "的",
    "equal_mark": "\u0301",
    "equal_emoji": "\U0001f600",
}


def letters(size: int) -> str:
    """Random small letters without a space: one word."""
    return "".join(random.Random(SEED).choices(string.ascii_lowercase, k=size))


def digits(size: int) -> str:
    """Random digits without a space."""
    return "".join(random.Random(SEED).choices(string.digits, k=size))


def base64_line(size: int) -> str:
    """One line of base64."""
    return base64.b64encode(random.Random(SEED).randbytes(size * 3 // 4)).decode("ascii")[:size]


def minified_json(size: int) -> str:
    """JSON without spaces, cut at `size`."""
    draw = random.Random(SEED)
    rows = []
    total = 0
    while total < size:
        row = json.dumps(
            {
                "id": draw.randrange(10**9),
                "uuid": draw.randbytes(16).hex(),
                "score": draw.random(),
                "tags": draw.choices(("alpha", "beta", "gamma", "delta"), k=3),
                "active": draw.random() < 0.5,
                "parent": None,
            },
            separators=(",", ":"),
        )
        rows.append(row)
        total += len(row) + 1
    return ("[" + ",".join(rows) + "]")[:size]


def chinese_run(documents: Iterable[str], size: int) -> str:
    """Only the Chinese characters of documents, repeated up to `size`."""
    han = "".join(character for text in documents for character in text if "\u4e00" <= character <= "\u9fff")
    return (han * (size // max(len(han), 1) + 1))[:size]


DRAWN: dict[str, Callable[[int], str]] = {
    "random_letters": letters,
    "random_digits": digits,
    "base64_line": base64_line,
    "minified_json": minified_json,
}
KINDS = (*EQUAL, *DRAWN)
UNBROKEN = "chinese_letters"  # needs a corpus, so `texts` builds it
EVERY = (*KINDS, UNBROKEN)

# The kinds that every pattern of the benchmark keeps in one piece; tiktoken's regex engine gives up on some of them.
ONE_PIECE = frozenset({"equal_a", "equal_space", "equal_newline", "equal_dot", "equal_han", "random_letters", UNBROKEN})


def text(name: str) -> str:
    """The text with a name."""
    kind, _, size = name.rpartition("-")
    return EQUAL[kind] * int(size) if kind in EQUAL else DRAWN[kind](int(size))
