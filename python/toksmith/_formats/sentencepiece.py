"""SentencePiece's `.model`: pieces with scores and types, a normalizer and a decoder.

A character model is a byte-pair model whose pieces are single characters, so that nothing merges. Ordinary, unused and
byte pieces are the tokens of the model. User-defined, control and unknown pieces are added tokens; user-defined pieces
match in the normalized text and stay whole.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .._base import lazy_numpy as np
from .._model.model import AddedToken, Kind, Model, Step, TokenTable, make_step
from .._model.patterns import PatternArgument
from ..errors import CannotRepresent, FormatError
from . import refuse_arguments
from .arguments import refuse_losses
from .protobuf import new_model, parse_model
from .texts import decode_text

NAME = "sentencepiece"
MOST_BYTES = 1 << 26
SUFFIXES = (".model",)
DOC = "SentencePiece's model: byte-pair encodings, unigram models, models of characters and of words"

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BYTE_PAIR, WORDS, CHARACTERS = range(1, 5)
MODEL_TYPES = {"unigram": UNIGRAM, "bpe": BYTE_PAIR, "words": WORDS}
KINDS: dict[int, Kind] = {UNIGRAM: "unigram", BYTE_PAIR: "bpe", WORDS: "words", CHARACTERS: "bpe"}
BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")
PIECE_LIMIT = 1 << 24
UNKNOWN_SURFACE = " ⁇ "
HOLDS = (
    *("added_tokens", "byte_fallback", "decoders", "kind", "metadata", "normalizers", "scores", "unknown_id"),
    "unused_ids",
)


def sniff(data: bytes, path: str) -> bool:
    """Whether the data start with a protobuf message that starts with a short text: the first piece."""
    return len(data) > 3 and data[0] == data[2] == 0x0A and 0 < data[3] <= data[1] - 2 < 0x7E


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    refuse_arguments("a SentencePiece model", pattern, special_tokens)
    return read_message(parse_model(data, path), path)


def read_message(message: Any, path: str) -> Model:
    trainer, normalizer = message.trainer_spec, message.normalizer_spec
    check_specs(message, path)
    tokens: list[bytes] = []
    ids: list[int] = []
    scores: list[float] = []
    added: list[AddedToken] = []
    unused: list[int] = []
    for id, content, kind, score in parse_pieces(message, path):
        if kind in (CONTROL, UNKNOWN):
            added.append(AddedToken(content, id))
        elif kind == USER_DEFINED:
            added.append(AddedToken(content, id, special=False, normalized=True))
        else:
            tokens.append(content.encode())
            ids.append(id)
            scores.append(score)
            unused += [id] if is_unused(content, kind, trainer) else []
    surface = decode_text(trainer.unk_surface, path, "trainer_spec.unk_surface")
    kind_of_model = KINDS[trainer.model_type]
    strip = strip_option(normalizer.remove_extra_whitespaces, normalizer.add_dummy_prefix)
    unknown = surface if trainer.HasField("unk_surface") else UNKNOWN_SURFACE
    decoders = [make_step("sentencepiece", strip=strip, unknown=unknown)]
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
        metadata={"normalizer": name} if (name := decode_text(normalizer.name, path, "normalizer_spec.name")) else {},
    )


def is_unused(content: str, kind: int, trainer: Any) -> bool:
    """Whether no text becomes the piece. In a character model this holds for longer pieces, which merging would make."""
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
        if problem := charsmap_problem(charsmap):
            raise FormatError(path, f"{name}.precompiled_charsmap", problem)


def charsmap_problem(charsmap: bytes) -> str:
    """The error in a table of characters; "" if it is valid."""
    size = int.from_bytes(charsmap[:4], "little")
    is_broken = charsmap and (len(charsmap) < 4 + size or size % 4 or size == 0)
    return f"is broken: it claims a trie of {size} bytes but has only {len(charsmap)}" if is_broken else ""


def parse_pieces(message: Any, path: str) -> Iterator[tuple[int, str, int, float]]:
    """Id, content, type and score of each piece."""
    if not 0 < len(message.pieces) <= PIECE_LIMIT:
        raise FormatError(path, "pieces", f"expected 1 to {PIECE_LIMIT} pieces, not {len(message.pieces)}")
    ids: dict[str, int] = {}
    kinds = dict.fromkeys(range(NORMAL, BYTE + 1), 0)
    for id, piece in enumerate(message.pieces):
        place = f"piece {id}"
        content, kind = decode_text(piece.piece, path, place), piece.type
        if not content:
            raise FormatError(path, place, "is empty")
        if (other := ids.setdefault(content, id)) != id:
            raise FormatError(path, place, f"{content!r} occurs twice; piece {other} is the same")
        problem = piece_problem(content, kind, message.trainer_spec.byte_fallback)
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


def piece_problem(content: str, kind: int, byte_fallback: bool) -> str:
    """The error in a piece; "" if it is valid."""
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
    """The step that rewrites a whole text, from a normalizer's message."""
    return make_step(
        kind,
        charsmap=base64.b64encode(spec.precompiled_charsmap).decode(),
        dummy=("after" if suffix else "before") if spec.add_dummy_prefix else "nowhere",
        escape=spec.escape_whitespaces,
        remove_extra=spec.remove_extra_whitespaces,
    )


