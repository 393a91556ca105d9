"""SentencePiece's `.model`: pieces with scores and types, a normalizer, and how text is made visible again.

A character model is a byte-pair model whose pieces are single characters, so that nothing merges. Ordinary, unused and
byte pieces are the tokens of the model. User-defined, control and unknown pieces are added tokens; user-defined ones are
found in the normalized text and stay whole.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .._base.errors import FormatError
from .._model.model import AddedToken, Kind, Model, Step, TokenTable
from .._model.patterns import PatternArgument
from . import refuse_arguments
from .file_sets import text_of
from .protobuf import parse
from .sentencepiece_save import save

__all__ = ["DOC", "NAME", "SUFFIXES", "load", "save", "sniff"]

NAME = "sentencepiece"
MOST_BYTES = 1 << 26
SUFFIXES = (".model",)
DOC = "SentencePiece's model: byte-pair encodings, unigram models, models of characters and of words"

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BYTE_PAIR, WORDS, CHARACTERS = range(1, 5)
KINDS: dict[int, Kind] = {UNIGRAM: "unigram", BYTE_PAIR: "bpe", WORDS: "words", CHARACTERS: "bpe"}
BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")
PIECE_LIMIT = 1 << 24
UNKNOWN_SURFACE = " ⁇ "


def sniff(data: bytes, path: str) -> bool:
    """Whether the first thing is a message whose first thing is a short text: the first piece."""
    return len(data) > 3 and data[0] == data[2] == 0x0A and 0 < data[3] <= data[1] - 2 < 0x7E


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    """The model that the file holds."""
    refuse_arguments("a SentencePiece model", pattern, special_tokens)
    return model_of(parse(data, path), path)


def model_of(message: Any, path: str) -> Model:
    """The model of a message."""
    trainer, normalizer = message.trainer_spec, message.normalizer_spec
    check_specs(message, path)
    tokens: list[bytes] = []
    ids: list[int] = []
    scores: list[float] = []
    added: list[AddedToken] = []
    unused: list[int] = []
    for id, content, kind, score in checked_pieces(message, path):
        if kind in (CONTROL, UNKNOWN):
            added.append(AddedToken(content, id))
        elif kind == USER_DEFINED:
            added.append(AddedToken(content, id, special=False, normalized=True))
        else:
            tokens.append(content.encode())
            ids.append(id)
            scores.append(score)
            unused += [id] if is_unused(content, kind, trainer) else []
    surface = text_of(trainer.unk_surface, path, "trainer_spec.unk_surface")
    kind_of_model = KINDS[trainer.model_type]
    decoders = [decoder_step(normalizer, surface if trainer.HasField("unk_surface") else UNKNOWN_SURFACE)]
    if message.denormalizer_spec.precompiled_charsmap:
        decoders.append(rewriting_step("denormalizer", message.denormalizer_spec, suffix=False))
    return Model(
        TokenTable.of(tokens),
        np.array(ids, np.uint32),
        kind=kind_of_model,
        unit="char",
        merge_rule="bytes" if kind_of_model == "bpe" else "pair",
        scores=np.array(scores, np.float32),
        unknown_id=next((id for id, piece in enumerate(message.pieces) if piece.type == UNKNOWN), None),
        byte_fallback=trainer.byte_fallback,
        unused_ids=tuple(unused),
        normalizers=(rewriting_step("sentencepiece", normalizer, trainer.treat_whitespace_as_suffix),),
        decoders=tuple(decoders),
        added_tokens=tuple(added),
        metadata={"normalizer": name} if (name := text_of(normalizer.name, path, "normalizer_spec.name")) else {},
    )


def is_unused(content: str, kind: int, trainer: Any) -> bool:
    """Whether no text becomes a piece. In a model of characters, merging would make the longer ones."""
    longer = trainer.model_type == CHARACTERS and kind == NORMAL and len(content) > 1
    return kind == UNUSED or longer or (content == "\0" and trainer.byte_fallback)


def check_specs(message: Any, path: str) -> None:
    """Raises FormatError for a model of an unknown type, or with a broken table of characters."""
    model_type = message.trainer_spec.model_type
    if model_type not in KINDS:
        problem = f"is of the unknown type {model_type}; expected 1 to {max(KINDS)}"
        raise FormatError(path, "trainer_spec.model_type", problem)
    for name in ("normalizer_spec", "denormalizer_spec"):
        charsmap = getattr(message, name).precompiled_charsmap
        size = int.from_bytes(charsmap[:4], "little")
        if charsmap and (len(charsmap) < 4 + size or size % 4 or size == 0):
            problem = f"is broken: it claims a trie of {size} bytes but has only {len(charsmap)}"
            raise FormatError(path, f"{name}.precompiled_charsmap", problem)


def checked_pieces(message: Any, path: str) -> Iterator[tuple[int, str, int, float]]:
    """Id, content, type and score of each piece."""
    if not 0 < len(message.pieces) <= PIECE_LIMIT:
        raise FormatError(path, "pieces", f"expected 1 to {PIECE_LIMIT} pieces, not {len(message.pieces)}")
    ids: dict[str, int] = {}
    kinds = dict.fromkeys(range(NORMAL, BYTE + 1), 0)
    for id, piece in enumerate(message.pieces):
        place = f"piece {id}"
        content, kind = text_of(piece.piece, path, place), piece.type
        if not content:
            raise FormatError(path, place, "is empty")
        if (other := ids.setdefault(content, id)) != id:
            raise FormatError(path, place, f"{content!r} occurs twice; piece {other} is the same")
        problem = problem_of(content, kind, message.trainer_spec.byte_fallback)
        if message.trainer_spec.model_type == UNIGRAM and not math.isfinite(piece.score):
            problem = f"has the score {piece.score}; a unigram model needs finite scores"
        if problem:
            raise FormatError(path, place, f"{content!r} {problem}")
        kinds[kind] += 1
        yield id, content, kind, piece.score
    if kinds[UNKNOWN] != 1 and not (kinds[BYTE] and kinds[UNKNOWN] == 0):
        raise FormatError(path, "pieces", f"expected one unknown piece, not {kinds[UNKNOWN]}")
    if message.trainer_spec.byte_fallback and kinds[BYTE] != 256:
        problem = f"expected 256 bytes with byte_fallback, not {kinds[BYTE]}"
        raise FormatError(path, "pieces", problem)


def problem_of(content: str, kind: int, byte_fallback: bool) -> str:
    """What is wrong with a piece; "" for nothing."""
    if not NORMAL <= kind <= BYTE:
        return f"has the unknown type {kind}; expected 1 to 6"
    if kind == BYTE and not BYTE_PIECE.fullmatch(content):
        return "has the type of a byte, but is not one of <0x00> to <0xFF>"
    if kind == BYTE and not byte_fallback:
        return "is a byte, which requires byte_fallback"
    if byte_fallback and kind != BYTE and BYTE_PIECE.fullmatch(content):
        return "has the spelling of a byte, but another type"
    return ""


def rewriting_step(kind: str, spec: Any, suffix: bool) -> Step:
    """How a text is rewritten as a whole."""
    options = {
        "charsmap": base64.b64encode(spec.precompiled_charsmap).decode(),
        "dummy": ("after" if suffix else "before") if spec.add_dummy_prefix else "nowhere",
        "escape": spec.escape_whitespaces,
        "remove_extra": spec.remove_extra_whitespaces,
    }
    return Step(kind, tuple(sorted(options.items())))


def decoder_step(spec: Any, unknown: str) -> Step:
    """How tokens show as text."""
    strip = "each" if spec.remove_extra_whitespaces else "once" if spec.add_dummy_prefix else "nothing"
    return Step("sentencepiece", (("strip", strip), ("unknown", unknown)))
