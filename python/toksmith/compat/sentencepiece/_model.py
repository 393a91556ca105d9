"""A SentencePiece model as its processor needs it: pieces by id, and the ways from texts to pieces and back."""

from __future__ import annotations

import base64
import dataclasses
import math
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._formats.protobuf import parse
from ..._formats.sentencepiece import BYTE, CHARACTERS, CONTROL, UNIGRAM, UNKNOWN, UNUSED, USER_DEFINED, WORDS, model_of
from ..._model.model import Step
from ..._tokenizer.tokenizer import Tokenizer

__all__ = ["Piece", "SpmModel", "Text"]

SPACE = "▁".encode()
LONGEST = 1 << 10  # bytes that the table rewrites as one
MOST_WAYS = 512
REPLACEMENT = "\ufffd".encode()
AS_IT_IS = Step("sentencepiece", (("charsmap", ""), ("dummy", "nowhere"), ("escape", False), ("remove_extra", False)))


class Piece(NamedTuple):
    """One piece of a text: its content and id, the part of the text that it is of, and the bytes of that."""

    piece: bytes
    id: int
    surface: bytes | None  # None for the bytes of a character but its last
    begin: int
    end: int


class Text(NamedTuple):
    """A text with its pieces, and the score of this way of cutting it."""

    text: bytes
    pieces: list[Piece]
    score: float = 0.0


class Aligned(NamedTuple):
    """A normalized text with where in the text each of its bytes comes from, and where it ends."""

    text: bytes
    starts: list[int]


class Rewriter:
    """What a text becomes: SentencePiece's normalizer, or its denormalizer, from their options.

    The table is a double array of the texts that are rewritten, and what each becomes.
    """

    def __init__(self, options: dict[str, str | bool], symbols: Iterable[str] = ()) -> None:
        self.options = options
        data = base64.b64decode(str(options["charsmap"]))
        size = int.from_bytes(data[:4], "little")
        self.units = np.frombuffer(data[4 : 4 + size], "<u4").tolist()
        self.texts = data[4 + size :]
        self.symbols = sorted((symbol.encode() for symbol in symbols), key=len, reverse=True)

    def first(self, text: bytes, place: int) -> tuple[int, bytes]:
        """How many bytes at a place are rewritten as one, and what they become."""
        for symbol in self.symbols:
            if text.startswith(symbol, place):
                return len(symbol), symbol
        at, size, found = 0, 0, b""
        if self.units:
            at ^= offset(self.units[0])
            for width, byte in enumerate(text[place : place + LONGEST], 1):
                at ^= byte
                if at >= len(self.units) or self.units[at] & 0x800000FF != byte:
                    break
                unit = self.units[at]
                at ^= offset(unit)
                if unit >> 8 & 1:
                    start = self.units[at] & 0x7FFFFFFF
                    size, found = width, self.texts[start : self.texts.index(b"\0", start)]
        if size:
            return size, found
        size = width_at(text, place)
        return (size, text[place : place + size]) if size else (1, REPLACEMENT)

    def rewrite(self, text: bytes) -> Aligned:
        """The rewritten text."""
        tidy, space = self.options["remove_extra"], SPACE if self.options["escape"] else b" "
        at = 0
        while tidy and at < len(text) and (found := self.first(text, at))[1] == b" ":
            at += found[0]
        if at == len(text):
            return Aligned(b"", [])
        shown, starts = bytearray(), list[int]()

        def put(part: bytes) -> None:
            shown.extend(part)
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
        while tidy and shown.endswith(space):
            del shown[-len(space) :]
            at = starts[len(shown)]
            del starts[len(shown) :]
        if self.options["dummy"] == "after":
            put(space)
        return Aligned(bytes(shown), [*starts, at])


def offset(unit: int) -> int:
    """How far the children of a node are."""
    return (unit >> 10) << ((unit & 0x200) >> 6)


