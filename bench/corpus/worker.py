"""One figure of `bench.corpus`, in a separate process: JSON of seconds, processor seconds, peak MB, a hash of ids.

The interpreter of some build, possibly an earlier one, runs this file, so it imports nothing from `bench`.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

BLOCK = 4 << 20


def main() -> None:
    """Run the mode that the options name."""
    options = json.loads(sys.argv[1])
    if options.get("processors"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options["processors"]])
    import toksmith

    tok = toksmith.load(options["vocabulary"], pattern="o200k")
    figures: dict[str, Any] = MODES[options["mode"]](toksmith, tok, options)
    print(json.dumps({"peak": peak_mib(), "cpu": sum(os.times()[:4]), **figures}))


def peak_mib() -> int:
    """The peak memory of this process in MiB. `getrusage` would start with the parent's peak."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def in_memory(toksmith: Any, tok: Any, options: dict[str, Any]) -> dict[str, Any]:
    """`encode_ragged` of the texts, cold."""
    texts = texts_of(options)
    start = time.perf_counter()
    encoded = tok.encode_ragged(texts, special="text", threads=options["threads"])
    return {"seconds": time.perf_counter() - start, "answer": hash_of(encoded.ids)}


def one_file(toksmith: Any, tok: Any, options: dict[str, Any]) -> dict[str, Any]:
    """`encode_corpus` of a file."""
    import numpy as np

    out = f"{options['folder']}/ids.npy"
    start = time.perf_counter()
    way = {"special": "text", "dtype": "uint32", "threads": options["threads"], "progress": False}
    saved = toksmith.corpus.encode(tok, Path(options["path"]), out, **way)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "answer": hash_of(np.load(saved.path))}


def job(toksmith: Any, tok: Any, options: dict[str, Any]) -> dict[str, Any]:
    """A job of `.npy` files, planned before the clock starts; its processes start while it runs."""
    import numpy as np

    plan = planned_job(toksmith, tok, options)
    start = time.perf_counter()
    plan.run(threads=options["threads"], progress=False)
    seconds = time.perf_counter() - start
    ids = [np.load(path) for path in sorted(Path(plan.folder).glob("?????.npy"))]
    return {"seconds": seconds, "answer": hash_of(np.concatenate(ids)), "shards": plan.shards}


def scaled(toksmith: Any, tok: Any, options: dict[str, Any]) -> dict[str, Any]:
    """A job with the same file several times, so that the start of its processes counts little."""
    plan = planned_job(toksmith, tok, options, options["times"])
    start = time.perf_counter()
    plan.run(options.get("runner", "local"), threads=1, workers=options["workers"], progress=False)
    seconds = time.perf_counter() - start
    sums = hashlib.sha256(Path(plan.folder, "SHA256SUMS").read_bytes()).hexdigest()
    return {"seconds": seconds, "answer": sums, "shards": plan.shards}


def share(toksmith: Any, tok: Any, options: dict[str, Any]) -> dict[str, Any]:
    """`encode_ragged` of a share of the texts, as often as `scaled` reads the file, after a line arrives on stdin."""
    texts = texts_of(options)[options["share"] :: options["shares"]]
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    for _ in range(options["times"]):
        tok.encode_ragged(texts, special="text", threads=1)
    return {"seconds": time.perf_counter() - start}


def rerun(toksmith: Any, tok: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The same command after all shards exist but before the job is finished: it checks all receipts."""
    plan = planned_job(toksmith, tok, options)
    for number in plan.missing():
        toksmith.corpus.run_shard(plan.folder / "job.json", number, threads=options["threads"])
    start = time.perf_counter()
    again = planned_job(toksmith, tok, options)
    missing = len(again.missing()), time.perf_counter() - start
    again.run(threads=options["threads"], progress=False)
    return {"seconds": time.perf_counter() - start, "looked": missing[1], "missing": missing[0], "shards": again.shards}


def planned_job(toksmith: Any, tok: Any, options: dict[str, Any], times: int = 1) -> Any:
    """The job."""
    return toksmith.corpus.plan(
        tok, [Path(options["path"])] * times, options["folder"], special="text", empty="keep", dtype="uint32",
        shard_size=options.get("shard_size", 1 << 28),
    )  # fmt: skip


def parts(toksmith: Any, tok: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The processor seconds of the necessary steps of a job, each alone and on one thread."""
    from toksmith import _core
    from toksmith._corpus import File
    from toksmith._corpus.blocks import JsonRows
    from toksmith._corpus.columns import column_of, unparsed_blocks

    seconds = dict.fromkeys(("unpacking", "parsing", "encoding", "hashing"), 0.0)
    digest, answer = hashlib.sha256(), hashlib.sha256()

    def timed(name: str, call: Any) -> Any:
        start = time.process_time()
        result = call()
        seconds[name] += time.process_time() - start
        return result

    blocks = unparsed_blocks(File(Path(options["path"]), "text"))
    while (block := timed("unpacking", lambda: next(blocks, None))) is not None:
        # The column of a table exists as bytes already.
        column = timed("parsing" if isinstance(block, JsonRows) else "unpacking", lambda b=block: column_of(b, 1))
        texts: _core.TextBlock = column.texts
        ids, _ = timed("encoding", lambda t=texts: tok._engine.encode_block(t, "text", 1))
        timed("hashing", lambda t=texts: digest.update(t.digests(1)))
        timed("hashing", lambda i=ids: answer.update(i.data))
    return {"seconds": sum(seconds.values()), "parts": seconds, "answer": answer.hexdigest()}


def texts_of(options: dict[str, Any]) -> list[str]:
    """The texts in memory."""
    with open(options["rows"], "rb") as rows:
        return [json.loads(line)["text"] for line in rows]


def hash_of(ids: Any) -> str:
    """The sha256 of ids."""
    import numpy as np

    return hashlib.sha256(np.ascontiguousarray(ids, np.uint32).data).hexdigest()


MODES = {
    "memory": in_memory,
    "one file": one_file,
    "job": job,
    "scaled": scaled,
    "share": share,
    "rerun": rerun,
    "parts": parts,
}
main()
