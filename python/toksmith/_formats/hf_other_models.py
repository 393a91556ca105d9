"""The `model` of a `tokenizer.json` that covers pieces with tokens: WordPiece, WordLevel and Unigram, one row each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._base.errors import CannotRepresent, number_of
from .._model.model import AddedToken, Model, Step
from .hf_model import of_characters, read_vocab
from .hf_numbers import read_number
from .json import JsonObject

__all__ = ["DUMPS", "READERS", "ids_of"]

Steps = dict[str, tuple[Step, ...]]
NO_UNKNOWN = "[UNK]"


def ids_of(vocab: object) -> Mapping[str, int]:
    """The ids by token of a `vocab` that may be anything: an object, or a list of tokens with scores."""
    if isinstance(vocab, list):
        rows = [row[0] if isinstance(row, list) and row else None for row in vocab]
        return {token: id for id, token in enumerate(rows) if isinstance(token, str)}
    return vocab if isinstance(vocab, dict) else {}


def read_wordpiece(part: JsonObject, steps: Steps, added: tuple[AddedToken, ...]) -> Model:
    """The model of a `WordPiece` part; without its unknown token, what cannot be covered is refused, as there."""
    prefix, unknown = part.text("continuing_subword_prefix", "##"), part.text("unk_token", NO_UNKNOWN)
    longest = part.number("max_input_chars_per_word", 100)
    vocab = read_vocab(part)
    fields = {"continuing_subword_prefix": prefix, "max_piece_chars": longest, "unknown_id": vocab.get(unknown)}
    return of_characters(vocab, steps, kind="wordpiece", added_tokens=added, **fields)


def read_words(part: JsonObject, steps: Steps, added: tuple[AddedToken, ...]) -> Model:
    """The model of a `WordLevel` part."""
    unknown = part.text("unk_token", NO_UNKNOWN)
    vocab = read_vocab(part)
    return of_characters(vocab, steps, kind="words", added_tokens=added, unknown_id=vocab.get(unknown))


def read_unigram(part: JsonObject, steps: Steps, added: tuple[AddedToken, ...]) -> Model:
    """The model of a `Unigram` part: a list of tokens with scores, whose places are ids."""
    unknown, fallback = part.number("unk_id", None), part.flag("byte_fallback", False)
    rows = part.take("vocab", list)
    vocab: dict[str, int] = {}
    scores = []
    for id, row in enumerate(rows):
        if type(row) is not list or len(row) != 2 or type(row[0]) is not str or type(row[1]) not in (int, float):
            part.fail("must be a token and its score", f"vocab[{id}]")
        if not row[0]:
            part.fail("contains an empty token", f"vocab[{id}]")
        if vocab.setdefault(row[0], id) != id:
            part.fail(f"{row[0]!r} is already at place {vocab[row[0]]}", f"vocab[{id}]")
        scores.append(as_score(part, row[1], id))
    if not vocab:
        part.fail("must contain a token", "vocab")
    if unknown is not None and unknown >= len(vocab):
        part.fail(f"is {unknown}, but the vocabulary has only {number_of(len(vocab), 'token')}", "unk_id")
    every_byte = fallback and all(f"<0x{byte:02X}>" in vocab for byte in range(256))
    if fallback and not every_byte:
        part.fail("requires a token for each byte, <0x00> to <0xFF>", "byte_fallback")
    fields = {"scores": np.array(scores, np.float64), "unknown_id": unknown, "byte_fallback": fallback}
    return of_characters(vocab, steps, kind="unigram", added_tokens=added, **fields)


def as_score(part: JsonObject, score: float, id: int) -> float:
    """A score that is finite. Python reads an integer exactly, which the format does not."""
    try:
        number = read_number(str(score)) if isinstance(score, int) else score
    except ValueError:
        number = math.inf
    if not math.isfinite(number):
        part.fail("has a score that is not finite", f"vocab[{id}]")
    return number


READERS = {"WordPiece": read_wordpiece, "WordLevel": read_words, "Unigram": read_unigram}


def unknown_of(model: Model, vocab: Mapping[str, int], format: str) -> str:
    """The unknown token; where there is none, one that is not in the vocabulary."""
    if model.unknown_id is None:
        if NO_UNKNOWN in vocab:
            problem = f"the format requires one, and the vocabulary uses {NO_UNKNOWN} for another token"
            raise CannotRepresent(format, "unknown_id", problem)
        return NO_UNKNOWN
    found = next((token for token, id in vocab.items() if id == model.unknown_id), None)
    if found is None:
        raise CannotRepresent(format, "unknown_id", f"no token in the vocabulary has the id {model.unknown_id}")
    return found


def dump_wordpiece(model: Model, vocab: dict[str, int], format: str) -> dict[str, Any]:
    """The `WordPiece` part."""
    if model.max_piece_chars is None:
        raise CannotRepresent(format, "max_piece_chars", "the format requires a limit on the length of a piece")
    return {
        "type": "WordPiece",
        "unk_token": unknown_of(model, vocab, format),
        "continuing_subword_prefix": model.continuing_subword_prefix,
        "max_input_chars_per_word": model.max_piece_chars,
        "vocab": vocab,
    }


def dump_words(model: Model, vocab: dict[str, int], format: str) -> dict[str, Any]:
    """The `WordLevel` part."""
    return {"type": "WordLevel", "vocab": vocab, "unk_token": unknown_of(model, vocab, format)}


def dump_unigram(model: Model, vocab: dict[str, int], format: str) -> dict[str, Any]:
    """The `Unigram` part, whose ids are places."""
    if model.scores is None or model.scores.dtype != np.float64:
        raise CannotRepresent(format, "scores", "the format stores scores in double precision, which can change ids")
    scores = dict(zip(model.ids.tolist(), model.scores.tolist(), strict=True))
    if sorted(vocab.values()) != list(range(len(scores))):
        raise CannotRepresent(format, "ids", "the format requires ids without holes and a score for each token")
    return {
        "type": "Unigram",
        "unk_id": model.unknown_id,
        "vocab": [[token, scores[id]] for token, id in sorted(vocab.items(), key=lambda item: item[1])],
        "byte_fallback": model.byte_fallback,
    }


DUMPS: Mapping[str, Callable[[Model, dict[str, int], str], dict[str, Any]]] = {
    "wordpiece": dump_wordpiece,
    "words": dump_words,
    "unigram": dump_unigram,
}
