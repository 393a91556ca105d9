"""What tests know of time: processor time, which other programs on the machine hardly change, and never the wall clock's.

The wall clock only ends what hangs: `LIMIT_S` bounds the life of a child process, `until` a wait for something that
must come. `test_clocks.py` refuses other uses.
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
LIMIT_S = 600  # whoever takes longer hangs


def processor_s(call: Callable[[], object], runs: int = 1) -> float:
    """The seconds of the processor that a call takes, on all threads: the least of so many runs."""
    taken = []
    for _ in range(runs):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken)


def until(true: Callable[[], object], said: str, pause: Callable[[], object] = lambda: time.sleep(0.005)) -> None:
    """Waits until something is true, which must come; looks again after each pause."""
    limit = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < limit, f"not in {LIMIT_S} s: {said}"
        pause()


def has_ended(child: Child) -> bool:
    """Whether a child has ended; it is not waited for, so that its processor time can still be asked."""
    return state_of(child)[0] == "Z"


def is_asleep(child: Child) -> bool:
    """Whether a child waits for something."""
    return state_of(child)[0] == "S"


def processor_s_of(child: Child) -> float:
    """The seconds of the processor that a child has taken since it began; of one that nobody has waited for yet."""
    fields = state_of(child)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def state_of(child: Child) -> list[str]:
    """What the kernel says of a process, behind its name: state, ..., and from place 11 the ticks as user and as system."""
    return Path(f"/proc/{child.pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def interrupt(child: Child, at_work_s: float = 0.3, sent: int = signal.SIGINT) -> float:
    """Sends a signal to a child in the middle of its work; returns the seconds of the processor that it had taken.

    Args:
        at_work_s: The child takes so many more seconds of the processor before.
    """
    begun = processor_s_of(child)
    until(lambda: has_ended(child) or processor_s_of(child) >= begun + at_work_s, "the child works")
    child.send_signal(sent)
    return processor_s_of(child)


def left_s(child: Child, before: float) -> float:
    """Waits for the end of a child; returns the seconds of the processor that it took beyond those before.

    What it writes must fit into its pipes.
    """
    until(lambda: has_ended(child), "the child ends")
    return processor_s_of(child) - before


def new_words(megabytes: int) -> bytes:
    """Letters in words that hardly repeat themselves: a second of the processor for each 30 MB or less, in every engine."""
    letters = b"aaabcdeeefghiiijklmnoooprstuvwxyz   "
    drawn = random.Random(1).randbytes(min(megabytes, 30) * 1_000_000)
    return drawn.translate(bytes(letters[byte % len(letters)] for byte in range(256))) * max(megabytes // 30, 1)


def run_script(script: str, *arguments: str) -> str:
    """What a script in a process of its own prints; one that hangs, or exits with anything but 0, fails the test."""
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    done = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


def skip_flushing() -> None:
    """Lets the flush of a file to the disk do nothing in this process. It takes most of the time of tests of faults, and protects
    from a loss of power, which no test makes."""
    os.fsync = lambda fd: None  # type: ignore[assignment]


def run_tests_file(path: str, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a file of tests as a program, which finds the modules that tests share."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, path, *words]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
