"""The program: commands that are imported when they are called, their help, and how a command runs.

An error becomes one line on stderr and an exit code: 0 success; 1 refused or failed; 2 wrong usage, which is a value that a
flag cannot have, too; 3 a check found a difference (the command's own); 130 stopped by Ctrl-C; 143 stopped by SIGTERM.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import click
from click.exceptions import Exit, NoArgsIsHelpError, NoSuchCommand

import toksmith

from .._base.system import SYSTEM
from .._render.streams import __file__ as LINES
from .._render.streams import guard_terminals, log_warnings, plain, tell
from .commands import ABOUT, COMMANDS, TWO_WORDS
from .flags import reason, usage_of

__all__ = ["DIFFERENT", "Command", "Option", "app", "command", "drop_output", "main", "options", "use_utf8"]

Declaration = Callable[[Any], Any]
DIFFERENT = 3  # the exit code of a check that finds a difference
COMMON = {"tok": "tokenizer", "special_tokens": "special_token", "path": "output"}  # arguments and their options
NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
# By which other programs end this one; Windows sends SIGBREAK at Ctrl-Break and the end of a console.
ENDING = tuple(each for each in signal.Signals if each.name in {"SIGTERM", "SIGBREAK"})


class Option(click.Option):
    """An option under a heading of the help."""

    def __init__(self, *words: Any, panel: str = "Options", **more: Any) -> None:
        super().__init__(*words, **more)
        self.panel = panel


class Command(click.Command):
    """One command: its options under their headings, `--debug`, and its errors in the words of a shell.

    Attributes: `flags` by argument of Python, for messages of the library.
    """

    def __init__(self, *words: Any, flags: dict[str, str], **more: Any) -> None:
        super().__init__(*words, **more)
        options = [each for each in self.params if isinstance(each, click.Option) and not each.hidden]
        self.flags = {each.name: next((flag for flag in each.opts if flag.startswith("--")), "") for each in options}
        self.flags |= {name: self.flags[option] for name, option in COMMON.items() if option in self.flags} | flags
        self.params.append(click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."))

    def make_parser(self, ctx: click.Context) -> Any:
        """As click; a short flag is found at once. Else click first looks for long ones that are spelt like it."""
        parser = super().make_parser(ctx)
        vars(parser).get("_long_opt", {}).update(vars(parser).get("_short_opt", {}))
        return parser

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx)) is not None:
                panels.setdefault(getattr(each, "panel", "Options"), []).append(record)
        for title, rows in panels.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> None:
        """Run the command. An option of many values is a list, or None where it is not given."""
        debug = ctx.params.pop("debug")
        for name, value in ctx.params.items():
            if isinstance(value, tuple):
                ctx.params[name] = list(value) or None
        with ended_by_sigterm(), told_errors(self.flags, debug=debug):
            super().invoke(ctx)
            sys.stdout.flush()


def command(name: str, **flags: str) -> Callable[[Callable[..., None]], Command]:
    """Makes the command of a row of `COMMANDS`; `flags` by argument of Python, where the option has another name."""
    [row] = [row for row in COMMANDS if row.name == name]
    return click.command(name, cls=Command, flags=flags, epilog=f"\b\nExample: {row.example}")


def options(*declared: Declaration) -> Declaration:
    """Several options as one decorator."""

    def declare(function: Any) -> Any:
        for each in reversed(declared):
            function = each(function)
        return function

    return declare


class Program(click.Group):
    """All commands. A command's module is imported when the command is called, or its help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [row.name for row in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for row in COMMANDS:
            if row.name == cmd_name:
                found: click.Command = getattr(import_module(f".{row.module}", __package__), cmd_name.replace("-", "_"))
                return found
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of these words; 'explain steps' is the command 'explain-steps'."""
        if args[:2] == [*TWO_WORDS]:
            args = ["-".join(TWO_WORDS), *args[2:]]
        if args[0] not in (names := self.list_commands(ctx)) and not args[0].startswith("-"):
            raise NoSuchCommand(args[0], possibilities=names, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(row.name, row.help) for row in COMMANDS])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The commands that begin like this, from their rows alone."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(row.name, help=row.help) for row in COMMANDS if row.name.startswith(incomplete)]
        return found or click.Command.shell_complete(self, ctx, incomplete)

    def make_context(self, *words: Any, **named: Any) -> click.Context:
        """The context of a command line; --help and --version print here."""
        with told_output():
            return super().make_context(*words, **named)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the --help of a command prints here."""
        with told_output():
            return super().invoke(ctx)

    def main(self, args: Any = None, prog_name: str | None = None, *more: Any, **named: Any) -> Any:
        """Run the program and leave with its exit code."""
        named["standalone_mode"] = False
        try:
            code = super().main(args, "toksmith", *more, **named)
        except NoArgsIsHelpError as error:
            print(error.format_message(), file=sys.stderr, end="\n")
            sys.exit(2)
        except click.UsageError as error:
            tell(said(error))
            sys.exit(2)
        except (click.Abort, KeyboardInterrupt):
            tell("interrupted")
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def said(error: click.UsageError) -> str:
    """An error of usage on one line: where, what was expected, and what to do."""
    text = error.format_message()
    if isinstance(error, click.MissingParameter):
        text = f"{text} {getattr(error.param, 'help', None) or ''}"
    elif isinstance(error, click.BadParameter) and error.param_hint is not None:
        verb = error.message.startswith(("is ", "needs ", "requires ", "cannot "))
        text = f"{error.param_hint}{' ' if verb else ': '}{error.message}"
    path = error.ctx.command_path if error.ctx is not None else "toksmith"
    return f"{text.rstrip('. ')} (see {path} --help)"


@contextlib.contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Lets SIGTERM, and what is like it, end the command as Ctrl-C does, so that it leaves no half-written files."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield  # whoever runs the command here answers signals
        return

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    for each in ENDING:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in ENDING:
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

            print(plain(traceback.format_exc()), end="", file=sys.stderr)
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
    file = "" if last is None else last.tb_frame.f_code.co_filename
    inside = file == LINES or os.path.dirname(file) == os.path.dirname(__file__)
    return inside and error.filename is None and error.errno in (*NO_ROOM, *SYSTEM.lost_reader)


def lost_output(error: OSError | None) -> int:
    """Gives up stdout, and gives the exit code: 0 where only its reader has left."""
    drop_output()
    if error is None or error.errno in SYSTEM.lost_reader:
        return 0
    tell(f"stdout: cannot be written: {error.strerror}")
    return 1


def drop_output() -> None:
    """Writes nothing more on stdout, whose reader has closed the pipe; not at exit either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = Program(
    "toksmith",
    help=ABOUT,
    no_args_is_help=True,
    epilog="'toksmith help COMMAND' explains one; 'toksmith completion bash' completes them.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
click.version_option(getattr(toksmith, "__version__", ""), "-V", "--version", message="toksmith %(version)s")(app)


def main() -> None:
    """Run the command line of this process: what the installed `toksmith` calls."""
    if why := vars(toksmith).get("_WHY"):  # the compiled core does not work
        sys.stderr.write(f"toksmith: {why}\n")
        sys.exit(1)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller (`>&-`): it is written to nowhere
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8", newline="\n"))  # noqa: SIM115 - as long as the process
    use_utf8()
    guard_terminals()
    log_warnings()
    app.main()


def use_utf8() -> None:
    """Makes stdout and stderr of this process UTF-8 on any locale, with the same ends of lines in files and pipes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            ends = None if stream.isatty() else "\n"
            stream.reconfigure(encoding="utf-8", errors=SYSTEM.shown_name_errors, newline=ends)
