"""Split patterns and sets of special tokens that take long to compile, to run, or to compare."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ...adapters._engine import installed
from ..attack import Attack, Call, require
from ..subjects import OURS, TIKTOKEN, TOKENIZERS, encoding, load, ranks
from .models import changed

THREE = (OURS, TIKTOKEN, TOKENIZERS)
BACKTRACKING = r"(?=(a|a)+?\1$)a|a|b"


def tokenizer(library: str, folder: Path, pattern: str, special: dict[str, int] | None = None) -> Any:
    """A library's tokenizer with a pattern of the caller, and its special tokens."""
    if library == OURS:
        toksmith = installed(OURS)
        return toksmith.load(folder / "small.tiktoken", pattern=pattern, special_tokens=special or {})
    if library == TIKTOKEN:
        return encoding(ranks(folder / "small.tiktoken"), pattern, special or {})
    tokenizers = installed(TOKENIZERS)
    tok = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    tok.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [split, tokenizers.pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    if special:
        tok.add_special_tokens([*special])
    return tok


def encoded(library: str, tok: Any, text: str) -> None:
    """Encodes a text and looks whether it comes back."""
    found = tok.encode(text)
    ids = found.ids if library == TOKENIZERS else found
    require(tok.decode(ids) == text, "the ids decode to another text")


def on_text(pattern: str, text: str, library: str, folder: Path) -> Iterator[Call]:
    """A pattern of the caller on a text."""
    yield lambda: encoded(library, tokenizer(library, folder, pattern), text)


def in_file(library: str, folder: Path) -> Iterator[Call]:
    """Patterns of a tokenizer.json, which Oniguruma goes through, on texts that make it go back again and again."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    for pattern, text in (
        (r"(?:a|a)+$", "a" * 40 + "b"),
        (r"(?:(?:a+)+)+$", "a" * 40 + "b"),
        (BACKTRACKING, "a" * 46_000),
    ):
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        path = changed(folder, pre_tokenizer={"type": "Sequence", "pretokenizers": [split, level]})
        yield lambda: encoded(library, load(library, path), text)  # noqa: B023 - called before the next


def interrupted(library: str, folder: Path) -> Iterator[Call]:
    """Ctrl-C after two seconds of the processor, while a pattern goes back again and again."""
    tok = tokenizer(library, folder, BACKTRACKING)

    def call() -> None:
        signal.signal(signal.SIGPROF, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_PROF, 2)
        encoded(library, tok, "a" * 46_000)

    yield call


def drawn(library: str, folder: Path) -> Iterator[Call]:
    """Patterns that are too long, too deep or too many times repeated, and some that are none."""
    patterns = [
        "a" * 100_000_000,
        "(" * 100_000 + "a" + ")" * 100_000,
        "(?:" * 5_000 + "a" + "){2}" * 5_000,
        r"((a{1,1000}){1,1000}){1,1000}",
        "|".join(rf"\p{{L}}{{{size}}}" for size in range(1, 400)),
        "[" + "a-z" * 100_000,
        "(?<" + "n" * 1_000_000 + ">a)",
        r"(a)\2",
        "(?=",
        "\\",
        "",
    ]
    for pattern in patterns:
        yield lambda: encoded(library, tokenizer(library, folder, pattern), "aab ab")  # noqa: B023 - called before the next


def many_specials(library: str, folder: Path) -> Iterator[Call]:
    """Special tokens that begin alike, and that are all to be compared with each other: first valid ones, then a clash."""
    allowed = {OURS: {"special": "allow"}, TIKTOKEN: {"allowed_special": "all"}, TOKENIZERS: {}}[library]
    alike = ["<" + letter * size + ">" for size in range(1, 251) for letter in "abcd"]
    for contents in (alike, [*alike, "x<a"]):
        special = {content: 1000 + place for place, content in enumerate(contents)}
        yield lambda: tokenizer(library, folder, r"\s+|\S+", special).encode("<aaa> b" * 1000, **allowed) and None  # noqa: B023 - called before the next


PATTERNS = (
    Attack(f"pattern `{BACKTRACKING}`, 46 kB of `a`", THREE, partial(on_text, BACKTRACKING, "a" * 46_000)),
    Attack("the same, and Ctrl-C after 2 s", THREE, interrupted),
    Attack("patterns of a tokenizer.json that backtrack heavily", (OURS, TOKENIZERS), in_file),
    Attack("patterns that are too long (100 MB), too deep or invalid", THREE, drawn),
    Attack("1,000 special tokens of 1 to 250 equal letters, without and with one that clashes", THREE, many_specials),
)
