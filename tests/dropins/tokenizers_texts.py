"""Texts, words, ids and tokens for the cases of `toksmith.compat.tokenizers`."""

import random
from collections.abc import Sequence

from hard_texts import FRAGMENTS, HARD_TEXTS, WHITE_SPACE

MARKS = ("[UNK]", "<s>", "</s>", "<mask>", "New York", "é", "ing", " x ", "ﬁ", "E\u0301")
PARTS = (
    *FRAGMENTS,
    *MARKS,
    *(
        "low",
        "lower",
        "lowest",
        "newest",
        "wide",
        "the ",
        "hello",
        " world",
        "Hello",
        "HEY",
        "a",
        "b",
        "ab",
        "abc",
        "##a",
        "▁",
    ),
    *(
        "e\u0301",
        "E\u0301\u0323",
        "\u0301",
        "na\u00efve",
        "ﬁ",
        "ﬃ",
        "½",
        "Å",
        "Å",
        "①",
        "㍿",
        "İ",
        "ı",
        "ẞ",
        "ß",
        "ǆ",
        "ΑΣ",
        "Σ",
    ),
    *(
        "\u1100\u1161\u11a8",
        "각",
        "힣",
        "\u0958",
        "\u0915\u093c",
        "ﷺ",
        "ﾊﾞ",
        "カ\u3099",
        "漢",
        "字",
        "你好",
        "\U0002f800",
    ),
    *("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\xad", "\x01", "\x7f", "\x85", "\xa0", "\ufffd", "\u2028"),
    *("👩‍👩‍👧‍👦", "👍🏽", "🏳️‍🌈", "🇩🇪", "1️⃣", "0", "12", "3.14", "x_y", "don't", "…", "—", "«", "$", "+", "|", "  ", " "),
    *("<0x41>", "<0xC3>", "Ġ", "Ċ", "</w>", "#", "Привет", "שלום", "ไทย", "नमस्ते"),
)
LONE = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in HARD_TEXTS.values()]
HARD = [text for text in LONE if len(text) < 60]


def text(rng: random.Random) -> str:
    """A text of hard parts."""
    kind = rng.random()
    if kind < 0.05:
        return rng.choice(HARD)
    if kind < 0.08:
        return rng.choice(WHITE_SPACE) * rng.randint(0, 3)
    joined = "".join(
        rng.choice(PARTS) + rng.choice(("", "", " ", "")) for _ in range(rng.choice((0, 1, 1, 2, 3, 4, 6, 9)))
    )
    return joined[:80]


def words(rng: random.Random) -> list[str]:
    """Words from an earlier split."""
    return [rng.choice(PARTS) if rng.random() < 0.9 else text(rng)[:20] for _ in range(rng.randint(0, 5))]


def numbers(rng: random.Random, size: int) -> list[int]:
    """Ids, some of them unknown."""
    return [rng.randrange(size + 3) for _ in range(rng.randint(0, 8))]


def tokens(rng: random.Random, known: Sequence[str]) -> list[str]:
    """Tokens to decode."""
    return [rng.choice(known) if rng.random() < 0.6 else rng.choice(PARTS) for _ in range(rng.randint(0, 7))]
