"""The map from the ids of an old tokenizer to those of a new one: for rows of models, and as a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._base.arguments import check_int
from ..._base.paths import Room, read_file
from ..._base.wording import number_of
from ..._formats.json import parse_json
from ..._storage.atomic_files import write_file
from ...errors import FormatError, InvalidOption

MOST_BYTES = 1 << 28
MOST_ID = 1 << 24


@dataclass(frozen=True, eq=False, repr=False)
class IdMap:
    """The map from the ids of the old tokenizer to those of the new one.

    Attributes:
        old_size: The size of the old vocabulary; all old ids are below it.
        new_size: The size of the new vocabulary.
        old_to_new: The new id for each old id, without the ids of removed
            tokens.
        sources: For each new id, the old ids whose embedding rows are averaged
            into its row: its old id if the token stays, the ids of the token's
            text under the old tokenizer if it is new.
        fingerprint: That of the old tokenizer; None if unknown. `graft`
            refuses a map of another tokenizer.

    >>> import numpy as np
    >>> import toksmith
    >>> tok = toksmith.train("low lower", merges=1, pattern=None)
    >>> more, ids = toksmith.extend(tok, "low lower lowest", 1)
    >>> more.token_bytes(257), ids.sources[257]
    (b'low', (256, 119))
    >>> ids.apply(np.eye(257))[257].nonzero()[0].tolist()
    [119, 256]
    """

    old_size: int
    new_size: int
    old_to_new: Mapping[int, int]
    sources: Mapping[int, tuple[int, ...]]
    fingerprint: str | None = None

    def __repr__(self) -> str:
        kept_count = len(self.old_to_new)
        new_count = len(self.sources) - len({*self.old_to_new.values()})
        first = ", ".join(f"{old}: {new}" for old, new in islice(self.old_to_new.items(), 4))
        more = ", …" if kept_count > 4 else ""
        sizes = f"{number_of(self.old_size, 'id')} to {self.new_size:,}"
        return f"<IdMap of {sizes}: {kept_count:,} kept, {new_count:,} new; {{{first}{more}}}>"

    def __getitem__(self, old: int) -> int | None:
        """The new id for an old id; None if the token was removed."""
        return self.old_to_new.get(check_int(old, "old"))

    def apply(self, rows: ArrayLike) -> NDArray[Any]:
        """Converts an array with a row for each old id (embeddings, biases) into
        one with a row for each new id.

        `graft` does this for the files of a model, and knows input from output
        matrices.

        Args:
            rows: An array with at least `old_size` rows; further rows are left
                out.
        Returns: An array of the same type with `new_size` rows: a copy for an
            id that stays, the mean of its sources for a new id, the mean of
            all old rows for an id without a token. Zeros would be wrong there
            in an output matrix: a logit of 0 wins where all others are
            negative.
        """
        try:
            old = np.asarray(rows)
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError(f"rows: expected an array of numbers, not {type(rows).__name__}") from error
        if old.ndim < 1 or len(old) < self.old_size:
            raise InvalidOption("rows", old.shape, f"an array with at least {self.old_size} rows, one for each old id")
        new = np.zeros((self.new_size, *old.shape[1:]), old.dtype)
        for id, sources in self.sources.items():
            if len(sources) == 1:
                new[id] = old[sources[0]]
            elif sources:
                new[id] = old[list(sources)].mean(axis=0, dtype=np.float64).astype(old.dtype)
        if holes := [id for id in range(self.new_size) if not self.sources.get(id)]:
            new[holes] = old[: self.old_size].mean(axis=0, dtype=np.float64).astype(old.dtype)
        return new

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the map into a JSON file, for `load` and `toksmith graft
        --id-map`.

        Raises:
            FormatError: The file cannot be written, and is unchanged.
        """
        sources = {str(new): [*old] for new, old in self.sources.items() if not (len(old) == 1 and self[old[0]] == new)}
        value = {
            "toksmith_id_map": 1,
            "fingerprint": self.fingerprint,
            "old_size": self.old_size,
            "new_size": self.new_size,
            "id_map": [[*pair] for pair in self.old_to_new.items()],
            "sources": sources,
        }
        write_file(path, (json.dumps(value) + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> IdMap:
        """The map in a file that `save` wrote, or in the output of `toksmith
        convert --renumber --json`.

        Raises:
            FormatError: The file cannot be read, or is not a map of ids.
        """
        try:
            value = parse_json(read_file(path, lambda ends: Room(MOST_BYTES, "a map of ids")), MOST_BYTES)
            id_map = {check_id(old): check_id(new) for old, new in value["id_map"]}
            rows = {check_id(int(new)): tuple(map(check_id, old)) for new, old in value.get("sources", {}).items()}
            sizes = [
                check_id(value.get(key, 1 + max(ids, default=-1)))
                for key, ids in (("old_size", id_map), ("new_size", id_map.values()))
            ]
            fingerprint = value.get("fingerprint")
        except FormatError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise FormatError(path, None, f"is not a map of ids: {problem!r}; IdMap.save writes one") from None
        old_ids = [id for old in rows.values() for id in old]
        if max([*id_map, *old_ids], default=-1) >= sizes[0] or max([*id_map.values(), *rows], default=-1) >= sizes[1]:
            raise FormatError(path, None, "is not a map of ids: an id is not below its vocabulary's size")
        sources = {**{new: (old,) for old, new in id_map.items()}, **rows}
        return cls(
            sizes[0], sizes[1], id_map, dict(sorted(sources.items())), None if fingerprint is None else str(fingerprint)
        )


def check_id(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MOST_ID:
        raise ValueError(f"expected a number from 0 to {MOST_ID}, not {value!r}")
    return value
