"""`python -m bench.corpus`: how fast files become files of ids, relative to the same texts in memory and to what it must cost.

Each figure is from a process of its own, and the processes take turns. The ids of each equal those of `encode_ragged` in
memory. What a job must cost is computed from the processor times of unpacking, parsing, encoding and hashing, which are
measured alone in the same run. `--before` names the interpreter of an earlier build (`scripts/bench_before.sh COMMIT` prints
it), which takes part with `encode_corpus`. `corpus_worker.py` is what a process does.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .places import ROOT, data, scratch
from .records import begun, machine

WORKER = (Path(__file__).parent / "corpus_worker.py").read_text(encoding="utf-8")
KINDS = ("jsonl", "jsonl.gz", "jsonl.zst", "parquet", "arrow")
PEERS = ("datatrove", "datasets.map")
MANY_SHARDS = 1000
TIMES = 8
Measured = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and prints the tables. Returns the exit code: 1 if ids differ."""
    options = parser().parse_args(arguments)
    files, size = laid(options.corpus, options.megabytes)
    builds = {"now": sys.executable} | ({"before": options.before} if options.before else {})
    runs: dict[tuple[Any, ...], list[Measured]] = {}
    for _ in range(options.runs):
        for cell, python in cells(builds):
            runs.setdefault(cell, []).append(measured(python, files, cell))
    print(head(options, size))
    for line in (
        *of_files(runs, size),
        "",
        *of_jobs(runs, size),
        "",
        *others(runs, size),
        "",
        *of_peers(files, runs, size),
    ):
        print(line)
    answers = {each.get("answer") for found in runs.values() for each in found} - {None}
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


