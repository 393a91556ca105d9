"""Time in tests: processor time, which other programs hardly change, and never the wall clock's.

The wall clock only ends hanging tests: `LIMIT_S` bounds the life of a child process, `until` a wait for a certain
event. `test_clocks.py` refuses other uses.
"""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Child = subprocess.Popen[Any]
LIMIT_S = 600  # a child that takes longer hangs


def processor_s(call: Callable[[], object], runs: int = 1) -> float:
    """The processor seconds of a call, on all threads: the minimum of `runs` runs."""
    taken = []
    for _ in range(runs):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken)


def until(true: Callable[[], object], said: str, pause: Callable[[], object] = lambda: time.sleep(0.005)) -> None:
    """Wait until a condition is true, which must happen; check again after each pause."""
    limit = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < limit, f"not in {LIMIT_S} s: {said}"
        pause()


def has_ended(child: Child) -> bool:
    """Whether a child has ended; it is not waited for, so that its processor time can still be read."""
    return state_of(child)[0] == "Z"


def is_asleep(child: Child) -> bool:
    """Whether a child is waiting."""
    return state_of(child)[0] == "S"


def processor_s_of(child: Child) -> float:
    """The processor seconds of a child since its start; the child must not have been waited for yet."""
    fields = state_of(child)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def state_of(child: Child) -> list[str]:
    """The kernel's fields of a process after its name: state, ..., and from place 11 user and system ticks."""
    return Path(f"/proc/{child.pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def interrupt(child: Child, at_work_s: float = 0.3, sent: int = signal.SIGINT) -> float:
    """Send a signal to a child in the middle of its work; return its processor seconds so far.

    Args:
        at_work_s: Processor seconds that the child takes before the signal.
    """
    begun = processor_s_of(child)
    until(lambda: has_ended(child) or processor_s_of(child) >= begun + at_work_s, "the child works")
    child.send_signal(sent)
    return processor_s_of(child)


def left_s(child: Child, before: float) -> float:
    """Wait for the end of a child; return its processor seconds beyond `before`.

    Its output must fit into its pipes.
    """
    until(lambda: has_ended(child), "the child ends")
    return processor_s_of(child) - before


def new_words(megabytes: int) -> bytes:
    """Letters in words that hardly repeat: a processor second for each 30 MB or less, in every engine."""
    letters = b"aaabcdeeefghiiijklmnoooprstuvwxyz   "
    drawn = random.Random(1).randbytes(min(megabytes, 30) * 1_000_000)
    return drawn.translate(bytes(letters[byte % len(letters)] for byte in range(256))) * max(megabytes // 30, 1)


def run_script(script: str, *arguments: str) -> str:
    """The output of a script in a separate process; a hanging script, or an exit code other than 0, fails the test."""
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    done = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


def skip_flushing() -> None:
    """Disable the flush of files to the disk in this process. It takes most of the time of fault tests, and protects
    from a loss of power, which no test causes."""
    os.fsync = lambda fd: None  # type: ignore[assignment]


def run_tests_file(path: str, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a file of tests as a program, which finds the shared modules of tests."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, path, *words]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
