"""Texts: long, repetitive, invalid, and random."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ..attack import SECONDS_LONG, SEED, Attack, Call, require
from ..subjects import LIBRARIES, OURS, SENTENCEPIECE, Subject, small_subject

LONG = 10_000_000
MARKS = "".join(chr(code) for code in range(0x300, 0x370))
ALPHABET = [
    *"aZ0 \t\n\r'-.,_\0",
    "\x85",
    "\xa0",
    "é",
    "ß",
    "İ",
    "\u0301",
    "\u200d",
    "中",
    "한",
    "\ufeff",
    "\U0001f468",
    "\U0010ffff",
    "<|end|>",
    "\ufffd",
]


def check_round_trip(subject: Subject, text: Any, due: str | None) -> str:
    """Encode a text; with a byte-level vocabulary, check that the ids decode to it."""
    ids = subject.encode(text)
    if due is not None and subject.library != SENTENCEPIECE:  # its models rewrite white space by design
        require(subject.decode(ids) == due, "the ids decode to another text")
    return "ids"


def unassigned() -> str:
    """Characters that Unicode does not assign."""
    codes = (chr(code) for code in range(0x40000, sys.maxunicode))
    return "".join(islice((char for char in codes if unicodedata.category(char) == "Cn"), 250_000))


def single_text(make: Callable[[], str], library: str, folder: Path) -> Iterator[Call]:
    """A single text."""
    subject = small_subject(library, folder)

    def call() -> str:
        text = make()
        return check_round_trip(subject, text, text)

    yield call


def surrogates(library: str, folder: Path) -> Iterator[Call]:
    """Lone surrogates, which Python's str can contain and UTF-8 cannot."""
    subject = small_subject(library, folder)
    for text in ("\ud800", "a\udc80b", "\udc00\ud800", "\ud83d\ude00", "\ud800" * 100_000, "x\ud800<|end|>\udfff"):
        # A pair becomes its character, and half of one becomes U+FFFD.
        due = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        yield lambda: check_round_trip(subject, text, due)  # noqa: B023 - called before the next


def invalid_utf8(library: str, folder: Path) -> Iterator[Call]:
    """Bytes that are not UTF-8."""
    subject = small_subject(library, folder)
    draw = random.Random(SEED)
    for data in (
        b"\xff",
        b"lo\xffw",
        b"\xe4\xb8",
        b"\xed\xa0\x80",
        b"\xc0\x80" * 1000,
        *(draw.randbytes(200) for _ in range(500)),
    ):
        yield lambda: check_round_trip(subject, data, data.decode("utf-8", "replace"))  # noqa: B023 - called before the next


def random_texts(library: str, folder: Path) -> Iterator[Call]:
    """2,000 random texts that are hard to split."""
    subject = small_subject(library, folder)
    draw = random.Random(SEED)
    for _ in range(2_000):
        text = "".join(draw.choices(ALPHABET, k=draw.randrange(200)))
        yield lambda: check_round_trip(subject, text, text)  # noqa: B023 - called before the next


WHOLE: dict[str, Callable[[], str]] = {
    "10 MB of `a`": lambda: "a" * LONG,
    "10 MB of spaces": lambda: " " * LONG,
    "10 MB of line ends": lambda: "\n" * LONG,
    "10 MB of alternating `a` and line end": lambda: "a\n" * (LONG // 2),
    "10 MB of digits": lambda: "7" * LONG,
    "10 MB of `的`, without a space": lambda: "的" * (LONG // 3),
    "1 MB of NUL": lambda: "\0" * 1_000_000,
    "1 MB of combining marks on one letter": lambda: "a" + MARKS * (500_000 // len(MARKS)),
    "1 MB of unassigned code points": unassigned,
    "1 MB of U+FDFA, which NFKC makes 11 times as long": lambda: "\ufdfa" * 333_000,
}
TEXTS = (
    *(
        Attack(f"text: {name}", LIBRARIES, partial(single_text, make), seconds=SECONDS_LONG)
        for name, make in WHOLE.items()
    ),
    Attack("text: lone surrogates", LIBRARIES, surrogates),
    Attack("text: bytes that are not UTF-8", (OURS, SENTENCEPIECE), invalid_utf8),
    Attack("texts: random strings of 24 hard characters", LIBRARIES, random_texts),
)
