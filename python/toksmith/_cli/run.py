"""The command that runs another program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from .._base.system import SYSTEM
from .program import command

STARTUP = Path(__file__).resolve().parents[1] / "_accelerate" / "startup"


@command("run")
@click.argument("program", nargs=-1, required=True, metavar="-- PROGRAM [ARGUMENT]...", help="The program.")
def run(program: list[str], **_: Any) -> None:
    """Run a program with the fast tokenizers of transformers on toksmith's engine.

    This holds in all Python processes that the program starts, as after toksmith.accelerate(). What the engine cannot run
    exactly stays on the library, and the log says why.
    """
    paths = [str(STARTUP), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        SYSTEM.become(program, {**os.environ, "TOKSMITH_ACCELERATE": "1", "PYTHONPATH": os.pathsep.join(paths)})
    except OSError as error:
        raise click.UsageError(f"PROGRAM: {program[0]!r} cannot be run: {error.strerror}") from None
