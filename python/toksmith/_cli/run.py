"""How a command runs: an error becomes one line on stderr and an exit code.

Exit codes: 0 success; 1 refused or failed; 2 wrong usage, which is a value that a flag cannot have, too; 3 a check found a
difference (the command's own); 130 stopped by Ctrl-C; 143 stopped by SIGTERM.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping

import click
from click.exceptions import Exit

from .. import _render
from .._base.system import SYSTEM
from .flags import reason, usage_of
from .printed import tell

__all__ = ["drop_output", "ended_by_sigterm", "lost_output", "open_closed_streams", "told_errors", "told_output"]

NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


@contextlib.contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Lets SIGTERM, and what is like it, end the command as Ctrl-C does, so that it leaves no half-written files."""
    signals = SYSTEM.ending_signals()
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield  # whoever runs the command here answers signals
        return

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    for each in signals:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in signals:
            signal.signal(each, signal.SIG_DFL)


@contextlib.contextmanager
def told_errors(flags: Mapping[str, str], *, debug: bool) -> Iterator[None]:
    """Turn an error into one line on stderr and an exit code.

    Args:
        flags: By argument of Python, the flag that sets it.
    """
    try:
        yield
    except (Exit, click.Abort, click.UsageError):
        raise
    except BrokenPipeError:
        raise Exit(lost_output(None)) from None
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - every error is printed
        if debug:
            import traceback  # slow to import

            print(_render.plain(traceback.format_exc()), end="", file=sys.stderr)
        if isinstance(error, Exception) and (usage := usage_of(error, flags)) is not None:
            usage.ctx = click.get_current_context(silent=True)
            raise usage from None
        if isinstance(error, OSError) and is_of_output(error):
            raise Exit(lost_output(error)) from None
        tell(reason(error, flags))
        raise Exit(130 if isinstance(error, KeyboardInterrupt) else 1) from None


@contextlib.contextmanager
def told_output() -> Iterator[None]:
    """Turn an error of writing help and versions into one line on stderr and an exit code."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        raise Exit(lost_output(error)) from None


def is_of_output(error: OSError) -> bool:
    """Whether stdout cannot be written: a command failed to write, not the library, and no file has a name."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    inside = last is not None and os.path.dirname(last.tb_frame.f_code.co_filename) == os.path.dirname(__file__)
    return inside and error.filename is None and error.errno in (*NO_ROOM, *SYSTEM.lost_reader)


def lost_output(error: OSError | None) -> int:
    """Gives up stdout, and gives the exit code: 0 where only its reader has left."""
    drop_output()
    if error is None or error.errno in SYSTEM.lost_reader:
        return 0
    tell(f"stdout: cannot be written: {error.strerror}")
    return 1


def open_closed_streams() -> None:
    """Lets what the caller has closed (`>&-`) be written to nowhere. Without it, stdout and stderr are None."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8", newline="\n"))  # noqa: SIM115 - as long as the process


def drop_output() -> None:
    """Writes nothing more on stdout, whose reader has closed the pipe; not at exit either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
