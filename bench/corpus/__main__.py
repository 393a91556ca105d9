"""`python -m bench.corpus`: runs the sections in order; `--only megatron,ray` chooses among them.

Exit codes: 0; 1 if ids differ or a program fails. A section with a missing program is skipped, with a line of advice.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..places import ROOT
from ..records import machine, start_facts
from ..texts import Missing
from ..vocabularies import MissingVocabulary
from . import own, peers, scaling
from .commands import Failed
from .inputs import VOCABULARY, Text
from .settings import Outcome, Settings

CPUS = 2
SECTIONS: dict[str, Callable[[Settings], Outcome]] = {
    "jobs": own.measure_jobs,
    "workers": scaling.two_processes,
    "rerun": scaling.rerun,
    "ray": scaling.ray_beside_local,
    **{name: peers.peer_section(peer) for name, peer in peers.PEERS.items()},
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print each section when it is complete."""
    cli = parser()
    options = cli.parse_args(arguments)
    sections = [name for name in options.only.split(",") if name] or [*SECTIONS]
    if unknown := {*sections} - {*SECTIONS}:
        cli.error(f"--only: no section {', '.join(sorted(unknown))}; they are {', '.join(SECTIONS)}")
    settings = settings_of(options)
    print(run_header(settings), flush=True)
    failed = False
    for name in sections:
        print(f"\n## {name}\n", flush=True)
        try:
            outcome = SECTIONS[name](settings)
        except (Failed, Missing, MissingVocabulary) as problem:
            outcome = Outcome([f"{name} failed: {problem}"], wrong=True)
        failed |= outcome.wrong
        print("\n".join(outcome.lines), flush=True)
    return 1 if failed else 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    cli = argparse.ArgumentParser(prog="python -m bench.corpus", description="files to files of ids")
    cli.add_argument("--only", default="", help=f"sections, separated by commas: {', '.join(SECTIONS)} (all)")
    cli.add_argument("--corpus", default="english", help="a corpus of the test data (english)")
    cli.add_argument("--megabytes", type=int, default=60, help="megabytes of text (60); the corpus is repeated")
    cli.add_argument("--large-corpus", default="nine corpora", help="corpus of megatron-fast and ray (nine corpora)")
    cli.add_argument("--large-megabytes", type=int, default=1000, help="megabytes of the large corpus (1000)")
    cli.add_argument("--runs", type=int, default=5, help="processes for each figure, in turn with the other side (5)")
    cli.add_argument("--seconds", type=int, default=60, help="ray: seconds of the job on local processes (60)")
    cli.add_argument("--before", default="", help="jobs: the interpreter of an earlier build to compare with")
    cli.add_argument("--peers", default=".venv-readers/bin/python", help="the interpreter of the peers (%(default)s)")
    cli.add_argument("--ray", default=".venv-ray/bin/python", help="the interpreter that has Ray (%(default)s)")
    return cli


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings. All processes get the same two processors, and can keep compiled modules, as installed packages do."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CPUS])
    checkout = os.environ.get("TOKSMITH_MEGATRON")
    return Settings(
        small=Text(options.corpus, options.megabytes),
        large=Text(options.large_corpus, options.large_megabytes),
        runs=options.runs,
        seconds=options.seconds,
        before=options.before,
        peers=ROOT / options.peers,
        ray=ROOT / options.ray,
        checkout=Path(checkout).resolve() if checkout else None,
    )


def run_header(settings: Settings) -> str:
    """The inputs and the machine of the run."""
    start = start_facts([])
    on = machine()
    cpus = len(os.sched_getaffinity(0))
    texts = " and ".join(f"{text.megabytes} MB of {text.corpus}" for text in (settings.small, settings.large))
    return (
        f"{start['date']}, {on['cpu']}, {cpus} processors, {on['python']}, commit {start['commit'][:12]}, "
        f"load {start['load']:.1f}\n{texts}, {VOCABULARY}, {settings.runs} processes for each figure, in turn."
    )


if __name__ == "__main__":
    sys.exit(main())
