"""How a command runs: an error becomes one line on stderr and an exit code.

Exit codes: 0 success; 1 error; 2 wrong usage (typer's own); 3 a check found a difference (the command's own); 130 stopped
by Ctrl-C; 143 stopped by SIGTERM.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

import toksmith
from toksmith import _render

from ._printed import tell

__all__ = ["runnable"]

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def runnable(function: Callable[..., None]) -> Callable[..., None]:
    """`function` for typer: with a `--debug` option, and with its errors printed."""

    @functools.wraps(function)
    def run(*, debug: bool, **options: Any) -> None:
        with ended_by_sigterm(), told_errors(debug=debug):
            function(**options)
            sys.stdout.flush()

    own = inspect.signature(function, eval_str=True)
    debug = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug)
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), debug])  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, "debug": Debug}
    return run


@contextlib.contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Lets SIGTERM end the command as Ctrl-C does, so that it leaves no half-written files."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield  # whoever runs the command here answers signals
        return

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def told_errors(*, debug: bool) -> Iterator[None]:
    """Turn an error into one line on stderr and an exit code."""
    if debug:
        os.environ["TOKSMITH_TRACEBACK"] = "full"
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except BrokenPipeError:  # the reader has closed the pipe; exit must not write to it either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - every error is printed
        if debug:
            print(_render.plain(traceback.format_exc()), end="", file=sys.stderr)
        tell(reason(error))
        raise typer.Exit(130 if isinstance(error, KeyboardInterrupt) else 1) from None


def reason(error: BaseException) -> str:
    """The message of `error` on one line."""
    # ImportError: of an extra that is not installed.
    if isinstance(error, (toksmith.ToksmithError, toksmith.TrainingInterrupted, ImportError)):
        text = str(error)
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    elif isinstance(error, KeyboardInterrupt):
        text = "interrupted"
    else:
        text = f"unexpected {type(error).__name__}: {error} (--debug shows where)"
    return " ".join(text.splitlines())
