"""The log of toksmith, from which no name of a file and no message of a library reaches a terminal as it is."""

from __future__ import annotations

import logging

from . import one_line

__all__ = ["LOG"]


def escape_values(record: logging.LogRecord) -> bool:
    """Escapes what a record says of outside; a filter, since every handler, Python's own too, comes after it."""
    if isinstance(record.args, tuple):
        record.args = tuple(each if str(each).isprintable() else one_line(str(each)) for each in record.args)
    return True


LOG = logging.getLogger("toksmith")
LOG.addFilter(escape_values)
