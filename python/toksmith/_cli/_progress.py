"""Progress of a command without a terminal to draw a bar on."""

from __future__ import annotations

from collections.abc import Callable

import toksmith

from ._printed import tell

__all__ = ["progress_lines"]

EVERY_S = 60


def progress_lines() -> Callable[[toksmith.Progress], None]:
    """Print progress as plain lines on stderr, one per minute, for logs."""
    said_s = 0.0

    def say(now: toksmith.Progress) -> None:
        nonlocal said_s
        if now.elapsed_s - said_s >= EVERY_S:
            said_s = now.elapsed_s
            tell(str(now))

    return say