def width_at(text: bytes, place: int) -> int:
    """How many bytes the character at a place has; 0 if there is none."""
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
        message = parse(data, path)
        self.model = model_of(message, path)
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
        self.normalizer = Rewriter(dict(normalizer.options), self.of_type(USER_DEFINED))
        self.denormalizer = next((Rewriter(dict(step.options)) for step in self.model.decoders[1:]), None)
        names = ("bos_piece", "eos_piece", "pad_piece")
        self.names = {name[:3]: getattr(message.trainer_spec, name).decode() for name in names}
        self.around = {name: self.control(piece) for name, piece in self.names.items()}

    @cached_property
    def plain(self) -> Tokenizer:
        """The same tokenizer for texts that are normalized already."""
        return Tokenizer(dataclasses.replace(self.model, normalizers=(AS_IT_IS,)))

    def of_type(self, kind: int) -> Iterator[str]:
        """The pieces of a type."""
        return (piece for piece, own in zip(self.pieces, self.types, strict=True) if own == kind)

    def control(self, piece: str) -> int:
        """The id of a control piece; -1 for none."""
        id = self.ids.get(piece, -1)
        return id if id >= 0 and self.types[id] == CONTROL else -1

    def id_of(self, piece: str) -> int:
        """The id of a piece, that of the unknown one for what is none."""
        return self.ids.get(piece, self.unknown)

    def is_unknown(self, id: int) -> bool:
        """Whether an id is the unknown one."""
        return id == self.unknown or self.types[id] == UNKNOWN

    # Texts to pieces.

    def encode(self, texts: Sequence[str | bytes]) -> list[list[int]]:
        """The ids of texts."""
        return self.tok.encode_batch(texts, special="text")

    def sample(self, text: str | bytes, seed: random.Random, nbest_size: int, alpha: float) -> list[int]:
        """The ids of a drawn way to cut a text."""
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
        """The best ways to cut a text, with their scores; the score of a single one is not computed."""
        if self.type != UNIGRAM or count > MOST_WAYS:
            raise RuntimeError(f"nbest_encode needs a unigram model, and an nbest_size of at most {MOST_WAYS}")
        (ids,) = self.encode([text])
        return [(ids, 0.0)] if count <= 1 or not ids else self.tok.encode_best(text, count)

    def cut(self, text: str | bytes, ids: Sequence[int] | None = None, score: float = 0.0) -> Text:
        """A text with the pieces that have these ids; without them, with its own."""
        data = text if isinstance(text, bytes) else text.encode()
        whole = self.normalizer.rewrite(data)
        if ids is None:
            encoding = self.plain.encode_with_offsets(whole.text, unit="byte", special="text")
            ids, ends = encoding.ids.tolist(), encoding.ends.tolist()
        else:
            ends = [*self.ends(whole.text, ids)]
        found, first, missing = list[Piece](), 0, range(0)
        for id, at in zip(ids, ends, strict=True):
            content, own = self.pieces[id].encode(), range(first, at)
            if id in self.bytes:
                # The bytes of a text without a token come from all of it, and the last has its surface.
                if first >= missing.stop:
                    missing = range(first, self.end_of_missing(whole.text, first))
                own = missing if at == missing.stop else range(missing.start, missing.start)
            elif id == self.unknown:
                content = whole.text[first:at]
            begin, end = whole.starts[own.start], whole.starts[own.stop]
            surface = data[begin:end] if own else None
            found.append(Piece(content, id, surface, begin, end))
            first = at
        return Text(data, found, score)

    def end_of_missing(self, text: bytes, start: int) -> int:
        """Where a text without a token ends that becomes bytes: the character, or the word."""
        if self.type == WORDS:
            end = text.find(SPACE, start + 1)
            return len(text) if end < 0 else end
        return start + width_at(text, start)

    def ends(self, text: bytes, ids: Sequence[int]) -> Iterator[int]:
        """Where the pieces of a normalized text end that have these ids; the unknown ones fill what the others leave."""
        pattern = [b"."] * len(ids)
        for place, id in enumerate(ids):
            if id not in self.bytes:
                pattern[place] = b".+?" if id == self.unknown else re.escape(self.pieces[id].encode())
        found = re.fullmatch(b"".join(b"(%s)" % part for part in pattern), text, re.DOTALL)
        assert found is not None  # the ids are those of the text
        return (found.end(place + 1) for place in range(len(ids)))

    # Pieces to texts.

    def decode(self, ids: Sequence[int]) -> bytes:
        """The text of ids."""
        if any(id in self.bytes for id in ids):
            return self.decode_pieces([(self.pieces[id].encode(), id) for id in ids]).text
        return self.tok.decode_bytes([id for id in ids if self.types[id] != CONTROL])

    def decode_pieces(self, pieces: Sequence[tuple[bytes, int]]) -> Text:
        """The text of pieces, with the part that each gives."""
        found: list[Piece] = []
        size, fresh = 0, True
        place = 0
        while place < len(pieces):
            content, id = pieces[place]
            run = place
            while run < len(pieces) and pieces[run][1] in self.bytes:
                run += 1
            if run > place:
                surfaces = byte_surfaces([self.bytes[each] for _, each in pieces[place:run]])
            else:
                run, fresh = place + 1, fresh and not size
                surface, space = self.surface(content, id, fresh)
                fresh, surfaces = fresh and not space, [surface]
            for (piece, own), each in zip(pieces[place:run], surfaces, strict=True):
                found.append(Piece(piece, own, each, size, size + len(each)))
                size += len(each)
            place = run
        text = b"".join(each.surface or b"" for each in found)
        return Text(text if self.denormalizer is None else self.denormalizer.rewrite(text).text, found)

    def surface(self, content: bytes, id: int, fresh: bool) -> tuple[bytes, bool]:
        """The text of one piece, and whether it was the space that comes before a text."""
        if id >= 0 and self.types[id] == CONTROL:
            return b"", False
        if id < 0 or self.is_unknown(id):
            return (self.surface_of_unknown if id >= 0 and content.decode() == self.pieces[id] else content), False
        space = fresh and self.strip != "nothing" and content.startswith(SPACE)
        content = content[len(SPACE) :] if space else content
        return content.replace(SPACE, b" "), space and self.strip == "once"


def byte_surfaces(values: Sequence[int]) -> list[bytes]:
    """The texts of bytes: of each character at its last byte, and U+FFFD for each byte of none."""
    data, found, at = bytes(values), list[bytes](), 0
    while at < len(data):
        width = width_at(data, at)
        found += [b""] * (width - 1) + [data[at : at + width]] if width else [REPLACEMENT]
        at += width or 1
    return found
