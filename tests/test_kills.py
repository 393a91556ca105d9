"""The kernel kills a job, or refuses it room, at every n-th call that writes, flushes, renames or links: strace's faults.

Unlike those of `faults.py`, they also meet what the core and the libraries write. The same command then completes the job,
and the folder equals an untouched one.
"""

import os
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import job_corpus
import pytest
from processors import LIMIT_S

import toksmith
from toksmith import JobError

CALLS = {
    "write": "write,pwrite64,writev",
    "fsync": "fsync,fdatasync",
    "rename": "rename,renameat,renameat2",
    "link": "link,linkat",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "npy": {"to": "npy", "errors": "quarantine"},
    "llmc": {"to": "llmc"},
    "mds": {"to": "mds"},
    "shuffled": {"to": "megatron", "shuffle": 5, "sources": True},
}
EXHAUSTIVE = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
SHARE = 3  # how many places of each sort `make test` tries
CHILD = """
import sys, toksmith
folder, out, options = sys.argv[1], sys.argv[2], eval(sys.argv[3])
tok = toksmith.load(f"{folder}/tok.toksmith")
toksmith.plan(tok, toksmith.files(f"{folder}/in/*"), f"{folder}/{out}", **options).run(progress=False, threads=1)
"""


@cache
def lacks() -> str:
    """What this machine lacks; "" for nothing."""
    if (strace := shutil.which("strace")) is None:
        return "lacks strace"
    done = subprocess.run([strace, "-f", "-qq", "-e", "trace=link", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else f"lacks the right to trace: {done.stderr.decode()[:100]}"


def start(folder: Path) -> None:
    """A tokenizer, and a corpus of two shards, one with a bad row."""
    (folder / "in").mkdir()
    (folder / "in" / "a.jsonl").write_bytes(b'{"text": "low"}\n{"text": ""}\n{"text": "lower"}\n')
    (folder / "in" / "b.jsonl").write_bytes(b'{"text": "slow"}\n')
    job_corpus.TOK.save(folder / "tok.toksmith")


def options_of(name: str) -> dict[str, Any]:
    return {"append": job_corpus.END, "shard_size": 30, **OPTIONS[name]}


def traced(folder: Path, out: str, name: str, how: list[str]) -> subprocess.CompletedProcess[str]:
    """The job in a child that strace watches."""
    child = [sys.executable, "-B", "-c", CHILD, str(folder), out, repr(options_of(name))]
    log = str(folder / "trace.log")
    command = ["strace", "-f", "-qq", "-o", log, *how, *child]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def complete(folder: Path, out: str, name: str) -> None:
    """Does what is left of the job."""
    tok = toksmith.load(folder / "tok.toksmith")
    try:
        job = toksmith.plan(tok, toksmith.files(f"{folder}/in/*"), folder / out, **options_of(name))
        job.run(progress=False, threads=1)
    except JobError as error:
        if "is finished" not in str(error):
            raise
        toksmith.Job.at(folder / out).finish()


def fail_everywhere(folder: Path, name: str, sort: str, fault: str) -> int:
    """Lets every call of a sort fail in turn, or a share of them; gives how many runs were hit."""
    start(folder)
    names = CALLS[sort]
    done = traced(folder, "untouched", name, ["-e", f"trace={names}"])
    assert done.returncode == 0, done.stderr
    expected = job_corpus.content(folder / "untouched")
    assert len(expected) >= 7
    # strace counts the calls of each thread for itself; one thread makes nearly all.
    lines = [
        line.split()[0] for line in (folder / "trace.log").read_text(encoding="utf-8", errors="replace").splitlines()
    ]
    count = max(map(lines.count, {*lines}))
    step = 1 if EXHAUSTIVE else -(-count // SHARE)
    hit = 0
    for n in range(count, 0, -step):
        out = f"out {n}"
        done = traced(folder, out, name, ["-e", f"trace={names}", "-e", f"inject={names}:{fault}:when={n}"])
        hit += done.returncode != 0
        if "KILL" in fault:
            assert done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), f"{sort} {n}: {done.stderr}"
        complete(folder, out, name)
        assert job_corpus.content(folder / out) == expected, f"{fault} at {sort} {n}: {done.stderr}"
        shutil.rmtree(folder / out)
    return hit


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.slow
@pytest.mark.parametrize("fault", ["signal=KILL", "error=ENOSPC"])
@pytest.mark.parametrize("sort", CALLS)
@pytest.mark.parametrize("name", [*OPTIONS] if EXHAUSTIVE else ["npy"])
def test_the_same_command_completes_what_the_kernel_stopped(name: str, sort: str, fault: str, tmp_path: Path) -> None:
    if lacking := lacks():
        pytest.skip(lacking)
    hit = fail_everywhere(tmp_path, name, sort, fault)
    print(f"{name}, {sort}, {fault}: {hit} runs were stopped")
    assert hit
