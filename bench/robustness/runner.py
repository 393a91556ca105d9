"""Runs an attack on a library, in as many fresh processes as it takes to make every call."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..places import ROOT
from ..process import environment
from .attack import Attack

MOST_PROCESSES = 25
FINDINGS = ("crash", "hang", "memory", "panic", "wrong")


@dataclass
class Cell:
    """One attack on one library.

    Attributes:
        outcomes: The number of outcomes by kind and description.
        seconds: Processor time of all processes.
        mb: The highest peak memory of a process.
        cut: Whether calls were skipped, because too many calls had ended the process.
    """

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0
    mb: int = 0
    cut: bool = False

    @property
    def tries(self) -> int:
        """The number of calls that were made."""
        return self.outcomes.total()

    @property
    def findings(self) -> int:
        """The number of calls with a finding."""
        return sum(times for (kind, _), times in self.outcomes.items() if kind in FINDINGS)


def run_attacks(attacks: Sequence[Attack], libraries: Sequence[str], folder: Path) -> dict[tuple[str, str], Cell]:
    """Run every attack on every installed library with the entry point, as many at once as there are processors."""
    jobs = [(attack, library) for attack in attacks for library in attack.libraries if library in libraries]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        cells = pool.map(lambda pair: run_attack(pair[0], pair[1], folder), jobs)
        return {(attack.name, library): cell for (attack, library), cell in zip(jobs, cells, strict=True)}


def run_attack(attack: Attack, library: str, folder: Path) -> Cell:
    """Run one attack on one library; after a call that ends the process, a new process continues with the next call."""
    cell = Cell()
    first: int | None = 0
    for _ in range(MOST_PROCESSES):
        if first is None:
            break
        first = run_process(attack, library, (folder, first), cell)
    cell.cut |= first is not None
    if cell.mb > attack.most_mb:
        cell.outcomes["memory", f"{cell.mb} MB"] += 1
    print(f"{attack.name}: {library}: {dict(cell.outcomes)}", file=sys.stderr, flush=True)
    return cell


def run_process(attack: Attack, library: str, where: tuple[Path, int], cell: Cell) -> int | None:
    """Run one process from call `first` on; return the next call, or None at the end."""
    folder, first = where
    command_line = [attack.name, library, str(attack.seconds), str(folder), str(first)]
    command = [sys.executable, "-m", "bench.robustness.trial", *command_line]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaint:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": complaint}
        child = subprocess.Popen(command, cwd=ROOT, env=environment(2), **pipes)  # type: ignore[call-overload]
        late = wait_for_end(child, attack.idle_s, cell)
        output.seek(0)
        lines = output.read().decode().splitlines()
        complaint.seek(0)
        error_text = complaint.read().decode(errors="replace")[-1000:]
    begun, finished = count_outcomes(lines, cell)
    if finished:
        return None
    if begun is None:
        raise RuntimeError(f"{attack.name} on {library} ended without a call: {child.returncode}: {error_text}")
    kind, what = end_outcome(child.returncode, late, attack)
    cell.outcomes[kind, what] += 1
    cell.cut |= kind == "hang"
    return None if kind == "hang" else begun + 1


def wait_for_end(child: subprocess.Popen[bytes], idle_s: int, cell: Cell) -> bool:
    """Wait for the end of a process, add its CPU time, and return whether it was killed because it was idle."""
    worked, since, late = -1.0, time.monotonic(), False
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        if (now := cpu_ticks(child.pid)) > worked:
            worked, since = now, time.monotonic()
        elif time.monotonic() > since + idle_s and not late:
            late = True
            os.kill(child.pid, signal.SIGKILL)
        time.sleep(0.02)
    child.returncode = os.waitstatus_to_exitcode(status)
    cell.seconds += usage.ru_utime + usage.ru_stime
    if status:  # otherwise the process reported it; this figure starts with the parent's
        cell.mb = max(cell.mb, usage.ru_maxrss * 1024 // 1_000_000)
    return late


def cpu_ticks(pid: int) -> float:
    """The processor ticks of a process so far."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return float(fields[11]) + float(fields[12])
    return 0.0


def count_outcomes(lines: Sequence[str], cell: Cell) -> tuple[int | None, bool]:
    """Count the outcomes that a process reported; return the current call, and whether all calls were made."""
    begun: int | None = None
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "begin":
            begun = int(rest)
        elif word == "end":
            report = json.loads(rest.partition(" ")[2])
            cell.outcomes[report["kind"], report["said"]] += 1
        elif word == "done":
            cell.mb = max(cell.mb, json.loads(rest)["mb"])
            return None, True
    return begun, False


def end_outcome(code: int, late: bool, attack: Attack) -> tuple[str, str]:
    """The kind and description of the outcome for a call that ended its process."""
    if late:
        return "hang", "hangs"
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "hang", f"timeout after {attack.seconds} s"
    return "crash", signal.Signals(-code).name if code < 0 else f"exit {code}"
