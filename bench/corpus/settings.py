"""What a run of `bench.corpus` was asked for, and what a section answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .inputs import Text


@dataclass(frozen=True)
class Settings:
    """The texts, how often, and where the other programs are."""

    small: Text
    large: Text
    runs: int
    seconds: int
    before: str
    peers: Path
    ray: Path
    checkout: Path | None


@dataclass(frozen=True)
class Outcome:
    """The lines of a section, and whether ids differ."""

    lines: list[str]
    wrong: bool = False


def reached(seen: float, least: float) -> str:
    """A target and what was seen, in words."""
    return f"target {least:.3g}, seen {seen:.3g}: {'holds' if seen >= least else 'short'}"
