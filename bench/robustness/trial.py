"""The fresh process of one attack on one library: sets its limits, makes the calls, and reports each on stdout.

It prints `begin N` before each call and `end N {...}` after it, so the runner knows which call ended the process. At
the end it prints CPU time and peak memory.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..adapters._engine import import_peer
from ..training.worker import peak_memory
from .attack import Attack, Call, Wrong
from .attacks import ATTACKS


def outcome(call: Call) -> dict[str, str]:
    """The outcome of a call: its kind and its description."""
    try:
        answer = call()
    except Wrong as wrong:
        return {"kind": "wrong", "said": str(wrong)[:100]}
    except MemoryError:
        return {"kind": "memory", "said": "MemoryError"}
    except Exception as error:  # noqa: BLE001 - any class is an answer, and is reported
        if "internal error" in str(error):
            return {"kind": "panic", "said": "internal error"}
        return {"kind": "refused", "said": type(error).__name__}
    except KeyboardInterrupt:
        return {"kind": "refused", "said": "KeyboardInterrupt"}
    except BaseException as panic:  # noqa: BLE001 - a panic in Python is not an Exception
        return {"kind": "panic", "said": type(panic).__name__}
    return {"kind": "answered", "said": answer if isinstance(answer, str) else "answers"}


def set_limits(attack: Attack) -> None:
    """Set the limits of this process."""
    space = attack.gigabytes << 30
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    resource.setrlimit(resource.RLIMIT_CPU, (attack.seconds, attack.seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def print_line(*words: Any) -> None:
    """Write a line, and flush."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def main() -> None:
    """Make the calls of `NAME LIBRARY SECONDS FOLDER FIRST`, from number FIRST on."""
    name, library, seconds, folder, first = sys.argv[1:]
    attack = replace(next(attack for attack in ATTACKS if attack.name == name), seconds=int(seconds))
    import_peer(library)
    set_limits(attack)
    tries = attack.tries(library, Path(folder))
    for number, call in enumerate(tries):
        if number >= int(first):
            print_line("begin", number)
            result = outcome(call)
            print_line("end", number, json.dumps(result))
    print_line("done", json.dumps({"mb": round(peak_memory() / 1e6)}))
    sys.stdout.flush()
    with suppress(OSError):
        os.close(1)
    os._exit(0)  # freeing the library is not part of the attack


if __name__ == "__main__":
    main()
