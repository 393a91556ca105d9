"""How messages word values: paths, numbers, names to choose from, and quotations of at most 200 characters."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

MOST_QUOTED = 200  # a message quotes at most this many characters of a value
MOST_CHOICES = 5  # a message lists at most this many names to choose from
MOST_TOLD = 3 * MOST_QUOTED  # the limit for a sentence that contains such a quotation


def printable_path(path: str | os.PathLike[str]) -> str:
    from .paths import printable_path  # which raises errors

    return printable_path(path)


class Quoting(reprlib.Repr):
    """Writes the value that a message quotes, in at most 200 characters; the value's own `repr` can fail."""

    def __init__(self) -> None:
        super().__init__()
        self.maxother = self.maxlong = MOST_QUOTED
        self.maxtuple = self.maxlist = self.maxset = self.maxfrozenset = self.maxdict = self.maxdeque = 12

    def repr_str(self, x: str, level: int) -> str:
        """A text; inside a container it is shorter, so that two texts fit."""
        most = MOST_QUOTED - 2 if level == self.maxlevel else MOST_QUOTED // 2 - 8
        return repr(shorten_middle(x, most))

    def repr_int(self, x: int, level: int) -> str:
        """A number; Python refuses to write more than a few thousand digits."""
        return repr(x) if x.bit_length() < 640 else f"<int of {x.bit_length():,} bits>"

    def repr_instance(self, x: Any, level: int) -> str:
        """Any other value; its own `repr` can raise."""
        try:
            return repr(x)
        except Exception:  # noqa: BLE001 - the message must not fail because of the value
            return f"<{type(x).__name__}>"


def quote_value(value: object) -> str:
    """A value as messages quote it: as Python writes it, in at most 200 characters."""
    return shorten_middle(Quoting().repr(value), MOST_QUOTED)


def shorten_middle(text: str, most: int = MOST_TOLD) -> str:
    """The text, without its middle if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[1 - most // 2 :]}"


def number_of(count: int, noun: str) -> str:
    """A number with its noun: "1 document", "2 documents"."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def list_some(names: Sequence[str]) -> str:
    """Names to choose from, for a message: at most five.

    >>> list_some(["a", "b"]), list_some(list("abcdefg"))
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    more = len(names) - MOST_CHOICES
    return ", ".join(names[:MOST_CHOICES]) + (f" and {more} more" if more > 0 else "")


def preview_items(values: Any, most: int = 6) -> str:
    """The first items of a result, as its `repr` shows them.

    >>> preview_items([1, 2, 3], 2), preview_items([])
    ('[1, 2, …]', '[]')
    """
    texts = [quote_value(value) if isinstance(value, (str, bytes, tuple)) else str(value) for value in values[:most]]
    return f"[{', '.join([*texts, '…'] if len(values) > most else texts)}]"


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names that a wrong name probably means; see `suggestions.close_names`."""
    from .suggestions import close_names  # a table that only errors need

    return close_names(name, known)
