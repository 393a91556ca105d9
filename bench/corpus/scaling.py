"""A job on several processes: two beside one, Ray beside local processes, and a job that is run again."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from typing import Any

from ..places import ROOT
from .own import Measured, asked, measured
from .settings import Outcome, Settings, reached

TIMES = 8
MANY_SHARDS = 1000
LEAST_GAIN = 1.85
LEAST_OF_LOCAL = 0.87
MOST_S = 1.0


def two_processes(settings: Settings) -> Outcome:
    """Jobs on one and on two processes of one thread, beside one and two processes that encode from memory."""
    text = settings.small
    half = -(-text.rows.stat().st_size // 2)
    jobs: dict[int, list[Measured]] = {1: [], 2: []}
    memory: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(settings.runs):
        for count in (1, 2):
            jobs[count].append(measured(text, "scaled", workers=count, times=TIMES, shard_size=half))
            memory[count].append(in_memory(settings, count))
    walls = {count: [each["seconds"] for each in found] for count, found in jobs.items()}
    gain, limit = min(walls[1]) / min(walls[2]), min(memory[1]) / min(memory[2])
    pairs = [one / two for one, two in zip(walls[1], walls[2], strict=True)]
    limits = [one / two for one, two in zip(memory[1], memory[2], strict=True)]
    busy = {count: min(each["cpu"] for each in found) for count, found in jobs.items()}
    wrong = len({each["answer"] for found in jobs.values() for each in found}) > 1
    return Outcome(
        [
            (
                f"A job of {TIMES} times {text.size / 1e6:.0f} MB, one thread each, start included: one process {min(walls[1]):.2f} s "
                f"({busy[1]:.2f} s of processor), two {min(walls[2]):.2f} s ({busy[2]:.2f}): {gain:.2f} of one "
                f"(pairs {min(pairs):.2f} to {max(pairs):.2f})."
            ),
            (
                f"The machine's own limit: one process encodes the texts from memory {TIMES} times in {min(memory[1]):.2f} s, two at "
                f"once half of them each in {min(memory[2]):.2f} s: {limit:.2f} (pairs {min(limits):.2f} to {max(limits):.2f})."
            ),
            reached(gain, min(LEAST_GAIN, limit)),
            *["The files differ."] * wrong,
        ],
        wrong,
    )


def in_memory(settings: Settings, shares: int) -> float:
    """The seconds until the last of so many processes has encoded its share from memory; they begin together."""
    started = [
        subprocess.Popen(
            asked(settings.small, "share", sys.executable, {"share": share, "shares": shares, "times": TIMES}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT / "bench",
        )
        for share in range(shares)
    ]  # fmt: skip
    for each in started:
        assert each.stdout and each.stdout.readline() == "ready\n"
    for each in started:
        assert each.stdin
        each.stdin.write("\n")
        each.stdin.flush()
    return max(float(json.loads(each.communicate()[0])["seconds"]) for each in started)


def ray_beside_local(settings: Settings) -> Outcome:
    """The same job on local processes and as tasks of Ray, in turn, both in the environment that has Ray."""
    if not settings.ray.is_file():
        return Outcome([f"skipped: no interpreter {settings.ray}; `make .venv-ray/.made` makes one with Ray"])
    text = settings.large
    shard = -(-text.rows.stat().st_size // 4)
    env = {"PYTHONPATH": str(ROOT / "python"), "RAY_AUTH_MODE": "disabled"}
    way: dict[str, Any] = {"python": settings.ray, "env": env, "shard_size": shard}
    once = measured(text, "scaled", workers=2, times=1, **way)["seconds"]
    times = max(1, round(settings.seconds / once))
    local, tasks = [], []
    for _ in range(settings.runs):
        local.append(measured(text, "scaled", workers=2, times=times, **way))
        tasks.append(measured(text, "scaled", workers=1, times=times, runner="ray", **way))
    walls = [[each["seconds"] for each in found] for found in (local, tasks)]
    ratio = min(walls[0]) / min(walls[1])
    pairs = [one / two for one, two in zip(*walls, strict=True)]
    wrong = len({each["answer"] for each in (*local, *tasks)}) > 1
    return Outcome(
        [
            (
                f"A job of {local[0]['shards']} shards, {times} times {text.size / 1e6:.0f} MB: two local processes {min(walls[0]):.1f} s, "
                f"Ray {min(walls[1]):.1f} s, its start and end included: {ratio:.2f} of local (pairs {min(pairs):.2f} to {max(pairs):.2f})."
            ),
            reached(ratio, LEAST_OF_LOCAL),
            *["The files differ."] * wrong,
        ],
        wrong,
    )


def rerun(settings: Settings) -> Outcome:
    """The same command where all shards are made and the job is not finished."""
    # A shard ends behind a document, so there are fewer of them than the size allows.
    shard = settings.small.rows.stat().st_size // (2 * MANY_SHARDS)
    found = [measured(settings.small, "rerun", threads=2, shard_size=shard) for _ in range(settings.runs)]
    looked, whole = (statistics.median(each[name] for each in found) for name in ("looked", "seconds"))
    return Outcome(
        [
            (
                f"A job of {found[0]['shards']} shards, all made, run again: {looked:.2f} s until it knows that {found[0]['missing']} "
                f"are missing, {whole:.2f} s until it is finished."
            ),
            f"target {MOST_S:.0f} s, seen {whole:.2f}: {'holds' if whole <= MOST_S else 'short'}",
        ]
    )
