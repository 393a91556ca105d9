"""A job on several processes: two against one, Ray against local processes, and a repeated job."""

from __future__ import annotations

import statistics
from typing import Any

from ..places import ROOT
from .processes import Measured, in_memory, run_worker
from .settings import Outcome, Settings, target_verdict

TIMES = 8
MANY_SHARDS = 1000
LEAST_GAIN = 1.85
LEAST_OF_LOCAL = 0.87
MOST_S = 1.0


def two_processes(settings: Settings) -> Outcome:
    """Jobs on one and on two processes of one thread, and one and two processes that encode from memory.

    A process of one thread also reads and writes while it encodes, so alone on two processors it uses more than one. It
    therefore also runs on one processor, as a batch system would start it.
    """
    text = settings.small
    half = -(-text.rows.stat().st_size // 2)
    jobs: dict[tuple[int, int], list[Measured]] = {(1, 1): [], (1, 2): [], (2, 2): []}
    memory: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(settings.runs):
        for (count, processors), figures in jobs.items():
            way: dict[str, Any] = {"workers": count, "times": TIMES, "shard_size": half, "processors": processors}
            figures.append(run_worker(text, "scaled", **way))
        for count, seconds in memory.items():
            seconds.append(in_memory(text, count, TIMES))
    walls = {way: [each["seconds"] for each in figures] for way, figures in jobs.items()}
    gain, limit = speedup(walls[1, 1], walls[2, 2]), speedup(memory[1], memory[2])
    lines = [
        f"A job of {TIMES} times {text.size / 1e6:.0f} MB, one thread each, start included:",
        *(time_line(way, figures) for way, figures in jobs.items()),
        f"Two processes on two processors, relative to one on one: {format_speedup(walls[1, 1], walls[2, 2])}.",
        f"The same, relative to one on two: {format_speedup(walls[1, 2], walls[2, 2])}.",
        f"The limit of this machine, which is the same in memory: {format_speedup(memory[1], memory[2])}.",
        target_verdict(gain, min(LEAST_GAIN, limit)),
    ]
    wrong = len({each["answer"] for figures in jobs.values() for each in figures}) > 1
    return Outcome(lines + ["The files differ."] * wrong, wrong)


def time_line(way: tuple[int, int], runs: list[Measured]) -> str:
    """The best wall time of a job, and its best processor time."""
    seconds, busy = (min(each[name] for each in runs) for name in ("seconds", "cpu"))
    return f"processes {way[0]}, processors {way[1]}: {seconds:.2f} s, of processors {busy:.2f} s."


def speedup(one: list[float], two: list[float]) -> float:
    """The speed of two relative to one."""
    return min(one) / min(two)


def format_speedup(one: list[float], two: list[float]) -> str:
    """The same as text, with the lowest and highest ratio of consecutive runs."""
    pairs = [before / after for before, after in zip(one, two, strict=True)]
    return f"{speedup(one, two):.2f} (pairs {min(pairs):.2f} to {max(pairs):.2f})"


def ray_beside_local(settings: Settings) -> Outcome:
    """The same job on local processes and as tasks of Ray, in turn, both in the environment with Ray."""
    if not settings.ray.is_file():
        return Outcome([f"skipped: no interpreter {settings.ray}; `make .venv-ray/.made` makes one with Ray"])
    text = settings.large
    shard = -(-text.rows.stat().st_size // 4)
    env = {"PYTHONPATH": str(ROOT / "python"), "RAY_AUTH_MODE": "disabled"}
    way: dict[str, Any] = {"python": settings.ray, "env": env, "shard_size": shard}
    once = run_worker(text, "scaled", workers=2, times=1, **way)["seconds"]
    times = max(1, round(settings.seconds / once))
    local, tasks = [], []
    for _ in range(settings.runs):
        local.append(run_worker(text, "scaled", workers=2, times=times, **way))
        tasks.append(run_worker(text, "scaled", workers=1, times=times, runner="ray", **way))
    walls = [[each["seconds"] for each in reports] for reports in (local, tasks)]
    ratio = min(walls[0]) / min(walls[1])
    pairs = [one / two for one, two in zip(*walls, strict=True)]
    wrong = len({each["answer"] for each in (*local, *tasks)}) > 1
    return Outcome(
        [
            (
                f"A job of {local[0]['shards']} shards, {times} times {text.size / 1e6:.0f} MB: two local processes {min(walls[0]):.1f} s, "
                f"Ray {min(walls[1]):.1f} s, its start and end included: {ratio:.2f} of local (pairs {min(pairs):.2f} to {max(pairs):.2f})."
            ),
            target_verdict(ratio, LEAST_OF_LOCAL),
            *["The files differ."] * wrong,
        ],
        wrong,
    )


def rerun(settings: Settings) -> Outcome:
    """The same command after all shards exist but before the job is finished."""
    # A shard ends after a whole document, so there are fewer shards than the size allows.
    shard = settings.small.rows.stat().st_size // (2 * MANY_SHARDS)
    runs = [run_worker(settings.small, "rerun", threads=2, shard_size=shard) for _ in range(settings.runs)]
    status_s, whole = (statistics.median(each[name] for each in runs) for name in ("looked", "seconds"))
    return Outcome(
        [
            (
                f"A job of {runs[0]['shards']} shards, all made, run again: {status_s:.2f} s until it knows that {runs[0]['missing']} "
                f"are missing, {whole:.2f} s until it is finished."
            ),
            f"target {MOST_S:.0f} s, seen {whole:.2f}: {'holds' if whole <= MOST_S else 'short'}",
        ]
    )
