"""Processes of `worker.py`: one that does what a mode says, or several at once that share nothing."""

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


def measured(text: Text, mode: str, python: str | Path = sys.executable, **options: Any) -> Measured:
    """What one process says, in a mode of `worker.py` and with its options.

    Raises:
        Failed: the process fails.
    """
    more = options.pop("env", {})
    folder = scratch("corpus") / "out"
    shutil.rmtree(folder, ignore_errors=True)
    if mode == "one file":
        folder.mkdir()
    command = asked(text, mode, python, options)
    env = {**os.environ, **more}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT / "bench", env=env)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise Failed(f"{mode}: {said[-1] if said else done.returncode}")
    shutil.rmtree(folder, ignore_errors=True)
    found: Measured = json.loads(done.stdout.splitlines()[-1])
    return found


def asked(text: Text, mode: str, python: str | Path, options: Measured) -> list[str]:
    """The command of a worker."""
    kind = options.get("kind", "jsonl")
    path = text.rows if kind == "jsonl" else text.kinds[kind]
    given = {"mode": mode, "path": str(path), "rows": str(text.rows), "folder": str(scratch("corpus") / "out")}
    given |= {"vocabulary": str(data() / "vocab" / VOCABULARY), **options}
    return [str(python), "-c", WORKER, json.dumps(given)]


def in_memory(text: Text, shares: int, times: int) -> float:
    """The seconds until the last of so many processes has encoded its share from memory; they begin together."""
    started = [
        subprocess.Popen(
            asked(text, "share", sys.executable, {"share": share, "shares": shares, "times": times}),
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
