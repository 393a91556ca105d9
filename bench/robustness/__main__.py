"""`python -m bench.robustness`: makes the inputs, runs the attacks, and writes the table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..adapters import versions
from ..places import scratch
from ..records import begun, machine
from .attack import Attack
from .attacks import ATTACKS
from .runner import run
from .subjects import LIBRARIES, lay
from .table import refresh, report


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the chosen attacks. Returns the exit code: 1 where one of them leads to a finding in toksmith."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(given)
    attacks = [shortened(attack, options.seconds) for attack in ATTACKS if options.only in attack.name]
    if options.list:
        print("\n".join(f"{attack.name}: {', '.join(attack.libraries)}" for attack in attacks))
        return 0
    libraries = [name for name in LIBRARIES if name in {"toksmith", *options.peers.split(",")} & {*versions()}]
    start = begun(given) | {"machine": machine(), "versions": versions()}
    folder = scratch("robustness")
    lay(folder)
    cells = run(attacks, libraries, folder)
    page = report(attacks, cells, start)
    print(page)
    whole = not options.only and libraries == [*LIBRARIES] and not options.seconds
    if whole and not options.no_write:
        print(refresh(options.write, page), file=sys.stderr)
    return int(any(cell.findings for (_, library), cell in cells.items() if library == "toksmith"))


def shortened(attack: Attack, seconds: int | None) -> Attack:
    """The attack with a lower limit on its CPU seconds."""
    return replace(attack, seconds=min(attack.seconds, seconds)) if seconds else attack


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m bench.robustness", description="attacks on toksmith and its peers")
    made.add_argument("--only", default="", help="attacks whose names contain this (see --list)")
    made.add_argument("--peers", default=",".join(LIBRARIES), help="libraries that take part; toksmith always does")
    made.add_argument("--seconds", type=int, help="the limit on CPU seconds for an attack on a library")
    made.add_argument("--list", action="store_true", help="list the attacks and stop")
    made.add_argument("--write", type=Path, help="the document whose table is written (docs/robustness.md)")
    made.add_argument("--no-write", action="store_true", help="print the table only")
    return made


if __name__ == "__main__":
    sys.exit(main())
