"""toksmith beside itself: how fast files become files of ids, relative to the same texts in memory and to what it must cost.

Each figure is from a process of its own, and the processes take turns. The ids of each equal those of `encode_ragged` in
memory. What a job must cost is computed from the processor times of unpacking, parsing, encoding and hashing, which are
measured alone in the same run. Two threads cannot do more than two processes that share nothing: what those reach is measured
in the same run as well. `--before` names the interpreter of an earlier build (`scripts/bench_before.sh COMMIT` prints
it), which takes part with `encode_corpus`.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from typing import Any

from .inputs import KINDS
from .processes import Measured, in_memory, measured
from .settings import Outcome, Settings

LIMIT = "Two processes at once, half of the texts in memory each, were {:.2f} times as fast as one: the limit of this machine."


def measured_jobs(settings: Settings) -> Outcome:
    """The tables of `encode_corpus` and of jobs."""
    text = settings.small
    builds = {"now": sys.executable} | ({"before": settings.before} if settings.before else {})
    runs: dict[tuple[Any, ...], list[Measured]] = {}
    alone: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(settings.runs):
        for count, seconds in alone.items():
            seconds.append(in_memory(text, count, times=1))
        for cell, python in cells(builds):
            mode, _, kind, threads = cell
            found = measured(text, mode, python, kind=kind, threads=threads)
            runs.setdefault(cell, []).append(found)
    limit = min(alone[1]) / min(alone[2])
    lines = [*of_files(runs, text.size), "", *of_jobs(runs, text.size, limit), "", LIMIT.format(limit)]
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


def of_jobs(runs: dict[tuple[Any, ...], list[Measured]], size: int, limit: float) -> Iterator[str]:
    """The table of jobs, beside what they must cost on as many processors, and within the limit of the machine."""
    columns = ("unpacking", "parsing", "encoding", "hashing")
    yield f"| job from | threads | minimum MB/s | median | maximum | {' s | '.join(columns)} s | of computed | of computed, within the limit | of memory | peak MB |"
    yield "|---|" + "--:|" * 12
    for (mode, _, kind, threads), found in runs.items():
        if mode != "job":
            continue
        own = statistics.median(rates(found, size))
        apart = runs["parts", "now", kind, 1]
        seconds = [statistics.median(each["parts"][name] for each in apart) for name in columns]
        one = size / sum(seconds) / 1e6
        computed, within = one * threads, one * (limit if threads > 1 else 1)
        inside = statistics.median(rates(runs["memory", "now", "jsonl", threads], size))
        cells = [kind, str(threads), spread(rates(found, size)), *(f"{each:.2f}" for each in seconds)]
        cells += [
            f"{own / computed:.2f}",
            f"{own / within:.2f}",
            f"{own / inside:.2f}",
            str(max(each["peak"] for each in found)),
        ]
        yield "| " + " | ".join(cells) + " |"
