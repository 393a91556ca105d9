"""Progress of a command where there is no terminal to draw a bar on."""

from __future__ import annotations

from collections.abc import Callable

import toksmith

from ._run import tell

__all__ = ["progress_lines"]

UNITS = {"counting": "bytes", "merging": "merges", "encoding": "ids"}


def progress_lines() -> Callable[[toksmith.Progress], None]:
    """Progress as plain lines on stderr, one in five seconds: for a log, where a bar would be noise."""
    said_s = 0.0

    def say(now: toksmith.Progress) -> None:
        nonlocal said_s
        if now.elapsed_s - said_s >= 5:
            said_s = now.elapsed_s
            of = "" if now.total is None else f" of {now.total:,}"
            unit = UNITS[now.phase]
            tell(f"{now.phase}: {now.done:,}{of} {unit} after {said_s:.0f} s")

    return say
