"""Runs a program once, and measures time, processor time and memory of all its processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

EVERY_S = 0.05
LINES = 3  # of the error output that a message quotes


class Failed(Exception):
    """A program failed; the message has the end of its output."""


@dataclass(frozen=True)
class Cost:
    """The cost of a run."""

    wall_s: float
    cpu_s: float
    peak_mb: float

    def subtract_start(self, start: Cost) -> Cost:
        """The cost without that of a run with one document; memory stays."""
        return Cost(max(self.wall_s - start.wall_s, 0.001), max(self.cpu_s - start.cpu_s, 0.001), self.peak_mb)


def best_cost(costs: Sequence[Cost]) -> Cost:
    """The lowest of each time, and the highest memory."""
    wall, cpu, peak = zip(*map(astuple, costs), strict=True)
    return Cost(min(wall), min(cpu), max(peak))


def run_command(command: Sequence[str], folder: Path, cwd: Path, env: Mapping[str, str]) -> Cost:
    """Run a command that writes into a folder, which is emptied first. Linux only: it reads `/proc`.

    The peak is the sum of the peaks of all processes; a page that two processes share counts twice. The processor time
    is that of all processes, also of children that were not waited for.

    Raises:
        Failed: the exit status is not 0.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log_path = folder.with_suffix(".log")
    with log_path.open("wb") as log:
        start = time.perf_counter()
        child = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        peaks: dict[int, ProcessPeak] = {}
        ended = threading.Event()
        watcher = threading.Thread(target=sample_until_end, args=(child.pid, peaks, ended))
        watcher.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
        finally:
            seconds = time.perf_counter() - start
            ended.set()
            watcher.join()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        lines = log_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise Failed(f"exit status {child.returncode}: {' / '.join(lines[-LINES:])}"[:500])
    waited = usage.ru_utime + usage.ru_stime
    ticks_s = sum(each.ticks for each in peaks.values()) / os.sysconf("SC_CLK_TCK")
    return Cost(seconds, max(waited, ticks_s), sum(each.peak for each in peaks.values()) / 1e6)


@dataclass
class ProcessPeak:
    """The peaks of a process: bytes of memory, ticks of the processor."""

    peak: int = 0
    ticks: int = 0


def sample_until_end(root: int, seen: dict[int, ProcessPeak], ended: threading.Event) -> None:
    """Sample a process and all its descendants until the end."""
    while not ended.wait(EVERY_S):
        sample_processes(root, seen)


def sample_processes(root: int, seen: dict[int, ProcessPeak]) -> None:
    """Record the memory and processor time so far of a process and its descendants."""
    for pid in process_tree(root):
        with suppress(OSError, StopIteration):
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
            line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            process = seen.setdefault(pid, ProcessPeak())
            process.peak = max(process.peak, int(line.split()[1]) * 1024)
            process.ticks = max(process.ticks, int(fields[11]) + int(fields[12]))


def process_tree(root: int) -> list[int]:
    """A process and its live descendants."""
    pids = [root]
    for pid in pids:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                pids += map(int, children.read_text(encoding="ascii").split())
    return pids
