"""`python -m bench.training`: chooses cases, trains, prints the tables and writes the record."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from time import monotonic
from typing import Any

from ..adapters import OURS, versions
from ..places import RECORDS, write_whole
from ..records import machine, save, start_facts
from ..texts import Missing
from .cases import CASES, Case, scale_case
from .plot import draw_series
from .report import report
from .runner import Outcome, run_case
from .trainers import TRAINERS

RUNS, TIMEOUT, QUICK = 3, 300.0, 0.1
PREFIX = "train-"
EARLIER = "the interpreter of an earlier build to compare with; scripts/bench_before.sh COMMIT prints it"
TIME = "On two quiet processors everything takes about half an hour, and --quick a few minutes."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen cases. Return the exit code: 1 if nothing could be measured."""
    command_line = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(command_line)
    if options.show:
        show(json.loads(options.show.read_text(encoding="utf-8")), options)
        return 0
    cases = select_cases(options)
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    start = start_facts(command_line) | {"command": " ".join(["python -m bench.training", *command_line])}
    rows = measure_cases(cases, options)
    if not rows:
        print_progress("nothing was measured")
        return 1
    result = record(rows, options, start)
    show(result, options)
    if not options.no_record:
        print_progress(f"record: {save(result, options.record, PREFIX)}")
    return 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    cli = argparse.ArgumentParser(prog="python -m bench.training", description="measures training", epilog=TIME)
    cli.add_argument("--only", help="cases whose names contain this (see --list)")
    cli.add_argument("--peers", default=",".join(TRAINERS), help="engines that take part; toksmith always does")
    cli.add_argument("--runs", type=int, help="processes per engine (3; with --quick 1)")
    cli.add_argument("--before", default="", help=EARLIER)
    cli.add_argument("--timeout", type=float, default=TIMEOUT, help="time limit of one process in seconds (300)")
    cli.add_argument("--quick", action="store_true", help="a tenth of each text, and one run")
    cli.add_argument("--list", action="store_true", help="list the cases and stop")
    cli.add_argument("--show", type=Path, help="print the tables of a record and stop")
    cli.add_argument("--plot", type=Path, help="draw how the time grows into this .svg")
    cli.add_argument("--record", type=Path, default=RECORDS, help="the folder of the record")
    cli.add_argument("--no-record", action="store_true", help="print the tables only")
    return cli


def select_cases(options: argparse.Namespace) -> list[Case]:
    """The cases that the filter selects."""
    return [case for case in CASES if options.only is None or options.only in case.name]


def measure_cases(cases: Sequence[Case], options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of the record; after Ctrl-C, those measured so far."""
    rows: list[dict[str, Any]] = []
    began = monotonic()
    peers = {*options.peers.split(","), OURS}
    for place, case in enumerate(cases, 1):
        print_progress(f"[{place}/{len(cases)}, {(monotonic() - began) / 60:.1f} min] {case.name}")
        training = scale_case(case, QUICK) if options.quick else case
        try:
            rows.append(row(case, run_case(training, [*peers], runs(options), options.timeout, options.before)))
        except Missing as reason:
            print_progress(f"left out: {reason}")
        except KeyboardInterrupt:
            print_progress("stopped; the figures are those measured so far")
            break
    return rows


def runs(options: argparse.Namespace) -> int:
    """The number of processes per engine."""
    count: int | None = options.runs
    return count or (1 if options.quick else RUNS)


def row(case: Case, outcomes: dict[str, Outcome]) -> dict[str, Any]:
    """One case of the record."""
    return {"name": case.name, "engines": {engine: outcome.row() for engine, outcome in outcomes.items()}}


def record(rows: list[dict[str, Any]], options: argparse.Namespace, start: dict[str, Any]) -> dict[str, Any]:
    """Everything about a run."""
    duration = datetime.now(timezone.utc) - datetime.fromisoformat(start["date"])
    return {
        **start,
        "took_s": round(duration.total_seconds()),
        "partial": partial(rows, options, start),
        "machine": machine(),
        "versions": versions({engine: trainer.distribution for engine, trainer in TRAINERS.items()}),
        "settings": {"runs": runs(options), "timeout": options.timeout, "quick": options.quick},
        "rows": rows,
    }


def partial(rows: list[dict[str, Any]], options: argparse.Namespace, start: dict[str, Any]) -> str:
    """The reason why a run is not a whole one; "" for a whole run."""
    engines = {case.name: {*case.engines} for case in CASES}
    reasons = {
        "cases are left out": {*engines} - {row["name"] for row in rows},
        "engines are left out": any(engines[row["name"]] - {*row["engines"]} for row in rows),
        "a tenth of each text": options.quick,
        f"fewer than {RUNS} runs": runs(options) < RUNS,
        "the source has uncommitted changes": start["changed"],
    }
    return ", ".join(reason for reason, applies in reasons.items() if applies)


def show(result: dict[str, Any], options: argparse.Namespace) -> None:
    """Print the tables of a record, and draw its plot if requested."""
    print(report(result))
    if options.plot:
        write_whole(options.plot, draw_series({row["name"]: row["engines"] for row in result["rows"]}).encode("utf-8"))


def print_progress(message: str) -> None:
    """Print progress to the user."""
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
