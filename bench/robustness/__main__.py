"""`python -m bench.robustness`: makes the inputs, runs the attacks, and writes the table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..adapters import versions
from ..places import scratch
from ..records import machine, start_facts
from .attack import Attack
from .attacks import ATTACKS
from .runner import run_attacks
from .subjects import LIBRARIES, write_vocabularies
from .table import refresh, report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen attacks. Return the exit code: 1 if an attack leads to a finding in toksmith."""
    command_line = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(command_line)
    attacks = [with_time_limit(attack, options.seconds) for attack in ATTACKS if options.only in attack.name]
    if options.list:
        print("\n".join(f"{attack.name}: {', '.join(attack.libraries)}" for attack in attacks))
        return 0
    libraries = [name for name in LIBRARIES if name in {"toksmith", *options.peers.split(",")} & {*versions()}]
    start = start_facts(command_line) | {"machine": machine(), "versions": versions()}
    folder = scratch("robustness")
    write_vocabularies(folder)
    cells = run_attacks(attacks, libraries, folder)
    page = report(attacks, cells, start)
    print(page)
    whole = not options.only and libraries == [*LIBRARIES] and not options.seconds
    if whole and not options.no_write:
        print(refresh(options.write, page), file=sys.stderr)
    return int(any(cell.findings for (_, library), cell in cells.items() if library == "toksmith"))


def with_time_limit(attack: Attack, seconds: int | None) -> Attack:
    """The attack with a lower limit on its CPU seconds."""
    return replace(attack, seconds=min(attack.seconds, seconds)) if seconds else attack


def parser() -> argparse.ArgumentParser:
    """The options."""
    cli = argparse.ArgumentParser(prog="python -m bench.robustness", description="attacks on toksmith and its peers")
    cli.add_argument("--only", default="", help="attacks whose names contain this (see --list)")
    cli.add_argument("--peers", default=",".join(LIBRARIES), help="libraries that take part; toksmith always does")
    cli.add_argument("--seconds", type=int, help="the limit on CPU seconds for an attack on a library")
    cli.add_argument("--list", action="store_true", help="list the attacks and stop")
    cli.add_argument("--write", type=Path, help="the document whose table is written (docs/robustness.md)")
    cli.add_argument("--no-write", action="store_true", help="print the table only")
    return cli


if __name__ == "__main__":
    sys.exit(main())
