"""Random strings from a seed, full of hard cases; drawn by the hundred thousand, which hypothesis cannot do.

A string is a few parts, joined and sometimes changed as a whole: fragments of the hard texts, white space of every
kind, characters of each length of UTF-8, digits of all scripts, marks, joined emoji, lone surrogates, spellings of
special tokens, very long words, runs, and slices of real texts cut and spliced at any character.
"""

import base64
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from random import Random

from hard_texts import FRAGMENTS, HARD_TEXTS, WHITE_SPACE, decomposed

SPECIAL = ("<|endoftext|>", "<|fim_prefix|>", "<|im_start|>", "<|endofprompt|>", "<|begin_of_text|>", "<s>", "</s>")
EMOJI = "😀👍🏽👩\u200d🚀❤\ufe0f\u200d🔥🏳🌈🇩🇪🇫🇷1\ufe0f\u20e3☀🧑🏿"
WIDTHS = ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x1FFFF), (0x20000, 0x10FFFF))
SCRIPTS = {"Thai": (0xE01, 0xE5B), "CJK": (0x4E00, 0x9FFF), "kana": (0x3041, 0x30FF), "Hangul": (0xAC00, 0xD7A3)}
SCRIPTS |= {"Arabic": (0x600, 0x6FF), "Devanagari": (0x900, 0x97F), "Cyrillic": (0x400, 0x4FF), "Greek": (0x370, 0x3FF)}
OF_CATEGORY: dict[str, list[str]] = {}
for point in range(sys.maxunicode + 1):
    OF_CATEGORY.setdefault(unicodedata.category(chr(point)), []).append(chr(point))
DIGITS = [*OF_CATEGORY["Nd"], *OF_CATEGORY["No"], *OF_CATEGORY["Nl"]]
MARKS = [*OF_CATEGORY["Mn"], *OF_CATEGORY["Mc"], *OF_CATEGORY["Me"]]
CATEGORIES = sorted(set(OF_CATEGORY) - {"Cn", "Co", "Cs"})
LONGEST_WORD = 400


class Drawing:
    """Draws strings; equal seeds and real texts give equal strings."""

    def __init__(self, seed: int, real: Sequence[str] = ()) -> None:
        self.chance = Random(seed)
        self.real = [text for text in real if text] or [text for text in HARD_TEXTS.values() if text]
        common: list[Callable[[], str]] = [self.fragment, self.fragment, self.white, self.slice, self.slice, self.ascii]
        rare = [self.any_width, self.category, self.digits, self.marked, self.emoji, self.script, self.run, self.word]
        self.kinds = common * 3 + rare + [self.special, self.surrogate, self.title, self.contraction, self.encoded]

    def texts(self, count: int) -> Iterator[str]:
        """Draw `count` strings."""
        for _ in range(count):
            parts = self.chance.choices(self.kinds, k=self.chance.randint(1, 9))
            yield self.changed("".join(part() for part in parts))

    def changed(self, text: str) -> str:
        """The text; one time in six in NFD, in the other case, halved, doubled or with its end reversed."""
        kind = self.chance.randrange(36)
        changes: list[Callable[[str], str]] = [str.upper, str.title, str.swapcase, decomposed]
        changes += [lambda text: text[: len(text) // 2], lambda text: text * 2]
        return changes[kind](text) if kind < len(changes) else text

    def fragment(self) -> str:
        return self.chance.choice(FRAGMENTS)

    def white(self) -> str:
        if self.chance.random() < 0.3:
            return "".join(self.chance.choices(WHITE_SPACE, k=self.chance.randint(1, 5)))
        return "".join(self.chance.choices(" \n\t\r", (6, 3, 1, 1), k=self.chance.randint(1, 6)))

    def slice(self) -> str:
        text = self.chance.choice(self.real)
        at = self.chance.randrange(len(text))
        return text[at : at + self.chance.randint(1, 60)]

    def ascii(self) -> str:
        return "".join(chr(self.chance.randrange(128)) for _ in range(self.chance.randint(1, 8)))

    def any_width(self) -> str:
        points = (self.chance.randint(*self.chance.choice(WIDTHS)) for _ in range(self.chance.randint(1, 4)))
        return "".join(map(chr, points))

    def category(self) -> str:
        return "".join(self.chance.choice(OF_CATEGORY[name]) for name in self.chance.choices(CATEGORIES, k=3))

    def digits(self) -> str:
        some = DIGITS if self.chance.random() < 0.5 else "0123456789"
        return "".join(self.chance.choices(some, k=self.chance.randint(1, 9)))

    def marked(self) -> str:
        return self.chance.choice(["", "a", " ", "!", "É"]) + "".join(
            self.chance.choices(MARKS, k=self.chance.randint(1, 3))
        )

    def emoji(self) -> str:
        return "".join(self.chance.choices(EMOJI, k=self.chance.randint(1, 6)))

    def script(self) -> str:
        first, last = self.chance.choice(list(SCRIPTS.values()))
        return "".join(chr(self.chance.randint(first, last)) for _ in range(self.chance.randint(1, 30)))

    def run(self) -> str:
        unit = self.chance.choice([*" \n\t\ra1'!/é中\u3000", "\r\n", "ab", "\u0301", "😀"])
        return unit * self.chance.choice([2, 3, 4, 15, 16, 17, 62, 63, 64, 65, 130])

    def word(self) -> str:
        letters = self.chance.choice(["ab", "etaoinshrdlu", "ACGT", "éèà", "абв"])
        return "".join(self.chance.choices(letters, k=self.chance.randint(20, LONGEST_WORD)))

    def special(self) -> str:
        token = self.chance.choice(SPECIAL)
        return token[: self.chance.randint(1, len(token))] if self.chance.random() < 0.3 else token

    def surrogate(self) -> str:
        return chr(self.chance.randint(0xD800, 0xDFFF))

    def title(self) -> str:
        return self.chance.choice(OF_CATEGORY["Lt"] + OF_CATEGORY["Lm"]) + self.chance.choice(["", "a", "A", "1"])

    def contraction(self) -> str:
        letters = self.chance.choice(["s", "t", "re", "ve", "m", "ll", "d", "ſ", "x", "l", "v", "\u212a"])
        letters = self.chance.choice([letters, letters.upper(), letters.title()])
        return self.chance.choice(["", "it", "IT", " ", "1", "中"]) + self.chance.choice("''’") + letters

    def encoded(self) -> str:
        return base64.b64encode(self.chance.randbytes(self.chance.randint(3, 90))).decode()
