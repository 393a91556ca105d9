"""One fresh process per measurement."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Sequence
from threading import Event, Timer
from time import perf_counter
from typing import Protocol

from .places import ROOT, scratch
from .request import READY, Reply, Request

CLOSED = "http://127.0.0.1:9"  # the discard port: an engine that uses the network finds this proxy closed


class WorkerRequest(Protocol):
    """The request to a worker, as a line of JSON."""

    @property
    def threads(self) -> int:
        """The number of threads that the engine can use."""

    def dump(self) -> str:
        """The line."""


def run_worker(
    request: WorkerRequest, timeout: float, module: str = "bench.worker", python: str = sys.executable
) -> Reply:
    """Start a worker with the request and wait for its reply, at most `timeout` seconds.

    Args:
        python: The interpreter of the worker, whose environment contains the engine.
    """
    worker = start_worker(request.threads, module, python)
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
    return parse_reply(worker.returncode, output, complaint)


def run_workers(requests: Sequence[Request], timeout: float) -> Reply:
    """The reply of several workers that begin each of their calls at the same moment, each with a share of a text.

    A figure is the time from the start to the end of the last worker: "first", and "again", the median of the others.
    """
    workers = [start_worker(request.threads, "bench.worker", sys.executable) for request in requests]
    late = Event()

    def give_up() -> None:
        late.set()
        end_workers(workers)

    stop = Timer(timeout, give_up)
    stop.start()
    starts: list[float] = []
    try:
        for worker, request in zip(workers, requests, strict=True):
            send_line(worker, request.dump())
        early = [""] * len(workers)
        while all(worker.poll() is None for worker in workers) and len(starts) <= requests[0].passes:
            early = [worker.stdout.readline() if worker.stdout else "" for worker in workers]
            if any(line.strip() != READY for line in early):
                break
            starts.append(perf_counter())
            for worker in workers:
                send_line(worker, "")
        ends = [worker.communicate() for worker in workers]
    finally:
        stop.cancel()
        end_workers(workers)
    if late.is_set():
        return Reply(problem=f"timeout: more than {timeout:.0f} s")
    replies = [
        parse_reply(worker.returncode, line.replace(READY, "") + output, complaint)
        for worker, line, (output, complaint) in zip(workers, early, ends, strict=True)
    ]
    return merge_replies(replies, starts)


def merge_replies(replies: Sequence[Reply], starts: Sequence[float]) -> Reply:
    """One reply of several workers.

    Args:
        starts: The start of each call, on the clock of the workers' ends.
    """
    problem = next((reply.problem for reply in replies if reply.problem), "")
    if problem or not starts:
        return Reply(problem=problem or "failed: no worker was ready")
    last = [max(reply.figures[str(place)] for reply in replies) - start for place, start in enumerate(starts)]
    return Reply(
        {"first": last[0], "again": statistics.median(last[1:] or last)},
        {"tokens": sum(int(reply.proof["tokens"]) for reply in replies)},
    )


def end_workers(workers: Sequence[subprocess.Popen[str]]) -> None:
    """End all running workers."""
    for worker in workers:
        worker.kill()


def send_line(worker: subprocess.Popen[str], line: str) -> None:
    """Send a line to a worker; a worker that has ended is reported by its reply."""
    try:
        if worker.stdin:
            worker.stdin.write(f"{line}\n")
            worker.stdin.flush()
    except BrokenPipeError:
        pass


def start_worker(threads: int, module: str, python: str) -> subprocess.Popen[str]:
    """A worker that waits for its request."""
    return subprocess.Popen(
        [python, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(threads),
        text=True,
        encoding="utf-8",
        errors="replace",
    )


def parse_reply(code: int, output: str, complaint: str) -> Reply:
    """The reply of a worker that has ended."""
    if code or not output.strip():
        return Reply(problem=f"crashed: {exit_reason(code, complaint)}")
    return Reply(**json.loads(output.splitlines()[-1]))


def exit_reason(code: int, complaint: str) -> str:
    """The reason why a process ended."""
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
