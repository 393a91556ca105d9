"""The record of a run: results, machine and versions, as JSON. Tables and the comparison are made from it."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .adapters import ENGINES, versions
from .definitions import Cell, Question, questions
from .places import ROOT, write_whole
from .runner import LIMIT, MOST, RUNS, Outcome, Settings
from .targets import target_of, without_target
from .texts import MB
from .verdicts import observed_in_row

Row = dict[str, Any]


@dataclass(frozen=True)
class Shown:
    """One engine's figure in one row: the median, and all runs."""

    median: float | None
    runs: list[float]
    bytes: int
    floor: bool
    problem: str
    wrong: str


def rows(question: Question, outcomes: dict[str, Outcome]) -> list[Row]:
    """One row per cell of the question."""
    return [row(question, cell, outcomes) for cell in question.cells]


def row(question: Question, cell: Cell, outcomes: dict[str, Outcome]) -> Row:
    """A row: the engines' figures in the cell's unit; the ratio to the target's peer, its spread and its standing."""
    engines = {name: engine_entry(question, cell, name, outcome) for name, outcome in outcomes.items()}
    target = target_of(cell.group, question.encoding, question.text)
    facts = {
        "group": cell.group,
        "encoding": question.encoding,
        "text": question.text,
        "threads": question.threads,
        "unit": cell.unit,
        "target": asdict(target) if target else None,
        "engines": {name: asdict(figure) for name, figure in engines.items()},
    }
    verdict = observed_in_row(target or without_target(cell.unit), facts)
    return facts | {
        "ratio": verdict.ratio.value if verdict.ratio else None,
        "spread": [verdict.ratio.low, verdict.ratio.high] if verdict.ratio else None,
        "peer": verdict.peer,
        "standing": verdict.standing(target) if target else "",
    }


def engine_entry(question: Question, cell: Cell, name: str, outcome: Outcome) -> Shown:
    """An engine's figure; without one, `problem` is the reason."""
    runs = [in_unit(cell.unit, figure, outcome) for figure in outcome.figures.get(cell.figure, [])]
    problem = outcome.problem or ("" if runs else "unsupported")
    middle = statistics.median(runs) if runs and not outcome.problem else None
    return Shown(middle, runs, outcome.text.bytes, name in question.floor, problem, outcome.wrong)


def in_unit(unit: str, figure: float, outcome: Outcome) -> float:
    """Seconds (or bytes, for memory) in the unit of a cell."""
    if unit == "MB":
        return figure / MB
    if unit == "ms":
        return figure * 1e3
    if unit == "ns/call":
        return figure * 1e9 / outcome.text.documents
    return (outcome.tokens if unit == "Mtok/s" else outcome.text.bytes) / MB / figure


def start_facts(arguments: Sequence[str]) -> Row:
    """The facts at the start of a run: time, commit, and load of the machine."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": " ".join(["python -m bench", *arguments]),
        "commit": git("rev-parse", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no")),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
    }


def record(rows: Sequence[Row], settings: Settings, start: Row) -> Row:
    """Everything about a run.

    Args:
        start: The result of `start_facts`.
    """
    duration = datetime.now(timezone.utc) - datetime.fromisoformat(start["date"])
    return {
        **start,
        "took_s": round(duration.total_seconds()),
        "partial": partial_reason(rows, settings, start),
        "machine": machine(),
        "versions": versions(),
        "settings": asdict(settings),
        "rows": list(rows),
    }


def partial_reason(rows: Sequence[Row], settings: Settings, start: Row) -> str:
    """The reason why a run is too small for the comparison; "" for a whole run."""
    due = {(cell.group, ask.encoding, ask.text) for ask in questions(2) for cell in ask.cells}
    reasons = {
        "cells are left out": due - {(row["group"], row["encoding"], row["text"]) for row in rows},
        "engines are left out": {*ENGINES} - {*settings.peers} or {*ENGINES} - {*versions()},
        f"fewer than {RUNS} runs": settings.runs < RUNS,
        "shorter texts": settings.limit < LIMIT or settings.most < MOST,
        "not by the wall clock": settings.clock != "wall",
        "the source has uncommitted changes": start["changed"],
    }
    return ", ".join(reason for reason, applies in reasons.items() if applies)


def list_records(folder: Path) -> list[Path]:
    """The records of encoding in a folder, newest first: their names begin with their dates."""
    return sorted(folder.glob("[0-9]*.json"), reverse=True)


def machine() -> Row:
    """The machine of the run."""
    return {
        "cpu": cpu_name(),
        "cpus": os.cpu_count(),
        "memory_gb": round(memory_bytes() / 1e9, 1),
        "system": platform.platform(),
        "huge_pages": read_system_file("/sys/kernel/mm/transparent_hugepage/enabled"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def read_system_file(path: str) -> str:
    """The content of a system file; "" if it does not exist."""
    return Path(path).read_text(encoding="ascii").strip() if Path(path).is_file() else ""


def cpu_name() -> str:
    """The processor's name with its family and model, as far as the system reports them."""
    path = Path("/proc/cpuinfo")
    if not path.is_file():
        return platform.processor() or platform.machine()
    lines = (line.partition(":") for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
    facts = {name.strip(): value.strip() for name, _, value in reversed(list(lines))}
    return (
        f"{facts.get('model name', platform.machine())} (family {facts.get('cpu family')}, model {facts.get('model')})"
    )


def memory_bytes() -> int:
    """The machine's memory; 0 if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


def git(*arguments: str) -> str:
    """The output of git; "" without git."""
    try:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True, encoding="utf-8"
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def save(record: Row, folder: Path, prefix: str = "") -> Path:
    """Write a record under its date; other benchmarks than encoding give a prefix."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = record["date"][:19].replace(":", "")
    path = folder / f"{prefix}{stamp}.json"
    write_whole(path, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode("utf-8"))
    return path
