"""Split patterns and sets of special tokens that are slow to compile, to run, or to compare."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ...adapters._engine import import_peer
from ..attack import Attack, Call, require
from ..subjects import OURS, TIKTOKEN, TOKENIZERS, encoding, load, ranks
from .models import changed_json

THREE = (OURS, TIKTOKEN, TOKENIZERS)
BACKTRACKING = r"(?=(a|a)+?\1$)a|a|b"


def tokenizer(library: str, folder: Path, pattern: str, special: dict[str, int] | None = None) -> Any:
    """A library's tokenizer with the caller's pattern and special tokens."""
    if library == OURS:
        toksmith = import_peer(OURS)
        return toksmith.load(folder / "small.tiktoken", pattern=pattern, special_tokens=special or {})
    if library == TIKTOKEN:
        return encoding(ranks(folder / "small.tiktoken"), pattern, special or {})
    tokenizers = import_peer(TOKENIZERS)
    tok = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    tok.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [split, tokenizers.pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    if special:
        tok.add_special_tokens([*special])
    return tok


def check_round_trip(library: str, tok: Any, text: str) -> None:
    """Encode a text, and check that it decodes to itself."""
    result = tok.encode(text)
    ids = result.ids if library == TOKENIZERS else result
    require(tok.decode(ids) == text, "the ids decode to another text")


def on_text(pattern: str, text: str, library: str, folder: Path) -> Iterator[Call]:
    """A caller's pattern on a text."""
    yield lambda: check_round_trip(library, tokenizer(library, folder, pattern), text)


def in_file(library: str, folder: Path) -> Iterator[Call]:
    """Patterns of a tokenizer.json, which Oniguruma runs, on texts that make it backtrack again and again."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    for pattern, text in (
        (r"(?:a|a)+$", "a" * 40 + "b"),
        (r"(?:(?:a+)+)+$", "a" * 40 + "b"),
        (BACKTRACKING, "a" * 46_000),
    ):
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        path = changed_json(folder, pre_tokenizer={"type": "Sequence", "pretokenizers": [split, level]})
        yield lambda: check_round_trip(library, load(library, path), text)  # noqa: B023 - called before the next


def interrupted_pattern(library: str, folder: Path) -> Iterator[Call]:
    """Ctrl-C after two seconds of processor time, while a pattern backtracks."""
    tok = tokenizer(library, folder, BACKTRACKING)

    def call() -> None:
        signal.signal(signal.SIGPROF, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_PROF, 2)
        check_round_trip(library, tok, "a" * 46_000)

    yield call


def invalid_patterns(library: str, folder: Path) -> Iterator[Call]:
    """Patterns that are too long, too deep or too often repeated, and some invalid ones."""
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
        yield lambda: check_round_trip(library, tokenizer(library, folder, pattern), "aab ab")  # noqa: B023 - called before the next


def many_specials(library: str, folder: Path) -> Iterator[Call]:
    """Special tokens with a common beginning, all compared with each other: first valid ones, then a clash."""
    allowed = {OURS: {"special": "allow"}, TIKTOKEN: {"allowed_special": "all"}, TOKENIZERS: {}}[library]
    alike = ["<" + letter * size + ">" for size in range(1, 251) for letter in "abcd"]
    for contents in (alike, [*alike, "x<a"]):
        special = {content: 1000 + place for place, content in enumerate(contents)}
        yield lambda: tokenizer(library, folder, r"\s+|\S+", special).encode("<aaa> b" * 1000, **allowed) and None  # noqa: B023 - called before the next


PATTERNS = (
    Attack(f"pattern `{BACKTRACKING}`, 46 kB of `a`", THREE, partial(on_text, BACKTRACKING, "a" * 46_000)),
    Attack("the same, and Ctrl-C after 2 s", THREE, interrupted_pattern),
    Attack("patterns of a tokenizer.json that backtrack heavily", (OURS, TOKENIZERS), in_file),
    Attack("patterns that are too long (100 MB), too deep or invalid", THREE, invalid_patterns),
    Attack("1,000 special tokens of 1 to 250 equal letters, without and with one that clashes", THREE, many_specials),
)
