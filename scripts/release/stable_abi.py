"""Measures calls that make or read Python objects, in several installations by turns, for scripts/release/stable_abi.sh.

Each round runs each installation in a fresh process. A row has the best time of each installation, over all rounds, and
how much longer it takes than the first one. An installation that is named twice shows what the machine alone does.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SECONDS = 0.25  # of one cell in one round
CORPUS_BYTES = 2_000_000
SHORT, LINE = "Hello world", "The quick brown fox jumps over the lazy dog, and then it sleeps."


def corpus() -> str:
    """Text that every machine with Python has."""
    files = sorted(Path(json.__file__).parent.parent.glob("*.py"))
    return "".join(path.read_text(encoding="utf-8", errors="replace") for path in files)[:CORPUS_BYTES]


def best(call: Callable[[], object]) -> float:
    """The least time of a call, of as many as fit into the time of a cell, in microseconds."""
    once = time.perf_counter()
    call()
    number = max(1, int(0.01 / max(time.perf_counter() - once, 1e-7)))
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(number):
            call()
        times.append((time.perf_counter() - start) / number)
    return min(times) * 1e6


def measure() -> dict[str, float]:
    """The time of each cell in this installation, in microseconds."""
    import toksmith

    text = corpus()
    tok = toksmith.train(text, 8000, progress=False)
    long, texts = text[:1_000_000], [LINE] * 1000
    ids, some = tok.encode(long), tok.encode(LINE)
    batch = tok.encode_batch(texts)
    cells: dict[str, Callable[[], object]] = {
        "encode, 11 characters": lambda: tok.encode(SHORT),
        "encode, 64 characters": lambda: tok.encode(LINE),
        "count, 64 characters": lambda: tok.count(LINE),
        f"decode, {len(some)} ids": lambda: tok.decode(some),
        f"encode, 1 MB to a list of {len(ids):,}": lambda: tok.encode(long),
        "encode, 1 MB to an array": lambda: tok.encode_array(long),
        f"decode, a list of {len(ids):,}": lambda: tok.decode(ids),
        "encode_batch, 1000 lines": lambda: tok.encode_batch(texts, threads=1),
        "decode_batch, 1000 lines": lambda: tok.decode_batch(batch, threads=1),
    }
    return {name: best(cell) for name, cell in cells.items()}


def main() -> None:
    """Measure this installation, or print the table of others."""
    if len(sys.argv) == 1:
        print(json.dumps(measure()))
        return
    rounds, pythons = int(sys.argv[1]), sys.argv[2:]
    found: list[dict[str, float]] = [{} for _ in pythons]
    for _ in range(rounds):
        for least, python in zip(found, pythons, strict=True):
            ran = subprocess.run([python, "-I", __file__], check=True, capture_output=True, text=True)
            for name, time_us in json.loads(ran.stdout).items():
                least[name] = min(time_us, least.get(name, time_us))
    for name, own in found[0].items():
        others = "".join(f" {least[name]:12,.2f} {least[name] / own - 1:+7.1%}" for least in found[1:])
        print(f"{name:36} {own:12,.2f}{others}")


if __name__ == "__main__":
    main()