def cells(builds: dict[str, str]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """What is measured: mode, build, kind of file, threads, processes; and the interpreter."""
    for build, python in builds.items():
        for threads in (1, 2):
            yield ("memory", build, "jsonl", threads, 1), python
            yield from (
                (("one file", build, kind, threads, 1), python) for kind in KINDS[: None if build == "now" else 4]
            )
    for kind in KINDS:
        yield ("parts", "now", kind, 1, 1), sys.executable
        yield from ((("job", "now", kind, threads, 1), sys.executable) for threads in (1, 2))
    yield from ((("scaled", "now", "jsonl", 1, workers), sys.executable) for workers in (1, 2))
    yield ("rerun", "now", "jsonl", 2, 1), sys.executable


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
        table = pyarrow.table({"text": used})
        pyarrow.parquet.write_table(table, files["parquet"], compression="zstd")
        with pyarrow.ipc.new_stream(str(files["arrow"]), table.schema) as file:
            file.write_table(table, max_chunksize=1000)
    return files, size


def measured(python: str, files: dict[str, Path], cell: tuple[Any, ...]) -> Measured:
    """What one process says."""
    mode, _, kind, threads, workers = cell
    folder = scratch("corpus") / "out"
    shutil.rmtree(folder, ignore_errors=True)
    if mode in ("one file", *PEERS):
        folder.mkdir()
    options = {"mode": mode, "path": str(files[kind]), "rows": str(files["jsonl"]), "folder": str(folder)}
    options |= {"vocabulary": str(data() / "vocab" / "o200k_base.tiktoken"), "threads": threads, "workers": workers}
    if mode == "rerun":
        options["shard_size"] = -(-files[kind].stat().st_size // MANY_SHARDS)
    if mode == "scaled":
        options |= {"times": TIMES, "shard_size": -(-files[kind].stat().st_size // 2)}
    command = [python, "-c", WORKER, json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT / "bench")
    if done.returncode:
        raise RuntimeError(
            done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"{mode}: {done.returncode}"
        )
    found: Measured = json.loads(done.stdout.splitlines()[-1])
    return found


def rates(found: list[Measured], size: int) -> list[float]:
    """MB/s of each process."""
    return [size / each["seconds"] / 1e6 for each in found]


def spread(values: list[float]) -> str:
    """Three cells: minimum, median, maximum."""
    return f"{min(values):.0f} | {statistics.median(values):.0f} | {max(values):.0f}"


def of_files(runs: dict[tuple[Any, ...], list[Measured]], size: int) -> Iterator[str]:
    """The table of `encode_corpus`."""
    yield "| build | from | threads | minimum MB/s | median | maximum | relative to memory | peak MB |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for (mode, build, kind, threads, workers), found in runs.items():
        if mode in ("memory", "one file"):
            own = rates(found, size)
            inside = statistics.median(rates(runs["memory", build, "jsonl", threads, workers], size))
            name = "memory" if mode == "memory" else kind
            peak = max(each["peak"] for each in found)
            yield f"| {build} | {name} | {threads} | {spread(own)} | {statistics.median(own) / inside:.2f} | {peak} |"


def of_jobs(runs: dict[tuple[Any, ...], list[Measured]], size: int) -> Iterator[str]:
    """The table of jobs, beside what they must cost."""
    columns = ("unpacking", "parsing", "encoding", "hashing")
    yield f"| job from | threads | minimum MB/s | median | maximum | {' s | '.join(columns)} s | of computed | of memory | peak MB |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for (mode, _, kind, threads, _), found in runs.items():
        if mode != "job":
            continue
        own = statistics.median(rates(found, size))
        apart = runs["parts", "now", kind, 1, 1]
        seconds = [statistics.median(each["parts"][name] for each in apart) for name in columns]
        computed = size / sum(seconds) / 1e6 * threads
        inside = statistics.median(rates(runs["memory", "now", "jsonl", threads, 1], size))
        cells = [kind, str(threads), spread(rates(found, size)), *(f"{each:.2f}" for each in seconds)]
        cells += [f"{own / computed:.2f}", f"{own / inside:.2f}", str(max(each["peak"] for each in found))]
        yield "| " + " | ".join(cells) + " |"


def others(runs: dict[tuple[Any, ...], list[Measured]], size: int) -> Iterator[str]:
    """Two processes over one, and a job that is run again."""
    one, two, memory, both = (
        statistics.median(rates(runs[cell], size))
        for cell in (
            ("scaled", "now", "jsonl", 1, 1),
            ("scaled", "now", "jsonl", 1, 2),
            ("memory", "now", "jsonl", 1, 1),
            ("memory", "now", "jsonl", 2, 1),
        )
    )
    yield f"Two processes of one thread, {TIMES} times the file, with their start: {two / one:.2f} of one."
    yield f"The machine's own limit, two threads in memory: {both / memory:.2f} of one."
    again = runs["rerun", "now", "jsonl", 2, 1]
    looked, whole = (statistics.median(each[name] for each in again) for name in ("looked", "seconds"))
    yield (
        f"A job of {again[0]['shards']} shards, all made, run again: {looked:.2f} s until it knows that {again[0]['missing']} "
        f"are missing, {whole:.2f} s until it is finished."
    )


def of_peers(files: dict[str, Path], runs: dict[tuple[Any, ...], list[Measured]], size: int) -> Iterator[str]:
    """Each peer once, relative to a job with as many threads; or why it is skipped."""
    for name, threads in zip(PEERS, (1, 2), strict=True):
        own = statistics.median(rates(runs["job", "now", "jsonl", threads, 1], size))
        try:
            (theirs,) = rates([measured(sys.executable, files, (name, "now", "jsonl", threads, 1))], size)
        except RuntimeError as problem:
            yield f"{name} is skipped: {problem}"
        else:
            yield f"{name}: {theirs:.1f} MB/s with {threads}; a job is {own / theirs:.0f} times as fast."


def head(options: argparse.Namespace, size: int) -> str:
    """What was measured."""
    start = begun([])
    what = f"{size / 1e6:.0f} MB of {options.corpus} text, o200k, {options.runs} processes for each figure, in turn."
    on = machine()
    where = (
        f"{on['cpu']}, {on['cpus']} processors, {on['python']}, commit {start['commit'][:12]}, load {start['load']:.1f}"
    )
    return f"{start['date']}, {where}\n{what}\n"


if __name__ == "__main__":
    sys.exit(main())
