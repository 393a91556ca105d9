"""A SentencePiece model for its processor: pieces by id, and the ways from texts to pieces and back."""

from __future__ import annotations

import base64
import dataclasses
import math
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..._base.threads import cached_property
from ..._formats.protobuf import parse_model
from ..._formats.sentencepiece import (
    BYTE,
    CHARACTERS,
    CONTROL,
    UNIGRAM,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    WORDS,
    read_message,
)
from ..._model.model import Step
from ..._tokenizer.tokenizer import Tokenizer

SPACE = "▁".encode()
LONGEST = 1 << 10  # bytes that the table rewrites at once
MOST_WAYS = 512
REPLACEMENT = "\ufffd".encode()
AS_IT_IS = Step("sentencepiece", (("charsmap", ""), ("dummy", "nowhere"), ("escape", False), ("remove_extra", False)))


class Piece(NamedTuple):
    """One piece of a text: its content and id, its part of the text, and the bytes of that part."""

    piece: bytes
    id: int
    surface: bytes | None  # None for all bytes of a character but its last
    begin: int
    end: int


class Text(NamedTuple):
    """A text with its pieces, and the score of this segmentation."""

    text: bytes
    pieces: list[Piece]
    score: float = 0.0


class Aligned(NamedTuple):
    """A normalized text, the source position of each of its bytes, and the end of the source."""

    text: bytes
    starts: list[int]


class Rewriter:
    """SentencePiece's normalizer or denormalizer, from its options.

    The table is a double array of source texts, and their replacements.
    """

    def __init__(self, options: dict[str, str | bool], symbols: Iterable[str] = ()) -> None:
        self.options = options
        data = base64.b64decode(str(options["charsmap"]))
        size = int.from_bytes(data[:4], "little")
        self.units = np.frombuffer(data[4 : 4 + size], "<u4").tolist()
        self.texts = data[4 + size :]
        self.symbols = sorted((symbol.encode() for symbol in symbols), key=len, reverse=True)

    def first(self, text: bytes, place: int) -> tuple[int, bytes]:
        """The number of bytes at a place that are rewritten at once, and their replacement."""
        for symbol in self.symbols:
            if text.startswith(symbol, place):
                return len(symbol), symbol
        at, size, replacement = 0, 0, b""
        if self.units:
            at ^= child_offset(self.units[0])
            for width, byte in enumerate(text[place : place + LONGEST], 1):
                at ^= byte
                if at >= len(self.units) or self.units[at] & 0x800000FF != byte:
                    break
                unit = self.units[at]
                at ^= child_offset(unit)
                if unit >> 8 & 1:
                    start = self.units[at] & 0x7FFFFFFF
                    size, replacement = width, self.texts[start : self.texts.index(b"\0", start)]
        if size:
            return size, replacement
        size = character_width(text, place)
        return (size, text[place : place + size]) if size else (1, REPLACEMENT)

    def rewrite(self, text: bytes) -> Aligned:
        tidy, space = self.options["remove_extra"], SPACE if self.options["escape"] else b" "
        at = 0
        while tidy and at < len(text) and (leading := self.first(text, at))[1] == b" ":
            at += leading[0]
        if at == len(text):
            return Aligned(b"", [])
        output, starts = bytearray(), list[int]()

        def put(part: bytes) -> None:
            output.extend(part)
            starts.extend([at] * len(part))

        if self.options["dummy"] == "before":
            put(space)
        after_space = tidy
        while at < len(text):
            size, part = self.first(text, at)
            part = part.lstrip(b" ") if after_space else part
            put(part.replace(b" ", space))
            after_space = tidy and part.endswith(b" ") if part else after_space
            at += size
        while tidy and output.endswith(space):
            del output[-len(space) :]
            at = starts[len(output)]
            del starts[len(output) :]
        if self.options["dummy"] == "after":
            put(space)
        return Aligned(bytes(output), [*starts, at])


def child_offset(unit: int) -> int:
    """The distance from a node to its children."""
    return (unit >> 10) << ((unit & 0x200) >> 6)


def character_width(text: bytes, place: int) -> int:
    """The bytes of the character at a place; 0 if the bytes there are not a character."""
    for width in (1, 2, 3, 4):
        try:
            return len(text[place : place + width].decode().encode())
        except UnicodeDecodeError:
            continue
    return 0


