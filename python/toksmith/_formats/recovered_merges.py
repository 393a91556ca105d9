"""Recovers the merges of a model for formats that list pairs and do not look up whole pieces."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._base import lazy_numpy as np
from .._base.wording import number_of
from .._model.model import Model
from ..errors import CannotRepresent

if TYPE_CHECKING:
    from numpy.typing import NDArray


def unreached_ids(model: Model, merges: NDArray[np.uint32]) -> list[int]:
    """The ids of the tokens longer than one symbol that none of these merges makes."""
    results = set(merges[:, 2].tolist())
    single = 1 if model.unit == "byte" else None
    return [
        id
        for id, token in zip(model.ids.tolist(), model.tokens, strict=True)
        if id not in results and len(token if single else token.decode("utf-8", "replace")) > 1
    ]


def pair_merges(model: Model, format: str) -> NDArray[Any]:
    """The list of merges that gives the model's ids without whole-piece lookup; raises CannotRepresent if none does.

    Merging by bytes makes a token in only one way, the same as merging its bytes as a separate text. So the list of each
    token's last merge is the same rule. It loses only tokens that merging does not reach but that the whole-piece lookup
    finds; each token is checked for this.
    """
    merges = model.vocab.recover_merges()
    if model.whole_piece:
        lost = whole_piece_only(model, merges)
        if lost:
            examples = ", ".join(str(model.vocab.token(id)) for id in lost[:3])
            problem = (
                f"{number_of(len(lost), 'token')} can be found only as whole pieces, not by merging, such as {examples}"
            )
            raise CannotRepresent(format, "whole_piece", problem)
    return merges


def whole_piece_only(model: Model, merges: NDArray[np.uint32]) -> list[int]:
    """The ids of the tokens that merging their own symbols does not make."""
    missing = unreached_ids(model, merges)
    if model.merge_rule == "bytes" or missing:
        return missing
    ranks = {(left, right): (rank, result) for rank, (left, right, result) in enumerate(merges.tolist())}
    single = {token: id for id, token in zip(model.ids.tolist(), model.tokens, strict=True)}
    lost = []
    for token, id in single.items():
        symbols = [bytes([byte]) for byte in token] if model.unit == "byte" else [c.encode() for c in token.decode()]
        if merge_ids([single[symbol] for symbol in symbols], ranks) != [id]:
            lost.append(id)
    return lost


def merge_ids(ids: list[int], ranks: Mapping[tuple[int, int], tuple[int, int]]) -> list[int]:
    """The ids after all merges: lowest rank first, leftmost first among equal ranks."""
    while len(ids) > 1:
        candidates = [(*ranks[pair], at) for at, pair in enumerate(itertools.pairwise(ids)) if pair in ranks]
        if not candidates:
            break
        _, result, at = min(candidates, key=lambda merge: (merge[0], merge[2]))
        ids[at : at + 2] = [result]
    return ids
