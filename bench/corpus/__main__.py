"""`python -m bench.corpus`: the sections, one after another; `--only megatron,ray` chooses among them.

Exit codes: 0; 1 if ids differ or a program fails. What is not installed is skipped, and the line says what would add it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..places import ROOT
from ..records import begun, machine
from ..texts import Missing
from ..vocabularies import MissingVocabulary
from . import own, peers, scaling
from .commands import Failed
from .inputs import VOCABULARY, Text
from .settings import Outcome, Settings

CPUS = 2
SECTIONS: dict[str, Callable[[Settings], Outcome]] = {
    "jobs": own.measured_jobs,
    "workers": scaling.two_processes,
    "rerun": scaling.rerun,
    "ray": scaling.ray_beside_local,
    **{name: peers.section(peer) for name, peer in peers.PEERS.items()},
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and prints each section when it is complete."""
    asked = parser()
    options = asked.parse_args(arguments)
    chosen = [name for name in options.only.split(",") if name] or [*SECTIONS]
    if unknown := {*chosen} - {*SECTIONS}:
        asked.error(f"--only: no section {', '.join(sorted(unknown))}; they are {', '.join(SECTIONS)}")
    settings = settings_of(options)
    print(head(settings), flush=True)
    failed = False
    for name in chosen:
        print(f"\n## {name}\n", flush=True)
        try:
            found = SECTIONS[name](settings)
        except (Failed, Missing, MissingVocabulary) as problem:
            found = Outcome([f"{name} failed: {problem}"], wrong=True)
        failed |= found.wrong
        print("\n".join(found.lines), flush=True)
    return 1 if failed else 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m bench.corpus", description="files to files of ids")
    made.add_argument("--only", default="", help=f"sections, separated by commas: {', '.join(SECTIONS)} (all)")
    made.add_argument("--corpus", default="english", help="a corpus of the test data (english)")
    made.add_argument("--megabytes", type=int, default=60, help="megabytes of text (60); the corpus is repeated")
    made.add_argument("--large-corpus", default="nine corpora", help="what megatron-fast and ray read (nine corpora)")
    made.add_argument("--large-megabytes", type=int, default=1000, help="megabytes of it (1000)")
    made.add_argument(
        "--runs", type=int, default=5, help="processes for each figure, in turn with what it is compared with (5)"
    )
    made.add_argument("--seconds", type=int, default=60, help="ray: how long the job lasts on local processes (60)")
    made.add_argument("--before", default="", help="jobs: the interpreter of an earlier build to compare with")
    made.add_argument("--peers", default=".venv-readers/bin/python", help="the interpreter of the peers (%(default)s)")
    made.add_argument("--ray", default=".venv-ray/bin/python", help="the interpreter that has Ray (%(default)s)")
    return made


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings. All processes get the same two processors, and may keep compiled modules, as installed packages do."""
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


def head(settings: Settings) -> str:
    """What is measured, and where."""
    start = begun([])
    on = machine()
    cpus = len(os.sched_getaffinity(0))
    texts = " and ".join(f"{text.megabytes} MB of {text.corpus}" for text in (settings.small, settings.large))
    return (
        f"{start['date']}, {on['cpu']}, {cpus} processors, {on['python']}, commit {start['commit'][:12]}, "
        f"load {start['load']:.1f}\n{texts}, {VOCABULARY}, {settings.runs} processes for each figure, in turn."
    )


if __name__ == "__main__":
    sys.exit(main())
