"""Saves a model of characters with scores as SentencePiece's `.model`; `sentencepiece.py` loads it."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Collection
from typing import Any

import numpy as np

from .._base.errors import CannotRepresent
from .._model.model import AddedToken, Model, Step
from .arguments import refuse_losses
from .protobuf import new_model

__all__ = ["save"]

NAME = "sentencepiece"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
MODEL_TYPES = {"unigram": 1, "bpe": 2, "words": 3}
BYTE_PIECES = frozenset(f"<0x{byte:02X}>" for byte in range(256))
UNKNOWN_SURFACE = " ⁇ "
HOLDS = (
    *("added_tokens", "byte_fallback", "decoders", "kind", "metadata", "normalizers", "scores", "unknown_id"),
    "unused_ids",
)


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    """The model that SentencePiece loads; it gives the same ids for every text."""
    refuse_losses(model, NAME, allow_loss, holds=HOLDS)
    check_kind(model)
    denormalizers = [step for step in model.decoders[1:2] if step.kind == "denormalizer"]
    decoders = dataclasses.replace(model, decoders=model.decoders[:1]) if denormalizers else model
    normalizer, decoder = only(model, "normalizers"), only(decoders, "decoders")
    message = new_model()
    for content, kind, score in pieces(model):
        message.pieces.add(piece=content.encode(), type=kind, score=score)
    trainer, spec = message.trainer_spec, message.normalizer_spec
    trainer.model_type = MODEL_TYPES[model.kind]
    trainer.byte_fallback = model.byte_fallback
    trainer.treat_whitespace_as_suffix = normalizer["dummy"] == "after"
    if decoder["unknown"] != UNKNOWN_SURFACE:
        trainer.unk_surface = decoder["unknown"].encode()
    spec.name = name_of(model, allow_loss).encode()
    write_rewriting(spec, normalizer)
    for step in denormalizers:
        if step["dummy"] == "after" or not step["charsmap"]:
            raise CannotRepresent(NAME, "decoders", "a denormalizer needs a charsmap, and adds no space after a text")
        write_rewriting(message.denormalizer_spec, step)
    strip = "each" if spec.remove_extra_whitespaces else "once" if spec.add_dummy_prefix else "nothing"
    if decoder["strip"] != strip:
        problem = f"the normalizer decides which spaces decoding removes: {strip!r}, not {decoder['strip']!r}"
        raise CannotRepresent(NAME, "decoders", problem)
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def write_rewriting(spec: Any, step: Step) -> None:
    """Writes how a text is rewritten as a whole."""
    spec.precompiled_charsmap = base64.b64decode(step["charsmap"])
    spec.add_dummy_prefix = step["dummy"] != "nowhere"
    spec.remove_extra_whitespaces = step["remove_extra"]
    spec.escape_whitespaces = step["escape"]


def check_kind(model: Model, format: str = NAME) -> None:
    """Raises CannotRepresent unless scores merge the model's characters, or it is a unigram model or one of words."""
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


def only(model: Model, field: str, format: str = NAME) -> Step:
    """The one step of a field, which must be SentencePiece's."""
    steps: tuple[Step, ...] = getattr(model, field)
    if len(steps) != 1 or steps[0].kind != "sentencepiece":
        raise CannotRepresent(format, field, f"the format supports a single SentencePiece step, not {steps}")
    return steps[0]


def name_of(model: Model, allow_loss: Collection[str]) -> str:
    """The name of the normalizer, the only metadata that the format can store."""
    if model.metadata.keys() - {"normalizer"} and "metadata" not in allow_loss:
        raise CannotRepresent(NAME, "metadata", "the format has no field for it; allow_loss=['metadata'] leaves it out")
    return model.metadata.get("normalizer", "")


def pieces(model: Model, format: str = NAME) -> list[tuple[str, int, float]]:
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
        is_byte = model.byte_fallback and content in BYTE_PIECES
        rows[id] = (content, BYTE if is_byte else UNUSED if id in unused else NORMAL, score)
        contents.add(content)
    for added in model.added_tokens:
        if added.id in rows or added.content in contents:
            raise CannotRepresent(format, "added_tokens", f"{added.content!r} (id {added.id}) is already a piece")
        rows[added.id] = (added.content, type_of(added, model, format), 0.0)
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


def type_of(token: AddedToken, model: Model, format: str) -> int:
    """What SentencePiece calls such a token."""
    if token == AddedToken(token.content, token.id):
        return UNKNOWN if token.id == model.unknown_id else CONTROL
    if token == AddedToken(token.content, token.id, special=False, normalized=True):
        return USER_DEFINED
    problem = f"{token.content!r} has flags that fit neither a control token nor a user-defined one"
    raise CannotRepresent(format, "added_tokens", problem)
