"""strace kills a command, or fills the disk, at every n-th call that writes, flushes, renames or links.

Unlike `faults.py`, this also reaches the writes of the core and the libraries. The same command then completes the work,
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
from click.testing import CliRunner
from processors import LIMIT_S

import toksmith
from toksmith._cli import app
from toksmith.errors import JobError

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
COMMANDS: dict[str, list[str]] = {
    "corpus merge": ["corpus", "merge", "ids", "ids", "-o", "OUT", "--to", "nanogpt"],
    "corpus count": ["corpus", "count", "in", "-o", "OUT/", "--shard-size", "30", "--threads", "1"],
    "corpus merge-counts": ["corpus", "merge-counts", "counts", "-o", "OUT/all.parquet", "--spill-to", "spill"],
    "train": [
        "train",
        "--from-counts",
        "counts/",
        "--merges",
        "9",
        "--checkpoint",
        "OUT/kept",
        "-o",
        "OUT/tok.toksmith",
    ],
    "encode": ["encode", "-t", "tok.toksmith", "in/a.jsonl", "in/b.jsonl", "-o", "OUT/ids.npy"],
}
ALL_DONE = ("this job is finished", "merged here already")
# The one fault of each command from the shell in `make test`; a tokenizing job has all faults.
OF_COMMANDS = {
    "corpus merge": ("rename", "signal=KILL"),
    "corpus count": ("link", "signal=KILL"),
    "corpus merge-counts": ("write", "signal=KILL"),
    "train": ("fsync", "error=ENOSPC"),
    "encode": ("rename", "signal=KILL"),
}
FAULTS = ("signal=KILL", "error=ENOSPC")
EXHAUSTIVE = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
NEVER_LINK = ("corpus merge", "corpus merge-counts", "train", "encode")
LEAST = {"corpus merge-counts": 1, "train": 2, "encode": 3, "corpus merge": 5}  # files of a whole result
SHARE = 3  # places of each sort in `make test`
CHILD = """
import sys, toksmith
folder, out, options = sys.argv[1], sys.argv[2], eval(sys.argv[3])
tok = toksmith.load(f"{folder}/tok.toksmith")
toksmith.corpus.plan(tok, toksmith.files(f"{folder}/in/*"), f"{folder}/{out}", **options).run(progress=False, threads=1)
"""


@cache
def lacks() -> str:
    """The reason for a skip on this machine, or ""."""
    if (strace := shutil.which("strace")) is None:
        return "lacks strace"
    done = subprocess.run([strace, "-f", "-qq", "-e", "trace=link", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else f"lacks the right to trace: {done.stderr.decode()[:100]}"


def start(folder: Path, name: str) -> None:
    """A tokenizer and a corpus of two shards; and for commands that merge, finished jobs of many shards."""
    (folder / "in").mkdir()
    (folder / "in" / "a.jsonl").write_bytes(b'{"text": "low"}\n{"text": ""}\n{"text": "lower"}\n')
    (folder / "in" / "b.jsonl").write_bytes(b'{"text": "slow"}\n')
    job_corpus.TOK.save(folder / "tok.toksmith")
    if name in COMMANDS:
        (folder / "rows.jsonl").write_bytes(b"".join(b'{"text": "low %d"}\n' % number for number in range(40)))
        rows = toksmith.files(folder / "rows.jsonl")
        toksmith.corpus.plan(job_corpus.TOK, rows, folder / "ids", shard_size=300).run(progress=False)
        # More shards than are read at once, so the merge takes rounds.
        toksmith.corpus.plan_counts(rows, folder / "counts", shard_size=1).run(progress=False)
        (folder / "spill").mkdir()


def arguments(folder: Path, out: str, name: str) -> list[str]:
    """The arguments of a command from the shell. Makes its folder."""
    (folder / out).mkdir(exist_ok=True)
    names = ("ids", "in", "in/a.jsonl", "in/b.jsonl", "counts", "counts/", "spill", "tok.toksmith")
    given = (each.replace("OUT", str(folder / out)) for each in COMMANDS[name])
    return [*(f"{folder}/{each}" if each in names else each for each in given), "-q"]


def options_of(name: str) -> dict[str, Any]:
    return {"append": job_corpus.END, "shard_size": 30, **OPTIONS[name]}


def child_of(folder: Path, out: str, name: str) -> list[str]:
    """The command of a child: a job of Python, or one from the shell."""
    if name in COMMANDS:
        return [sys.executable, "-B", "-m", "toksmith", *arguments(folder, out, name)]
    return [sys.executable, "-B", "-c", CHILD, str(folder), out, repr(options_of(name))]


def run_traced(folder: Path, out: str, name: str, how: list[str]) -> subprocess.CompletedProcess[str]:
    """The command in a child that strace watches."""
    log = str(folder / "trace.log")
    command = ["strace", "-f", "-qq", "-o", log, *how, *child_of(folder, out, name)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def complete(folder: Path, out: str, name: str) -> None:
    """Completes the work by the same command."""
    if name in COMMANDS:
        done = CliRunner().invoke(app, arguments(folder, out, name))
        assert done.exit_code == 0 or any(said in done.output for said in ALL_DONE), done.output
        return
    tok = toksmith.load(folder / "tok.toksmith")
    try:
        job = toksmith.corpus.plan(tok, toksmith.files(f"{folder}/in/*"), folder / out, **options_of(name))
        job.run(progress=False, threads=1)
    except JobError as error:
        if "is finished" not in str(error):
            raise
        toksmith.corpus.Job.at(folder / out).finish()


def fail_everywhere(folder: Path, name: str, sort: str, fault: str) -> int:
    """Lets every call of a sort fail in turn, or a share of them; gives the number of stopped runs."""
    start(folder, name)
    names = CALLS[sort]
    done = run_traced(folder, "untouched", name, ["-e", f"trace={names}"])
    assert done.returncode == 0, done.stderr
    expected = job_corpus.content(folder / "untouched")
    assert len(expected) >= LEAST.get(name, 7)
    # strace counts the calls of each thread separately; one thread makes nearly all.
    lines = [
        line.split()[0] for line in (folder / "trace.log").read_text(encoding="utf-8", errors="replace").splitlines()
    ]
    count = max(map(lines.count, {*lines}), default=0)
    assert count or name in NEVER_LINK
    step = 1 if EXHAUSTIVE else max(-(-count // SHARE), 1)
    hit = 0
    for n in range(count, 0, -step):
        out = f"out {n}"
        done = run_traced(folder, out, name, ["-e", f"trace={names}", "-e", f"inject={names}:{fault}:when={n}"])
        hit += done.returncode != 0
        if "KILL" in fault:
            assert done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), f"{sort} {n}: {done.stderr}"
        complete(folder, out, name)
        # `train` saves a training that it cannot continue, and names the file in its error.
        for left in ("interrupted", "trained"):
            (folder / out / f"tok.{left}.toksmith").unlink(missing_ok=True)
        assert job_corpus.content(folder / out) == expected, f"{fault} at {sort} {n}: {done.stderr}"
        shutil.rmtree(folder / out)
    return hit or not count


ROWS = [*OPTIONS, *COMMANDS] if EXHAUSTIVE else ["npy"]
CASES = [(name, sort, fault) for name in ROWS for sort in CALLS for fault in FAULTS]
CASES += [] if EXHAUSTIVE else [(name, sort, fault) for name, (sort, fault) in OF_COMMANDS.items()]


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.slow
@pytest.mark.parametrize(("name", "sort", "fault"), CASES)
def test_the_same_command_completes_a_stopped_one(name: str, sort: str, fault: str, tmp_path: Path) -> None:
    if lacking := lacks():
        pytest.skip(lacking)
    hit = fail_everywhere(tmp_path, name, sort, fault)
    print(f"{name}, {sort}, {fault}: {hit} runs were stopped")
    assert hit
