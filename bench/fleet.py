"""`python -m bench.fleet 1000 10000 …`: what planning, one shard, one part and the status of a job cost, by its number of inputs.

With `--store` only planning, from a store that lists 1,000 objects in a request and takes 25 ms for each request.
Each step runs in its own process, whose start is not counted. A job has a shard for each input, a file of some bytes. Status and missing
see a receipt and two files for each shard, copies of those of the first.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

from .places import scratch
from .records import cpu_name
from .report import table_line

IN_A_FOLDER = 1000
SHARDS = 50
LISTED, REQUEST_S = 1000, 0.025
STEPS = {
    "plan": "toksmith.corpus.plan(toksmith.load(folder / 'tok.toksmith'), folder / 'in', out, shard_size=1)",
    "a further shard": f"[toksmith.corpus.run_shard(out / 'job.json', each, threads=1) for each in range(1, 1 + {SHARDS})]",
    "--part 7/COUNT": "toksmith.corpus.Job.at(out).run(part='7/COUNT', threads=1, progress=False)",
    "status": "toksmith.corpus.status(out)",
    "missing": "toksmith.corpus.Job.at(out).missing()",
}
SCRIPT = """
    import sys, time, toksmith.corpus
    from pathlib import Path
    folder = Path(sys.argv[1])
    out = folder / "out"
    BEFORE
    toksmith.corpus.Job
    start = time.process_time()
    STEP
    print(time.process_time() - start, next(row.split()[1] for row in open("/proc/self/status") if row.startswith("VmHWM")))
"""


def measure(folder: Path, step: str, before: str = "") -> tuple[float, float]:
    """Measure the processor seconds of a step, and the peak megabytes of its process."""
    code = textwrap.dedent(SCRIPT).replace("STEP", step).replace("BEFORE", before)
    done = subprocess.run([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True, check=True)
    seconds, kib = done.stdout.split()
    return float(seconds), int(kib) / 1e3


def write_inputs(folder: Path, count: int) -> None:
    """Write the inputs, a thousand in a folder, and a tokenizer."""
    from toksmith import train

    for number in range(count):
        place = folder / "in" / f"{number // IN_A_FOLDER:04}"
        if not number % IN_A_FOLDER:
            place.mkdir(parents=True)
        (place / f"{number}.txt").write_bytes(b"low lower %d" % number)
    train("low lower lowest", merges=3).save(folder / "tok.toksmith")


def write_receipts(out: Path, count: int) -> None:
    """Mark all shards as done, by receipts like the first one's, and files of their sizes without content."""
    first = (out / "receipts" / "00000.json").read_text()
    sizes = {name.removeprefix("00000"): size for name, size, _ in json.loads(first)["files"]}
    for number in range(1, count):
        receipt = first.replace('"shard": 0', f'"shard": {number}').replace("00000.", f"{number:05d}.")
        (out / "receipts" / f"{number:05d}.json").write_text(receipt)
        for ending, size in sizes.items():
            with open(out / f"{number:05d}{ending}", "wb") as file:
                file.truncate(size)


def slow_store(objects: int) -> Any:
    """A store of objects that exist only in its listing, as s3fs lists them; it counts its requests and waits for each."""
    from fsspec.implementations.memory import MemoryFileSystem

    class SlowStore(MemoryFileSystem):  # type: ignore[misc]
        requests = 0

        def wait(self, requests: int = 1) -> None:
            SlowStore.requests += requests
            time.sleep(requests * REQUEST_S)

        def info(self, path: str, **_: Any) -> dict[str, Any]:
            self.wait()
            return {"name": path, "type": "directory", "size": 0}

        def find(self, path: str, **_: Any) -> dict[str, Any]:
            self.wait(-(-objects // LISTED))
            names = (f"{path}/{number:08}.txt" for number in range(objects))
            return {name: {"name": name, "Key": name, "type": "file", "size": 9, "ETag": f'"{name}"'} for name in names}

    return SlowStore


def plan_store(folder: Path, objects: int) -> None:
    """Plan the objects of a slow store, and print its requests, the seconds, the processor seconds and the megabytes."""
    import fsspec

    from toksmith import corpus, train

    store = slow_store(objects)
    fsspec.register_implementation("memory", store, clobber=True)
    start, before = time.perf_counter(), time.process_time()
    corpus.plan(train("low lower lowest", merges=3), Path("memory://in"), folder / "out", shard_size=1)
    taken = [f"{each:.1f} s" for each in (time.perf_counter() - start, time.process_time() - before)]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(table_line([f"{objects:,}", f"{store.requests:,}", *taken, f"{most / 1e3:,.0f} MB"]), flush=True)


def measure_files(folder: Path, count: int) -> None:
    """Print a row of the table of local files."""
    write_inputs(folder, count)
    cells = [f"{count:,}"]
    for name, step in STEPS.items():
        before, shards = "", 1
        if name == "a further shard":
            before, shards = "toksmith.corpus.run_shard(out / 'job.json', 0, threads=1)", SHARDS
        if name == "status":
            write_receipts(folder / "out", count)
        seconds, most = measure(folder, step.replace("COUNT", str(count)), before)
        cells.append(f"{seconds / shards:.4f} s, {most:,.0f} MB")
    print(table_line(cells), flush=True)


def main() -> None:
    """Print a table."""
    cli = argparse.ArgumentParser(prog="python -m bench.fleet", description=(__doc__ or "").partition("\n")[0])
    cli.add_argument("inputs", type=int, nargs="+")
    cli.add_argument("--store", action="store_true", help="plan objects of a slow store")
    options = cli.parse_args()
    columns = ["requests", "seconds", "of processors", "peak"] if options.store else [*STEPS]
    print(f"{cpu_name()}; processor seconds, and peak megabytes of the process\n")
    print(table_line(["inputs", *columns]), table_line(["--:"] * (1 + len(columns))), sep="\n")
    for count in options.inputs:
        folder = scratch("fleet")
        shutil.rmtree(folder)
        folder.mkdir()
        (plan_store if options.store else measure_files)(folder, count)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
