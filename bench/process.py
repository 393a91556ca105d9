"""One fresh process per measurement."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Protocol

from .places import ROOT, scratch
from .request import Reply

CLOSED = "http://127.0.0.1:9"  # the discard port: an engine that uses the network finds this proxy closed


class Asked(Protocol):
    """The request to a worker, as a line of JSON."""

    @property
    def threads(self) -> int:
        """How many threads the engine may use."""

    def dump(self) -> str:
        """The line."""


def ask(request: Asked, timeout: float, module: str = "bench.worker", python: str = sys.executable) -> Reply:
    """Starts a worker with the request and waits for its reply, at most `timeout` seconds.

    Args:
        python: The interpreter of the worker, whose environment contains the engine.
    """
    worker = subprocess.Popen(
        [python, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(request.threads),
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    try:
        output, complaint = worker.communicate(request.dump(), timeout)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.communicate()
        return Reply(problem=f"timeout: more than {timeout:.0f} s")
    except BaseException:
        worker.kill()
        worker.communicate()
        raise
    if worker.returncode or not output.strip():
        return Reply(problem=f"crashed: {reason(worker.returncode, complaint)}")
    return Reply(**json.loads(output.splitlines()[-1]))


def reason(code: int, complaint: str) -> str:
    """How a process ended."""
    if code < 0:
        return signal.Signals(-code).name
    lines = complaint.strip().splitlines()
    return lines[-1][:200] if lines else f"exit status {code}"


def environment(threads: int) -> dict[str, str]:
    """The environment of a worker: the number of threads, no network, the engines' own caches in the scratch folder."""
    proxies = {name: CLOSED for proxy in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") for name in (proxy, proxy.lower())}
    wordchipper = {"WORDCHIPPER_CACHE_DIR": str(scratch("wordchipper")), "WORDCHIPPER_DATA_DIR": str(scratch("unused"))}
    return {
        **os.environ,
        **proxies,
        **wordchipper,
        "HF_HUB_OFFLINE": "1",
        "TIKTOKEN_CACHE_DIR": "",
        "RAYON_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": "",
    }
