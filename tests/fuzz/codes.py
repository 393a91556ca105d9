"""Reads the bytes of an input as choices: numbers, choices and texts, drawn one after another; zeros where they end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

# Texts that tokenizers get wrong, and that the targets use in added tokens, marks and normalizers.
FRAGMENTS = (
    *(
        "a",
        "b",
        "low",
        "er",
        "est",
        "Low",
        "LOWER",
        " ",
        "  ",
        "\n",
        "\t",
        "\r\n",
        " \n",
        "1",
        "12",
        "2026",
        "'s",
        "'LL",
    ),
    *(
        "!",
        "...",
        ",",
        "#",
        "##",
        "_",
        "▁",
        "▁low",
        "Ġ",
        "é",
        "e\u0301",
        "É",
        "ß",
        "ſ",
        "\u212a",
        "ﬁ",
        "Å",
        "½",
        "²",
        "٣",
        "中",
    ),
    *(
        "文字",
        "。",
        "한",
        "\u1112\u1161\u11ab",
        "हिन्दी",
        "\u0301",
        "\u200b",
        "\u200d",
        "\ufeff",
        "\u3000",
        "\u00a0",
        "\u2028",
    ),
    *(
        "\ufffd",
        "\0",
        "\U0010ffff",
        "😀",
        "👩\u200d👧",
        "🇩🇪",
        "<s>",
        "</s>",
        "<|end|>",
        "<|end",
        "<unk>",
        "[X]",
        "</w>",
    ),
    *("<0x0A>", "\ud83d", "\ude00", "aaaaaaaaaaaaaaaa", "abababab", "lowest " * 9),
)
# Bytes that are not UTF-8.
BROKEN = (b"\xff", b"\xe2\x98", b"\xf0\x9f", b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80")


class Codes:
    """A reader of an input."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def below(self, count: int) -> int:
        """A number from 0 to `count` - 1, which is at most 255."""
        code = self.data[self.at] if self.at < len(self.data) else 0
        self.at += 1
        return code % count

    def flag(self) -> bool:
        return self.below(2) == 1

    def one(self, of: Sequence[T]) -> T:
        return of[self.below(len(of))]

    def some(self, of: Sequence[T], most: int) -> list[T]:
        """Up to `most` of these, with repetition."""
        return [self.one(of) for _ in range(self.below(most + 1))]

    def rest(self) -> bytes:
        return self.data[self.at :]

    def more(self) -> bool:
        return self.at < len(self.data)

    def text(self, most: int = 24) -> str:
        """Fragments one after another; half characters may stand alone."""
        return "".join(self.some(FRAGMENTS, most))

    def text_or_bytes(self, most: int = 24) -> str | bytes:
        """A text, or its bytes with invalid UTF-8 in between."""
        kind, text = self.below(4), self.text(most)
        if kind < 2:
            return text
        data = text.encode("utf-8", "surrogatepass" if kind == 2 else "replace")
        place = self.below(len(data) + 1) if len(data) < 255 else 0
        return data[:place] + self.one(BROKEN) + data[place:] if kind == 2 else data
