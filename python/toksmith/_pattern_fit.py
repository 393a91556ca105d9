"""Whether a split pattern fits a vocabulary: which of its tokens do not encode to themselves.

A token that is text, encoded as a text of its own, gives its own id under the pattern that its vocabulary was trained
with, but for a few that need something around them. Under another pattern thousands do not. Left out: tokens that are
not whole characters, because no text is equal to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._files import is_text
from ._model import Model
from ._results import Fit
from ._threads import thread_count

__all__ = ["TokenTexts", "misfits", "pattern_fit", "token_texts"]

EXAMPLES = 5  # misfits that are shown


@dataclass(frozen=True, eq=False)
class TokenTexts:
    """The ordinary tokens that are text, by rank: ids (uint32) and texts."""

    ids: NDArray[np.uint32]
    texts: Sequence[str]


def token_texts(model: Model, engine: _core.Engine, *, threads: int | None = None) -> TokenTexts:
    """The ordinary tokens of a model that are whole characters: their bytes, or what they show where that is another text."""
    if model.normalizers or model.decoders:
        shown = engine.decode_batch([[id] for id in model.ids.tolist()], "replace", thread_count(threads))
        whole = [
            (id, text) for id, text in zip(model.ids.tolist(), shown, strict=True) if text and "\ufffd" not in text
        ]
        return TokenTexts(np.array([id for id, _ in whole], np.uint32), [text for _, text in whole])
    ids, texts = [], []
    for id, token in zip(model.ids.tolist(), model.tokens, strict=True):
        try:
            texts.append(token.decode())
        except UnicodeDecodeError:
            continue
        ids.append(id)
    return TokenTexts(np.array(ids, np.uint32), texts)


def misfits(engine: _core.Engine, tokens: TokenTexts, *, threads: int | None = None) -> NDArray[np.bool_]:
    """For each token whether its text does not encode to its id alone.

    Cost: one encoding of all tokens.
    """
    ids, ends = engine.encode_ragged(tokens.texts, "text", "replace", thread_count(threads))
    ends = ends.astype(np.int64)
    alone = np.diff(ends, prepend=0) == 1
    found = np.zeros(len(ends), np.bool_)
    found[alone] = ids[ends[alone] - 1] == tokens.ids[alone]
    return ~found


def pattern_fit(engine: _core.Engine, model: Model) -> Fit:
    """See `Tokenizer.pattern_fits`."""
    pairs = zip(model.tokens, model.ids.tolist(), strict=True)
    texts = [(token, id) for token, id in pairs if is_text(token)]
    found = engine.encode_batch([token for token, _ in texts], "text", "strict", thread_count(None))
    wrong = sorted((id, token) for (token, id), ids in zip(texts, found, strict=True) if ids != [id])
    return Fit(len(texts), len(wrong), tuple(wrong[:EXAMPLES]))
