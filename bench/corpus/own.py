"""toksmith beside itself: how fast files become files of ids, relative to the same texts in memory and to what it must cost.

Each figure is from a process of its own, and the processes take turns. The ids of each equal those of `encode_ragged` in
memory. What a job must cost is computed from the processor times of unpacking, parsing, encoding and hashing, which are
measured alone in the same run. `--before` names the interpreter of an earlier build (`scripts/bench_before.sh COMMIT` prints
it), which takes part with `encode_corpus`. `worker.py` is what a process does.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..places import ROOT, data, scratch
from .commands import Failed
from .inputs import KINDS, Text
from .settings import Outcome, Settings

WORKER = (Path(__file__).parent / "worker.py").read_text(encoding="utf-8")
VOCABULARY = "o200k_base.tiktoken"
Measured = dict[str, Any]


def measured_jobs(settings: Settings) -> Outcome:
    """The tables of `encode_corpus` and of jobs."""
    text = settings.small
    builds = {"now": sys.executable} | ({"before": settings.before} if settings.before else {})
    runs: dict[tuple[Any, ...], list[Measured]] = {}
    for _ in range(settings.runs):
        for cell, python in cells(builds):
            mode, _, kind, threads = cell
            found = measured(text, mode, python, kind=kind, threads=threads)
            runs.setdefault(cell, []).append(found)
    lines = [*of_files(runs, text.size), "", *of_jobs(runs, text.size)]
    answers = {each["answer"] for found in runs.values() for each in found}
    return Outcome(lines + ["The ids differ."] * (len(answers) > 1), wrong=len(answers) > 1)


def cells(builds: dict[str, str]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """What is measured: mode, build, kind of file and threads; and the interpreter."""
    for build, python in builds.items():
        for threads in (1, 2):
            yield ("memory", build, "jsonl", threads), python
            yield from ((("one file", build, kind, threads), python) for kind in KINDS[: None if build == "now" else 4])
    for kind in KINDS:
        yield ("parts", "now", kind, 1), sys.executable
        yield from ((("job", "now", kind, threads), sys.executable) for threads in (1, 2))


def measured(text: Text, mode: str, python: str | Path = sys.executable, **options: Any) -> Measured:
    """What one process says, in a mode of `worker.py` and with its options.

    Raises:
        Failed: the process fails.
    """
    more = options.pop("env", {})
    folder = scratch("corpus") / "out"
    shutil.rmtree(folder, ignore_errors=True)
    if mode == "one file":
        folder.mkdir()
    command = asked(text, mode, python, options)
    env = {**os.environ, **more}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT / "bench", env=env)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise Failed(f"{mode}: {said[-1] if said else done.returncode}")
    shutil.rmtree(folder, ignore_errors=True)
    found: Measured = json.loads(done.stdout.splitlines()[-1])
    return found


def asked(text: Text, mode: str, python: str | Path, options: Measured) -> list[str]:
    """The command of a worker."""
    kind = options.get("kind", "jsonl")
    path = text.rows if kind == "jsonl" else text.kinds[kind]
    given = {"mode": mode, "path": str(path), "rows": str(text.rows), "folder": str(scratch("corpus") / "out")}
    given |= {"vocabulary": str(data() / "vocab" / VOCABULARY), **options}
    return [str(python), "-c", WORKER, json.dumps(given)]


def rates(found: list[Measured], size: int) -> list[float]:
    """MB/s of each process."""
    return [size / each["seconds"] / 1e6 for each in found]


def spread(values: list[float]) -> str:
    """Three cells: minimum, median, maximum."""
    return f"{min(values):.0f} | {statistics.median(values):.0f} | {max(values):.0f}"


def of_files(runs: dict[tuple[Any, ...], list[Measured]], size: int) -> Iterator[str]:
    """The table of `encode_corpus`."""
    yield "| build | from | threads | minimum MB/s | median | maximum | relative to memory | peak MB |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for (mode, build, kind, threads), found in runs.items():
        if mode in ("memory", "one file"):
            own = rates(found, size)
            inside = statistics.median(rates(runs["memory", build, "jsonl", threads], size))
            name = "memory" if mode == "memory" else kind
            peak = max(each["peak"] for each in found)
            yield f"| {build} | {name} | {threads} | {spread(own)} | {statistics.median(own) / inside:.2f} | {peak} |"


def of_jobs(runs: dict[tuple[Any, ...], list[Measured]], size: int) -> Iterator[str]:
    """The table of jobs, beside what they must cost."""
    columns = ("unpacking", "parsing", "encoding", "hashing")
    yield f"| job from | threads | minimum MB/s | median | maximum | {' s | '.join(columns)} s | of computed | of memory | peak MB |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for (mode, _, kind, threads), found in runs.items():
        if mode != "job":
            continue
        own = statistics.median(rates(found, size))
        apart = runs["parts", "now", kind, 1]
        seconds = [statistics.median(each["parts"][name] for each in apart) for name in columns]
        computed = size / sum(seconds) / 1e6 * threads
        inside = statistics.median(rates(runs["memory", "now", "jsonl", threads], size))
        cells = [kind, str(threads), spread(rates(found, size)), *(f"{each:.2f}" for each in seconds)]
        cells += [f"{own / computed:.2f}", f"{own / inside:.2f}", str(max(each["peak"] for each in found))]
        yield "| " + " | ".join(cells) + " |"
