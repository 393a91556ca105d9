"""How many documents, ids and bytes of texts each input gives to a shard, counted as documents pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ._encode_shard import EncodedDocuments
from .sinks import lengths_of

__all__ = ["InputTally"]


class InputTally:
    """Sums by input."""

    def __init__(self) -> None:
        self._sums: dict[int, tuple[int, int, int]] = {}

    def passed(self, found: Iterable[EncodedDocuments]) -> Iterator[EncodedDocuments]:
        """The documents, which are counted."""
        for each in found:
            count = len(each.told)
            inputs = np.fromiter((told.input for told in each.told), np.int64, count)
            sizes = np.fromiter((told.text_bytes for told in each.told), np.int64, count)
            lengths = lengths_of(each.ends)
            there, places = np.unique(inputs, return_inverse=True)
            sums = np.zeros((len(there), 3), np.int64)
            np.add.at(sums, places, np.stack([np.ones(count, np.int64), lengths, sizes], axis=1))
            for input, more in zip(there.tolist(), sums.tolist(), strict=True):
                before = self._sums.get(input, (0, 0, 0))
                self._sums[input] = (before[0] + more[0], before[1] + more[1], before[2] + more[2])
            yield each

    def rows(self) -> tuple[tuple[int, int, int, int], ...]:
        """The number of each input, and its sums, in order."""
        return tuple((input, *self._sums[input]) for input in sorted(self._sums))
