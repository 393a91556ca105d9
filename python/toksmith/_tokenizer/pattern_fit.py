"""Tests whether a split pattern fits a vocabulary: which tokens do not encode to themselves.

A token that is text, encoded alone, gives its own id under the pattern of its training, except for a few tokens that need
text around them. Under another pattern thousands do not. A token with a mark is encoded at the place of the mark: at the
start of a word, inside one or at its end. Left out: tokens that are not whole characters, because no text equals them, byte
tokens, and added tokens.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base.threads import thread_count
from .._formats.texts import from_gpt2_alphabet
from .._model.model import BYTE_TOKENS, Model, Step, TokenTable
from .._model.steps import engine_of

SPACE_MARK = "▁"


@dataclass(frozen=True, eq=False)
class TokenTexts:
    """The ordinary tokens that are text, by rank: ids (uint32), the piece to encode for each, and the texts they stand for."""

    ids: NDArray[np.uint32]
    pieces: Sequence[str]
    texts: Sequence[str]


def token_texts(model: Model) -> TokenTexts:
    """The ordinary tokens of a model that are whole characters, without the marks of parts of words."""
    added = {token.id for token in model.added_tokens}
    kinds = {step.kind for step in (*model.normalizers, *model.splitters)}
    is_spelled = model.unit == "char" and "byte_characters" in kinds
    ids, pieces = [], []
    for id, token in zip(model.ids.tolist(), model.tokens, strict=True):
        try:
            piece = token.decode()
            piece = (from_gpt2_alphabet(piece) or token).decode() if is_spelled else piece
        except UnicodeDecodeError:
            continue
        if id not in added and not (model.byte_fallback and token in BYTE_TOKENS):
            ids.append(id)
            pieces.append(piece.removeprefix(model.continuing_subword_prefix).removesuffix(model.end_of_word_suffix))
    marked = not kinds.isdisjoint(("sentencepiece", "metaspace", "replace"))
    texts = [piece.replace(SPACE_MARK, " ") for piece in pieces] if marked else pieces
    return TokenTexts(np.array(ids, np.uint32), pieces, texts)


def differs_alone(engine: _core.Engine, texts: Sequence[str], ids: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """For each text, whether its encoding differs from its one id.

    Cost: one encoding of all texts.
    """
    encoded_ids, ends = engine.encode_ragged(texts, "text", "replace", thread_count(None))
    ends = ends.astype(np.int64)
    single = np.diff(ends, prepend=0) == 1
    matches = np.zeros(len(ends), np.bool_)
    matches[single] = encoded_ids[ends[single] - 1] == ids[single]
    return ~matches


def find_misfits(model: Model, tokens: TokenTexts) -> NDArray[np.bool_]:
    """For each token, whether it does not encode to itself at the place of its marks."""
    inside = np.array([is_inside(model, token) for token in map(model.vocab.token, tokens.ids.tolist())], np.bool_)
    result = np.zeros(len(tokens.ids), np.bool_)
    for places, place_of in ((~inside, model_without_prefixes), (inside, model_inside_words)):
        rows = np.flatnonzero(places)
        if len(rows):
            texts = [tokens.pieces[row] for row in rows.tolist()]
            result[rows] = differs_alone(engine_of(place_of(model)), texts, tokens.ids[rows])
    return result


def is_inside(model: Model, token: bytes | None) -> bool:
    """Whether a token continues a word, or does not end one."""
    prefix, suffix = model.continuing_subword_prefix, model.end_of_word_suffix
    token = token or b""
    if model.kind == "wordpiece":
        return prefix != "" and token.startswith(prefix.encode())
    return suffix != "" and not token.endswith(suffix.encode())


def model_without_prefixes(model: Model) -> Model:
    """The model without the prefixes that it adds to texts and words, so that a token is encoded unchanged."""

    def plain(step: Step) -> Step:
        overrides: dict[str, dict[str, object]] = {
            "sentencepiece": {"dummy": "nowhere", "remove_extra": False},
            "metaspace": {"prepend": "never"},
        }
        return Step(step.kind, tuple(sorted({**dict(step.options), **overrides.get(step.kind, {})}.items())))

    def keep_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(plain(step) for step in steps if step.kind not in ("prepend", "prefix_space"))

    return dataclasses.replace(
        model, normalizers=keep_steps(model.normalizers), splitters=keep_steps(model.splitters), added_tokens=()
    )


def model_inside_words(model: Model) -> Model:
    """The model in which tokens from inside words can start a text: without the prefix, or without the end-of-word mark."""
    plain = model_without_prefixes(model)
    if model.kind != "wordpiece":
        return dataclasses.replace(plain, end_of_word_suffix="", decoders=())
    prefix = model.continuing_subword_prefix.encode()
    rows = [row for row, token in enumerate(model.tokens) if token.startswith(prefix) and token != prefix]
    table = TokenTable.of([model.tokens[row].removeprefix(prefix) for row in rows])
    return dataclasses.replace(plain, tokens=table, ids=model.ids[rows])
