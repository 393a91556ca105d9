"""A SentencePiece model as its processor needs it: pieces by id, and the ways from texts to pieces and back."""

from __future__ import annotations

import base64
import math
import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..._formats import FORMATS
from ..._patterns import UNSET
from ..._tokenizer import Tokenizer

__all__ = ["Piece", "SpmModel", "Text"]

SPACE = "▁"
LONGEST = 32  # characters that the table rewrites as one


class Piece(NamedTuple):
    """One piece of a text: its content and id, the part of the text that it is of, and the bytes of that."""

    piece: str
    id: int
    surface: str | None  # None for the bytes of a character but its last
    begin: int
    end: int


class Text(NamedTuple):
    """A text with its pieces, and the score of this way of cutting it."""

    text: str
    pieces: list[Piece]
    score: float = 0.0


class Aligned(NamedTuple):
    """A normalized text with where its characters start in the text."""

    text: str
    starts: list[int]


class Charsmap:
    """SentencePiece's compiled table: a double array of the texts that are rewritten, and what each becomes."""

    def __init__(self, data: bytes) -> None:
        size = int.from_bytes(data[:4], "little")
        self.units = np.frombuffer(data[4 : 4 + size], "<u4").tolist()
        self.texts = data[4 + size :]

    def first(self, text: str, place: int) -> tuple[str, str]:
        """The longest part of a text at a place that is rewritten, else its character, and what it becomes."""
        part = text[place : place + LONGEST].encode()
        at, size, found = 0, 0, b""
        if self.units:
            at ^= offset(self.units[0])
            for place_, byte in enumerate(part, 1):
                at ^= byte
                if at >= len(self.units) or self.units[at] & 0x800000FF != byte:
                    break
                unit = self.units[at]
                at ^= offset(unit)
                if unit >> 8 & 1:
                    start = self.units[at] & 0x7FFFFFFF
                    size, found = place_, self.texts[start : self.texts.index(b"\0", start)]
        if not size:
            return text[place], text[place]
        return part[:size].decode(), found.decode()


def offset(unit: int) -> int:
    """How far the children of a node are."""
    return (unit >> 10) << ((unit & 0x200) >> 6)


