"""What single parts do, asked of the engine: a model whose every piece is the unknown token shows pieces and where they are.

The rule for offsets: the engine's ranges partition a text, and the library leaves out what a part removes. A character at
the edge of a range that alone makes no piece is such a one.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import regex

from ..._formats._tokenizer_json import read
from ..._model import Model
from ..._tokenizer import Tokenizer

__all__ = ["Pieces", "decoded", "normalized", "of_json", "pieces", "whole_json"]

UNKNOWN = "\0"
WORDS = {"type": "WordLevel", "vocab": {UNKNOWN: 0}, "unk_token": UNKNOWN}
Json = Mapping[str, Any]


def of_json(value: Json) -> Model:
    """The model in the JSON of a tokenizer."""
    return read(value, "the tokenizer")


def whole_json(model: Json, **parts: Any) -> dict[str, Any]:
    """A tokenizer.json of a model and the parts that are given."""
    names = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    return {"version": "1.0", "added_tokens": [], **dict.fromkeys(names), **parts, "model": model}


class Pieces:
    """The pieces of texts: a normalizer and a pre-tokenizer without a model behind them."""

    def __init__(self, parts: str) -> None:
        given = json.loads(parts)
        self.tok = Tokenizer(of_json(whole_json(WORDS, **given)))
        self.normalizer: Json | None = given.get("normalizer")
        self.strips = strips(self.normalizer)
        inner = {**given, "normalizer": without_strip(given.get("normalizer"))}
        self.alone = self.tok if not any(self.strips) else Tokenizer(of_json(whole_json(WORDS, **inner)))
        self.removed: dict[str, bool] = {}
        self.cuts_ends = "UnicodeScripts" not in parts  # which removes spaces only before a text
        self.shorter = shortening(given.get("normalizer"))

    def texts(self, text: str) -> list[str]:
        """The pieces of a text."""
        return [piece.decode("utf-8", "replace") for piece in self.tok._engine.split(text)]

    def rewritten(self, text: str) -> str:
        """What the normalizer makes of a part of a text."""
        kinds = {each["type"] for each in members(self.normalizer)}
        return text if not kinds or "Prepend" in kinds else normalized(self.normalizer or {}, text)

    def ranges(self, text: str, special: str = "text") -> list[tuple[int, int]]:
        """The characters of each piece, without those that are removed."""
        found = self.tok.encode_with_offsets(text, special=special)
        return [self.tight(text, start, end) for start, end in found.spans]

    def tight(self, text: str, start: int, end: int) -> tuple[int, int]:
        """A range without the removed characters at its edges; as it is, if there is nothing else."""
        first, last = start, end
        for pattern, size in self.shorter:
            if found := pattern.match(text, first, last):
                first = max(first, found.end() - size)
        if self.strips[0] and not text[:first].strip():
            first += len(text[first:last]) - len(text[first:last].lstrip())
        if self.strips[1] and not text[last:].strip():
            last = first + len(text[first:last].rstrip())
        while first < last and self.is_removed(text[first]):
            first += 1
        # Removed text belongs to what follows it; only at the end of a text is it behind a piece.
        while self.cuts_ends and end == len(text) and first < last and self.is_removed(text[last - 1]):
            last -= 1
        return (first, last) if first < last else (start, end)

    def is_removed(self, character: str) -> bool:
        """Whether a character alone makes no piece."""
        found = self.removed.get(character)
        if found is None:
            found = self.removed[character] = not any(self.alone._engine.split(character))
        return found


def shortening(normalizer: Json | None) -> list[tuple[regex.Pattern[str], int]]:
    """The regexes that put a shorter text for what they match, which then stands for the last characters of the match."""
    found = []
    for each in members(normalizer):
        pattern = each["pattern"].get("Regex") if each["type"] == "Replace" else None
        if pattern and each["content"]:
            try:
                found.append((regex.compile(pattern), len(each["content"])))
            except regex.error:
                continue
    return found


def strips(normalizer: Json | None) -> tuple[bool, bool]:
    """Whether white space is stripped from the start and the end of a text."""
    listed = members(normalizer)
    return tuple(
        any(each.get(side) for each in listed if each["type"] == "Strip") for side in ("strip_left", "strip_right")
    )  # type: ignore[return-value]


def without_strip(normalizer: Json | None) -> Json | None:
    """A normalizer without its `Strip`."""
    return {"type": "Sequence", "normalizers": [each for each in members(normalizer) if each["type"] != "Strip"]}


def members(normalizer: Json | None) -> list[Json]:
    """The normalizers in one."""
    if normalizer is None:
        return []
    if normalizer.get("type") != "Sequence":
        return [normalizer]
    return [inner for each in normalizer["normalizers"] for inner in members(each)]


@functools.lru_cache(maxsize=64)
def of_parts(parts: str) -> Pieces:
    """The pieces that parts in JSON make."""
    return Pieces(parts)


def normalized(normalizer: Json, text: str) -> str:
    """The text that a normalizer makes of a text."""
    return "".join(of_parts(json.dumps({"normalizer": normalizer})).texts(text))


def pieces(pre_tokenizer: Json, text: str) -> list[tuple[str, tuple[int, int]]]:
    """The pieces of a text, each with its characters in the text."""
    found = of_parts(json.dumps({"pre_tokenizer": pre_tokenizer}))
    return list(zip(found.texts(text), found.ranges(text), strict=True))


@functools.lru_cache(maxsize=64)
def decoding(decoder: str, tokens: tuple[str, ...]) -> Tokenizer:
    """A tokenizer of these tokens that decodes."""
    vocab = {token: id for id, token in enumerate(tokens)}
    return Tokenizer(
        of_json(whole_json({"type": "WordLevel", "vocab": vocab, "unk_token": tokens[0]}, decoder=json.loads(decoder)))
    )


def decoded(decoder: Json, tokens: Sequence[str]) -> str:
    """The text of tokens."""
    kept = [token for token in tokens if token]
    if not kept:
        return ""
    distinct = tuple(dict.fromkeys(kept))
    place = {token: id for id, token in enumerate(distinct)}
    return decoding(json.dumps(decoder), distinct).decode([place[token] for token in kept])
