"""The fresh process of one training: reads a job from stdin, prints a reply as the last line of stdout.

The time is that of the training call, and the processor time that of all its threads; the import of the engine is timed
separately, and documents are already in memory. The peak of resident memory includes them if the engine gets a list.
Afterwards one engine for all counts the learned tokens, and the ids that they make of a sample.
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


def trained(job: Job) -> Reply:
    """Trains and reports time, memory and quality of the tokens."""
    trainer = TRAINERS[job.engine]
    texts = [] if job.source.file else job.source.texts()
    before = peak()
    import_s, _ = timed("wall", trainer.load)
    ready()
    processor, (seconds, result) = timed("cpu", timed, "wall", trainer.train, job, texts)
    figures = {"import": import_s, "seconds": seconds, "processor": processor, "peak": peak(), "before": before}
    ranks = trainer.tokens(result) if job.check else {}
    return Reply(figures, {"tokens": len(ranks), "ids": worth(job, ranks)} if ranks else {})


def ready() -> None:
    """Waits until no thread works, and has memory at hand if the system can forget the peak that this makes."""
    settle()
    if FORGETS_PEAK.exists():
        have_memory()
        FORGETS_PEAK.write_text("5", encoding="ascii")


def peak() -> float:
    """The peak of this process's resident memory in bytes, since the system last forgot it.

    It avoids `ru_maxrss` if possible, because a process inherits that figure from its parent.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
        return float(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


def worth(job: Job, ranks: Ranks) -> int:
    """How many ids the tokens make of the beginning of the text; 0 where nothing was to be learned."""
    if job.size == COUNTING:
        return 0
    import tiktoken

    with Path(job.source.laid.path).open("rb") as file:
        sample = file.read(UNSPLIT_SAMPLE if job.split == UNSPLIT else SAMPLE).decode("utf-8", "ignore")
    counter = tiktoken.Encoding(name=job.engine, pat_str=regex(job), mergeable_ranks=ranks, special_tokens={})
    return len(counter.encode_ordinary(sample))


def answered(job: Job) -> Reply:
    """The reply; whatever goes wrong in an engine becomes its problem, panics of Rust included."""
    try:
        return trained(job)
    except adapters.Unsupported as reason:
        return Reply(problem=f"unsupported: {reason}")
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # noqa: BLE001 - a panic that crosses into Python is no Exception
        line = str(problem).splitlines()[0] if str(problem) else ""
        return Reply(problem=f"failed: {type(problem).__name__}: {line[:200]}".rstrip(": "))


def main() -> None:
    """Pins this process and answers."""
    job = Job.parse(sys.stdin.read())
    if job.cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, job.cpus)
    print("\n" + json.dumps(asdict(answered(job))), flush=True)
    os._exit(0)  # freeing the documents and the engine takes long and measures nothing


if __name__ == "__main__":
    main()
