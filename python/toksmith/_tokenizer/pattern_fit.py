"""Whether a split pattern fits a vocabulary: which of its tokens do not encode to themselves.

A token that is text, encoded as a text of its own, gives its own id under the pattern that its vocabulary was trained
with, but for a few that need something around them. Under another pattern thousands do not. A token with a mark is encoded
where the mark says that it belongs: at the start of a word, inside one or at its end. Left out: tokens that are not whole
characters, because no text is equal to them, tokens for bytes, and added tokens.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base.threads import thread_count
from .._formats.texts import unspelt
from .._model.model import BYTE_TOKENS, Model, Step, TokenTable
from .._model.steps import engine_of

__all__ = ["TokenTexts", "misfits", "not_alone", "token_texts"]

SPACE_MARK = "▁"


@dataclass(frozen=True, eq=False)
class TokenTexts:
    """The ordinary tokens that are text, by rank: ids (uint32), what is encoded for each, and the texts that they stand for."""

    ids: NDArray[np.uint32]
    pieces: Sequence[str]
    texts: Sequence[str]


def token_texts(model: Model) -> TokenTexts:
    """The ordinary tokens of a model that are whole characters: what they hold, without the marks of parts of words."""
    added = {token.id for token in model.added_tokens}
    kinds = {step.kind for step in (*model.normalizers, *model.splitters)}
    spelt = model.unit == "char" and "byte_characters" in kinds
    ids, pieces = [], []
    for id, token in zip(model.ids.tolist(), model.tokens, strict=True):
        try:
            piece = token.decode()
            piece = (unspelt(piece) or token).decode() if spelt else piece
        except UnicodeDecodeError:
            continue
        if id not in added and not (model.byte_fallback and token in BYTE_TOKENS):
            ids.append(id)
            pieces.append(piece.removeprefix(model.continuing_subword_prefix).removesuffix(model.end_of_word_suffix))
    marked = not kinds.isdisjoint(("sentencepiece", "metaspace", "replace"))
    texts = [piece.replace(SPACE_MARK, " ") for piece in pieces] if marked else pieces
    return TokenTexts(np.array(ids, np.uint32), pieces, texts)


def not_alone(engine: _core.Engine, texts: Sequence[str], ids: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """For each text whether it does not encode to its id alone.

    Cost: one encoding of all texts.
    """
    given, ends = engine.encode_ragged(texts, "text", "replace", thread_count(None))
    ends = ends.astype(np.int64)
    alone = np.diff(ends, prepend=0) == 1
    found = np.zeros(len(ends), np.bool_)
    found[alone] = given[ends[alone] - 1] == ids[alone]
    return ~found


def misfits(model: Model, tokens: TokenTexts) -> NDArray[np.bool_]:
    """For each token whether it does not encode to itself, where its marks say that it belongs."""
    inside = np.array([is_inside(model, token) for token in map(model.vocab.token, tokens.ids.tolist())], np.bool_)
    found = np.zeros(len(tokens.ids), np.bool_)
    for places, place_of in ((~inside, without_prefixes), (inside, inside_words)):
        rows = np.flatnonzero(places)
        if len(rows):
            texts = [tokens.pieces[row] for row in rows.tolist()]
            found[rows] = not_alone(engine_of(place_of(model)), texts, tokens.ids[rows])
    return found


def is_inside(model: Model, token: bytes | None) -> bool:
    """Whether a token is one that continues a word, or that does not end one."""
    prefix, suffix = model.continuing_subword_prefix, model.end_of_word_suffix
    token = token or b""
    if model.kind == "wordpiece":
        return prefix != "" and token.startswith(prefix.encode())
    return suffix != "" and not token.endswith(suffix.encode())


def without_prefixes(model: Model) -> Model:
    """The model without what it puts before texts and words, so that a token is encoded as it is."""

    def plain(step: Step) -> Step:
        more: dict[str, dict[str, object]] = {
            "sentencepiece": {"dummy": "nowhere", "remove_extra": False},
            "metaspace": {"prepend": "never"},
        }
        return Step(step.kind, tuple(sorted({**dict(step.options), **more.get(step.kind, {})}.items())))

    def kept(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(plain(step) for step in steps if step.kind not in ("prepend", "prefix_space"))

    return dataclasses.replace(
        model, normalizers=kept(model.normalizers), splitters=kept(model.splitters), added_tokens=()
    )


def inside_words(model: Model) -> Model:
    """The model with the tokens that continue words at their start, or with no mark at the end of words."""
    plain = without_prefixes(model)
    if model.kind != "wordpiece":
        return dataclasses.replace(plain, end_of_word_suffix="", decoders=())
    prefix = model.continuing_subword_prefix.encode()
    rows = [row for row, token in enumerate(model.tokens) if token.startswith(prefix) and token != prefix]
    table = TokenTable.of([model.tokens[row].removeprefix(prefix) for row in rows])
    return dataclasses.replace(plain, tokens=table, ids=model.ids[rows])