class SpmModel:
    """A model and its tokenizer. Immutable."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data = data
        message = parse_model(data, path)
        self.model = read_message(message, path)
        self.tok = Tokenizer(self.model)
        self.type = message.trainer_spec.model_type
        self.pieces = [piece.piece.decode() for piece in message.pieces]
        self.scores = [piece.score for piece in message.pieces]
        self.types = [piece.type for piece in message.pieces]
        self.ids = {piece: id for id, piece in enumerate(self.pieces)}
        self.size = len(self.pieces)
        for id, piece in enumerate(self.pieces):
            if piece == "\0" and message.trainer_spec.byte_fallback:
                self.types[id] = UNUSED
        self.null = self.ids.pop("\0", -1)
        self.unknown = -1 if self.model.unknown_id is None else int(self.model.unknown_id)
        self.bytes = {id: int(piece[3:5], 16) for piece, id in self.ids.items() if self.types[id] == BYTE}
        (normalizer,) = self.model.normalizers
        self.strip = str(self.model.decoders[0]["strip"])
        self.surface_of_unknown = str(self.model.decoders[0]["unknown"]).encode()
        self.normalizer = Rewriter(dict(normalizer.options), self.pieces_of_type(USER_DEFINED))
        self.denormalizer = next((Rewriter(dict(step.options)) for step in self.model.decoders[1:]), None)
        names = ("bos_piece", "eos_piece", "pad_piece")
        self.names = {name[:3]: getattr(message.trainer_spec, name).decode() for name in names}
        self.around = {name: self.control_id(piece) for name, piece in self.names.items()}

    @cached_property
    def plain(self) -> Tokenizer:
        """The same tokenizer for normalized texts."""
        return Tokenizer(dataclasses.replace(self.model, normalizers=(AS_IT_IS,)))

    def pieces_of_type(self, kind: int) -> Iterator[str]:
        return (piece for piece, piece_type in zip(self.pieces, self.types, strict=True) if piece_type == kind)

    def control_id(self, piece: str) -> int:
        """The id of a control piece; -1 for none."""
        id = self.ids.get(piece, -1)
        return id if id >= 0 and self.types[id] == CONTROL else -1

    def id_of(self, piece: str) -> int:
        """The id of a piece; the unknown id for an unknown piece."""
        return self.ids.get(piece, self.unknown)

    def is_unknown(self, id: int) -> bool:
        return id == self.unknown or self.types[id] == UNKNOWN

    # Texts to pieces.

    def encode(self, texts: Sequence[str | bytes]) -> list[list[int]]:
        return self.tok.encode_batch(texts, special="text")

    def sample(self, text: str | bytes, seed: random.Random, nbest_size: int, alpha: float) -> list[int]:
        """The ids of a sampled segmentation of a text."""
        if not (math.isfinite(alpha) and alpha >= 0 and nbest_size <= MOST_WAYS):
            raise RuntimeError(f"alpha must be at least 0 and finite, and nbest_size at most {MOST_WAYS}")
        if self.type in (CHARACTERS, WORDS):
            raise RuntimeError("a model of characters or words has only one encoding: SampleEncode is not available")
        if self.type != UNIGRAM:
            number = seed.getrandbits(63)
            return self.tok.encode_sampled(text, seed=number, dropout=min(alpha, 1.0), special="text")
        if nbest_size < 0:
            return self.tok.encode_sampled(text, seed=seed.getrandbits(63), alpha=alpha, special="text")
        ways = self.best(text, nbest_size)
        best = max(score for _, score in ways)
        return seed.choices([ids for ids, _ in ways], [math.exp(alpha * (score - best)) for _, score in ways])[0]

    def best(self, text: str | bytes, count: int) -> list[tuple[list[int], float]]:
        """The best segmentations of a text, with scores; the score of a single one is not computed."""
        if self.type != UNIGRAM or count > MOST_WAYS:
            raise RuntimeError(f"nbest_encode needs a unigram model, and an nbest_size of at most {MOST_WAYS}")
        (ids,) = self.encode([text])
        return [(ids, 0.0)] if count <= 1 or not ids else self.tok.encode_best(text, count)

    def cut(self, text: str | bytes, ids: Sequence[int] | None = None, score: float = 0.0) -> Text:
        """A text with the pieces of these ids; without ids, with its own pieces."""
        data = text if isinstance(text, bytes) else text.encode()
        whole = self.normalizer.rewrite(data)
        if ids is None:
            encoding = self.plain.encode_with_offsets(whole.text, unit="byte", special="text")
            ids, ends = encoding.ids.tolist(), encoding.ends.tolist()
        else:
            ends = [*self.ends(whole.text, ids)]
        pieces, first, missing = list[Piece](), 0, range(0)
        for id, at in zip(ids, ends, strict=True):
            content, span = self.pieces[id].encode(), range(first, at)
            if id in self.bytes:
                # Byte pieces of text without a token cover all of that text; the last one has its surface.
                if first >= missing.stop:
                    missing = range(first, self.end_of_missing(whole.text, first))
                span = missing if at == missing.stop else range(missing.start, missing.start)
            elif id == self.unknown:
                content = whole.text[first:at]
            begin, end = whole.starts[span.start], whole.starts[span.stop]
            surface = data[begin:end] if span else None
            pieces.append(Piece(content, id, surface, begin, end))
            first = at
        return Text(data, pieces, score)

    def end_of_missing(self, text: bytes, start: int) -> int:
        """The end of a text without a token that becomes bytes: the character, or the word."""
        if self.type == WORDS:
            end = text.find(SPACE, start + 1)
            return len(text) if end < 0 else end
        return start + character_width(text, start)

    def ends(self, text: bytes, ids: Sequence[int]) -> Iterator[int]:
        """The ends of the pieces of these ids in a normalized text; unknown pieces fill the gaps."""
        pattern = [b"."] * len(ids)
        for place, id in enumerate(ids):
            if id not in self.bytes:
                pattern[place] = b".+?" if id == self.unknown else re.escape(self.pieces[id].encode())
        match = re.fullmatch(b"".join(b"(%s)" % part for part in pattern), text, re.DOTALL)
        assert match is not None  # the ids come from the text
        return (match.end(place + 1) for place in range(len(ids)))

    # Pieces to texts.

    def decode(self, ids: Sequence[int]) -> bytes:
        if any(id in self.bytes for id in ids):
            return self.decode_pieces([(self.pieces[id].encode(), id) for id in ids]).text
        return self.tok.decode_bytes([id for id in ids if self.types[id] != CONTROL])

    def decode_pieces(self, pieces: Sequence[tuple[bytes, int]]) -> Text:
        """The text of pieces, with the part of each piece."""
        parts: list[Piece] = []
        size, fresh = 0, True
        place = 0
        while place < len(pieces):
            content, id = pieces[place]
            stop = place
            while stop < len(pieces) and pieces[stop][1] in self.bytes:
                stop += 1
            if stop > place:
                surfaces = byte_surfaces([self.bytes[each] for _, each in pieces[place:stop]])
            else:
                stop, fresh = place + 1, fresh and not size
                surface, space = self.surface(content, id, fresh)
                fresh, surfaces = fresh and not space, [surface]
            for (piece, piece_id), each in zip(pieces[place:stop], surfaces, strict=True):
                parts.append(Piece(piece, piece_id, each, size, size + len(each)))
                size += len(each)
            place = stop
        text = b"".join(each.surface or b"" for each in parts)
        return Text(text if self.denormalizer is None else self.denormalizer.rewrite(text).text, parts)

    def surface(self, content: bytes, id: int, fresh: bool) -> tuple[bytes, bool]:
        """The text of one piece, and whether it was the space before a text."""
        if id >= 0 and self.types[id] == CONTROL:
            return b"", False
        if id < 0 or self.is_unknown(id):
            return (self.surface_of_unknown if id >= 0 and content.decode() == self.pieces[id] else content), False
        space = fresh and self.strip != "nothing" and content.startswith(SPACE)
        content = content[len(SPACE) :] if space else content
        return content.replace(SPACE, b" "), space and self.strip == "once"


def byte_surfaces(values: Sequence[int]) -> list[bytes]:
    """The texts of bytes: each character at its last byte, and U+FFFD for each invalid byte."""
    data, surfaces, at = bytes(values), list[bytes](), 0
    while at < len(data):
        width = character_width(data, at)
        surfaces += [b""] * (width - 1) + [data[at : at + width]] if width else [REPLACEMENT]
        at += width or 1
    return surfaces
