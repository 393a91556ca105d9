"""The program: imports a command's module when it is called, prints help, and turns errors into exit codes.

An error becomes one line on stderr and an exit code: 0 success; 1 refused or failed; 2 wrong usage, including a value
that a flag cannot take; 3 a check found a difference (set by the command); 130 stopped by Ctrl-C; 143 stopped by
SIGTERM.
"""

from __future__ import annotations

import contextlib
import errno
import gc
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
from .._render.streams import guard_terminals, plain, tell
from .commands import ABOUT, COMMANDS, GROUPS, suggest_commands
from .flags import error_message, usage_of

Declaration = Callable[[Any], Any]
DIFFERENT = 3  # the exit code of a check that finds a difference
COMMON = {"tok": "tokenizer", "special_tokens": "special_token", "path": "output"}  # arguments and their options
NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
# Signals that other programs end this one with; Windows sends SIGBREAK for Ctrl-Break and a closed console.
ENDING = tuple(each for each in signal.Signals if each.name in {"SIGTERM", "SIGBREAK"})


ALL_OPTIONS = "toksmith.all_options"  # in the `meta` of a context: whether the help shows all headings


class Option(click.Option):
    """An option under a heading of the help. `--help` shows those under "Options", and `--help-all` the others as well."""

    def __init__(self, *words: Any, panel: str = "Options", **more: Any) -> None:
        super().__init__(*words, **more)
        self.panel = panel


def print_all_options(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Prints the help with all options, and ends."""
    if value and not ctx.resilient_parsing:
        ctx.meta[ALL_OPTIONS] = True
        click.echo(ctx.get_help())
        ctx.exit()


class Command(click.Command):
    """One command: its options under their headings, `--debug`, and its errors with the words of a shell.

    Attributes: `flags` maps Python arguments to flags, for the library's messages.
    """

    def __init__(self, *words: Any, flags: dict[str, str], **more: Any) -> None:
        super().__init__(*words, **more)
        options = [each for each in self.params if isinstance(each, click.Option) and not each.hidden]
        self.flags = {each.name: next((flag for flag in each.opts if flag.startswith("--")), "") for each in options}
        self.flags |= {name: self.flags[option] for name, option in COMMON.items() if option in self.flags} | flags
        self.params.append(click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."))
        panels = [*dict.fromkeys(each.panel for each in options if isinstance(each, Option))]
        if len(panels) > 1:
            text = f"Show all options: {', '.join(panels[1:])}."
            more = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": print_all_options}
            self.params.append(click.Option(["--help-all"], help=text, **more))

    def make_parser(self, ctx: click.Context) -> Any:
        """Click's parser, except that a short flag is found at once; click first looks for similar long flags."""
        parser = super().make_parser(ctx)
        vars(parser).get("_long_opt", {}).update(vars(parser).get("_short_opt", {}))
        return parser

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx)) is not None:
                panels.setdefault(getattr(each, "panel", "Options"), []).append(record)
        for title, rows in panels.items():
            if title == "Options" or ctx.meta.get(ALL_OPTIONS):
                with formatter.section(title):
                    formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> None:
        """Run the command. A repeatable option is a list, or None without values."""
        debug = ctx.params.pop("debug")
        for name, value in ctx.params.items():
            if isinstance(value, tuple):
                ctx.params[name] = list(value) or None
        with end_on_sigterm(), report_errors(self.flags, debug=debug):
            super().invoke(ctx)
            sys.stdout.flush()


