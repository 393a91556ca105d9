"""Good files with a few values changed, and a checksum that fits: each is refused with an error of ours, or keeps the rules.

The first bytes name the model, the file, and how many values are changed; then each change has two bytes for the place of the
value and two for its new value. `structural_mutants` lists both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeVar

from structural_mutants import GOOD, at, files, places, respelt, spellings

import toksmith
from toksmith import Model

from .codes import Codes
from .formats import LOADING, check_model
from .rules import outcome

__all__ = ["run"]

T = TypeVar("T")
MOST_CHANGES = 3
NAMES = tuple(GOOD)


def run(data: bytes) -> None:
    """Changes and loads a file; if that works saves in every format, and encodes."""
    codes = Codes(data)
    file = codes.one(files(codes.one(NAMES)))
    value, text = file.value, ""
    for _ in range(1 + codes.below(MOST_CHANGES)):
        path = one_of_many(codes, list(places(value)))
        text = respelt(value, path, one_of_many(codes, list(spellings(at(value, path)))))
        try:
            value = json.loads(text)
        except ValueError:
            break
    model = outcome(lambda: file.load(text), LOADING)
    if isinstance(model, Model):
        check_model(model, (toksmith.errors.UnknownId,))  # the id of unknown characters may have no token


def one_of_many(codes: Codes, of: Sequence[T]) -> T:
    """One of up to 65,025."""
    return of[(codes.below(255) * 255 + codes.below(255)) % len(of)]
