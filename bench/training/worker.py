"""The fresh process of one training: reads a job from stdin, prints a reply as the last line of stdout.

The time is that of the training call, and the processor time that of all its threads; the import of the engine is timed
separately, and documents are already in memory. The peak of resident memory includes them if the engine gets a list.
Afterwards one common engine counts the learned tokens, and the ids of a sample with them.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from dataclasses import asdict
from pathlib import Path

from .. import adapters
from ..measures.clock import have_memory, settle, timed
from ..request import Reply
from .cases import COUNTING, UNSPLIT
from .job import Job
from .trainers import TRAINERS, Ranks, regex

SAMPLE, UNSPLIT_SAMPLE = 200_000, 20_000
FORGETS_PEAK = Path("/proc/self/clear_refs")


def train_and_measure(job: Job) -> Reply:
    """Train, and report time, memory and quality of the tokens."""
    trainer = TRAINERS[job.engine]
    texts = [] if job.source.file else job.source.texts()
    before = peak_memory()
    import_s, _ = timed("wall", trainer.load)
    wait_until_idle()
    processor, (seconds, result) = timed("cpu", timed, "wall", trainer.train, job, texts)
    figures = {"import": import_s, "seconds": seconds, "processor": processor, "peak": peak_memory(), "before": before}
    ranks = trainer.tokens(result) if job.check else {}
    return Reply(figures, {"tokens": len(ranks), "ids": sample_ids(job, ranks)} if ranks else {})


def wait_until_idle() -> None:
    """Wait until no thread works, and touch memory if the system can reset the resulting peak."""
    settle()
    if FORGETS_PEAK.exists():
        have_memory()
        FORGETS_PEAK.write_text("5", encoding="ascii")


def peak_memory() -> float:
    """The peak of this process's resident memory in bytes, since the system last reset it.

    It avoids `ru_maxrss` if possible, because a process inherits that figure from its parent.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
        return float(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


def sample_ids(job: Job, ranks: Ranks) -> int:
    """The number of ids of the beginning of the text with the learned tokens; 0 if nothing was to be learned."""
    if job.size == COUNTING:
        return 0
    import tiktoken

    with Path(job.source.laid.path).open("rb") as file:
        sample = file.read(UNSPLIT_SAMPLE if job.split == UNSPLIT else SAMPLE).decode("utf-8", "ignore")
    counter = tiktoken.Encoding(name=job.engine, pat_str=regex(job), mergeable_ranks=ranks, special_tokens={})
    return len(counter.encode_ordinary(sample))


def reply_to(job: Job) -> Reply:
    """The reply; any failure of an engine becomes its problem, panics of Rust included."""
    try:
        return train_and_measure(job)
    except adapters.Unsupported as reason:
        return Reply(problem=f"unsupported: {reason}")
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # noqa: BLE001 - a panic in Python is not an Exception
        line = str(problem).splitlines()[0] if str(problem) else ""
        return Reply(problem=f"failed: {type(problem).__name__}: {line[:200]}".rstrip(": "))


def main() -> None:
    """Pin this process, and answer."""
    job = Job.parse(sys.stdin.read())
    if job.cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, job.cpus)
    print("\n" + json.dumps(asdict(reply_to(job))), flush=True)
    os._exit(0)  # freeing the documents and the engine takes long and measures nothing


if __name__ == "__main__":
    main()
