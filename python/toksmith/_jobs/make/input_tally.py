"""How many documents, ids and bytes of texts each input gives to a shard, counted as documents pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ..sinks import DocumentLengths
from .encode_shard import EncodedDocuments

__all__ = ["InputTally"]


class InputTally:
    """Sums by input."""

    def __init__(self) -> None:
        self._sums: dict[int, tuple[int, int, int]] = {}
        self._lengths = DocumentLengths()

    def passed(self, found: Iterable[EncodedDocuments]) -> Iterator[EncodedDocuments]:
        """The documents, which are counted."""
        for each in found:
            there, places = np.unique(each.told.inputs, return_inverse=True)
            sums = np.zeros((len(there), 3), np.int64)
            sizes, lengths = each.told.sizes.astype(np.int64), self._lengths.of(len(each.ids), each.ends)
            np.add.at(sums, places, np.stack([np.ones_like(sizes), lengths, sizes], axis=1))
            for input, more in zip(there.tolist(), sums.tolist(), strict=True):
                before = self._sums.get(input, (0, 0, 0))
                self._sums[input] = (before[0] + more[0], before[1] + more[1], before[2] + more[2])
            yield each

    def rows(self) -> tuple[tuple[int, int, int, int], ...]:
        """The number of each input, and its sums, in order."""
        return tuple((input, *self._sums[input]) for input in sorted(self._sums))
