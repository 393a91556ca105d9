"""Measures toksmith's speed from files to files of ids, relative to the same texts in memory and to the minimum cost.

Each figure is from a separate process, and the processes take turns. All ids must equal those of `encode_ragged` in
memory. The minimum cost of a job is computed from the processor times of unpacking, parsing, encoding and hashing,
which are measured alone in the same run. Two threads cannot do more than two independent processes, whose speed is
measured in the same run. `--before` names the interpreter of an earlier build (`scripts/bench_before.sh COMMIT` prints
it), which takes part with `encode_corpus`.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from typing import Any

from .inputs import KINDS
from .processes import Measured, in_memory, run_worker
from .settings import Outcome, Settings

LIMIT = "Two processes at once, half of the texts in memory each, were {:.2f} times as fast as one: the limit of this machine."


def measure_jobs(settings: Settings) -> Outcome:
    """The tables of `encode_corpus` and of jobs."""
    text = settings.small
    builds = {"now": sys.executable} | ({"before": settings.before} if settings.before else {})
    runs: dict[tuple[Any, ...], list[Measured]] = {}
    alone: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(settings.runs):
        for count, seconds in alone.items():
            seconds.append(in_memory(text, count, times=1))
        for cell, python in measured_cells(builds):
            mode, _, kind, threads = cell
            figures = run_worker(text, mode, python, kind=kind, threads=threads)
            runs.setdefault(cell, []).append(figures)
    limit = min(alone[1]) / min(alone[2])
    lines = [*corpus_table(runs, text.size), "", *job_table(runs, text.size, limit), "", LIMIT.format(limit)]
    answers = {each["answer"] for figures in runs.values() for each in figures}
    return Outcome(lines + ["The ids differ."] * (len(answers) > 1), wrong=len(answers) > 1)


def measured_cells(builds: dict[str, str]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """The measured combinations: mode, build, kind of file and threads; and the interpreter."""
    for build, python in builds.items():
        for threads in (1, 2):
            yield ("memory", build, "jsonl", threads), python
            yield from ((("one file", build, kind, threads), python) for kind in KINDS[: None if build == "now" else 4])
    for kind in KINDS:
        yield ("parts", "now", kind, 1), sys.executable
        yield from ((("job", "now", kind, threads), sys.executable) for threads in (1, 2))


def speeds(runs: list[Measured], size: int) -> list[float]:
    """MB/s of each process."""
    return [size / each["seconds"] / 1e6 for each in runs]


def spread_cells(values: list[float]) -> str:
    """Three cells: minimum, median, maximum."""
    return f"{min(values):.0f} | {statistics.median(values):.0f} | {max(values):.0f}"


def corpus_table(runs: dict[tuple[Any, ...], list[Measured]], size: int) -> Iterator[str]:
    """The table of `encode_corpus`."""
    yield "| build | from | threads | minimum MB/s | median | maximum | relative to memory | peak MB |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for (mode, build, kind, threads), figures in runs.items():
        if mode in ("memory", "one file"):
            mbs = speeds(figures, size)
            inside = statistics.median(speeds(runs["memory", build, "jsonl", threads], size))
            name = "memory" if mode == "memory" else kind
            peak = max(each["peak"] for each in figures)
            yield f"| {build} | {name} | {threads} | {spread_cells(mbs)} | {statistics.median(mbs) / inside:.2f} | {peak} |"


def job_table(runs: dict[tuple[Any, ...], list[Measured]], size: int, limit: float) -> Iterator[str]:
    """The table of jobs, relative to their minimum cost on their processors, and to it within the machine's limit."""
    columns = ("unpacking", "parsing", "encoding", "hashing")
    yield f"| job from | threads | minimum MB/s | median | maximum | {' s | '.join(columns)} s | of computed | of computed, within the limit | of memory | peak MB |"
    yield "|---|" + "--:|" * 12
    for (mode, _, kind, threads), figures in runs.items():
        if mode != "job":
            continue
        speed = statistics.median(speeds(figures, size))
        apart = runs["parts", "now", kind, 1]
        seconds = [statistics.median(each["parts"][name] for each in apart) for name in columns]
        one = size / sum(seconds) / 1e6
        computed, within = one * threads, one * (limit if threads > 1 else 1)
        inside = statistics.median(speeds(runs["memory", "now", "jsonl", threads], size))
        cells = [kind, str(threads), spread_cells(speeds(figures, size)), *(f"{each:.2f}" for each in seconds)]
        cells += [
            f"{speed / computed:.2f}",
            f"{speed / within:.2f}",
            f"{speed / inside:.2f}",
            str(max(each["peak"] for each in figures)),
        ]
        yield "| " + " | ".join(cells) + " |"
