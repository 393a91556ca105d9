"""The lattice of a piece in a unigram model: all tokens that could cover a part of it, and the path with the highest sum of scores.

`reference.models.best_path` finds the path, and the best sum at each place: every beginning of the best path is a best path. Left
out: the drawing, which `static/lattice.js` makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

import toksmith
from toksmith._render import Shown, Table, token_text
from toksmith.reference.models import best_path

WORDS = re.compile(rb"\s*\S+|\s+$")  # take the place of pieces, because a whole text is one piece
MOST_CHARACTERS = 40  # a wider lattice is unreadable


class Arc(NamedTuple):
    """A token over the characters `start` to `end`: its id (None for a character without a token), bytes and score."""

    start: int
    end: int
    id: int | None
    token: bytes
    score: float


@dataclass(frozen=True, repr=False)
class Lattice(Shown):
    """The tokens that can cover a piece, and the best path.

    Attributes:
        piece: The normalized piece.
        arcs: In order of their ends, then of their starts.
        sums: The highest sum of scores up to each place between characters.
        path: The indices of the arcs of the best path.
    """

    tokenizer: str
    piece: bytes
    arcs: tuple[Arc, ...]
    sums: tuple[float, ...]
    path: tuple[int, ...]

    def _parts(self) -> Iterator[Any]:
        yield f"{token_text(self.piece)} covered by {self.tokenizer}"
        rows = []
        for place, arc in enumerate(self.arcs):
            figures = [f"{each:.2f}" for each in (arc.score, self.sums[arc.start] + arc.score)]
            id = "no token" if arc.id is None else str(arc.id)
            chosen = "best path" if place in self.path else ""
            rows.append([f"{arc.start}-{arc.end}", token_text(arc.token), id, *figures, chosen])
        yield Table(["characters", "token", "id", "score", "sum up to here", ""], rows, left=(1, 5))


def lattice(tok: toksmith.Tokenizer, name: str, piece: str) -> Lattice:
    """The lattice of a piece.

    Raises: InvalidOption: The piece has more than 40 characters.
    """
    text = "".join(tok.split(piece, special="text"))
    if len(text) > MOST_CHARACTERS:
        found = f"{len(text):,} characters"
        raise toksmith.errors.InvalidOption("piece", found, f"at most {MOST_CHARACTERS}, such as one word")
    model = tok.model
    assert model.scores is not None
    exact = model.scores.dtype == np.float64
    places = {int(id): place for place, id in enumerate(model.ids)}
    spans = [(start, end) for end in range(1, len(text) + 1) for start in range(end)]
    by_text = {text[start:end]: model.vocab.id(text[start:end].encode()) for start, end in spans}
    ids = {token: id for token, id in by_text.items() if id is not None and id not in model.unused_ids}
    scores = {token: float(model.scores[places[id]]) for token, id in ids.items()}
    lowest = float(model.scores.min())
    # An unknown character has a score below the lowest, so a token that is not in the text stands for the lowest.
    paths = [best_path(text[:end], scores | {"": lowest}, exact=exact) for end in range(len(text) + 1)]
    scores |= {char: single(lowest - 10, exact) for char in text if char not in scores}
    arcs = [
        Arc(start, end, ids.get(text[start:end]), text[start:end].encode(), scores[text[start:end]])
        for start, end in spans
        if text[start:end] in scores
    ]
    sums = [reduce(lambda sum, token: single(sum + scores[token], exact), path, 0.0) for path in paths]
    ends = {*accumulate(map(len, paths[-1]))}
    starts = ends | {0}
    path = [
        place
        for place, arc in enumerate(arcs)
        if arc.end in ends and arc.start == max(start for start in starts if start < arc.end)
    ]
    return Lattice(name, text.encode(), tuple(arcs), tuple(sums), tuple(path))


def single(number: float, exact: bool) -> float:
    """The number as the model's sums have it: in single precision, unless they are exact."""
    return number if exact else float(np.float32(number))
