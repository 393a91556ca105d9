"""One run of a program: how long it takes, the processor's time and the memory of all its processes."""

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
LINES = 3  # of a complaint


class Failed(Exception):
    """A program failed; the message has the end of what it said."""


@dataclass(frozen=True)
class Cost:
    """What a run took."""

    wall_s: float
    cpu_s: float
    peak_mb: float

    def less(self, start: Cost) -> Cost:
        """The same without what the program takes for one document; memory stays."""
        return Cost(max(self.wall_s - start.wall_s, 0.001), max(self.cpu_s - start.cpu_s, 0.001), self.peak_mb)


def best(costs: Sequence[Cost]) -> Cost:
    """The least of each time, and the most memory."""
    wall, cpu, peak = zip(*map(astuple, costs), strict=True)
    return Cost(min(wall), min(cpu), max(peak))


def run(command: Sequence[str], folder: Path, cwd: Path, env: Mapping[str, str]) -> Cost:
    """Runs a command that writes into a folder, which is emptied before. Linux only: it reads `/proc`.

    The peak is the sum of the most that each process had; a page that two processes share counts in both. The processor's time
    is that of all processes, also of those that nobody waited for.

    Raises:
        Failed: the exit status is not 0.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    said = folder.with_suffix(".log")
    with said.open("wb") as log:
        start = time.perf_counter()
        child = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        seen: dict[int, Seen] = {}
        ended = threading.Event()
        watcher = threading.Thread(target=watch, args=(child.pid, seen, ended))
        watcher.start()
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
        finally:
            seconds = time.perf_counter() - start
            ended.set()
            watcher.join()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        lines = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise Failed(f"exit status {child.returncode}: {' / '.join(lines[-LINES:])}"[:500])
    waited = used.ru_utime + used.ru_stime
    watched = sum(each.ticks for each in seen.values()) / os.sysconf("SC_CLK_TCK")
    return Cost(seconds, max(waited, watched), sum(each.peak for each in seen.values()) / 1e6)


@dataclass
class Seen:
    """The most that was seen of a process: bytes of memory, ticks of the processor."""

    peak: int = 0
    ticks: int = 0


def watch(root: int, seen: dict[int, Seen], ended: threading.Event) -> None:
    """Looks at a process and at all that it started, until the end."""
    while not ended.wait(EVERY_S):
        look(root, seen)


def look(root: int, seen: dict[int, Seen]) -> None:
    """Notes the memory and the processor's time that a process and its descendants have had so far."""
    for pid in family(root):
        with suppress(OSError, StopIteration):
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
            line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            own = seen.setdefault(pid, Seen())
            own.peak = max(own.peak, int(line.split()[1]) * 1024)
            own.ticks = max(own.ticks, int(fields[11]) + int(fields[12]))


def family(root: int) -> list[int]:
    """A process and its descendants that live."""
    found = [root]
    for pid in found:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, children.read_text(encoding="ascii").split())
    return found