def command(name: str, **flags: str) -> Callable[[Callable[..., None]], Command]:
    """The decorator for a command of `COMMANDS`; `flags` maps Python arguments to options of another name."""
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
    """The commands whose names begin with `prefix`. A command's module is imported when the command is called, or its
    help is shown."""

    def __init__(self, *words: Any, prefix: str = "", **more: Any) -> None:
        super().__init__(*words, **more)
        self.prefix = prefix

    def rows(self) -> dict[str, str]:
        """The help of each command and group, by the word that follows the prefix."""
        helps = {}
        for row in COMMANDS:
            if row.name.startswith(self.prefix):
                word = row.name.removeprefix(self.prefix).split(" ")[0]
                helps[word] = GROUPS.get(self.prefix + word, row.help)
        return helps

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.rows()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = self.prefix + cmd_name
        if name in GROUPS:
            return Program(cmd_name, prefix=f"{name} ", help=GROUPS[name], no_args_is_help=True)
        for row in COMMANDS:
            if row.name == name:
                module = import_module(f".{row.module}", __package__)
                command: click.Command = getattr(module, name.replace(" ", "_").replace("-", "_"))
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.rows() and not args[0].startswith("-"):
            names = [f"'toksmith {name}'" for name in suggest_commands(args[0], self.prefix)]
            hint = f"Did you mean {' or '.join(names)}?" if names else f"Expected one of {', '.join(self.rows())}."
            raise NoSuchCommand(args[0], f"There is no command {self.prefix + args[0]!r}. {hint}", ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*self.rows().items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The commands with this beginning, from their rows alone."""
        from click.shell_completion import CompletionItem

        items = [CompletionItem(word, help=help) for word, help in self.rows().items() if word.startswith(incomplete)]
        return items or click.Command.shell_complete(self, ctx, incomplete)

    def make_context(self, *words: Any, **kwargs: Any) -> click.Context:
        """The context of a command line; --help and --version print here."""
        with report_output_errors():
            return super().make_context(*words, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the --help of a command prints here."""
        with report_output_errors():
            return super().invoke(ctx)

    def main(self, args: Any = None, prog_name: str | None = None, *more: Any, **kwargs: Any) -> Any:
        """Run the program and exit with its exit code."""
        kwargs["standalone_mode"] = False
        try:
            code = super().main(args, "toksmith", *more, **kwargs)
        except NoArgsIsHelpError as error:
            print(error.format_message(), file=sys.stderr, end="\n")
            sys.exit(2)
        except click.UsageError as error:
            tell(usage_message(error))
            sys.exit(2)
        except (click.Abort, KeyboardInterrupt):
            tell("interrupted")
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def usage_message(error: click.UsageError) -> str:
    """A usage error on one line: the place, the expected value and the advice."""
    text = error.format_message()
    if isinstance(error, click.MissingParameter):
        text = f"{text} {getattr(error.param, 'help', None) or ''}"
    elif isinstance(error, click.BadParameter) and error.param_hint is not None:
        verb = error.message.startswith(("is ", "needs ", "requires ", "cannot "))
        text = f"{error.param_hint}{' ' if verb else ': '}{error.message}"
    path = error.ctx.command_path if error.ctx is not None else "toksmith"
    return f"{text.rstrip('. ')} (see {path} --help)"


@contextlib.contextmanager
def end_on_sigterm() -> Iterator[None]:
    """Let SIGTERM and similar signals end the command as Ctrl-C does, so that no half-written file stays."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield  # the calling program handles signals
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
def report_errors(flags: Mapping[str, str], *, debug: bool) -> Iterator[None]:
    """Turn an error into one line on stderr and an exit code.

    Args:
        flags: The flag that sets each Python argument.
    """
    try:
        yield
    except (Exit, click.Abort, click.UsageError):
        raise
    except BrokenPipeError:
        raise Exit(give_up_output(None)) from None
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - every error is printed
        if debug:
            import traceback  # slow to import

            print(plain(traceback.format_exc()), end="", file=sys.stderr)
        if isinstance(error, Exception) and (usage := usage_of(error, flags)) is not None:
            usage.ctx = click.get_current_context(silent=True)
            raise usage from None
        if isinstance(error, OSError) and is_output_error(error):
            raise Exit(give_up_output(error)) from None
        tell(error_message(error, flags))
        raise Exit(130 if isinstance(error, KeyboardInterrupt) else 1) from None


@contextlib.contextmanager
def report_output_errors() -> Iterator[None]:
    """Turn an error while writing help or versions into one line on stderr and an exit code."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        raise Exit(give_up_output(error)) from None


def is_output_error(error: OSError) -> bool:
    """Whether a command, not the library, failed to write to stdout; the error has no file name."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    file = "" if last is None else last.tb_frame.f_code.co_filename
    inside = file == LINES or os.path.dirname(file) == os.path.dirname(__file__)
    return inside and error.filename is None and error.errno in (*NO_ROOM, *SYSTEM.lost_reader)


def give_up_output(error: OSError | None) -> int:
    """Give up stdout, and return the exit code: 0 if only its reader has left."""
    drop_output()
    if error is None or error.errno in SYSTEM.lost_reader:
        return 0
    tell(f"stdout: cannot be written: {error.strerror}")
    return 1


def drop_output() -> None:
    """Discard all further output on stdout, whose reader has closed the pipe, also at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_about(ctx: click.Context, param: click.Parameter, value: str | bool | None) -> None:
    """Prints what --completion or --man asks for, and ends."""
    if value and not ctx.resilient_parsing:
        from .about import completion_lines, manual_page

        click.echo(
            completion_lines(ctx.command, value) if isinstance(value, str) else manual_page(ctx.command), nl=False
        )
        ctx.exit()


app = Program(
    "toksmith",
    help=ABOUT,
    no_args_is_help=True,
    epilog="'toksmith COMMAND --help' explains one. 'toksmith --completion bash' prints the lines that complete them.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
click.option(
    "--completion",
    type=click.Choice(["bash", "zsh", "fish"]),
    is_eager=True,
    expose_value=False,
    callback=print_about,
    help='Print the lines that complete commands: eval "$(toksmith --completion bash)".',
)(app)
click.option(
    "--man",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_about,
    help="Print the manual page, for man -l.",
)(app)
click.version_option(getattr(toksmith, "__version__", ""), "-V", "--version", message="toksmith %(version)s")(app)


def main() -> None:
    """Run the command line of this process; the installed `toksmith` calls it."""
    if why := vars(toksmith).get("_WHY"):  # the compiled core does not work
        sys.stderr.write(f"toksmith: {why}\n")
        sys.exit(1)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller (`>&-`): discard the output
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8", newline="\n"))  # noqa: SIM115 - as long as the process
    use_utf8()
    guard_terminals()
    gc.freeze()  # collections skip the modules that the program has imported
    app.main()


def use_utf8() -> None:
    """Make stdout and stderr of this process UTF-8 on any locale, with the same line ends in files and pipes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            ends = None if stream.isatty() else "\n"
            stream.reconfigure(encoding="utf-8", errors=SYSTEM.shown_name_errors, newline=ends)