def strip_option(remove_extra: bool, dummy: bool) -> str:
    """The decoder's option `strip` (the leading spaces that decoding removes), which the normalizer decides."""
    return "each" if remove_extra else "once" if dummy else "nothing"


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    """The bytes of a model that SentencePiece loads; it gives the same ids for every text."""
    refuse_losses(model, NAME, allow_loss, holds=HOLDS)
    check_kind(model)
    denormalizers = [step for step in model.decoders[1:2] if step.kind == "denormalizer"]
    decoders = dataclasses.replace(model, decoders=model.decoders[:1]) if denormalizers else model
    normalizer, decoder = single_step(model, "normalizers"), single_step(decoders, "decoders")
    message = new_model()
    for content, kind, score in piece_rows(model):
        message.pieces.add(piece=content.encode(), type=kind, score=score)
    trainer, spec = message.trainer_spec, message.normalizer_spec
    trainer.model_type = MODEL_TYPES[model.kind]
    trainer.byte_fallback = model.byte_fallback
    trainer.treat_whitespace_as_suffix = normalizer["dummy"] == "after"
    if decoder["unknown"] != UNKNOWN_SURFACE:
        trainer.unk_surface = decoder["unknown"].encode()
    spec.name = normalizer_name(model, allow_loss).encode()
    write_rewriting(spec, normalizer)
    for step in denormalizers:
        if step["dummy"] == "after" or not step["charsmap"]:
            raise CannotRepresent(NAME, "decoders", "a denormalizer needs a charsmap, and adds no space after a text")
        write_rewriting(message.denormalizer_spec, step)
    strip = strip_option(spec.remove_extra_whitespaces, spec.add_dummy_prefix)
    if decoder["strip"] != strip:
        problem = f"the normalizer decides which spaces decoding removes: {strip!r}, not {decoder['strip']!r}"
        raise CannotRepresent(NAME, "decoders", problem)
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def write_rewriting(spec: Any, step: Step) -> None:
    """Writes the options of a step that rewrites a whole text into a normalizer's message."""
    spec.precompiled_charsmap = base64.b64decode(step["charsmap"])
    spec.add_dummy_prefix = step["dummy"] != "nowhere"
    spec.remove_extra_whitespaces = step["remove_extra"]
    spec.escape_whitespaces = step["escape"]


