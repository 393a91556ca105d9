"""`Tokenizer.encode_sampled` and `Tokenizer.encode_best`: encodings of a text other than the one that `encode` gives.

The rule: equal seeds give equal ids. The draws and the search are the core's. Left out: `Tokenizer` itself.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from .. import _core
from .._base.errors import InvalidOption

__all__ = ["encode_best", "encode_sampled"]

Text = str | bytes
Special = str | Collection[str]


def encode_sampled(
    self: Any,
    text: Text,
    *,
    seed: int,
    dropout: float = 0.1,
    alpha: float = 0.1,
    special: Special = "raise",
    errors: str = "replace",
) -> list[int]:
    """The ids of a randomly drawn encoding of a text; training on such
    encodings makes a model more robust.

    Byte-pair encoding skips each merge with the probability `dropout`,
    independently each time (BPE-dropout). A unigram model draws each
    encoding with a probability proportional to the exponential of `alpha`
    times its score (subword regularization). Equal seeds give equal ids,
    on any machine.

    Args:
        seed: From 0 to 2**64 - 1.
        dropout: From 0 (the ids of `encode`, if that looks up no whole
            pieces) to 1 (no merge at all).
        alpha: At least 0; 0 draws all encodings equally often, a large
            number draws the best.
    Raises: as `encode`; InvalidOption for tokenizers that have only one
        encoding.
    Source: Provilkov et al., ACL 2020; Kudo, ACL 2018.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest " * 9, 262)
    >>> [[tok.decode([id]) for id in tok.encode_sampled("lowest", seed=seed, dropout=0.5)] for seed in (1, 5)]
    [['low', 'e', 'st'], ['l', 'o', 'w', 'e', 'st']]
    """
    if self.model.kind not in ("bpe", "unigram"):
        raise InvalidOption("kind", self.model.kind, "'bpe' or 'unigram'; other kinds have only one encoding")
    if not 0 <= seed < 1 << 64:
        raise InvalidOption("seed", seed, "from 0 to 2**64 - 1")
    if not 0 <= dropout <= 1:
        raise InvalidOption("dropout", dropout, "from 0 to 1")
    if not 0 <= alpha < math.inf:
        raise InvalidOption("alpha", alpha, "at least 0, and finite")
    drawn = {"seed": seed, "dropout": float(dropout), "alpha": float(alpha)}
    return _core.sample(self._engine, text, special, errors, drawn)


def encode_best(self: Any, text: Text, n: int, *, errors: str = "replace") -> list[tuple[list[int], float]]:
    """The `n` best encodings of a text in a unigram model, the best first,
    each with the sum of its scores.

    Special tokens are ordinary text here. If the text has fewer encodings,
    it returns fewer; `n` is below 2**32.

    Raises: as `encode`; InvalidOption for tokenizers of other kinds.
    Cost: time grows with the length of the text times `n`.
    """
    if self.model.kind != "unigram":
        raise InvalidOption("kind", self.model.kind, "'unigram'; the encodings of other kinds have no scores")
    if not 1 <= n < 1 << 32:
        raise InvalidOption("n", n, "from 1 to 2**32 - 1")
    return _core.best_ways(self._engine, text, errors, n)
