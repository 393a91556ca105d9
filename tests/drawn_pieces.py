"""Random SentencePiece models and texts, which vary every feature of a model."""

from __future__ import annotations

from random import Random
from typing import Any

from toksmith._formats.protobuf import new_model

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
ALPHABET = ["a", "b", "c", "t", "h", "e", "日", "本", "é", "1", ".", "\n", "👍", "한", "▁"]
WHOLE = ["ab", "<sep>", "日本", "▁a", "a", "x ", "  ", "abc", "▁▁", "é", "ﬁ", "e\u0301"]
HARD = [
    *("a", "b", "c", "ab", "the", "q", "Z", ".", ",", "1", "22", "xyz", " ", "  ", "▁", "▁▁", "\u2581a"),
    *("\n", "\t", "\x00", "\x07", "\x7f", "\u3000", "\u00a0", "\u200b", "\ufeff", "\U000e0001", "\ud7ff"),
    *("é", "e\u0301", "ﬁ", "½", "Ａ", "ｱﾞ", "ſ", "ß", "Å", "\u0345", "ﷺ", "日", "本", "日本", "한", "👍", "👩‍👩‍👧"),
    *("<s>", "</s>", "<unk>", "<0x41>", "<sep>"),
]
RANGES = [(0x20, 0x7F), (0xA0, 0x2000), (0x3000, 0xD7FF), (0x1F300, 0x1F700)]


def drawn_text(random: Random, most: int = 80) -> str | bytes:
    """Spaces, marks, symbols and any other characters; sometimes bytes with some missing."""
    length = random.randrange(random.choice([4, 12, 40, most]))
    chars = [random.choice(HARD) if random.random() < 0.8 else anything(random) for _ in range(length)]
    text = " " * random.randrange(3) * (random.random() < 0.1) + "".join(chars)
    if random.random() < 0.9:
        return text
    return bytes(byte for byte in text.encode() if random.random() < 0.9)


def anything(random: Random) -> str:
    return chr(random.randrange(*random.choice(RANGES)))


def drawn_model(random: Random, charsmap: bytes = b"", rare: bool = False) -> bytes:
    """A byte-pair or unigram model with scores that tie, with or without fallback, user-defined symbols and each normalization.

    With `rare`, it can also be a model of words or characters, with unused pieces, a denormalizer, and, where no code
    adds scores up, infinite or NaN scores.
    """
    model = new_model()
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    trainer.model_type = random.choice([1, 2])
    trainer.byte_fallback = random.random() < 0.5
    trainer.treat_whitespace_as_suffix = random.random() < 0.2
    normalizer.add_dummy_prefix = random.random() < 0.6
    normalizer.remove_extra_whitespaces = random.random() < 0.5
    normalizer.escape_whitespaces = random.random() < 0.85
    normalizer.precompiled_charsmap = charsmap if random.random() < 0.6 else b""
    space = "▁" if normalizer.escape_whitespaces else " "
    pieces: dict[str, tuple[float, int]] = {"<unk>": (0, UNKNOWN), "<s>": (0, CONTROL), "</s>": (0, CONTROL)}
    if random.random() < 0.2:
        pieces["q"] = (0, CONTROL)
    if trainer.byte_fallback:
        pieces |= {f"<0x{byte:02X}>": (0, BYTE) for byte in range(256)}
    for _ in range(random.choice([0, 1, 4])):
        pieces.setdefault(random.choice(WHOLE), (0, USER_DEFINED))
    for _ in range(random.randrange(5, 120)):
        word = "".join(random.choice([*ALPHABET, space]) for _ in range(random.randrange(1, 6)))
        pieces.setdefault(word, (random.choice([-1, -2, -3, -5.5, -9 * random.random()]), NORMAL))
    if rare:
        return written(model, made_rare(random, model, pieces))
    for char in "abcthe" + space:
        if random.random() < 0.8:
            pieces.setdefault(char, (-100 - random.randrange(3), NORMAL))
    return written(model, pieces)


def made_rare(random: Random, model: Any, pieces: dict[str, tuple[float, int]]) -> dict[str, tuple[float, int]]:
    """The same pieces, some in rare forms, and a rare type for the model."""
    trainer = model.trainer_spec
    trainer.model_type = random.choice([1, 2, 2, 2, 3, 4])
    if random.random() < 0.3:
        model.denormalizer_spec.CopyFrom(model.normalizer_spec)
        model.denormalizer_spec.add_dummy_prefix = random.random() < 0.3
    endless = [-0.0, 0.0] + ([] if trainer.model_type == 1 else [float("-inf"), float("inf")])
    found = dict(pieces)
    for content, (score, kind) in pieces.items():
        if kind == NORMAL and trainer.model_type == 3 and "▁" in content[1:]:
            content = content.replace("▁", "x")
        if kind == NORMAL:
            score = random.choice(endless) if random.random() < 0.05 else score
            found[content] = (score, UNUSED if random.random() < 0.3 else NORMAL)
    return found


def written(model: Any, pieces: dict[str, tuple[float, int]]) -> bytes:
    """The bytes of a model with these pieces: score and type of each."""
    for content, (score, kind) in pieces.items():
        model.pieces.add(piece=content.encode(), score=score, type=kind)
    data: bytes = model.SerializeToString()
    return data