def check_kind(model: Model, format: str = NAME) -> None:
    """Raises CannotRepresent unless the model merges characters by scores, or is a unigram model or a model of words."""
    kinds = [*MODEL_TYPES] if format == NAME else ["unigram", "bpe"]
    if model.kind not in kinds:
        raise CannotRepresent(format, "kind", f"the format supports only {', '.join(kinds)}")
    rule = "bytes" if model.kind == "bpe" else "pair"
    needed = {"unit": "char", "merge_rule": rule, "whole_piece": False, "splitters": ()}
    for field, value in needed.items():
        if getattr(model, field) != value:
            raise CannotRepresent(format, field, f"the format requires {field}={value!r} for this kind")
    if model.scores is None:
        raise CannotRepresent(format, "scores", "the format requires scores, and the model has none")
    if model.scores.dtype != np.float32:
        raise CannotRepresent(format, "scores", "the format stores scores in single precision")
    if not np.isfinite(model.scores).all() and (format != NAME or model.kind == "unigram"):
        raise CannotRepresent(format, "scores", "the format requires finite scores")
    if model.unknown_id is None and (format != NAME or not model.byte_fallback):
        raise CannotRepresent(format, "unknown_id", "the format requires one")


def single_step(model: Model, field: str, format: str = NAME) -> Step:
    """The one step of a field, which must be SentencePiece's."""
    steps: tuple[Step, ...] = getattr(model, field)
    if len(steps) != 1 or steps[0].kind != "sentencepiece":
        raise CannotRepresent(format, field, f"the format supports a single SentencePiece step, not {steps}")
    return steps[0]


def normalizer_name(model: Model, allow_loss: Collection[str]) -> str:
    """The name of the normalizer, the only metadata that the format can store."""
    if model.metadata.keys() - {"normalizer"} and "metadata" not in allow_loss:
        raise CannotRepresent(NAME, "metadata", "the format has no field for it; allow_loss=['metadata'] leaves it out")
    return model.metadata.get("normalizer", "")


def piece_rows(model: Model, format: str = NAME) -> list[tuple[str, int, float]]:
    """Content, type and score of each piece, by id."""
    rows: dict[int, tuple[str, int, float]] = {}
    contents: set[str] = set()
    unused = frozenset(model.unused_ids)
    scores: Any = model.scores
    for id, token, score in zip(model.ids.tolist(), model.tokens, scores.tolist(), strict=True):
        try:
            content = token.decode()
        except UnicodeDecodeError as error:
            raise CannotRepresent(format, "tokens", f"{token!r} is not UTF-8") from error
        is_byte = model.byte_fallback and BYTE_PIECE.fullmatch(content)
        rows[id] = (content, BYTE if is_byte else UNUSED if id in unused else NORMAL, score)
        contents.add(content)
    for added in model.added_tokens:
        if added.id in rows or added.content in contents:
            raise CannotRepresent(format, "added_tokens", f"{added.content!r} (id {added.id}) is already a piece")
        rows[added.id] = (added.content, piece_type(added, model, format), 0.0)
        contents.add(added.content)
    if sorted(rows) != list(range(len(rows))):
        raise CannotRepresent(format, "ids", "the format requires ids without holes")
    if model.unknown_id is not None and model.unknown_id not in {
        token.id for token in model.added_tokens if token.special
    }:
        raise CannotRepresent(format, "unknown_id", "the unknown id must belong to a special token")
    if np.any(np.diff(model.ids.astype(np.int64)) < 0):
        raise CannotRepresent(format, "ids", "the tokens must be in the order of their ids")
    if model.byte_fallback and sum(kind == BYTE for _, kind, _ in rows.values()) != 256:
        raise CannotRepresent(format, "byte_fallback", "each of the 256 bytes needs a token")
    return [rows[id] for id in range(len(rows))]


def piece_type(token: AddedToken, model: Model, format: str) -> int:
    """SentencePiece's type of an added token; raises CannotRepresent if its flags fit none."""
    if token == AddedToken(token.content, token.id):
        return UNKNOWN if token.id == model.unknown_id else CONTROL
    if token == AddedToken(token.content, token.id, special=False, normalized=True):
        return USER_DEFINED
    problem = f"{token.content!r} has flags that fit neither a control token nor a user-defined one"
    raise CannotRepresent(format, "added_tokens", problem)
