"""No test depends on wall-clock time, because other programs on the machine change it.

`processors.py` measures processor time, interrupts child processes during their work, and waits; all other tests use it.
The sources that this file reads contain the code of child processes too.
"""

import re
from pathlib import Path

import pytest
from processors import LIMIT_S

HERE = Path(__file__).resolve().parents[1]
SOURCES = sorted(HERE.rglob("*.py"))
OWN = {"processors.py", "test_clocks.py"}
REFUSED = {
    "a wall clock": r"\b(perf_counter|monotonic)(_ns)?\b|\btime\.time(_ns)?\(|\bdatetime\.(now|utcnow|today)\(|\btimeit\b",
    "a sleep instead of a wait for the event": r"\btime\.sleep\((?!0\))",
    "a limit that a busy machine reaches": r"\b(timeout|timeout_s)=(\d|[1-9]\d|1[01]\d)(\.\d*)?[,)]|\.(join|result)\(\d{1,2}\)",
    "a peak that is inherited from the parent process": r"\bru_maxrss\b",
    "a deadline": r"\bdeadline=(?!None)",
}


@pytest.mark.parametrize("what", REFUSED)
def test_no_other_file_reads_a_clock(what: str) -> None:
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in SOURCES
        if path.name not in OWN
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(REFUSED[what], line)
    ]
    assert found == [], f"{what}: use processors.py, whose LIMIT_S of {LIMIT_S} s is the time-out for calls that hang"


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("a wall clock", "start = time.perf_counter()"),
        ("a wall clock", "    from time import monotonic_ns"),
        ("a wall clock", "assert time.time() < end"),
        ("a sleep instead of a wait for the event", "time.sleep(0.5)"),
        ("a limit that a busy machine reaches", "child.wait(timeout=30)"),
        ("a limit that a busy machine reaches", "thread.join(10)"),
        ("a peak that is inherited from the parent process", "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss"),
        ("a deadline", "@settings(deadline=200)"),
    ],
)
def test_the_patterns_match_what_is_refused(what: str, line: str) -> None:
    assert re.search(REFUSED[what], line)
