"""Special tokens around the ids of documents, put there by the core; the numpy below is its slow twin."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._corpus.encode_files import Block

__all__ = ["around"]


def around(
    block: Block, first: NDArray[np.uint32], last: NDArray[np.uint32], which: NDArray[np.bool_] | None = None
) -> Block:
    """A block with the ids `first` (one or none) before and `last` (one or none) behind each document that ends in it.

    Args:
        block: The ids, and where documents end. With `first`, all of its documents begin in it.
        which: The documents to put them around; None for all.
    """
    ids, ends = block
    more = len(first) + len(last)
    if not more:
        return block
    if os.environ.get("TOKSMITH_SLOW") != "1":
        one, other = (int(each[0]) if len(each) else None for each in (first, last))
        return _core.around(ids, ends, one, other, which)
    starts = np.concatenate([[0], ends[:-1].astype(np.intp)]) if len(ends) else np.empty(0, np.intp)
    edges = ([starts] if len(first) else []) + ([ends.astype(np.intp)] if len(last) else [])
    # A document's start comes before its end, and both before those of the next, also where documents are empty.
    places = np.stack(edges, axis=1)
    values = np.broadcast_to(np.concatenate([first, last]), places.shape)
    if which is not None:
        places, values = places[which], values[which]
    longer: NDArray[np.uint32] = np.insert(ids, places.ravel(), values.ravel())
    added = np.arange(1, len(ends) + 1) if which is None else np.cumsum(which)
    return longer, ends + (added * more).astype(np.uint64)