class SpmModel:
    """A model and its tokenizer. Immutable."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data = data
        model = FORMATS["sentencepiece"].load(data, path, pattern=UNSET, special_tokens=None)
        self.model = model
        self.tok = Tokenizer(model)
        self.unknown = int(model.unknown_id or 0)
        added = {token.id: token for token in model.added_tokens}
        self.controls = {id for id, token in added.items() if token.special and id != self.unknown}
        scores = [] if model.scores is None else model.scores.tolist()
        self.scores = dict(zip(model.ids.tolist(), scores, strict=True))
        own = {id: token.decode() for id, token in zip(model.ids.tolist(), model.tokens, strict=True)}
        self.pieces = own | {id: token.content for id, token in added.items()}
        self.ids = {piece: id for id, piece in self.pieces.items()}
        self.size = len(self.pieces)
        self.bytes = {self.ids[f"<0x{byte:02X}>"]: byte for byte in range(256)} if model.byte_fallback else {}
        (self.normalizer,) = (dict(step.options) for step in model.normalizers)
        self.table = Charsmap(base64.b64decode(self.normalizer["charsmap"]))
        symbols = [token.content for token in model.added_tokens if not token.special]
        self.symbols = sorted(symbols, key=len, reverse=True)
        (self.decoder,) = (dict(step.options) for step in model.decoders)

    def control(self, piece: str) -> int:
        """The id of a control piece; -1 for none."""
        id = self.ids.get(piece, -1)
        return id if id in self.controls else -1

    # Texts to pieces.

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of texts."""
        return self.tok.encode_batch(texts, special="text")

    def sampled(self, text: str, seed: random.Random, nbest_size: int, alpha: float) -> list[int]:
        """The ids of a drawn way to cut a text."""
        if self.model.kind != "unigram":
            return self.tok.encode_sampled(text, seed=seed.getrandbits(63), dropout=min(alpha, 1.0), special="text")
        if nbest_size in (0, 1):
            return self.encode([text])[0]
        if nbest_size < 0:
            return self.tok.encode_sampled(text, seed=seed.getrandbits(63), alpha=alpha, special="text")
        ways = self.tok.encode_best(text, nbest_size)
        best = max(score for _, score in ways)
        return seed.choices([ids for ids, _ in ways], [math.exp(alpha * (score - best)) for _, score in ways])[0]

    def best(self, text: str, count: int) -> list[tuple[list[int], float]]:
        """The best ways to cut a text, with their scores."""
        return self.tok.encode_best(text, max(count, 1))

    def cut(self, text: str, ids: Sequence[int] | None = None, score: float = 0.0) -> Text:
        """A text with the pieces that have these ids; without them, with its own."""
        data, whole = text.encode(), self.aligned(text)
        ids = self.encode([text])[0] if ids is None else ids
        at, left = 0, b""
        found = []
        for place, id in enumerate(ids):
            first = at
            if id in self.bytes:
                left = (left or whole.text[at : at + 1].encode())[1:]
                at += not left
            elif id == self.unknown:
                at = self.unknown_end(whole.text, at, ids[place + 1 :])
            else:
                at += len(self.pieces[id])
            at = min(at, len(whole.text))
            content = whole.text[first:at] if id == self.unknown else self.pieces[id]
            begin, end = whole.starts[first], whole.starts[at]
            surface = None if left else data[begin:end].decode("utf-8", "replace")
            found.append(Piece(content, id, surface, begin, end))
        return Text(text, found, score)

    def unknown_end(self, text: str, start: int, rest: Sequence[int]) -> int:
        """Where an unknown piece of a normalized text ends: where the next piece begins."""
        if not rest:
            return len(text)
        if rest[0] in self.bytes or rest[0] == self.unknown:
            return start + 1
        found = text.find(self.pieces[rest[0]], start + 1)
        return start + 1 if found < 0 else found

    def aligned(self, text: str) -> Aligned:
        """The normalized text with the byte of the text where each of its characters starts, and where it ends."""
        rows: list[tuple[str, int]] = []
        at = 0
        place = 0
        while place < len(text):
            part, shown = self.first(text, place)
            rows += [(each, at) for each in shown]
            at += len(part.encode())
            place += len(part)
        if self.normalizer["remove_extra"]:
            kept: list[tuple[str, int]] = []
            for each, start in rows:
                if each != " " or (kept and kept[-1][0] != " "):
                    kept.append((each, start))
            rows = kept
            if rows and rows[-1][0] == " ":
                at = rows.pop()[1]
            at = at if rows else 0
        if rows and self.normalizer["dummy"] == "before":
            rows.insert(0, (" ", rows[0][1]))
        elif rows and self.normalizer["dummy"] == "after":
            rows.append((" ", at))
        whole = "".join(each for each, _ in rows)
        return Aligned(
            whole.replace(" ", SPACE) if self.normalizer["escape"] else whole, [*(start for _, start in rows), at]
        )

    def first(self, text: str, place: int) -> tuple[str, str]:
        """What is rewritten as one at a place: a symbol that stays, a character with its marks, or a character; and its text."""
        for symbol in self.symbols:
            if text.startswith(symbol, place):
                return symbol, symbol
        return self.table.first(text, place)

    # Pieces to texts.

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids."""
        return self.tok.decode([id for id in ids if id not in self.controls])

    def decoded(self, pieces: Sequence[tuple[str, int]]) -> Text:
        """The text of pieces, with the part that each gives."""
        found: list[Piece] = []
        size, seen = 0, False
        place = 0
        while place < len(pieces):
            content, id = pieces[place]
            if id in self.bytes:
                run = place
                while run < len(pieces) and pieces[run][1] in self.bytes:
                    run += 1
                surfaces = byte_surfaces([self.bytes[each] for _, each in pieces[place:run]])
            else:
                run = place + 1
                surface, bos = self.surface(content, id, not (seen or size))
                seen, surfaces = bos, [surface]
            for (piece, own), each in zip(pieces[place:run], surfaces, strict=True):
                end = size + len(each.encode())
                found.append(Piece(piece, own, each, size, end))
                size = end
            place = run
        return Text("".join(each.surface or "" for each in found), found)

    def surface(self, content: str, id: int, first: bool) -> tuple[str, bool]:
        """The text of one piece, and whether it was the space that comes before a text."""
        if id in self.controls:
            return "", False
        if id == self.unknown:
            return (str(self.decoder["unknown"]) if content == self.pieces[id] else content), False
        seen = False
        if first and self.decoder["strip"] != "nothing":
            suffix = self.normalizer["dummy"] == "after"
            shorter = content.removesuffix(SPACE) if suffix else content.removeprefix(SPACE)
            seen = shorter != content and self.decoder["strip"] == "once"
            content = shorter
        return content.replace(SPACE, " "), seen


def byte_surfaces(values: Sequence[int]) -> list[str]:
    """The texts of bytes: of each character at its last byte, and U+FFFD for each byte of none."""
    data, found, at = bytes(values), [], 0
    while at < len(data):
        for width in (1, 2, 3, 4):
            try:
                character = data[at : at + width].decode()
            except UnicodeDecodeError:
                continue
            if len(data[at : at + width]) == width:
                found += [""] * (width - 1) + [character]
                at += width
                break
        else:
            found.append("�")
            at += 1
    return found
