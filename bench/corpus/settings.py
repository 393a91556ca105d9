"""The settings of a run of `bench.corpus`, and the result of a section."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .inputs import Text


@dataclass(frozen=True)
class Settings:
    """The texts, the number of runs, and the paths of the other programs."""

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


def target_verdict(seen: float, least: float) -> str:
    """A target and the measured ratio, as text."""
    return f"target {least:.3g}, seen {seen:.3g}: {'holds' if seen >= least else 'short'}"
