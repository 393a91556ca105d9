"""Names that still work under their old spelling: what to write instead, and the version that removes them.

The rule: a row in `DEPRECATED` for each old name. Whoever meets the name calls `warn`, which says the remedy once in a
process. `docs/versions.md` promises how long a row stays; `tests/base/test_deprecated.py` holds the rows to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["DEPRECATED", "Deprecated", "warn"]


class Deprecated(NamedTuple):
    """An old name, the name that takes its place, and the versions that deprecated it and will remove it."""

    old: str
    new: str
    since: str
    removed_in: str
    because: str

    def __str__(self) -> str:
        """The sentence that the caller reads."""
        return f"{self.old} is now {self.new}, because {self.because}; {self.removed_in} removes the old name"


DEPRECATED: tuple[Deprecated, ...] = ()
_SAID: set[str] = set()


def warn(old: str, say: Callable[[str], None] | None = None) -> None:
    """Say once in a process what to write instead of `old`.

    Args:
        old: The old name, as its row spells it.
        say: Called with the sentence; by default a `DeprecationWarning` at the line that called our caller.
    Raises:
        StopIteration: No row has this name, which is a mistake of ours.
    """
    row = next(row for row in DEPRECATED if row.old == old)
    if old in _SAID:
        return
    _SAID.add(old)
    if say is None:
        warnings.warn(str(row), DeprecationWarning, stacklevel=3)
    else:
        say(str(row))
