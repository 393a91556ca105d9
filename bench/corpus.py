"""`python -m bench.corpus`: how fast `encode_corpus` turns files into files of ids, relative to the same texts in memory.

Each figure is from a process of its own, and the processes take turns. In each, the ids in the file equal those of
`encode_ragged`. `--before` names the interpreter of an earlier build (`scripts/bench_before.sh COMMIT` prints it), which
takes part in the same run.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .places import ROOT, data, scratch
from .records import begun, machine

WORKER = """
import hashlib, json, resource, sys, time
from pathlib import Path
import numpy as np
import toksmith
path, rows, vocabulary, out, threads = sys.argv[1:6]
tok = toksmith.load(vocabulary, pattern="o200k")
threads = int(threads)
if path == "memory":
    texts = [json.loads(line)["text"] for line in open(rows, "rb")]
    start = time.perf_counter()
    found = tok.encode_ragged(texts, special="text", threads=threads)
    seconds = time.perf_counter() - start
    ids = found.ids
else:
    start = time.perf_counter()
    found = toksmith.encode_corpus(tok, Path(path), out, special="text", dtype="uint32", threads=threads, progress=False)
    seconds = time.perf_counter() - start
    ids = np.load(found.path)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(json.dumps([seconds, peak, hashlib.sha256(np.ascontiguousarray(ids, np.uint32)).hexdigest()]))
"""
KINDS = ("jsonl", "jsonl.gz", "jsonl.zst", "parquet")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and prints the table. Returns the exit code: 1 if ids differ."""
    options = parser().parse_args(arguments)
    files, size = laid(options.corpus, options.megabytes)
    builds = {"now": sys.executable} | ({"before": options.before} if options.before else {})
    cells = [(name, threads) for threads in (1, 2) for name in ("memory", *KINDS)]
    runs: dict[tuple[str, int, str], list[float]] = {(*cell, build): [] for cell in cells for build in builds}
    peaks: dict[tuple[str, int, str], int] = {}
    answers = set()
    for _ in range(options.runs):
        for cell in cells:
            for build, python in builds.items():
                seconds, peak, answer = measured(python, files, *cell)
                runs[(*cell, build)].append(size / seconds / 1e6)
                peaks[(*cell, build)] = max(peak, peaks.get((*cell, build), 0))
                answers.add(answer)
    print(head(options, size))
    for name, threads in cells:
        for build in builds:
            found = runs[name, threads, build]
            inside = statistics.median(runs["memory", threads, build])
            figures = [f"{min(found):.0f}", f"{statistics.median(found):.0f}", f"{max(found):.0f}"]
            ratio = f"{statistics.median(found) / inside:.2f}"
            print(
                "| " + " | ".join([build, name, str(threads), *figures, ratio, str(peaks[name, threads, build])]) + " |"
            )
    print("" if len(answers) == 1 else "The ids differ.")
    return 0 if len(answers) == 1 else 1


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m bench.corpus", description="files to files of ids")
    made.add_argument("--corpus", default="english", help="a corpus of the test data (english)")
    made.add_argument("--megabytes", type=int, default=60, help="megabytes of text (60); the corpus is repeated")
    made.add_argument("--runs", type=int, default=5, help="processes for each figure (5)")
    made.add_argument("--before", default="", help="the interpreter of an earlier build to compare with")
    return made


def laid(corpus: str, megabytes: int) -> tuple[dict[str, Path], int]:
    """The same rows as a file of each kind, and the bytes of their texts."""
    import pyarrow
    import pyarrow.parquet
    import zstandard

    folder = scratch("corpus")
    files = {kind: folder / f"{corpus}-{megabytes}.{kind}" for kind in KINDS}
    with gzip.open(data() / "corpora" / f"{corpus}.jsonl.gz", "rb") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    used: list[str] = []
    size = 0
    while size < megabytes * 10**6:
        used.append(texts[len(used) % len(texts)])
        size += len(used[-1].encode())
    if not all(path.exists() for path in files.values()):
        rows = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in used).encode()
        files["jsonl"].write_bytes(rows)
        files["jsonl.gz"].write_bytes(gzip.compress(rows, 6))
        files["jsonl.zst"].write_bytes(zstandard.compress(rows))
        pyarrow.parquet.write_table(pyarrow.table({"text": used}), files["parquet"], compression="zstd")
    return files, size


def measured(python: str, files: dict[str, Path], name: str, threads: int) -> tuple[float, int, str]:
    """Seconds, megabytes at the peak, and the hash of the ids, of one process."""
    path = "memory" if name == "memory" else str(files[name])
    vocabulary = data() / "vocab" / "o200k_base.tiktoken"
    given = [path, str(files["jsonl"]), str(vocabulary), str(scratch("corpus") / "ids.npy"), str(threads)]
    command = [python, "-c", WORKER, *given]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT / "bench")
    seconds, peak, answer = json.loads(done.stdout)
    return seconds, peak, answer


def head(options: argparse.Namespace, size: int) -> str:
    """What was measured, and the head of the table."""
    start = begun([])
    what = f"{size / 1e6:.0f} MB of {options.corpus} text, o200k, {options.runs} processes for each figure, in turn."
    columns = "| build | from | threads | minimum MB/s | median | maximum | relative to memory | peak MB |"
    on = machine()
    where = (
        f"{on['cpu']}, {on['cpus']} processors, {on['python']}, commit {start['commit'][:12]}, load {start['load']:.1f}"
    )
    return f"{start['date']}, {where}\n{what}\n\n{columns}\n|---|---|--:|--:|--:|--:|--:|--:|"


if __name__ == "__main__":
    sys.exit(main())
