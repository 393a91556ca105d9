"""The folders of the benchmark: its data, and derived files. They are not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "perf.md"
PICTURES = ROOT / "docs" / "pictures"
RECORDS = Path(__file__).resolve().parent / "records"


def data() -> Path:
    """The folder with `corpora/` and `vocab/`; it can be missing."""
    return Path(os.environ.get("TOKSMITH_TEST_DATA") or ROOT.parent / "shared").resolve()


def scratch(kind: str) -> Path:
    """A folder for derived files: prepared texts, converted vocabularies, reference answers."""
    folder = Path(os.environ.get("TOKSMITH_BENCH_CACHE") or ROOT / "build" / "bench") / kind
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely or not at all, so that an interrupted run leaves no incomplete file."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.replace(path)
