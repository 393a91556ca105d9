"""How a model merges, one pair at a time: the first symbols of a piece, which neighbours merge, and in which order.

The rule is that of `docs/spec.md`; tests compare the resulting ids with the engine's. Left out: speed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._base.errors import InvalidOption
from .._model.model import BYTE_TOKENS, Model
from .._tokenizer.tokenizer import Tokenizer

__all__ = ["Rules", "Symbol", "Use", "ranks_of", "rules_of"]


class Symbol(NamedTuple):
    """A symbol of a piece during merging: its bytes, and the id of its token
    (None: not a token)."""

    token: bytes
    id: int | None


class Use(NamedTuple):
    """A merge that a token is a part of: the two ids, and the id and the bytes
    that they become."""

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
        self.falling = np.empty(0) if model.scores is None else np.sort(-model.scores)  # from the highest score on
        self.uses: dict[int, list[Use]] | None = None

    def symbols(self, piece: bytes) -> list[Symbol]:
        """The piece before the first merge."""
        if self.model.kind == "words":
            return [self.symbol(piece)]
        if self.model.unit == "byte":
            return [self.symbol(piece[at : at + 1]) for at in range(len(piece))]
        found = []
        at = 0
        for match in [*(self.frozen.finditer(piece) if self.frozen else ()), None]:
            stop = len(piece) if match is None else match.start()
            found += [self.symbol(char) for char in characters(piece[at:stop])]
            if match is not None:
                found.append(self.symbol(match.group()))
                at = match.end()
        return found

    def symbol(self, token: bytes) -> Symbol:
        id = self.model.vocab.id(token)
        if id is None and self.frozen is not None:
            id = next((added.id for added in self.model.added_tokens if added.content.encode() == token), None)
        return Symbol(token, id)

    def merge(self, left: Symbol, right: Symbol) -> tuple[int, int] | None:
        """The rank of the merge of two neighbours and the id that it makes; None if they do not merge."""
        if self.model.kind != "bpe" or any(self.is_frozen(symbol.token) for symbol in (left, right)):
            return None
        if self.pairs is not None:
            return None if left.id is None or right.id is None else self.pairs.get((left.id, right.id))
        id = self.model.vocab.id(left.token + right.token)
        if id is None or (self.model.byte_fallback and left.token + right.token in BYTE_TOKENS):
            return None
        return self.rank(id), id

    def rank(self, id: int) -> int:
        """The place of a token in the order of merges, where any two neighbours that make it merge by that."""
        place = self.places[id]
        if self.model.scores is None:
            return place
        return int(np.searchsorted(self.falling, -self.model.scores[place], "left"))

    def is_frozen(self, token: bytes) -> bool:
        """Whether a symbol stays whole: nothing merges with it."""
        return self.frozen is not None and self.frozen.fullmatch(token) is not None

    def used(self, id: int) -> list[Use]:
        """The merges that a token is a part of, in rank order."""
        if self.uses is None:
            self.uses = {}
            for left, right, result in self.model.vocab.recover_merges().tolist() if self.model.kind == "bpe" else ():
                use = Use(left, right, result, self.model.vocab.token(result) or b"")
                for part in {left, right}:
                    self.uses.setdefault(part, []).append(use)
        return self.uses.get(id, [])


@lru_cache(maxsize=16)
def rules_of(tok: Tokenizer) -> Rules:
    """The rules of a tokenizer, made once."""
    if tok.model.kind not in ("bpe", "chars", "words"):
        allowed = f"a tokenizer that merges; this one has the kind {tok.model.kind!r}, which does not merge"
        raise InvalidOption("tok", tok, allowed)
    return Rules(tok.model)


@lru_cache(maxsize=16)
def ranks_of(tok: Tokenizer) -> dict[int, int]:
    """The rank of each token that a merge makes, by its id: of the first merge, where several make it."""
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


def characters(data: bytes) -> Iterator[bytes]:
    """The characters of UTF-8; a byte that is not part of one is kept as it is."""
    for char in data.decode("utf-8", "surrogateescape"):
        yield char.encode("utf-8", "surrogateescape")
