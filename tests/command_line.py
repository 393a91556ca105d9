"""Calls of the command line in tests, inside this process or as another one, and checks of refusals."""

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result
from processors import LIMIT_S

from toksmith import _cli


def run(*arguments: str | Path, stdin: bytes | str | None = None) -> Result:
    """Run the command line inside this process."""
    return CliRunner().invoke(_cli.app, [str(argument) for argument in arguments], input=stdin, prog_name="toksmith")


def process(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command line as another process."""
    command = [sys.executable, "-m", "toksmith", *map(str, arguments)]
    return subprocess.run(
        command, input=stdin, capture_output=True, check=False, env=os.environ | environment, timeout=LIMIT_S
    )


def refused(result: Result | subprocess.CompletedProcess[bytes], said: str) -> None:
    """Check for exit code 1, empty stdout, and one line on stderr that contains `said`."""
    if isinstance(result, Result):
        code, out, err = result.exit_code, result.stdout, result.stderr
    else:
        code, out, err = result.returncode, result.stdout.decode(), result.stderr.decode()
    assert (code, out) == (1, ""), err
    assert err.startswith("toksmith: ")
    assert err.count("\n") == 1
    assert said in err


def misused(result: Result | subprocess.CompletedProcess[bytes], said: str) -> None:
    """As `refused`, with exit code 2 for wrong usage, and a hint at the help."""
    if isinstance(result, Result):
        code, out, err = result.exit_code, result.stdout, result.stderr
    else:
        code, out, err = result.returncode, result.stdout.decode(), result.stderr.decode()
    assert (code, out) == (2, ""), err
    assert err.startswith("toksmith: ")
    assert err.count("\n") == 1
    assert said in err
    assert err.endswith(" --help)\n")
