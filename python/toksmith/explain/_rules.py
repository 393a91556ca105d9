"""The merge rule of a model, one pair at a time: the first symbols of a piece, the pairs that merge, and their order.

`docs/spec.md` defines the rule; tests compare the resulting ids with the engine's. Left out: speed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._model.model import BYTE_TOKENS, Model
from .._tokenizer.tokenizer import Tokenizer
from ..errors import InvalidOption


class Symbol(NamedTuple):
    """A symbol of a piece during merging: its bytes, and the id of its token
    (None if it is not a token)."""

    token: bytes
    id: int | None


class Use(NamedTuple):
    """A merge that uses a token as a part: the two ids, and the id and the bytes
    of the result."""

    left: int
    right: int
    id: int
    token: bytes


class Rules:
    """The merges of one model. `rank` orders them: the lowest first; equal ranks go from left to right."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.pairs: dict[tuple[int, int], tuple[int, int]] | None = None
        if model.merge_rule == "pair" and model.kind == "bpe":
            self.pairs = {}
            for rank, (left, right, id) in enumerate(model.merges.tolist()):
                self.pairs.setdefault((left, right), (rank, id))
        self.places = {id: place for place, id in enumerate(model.ids.tolist())}
        contents = sorted((added.content for added in model.added_tokens if added.normalized), key=len, reverse=True)
        self.frozen = re.compile("|".join(map(re.escape, contents)).encode()) if contents else None
        self.falling = np.empty(0) if model.scores is None else np.sort(-model.scores)  # highest score first
        self.uses: dict[int, list[Use]] | None = None

    def symbols(self, piece: bytes) -> list[Symbol]:
        """The piece before the first merge."""
        if self.model.kind == "words":
            return [self.symbol(piece)]
        if self.model.unit == "byte":
            return [self.symbol(piece[at : at + 1]) for at in range(len(piece))]
        symbols = []
        at = 0
        for match in [*(self.frozen.finditer(piece) if self.frozen else ()), None]:
            stop = len(piece) if match is None else match.start()
            symbols += [self.symbol(char) for char in utf8_characters(piece[at:stop])]
            if match is not None:
                symbols.append(self.symbol(match.group()))
                at = match.end()
        return symbols

    def symbol(self, token: bytes) -> Symbol:
        id = self.model.vocab.id(token)
        if id is None and self.frozen is not None:
            id = next((added.id for added in self.model.added_tokens if added.content.encode() == token), None)
        return Symbol(token, id)

    def merge(self, left: Symbol, right: Symbol) -> tuple[int, int] | None:
        """The rank and the result id of the merge of two neighbours; None if they do not merge."""
        if self.model.kind != "bpe" or any(self.is_frozen(symbol.token) for symbol in (left, right)):
            return None
        if self.pairs is not None:
            return None if left.id is None or right.id is None else self.pairs.get((left.id, right.id))
        id = self.model.vocab.id(left.token + right.token)
        if id is None or (self.model.byte_fallback and left.token + right.token in BYTE_TOKENS):
            return None
        return self.rank(id), id

    def rank(self, id: int) -> int:
        """The rank of every pair that makes a token, in a model without a list of pairs."""
        place = self.places[id]
        if self.model.scores is None:
            return place
        return int(np.searchsorted(self.falling, -self.model.scores[place], "left"))

    def is_frozen(self, token: bytes) -> bool:
        """Whether a symbol stays whole: nothing merges with it."""
        return self.frozen is not None and self.frozen.fullmatch(token) is not None

    def used(self, id: int) -> list[Use]:
        """The merges that use a token as a part, in rank order."""
        if self.uses is None:
            self.uses = {}
            for left, right, result in self.model.vocab.recover_merges().tolist() if self.model.kind == "bpe" else ():
                use = Use(left, right, result, self.model.vocab.token(result) or b"")
                for part in {left, right}:
                    self.uses.setdefault(part, []).append(use)
        return self.uses.get(id, [])


@lru_cache(maxsize=16)
def rules_of(tok: Tokenizer) -> Rules:
    """The rules of a tokenizer, cached."""
    if tok.model.kind not in ("bpe", "chars", "words"):
        allowed = f"a tokenizer that merges; this one has the kind {tok.model.kind!r}, which does not merge"
        raise InvalidOption("tok", tok, allowed)
    return Rules(tok.model)


@lru_cache(maxsize=16)
def ranks_of(tok: Tokenizer) -> dict[int, int]:
    """The rank of each token that a merge makes, by id; the first merge counts if several make it."""
    model = tok.model
    if model.kind != "bpe":
        return {}
    if model.merge_rule == "pair":
        ranks: dict[int, int] = {}
        for rank, id in enumerate(model.merges[:, 2].tolist()):
            ranks.setdefault(id, rank)
        return ranks
    base = 1 if model.unit == "byte" else 0
    rules = rules_of(tok)
    return {id: rules.rank(id) for id, token in zip(model.ids.tolist(), model.tokens, strict=True) if len(token) > base}


def utf8_characters(data: bytes) -> Iterator[bytes]:
    """The characters of UTF-8; a byte that is not part of a character is one item."""
    for char in data.decode("utf-8", "surrogateescape"):
        yield char.encode("utf-8", "surrogateescape")
