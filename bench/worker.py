"""The fresh process of one measurement: reads a request from stdin, prints a reply as the last line of stdout."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict

from .adapters import Unsupported
from .measures import MEASURES
from .request import Reply, Request


def reply_to(request: Request) -> Reply:
    """The reply; any failure of an engine becomes its problem, panics of Rust included."""
    try:
        return MEASURES[request.measure](request)
    except Unsupported as reason:
        return Reply(problem=f"unsupported: {reason}".rstrip(": "))
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # noqa: BLE001 - a panic in Python is not an Exception
        line = str(problem).splitlines()[0] if str(problem) else ""
        return Reply(problem=f"failed: {type(problem).__name__}: {line[:200]}".rstrip(": "))


def main() -> None:
    """Pin this process, and answer."""
    request = Request.parse(sys.stdin.readline())
    if request.cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, request.cpus)
    print(json.dumps(asdict(reply_to(request))), flush=True)
    os._exit(0)  # freeing the texts and the engine takes long and measures nothing


if __name__ == "__main__":
    main()
