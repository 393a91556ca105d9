"""Runs `worker.py`: one process in some mode, or several independent ones at once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..places import ROOT, data, scratch
from .commands import Failed
from .inputs import Text

WORKER = (Path(__file__).parent / "worker.py").read_text(encoding="utf-8")
VOCABULARY = "o200k_base.tiktoken"
Measured = dict[str, Any]


def run_worker(text: Text, mode: str, python: str | Path = sys.executable, **options: Any) -> Measured:
    """The report of one process, in a mode of `worker.py` and with its options.

    Raises:
        Failed: the process fails.
    """
    more = options.pop("env", {})
    folder = scratch("corpus") / "out"
    shutil.rmtree(folder, ignore_errors=True)
    if mode == "one file":
        folder.mkdir()
    command = worker_command(text, mode, python, options)
    env = {**os.environ, **more}
    process = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT / "bench", env=env)
    if process.returncode:
        error_lines = process.stderr.strip().splitlines()
        raise Failed(f"{mode}: {error_lines[-1] if error_lines else process.returncode}")
    shutil.rmtree(folder, ignore_errors=True)
    report: Measured = json.loads(process.stdout.splitlines()[-1])
    return report


def worker_command(text: Text, mode: str, python: str | Path, options: Measured) -> list[str]:
    """The command of a worker."""
    kind = options.get("kind", "jsonl")
    path = text.rows if kind == "jsonl" else text.kinds[kind]
    worker_options = {"mode": mode, "path": str(path), "rows": str(text.rows), "folder": str(scratch("corpus") / "out")}
    worker_options |= {"vocabulary": str(data() / "vocab" / VOCABULARY), **options}
    return [str(python), "-c", WORKER, json.dumps(worker_options)]


def in_memory(text: Text, shares: int, times: int) -> float:
    """The seconds until the last of `shares` processes has encoded its share from memory; they begin together."""
    started = [
        subprocess.Popen(
            worker_command(text, "share", sys.executable, {"share": share, "shares": shares, "times": times}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT / "bench",
        )
        for share in range(shares)
    ]  # fmt: skip
    for each in started:
        assert each.stdout and each.stdout.readline() == "ready\n"
    for each in started:
        assert each.stdin
        each.stdin.write("\n")
        each.stdin.flush()
    return max(float(json.loads(each.communicate()[0])["seconds"]) for each in started)
