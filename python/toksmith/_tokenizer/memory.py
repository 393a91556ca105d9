"""MemoryUse: the memory of a tokenizer by purpose.

Every figure is the memory allocated for tables and buffers, summed by their owners. Left out: Python's own objects,
compiled regexes, the memory of running calls, and up to 32 MiB that the process keeps for its next large result, which
`release` frees too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from .. import _core, _render
from .._base.wording import number_of
from .._model.model import Model
from .._render import Table
from .boundaries import SortedTokens


@dataclass(frozen=True, repr=False)
class MemoryUse(_render.Shown):
    """The memory of a tokenizer, in bytes.

    Attributes:
        model: The arrays of the model: tokens, ids, merges, scores.
        tables: The tables that the constructor builds from the model.
        first_use: Tables that a call built when it first needed them, such as
            the table for decoding. They stay and do not grow.
        healing: The sorted tokens that `heal` searches; built at its first
            call, freed by `release`.
        session_bytes: The caches for later calls, mostly pieces with their
            ids; freed by `release`.
        sessions: How many concurrent calls can use these caches: at most the
            number of processors, or 4.
    """

    model: int
    tables: int
    first_use: int
    healing: int
    session_bytes: int
    sessions: int

    @property
    def total(self) -> int:
        """The sum of all bytes."""
        return self.model + self.tables + self.first_use + self.healing + self.session_bytes

    def to_dict(self) -> dict[str, Any]:
        """The figures by name."""
        return {**vars(self), "total": self.total}

    def _parts(self) -> Iterator[Any]:
        yield f"{self.total:,} bytes of memory"
        kept_sessions = f"{number_of(self.sessions, 'session')} kept for the next call"
        rows = [
            ("model", self.model, ""),
            ("tables", self.tables, ""),
            ("tables made at first use", self.first_use, ""),
            ("tokens that heal searches", self.healing, "yes"),
            (kept_sessions, self.session_bytes, "yes"),
        ]
        yield Table(["", "bytes", "freed by release"], [[name, f"{size:,}", back] for name, size, back in rows])

    def __repr__(self) -> str:
        return f"<MemoryUse {self.total:,} bytes, {number_of(self.sessions, 'session')}>"


def memory_use(model: Model, engine: _core.Engine, healing: Collection[SortedTokens]) -> MemoryUse:
    """The memory of a model, its engine and the tables of `heal`."""
    arrays = [model.ids, model.merges, model.tokens.ends, model.scores]
    model_bytes = len(model.tokens.blob) + sum(array.nbytes for array in arrays if array is not None)
    healing_bytes = sum(len(tokens.blob) + tokens.cuts.nbytes + tokens.ids.nbytes for tokens in healing)
    tables, first_use, sessions, session_bytes = engine.memory()
    return MemoryUse(model_bytes, tables, first_use, healing_bytes, session_bytes, sessions)
